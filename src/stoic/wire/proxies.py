"""Which proxy leads to a provider; the talking is httpcore2's."""

from ipaddress import ip_address
from urllib.parse import unquote, urlsplit

import httpcore2

from stoic.errors import ConfigurationError


def read_proxy(url: str) -> httpcore2.Proxy:
    """Read a proxy's URL, such as `http://user:word@proxy.example:3128`.

    Raises:
        ConfigurationError: It is not the URL of an HTTP proxy; the text does not show its password.
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        parts, host, port = None, None, None
    if parts is None or parts.scheme != "http" or not host or not host.isascii():
        raise ConfigurationError("the proxy must be given as http://host:port; other kinds are not supported")
    auth = None
    if parts.username is not None:
        auth = (unquote(parts.username).encode(), unquote(parts.password or "").encode())
    return httpcore2.Proxy(httpcore2.URL(scheme="http", host=host, port=port or 80, target="/"), auth=auth)


def is_loopback(host: str) -> bool:
    """Tell whether a host is this machine, which no proxy leads to."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
