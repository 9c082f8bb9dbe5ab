"""Masking where the hints point does exactly what trying every place would do."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stoic.core.loops.excerpts import Excerpt
from stoic.core.loops.noise_expressions import CREATED_IDS, FAILED, LABELLED, STAMPED, WITH_REQUEST_IDS
from stoic.core.loops.noise_texts import mask_text
from stoic.core.loops.observation import Nature
from stoic.core.loops.searching import Searched, flatten

NOISES = (*WITH_REQUEST_IDS, *LABELLED, *FAILED, *STAMPED, *CREATED_IDS)
LABELS = [
    "request",
    "req",
    "trace",
    "correlation",
    "error",
    "log",
    "id",
    "cf-ray",
    "traceparent",
    "x-amzn-trace-id",
    "x-amz-id-2",
    "nonce",
    "csrf_token",
    "csrftoken",
    "boundary",
    "at",
    "pid",
    "ppid",
    "process",
    "process_id",
    "processid",
    "Date: ",
    "date: ",
    "time",
    "timestamp",
    "now",
    "as of",
    "current time",
    "checked_at",
    "startedAt",
    "generated",
    "sent",
    "elapsed",
    "elapsedMs",
    "duration",
    "took",
    "wall time",
    "latency",
    "uptime",
    "running for",
    "timed out after",
    "failed after",
    "real",
    "user",
    "sys",
    "ago",
    "passed so far",
    "in",
    "passed",
    "failed",
    "done",
    "files",
    "target(s)",
    "ok",
    "FAIL",
    "remaining",
    "is",
    "event",
    "session id",
    "exited",
    "Full output: ",
    "truncated",
    "saved to",
]
MARKS = [
    " ",
    " ",
    "\n",
    "\n\n",
    ": ",
    "=",
    ":",
    "'",
    '"',
    " is ",
    "_",
    "-",
    "(",
    ")",
    "[",
    "<",
    ">",
    ".",
    "/",
    "",
    "\t",
]
VALUES = [
    "5",
    "12",
    "3s",
    "3 s",
    "1m 2s",
    "0:41",
    "12:00:03",
    "2026-05-01T10:00:11Z",
    "2026-05-01 10:00",
    "04 May 2026 10:00:11 GMT",
    "May  4 10:00:11",
    "1770000000",
    "1.5ms",
    "2 µs",
    "abc123",
    "550e8400-e29b-41d4-a716-446655440000",
    "01ARZ3NDEKTSV4RRFFQ69G5FAV",
    "/tmp/tmpab1/x",
    "/var/folders/ab/cd/T/tmpx",
    "C:\\Users\\x\\Temp\\tmp12",
    "pytest-of-me/pytest-12",
    "0x7fabcd",
    "s",
    "Z",
    "é",
    "?",
]
PIECES = st.sampled_from(LABELS) | st.sampled_from(MARKS) | st.sampled_from(VALUES)
TEXTS = st.lists(PIECES | st.sampled_from(LABELS).map(str.upper), max_size=14).map("".join)


@settings(max_examples=600, deadline=None)
@given(TEXTS)
def test_masking_where_hints_point_equals_masking_everywhere(text):
    seen, plain = Searched(text), text
    for noise in NOISES:
        plain, count = re.subn(noise.expression, r"\g<1>?", plain)
        assert (seen.mask(noise.expression, noise.hint), seen.text) == (count > 0, plain)


@pytest.mark.parametrize(
    "text", ["t\u0131me: 3s", "p\u0131d=4", "Kelvin \u212a took ٣ s", "PROCE\u017fS ID 4", "took ٣s"]
)
def test_letters_and_digits_of_other_scripts_are_found_as_before(text):
    seen, plain = Searched(text), text
    for noise in NOISES:
        plain, _ = re.subn(noise.expression, r"\g<1>?", plain)
        seen.mask(noise.expression, noise.hint)
    assert seen.foreign
    assert seen.text == plain


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("time\n:\n5s", "time\n:\n6s"),
        ("ok\nfoo\n5s", "ok\nfoo\n6s"),
        ("now\n\n \nMay  4 10:00:11", "now\n\n \nMay  4 10:00:12"),
        ("took 5\ns", "took 6\ns"),
        ("12 items\n\ntime:\n5s", "12 items\n\ntime:\n6s"),
        ("5\n7s", "5\n7s"),
        ("ago/tmp/tmpa1 5s ago/tmp/tmpa2", "ago/tmp/tmpb1 6s ago/tmp/tmpb2"),
        ("x \u017f took 5 s, full output: /a/b", "x \u017f took 6 s, full output: /a/c"),
    ],
)
def test_noise_across_lines_and_beside_other_noise_is_masked(one, other):
    kind = Nature()
    assert mask_text(one, kind, failed=False) == mask_text(other, kind, failed=False)


def test_a_flat_text_is_as_long_as_the_text():
    assert flatten("Aé\ud800 12Z") == b"a?? 00z"


BLOCKS = st.lists(
    TEXTS | st.sampled_from(["plain words", "", " ", "time", "is", "ok", "FAIL", ":"]), min_size=1, max_size=12
)


@settings(max_examples=300, deadline=None)
@given(BLOCKS, st.sampled_from(["", "\0"]))
def test_masking_an_excerpt_equals_masking_the_whole_text(blocks, odd):
    text = odd + "\n".join(["no number here"] * 20 + blocks + ["nor here"] * 20)
    excerpt, plain = Excerpt(Searched(text)), text
    for noise in LABELLED:
        plain, count = re.subn(noise.expression, r"\g<1>?", plain)
        assert excerpt.seen.mask(noise.expression, noise.hint) == (count > 0)
    assert excerpt.restored() == plain


@pytest.mark.parametrize(
    "end",
    [
        "5",
        "took 5\ns",
        "time\n:\n5s",
        "now\n\nis 10:00:00",
        "FAIL\nx 5s",
        "FAIL\n\nx\n5s",
        "x\n\n\n5s passed",
        "none",
        "a\n\x0c5",
    ],
)
def test_an_excerpt_holds_every_line_that_a_match_may_need(end):
    text = "\n".join(["no number here"] * 30) + "\n" + end
    excerpt, plain = Excerpt(Searched(text)), text
    for noise in LABELLED:
        plain = re.sub(noise.expression, r"\g<1>?", plain)
        excerpt.seen.mask(noise.expression, noise.hint)
    assert len(excerpt.seen.text) < 40
    assert excerpt.restored() == plain


def test_a_text_most_of_whose_lines_hold_digits_is_its_own_excerpt():
    seen = Searched("line 1\n" * 40)
    assert Excerpt(seen).seen is seen


def test_a_text_that_begins_with_its_numbers_is_put_together_in_order():
    text = "took 5 s\n" + "\n".join(["no number here"] * 30) + "\ntook 6 s\nend"
    excerpt = Excerpt(Searched(text))
    for noise in LABELLED:
        excerpt.seen.mask(noise.expression, noise.hint)
    assert excerpt.restored() == text.replace("5 s", "?").replace("6 s", "?")


def test_equal_lines_are_masked_each():
    text = "2026 worker: request_id=a1\n" * 3 + "done in 5s, long ago: 7s ago\n" * 2
    masked = "2026 worker: request_id=?\n" * 3 + "done in ?, long ago: ? ago\n" * 2
    assert mask_text(text, Nature(), failed=False)[0] == masked.strip()
