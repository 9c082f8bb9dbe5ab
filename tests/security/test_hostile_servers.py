"""Provider servers that mean harm: whatever they send, an attempt ends soon, holds little, and goes nowhere else."""

import asyncio
import gzip
import json
import zlib
from pathlib import Path

import pytest
from tests.security.hostile import Act, Hostile, answer

from stoic.core.classify import classify
from stoic.ports import Request
from stoic.records import Outcome, Report, TextPart
from stoic.runtime.agents import Agent
from stoic.settings import Access, Settings
from stoic.testing import FakeClock
from stoic.wire import chat
from stoic.wire.chat_decoding import ChatDecoder
from stoic.wire.transport import HttpProvider, HttpSettings
from stoic.wiring import Runtime

CLOCK = FakeClock()
REPLY = b'{"choices":[{"message":{"content":"x"},"finish_reason":"stop"}]}'
OK = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
STREAM = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
CHUNKED = OK + b"transfer-encoding: chunked\r\n\r\n"
LIMIT_BYTES = 300_000
GUARD_SECONDS = 30


def ask(server: Hostile, *, deadline_seconds: float = 20) -> Report:
    """Ask once, with small limits; a server that holds the client for ever fails the test."""

    async def run() -> Report:
        limits = HttpSettings(answer_limit_bytes=LIMIT_BYTES, event_limit_bytes=LIMIT_BYTES // 2)
        wire = HttpProvider(CLOCK, {chat.API: ChatDecoder}, limits)
        request = Request(
            url=server.url("/v1/chat/completions"),
            headers=chat.auth_headers("sk-canary-of-the-provider"),
            body=b"{}",
            provider="hostile",
            api=chat.API,
            model="m",
            deadline_ms=CLOCK.now_ms() + round(deadline_seconds * 1000),
        )
        async with asyncio.timeout(GUARD_SECONDS):
            report = await wire.send(request, lambda kind, text: None)
        await wire.close()
        return report

    return asyncio.run(run())


def for_ever(head: bytes, piece: bytes) -> Act:
    def act(victim):
        victim.send(head)
        victim.send_for_ever(piece)

    return act


ENDLESS = {
    "headers": for_ever(OK, b"x-a: bbbbbbbbbbbbbbbb\r\n" * 100),
    "header": for_ever(OK + b"x-a: ", b"b" * 65536),
    "status-line": for_ever(b"HTTP/1.1 200 ", b"b" * 65536),
    "continues": for_ever(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 100),
    "early-hints": for_ever(b"", b"HTTP/1.1 103 Early Hints\r\nlink: " + b"a" * 60_000 + b"\r\n\r\n"),
    "chunk-extension": for_ever(CHUNKED + b"5;", b"a" * 65536),
    "trailers": for_ever(CHUNKED + b"2\r\n{}\r\n0\r\n", b"x: y\r\n" * 1000),
    "body": for_ever(OK + b"\r\n", b" " * 65536),
    "nested-body": for_ever(OK + b"\r\n", b"[" * 65536),
    "event": for_ever(STREAM + b"\r\ndata: ", b"a" * 65536),
    "events": for_ever(STREAM + b"\r\n", b"data: {}\n\n" * 1000),
    "comments": for_ever(STREAM + b"\r\n", b": keep alive\n\n" * 1000),
}


@pytest.mark.parametrize("what", ENDLESS)
def test_an_answer_without_end_is_given_up(what: str):
    with Hostile(ENDLESS[what]) as server:
        report = ask(server)
    assert report.exception is not None
    assert report.exception.type.rpartition(".")[2] in {"RemoteProtocolError", "AnswerTooLargeError"}
    assert not report.ended
    assert not report.parts
    assert len(str(report.body)) <= LIMIT_BYTES
    assert classify(report).failure is not None


def test_of_an_endless_error_page_the_beginning_is_kept():
    with Hostile(for_ever(b"HTTP/1.1 500 No\r\n\r\n", b"x" * 65536)) as server:
        report = ask(server)
    assert (report.status, report.exception) == (500, None)
    assert report.body == "x" * HttpSettings().error_body_limit_bytes


@pytest.mark.parametrize("head", [b"", OK, OK + b"\r\n", STREAM + b"\r\n"])
def test_a_server_that_sends_a_byte_now_and_then_ends_at_the_deadline(head: bytes):
    def act(victim):
        victim.send(head)
        victim.drip(b"HTTP/1.1 200 OK\r\nx-a: " if not head else b"x", 0.02)

    with Hostile(act) as server:
        report = ask(server, deadline_seconds=0.3)
    assert report.exception is not None
    assert report.exception.message == "no complete answer within 0.3 s, the request's deadline"


BOMBS = {
    "gzip": gzip.compress(REPLY + b" " * 20_000_000),
    "deflate": zlib.compress(REPLY + b" " * 20_000_000),
    "br": b"\x1b\x00\x00" * 100,
    "zstd": b"\x28\xb5\x2f\xfd" * 100,
}


@pytest.mark.parametrize("encoding", BOMBS)
def test_a_compressed_answer_is_not_unpacked(encoding: str):
    with Hostile(answer(BOMBS[encoding], content_encoding=encoding)) as server:
        report = ask(server)
        assert b"\r\naccept-encoding: identity\r\n" in server.requests[0]
    assert not report.parts
    assert not report.ended
    assert len(str(report.body)) <= len(BOMBS[encoding])
    assert classify(report).failure is not None


UNSOUND = {
    "length-too-long": OK + b"content-length: 9999\r\n\r\n" + REPLY[:-9],
    "length-beyond-any": OK + b"content-length: 99999999999999999999\r\n\r\n" + REPLY[:-9],
    "length-of-5000-digits": OK + b"content-length: " + b"9" * 5000 + b"\r\n\r\n" + REPLY,
    "length-below-0": OK + b"content-length: -1\r\n\r\n" + REPLY,
    "two-lengths": OK + b"content-length: 5\r\ncontent-length: 6\r\n\r\n" + REPLY,
    "chunk-too-long": CHUNKED + b"ffff\r\n" + REPLY[:-9],
    "chunk-beyond-any": CHUNKED + b"f" * 20 + b"\r\n" + REPLY[:-9],
    "chunk-below-0": CHUNKED + b"-5\r\n" + REPLY,
    "no-last-chunk": CHUNKED + b"%x\r\n" % (len(REPLY) - 9) + REPLY[:-9],
    "coded-transfer": OK + b"transfer-encoding: gzip, chunked\r\n\r\n5\r\nabcde\r\n0\r\n\r\n",
    "nul-in-a-header": OK + b"x: a\0b\r\n\r\n" + REPLY,
    "another-protocol": b"HTTP/1.1 101 Switching\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n" + REPLY,
    "no-http": REPLY,
    "http-2": b"\x00\x00\x12\x04\x00\x00\x00\x00\x00",
    "nothing": b"",
    "no-such-status": b"HTTP/1.1 099 No\r\n\r\n",
}


@pytest.mark.parametrize("what", UNSOUND)
def test_an_answer_that_is_not_sound_is_a_failure_of_the_network(what: str):
    with Hostile(UNSOUND[what]) as server:
        report = ask(server)
    assert report.exception is not None
    assert report.exception.type == "httpcore2.RemoteProtocolError"
    assert not report.ended
    assert classify(report).name in {"network", "truncated_stream"}


@pytest.mark.parametrize("head", [OK + b"content-length: 9999\r\n\r\n", CHUNKED + b"ffff\r\n"])
def test_a_whole_reply_is_one_although_the_server_counted_wrong(head: bytes):
    """It was once taken for a success with nothing in it."""
    with Hostile(head + REPLY) as server:
        report = ask(server)
    assert (report.ended, report.exception, classify(report).failure) == (True, None, None)
    assert [part.text for part in report.parts or [] if isinstance(part, TextPart)] == ["x"]


SHAPES = {
    "anthropic": {"type": "message", "content": [{"type": "text", "text": "x"}], "stop_reason": "end_turn"},
    "openai-chat": json.loads(REPLY),
    "gemini": {"candidates": [{"content": {"parts": [{"text": "x"}]}, "finishReason": "STOP"}]},
    "openai": {"object": "response", "status": "completed", "output": [
        {"type": "message", "content": [{"type": "output_text", "text": "x"}]}
    ]},
}  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("provider", SHAPES)
def test_a_reply_in_another_apis_shape_is_no_success_with_nothing_in_it(provider: str, shape: str, tmp_path: Path):
    async def run(url: str) -> Outcome:
        settings = Settings(database=str(tmp_path / "log.db"), access={provider: Access(base_url=url)})
        async with Runtime(settings=settings) as runtime:
            ending = await runtime.thread("t", Agent(f"{provider}:m")).run("hi")
        assert isinstance(ending, Outcome)
        return ending

    with Hostile(answer(json.dumps(SHAPES[shape]))) as server:
        ending = asyncio.run(run(server.url()))
        assert len(server.requests) == 1
    if shape == provider:
        assert (ending.outcome, ending.text) == ("completed", "x")
    else:
        assert (ending.outcome, ending.failure_class) == ("failed", "unknown")


def test_bytes_behind_the_answer_are_no_part_of_it_and_of_no_other():
    short = OK + b"content-length: %d\r\n\r\n" % len(REPLY) + REPLY
    with Hostile(short + b"HTTP/1.1 200 OK\r\n\r\nsmuggled") as server:
        assert [ask(server).finish for _ in range(2)] == ["stop", "stop"]
        assert len(server.requests) == 2


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_no_request_goes_where_a_redirect_leads(status: int):
    with Hostile(answer("{}")) as other:
        target = other.url("/steal", "localhost")
        with Hostile(answer("{}", f"{status} Elsewhere", location=target)) as server:
            report = ask(server)
            assert len(server.requests) == 1
        assert other.requests == []
    assert report.status == status
    assert classify(report).failure is not None
    assert classify(report).recovers_with != "time"


LONG = {
    "digits": "9" * 90_000,
    "digits-after-a-word": "retry after " + "1" * 80_000,
    "months": "jan" * 20_000 + " 2024",
    "words": "refresh " * 10_000 + "1",
}


@pytest.mark.parametrize("field", ["header", "message", "field", "delay", "code"])
@pytest.mark.parametrize("what", LONG)
def test_a_failure_of_any_length_is_named_at_once(what: str, field: str):
    """One number of 90,000 digits where a wait was expected once held the whole process for minutes."""
    text = LONG[what]
    error = {
        "message": {"message": text},
        "field": {"message": "slow down", "retry_after": text},
        "delay": {"message": "slow down", "details": [{"retryDelay": text}]},
        "code": {"message": "slow down", "code": text, "type": text},
    }.get(field, {"message": "slow down"})
    headers = {"retry_after": text} if field == "header" else {}
    with Hostile(answer(json.dumps({"error": error}), "429 Slow", **headers)) as server:
        verdict = classify(ask(server))
    assert verdict.failure is not None
    assert all(len(each.value) <= 120 for each in verdict.evidence)
    assert verdict.retry_after_ms is None
