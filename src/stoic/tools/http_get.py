"""Built-in `http_get`: reads one page of the web, and nothing of the machine's own network unless it is allowed."""

import asyncio
import codecs
import re
import socket
from collections.abc import Collection, Iterable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import cast

import httpcore2
import httpx2

from stoic.records import Record
from stoic.tools.declaration import Tool

LIMIT_BYTES = 1_000_000
TIMEOUT_SECONDS = 30.0
LIMIT_REDIRECTS = 5
_LAST_PORT = 65_535
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_TEXT = re.compile(
    r"text/|application/(?:[\w.+-]*(?:json|xml|yaml|javascript|ecmascript|x-ndjson|x-sh|toml|sql)\b)", re.IGNORECASE
)
_CHARSET = re.compile(r"charset\s*=\s*[\"']?([\w.:-]+)", re.IGNORECASE)
_NO_CHARSETS = frozenset({"punycode", "idna", "undefined", "unicode_escape", "raw_unicode_escape"})
"""What Python decodes beside charsets: the first takes minutes for a page."""
_TRANSLATED = IPv6Network("64:ff9b::/96")
_UNICAST = IPv6Network("2000::/3")
"""All that IANA has given out as public addresses; older Pythons take more for global, such as site-local ones."""
_SPECIAL = (IPv4Network("192.0.0.0/24"), IPv4Network("192.88.99.0/24"), IPv6Network("3fff::/20"))
"""Within the public ranges, and nobody's web server."""
_HEADERS = {
    "accept": "text/*, application/json, application/xml;q=0.9, */*;q=0.1",
    "accept-encoding": "identity",
    "user-agent": "stoic",
}


class PageError(ValueError):
    """The page cannot or must not be read; the text is told to the model."""


class Page(Record, frozen=True):
    """An answer that was not a redirect, as far as it was read."""

    url: str
    status: int
    content_type: str
    data: bytes
    encoding: str = ""
    """The `content-encoding`; empty: none."""
    cut: bool = False


def http_get_tool(
    *,
    private_hosts: Collection[str] = (),
    timeout_seconds: float = TIMEOUT_SECONDS,
    limit_bytes: int = LIMIT_BYTES,
) -> Tool:
    """Return the `http_get` tool. It uses no proxy and sends no cookie and no credential.

    Args:
        private_hosts: hosts that may be read although their addresses are this machine's or a private network's; every
            other name or number that leads there is refused, also by a redirect
        timeout_seconds: for the whole page, redirects included
        limit_bytes: how much of a page is read
    """
    reader = _Reader(frozenset(host.lower() for host in private_hosts), limit_bytes)

    async def http_get(url: str) -> str:
        """Read a page of the web with GET and return its text as it is; scripts do not run.

        Args:
            url: beginning with http:// or https://
        """
        try:
            async with asyncio.timeout(timeout_seconds):
                return shown_page(await reader.read(url))
        except TimeoutError:
            raise TimeoutError(f"no whole answer came within {timeout_seconds:g} s") from None

    return Tool(http_get, effect="read")


def shown_page(page: Page) -> str:
    """Return what a model sees of a page."""
    head = f"HTTP {page.status} {page.content_type or 'without content type'}; {page.url}"
    if page.encoding:
        return f"{head}\n[the text is compressed with {page.encoding[:20]!r} though it was asked for plain; it is not shown]"
    if (page.content_type and not _TEXT.match(page.content_type)) or b"\0" in page.data[:4096]:
        return f"{head}\n[no text: {len(page.data)}{' or more' if page.cut else ''} bytes are not shown]"
    note = f"\n[the page is longer; only its first {len(page.data)} bytes were read]" if page.cut else ""
    return f"{head}\n\n{_decoded(page)}{note}"


def is_public(address: str) -> bool:
    """Tell whether an IP address is one of the public Internet, whatever form or tunnel it is written in."""
    number = ip_address(address.partition("%")[0])
    inner = _inner(number) if isinstance(number, IPv6Address) else None
    if inner is not None:
        number = inner
    if isinstance(number, IPv6Address) and number not in _UNICAST:
        return False
    return number.is_global and not number.is_multicast and not any(number in network for network in _SPECIAL)


def _inner(number: IPv6Address) -> IPv4Address | None:
    """Return the IPv4 address that an IPv6 address stands for, if it does."""
    if number in _TRANSLATED:
        return IPv4Address(int(number) & 0xFFFFFFFF)
    return number.ipv4_mapped or number.sixtofour or (number.teredo[1] if number.teredo else None)


