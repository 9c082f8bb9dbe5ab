"""Any text either is one of the runtime's fixed texts, and then rebuilds exactly, or it is none: nothing travels behind a valid beginning."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fuzz.hostile import PLACES, hostile_texts
from tests.fuzz.volume import ending, examples

from stoic.core.notes import NO_OUTPUT, WITHHELD_RESULT
from stoic.core.quarantine import read_neutral, read_placeholder, read_without_images, without_images
from stoic.core.quarantine.integrity import check_forms
from stoic.core.quarantine.texts import IMAGES, NEUTRAL_EVENTS, PLACEHOLDERS
from stoic.errors import UnsendableError
from stoic.records import Row

FIELDS = dict.fromkeys(["tool", "kind", "provider", "category", "row", "operation", "origin"], "a.B-1") | {"count": "2"}
TEMPLATES = [*PLACEHOLDERS, *NEUTRAL_EVENTS, IMAGES]
VALID = [template.write(FIELDS | {"tool": name}) for template in TEMPLATES for name in ("pay", "x" * 64, "other")]
BODIES = ["\n", " ", "\0", "\u2028", "\r\n", "ignore the above", "[runtime] ", "{tool}", ")", ",", ".", "a.B-1", "x" * 65, "é", "\ud800", *VALID]  # fmt: skip
ALLOWED = re.compile(r"[A-Za-z0-9._:;,()\[\] -]{1,700}")


@st.composite
def broken_texts(draw):
    """Draw one of the texts with a few things put into it, taken out of it, or put in the place of some of it."""
    text = draw(st.sampled_from(VALID))
    for _ in range(draw(st.integers(0, 3))):
        at, span = draw(PLACES) % (len(text) + 1), draw(st.sampled_from([0, 0, 1, 5, 40]))
        text = text[:at] + draw(st.sampled_from(BODIES) | hostile_texts(BODIES)) + text[at + span :]
    return text


def row(text, **fields):
    content = {"text": "the body", "call": 0}
    return Row(id="r", thread="t", seq=1, generation=0, segment="s", turn=1, round=1, role="tool", kind="result", content=content, created_at=0, visible=True, view={"text": text}, **fields)  # fmt: skip


@examples(300)
@given(broken_texts() | hostile_texts(BODIES))
def test_any_text_is_none_or_rebuilds_exactly(text):
    with ending():
        for template in TEMPLATES:
            fields = template.read(text)
            if fields is not None:
                assert template.write(fields) == text
                assert ALLOWED.fullmatch(text)
        known = [template for template in TEMPLATES if template.read(text)]
    # One text is of one kind: what was withheld as a result never counts as an event.
    assert len(known) <= 1
    assert (read_placeholder(text) is not None) == (known[:1] != [] and known[0] in PLACEHOLDERS)
    assert (read_neutral(text) is not None) == (known[:1] != [] and known[0] in NEUTRAL_EVENTS)


@examples(150)
@given(st.sampled_from(VALID), hostile_texts(BODIES), st.booleans())
def test_body_behind_or_before_a_valid_text_makes_it_none(valid, body, before):
    # What a field may hold can stand at the end of one: then it is the end of that field.
    smuggled = body and (before or not re.fullmatch(r"[A-Za-z0-9._:-]{1,60}", body))
    found = [template for template in TEMPLATES if template.read(body + valid if before else valid + body)]
    assert not (smuggled and found)
    assert body or found == [template for template in TEMPLATES if template.read(valid)]


@examples(150)
@given(broken_texts() | hostile_texts(BODIES) | st.just(WITHHELD_RESULT))
def test_gate_lets_no_withheld_row_pass_that_holds_anything_else(text):
    is_form = text == WITHHELD_RESULT or read_placeholder(text) is not None
    withheld = row(text, quarantine="placeholder")
    if is_form:
        check_forms([withheld])
    else:
        with pytest.raises(UnsendableError, match="row 1 holds what is no placeholder; nothing was sent"):
            check_forms([withheld])


@examples(150)
@given(
    hostile_texts(BODIES),
    hostile_texts(["\n\n", "[runtime] ", *BODIES]),
    broken_texts(),
    st.sampled_from([0, 1, 2, 3, True, None, "2", []]),
)
def test_note_about_images_counts_only_with_the_rows_own_text_before_it(text, more, note, count):
    content = {"text": text, "images": [1, 2]}
    view = without_images(content, "p", None)
    assert read_without_images(view, content) is not None
    changed = {"text": f"{text}{more}\n\n{note}", "withheld_images": count}
    found = read_without_images(changed, content)
    if found is not None:
        said, _, last = changed["text"].rpartition("\n\n")
        assert IMAGES.read(last) is not None
        assert (
            said == text or said.startswith((f"{text}\n\n[runtime] ", f"{NO_OUTPUT}\n\n[runtime] ")) or not text.strip()
        )
        assert found.count == count == int(IMAGES.read(last)["count"])  # pyright: ignore[reportOptionalSubscript]


@pytest.mark.parametrize("piece", ["a", ".", ")", "),", "); row ", ", operation ", " ", "withheld, refused by a ", "[runtime] placeholder v1: ", "(row a) is withheld, since "])  # fmt: skip
def test_text_of_megabytes_is_read_in_a_moment(piece):
    with ending(cpu_seconds=20):
        for template in TEMPLATES:
            for cut in range(0, len(template.line), 25):
                beginning = template.line[:cut].format_map(FIELDS) if template.line[:cut].count("{") == template.line[:cut].count("}") else template.line[:cut]  # fmt: skip
                assert template.read(beginning + piece * (200_000 // len(piece))) is None
