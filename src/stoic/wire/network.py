"""What HTTP runs over: httpcore2's network interface on asyncio's own transports.

httpcore2 has one of its own on anyio, which starts a timer for each read, hides the bytes it holds back, and tells neither
whether an answer has begun nor whether a request has gone out. Reports need both. Timeouts are the caller's here: one
timer moved along at each silence's begin costs much less than a new one for each read.
"""

import asyncio
import select
import ssl
from collections.abc import Callable, Iterable
from typing import Any, cast

import httpcore2

_HIGH_WATER_BYTES = 1024 * 1024
_SECOND_ADDRESS_SECONDS = 0.25
"""When a host has several addresses: the next is tried beside the first after so long (RFC 8305)."""


class Stream(asyncio.Protocol, httpcore2.AsyncNetworkStream):
    """One TCP connection, with TLS or without; one task reads it at a time."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        """Prepare; `asyncio` connects it.

        Args:
            loop: The loop it belongs to.
        """
        self.sent = False
        """Whether bytes have gone out since this was last set to False."""
        self.received = False
        """Whether bytes have come in since this was last set to False."""
        self.on_wait: Callable[[], None] | None = None
        """Called when a read has to wait for bytes: a silence begins."""
        self.head_bytes_left: int | None = None
        """How much may still be read before the answer's head is whole; None: it is, or nobody counts."""
        self._loop = loop
        self._transport: asyncio.Transport | None = None
        self._outgoing: list[bytes] = []
        self._incoming = bytearray()
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
        self.received = True
        self._incoming += data
        if len(self._incoming) > _HIGH_WATER_BYTES and self._transport and not self._paused:
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

    # ---- called by httpcore2

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ARG002, ASYNC109 -- httpcore2's interface
        """Send what was written, then return what has come, waiting if there is nothing; empty at a clean end.

        Raises:
            httpcore2.ReadError: The connection broke.
            httpcore2.RemoteProtocolError: The peer talks and talks, and never comes to its answer.
        """
        if self._outgoing:
            self._flush()
        while not self._incoming:
            if self._error:
                raise httpcore2.ReadError(str(self._error)) from self._error
            if self._finished:
                return b""
            if self.on_wait:
                self.on_wait()
            self._waiter = self._loop.create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        data = bytes(self._incoming[:max_bytes])
        del self._incoming[:max_bytes]
        if self._paused and self._transport and not self._incoming:
            self._transport.resume_reading()
            self._paused = False
        self._count(data)
        return data

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ARG002, ASYNC109 -- httpcore2's interface
        """Keep bytes for the next read.

        Head and body so leave together, in one system call; and a request whose "answer" had come before it is noticed
        while it can still be kept back. There is no waiting for the peer to take everything: the bytes are in memory
        anyway, and a server that answers before it has read all must be heard.
        """
        if buffer:
            self._outgoing.append(buffer)

    async def aclose(self) -> None:
        """Close at once."""
        self.abort()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ARG002, ASYNC109 -- httpcore2's interface
    ) -> httpcore2.AsyncNetworkStream:
        """Speak TLS from here on.

        Raises:
            httpcore2.ConnectError: There was no agreement; its cause is what Python's `ssl` says.
        """
        if self._transport:
            try:
                self._transport = await self._loop.start_tls(
                    self._transport, self, ssl_context, server_hostname=server_hostname
                )
            except OSError as error:
                raise httpcore2.ConnectError(str(error)) from error
        return self

    def get_extra_info(self, info: str) -> Any:
        """Return what httpcore2 asks about a connection; None for anything else."""
        if info == "is_readable":
            return self._readable()
        if self._transport and info in ("ssl_object", "socket"):
            return self._transport.get_extra_info(info)
        return None

    def abort(self) -> None:
        """Close at once, whatever is under way."""
        if self._transport:
            self._transport.abort()

    # ---- inside

    def _count(self, data: bytes) -> None:
        if self.head_bytes_left is not None:
            self.head_bytes_left -= len(data)
            if self.head_bytes_left < 0:
                raise httpcore2.RemoteProtocolError("too much came before the answer's head")

    def _flush(self) -> None:
        if self._transport:
            self._transport.write(b"".join(self._outgoing))
        self._outgoing.clear()
        self.sent = True

    def _readable(self) -> bool:
        """Tell whether a read would return at once: closed, or something unasked has come or waits to be taken in."""
        transport = self._transport
        if transport is None or self._finished or self._incoming or transport.is_closing():
            return True
        poll = select.poll()
        poll.register(transport.get_extra_info("socket").fileno(), select.POLLIN)
        return bool(poll.poll(0))

    def _wake(self) -> None:
        if self._waiter and not self._waiter.done():
            self._waiter.set_result(None)


class Network(httpcore2.AsyncNetworkBackend):
    """Opens the stream of one connection and keeps hold of it."""

    def __init__(self) -> None:
        """Begin without a stream."""
        self.stream: Stream | None = None

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ARG002, ASYNC109 -- httpcore2's interface
        local_address: str | None = None,  # noqa: ARG002 -- likewise
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,  # noqa: ARG002 -- likewise
    ) -> httpcore2.AsyncNetworkStream:
        """Connect.

        Raises:
            httpcore2.ConnectError: Its cause is the operating system's error, such as `socket.gaierror`.
        """
        loop = asyncio.get_running_loop()
        try:
            _, self.stream = await loop.create_connection(
                lambda: Stream(loop), host, port, happy_eyeballs_delay=_SECOND_ADDRESS_SECONDS
            )
        except OSError as error:
            raise httpcore2.ConnectError(str(error)) from error
        return self.stream
