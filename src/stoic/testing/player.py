"""Turns one reply into what happens on the connection: bytes, waits, and how it ends."""

from collections.abc import Iterable, Iterator
from http import HTTPStatus
from typing import cast

import msgspec

from stoic.records import Json, Record
from stoic.testing.recording import RecordedRequest
from stoic.testing.replies import Exchange, Reply, Word
from stoic.testing.styles import Style, asked_of, is_streamed


class Send(Record, frozen=True):
    """Put these bytes on the connection."""

    data: bytes


class Wait(Record, frozen=True):
    """Let time pass until a gate opens, the milliseconds are over or, with neither, the client leaves."""

    gate: str | None = None
    delay_ms: int | None = None


class Close(Record, frozen=True):
    """Close the connection, or break it off with a reset."""

    reset: bool = False


Action = Send | Wait | Close

_TIME_WORDS = ("gate", "delay", "hang")


def play(reply: Reply, request: RecordedRequest, style: Style) -> Iterator[Action]:
    """Yield what a reply does, in order. Without a `Close` the connection stays open for another request.

    Args:
        reply: The entry of the script.
        request: What is answered.
        style: How servers of its API answer.
    """
    if reply.gate is not None:
        yield Wait(gate=reply.gate)
    if reply.delay_ms:
        yield Wait(delay_ms=reply.delay_ms)
    if reply.hang:
        yield Wait()
        return
    actions = _answer(reply, request, style)
    yield from actions if reply.cut_at_byte is None else _cut(actions, reply.cut_at_byte)


def simple_answer(status: int, body: Json) -> bytes:
    """Return a whole answer with a JSON body."""
    return _body_answer(status, {"content-type": "application/json"}, msgspec.json.encode(body))


def status_of(data: bytes) -> int | None:
    """Read the status of an answer's first bytes."""
    code = data[9:12]
    return int(code) if data.startswith(b"HTTP/1.1 ") and code.isdigit() else None


def _answer(reply: Reply, request: RecordedRequest, style: Style) -> Iterator[Action]:
    if reply.error is not None:
        yield Send(data=simple_answer(HTTPStatus.BAD_REQUEST, style.error_body(reply.error)))
    elif reply.exchange is not None:
        yield from _literal(reply, reply.exchange)
    else:
        while reply.words and reply.words[0].kind in _TIME_WORDS:
            yield _wait(reply.words[0])
            reply = msgspec.structs.replace(reply, words=reply.words[1:])
        asked = asked_of(request.path, request.json)
        tree = cast("dict[str, Json]", asked) if isinstance(asked, dict) else {}
        headers = {style.REQUEST_ID_HEADER: f"req_scripted{request.number:06d}"} if style.REQUEST_ID_HEADER else {}
        if is_streamed(request.path, request.json):
            yield from _stream(headers, 200, style.stream(reply, tree, request.number), reply)
        else:
            yield from (_wait(word) for word in reply.words if word.kind in _TIME_WORDS)
            body = style.whole(reply, tree, request.number)
            answer = _body_answer(200, {"content-type": "application/json", **headers}, body)
            yield from _whole(answer, len(body), reply)


def _literal(reply: Reply, exchange: Exchange) -> Iterator[Action]:
    if exchange.sse is not None:
        yield from _stream(exchange.headers, exchange.status, (_event(event) for event in exchange.sse), reply)
        return
    is_text = isinstance(exchange.body, str)
    body = cast("str", exchange.body).encode() if is_text else msgspec.json.encode(exchange.body)
    body = b"" if exchange.body is None else body
    kind = {"content-type": "text/plain" if is_text else "application/json"}
    yield from _whole(_body_answer(exchange.status, kind | exchange.headers, body), len(body), reply)


def _whole(answer: bytes, body_bytes: int, reply: Reply) -> Iterator[Action]:
    """Send an answer with a stated length, half of its body if it is to break off."""
    if reply.end in ("cut", "reset"):
        yield Send(data=answer[: len(answer) - (body_bytes + 1) // 2])
        yield Close(reset=reply.end == "reset")
    else:
        yield Send(data=answer)


def _stream(headers: dict[str, str], status: int, events: Iterable[Word | bytes], reply: Reply) -> Iterator[Action]:
    """Send events as HTTP chunks, each in a write of its own."""
    shown = {"content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache", **headers}
    yield Send(data=_head(status, {**shown, "transfer-encoding": "chunked"}))
    for event in events:
        yield Send(data=b"%x\r\n%s\r\n" % (len(event), event)) if isinstance(event, bytes) else _wait(event)
    if reply.end in ("cut", "reset"):
        yield Close(reset=reply.end == "reset")
    else:
        yield Send(data=b"0\r\n\r\n")


def _cut(actions: Iterable[Action], limit_bytes: int) -> Iterator[Action]:
    """Let through so many bytes, then close."""
    left = limit_bytes
    for action in actions:
        if isinstance(action, Send):
            if len(action.data) >= left:
                yield Send(data=action.data[:left])
                break
            left -= len(action.data)
        yield action
    yield Close()


def _wait(word: Word) -> Wait:
    if word.kind == "gate":
        return Wait(gate=word.text)
    return Wait(delay_ms=int(word.text)) if word.kind == "delay" else Wait()


def _event(event: dict[str, Json]) -> bytes:
    """Write one event of a case file."""
    if "comment" in event:
        return f": {event['comment']}\n\n".encode()
    name = f"event: {event['event']}\n".encode() if event.get("event") else b""
    data = event.get("data")
    lines = data.encode().split(b"\n") if isinstance(data, str) else [msgspec.json.encode(data)]
    return name + b"".join(b"data: " + line + b"\n" for line in lines) + b"\n"


def _body_answer(status: int, headers: dict[str, str], body: bytes) -> bytes:
    return _head(status, {**headers, "content-length": str(len(body))}) + body


def _head(status: int, headers: dict[str, str]) -> bytes:
    phrase = HTTPStatus(status).phrase if status in HTTPStatus.__members__.values() else "Scripted"
    shown = {"stoic-simulated": "1", **headers}  # no answer of a script can be taken for one of a model
    lines = [f"HTTP/1.1 {status} {phrase}", *(f"{name}: {value}" for name, value in shown.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
