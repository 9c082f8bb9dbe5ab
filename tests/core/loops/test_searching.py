"""Ruling out noise by the words that a text does not hold does exactly what trying every kind of noise would do."""

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from stoic.core.loops import noise_expressions as expressions
from stoic.core.loops.noise_expressions import CREATED_IDS, FAILED, LABELLED, STAMPED, WITH_REQUEST_IDS
from stoic.core.loops.noise_texts import mask_texts
from stoic.core.loops.observation import Nature
from stoic.core.loops.searching import BARRIER, Masked, Noises, _search, flatten

NOISES = (*WITH_REQUEST_IDS, *LABELLED, *FAILED, *STAMPED, *CREATED_IDS)
RULED_OUT = Noises(NOISES)
LABELS = [
    *("request", "req", "trace", "correlation", "error", "log", "id", "cf-ray", "traceparent", "x-amzn-trace-id"),
    *("x-amz-id-2", "nonce", "csrf_token", "csrftoken", "boundary", "at", "pid", "ppid", "process", "process_id"),
    *("processid", "Date: ", "date: ", "time", "timestamp", "now", "as of", "current time", "checked_at", "startedAt"),
    *("generated", "sent", "elapsed", "elapsedMs", "duration", "took", "wall time", "latency", "uptime", "running for"),
    *(
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
    ),
    *("files", "target(s)", "ok", "FAIL", "remaining", "is", "for", "event", "session id", "exited", "Full output: "),
    *("truncated", "saved to", "ticket", "number"),
]
MARKS = [" ", " ", "\n", "\n\n", ": ", "=", ":", "'", '"', "_", "-", "(", ")", "[", "<", ">", ".", "/", "", "\t", "#"]
VALUES = [
    *("5", "12", "3s", "3 s", "1m 2s", "0:41", "12:00:03", "2026-05-01T10:00:11Z", "2026-05-01 10:00", "1770000000"),
    *("5550000000", "04 May 2026 10:00:11 GMT", "May  4 10:00:11", "1.5ms", "2 µs", "abc123", "/tmp/tmpab1/x"),
    *("550e8400-e29b-41d4-a716-446655440000", "01ARZ3NDEKTSV4RRFFQ69G5FAV", "/var/folders/ab/cd/T/tmpx"),
    *("C:\\Users\\x\\Temp\\tmp12", "pytest-of-me/pytest-12", "0x7fabcd", "PROJ-12", "https://h.example/i/12", "s", "Z"),
    *("é", "?", "\xa0"),
]
PIECES = st.sampled_from(LABELS) | st.sampled_from(MARKS) | st.sampled_from(VALUES)
TEXTS = st.lists(PIECES | st.sampled_from(LABELS).map(str.upper), max_size=14).map("".join)
WORDY = "no number stands on this line, nor anything that looks like a label of noise at all\n" * 120
"""So long and so free of digits that only what stands before digits is looked at."""
LOG = "".join(f"{number} handled {number * 7919:x} and went on to the next one\n" for number in range(400))
"""So long and so full of digits that each word is looked at once."""
EQUAL = "".join(f"step {number} of 999 went as it should, so on to the next one\n" for number in range(200))


def masked(text):
    """Mask by the words that rule noise out."""
    found = Masked("\n" + text)
    RULED_OUT.mask(found)
    return found.text, found.noise


def masked_without_a_look(text):
    """Mask by trying every kind of noise with all of its words."""
    found = Masked("\n" + text)
    found.words = None
    for noise in NOISES:
        found.apply(noise, [_search(noise, word) for word in noise.words or ("",)])
    return found.text, found.noise


@settings(max_examples=500, deadline=None)
@given(TEXTS)
def test_ruling_out_changes_nothing_in_short_texts(text):
    assert masked(text) == masked_without_a_look(text)


@settings(max_examples=200, deadline=None)
@given(TEXTS, st.sampled_from([WORDY, LOG, EQUAL]), st.booleans())
def test_ruling_out_changes_nothing_in_long_texts(text, long, first):
    whole = f"{text}\n{long}" if first else f"{long}{text}"
    assert masked(whole) == masked_without_a_look(whole)


@example(["2026-05-01 10:00", ""])
@example(["a\n\0 \0", "b"])
@example([f"a{BARRIER}c", "b"])
@settings(max_examples=300, deadline=None)
@given(st.lists(TEXTS | st.sampled_from(["", "\0", "\n\0 \0", BARRIER]), max_size=6))
def test_texts_masked_together_are_masked_as_each_alone(texts):
    kind = Nature(effect="exec", doing="run", creates=True, clock=True)
    together = mask_texts(texts, kind, failed=True)
    alone = [mask_texts([one], kind, failed=True) for one in texts]
    assert together.texts == [one.texts[0] for one in alone]
    noise = 0
    for one in alone:
        noise |= one.noise
    assert together.noise == noise


