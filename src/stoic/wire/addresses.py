"""Checks a request's URL and headers and turns them into what httpcore2 takes, once for all requests alike."""

import re
from typing import NamedTuple
from urllib.parse import urlsplit

import httpcore2

from stoic.errors import UsageError
from stoic.wire.connections import Origin

_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9a-z-]+")
_VALUE = re.compile(r"[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?|")
_TARGET = re.compile(r"[\x21-\x7e]+")
_OURS = {"host", "content-length", "accept-encoding", "connection", "transfer-encoding"}
_DEFAULTS = {"content-type": "application/json", "accept": "text/event-stream"}


class Address(NamedTuple):
    """Where requests go and what they all carry."""

    origin: Origin
    url: httpcore2.URL
    headers: list[tuple[bytes, bytes]]
    """All but `content-length`. Holds the credential."""

    @property
    def server(self) -> str:
        """Scheme, host and port, as an error names them: nothing in it is a credential."""
        return f"http{'s' if self.origin.secure else ''}://{_authority(self.origin)}"


def read_address(url: str, headers: tuple[tuple[str, str], ...]) -> Address:
    """Return what is the same for all requests with this URL and these headers.

    Raises:
        UsageError: The URL or a header cannot be; the text never shows a header's value.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise UsageError(f"not a URL: {_shown(url)}; host or port are none") from None
    host = parts.hostname
    if parts.scheme not in ("http", "https") or not host:
        raise UsageError(
            f"not a URL of a provider: {_shown(url)}; it must begin with http:// or https:// and name a host"
        )
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    if not _TARGET.fullmatch(target) or not _TARGET.fullmatch(host):
        raise UsageError(f"not a URL: {_shown(url)}; spaces and letters beyond ASCII must be percent-encoded")
    secure = parts.scheme == "https"
    origin = Origin(secure, host, port or (443 if secure else 80))
    parsed = httpcore2.URL(scheme=parts.scheme, host=host, port=origin.port, target=target)
    return Address(origin, parsed, _headers(origin, dict(headers)))


def _shown(url: str) -> str:
    """Return what of a URL that is none may be shown: a user part and a query may be credentials."""
    scheme, separator, rest = url.partition("?")[0].rpartition("://")
    return repr(f"{scheme}{separator}{rest.rpartition('@')[2]}")


def _authority(origin: Origin) -> str:
    """Return host and port as URLs write them, the port only when it is not the scheme's own."""
    host = f"[{origin.host}]" if ":" in origin.host else origin.host
    return host if origin.port == (443 if origin.secure else 80) else f"{host}:{origin.port}"


def _headers(origin: Origin, given: dict[str, str]) -> list[tuple[bytes, bytes]]:
    wanted = _DEFAULTS | {name.lower(): value for name, value in given.items()}
    kept = [(name, value) for name, value in wanted.items() if name not in _OURS]
    for name, value in kept:
        if not _NAME.fullmatch(name) or not _VALUE.fullmatch(value):
            # The value may be a key: it is not shown.
            raise UsageError(f"the header {name!r} has a character HTTP does not allow; look for line ends in the key")
    fixed = [("host", _authority(origin)), ("accept-encoding", "identity")]
    return [(name.encode("ascii"), value.encode("ascii")) for name, value in fixed + kept]
