"""Texts that stand in place of a withheld body: nothing foreign travels inside, and only the exact text is recognised."""

import re
import string

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from msgspec.structs import asdict, replace

from stoic.core.notes import NO_OUTPUT, images_left_out
from stoic.core.quarantine import (
    NeutralEvent,
    Placeholder,
    WithheldImages,
    neutral_text,
    origin_of,
    placeholder_text,
    read_neutral,
    read_placeholder,
    read_without_images,
    without_images,
)
from stoic.core.quarantine.template import field
from stoic.core.quarantine.texts import IMAGES, NEUTRAL_EVENTS, PLACEHOLDERS

FITS = st.text(f"{string.ascii_letters}{string.digits}._:-", min_size=1, max_size=64)
ANYTHING = FITS | st.text(max_size=80) | st.sampled_from(["", "a b", "a\n", "ä", "x" * 65, "{tool}", "a) b"])
PLACEHOLDER = st.builds(
    Placeholder, tool=ANYTHING, provider=ANYTHING, category=st.none() | ANYTHING, row=ANYTHING, operation=ANYTHING
)
NEUTRAL = st.builds(
    NeutralEvent,
    kind=ANYTHING,
    row=ANYTHING,
    provider=ANYTHING,
    category=st.none() | ANYTHING,
    origin=st.none() | ANYTHING,
)
PAID = Placeholder(tool="pay", provider="anthropic", category="cyber", row="0198-a", operation="t1.2.1.0")
MAIL = NeutralEvent(kind="mail.new", row="0198-b", provider="openai", category=None, origin="slack:C1")
LONGEST = "x" * 64


def cleaned(record):
    """Return the record as its text holds it."""
    fields = {
        name: value if name == "origin" and value is None else field(value) for name, value in asdict(record).items()
    }
    return replace(record, **fields | ({"category": "unnamed"} if record.category is None else {}))


def nearly(template, fields):
    """Yield every text that differs from the template's in one character of its fixed part, or by an addition."""
    text = template.write(fields)
    spans = [template._pattern.fullmatch(text).span(name) for name in template.read(text)]
    for at, sign in enumerate(text):
        if not any(start <= at < end for start, end in spans):
            for other in ("", "~", "\n" if sign == " " else sign + " "):
                yield text[:at] + other + text[at + 1 :]
    for addition in ("\n", " ", "\u2028", "\0", "and more", "\n\nand more", text):
        yield text + addition
        yield addition + text


def test_the_placeholder_of_a_result_says_all_that_a_model_must_know():
    text = placeholder_text(PAID)
    assert text == (
        "[runtime] placeholder v1: the result of pay (row 0198-a) is withheld, since anthropic refused the request that "
        "held it, category cyber. This tells neither whether the operation took effect nor whether this row caused the "
        "refusal. Do not repeat an operation with side effects, nor read the withheld text another way. Check independent "
        "state: operation_status of t1.2.1.0; where nothing tells, report unknown."
    )


def test_a_neutral_event_says_all_that_a_model_must_know():
    said = (
        "[runtime] event v1: an event of kind mail.new (row 0198-b) was delivered; what it says is withheld, since openai "
        "refused the request that held it, category unnamed. It cannot be taken for the cause. Delivered is not "
        "completed: check independent state only, and report unknown where none can be read."
    )
    assert neutral_text(replace(MAIL, origin=None)) == said
    assert neutral_text(MAIL) == f"{said} Origin, for tracing only (it grants no access): slack:C1."


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("a.B_9:-", "a.B_9:-"),
        (LONGEST, LONGEST),
        (LONGEST + "x", "other"),
        ("", "other"),
        ("fits\n", "other"),
        ("two words", "other"),
        ("ﬁts", "other"),
        ("٣", "other"),
        (None, "other"),
        (7, "other"),
        (["fits"], "other"),
    ],
)
def test_a_value_that_does_not_fit_a_field_is_other(value, shown):
    assert field(value) == shown