@settings(max_examples=300, deadline=None)
@given(TEXTS)
def test_a_span_before_a_word_is_found_backwards_as_it_would_be_forwards(text):
    (noise,) = [noise for noise in LABELLED if noise.mirrored]
    found = Masked("\n" + text)
    found.apply(noise, [_search(noise, word) for word in noise.words])
    forwards = re.compile(rf"{expressions._SPAN}(?= (?:elapsed|passed so far|ago)\b)")
    spans = [one.span() for one in forwards.finditer(flatten("\n" + text))]
    plain = Masked("\n" + text)
    plain.mask(spans, noise.bits)
    assert found.text == plain.text


def test_a_flat_text_is_as_long_as_the_text():
    assert flatten("Aé\ud800 12Z\xa0µs") == "a?? 00z us"


def text_of(text, **kind):
    (one,) = mask_texts([text], Nature(**kind), failed=False).texts
    return one


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("time:\n5s", "time:\n6s"),
        ("ok  foo  5s", "ok  foo  6s"),
        ("now =\n\n \n'May  4 10:00:11'", "now =\n\n \n'May  4 10:00:12'"),
        ("took 5\ns", "took 6\ns"),
        ("12 items\n\ntime:\n5s", "12 items\n\ntime:\n6s"),
        ("ago/tmp/tmpa1 5s ago/tmp/tmpa2", "ago/tmp/tmpb1 6s ago/tmp/tmpb2"),
        ("x é took 5 s, full output: /a/b", "x é took 6 s, full output: /a/c"),
        ("took\xa05\u202fs", "took\xa06\u202fs"),
        ("elapsed 2 µs", "elapsed 3 \u03bcs"),
        ("too long, see /a/b and /a/c", "too long, see /a/d and /a/e"),
    ],
)
def test_noise_across_lines_and_beside_other_noise_is_masked(one, other):
    assert text_of(one) == text_of(other)


@pytest.mark.parametrize("words", ["", "so many words that the text is large " * 300])
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("   7\treturn pid\n   8\tdef f", "  17\treturn pid\n  18\tdef f"),
        ("the time is\n10:00:01", "the time is\n10:00:02"),
        ("what took\n5s", "what took\n6s"),
    ],
)
def test_a_number_at_the_start_of_a_line_is_not_what_the_line_before_names(one, other, words):
    assert text_of(words + one) != text_of(words + other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("time: 5550000000", "time: 5550000001"),
        ("at 1x7fabcd", "at 2x7fabcd"),
        ("remaining time 5s", "remaining time 4s"),
        ("5 of 6s", "6 of 6s"),
        ("failed\nstarts in 5s", "failed\nstarts in 4s"),
        ("overtook: 5", "overtook: 6"),
        ("truncated\nsaved to /a/b", "truncated\nsaved to /a/c"),
        ("truncated " + "x" * 700 + " saved to /a/b", "truncated " + "x" * 700 + " saved to /a/c"),
    ],
)
def test_what_only_resembles_noise_is_kept(one, other):
    assert text_of(one) != text_of(other)


def test_of_labels_that_overlap_the_first_counts():
    assert text_of("time: May  4 10:00:11 now 12:00:00") == "time: ? 12:00:00"
    assert text_of("elapsed time 5s") == "elapsed time ?"


def test_equal_lines_are_masked_each():
    text = "2026 worker: request_id=a1\n" * 3 + "done in 5s, long ago: 7s ago\n" * 2
    expected = "2026 worker: request_id=?\n" * 3 + "done in ?, long ago: ? ago\n" * 2
    assert text_of(text) == expected.strip()


def test_what_stands_before_equal_matches_is_read_once():
    assert text_of("all tests passed in 5s\n" * 5) == "\n".join(["all tests passed in ?"] * 5)
    assert text_of("all went on in 5s\n" * 5 + "done") == "all went on in 5s\n" * 5 + "done"


@pytest.mark.parametrize("many", [1, 30])
def test_a_span_counts_only_shortly_after_a_word_of_a_summary_on_its_line(many):
    told = "".join(f"{name} {{}} in 5s\n" for name in map(str, range(100, 100 + many)))
    assert text_of(told.format(*["tests_passed"] * many)) == told.format(*["tests_passed"] * many).strip()
    for words in ("failed", "2 test(s) ran,", "built " + "x" * 30):
        whole = told.format(*[words] * many)
        assert text_of(whole) == whole.replace("5s", "?").strip()
    for words in ("failed\n", "built " + "x" * 40, "untests", "failed_"):
        whole = told.format(*[words] * many)
        assert text_of(whole) == whole.strip()


@pytest.mark.parametrize("filling", ["plain words without number\n", "1 more line\n", "ab12 cd34\n"])
def test_words_of_a_summary_count_in_long_texts_too(filling):
    assert text_of(filling * 900 + "3 passed in 5s").endswith("3 passed in ?")
    assert text_of(filling * 900 + "3 went in 5s").endswith("3 went in 5s")


def test_hostile_blanks_after_a_label_are_read_once():
    text = "time" + " " * 100_000 + "x 5"
    assert text_of(text) == text
