"""One HTTP/1.1 connection: h11 over an asyncio transport, one exchange at a time.

Below httpx2's client on purpose: measured on one machine against a local server, a round of 12 chunks costs 0.66 ms CPU
through `httpx2.AsyncClient.stream`, 0.56 through its transport, 0.43 through httpcore2's connection and 0.20 through
h11 alone, decoding not included; the whole wire's budget is 0.27 (half of 0.40 times the official SDK's 1.34). The others
also hide whether a connection was used before and how much of the answer had come.
"""

import asyncio
import select
import ssl
from collections.abc import Sequence
from typing import NamedTuple, cast

import h11

from stoic.wire.framing import Body
from stoic.wire.tunnel import Proxy, open_tunnel

_HIGH_WATER_BYTES = 1024 * 1024
_MAX_HEADER_BYTES = 256 * 1024
_SECOND_ADDRESS_SECONDS = 0.25
"""When a host has several addresses: the next is tried beside the first after so long (RFC 8305)."""
# h11 must know that a request went out before it reads the answer. Its own rendering of one costs as much as the rest of
# sending, mostly for checking headers that are the same each time: they are checked and written here.
_ASKED = h11.Request(method="POST", target="/", headers=[("host", "unused"), ("content-length", "0")])
_ASKED_END = h11.EndOfMessage()


class Origin(NamedTuple):
    """Where a connection leads."""

    secure: bool
    host: str
    port: int