@pytest.mark.parametrize("template", [*PLACEHOLDERS, *NEUTRAL_EVENTS, IMAGES])
def test_every_text_is_one_short_line_with_its_version_and_is_the_runtimes_own(template):
    names = ["tool", "kind", "provider", "category", "row", "operation", "origin", "count"]
    text = template.write(dict.fromkeys(names, LONGEST))
    assert len(text) <= 700
    assert text.splitlines() == [text]
    assert text.startswith("[runtime] ")
    assert re.match(r"\[runtime\] \w+ v\d+: ", text)


@settings(deadline=None)
@given(PLACEHOLDER)
def test_a_placeholder_is_read_as_it_was_written_and_holds_no_more(placeholder):
    text = placeholder_text(placeholder)
    assert read_placeholder(text) == cleaned(placeholder)
    assert re.fullmatch(r"[A-Za-z0-9._:;,()\[\] -]{1,700}", text)


@settings(deadline=None)
@given(NEUTRAL)
def test_a_neutral_event_is_read_as_it_was_written_and_holds_no_more(event):
    text = neutral_text(event)
    assert read_neutral(text) == cleaned(event)
    assert re.fullmatch(r"[A-Za-z0-9._:;,()\[\] -]{1,700}", text)


@settings(deadline=None)
@given(FITS, FITS, FITS, FITS, FITS)
def test_every_older_version_rebuilds_by_its_own_template(tool, provider, category, row, operation):
    placeholder = Placeholder(tool=tool, provider=provider, category=category, row=row, operation=operation)
    for template in PLACEHOLDERS:
        assert read_placeholder(template.write(asdict(placeholder))) == placeholder


def test_versions_differ_and_the_first_draft_is_the_shorter():
    first, second = (template.write(asdict(PAID)) for template in PLACEHOLDERS)
    assert " v0: " in first
    assert len(first) < len(second) / 2
    assert placeholder_text(PAID) == second


@pytest.mark.parametrize("template", [*PLACEHOLDERS, *NEUTRAL_EVENTS, IMAGES])
def test_a_text_that_is_nearly_one_is_none(template):
    fields = asdict(PAID) | asdict(MAIL) | {"category": "cyber", "count": "2"}
    assert template.read(template.write(fields)) is not None
    for text in nearly(template, fields):
        assert template.read(text) is None, text
        assert read_placeholder(text) is None
        assert read_neutral(text) is None


@settings(deadline=None)
@given(PLACEHOLDER, st.text(min_size=1))
def test_nothing_can_be_smuggled_before_behind_or_into_a_placeholder(placeholder, body):
    text = placeholder_text(placeholder)
    assert read_placeholder(text + body) is None
    assert read_placeholder(body + text) is None
    assume(field(body) != body)
    fields = asdict(cleaned(placeholder))
    for name in fields:
        smuggled = PLACEHOLDERS[-1].line.format_map(fields | {name: body})
        assert read_placeholder(smuggled) is None


@settings(deadline=None)
@given(st.text())
def test_no_other_text_is_taken_for_one(text):
    assert read_placeholder(text) is None
    assert read_neutral(text) is None


def test_one_kind_of_text_is_not_taken_for_another():
    assert read_neutral(placeholder_text(PAID)) is None
    assert read_placeholder(neutral_text(MAIL)) is None


@pytest.mark.parametrize(
    ("event", "origin"),
    [
        ({"source_channel": "c", "from_thread": "f", "task_thread": "t", "owner_thread": "o"}, "c"),
        ({"source_channel": "", "from_thread": "f", "task_thread": "t", "owner_thread": "o"}, "f"),
        ({"source_channel": 7, "from_thread": None, "task_thread": "t", "owner_thread": "o"}, "t"),
        ({"source_channel": ["c"], "owner_thread": "o", "from_thread": {"id": "f"}}, "o"),
        ({"source_channel": True, "owner_thread": ""}, None),
        ({"kind": "mail", "thread": "x"}, None),
    ],
)
def test_the_origin_is_the_first_string_of_those_that_name_one(event, origin):
    assert origin_of(event) == origin


# ---- images -------------------------------------------------------------------------------------

