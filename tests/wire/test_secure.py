"""TLS and proxies.

The certificate in `tls/` is its own authority, for 127.0.0.1 and provider.invalid, valid for 100 years; its key is no
secret.
"""

import asyncio
import ssl
from pathlib import Path

import pytest

from stoic.errors import ConfigurationError
from stoic.testing import ScriptedProvider
from stoic.wire.tunnel import Proxy, read_proxy

FOLDER = Path(__file__).parent / "tls"
CERTIFICATE = str(FOLDER / "certificate.pem")
ANSWER = b'{"choices":[{"message":{"content":"x"},"finish_reason":"stop"}]}'
WHOLE = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(ANSWER) + ANSWER
IGNORE = lambda kind, text: None


def context():
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.load_cert_chain(CERTIFICATE, FOLDER / "key.pem")
    return made


async def ask_secure(wire, make_request, count=1):
    """Ask a TLS server, and return the reports and the number of its connections."""
    connections = 0

    async def serve(reader, writer):
        nonlocal connections
        connections += 1
        try:
            while await reader.read(65536):
                writer.write(WHOLE)
        finally:
            writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context()) as server:
        port = server.sockets[0].getsockname()[1]
        request = make_request(f"https://127.0.0.1:{port}/v1")
        reports = [await wire.send(request, IGNORE) for _ in range(count)]
        await wire.close()
    return reports, connections


def test_trusted_server_is_asked_over_one_secure_connection(make_provider, make_request):
    wire = make_provider(ca_file=CERTIFICATE)
    reports, connections = asyncio.run(ask_secure(wire, make_request, count=3))
    assert [(report.finish, report.exception) for report in reports] == [("stop", None)] * 3
    assert connections == 1


def test_untrusted_certificate_is_reported_as_what_it_is(make_provider, make_request):
    (report,), _ = asyncio.run(ask_secure(make_provider(), make_request))
    assert report.exception is not None
    assert report.exception.type == "ssl.SSLCertVerificationError"
    assert "CERTIFICATE_VERIFY_FAILED" in report.exception.message


def test_certificate_file_that_is_absent_is_reported_and_not_raised(make_provider, make_request, tmp_path):
    wire = make_provider(ca_file=str(tmp_path / "absent.pem"))
    (report,), connections = asyncio.run(ask_secure(wire, make_request))
    assert report.exception is not None
    assert (report.exception.type, connections) == ("FileNotFoundError", 0)


async def through_proxy(wire_of, request, answer, onward=None):
    """Run a proxy that answers CONNECT with the bytes given and then passes on; return report and what it was asked."""
    asked = []

    async def serve(reader, writer):
        asked.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(answer)
        try:
            if onward is not None:
                there, back = await asyncio.open_connection("127.0.0.1", onward)
                try:
                    await asyncio.gather(copy(reader, back), copy(there, writer))
                finally:
                    back.close()
        finally:
            writer.close()

    async def copy(source, sink):
        while data := await source.read(65536):
            sink.write(data)
        sink.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        wire = wire_of(f"http://user:wo%20rd@127.0.0.1:{server.sockets[0].getsockname()[1]}")
        report = await wire.send(request, IGNORE)
        await wire.close()
    return report, asked


def test_proxy_is_asked_for_a_tunnel_with_its_credential(make_provider, make_request):
    async def run():
        async with ScriptedProvider([["text:through"]]) as scripted:
            request = make_request("http://provider.invalid:81/v1")
            opened = b"HTTP/1.1 200 Connection established\r\n\r\n"
            report, asked = await through_proxy(
                lambda url: make_provider(proxy_url=url), request, opened, onward=scripted.port
            )
            return report, asked, scripted.requests

    report, asked, requests = asyncio.run(run())
    assert b"".join(asked) == (
        b"CONNECT provider.invalid:81 HTTP/1.1\r\nhost: provider.invalid:81\r\n"
        b"proxy-authorization: Basic dXNlcjp3byByZA==\r\n\r\n"
    )
    assert (report.finish, report.exception) == ("stop", None)
    assert "proxy-authorization" not in requests[0].headers


