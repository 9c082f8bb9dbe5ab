"""Connections to providers: httpcore2 speaks HTTP on them, a stack for each origin keeps the unused ones.

httpx2's lower layer, called with prebuilt URL and headers: in one run on a busy machine, against a local server, an
exchange of 12 chunks cost 0.47 ms CPU this way, decoding included, and 0.86 through `httpx2.AsyncHTTPTransport`, which also
cannot tell whether a connection was used before or how much of an answer had come; the official SDK's cost 4.0.

One pool for all scans its connections at each request; taking the one used last costs the same with 1,000 threads as
with one. So each connection is one that a pool of its own would hold: direct, or through a proxy.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Any, NamedTuple, cast

import httpcore2

from stoic.wire.network import Network

_POST = b"POST"
_HEAD_LIMIT_BYTES = 256 * 1024
"""What may come before an answer's head is whole: h11 bounds a head, but not how many informational ones precede it."""


class Origin(NamedTuple):
    """Where a connection leads."""

    secure: bool
    host: str
    port: int


class UnaskedError(Exception):
    """An idle connection held an answer that nobody had asked for; the request was kept back and can go elsewhere."""


class Connection:
    """A connection to one origin; after an exchange that ended whole it may carry another."""

    def __init__(self, pool: httpcore2.AsyncConnectionPool, network: Network, url: httpcore2.URL) -> None:
        """Prepare; the first request connects it.

        Args:
            pool: Makes the connection; its only one.
            network: What the pool connects with.
            url: Any URL of the origin.
        """
        self.loop = asyncio.get_running_loop()
        self.used = False
        """Whether it has carried an exchange before the present one."""
        self._http = pool.create_connection(url.origin)
        self._network = network
        self._begun = False

    @property
    def sent(self) -> bool:
        """Whether the present request has gone out; what a proxy was asked before does not count."""
        stream = self._network.stream
        return self._begun and stream is not None and stream.sent

    @property
    def received(self) -> bool:
        """Whether bytes of the present answer have come."""
        stream = self._network.stream
        return self._begun and stream is not None and stream.received

    async def ask(
        self, url: httpcore2.URL, headers: list[tuple[bytes, bytes]], body: bytes, on_wait: Callable[[], None]
    ) -> httpcore2.Response:
        """Send a POST request and wait for the head of its answer.

        Args:
            url: Of the connection's origin.
            headers: All of them, `host` and `content-length` included.
            body: The request's body.
            on_wait: Called whenever the wait for more of the answer begins.

        Raises:
            httpcore2.ConnectError: There is no connection.
            httpcore2.ProxyError: The proxy refused.
            httpcore2.ReadError: The connection broke.
            httpcore2.RemoteProtocolError: The peer broke the protocol or closed without an answer.
            UnaskedError: See there.
        """
        self._begun = False
        extensions: dict[str, Any] = {}
        if self.used:
            self._begin(on_wait)
        else:

            async def watch(event: str, info: Mapping[str, Any]) -> None:
                # A tunnel's CONNECT is a request too, but not ours.
                if event == "http11.send_request_headers.started" and info["request"].method == _POST:
                    self._begin(on_wait)

            extensions["trace"] = watch
        request = httpcore2.Request(_POST, url, headers=headers, content=body, extensions=extensions)
        try:
            response = await self._http.handle_async_request(request)
        except httpcore2.RemoteProtocolError:
            self._check_sent()
            raise
        self._check_sent()
        if self._network.stream:
            self._network.stream.head_bytes_left = None
        return response

    def rest(self) -> bool:
        """Note the end of an exchange; tell whether the connection can carry another."""
        self.used = True
        if self._network.stream:
            self._network.stream.on_wait = None  # it holds the whole exchange
        # Not `is_idle`: that holds for a connection that was never made, too.
        return self._http.is_available()

    def expired(self) -> bool:
        """Whether it is too old to be trusted, was closed, or brought what nobody asked for."""
        return self._http.has_expired()

    def abort(self) -> None:
        """Close at once, whatever is under way; in a loop that is closed there is nothing left to do."""
        if self._network.stream and not self.loop.is_closed():
            self._network.stream.abort()

    def _begin(self, on_wait: Callable[[], None]) -> None:
        """Begin an exchange on a stream that is connected."""
        stream = self._network.stream
        if stream:
            stream.sent = stream.received = False
            stream.on_wait = on_wait
            stream.head_bytes_left = _HEAD_LIMIT_BYTES
        self._begun = True

    def _check_sent(self) -> None:
        if self.used and not self.sent:
            raise UnaskedError


def pieces(response: httpcore2.Response) -> AsyncGenerator[bytes]:
    """Return the body as it comes; closing the generator early closes the connection."""
    return cast("AsyncGenerator[bytes]", aiter(cast("AsyncGenerator[bytes]", response.stream)))


class IdleConnections:
    """Connections that carried an exchange to its end and may carry another."""

    def __init__(self, keep_connections: int) -> None:
        """Begin empty.

        Args:
            keep_connections: How many are kept for one origin.
        """
        self._keep_connections = keep_connections
        self._stacks: dict[Origin, deque[Connection]] = {}

    def take(self, origin: Origin) -> Connection | None:
        """Return the connection used last if it can be trusted.

        A request that dies on a reused connection may have been processed, so it is never sent again; what can be done
        is not to use a connection which the server has closed or may be about to close.
        """
        loop = asyncio.get_running_loop()
        stack = self._stacks.get(origin)
        while stack:
            connection = stack.pop()
            # A connection cannot move to another loop.
            if connection.loop is loop and not connection.expired():
                return connection
            connection.abort()
        return None

    def put(self, origin: Origin, connection: Connection) -> None:
        """Keep a connection, and close those that nobody has needed for too long."""
        stack = self._stacks.setdefault(origin, deque())
        while stack and (stack[0].loop is not connection.loop or stack[0].expired()):
            stack.popleft().abort()
        if len(stack) < self._keep_connections:
            stack.append(connection)
        else:
            connection.abort()

    def close(self) -> None:
        """Close all."""
        for stack in self._stacks.values():
            for connection in stack:
                connection.abort()
        self._stacks.clear()