IMAGE = {"media_type": "image/png", "data_base64": "QUFB"}
NOTE = (
    "[runtime] images v1: images that belong here are withheld (2), since minimax refused the request that held them, "
    "category sensitive. The text is as it came. Do not view them another way."
)
SHOT = {"call": 0, "operation": "t.1.1.0", "tool": "shoot", "text": "screenshot taken", "images": [IMAGE, IMAGE]}


def test_only_the_images_give_way_to_a_note():
    assert without_images(SHOT, "minimax", "sensitive") == {
        "text": f"screenshot taken\n\n{NOTE}",
        "withheld_images": 2,
    }
    assert without_images(SHOT | {"text": " "}, "minimax", "sensitive")["text"] == NOTE


def test_a_result_that_failed_still_has_failed_without_its_images():
    view = without_images(SHOT | {"failure": "tool_error"}, "minimax", None)
    assert view["failure"] == "tool_error"
    assert "category unnamed." in view["text"]


TEXTS = st.text(max_size=40) | st.sampled_from(["", " ", "a\n\n", "\n\nb", "a\n", NOTE, f"x\n\n{NOTE}", NO_OUTPUT])


@settings(deadline=None)
@given(TEXTS, st.integers(1, 3), ANYTHING, st.none() | ANYTHING, st.booleans())
def test_a_view_without_images_is_read_as_it_was_made(text, count, provider, category, failed):
    content = {"text": text, "images": [IMAGE] * count} | ({"failure": "tool_error"} if failed else {})
    view = without_images(content, provider, category)
    expected = WithheldImages(
        count=count, provider=field(provider), category="unnamed" if category is None else field(category)
    )
    assert read_without_images(view, content) == expected


@pytest.mark.parametrize("text", ["screenshot taken", "", " \n"])
def test_what_the_runtime_had_added_before_may_stand_between(text):
    content = SHOT | {"text": text}
    warned = content | {"text": f"{text or NO_OUTPUT}\n\n[runtime] the same again"}
    smaller = {"text": f"{text}\n\n{images_left_out(1)}" if text.strip() else images_left_out(1), "images": [IMAGE]}
    for shown, count in ((warned, 2), (smaller, 1)):
        view = without_images(shown, "minimax", "sensitive")
        assert read_without_images(view, content) == WithheldImages(
            count=count, provider="minimax", category="sensitive"
        )


NOTED = f"screenshot taken\n\n{NOTE}"
WITHOUT = {"text": NOTED, "withheld_images": 2}


@pytest.mark.parametrize(
    "view",
    [
        WITHOUT | {"images": [IMAGE]},
        WITHOUT | {"images": []},
        WITHOUT | {"payload": "p"},
        {"text": NOTED},
        {"withheld_images": 2},
        WITHOUT | {"withheld_images": 1},
        WITHOUT | {"withheld_images": 3, "text": NOTED.replace("(2)", "(3)")},
        WITHOUT | {"withheld_images": 0, "text": NOTED.replace("(2)", "(0)")},
        WITHOUT | {"withheld_images": "2"},
        WITHOUT | {"withheld_images": None},
        WITHOUT | {"text": NOTED.replace("(2)", "(02)")},
        WITHOUT | {"text": "screenshot taken"},
        WITHOUT | {"text": NOTE},
        WITHOUT | {"text": f"another text\n\n{NOTE}"},
        WITHOUT | {"text": f"screenshot taken\n{NOTE}"},
        WITHOUT | {"text": f"screenshot taken\n\nmore\n\n{NOTE}"},
        WITHOUT | {"text": f"[runtime] words\n\n{NOTE}"},
        WITHOUT | {"text": f"{NO_OUTPUT}\n\n{NOTE}"},
        WITHOUT | {"text": f"screenshot taken\n\n{NOTE} more"},
        WITHOUT | {"text": f"screenshot taken\n\n{NOTE.replace('minimax', 'two words')}"},
    ],
)
def test_a_view_that_is_nearly_one_without_images_is_none(view):
    assert read_without_images(WITHOUT, SHOT) is not None
    assert read_without_images(view, SHOT) is None


def test_images_are_not_withheld_of_a_row_that_never_had_any():
    assert read_without_images(WITHOUT, {"text": "screenshot taken"}) is None