class Connection(asyncio.Protocol):
    """A connection to one origin; after an exchange that ended whole it may carry another."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        """Prepare; `asyncio` connects it.

        Args:
            loop: The loop it belongs to; it cannot move to another.
        """
        self.loop = loop
        self.used = False
        """Whether it has carried an exchange before the present one."""
        self.received = False
        """Whether bytes of the present answer have come."""
        self.idle_since = 0.0
        """Loop time of the last exchange's end."""
        self._http = h11.Connection(h11.CLIENT)
        self._body: Body | None = None
        self._stays = False
        self._transport: asyncio.Transport | None = None
        self._buffer: list[bytes] = []
        self._buffered = 0
        self._paused = False
        self._finished = False
        self._error: Exception | None = None
        self._waiter: asyncio.Future[None] | None = None

    # ---- called by asyncio

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Keep bytes until they are read; stop the sender when too many wait."""
        self._buffer.append(data)
        self._buffered += len(data)
        if self._buffered > _HIGH_WATER_BYTES and self._transport and not self._paused:
            self._transport.pause_reading()
            self._paused = True
        self._wake()

    def eof_received(self) -> None:
        """Note the peer's end; returning None lets asyncio close our side too."""
        self._finished = True
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        """Note how it broke; bytes that came before are still read first."""
        self._finished = True
        self._error = exc
        self._wake()

    # ---- an exchange

    def send(self, target: str, headers: Sequence[tuple[str, str]], body: bytes) -> None:
        """Hand a whole POST request to the transport.

        There is nothing to wait for: the bytes are in memory anyway, and a server that answers before it has read
        everything must be heard.

        Args:
            target: Path and query, without characters that HTTP does not allow there.
            headers: Likewise, and without `content-length`, which is added here.
            body: The request's body.
        """
        self.received = False
        self._body = None
        # h11 reads and writes heads only, so each exchange has one of its own.
        self._http = h11.Connection(h11.CLIENT, max_incomplete_event_size=_MAX_HEADER_BYTES)
        self._http.send(_ASKED)
        self._http.send(_ASKED_END)
        lines = [f"POST {target} HTTP/1.1", *(f"{name}: {value}" for name, value in headers)]
        head = "\r\n".join([*lines, f"content-length: {len(body)}", "", ""])
        self.write(head.encode("ascii") + body)

    async def response(self) -> h11.Response:
        """Wait for the answer's head. Raises OSError, h11.RemoteProtocolError."""
        while True:
            event = self._http.next_event()
            if isinstance(event, h11.Response):
                self._body = Body(event)
                self._begin_body(event)
                return event
            if event is h11.NEED_DATA:
                data = await self.read()
                if not data:
                    how = "inside the head of its response" if self.received else "without sending a response"
                    raise h11.RemoteProtocolError(f"the server disconnected {how}")
                self.received = True
                self._http.receive_data(data)

    async def pieces(self) -> bytes:
        """Return the next bytes of the body, all that are there; empty only at its end.

        Raises:
            OSError: The connection broke.
            h11.RemoteProtocolError: The peer broke the protocol, or ended before its message did.
        """
        body = self._body
        while body and not body.done and not body.fault:
            data = await self.read()
            if data:
                content = body.feed(data)
            else:
                content = b""
                body.close()
            if content:
                # What came before a breach is the answer's; the breach is told at the next call.
                return content
        if body and body.fault:
            raise h11.RemoteProtocolError(body.fault)
        return b""

    @property
    def answered(self) -> bool:
        """Whether the present answer has come to its end."""
        return self._body is not None and self._body.done

    def complete(self) -> bool:
        """Whether the exchange ended whole and the connection can carry another; then it counts as idle."""
        if not self._stays or self._body is None or not self._body.done or self._body.rest:
            return False
        self.used = True
        self.idle_since = self.loop.time()
        return self.usable()

    def usable(self) -> bool:
        """Whether nothing speaks against another request: not closed, nothing unasked received, nor waiting to be."""
        transport = self._transport
        if transport is None or self._finished or self._buffer or transport.is_closing():
            return False
        raw = transport.get_extra_info("socket")
        poll = select.poll()
        poll.register(raw.fileno(), select.POLLIN)
        return not poll.poll(0)

    def abort(self) -> None:
        """Close at once, whatever is under way."""
        if self._transport:
            self._transport.abort()

    async def secure(self, context: ssl.SSLContext, host: str) -> None:
        """Speak TLS from here on. Raises OSError."""
        if self._transport:
            self._transport = await self.loop.start_tls(self._transport, self, context, server_hostname=host)

    def write(self, data: bytes) -> None:
        """Hand bytes to the transport."""
        if self._transport:
            self._transport.write(data)

    async def read(self) -> bytes:
        """Return what has come, waiting if there is nothing; empty at a clean end. Raises OSError."""
        while not self._buffer:
            if self._error:
                raise self._error
            if self._finished:
                return b""
            self._waiter = self.loop.create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        data = self._buffer[0] if len(self._buffer) == 1 else b"".join(self._buffer)
        self._buffer.clear()
        self._buffered = 0
        if self._paused and self._transport:
            self._transport.resume_reading()
            self._paused = False
        return data

    # ---- inside

    def _wake(self) -> None:
        if self._waiter and not self._waiter.done():
            self._waiter.set_result(None)

    def _begin_body(self, response: h11.Response) -> None:
        """Note whether the connection outlives this answer, and put back what came behind the head."""
        tokens = b",".join(value for name, value in response.headers if name == b"connection").lower()
        self._stays = response.http_version == b"1.1" and b"close" not in tokens
        behind = self._http.trailing_data[0]
        if behind:
            self._buffer.insert(0, behind)
            self._buffered += len(behind)


async def connect(origin: Origin, context: ssl.SSLContext | None, proxy: Proxy | None = None) -> Connection:
    """Open a connection.

    Args:
        origin: Where to.
        context: For a secure origin.
        proxy: Through which proxy; None: directly.

    Raises:
        OSError: Of which `socket.gaierror`, `ssl.SSLError` and `ProxyError` are kinds.
        h11.RemoteProtocolError: The proxy does not speak HTTP.
    """
    loop = asyncio.get_running_loop()
    secure = context if origin.secure else None
    if proxy is None:
        _, connection = await loop.create_connection(
            lambda: Connection(loop), origin.host, origin.port, ssl=secure, happy_eyeballs_delay=_SECOND_ADDRESS_SECONDS
        )
        return connection
    _, connection = await loop.create_connection(
        lambda: Connection(loop), proxy.host, proxy.port, happy_eyeballs_delay=_SECOND_ADDRESS_SECONDS
    )
    try:
        await open_tunnel(connection, proxy, origin.host, origin.port)
        if secure:
            await connection.secure(secure, origin.host)
    except BaseException:
        connection.abort()
        raise
    return connection
