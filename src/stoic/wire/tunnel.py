"""A tunnel through an HTTP proxy, as `CONNECT` asks for one (RFC 9110, section 9.3.6)."""

import base64
from typing import NamedTuple, Protocol
from urllib.parse import unquote, urlsplit

import h11

from stoic.errors import ConfigurationError

_SUCCESSES = range(200, 300)


class ProxyError(ConnectionError):
    """The proxy did not open the tunnel."""

    def __init__(self, status: int, reason: str) -> None:
        """Remember its answer."""
        super().__init__(f"{status} {reason}".strip())
        self.status_code = status


class Proxy(NamedTuple):
    """A proxy as its URL names it."""

    host: str
    port: int
    authorization: str | None


def read_proxy(url: str) -> Proxy:
    """Read a proxy's URL, such as `http://user:word@proxy.example:3128`.

    Raises:
        ConfigurationError: It is not the URL of an HTTP proxy; the text does not show its password.
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        parts, host, port = None, None, None
    if parts is None or parts.scheme != "http" or not host:
        raise ConfigurationError("the proxy must be given as http://host:port; other kinds are not supported")
    authorization = None
    if parts.username is not None:
        credential = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        authorization = "Basic " + base64.b64encode(credential.encode()).decode()
    return Proxy(host, port or 80, authorization)


class Channel(Protocol):
    """A connection to the proxy."""

    def write(self, data: bytes) -> None:
        """Hand bytes to the transport."""
        ...

    async def read(self) -> bytes:
        """Return what has come, waiting if there is nothing; empty at the end."""
        ...


async def open_tunnel(channel: Channel, proxy: Proxy, host: str, port: int) -> None:
    """Have the proxy connect on; afterwards the channel's other end is the provider.

    Args:
        channel: A new connection to the proxy.
        proxy: Its credential.
        host: The provider's host.
        port: Its port.

    Raises:
        ProxyError: The proxy refused.
        OSError: The connection broke.
        h11.RemoteProtocolError: The proxy does not speak HTTP.
    """
    target = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    headers = [("host", target)]
    if proxy.authorization:
        headers.append(("proxy-authorization", proxy.authorization))
    http = h11.Connection(h11.CLIENT)
    channel.write(http.send(h11.Request(method="CONNECT", target=target, headers=headers)) or b"")
    http.send(h11.EndOfMessage())
    while True:
        event = http.next_event()
        if isinstance(event, h11.Response):
            if event.status_code not in _SUCCESSES:
                raise ProxyError(event.status_code, event.reason.decode("latin-1"))
            return
        if event is h11.NEED_DATA:
            data = await channel.read()
            if not data:
                raise h11.RemoteProtocolError("the proxy disconnected without sending a response")
            http.receive_data(data)
