"""The HTTP client of every API: one request out, one answer in, everything that happens told as a `Report`.

It never sends anything twice and follows no redirect: what to do next is the runtime's decision (SPEC §6).
"""

import asyncio
import re
import ssl
from collections.abc import Awaitable, Callable, Mapping
from contextlib import aclosing
from functools import lru_cache
from typing import TypeVar

import httpcore2

from stoic.errors import UsageError
from stoic.ports import Clock, Delta, Request
from stoic.records import Json, Record, Report
from stoic.wire.addresses import Address, read_address
from stoic.wire.answers import Answer, AnswerTooLargeError
from stoic.wire.connections import Connection, IdleConnections, UnaskedError, pieces
from stoic.wire.decoding import DecoderFactory
from stoic.wire.facts import exception_fact
from stoic.wire.network import Network
from stoic.wire.proxies import is_loopback, read_proxy
from stoic.wire.redaction import Redaction, secrets_of

Result = TypeVar("Result")

_PROXY_STATUS = re.compile(r"\d{3}(?= |$)")
_NETWORK_ERRORS = (
    OSError,
    httpcore2.NetworkError,
    httpcore2.RemoteProtocolError,
    httpcore2.ProxyError,
)


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
    answer_memory_limit_bytes: int = 512 * 1024 * 1024
    """Likewise an answer whose values would take more memory than this, as many small ones do."""
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
        self._idle = IdleConnections(self._settings.keep_connections)
        self._context: ssl.SSLContext | None = None
        self._proxy = read_proxy(self._settings.proxy_url) if self._settings.proxy_url else None
        self._read_address = lru_cache(maxsize=256)(read_address)

    async def send(self, request: Request, on_delta: Delta) -> Report:
        """Send once and report whatever came.

        Cancelling the task closes the connection and raises `asyncio.CancelledError`; an exception of `on_delta` passes
        through likewise. Everything else is in the report.

        Args:
            request: What to send; its headers must hold the credential.
            on_delta: Called for each piece of the answer as it comes.

        Returns:
            The report, without the credentials of the request, whoever echoed them. `exception.fields` has `phase` (`connect`, `head` or `body`), `reused_connection`, the `server` asked
            (`https://host:port`) and the `proxy` that leads there, if one does.

        Raises:
            UsageError: The request's URL, API or a header cannot be.
        """
        address = self._read_address(request.url, tuple(request.headers.items()))
        if request.api not in self._decoders:
            raise UsageError(f"no wire for the API {request.api!r}; known: {', '.join(sorted(self._decoders))}")
        answer = Answer(self._decoders[request.api](request, on_delta), self._settings)
        exchange = _Exchange(answer, address, None if is_loopback(address.origin.host) else self._proxy)
        try:
            await self._meet_deadline(exchange, request)
        except _NetworkError as failure:
            answer.break_off()
            exchange.fail(failure.error)
        except AnswerTooLargeError as error:
            exchange.fail(error)
        finally:
            self._settle(exchange)
        report = exchange.report(request, self._clock.now_ms())
        return Redaction(secrets_of(request.headers, exchange.proxy, request.secrets)).report(report)

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
        settings, answer = self._settings, exchange.answer
        loop = asyncio.get_running_loop()
        # One timer moved along is much cheaper than one for each read.
        silence = asyncio.timeout(settings.connect_timeout_seconds)

        def await_bytes() -> None:
            silence.reschedule(loop.time() + exchange.patience_seconds(settings))

        try:
            async with silence:
                response = await self._ask(exchange, body, await_bytes)
                answer.begin(response.status, response.headers)
                exchange.answering = True
                await self._read(answer, response)
        except TimeoutError:
            if not silence.expired():
                raise
            if answer.ended:
                # All has been said by a server that does not close: the answer is left, not cut.
                return
            raise _NetworkError(TimeoutError(exchange.silence_message(settings))) from None

    async def _ask(self, exchange: "_Exchange", body: bytes, on_wait: Callable[[], None]) -> httpcore2.Response:
        """Send the request on a connection that can be trusted, or a new one, and wait for the answer's head."""
        url, headers = exchange.address.url, exchange.address.headers
        sized = [*headers, (b"content-length", b"%d" % len(body))]
        while True:
            connection = exchange.connection = self._idle.take(exchange.address.origin) or await self._open(exchange)
            try:
                return await _on_network(connection.ask(url, sized, body, on_wait))
            except UnaskedError:
                connection.abort()

    async def _read(self, answer: Answer, response: httpcore2.Response) -> None:
        """Take the answer's body as far as it is wanted."""
        async with aclosing(pieces(response)) as body:
            while True:
                try:
                    data = await anext(body)
                except StopAsyncIteration:
                    break
                except _NETWORK_ERRORS as error:
                    raise _NetworkError(error) from error
                answer.feed(data)
                if answer.enough:
                    return
        await response.aclose()
        answer.finish()

    async def _open(self, exchange: "_Exchange") -> Connection:
        """Prepare a new connection."""
        if exchange.address.origin.secure and self._context is None:
            # Reading the certificates takes 0.2 s of CPU: not before it is needed, and not in the loop.
            reading = asyncio.to_thread(ssl.create_default_context, cafile=self._settings.ca_file)
            self._context = await _on_network(reading)
        network = Network()
        pool = httpcore2.AsyncConnectionPool(
            ssl_context=self._context,
            proxy=exchange.proxy,
            keepalive_expiry=self._settings.keep_idle_seconds,
            network_backend=network,
        )
        return Connection(pool, network, exchange.address.url)

    def _settle(self, exchange: "_Exchange") -> None:
        """Keep the connection if its exchange ended whole, else close it."""
        connection = exchange.connection
        if connection is None:
            return
        if exchange.error is None and connection.rest():
            self._idle.put(exchange.address.origin, connection)
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
    except _NETWORK_ERRORS as error:
        raise _NetworkError(error) from error


