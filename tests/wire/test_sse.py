"""The event parser: what an event is, and that the splitting of its bytes never matters."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stoic.wire.sse import SseEvent, SseParser

LIMIT = 64


def parse(stream: bytes, cuts: list[int] | None = None, limit_bytes: int = LIMIT) -> tuple[list[SseEvent], bool]:
    parser = SseParser(limit_bytes)
    bounds = [0, *sorted(cuts or []), len(stream)]
    events = [event for begin, end in pairwise(bounds) for event in parser.feed(stream[begin:end])]
    return events + parser.finish(), parser.overflowed


TABLE = [
    ("plain", b'data: {"a":1}\n\n', [SseEvent(data=b'{"a":1}')]),
    ("no space after the colon", b"data:[DONE]\n\n", [SseEvent(data=b"[DONE]")]),
    ("only one space is dropped", b"data:  x\n\n", [SseEvent(data=b" x")]),
    ("named", b"event: error\ndata: x\n\n", [SseEvent("error", b"x")]),
    ("several data lines", b"data: a\ndata: b\ndata:\n\n", [SseEvent(data=b"a\nb\n")]),
    ("carriage return and line feed", b"event: e\r\ndata: x\r\n\r\n", [SseEvent("e", b"x")]),
    ("carriage returns alone", b"data: x\r\rdata: y\r\r", [SseEvent(data=b"x"), SseEvent(data=b"y")]),
    ("mixed line ends", b"data: x\n\r\ndata: y\r\n\n", [SseEvent(data=b"x"), SseEvent(data=b"y")]),
    ("byte order mark", b"\xef\xbb\xbfdata: x\n\n", [SseEvent(data=b"x")]),
    ("a mark inside is content", b"data: \xef\xbb\xbfx\n\n", [SseEvent(data=b"\xef\xbb\xbfx")]),
    ("comment", b": keep-alive\n\n", [SseEvent(comment="keep-alive")]),
    ("comment before an event", b":a\ndata: x\n\n", [SseEvent(comment="a"), SseEvent(data=b"x")]),
    ("id and retry say nothing", b"id: 7\nretry: 10\n\ndata: x\n\n", [SseEvent(data=b"x")]),
    ("unknown field", b"foo: 1\ndata: x\n\n", [SseEvent(data=b"x")]),
    ("a field without colon", b"data\n\n", [SseEvent(data=b"")]),
    ("a name without data", b"event: error\n\n", [SseEvent("error", b"")]),
    ("more empty lines", b"\n\n\ndata: x\n\n\n\ndata: y\n\n", [SseEvent(data=b"x"), SseEvent(data=b"y")]),
    ("unterminated last event", b"data: x\n\ndata: y\n", [SseEvent(data=b"x")]),
    ("unterminated last comment line", b": bye\n", [SseEvent(comment="bye")]),
    ("line separator inside", 'data: "a\u2028b\u0085c"\n\n'.encode(), [SseEvent(data='"a\u2028b\u0085c"'.encode())]),
    ("invalid UTF-8", b"data: \xff\xfe\n\n", [SseEvent(data=b"\xff\xfe")]),
]


@pytest.mark.parametrize(("stream", "expected"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE])
def test_stream_is_read_as_these_events_wherever_it_is_cut(stream, expected):
    assert parse(stream) == (expected, False)
    for cut in range(len(stream) + 1):
        assert parse(stream, [cut]) == (expected, False)
    assert parse(stream, list(range(len(stream)))) == (expected, False)


LINES = st.sampled_from(
    [b"data: x", b"data:y", b"event: e", b": c", b"", b"", b"id: 1", b"data", b"data: " + b"z" * LIMIT, b"\xef\xbb\xbf"]
)
ENDS = st.sampled_from([b"\n", b"\r\n", b"\r"])
STREAMS = st.lists(st.tuples(LINES, ENDS), max_size=12).map(lambda rows: b"".join(line + end for line, end in rows))


@given(stream=STREAMS, data=st.data())
def test_chunking_never_changes_the_result(stream, data):
    cuts = data.draw(st.lists(st.integers(0, len(stream)), max_size=8))
    assert parse(stream, cuts) == parse(stream)


def test_event_of_exactly_the_limit_is_taken_and_a_larger_one_overflows():
    fits = b"data: " + b"x" * (LIMIT - 6)
    assert parse(fits + b"\n\n") == ([SseEvent(data=b"x" * (LIMIT - 6))], False)
    for cut in range(len(fits) + 3):
        assert parse(b"data: a\n\n" + fits + b"x\n\ndata: b\n\n", [9 + cut]) == ([SseEvent(data=b"a")], True)
