"""The reader of HTTP bodies agrees with h11 on every body, however it is split."""

from itertools import pairwise

import h11
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stoic.wire.framing import Body

CHUNKED = [("transfer-encoding", "chunked")]


def read(headers, body, cuts=(), closed=True, status=200):
    """Return content, whether the end came, whether there was a fault, and what came behind the end."""
    reader = Body(h11.Response(status_code=status, headers=headers))
    bounds = [0, *sorted(cuts), len(body)]
    content = b""
    for begin, end in pairwise(bounds):
        if reader.done or reader.fault:
            break
        content += reader.feed(body[begin:end])
    if closed and not reader.done and not reader.fault:
        reader.close()
    return content, reader.done, bool(reader.fault)


def read_with_h11(headers, body):
    """Let h11 read the same answer."""
    client = h11.Connection(h11.CLIENT, max_incomplete_event_size=10**6)
    client.send(h11.Request(method="GET", target="/", headers=[("host", "x")]))
    client.send(h11.EndOfMessage())
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers)
    client.receive_data(f"HTTP/1.1 200 OK\r\n{lines}\r\n".encode() + body)
    content, closed = b"", False
    while True:
        try:
            event = client.next_event()
        except h11.RemoteProtocolError:
            return content, False, True
        if event is h11.NEED_DATA:
            assert not closed
            client.receive_data(b"")
            closed = True
        elif isinstance(event, h11.Data):
            content += bytes(event.data)
        elif isinstance(event, h11.EndOfMessage):
            return content, True, False


def chunks(pieces, trailers=b""):
    return b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n" + trailers + b"\r\n"


PIECES = st.lists(st.binary(min_size=1, max_size=20), max_size=5)
BODIES = st.one_of(
    st.builds(chunks, PIECES, st.sampled_from([b"", b"x-trailer: 1\r\n"])),
    st.builds(lambda pieces, cut: chunks(pieces)[:cut], PIECES, st.integers(0, 60)),
    st.lists(
        st.sampled_from([b"1", b"a", b"F", b"\r\n", b"\r", b"\n", b"0", b";x=1", b" ", b"-", b"_"]), max_size=12
    ).map(b"".join),
)


@given(body=BODIES, data=st.data())
def test_chunked_body_is_read_as_h11_reads_it_however_it_is_split(body, data):
    cuts = data.draw(st.lists(st.integers(0, len(body)), max_size=6))
    assert read(CHUNKED, body, cuts) == read_with_h11(CHUNKED, body)


@given(body=st.binary(max_size=20), length=st.integers(0, 20), data=st.data())
def test_body_of_stated_length_is_read_as_h11_reads_it_however_it_is_split(body, length, data):
    cuts = data.draw(st.lists(st.integers(0, len(body)), max_size=3))
    headers = [("content-length", str(length))]
    assert read(headers, body, cuts) == read_with_h11(headers, body)


@given(body=st.binary(max_size=20))
def test_body_without_framing_lasts_until_the_connection_closes(body):
    assert read([], body) == read_with_h11([], body) == (body, True, False)
    assert read([], body, closed=False)[1] is False


@pytest.mark.parametrize("status", [204, 304])
def test_answer_without_a_body_is_done_at_once(status):
    assert Body(h11.Response(status_code=status, headers=[])).done


ENDLESS = [b"1" * 10, b"1;" + b"x" * 20_000, b"0\r\n" + b"a: b\r\n" * 4000, b"0\r\n" + b"x" * 20_000]


@pytest.mark.parametrize("body", ENDLESS, ids=["size", "extension", "trailers", "trailer"])
def test_line_between_chunks_without_end_is_a_fault_and_not_kept_for_ever(body):
    assert read(CHUNKED, body + b"y" * 20_000, closed=False) == (b"", False, True)


def test_bytes_behind_the_end_are_kept_apart():
    for headers, body in ((CHUNKED, chunks([b"ab"])), ([("content-length", "2")], b"ab")):
        reader = Body(h11.Response(status_code=200, headers=headers))
        assert reader.feed(body + b"HTTP/1.1 408") == b"ab"
        assert (reader.done, reader.rest) == (True, b"HTTP/1.1 408")