def _decoded(page: Page) -> str:
    found = _CHARSET.search(page.content_type)
    try:
        charset = codecs.lookup(found[1] if found else "utf-8").name
        return page.data.decode("utf-8" if charset in _NO_CHARSETS else charset, "replace")
    except LookupError:  # a charset of that name does not exist
        return page.data.decode("utf-8", "replace")


class _Reader:
    """Reads pages, each over a connection of its own."""

    def __init__(self, private_hosts: frozenset[str], limit_bytes: int) -> None:
        self._network = _GuardedNetwork(private_hosts)
        self._limit_bytes = limit_bytes

    async def read(self, url: str) -> Page:
        """Read a page, through its redirects. Raises PageError, httpcore2's exceptions."""
        target = _checked(url)
        async with httpcore2.AsyncConnectionPool(network_backend=self._network) as pool:
            for _ in range(LIMIT_REDIRECTS + 1):
                found = await self._ask(pool, target)
                if isinstance(found, Page):
                    return found
                target = found
        raise PageError(f"more than {LIMIT_REDIRECTS} redirects, the last one to {target}; nothing was read")

    async def _ask(self, pool: httpcore2.AsyncConnectionPool, url: httpx2.URL) -> Page | httpx2.URL:
        """Ask once; return the page, or where it redirects to."""
        target = httpcore2.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path)
        headers = [("host", url.netloc.decode("ascii")), *_HEADERS.items()]
        async with pool.stream("GET", target, headers=headers) as response:
            fields = {name.lower().decode("latin-1"): value.decode("latin-1") for name, value in response.headers}
            if response.status in _REDIRECTS and "location" in fields:
                return _checked(fields["location"], url)
            data = bytearray()
            async for chunk in response.aiter_stream():
                data += chunk
                if len(data) > self._limit_bytes:
                    break
        encoding = fields.get("content-encoding", "")
        return Page(
            url=str(url),
            status=response.status,
            content_type=fields.get("content-type", ""),
            data=bytes(data[: self._limit_bytes]),
            encoding="" if encoding.lower() == "identity" else encoding,
            cut=len(data) > self._limit_bytes,
        )


class _GuardedNetwork(httpcore2.AsyncNetworkBackend):
    """Connects to public addresses only, and to the very address that was judged: a name is looked up once."""

    def __init__(self, private_hosts: frozenset[str]) -> None:
        self._private_hosts = private_hosts
        # The library's types leave open whether anyio is installed; httpx2 needs it.
        self._plain = cast("httpcore2.AsyncNetworkBackend", httpcore2.AnyIOBackend())

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - the interface's
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Connect to the first address of a host that answers. Raises PageError for one that is not public."""
        addresses = await self._addresses(host, port)
        for address in addresses[:-1]:
            try:
                return await self._plain.connect_tcp(address, port, timeout, local_address, socket_options)
            except httpcore2.ConnectError:
                continue
        return await self._plain.connect_tcp(addresses[-1], port, timeout, local_address, socket_options)

    async def _addresses(self, host: str, port: int) -> list[str]:
        try:
            found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError):
            raise PageError(f"there is no host {host!r}") from None
        addresses = list(dict.fromkeys(str(each[4][0]) for each in found))
        if host.lower() not in self._private_hosts and not all(map(is_public, addresses)):
            raise PageError(f"host {host!r} is this machine or in a private network; it may not be read from here")
        return addresses


def _checked(url: str, base: httpx2.URL | None = None) -> httpx2.URL:
    """Return a URL that may be read. Raises PageError."""
    try:
        target = httpx2.URL(url) if base is None else base.join(url)
    except (httpx2.InvalidURL, ValueError) as error:
        raise PageError(f"{url[:200]!r} is no URL ({error})") from None
    redirected = "" if base is None else f"{base} redirects there: "
    if target.scheme not in {"http", "https"} or not target.host:
        raise PageError(f"{redirected}{url[:200]!r} does not begin with http:// or https:// and a host")
    if target.port is not None and target.port > _LAST_PORT:
        raise PageError(f"{redirected}{url[:200]!r} is no URL (no port has that number)")
    if target.userinfo:
        raise PageError(f"{redirected}the URL carries a user name or password; read it without")
    return target.copy_with(fragment=None)
