"""The HTTP client of every API: one request out, one answer in, everything that happens told as a `Report`.

It never sends anything twice and follows no redirect: what to do next is the runtime's decision (SPEC §6).
"""

import asyncio
import re
import ssl
from collections.abc import Awaitable, Mapping
from functools import lru_cache
from ipaddress import ip_address
from typing import TypeVar
from urllib.parse import urlsplit

import h11

from stoic.errors import UsageError
from stoic.ports import Clock, Delta, Request
from stoic.records import Json, Record, Report
from stoic.wire.answers import Answer, AnswerTooLargeError
from stoic.wire.connection import Connection, Origin, connect
from stoic.wire.decoding import DecoderFactory
from stoic.wire.facts import exception_fact
from stoic.wire.idle import IdleConnections
from stoic.wire.tunnel import ProxyError, read_proxy

Result = TypeVar("Result")

_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9a-z-]+")
_VALUE = re.compile(r"[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?|")
_TARGET = re.compile(r"[\x21-\x7e]+")
_OURS = {"host", "content-length", "accept-encoding", "connection", "transfer-encoding"}


class HttpSettings(Record, frozen=True):
    """Limits of the transport; the defaults suit a slow reasoning model."""

    connect_timeout_seconds: float = 10.0
    """Until connected, TLS included."""
    idle_timeout_seconds: float = 300.0
    """Longest silence while an answer is awaited or under way; reasoning models are silent for minutes."""
    after_end_timeout_seconds: float = 2.0
    """Longest silence once the protocol's own end has come: a server that then neither ends nor closes is left."""
    keep_idle_seconds: float = 15.0
    """Age at which an unused connection is no longer trusted; one that its server closed before is noticed."""
    keep_connections: int = 1000
    """Unused connections kept for one origin."""
    error_body_limit_bytes: int = 1024 * 1024
    """Of an answer that is no success, so much is kept."""
    answer_limit_bytes: int = 64 * 1024 * 1024
    """A successful answer larger than this is given up, with `AnswerTooLargeError` as its failure."""
    event_limit_bytes: int = 8 * 1024 * 1024
    """Likewise a single event of a stream."""
    ca_file: str | None = None
    """Certificates to trust instead of the system's."""
    proxy_url: str | None = None
    """An HTTP proxy such as `http://user:word@proxy:3128`, used for every host but this machine's own; None: none. The
    environment is not read here."""


class HttpProvider:
    """A `Provider` over HTTP/1.1; belongs to the event loop it is used in."""

    def __init__(
        self, clock: Clock, decoders: Mapping[str, DecoderFactory], settings: HttpSettings | None = None
    ) -> None:
        """Prepare; nothing is opened before the first request.

        Args:
            clock: Tells how far away a request's deadline is, and stamps reports.
            decoders: By API name, as in `Request.api`.
            settings: Limits; the defaults if None.

        Raises:
            ConfigurationError: The proxy's URL is none.
        """
        self._clock = clock
        self._decoders = decoders
        self._settings = settings or HttpSettings()
        self._idle = IdleConnections(self._settings.keep_idle_seconds, self._settings.keep_connections)
        self._context: ssl.SSLContext | None = None
        self._proxy = read_proxy(self._settings.proxy_url) if self._settings.proxy_url else None

    async def send(self, request: Request, on_delta: Delta) -> Report:
        """Send once and report whatever came.

        Cancelling the task closes the connection and raises `asyncio.CancelledError`; an exception of `on_delta` passes
        through likewise. Everything else is in the report.

        Args:
            request: What to send; its headers must hold the credential.
            on_delta: Called for each piece of the answer as it comes.

        Returns:
            The report. `exception.fields` has `phase` (`connect`, `head` or `body`) and `reused_connection`.

        Raises:
            UsageError: The request's URL, API or a header cannot be.
        """
        origin, target = _address(request.url)
        headers = _headers(origin, request)
        if request.api not in self._decoders:
            raise UsageError(f"no wire for the API {request.api!r}; known: {', '.join(sorted(self._decoders))}")
        answer = Answer(self._decoders[request.api](request, on_delta), self._settings)
        exchange = _Exchange(answer, origin, target, headers)
        try:
            await self._meet_deadline(exchange, request)
        except _NetworkError as failure:
            exchange.fail(failure.error)
        except AnswerTooLargeError as error:
            exchange.fail(error)
        finally:
            self._settle(exchange)
        return exchange.report(request, self._clock.now_ms())

    async def close(self) -> None:
        """Close idle connections."""
        self._idle.close()

    async def _meet_deadline(self, exchange: "_Exchange", request: Request) -> None:
        """Carry out one exchange before the request's deadline."""
        seconds = (request.deadline_ms - self._clock.now_ms()) / 1000
        if seconds <= 0:
            raise _NetworkError(TimeoutError("the request's deadline had passed before it could be sent"))
        timer = asyncio.timeout(seconds)
        try:
            async with timer:
                await self._exchange(exchange, request.body)
        except TimeoutError:
            if not timer.expired():
                raise
            message = f"no complete answer within {seconds:g} s, the request's deadline"
            raise _NetworkError(TimeoutError(message)) from None

    async def _exchange(self, exchange: "_Exchange", body: bytes) -> None:
        """Carry out one exchange; how far it came is in `exchange` whatever is raised."""
        settings, answer, origin = self._settings, exchange.answer, exchange.origin
        connection = exchange.connection = self._idle.take(origin) or await self._connect(origin)
        exchange.phase = "head"
        idle_seconds = settings.idle_timeout_seconds
        connection.send(exchange.target, exchange.headers, body)
        # One timer moved along is much cheaper than one for each read.
        silence = asyncio.timeout(idle_seconds)
        try:
            async with silence:
                answer.begin(await _on_network(connection.response()))
                exchange.phase = "body"
                while True:
                    if answer.ended:
                        idle_seconds = min(idle_seconds, settings.after_end_timeout_seconds)
                    silence.reschedule(connection.loop.time() + idle_seconds)
                    data = await _on_network(connection.pieces())
                    answer.feed(data)
                    if answer.enough:
                        return
                    if connection.answered:
                        break
        except TimeoutError:
            if not silence.expired():
                raise
            if answer.ended:
                # All has been said by a server that does not close: the answer is left, not cut.
                return
            message = f"no byte for {idle_seconds:g} s while waiting for the answer's {exchange.phase}"
            raise _NetworkError(TimeoutError(message)) from None
        answer.finish()

    async def _connect(self, origin: Origin) -> Connection:
        seconds = self._settings.connect_timeout_seconds
        timer = asyncio.timeout(seconds)
        try:
            async with timer:
                if origin.secure and self._context is None:
                    # Reading the certificates takes 0.2 s of CPU: not before it is needed, and not in the loop.
                    reading = asyncio.to_thread(ssl.create_default_context, cafile=self._settings.ca_file)
                    self._context = await _on_network(reading)
                proxy = None if _is_loopback(origin.host) else self._proxy
                return await _on_network(connect(origin, self._context, proxy))
        except TimeoutError:
            if not timer.expired():
                raise
            message = f"no connection to {origin.host}:{origin.port} within {seconds:g} s"
            raise _NetworkError(TimeoutError(message)) from None

    def _settle(self, exchange: "_Exchange") -> None:
        """Keep the connection if its exchange ended whole, else close it."""
        connection = exchange.connection
        if connection is None:
            return
        if exchange.error is None and connection.complete():
            self._idle.put(exchange.origin, connection)
        else:
            connection.abort()