@pytest.mark.parametrize("host", ["provider.invalid", "other.invalid"])
def test_secure_connection_goes_through_the_tunnel_and_checks_the_providers_name(host, make_provider, make_request):
    async def run():
        async def serve(reader, writer):
            try:
                while await reader.read(65536):
                    writer.write(WHOLE)
            finally:
                writer.close()

        async with await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context()) as server:
            port = server.sockets[0].getsockname()[1]
            request = make_request(f"https://{host}/v1")
            return await through_proxy(
                lambda url: make_provider(proxy_url=url, ca_file=CERTIFICATE),
                request,
                b"HTTP/1.1 200 OK\r\n\r\n",
                onward=port,
            )

    report, asked = asyncio.run(run())
    assert asked[0].startswith(f"CONNECT {host}:443 HTTP/1.1\r\n".encode())
    if host == "provider.invalid":
        assert (report.finish, report.exception) == ("stop", None)
    else:
        assert report.exception is not None
        assert report.exception.type == "ssl.SSLCertVerificationError"


REFUSALS = [
    (b"HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n", "stoic.wire.tunnel.ProxyError"),
    (b"SSH-2.0\r\n\r\n", "h11.RemoteProtocolError"),
    (b"", "h11.RemoteProtocolError"),
]


@pytest.mark.parametrize(("answer", "kind"), REFUSALS)
def test_proxy_that_opens_no_tunnel_is_reported(answer, kind, make_provider, make_request):
    request = make_request("http://provider.invalid/v1")
    report, _ = asyncio.run(through_proxy(lambda url: make_provider(proxy_url=url), request, answer))
    assert report.status is None
    assert report.exception is not None
    assert report.exception.type == kind
    assert report.exception.fields["phase"] == "connect"
    if kind.endswith("ProxyError"):
        assert report.exception.message == "407 Proxy Authentication Required"
        assert report.exception.fields["status_code"] == 407


def test_this_machine_is_never_reached_through_the_proxy(make_provider, make_request):
    async def run(base_url):
        wire = make_provider(proxy_url="http://127.0.0.1:1")
        report = await wire.send(make_request(base_url), IGNORE)
        await wire.close()
        return report

    with ScriptedProvider({"default": "ok"}) as scripted:
        reports = [
            asyncio.run(run(scripted.base_url.replace("127.0.0.1", host))) for host in ("127.0.0.1", "localhost")
        ]
    assert [report.finish for report in reports] == ["stop", "stop"]


PROXIES = [
    ("http://proxy:3128", Proxy("proxy", 3128, None)),
    ("http://proxy", Proxy("proxy", 80, None)),
    ("http://a:b@proxy:1/", Proxy("proxy", 1, "Basic YTpi")),
]


@pytest.mark.parametrize(("url", "proxy"), PROXIES)
def test_proxy_is_read_from_its_url(url, proxy):
    assert read_proxy(url) == proxy


@pytest.mark.parametrize("url", ["socks5://a:secret@proxy:1", "proxy:3128", "http://a:secret@proxy:99999", "http://"])
def test_proxy_that_is_none_is_a_configuration_error_without_its_password(url):
    with pytest.raises(ConfigurationError, match="must be given as http://host:port") as raised:
        read_proxy(url)
    assert "secret" not in str(raised.value)


def test_handshake_that_is_never_answered_ends_with_the_connect_timeout(make_provider, make_request):
    async def run():
        async def serve(reader, writer):
            try:
                await asyncio.Event().wait()
            finally:
                writer.close()

        async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            wire = make_provider(connect_timeout_seconds=0.1)
            return port, await wire.send(make_request(f"https://127.0.0.1:{port}/v1"), IGNORE)

    port, report = asyncio.run(run())
    assert report.exception is not None
    assert report.exception.type == "TimeoutError"
    assert report.exception.message == f"no connection to 127.0.0.1:{port} within 0.1 s"
    assert report.exception.fields == {"phase": "connect", "reused_connection": False}
