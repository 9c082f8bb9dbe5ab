"""A look at a text's words, lines or digits rules out no noise that is there, whatever was masked before it."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.core.loops.test_searching import (
    EQUAL,
    LABELS,
    LOG,
    MARKS,
    NOISES,
    VALUES,
    WORDY,
    masked,
    masked_without_a_look,
)

from stoic.core.loops.flat_texts import flat_bytes, repeated_lines, starts_of, words_of
from stoic.core.loops.labels import Labels
from stoic.core.loops.needles import Needles, places
from stoic.core.loops.noise_expressions import CREATED_IDS
from stoic.core.loops.noise_texts import mask_texts
from stoic.core.loops.observation import Nature

MIXED = "".join(
    f"{chr(103 + n % 17)}{chr(103 + n // 17 % 17)}u{chr(103 + n // 289)} {n} went on {n}\n" for n in range(1200)
)
"""Long, full of digits, and with no line that occurs twice."""
ENDS = [
    *("at 0xdead", "at 0x12ab", "now: 04 May 2026 10:00:00 gmt", "time: Wed, 04 Mar 2026 10:00:00 UTC", "pid 5", "#12"),
    *("now: 2026-05-01T10:00:11Z", "elapsed_ms5", "duration7", "pytest-of-me/pytest-5", "time: 12:00:03", "took 5s "),
]
"""What is masked and may be followed by a word at once."""
WORDS = [*LABELS, "ago", "pid", "now", "id", "ran 3 files", "feb", "Dec", "in"]
DRIVES = ["", "", "C:\\Users\\Temp\\tmp12", "d:\\temp\\temp\\tmpx"]
"""What is masked and may stand after a word at once."""


def bare(found):
    text, noise = found
    return text.strip(), noise


@settings(max_examples=400, deadline=None)
@given(
    st.lists(
        st.tuples(*[st.sampled_from(one) for one in (ENDS, ["", "", " ", "_"], WORDS, DRIVES, MARKS, VALUES)]).map(
            "".join
        ),
        min_size=1,
        max_size=3,
    ).map(" ".join),
    st.sampled_from(["", LOG, MIXED, EQUAL]),
)
def test_a_word_that_starts_or_ends_where_something_was_masked_is_found(text, long):
    assert masked(long + text) == masked_without_a_look(long + text)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from([*LABELS, *MARKS, *VALUES]), max_size=14).map("".join))
def test_ruling_out_changes_nothing_in_long_texts_of_different_lines(text):
    assert masked(MIXED + text) == masked_without_a_look(MIXED + text)


def test_many_texts_full_of_digits_are_masked_as_each_alone():
    texts = [f"row {number} took {number} s" for number in range(900)]
    together = mask_texts(texts, Nature(), failed=False)
    assert together.texts == [f"row {number} took ?" for number in range(900)]


@pytest.mark.parametrize(("said", "bare"), [("(5s)", "(?)"), ("(for 1m 2s)", "(for ?)"), ("(after 0:05)", "(after ?)")])
def test_spans_in_brackets_are_masked_in_long_texts_with_few_digits(said, bare):
    one, other = (f"{WORDY}it was done {span}, f(10)\n{WORDY}" for span in (said, bare))
    assert mask_texts([one], Nature(), failed=False).texts == [other.strip()]


@pytest.mark.parametrize("long", [LOG, MIXED, EQUAL, ""])
@pytest.mark.parametrize("month", ["Feb", "Dec", "Mar"])
def test_dates_of_all_months_are_masked_in_long_texts_full_of_digits(month, long):
    created = Nature(effect="write", creates=True)
    one, other = (
        mask_texts([f"{long}Wed {month}  4 {clock} 2026"], created, failed=False).texts[0]
        for clock in ("10:00:11", "11:30:00")
    )
    assert one == other


def test_where_a_long_line_of_a_stub_ends_within_a_name_a_word_starts():
    stub = "truncated, saved to /".ljust(600, "x") + "took 5s"
    (text,) = mask_texts([stub], Nature(), failed=False).texts
    assert text == "truncated, saved to ?took ?"


@pytest.mark.parametrize("long", ["", "." * 9000])
def test_words_are_rows_of_letters_and_what_may_follow_what_is_masked(long):
    told = {b"now", b"at", b"xdeadtook", b"took", b"x", b"gmtpid", b"pid", b"ago", b"in"}
    assert set(words_of(flat_bytes(f"5now at 0xdeadtook 00:00zx gmtpid ago_in{long}"))) == told


@pytest.mark.parametrize(
    ("text", "flat"), [("AZ19", b"az00"), ("\xa0\u202f", b"  "), ("µ\u03bcé", b"uu?"), ("漢\ud800", b"??")]
)
def test_a_flat_text_has_few_signs(text, flat):
    assert flat_bytes(text) == flat


def test_lines_are_written_once_when_most_occur_more_often():
    lines = repeated_lines(b"00 a0 x\n" * 99 + b"new\n") or ""
    assert sorted(lines.split("\n")) == ["", "", "00 00 x", "n0w"]
    assert repeated_lines(b"g\nh\ni\ng") is None


def test_parts_of_a_text_with_labels_beside_digits_are_told():
    labels = Labels(before=["took", "as of", "\ndate: "], between=["for"], wordy=["elapsed"], after=["ago"])
    text = "x" * 60 + "{}" + "y" * 300
    for label in (" took" + " " * 60, " as of:", "\ndate: ", " took for ", " took=for ", "elapsed_ms: ", "elapsedms"):
        (part,) = labels.before_digits(text.format(f"{label}00")).strip("\0").split("\0")
        assert label in part
    for label in ("tooke", "took, ", "befor", "as o f", "ed", "elapse "):
        assert labels.before_digits(text.format(f"{label}00")) == "\0"


@pytest.mark.parametrize(
    ("text", "may"),
    [
        ("5 ago", True),
        ("5s ago", True),
        ("5 s ago", True),
        ("5s,", True),
        ("5 s", False),
        ("5sx", True),
        ("5s go", True),
        ("5h go", False),
    ],
)
def test_what_may_follow_digits_is_told(text, may):
    labels = Labels(before=["took"], between=[], wordy=["elapsed"], after=["ago"])
    assert labels.may_follow(text.replace("5", "0")) == may


@pytest.mark.parametrize("said", ["uptime 7 days", "process 96 exited", "now: 1770000000", "took 5 s", "real\t5s"])
def test_what_ends_where_something_is_masked_is_masked_in_long_texts(said):
    text = f"{WORDY}\n{said}C:\\Users\\me\\Temp\\tmp9a\n"
    assert masked(text) == masked_without_a_look(text)
    assert masked(text)[0].endswith("?\n")


@pytest.mark.parametrize(
    "said", ["/tmp/tmpab1/x", "/var/folders/ab/cd/T/tmpx", "/w/pytest-of-me/pytest-5", "cf-ray: 5", "x-amz-id-2: a"]
)
def test_what_has_a_seldom_sign_is_masked_in_long_texts_of_different_lines(said):
    text = (
        "".join(f"{chr(103 + n % 16)}{chr(103 + n // 16)} - no such thing is on this line\n" for n in range(300)) + said
    )
    assert masked(text) == masked_without_a_look(text)
    assert "?" in masked(text)[0]


def test_a_label_that_starts_where_an_address_ends_is_found_in_long_texts():
    text = f"{WORDY}at 0x12abtimed out after 7s\n"
    assert masked(text) == masked_without_a_look(text)
    assert masked(text)[0].endswith("at ?timed out after ?\n")


@pytest.mark.parametrize("needle", ["too ", "full ", "exceed"])
def test_all_places_of_a_needle_are_found(needle):
    assert places(f"{needle}x{needle}{needle}", needle) == [0, len(needle) + 1, 2 * len(needle) + 1]


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.sampled_from(["took", "toolong", "pid", "spid", " ", "0", "(0", "-", "\\", "id", "_", "x"])).map(
        "".join
    )
)
def test_needles_are_held_by_texts_with_their_words(flat):
    needles = Needles[str]()
    for needle, starts_word in [("took", True), ("pid", True), ("(0", False), ("id", False), ("\\", False)]:
        needles.add(needle, needle, starts_word=starts_word)
    words = words_of(flat.encode())
    found = set(needles.held(flat, starts_of(words)))
    assert found == set(needles.held(flat, starts_of(words), b" ".join(words).decode()))
    assert found <= set(needles.held(flat)) == {one for one in ["took", "pid", "(0", "id", "\\"] if one in flat}
    missed = set(needles.held(flat)) - found
    assert not any(word[:4] == b"took" or word == b"pid" for word in words if word.decode() in missed)


def test_no_needle_starts_a_word_with_what_may_end_a_moment():
    for noise in (*NOISES, *CREATED_IDS):
        for needle in noise.needles or noise.words:
            assert not set("z") & set(needle[:4]), needle
            assert "gmt" not in needle
            assert "utc" not in needle
