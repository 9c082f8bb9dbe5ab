"""`http_get`: real pages over real HTTP; private addresses, endless redirects and endless pages are refused or bounded."""

import asyncio
from http.server import BaseHTTPRequestHandler

import pytest
from tests.tools.web import Web

from stoic.tools.http_get import LIMIT_REDIRECTS, PageError, http_get_tool, is_public


def read(url: str, **settings) -> str:
    settings.setdefault("private_hosts", ["localhost"])
    return asyncio.run(http_get_tool(**settings).function(url))


def redirect(target: str) -> tuple[int, dict[str, str], bytes]:
    return 302, {"location": target}, b""


def test_a_page_is_shown_with_its_status_type_and_address():
    with Web({"/a?b=c": (200, {"content-type": "text/html; charset=utf-8"}, "<p>grün</p>".encode())}) as web:
        assert read(web.url("/a?b=c#part")) == f"HTTP 200 text/html; charset=utf-8; {web.url('/a?b=c')}\n\n<p>grün</p>"
        ((path, headers),) = web.asked
    assert path == "/a?b=c"
    assert headers["host"] == f"localhost:{web.port}"
    assert headers["accept-encoding"] == "identity"
    assert not headers.keys() & {"cookie", "authorization"}


def test_an_error_page_is_an_answer_too():
    with Web({}) as web:
        assert read(web.url("/none")).endswith("\n\nnothing here")
        assert read(web.url("/none")).startswith("HTTP 404")


def test_it_counts_as_a_read():
    assert http_get_tool().effect == "read"


@pytest.mark.parametrize(
    ("content_type", "body", "shown"),
    [
        ("text/plain; charset=latin-1", b"gr\xfcn", "grün"),
        ("text/plain; charset=no-such", b"a", "a"),
        ("text/plain; charset=punycode", b"a" * 1_000_000, "a" * 1_000_000),
        ("text/plain; charset=idna", b"a..b", "a..b"),
        ("text/plain; charset=zlib", b"a", "a"),
        ("application/vnd.api+json", b"{}", "{}"),
        ("application/xhtml+xml", b"<p>", "<p>"),
        ("image/png", b"\x89PNG", "[no text: 4 bytes are not shown]"),
        ("application/octet-stream", b"abc", "[no text: 3 bytes are not shown]"),
        ("text/plain", b"a\0b", "[no text: 3 bytes are not shown]"),
    ],
)
def test_text_is_decoded_and_anything_else_is_not_shown(content_type: str, body: bytes, shown: str):
    with Web({"/": (200, {"content-type": content_type}, body)}) as web:
        assert read(web.url("/")).split("\n")[-1] == shown


def test_a_page_compressed_in_spite_of_the_request_is_not_shown():
    with Web({"/": (200, {"content-encoding": "gzip"}, b"\x1f\x8b")}) as web:
        assert "compressed with 'gzip'" in read(web.url("/"))


def test_redirects_are_followed_relative_ones_too():
    pages = {"/a": redirect("b/c"), "/b/c": redirect("/d"), "/d": (200, {}, b"here")}
    with Web(pages) as web:
        assert read(web.url("/a")).endswith(f"{web.url('/d')}\n\nhere")


@pytest.mark.parametrize(("redirects", "fine"), [(LIMIT_REDIRECTS, True), (LIMIT_REDIRECTS + 1, False)])
def test_as_many_redirects_as_allowed_are_followed_and_no_more(redirects: int, fine: bool):
    pages = {f"/{number}": redirect(f"/{number + 1}") for number in range(redirects)}
    with Web({**pages, f"/{redirects}": (200, {}, b"here")}) as web:
        if fine:
            assert read(web.url("/0")).endswith("here")
        else:
            with pytest.raises(PageError, match="more than 5 redirects"):
                read(web.url("/0"))
        assert len(web.asked) == LIMIT_REDIRECTS + 1