class _Exchange:
    """One exchange: where it goes, and how far it has come."""

    def __init__(self, answer: Answer, address: Address, proxy: httpcore2.Proxy | None) -> None:
        self.answer = answer
        self.address = address
        self.proxy = proxy
        self.connection: Connection | None = None
        self.answering = False
        """Whether the answer's head has come."""
        self.error: BaseException | None = None

    def fail(self, error: BaseException) -> None:
        """Note what ended it."""
        self.error = error

    @property
    def phase(self) -> str:
        """What is awaited: `connect`, `head` or `body`."""
        if self.answering:
            return "body"
        return "head" if self.connection and self.connection.sent else "connect"

    def patience_seconds(self, settings: HttpSettings) -> float:
        """Return how long the wait for the answer's next bytes may take."""
        if self.answer.ended:
            return min(settings.idle_timeout_seconds, settings.after_end_timeout_seconds)
        return settings.idle_timeout_seconds

    def silence_message(self, settings: HttpSettings) -> str:
        """Say which silence was too long."""
        if self.phase == "connect":
            _, host, port = self.address.origin
            return f"no connection to {host}:{port} within {settings.connect_timeout_seconds:g} s"
        return f"no byte for {settings.idle_timeout_seconds:g} s while waiting for the answer's {self.phase}"

    def report(self, request: Request, now_ms: int) -> Report:
        """Return everything that is known of it."""
        error, connection = self.error, self.connection
        fact = None
        # Once the protocol's own end has come the answer is complete, however the connection ends (SPEC §3).
        if error is not None and not self.answer.ended:
            reused = bool(connection and connection.used)
            fields: dict[str, Json] = {"phase": self.phase, "reused_connection": reused, "server": self.address.server}
            if self.proxy is not None:
                fields["proxy"] = f"http://{self.proxy.url.host.decode()}:{self.proxy.url.port}"
            if isinstance(error, httpcore2.ProxyError) and (status := _PROXY_STATUS.match(str(error))):
                fields["status_code"] = int(status[0])
            received = connection is not None and connection.received
            fact = exception_fact(error, after_first_byte=received, fields=fields)
        return self.answer.report(request, cut=error is not None, exception=fact, now_ms=now_ms)