class _NetworkError(Exception):
    """Carries what the network did, apart from what a subscriber raises: that may be an OSError or a timeout too."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


async def _on_network(action: Awaitable[Result]) -> Result:
    """Wait for the network, and mark what it raises as its own."""
    try:
        return await action
    except (OSError, h11.RemoteProtocolError) as error:
        raise _NetworkError(error) from error


class _Exchange:
    """One exchange: where it goes, and how far it has come."""

    def __init__(self, answer: Answer, origin: Origin, target: str, headers: list[tuple[str, str]]) -> None:
        self.answer = answer
        self.origin = origin
        self.target = target
        self.headers = headers
        self.connection: Connection | None = None
        self.phase = "connect"
        self.error: BaseException | None = None

    def fail(self, error: BaseException) -> None:
        """Note what ended it."""
        self.error = error

    def report(self, request: Request, now_ms: int) -> Report:
        """Return everything that is known of it."""
        error, connection = self.error, self.connection
        fact = None
        # Once the protocol's own end has come the answer is complete, however the connection ends (SPEC §3).
        if error is not None and not self.answer.ended:
            fields: dict[str, Json] = {"phase": self.phase, "reused_connection": bool(connection and connection.used)}
            if isinstance(error, ProxyError):
                fields["status_code"] = error.status_code
            received = connection is not None and connection.received
            fact = exception_fact(error, after_first_byte=received, fields=fields)
        return self.answer.report(request, cut=error is not None, exception=fact, now_ms=now_ms)


@lru_cache(maxsize=256)
def _address(url: str) -> tuple[Origin, str]:
    """Split a URL into where to connect and what to ask for."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise UsageError(f"not a URL: {url!r} ({error})") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(f"not a URL of a provider: {url!r}; it must begin with http:// or https:// and name a host")
    secure = parts.scheme == "https"
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    if not _TARGET.fullmatch(target):
        raise UsageError(f"not a URL: {url!r}; spaces and letters beyond ASCII must be percent-encoded")
    return Origin(secure, parts.hostname, port or (443 if secure else 80)), target


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _headers(origin: Origin, request: Request) -> list[tuple[str, str]]:
    host = f"[{origin.host}]" if ":" in origin.host else origin.host
    if origin.port != (443 if origin.secure else 80):
        host = f"{host}:{origin.port}"
    headers = {name.lower(): value for name, value in request.headers.items()}
    fixed = [("host", host), ("accept-encoding", "identity")]
    defaults = {"content-type": "application/json", "accept": "text/event-stream"}
    kept = [(name, value) for name, value in (defaults | headers).items() if name not in _OURS]
    for name, value in kept:
        if not _NAME.fullmatch(name) or not _VALUE.fullmatch(value):
            # The value may be a key: it is not shown.
            raise UsageError(f"the header {name!r} has a character HTTP does not allow; look for line ends in the key")
    return fixed + kept