@pytest.mark.parametrize(
    "target", ["file:///etc/passwd", "ftp://example.org/", "javascript:alert(1)", "http://u:p@localhost/"]
)
def test_a_redirect_to_anything_but_a_plain_http_url_is_refused(target: str):
    with Web({"/": redirect(target)}) as web, pytest.raises(PageError, match="redirects there"):
        read(web.url("/"))


def test_a_redirect_to_a_private_address_is_refused():
    with Web({}) as web:
        web.pages["/"] = redirect(web.url("/secret", "127.0.0.1"))
        with pytest.raises(PageError, match=r"host '127\.0\.0\.1' is this machine or in a private network"):
            read(web.url("/"))
        assert [path for path, _ in web.asked] == ["/"]


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "[::1]", "0", "2130706433", "0x7f.1", "[::ffff:127.0.0.1]", "LOCALHOST"]
)
def test_this_machine_is_refused_by_whatever_name(host: str):
    with Web({"/": (200, {}, b"secret")}) as web:
        with pytest.raises(PageError, match=r"is this machine or in a private network|there is no host"):
            read(web.url("/", host), private_hosts=[])
        assert web.asked == []


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("93.184.215.14", True),
        ("2606:2800:21f:cb07:6820:80da:af6b:8b2c", True),
        ("64:ff9b::5db8:d70e", True),
        ("10.0.0.1", False),
        ("172.16.5.5", False),
        ("192.168.1.1", False),
        ("100.64.0.1", False),
        ("169.254.169.254", False),
        ("224.0.0.1", False),
        ("239.255.255.250", False),
        ("255.255.255.255", False),
        ("fe80::1%eth0", False),
        ("fd00::1", False),
        ("ff0e::1", False),
        ("::ffff:10.0.0.1", False),
        ("::ffff:93.184.215.14", True),
        ("64:ff9b::7f00:1", False),
        ("2002:7f00:1::", False),
        ("::7f00:1", False),
        ("::ffff:0:7f00:1", False),
        ("64:ff9b:1::a00:1", False),
        ("fec0::1", False),
        ("5f00::1", False),
        ("3fff::1", False),
        ("192.0.0.8", False),
        ("192.88.99.1", False),
        ("0.0.0.1", False),
        ("::", False),
    ],
)
def test_only_addresses_of_the_public_internet_are_public(address: str, public: bool):
    assert is_public(address) is public


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("file:///etc/passwd", "does not begin with http:// or https://"),
        ("example.org", "does not begin with http:// or https://"),
        ("http://", "does not begin with http:// or https://"),
        ("", "does not begin with http:// or https://"),
        ("http://user:word@localhost/", "carries a user name or password"),
        ("http://[::1", "is no URL"),
        ("http://localhost:99999/", "is no URL"),
    ],
)
def test_what_is_no_url_to_read_is_refused(url: str, said: str):
    with pytest.raises(PageError, match=said):
        read(url)


def test_a_page_without_end_is_cut():
    def endless(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("content-type", "text/plain")
        handler.end_headers()
        try:
            while True:
                handler.wfile.write(b"x" * 1000)
        except OSError:
            handler.close_connection = True

    with Web({"/": endless}) as web:
        text = read(web.url("/"), limit_bytes=2500)
    assert text.endswith("x" * 2500 + "\n[the page is longer; only its first 2500 bytes were read]")


def test_a_page_that_does_not_come_ends_at_the_deadline():
    with Web({}) as web:
        web.pages["/"] = lambda _: web.stopping.wait()
        with pytest.raises(TimeoutError, match=r"no whole answer came within 0\.2 s"):
            read(web.url("/"), timeout_seconds=0.2)
        web.stopping.set()


def test_a_port_without_server_is_an_error_of_the_network():
    with Web({}) as web:
        url = web.url("/")
    with pytest.raises(Exception, match="All connection attempts failed"):
        read(url)
