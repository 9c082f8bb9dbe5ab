"""One HTTP answer as it comes: decides whether it is a stream or a whole body, bounds it, and reports it."""

from collections.abc import Iterable
from typing import Protocol

from stoic.ports import Request
from stoic.records import ExceptionFact, Json, Report
from stoic.wire.decoding import Decoder
from stoic.wire.sse import BYTE_ORDER_MARK, SseEvent, SseParser
from stoic.wire.text import memory_bytes, read_json

_SECRET_HEADERS = {"set-cookie", "authorization", "proxy-authorization"}
_LONGEST_HEADER = 2000
"""So much of a header's value is kept; what counts is shorter."""
_REQUEST_ID_HEADERS = ("x-request-id", "request-id", "apim-request-id", "x-amzn-requestid")
_SUCCESSES = range(200, 300)
_EVENT_BYTES = 256
"""What an event takes beside its data."""


class AnswerTooLargeError(Exception):
    """An answer, or one event of it, is larger than a limit."""


class Limits(Protocol):
    """The bounds of an answer, in bytes."""

    @property
    def error_body_limit_bytes(self) -> int:
        """Of an answer that is no success, so much is kept."""
        ...

    @property
    def answer_limit_bytes(self) -> int:
        """The largest successful answer."""
        ...

    @property
    def event_limit_bytes(self) -> int:
        """The largest event of a stream."""
        ...

    @property
    def answer_memory_limit_bytes(self) -> int:
        """The most that a successful answer, or a stream, may take once it is read."""
        ...


class Answer:
    """What has come of one answer so far."""

    def __init__(self, decoder: Decoder, limits: Limits) -> None:
        """Begin before the first byte."""
        self.enough = False
        """Whether nothing more needs to be read: the kept part of an error body is full."""
        self._decoder = decoder
        self._limits = limits
        self._status: int | None = None
        self._headers: dict[str, str] = {}
        self._parser: SseParser | None = None
        self._undecided = False
        self._body = bytearray()
        self._value: Json = ""
        """A whole body, once it is read."""
        self._size = 0
        self._memory_bytes = 0

    @property
    def ended(self) -> bool:
        """Whether an end of the protocol has come."""
        return self._decoder.ended

    def begin(self, status: int, headers: Iterable[tuple[bytes, bytes]]) -> None:
        """Take the head of the answer; headers that come twice are joined by a comma, secrets are left out."""
        self._status = status
        for raw_name, raw_value in headers:
            name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
            if name not in _SECRET_HEADERS:
                joined = f"{self._headers[name]}, {value}" if name in self._headers else value
                self._headers[name] = joined[:_LONGEST_HEADER]
        kind = self._headers.get("content-type", "")
        if kind.startswith("text/event-stream"):
            self._parser = SseParser(self._limits.event_limit_bytes)
        # Some servers stream under another content type; the first bytes of a success tell.
        self._undecided = self._parser is None and self._successful

    def feed(self, data: bytes) -> None:
        """Take the next bytes of the body.

        Raises:
            AnswerTooLargeError: A limit is exceeded; what came before it has been taken, however it was split.
        """
        if self._parser is None and not self._successful:
            self._body += data
            self.enough = self._keep_beginning()
            return
        room = self._limits.answer_limit_bytes - self._size
        self._size += len(data)
        self._take(data[:room])
        if len(data) > room:
            raise AnswerTooLargeError(f"the answer is larger than {self._limits.answer_limit_bytes} bytes")

    def finish(self) -> None:
        """Note that the body ended as HTTP says it should. Raises AnswerTooLargeError."""
        if self._parser:
            self._read(self._parser.finish())
        elif self._successful and self._body:
            data = bytes(self._body)
            self._count(memory_bytes(data))
            self._value = read_json(data)
            self._body.clear()
            self._decoder.body(self._value)

    def break_off(self) -> None:
        """Note that the body broke off; a whole answer that is no stream is one all the same, as its own end says."""
        if self._parser is None and self._successful and isinstance(value := self._kept_body(), dict | list):
            self._decoder.body(value)

    def report(self, request: Request, *, cut: bool, exception: ExceptionFact | None, now_ms: int) -> Report:
        """Return the report.

        Args:
            request: What was asked.
            cut: Whether the answer broke off.
            exception: How, unless the answer was complete all the same.
            now_ms: The time of its end, in epoch milliseconds.
        """
        decoded = self._decoder.result()
        streamed = self._parser is not None
        header_ids = (self._headers.get(name) for name in _REQUEST_ID_HEADERS)
        return Report(
            provider=request.provider,
            api=request.api,
            model=request.model,
            status=self._status,
            headers=self._headers,
            body=None if streamed or self._status is None else self._kept_body(),
            stream=streamed,
            events=decoded.events,
            end=("cut" if cut else "clean") if streamed else None,
            exception=exception,
            parts=decoded.parts,
            finish=decoded.finish,
            ended=decoded.ended,
            end_unconfirmed=decoded.end_unconfirmed,
            served_model=decoded.served_model,
            request_id=next((value for value in header_ids if value), None) or decoded.request_id,
            usage=decoded.usage,
            received_at=now_ms,
        )

    @property
    def _successful(self) -> bool:
        return self._status in _SUCCESSES

    def _kept_body(self) -> Json:
        """Return the body; of one that did not arrive whole, or is too large to be read, its beginning."""
        if not self._body:
            return self._value
        self._keep_beginning()
        return read_json(bytes(self._body))

    def _keep_beginning(self) -> bool:
        """Drop what is more of a body than is kept of those that are no reply; tell whether there was more."""
        limit_bytes = self._limits.error_body_limit_bytes
        is_longer = len(self._body) > limit_bytes
        del self._body[limit_bytes:]
        return is_longer

    def _take(self, data: bytes) -> None:
        """Take bytes of a stream, or of a success that may turn out to be one."""
        if self._parser:
            self._stream(self._parser, data)
            return
        self._body += data
        if self._undecided:
            self._decide()

    def _decide(self) -> None:
        """Tell a stream from a whole body by its first bytes, once there are enough."""
        begin = bytes(self._body[:64])
        if BYTE_ORDER_MARK.startswith(begin):
            return
        begin = begin.removeprefix(BYTE_ORDER_MARK).lstrip()
        if not begin:
            return
        fields = (b"data:", b"event:", b":", b"id:", b"retry:")
        if any(begin.startswith(field) for field in fields):
            self._parser = SseParser(self._limits.event_limit_bytes)
            received, self._body = bytes(self._body), bytearray()
            self._undecided = False
            self._stream(self._parser, received)
        elif not any(field.startswith(begin) for field in fields):
            self._undecided = False

    def _stream(self, parser: SseParser, data: bytes) -> None:
        self._read(parser.feed(data))
        if parser.overflowed:
            raise AnswerTooLargeError(f"one event is larger than {self._limits.event_limit_bytes} bytes")

    def _read(self, events: list[SseEvent]) -> None:
        for event in events:
            # Before the event is read: its values take more than its bytes.
            self._count(_EVENT_BYTES + memory_bytes(event.data))
            self._decoder.event(event)

    def _count(self, more_bytes: int) -> None:
        self._memory_bytes += more_bytes
        if self._memory_bytes > self._limits.answer_memory_limit_bytes:
            limit_bytes = self._limits.answer_memory_limit_bytes
            raise AnswerTooLargeError(f"the answer would take more than {limit_bytes} bytes of memory")
