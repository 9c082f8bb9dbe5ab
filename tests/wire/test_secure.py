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
from stoic.wire.proxies import read_proxy

FOLDER = Path(__file__).parent / "tls"
CERTIFICATE = str(FOLDER / "certificate.pem")
ANSWER = b'{"choices":[{"message":{"content":"x"},"finish_reason":"stop"}]}'
WHOLE = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(ANSWER) + ANSWER
CREDENTIAL = b"Proxy-Authorization: Basic dXNlcjp3byByZA==\r\n"
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
    assert report.exception.type == "httpcore2.ConnectError"
    assert report.exception.cause[0].startswith("ssl.SSLCertVerificationError: [SSL: CERTIFICATE_VERIFY_FAILED]")


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


def test_plain_request_is_handed_to_the_proxy_with_its_credential(make_provider, make_request):
    request = make_request("http://provider.invalid:81/v1")
    report, asked = asyncio.run(through_proxy(lambda url: make_provider(proxy_url=url), request, WHOLE))
    assert asked[0].startswith(b"POST http://provider.invalid:81/v1/chat/completions HTTP/1.1\r\n")
    assert b"\r\nhost: provider.invalid:81\r\n" in asked[0]
    assert asked[0].count(CREDENTIAL) == 1
    assert (report.finish, report.exception) == ("stop", None)


@pytest.mark.parametrize("host", ["provider.invalid", "other.invalid"])
def test_secure_connection_goes_through_the_tunnel_and_checks_the_providers_name(host, make_provider, make_request):
    async def run():
        requests = []

        async def serve(reader, writer):
            try:
                while data := await reader.read(65536):
                    requests.append(data)
                    writer.write(WHOLE)
            finally:
                writer.close()

        async with await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context()) as server:
            port = server.sockets[0].getsockname()[1]
            request = make_request(f"https://{host}/v1")
            report, asked = await through_proxy(
                lambda url: make_provider(proxy_url=url, ca_file=CERTIFICATE),
                request,
                b"HTTP/1.1 200 OK\r\n\r\n",
                onward=port,
            )
            return report, asked, requests

    report, asked, requests = asyncio.run(run())
    assert asked[0].startswith(f"CONNECT {host}:443 HTTP/1.1\r\nHost: {host}:443\r\n".encode())
    assert CREDENTIAL in asked[0]
    assert all(b"proxy-authorization" not in request.lower() for request in requests)
    if host == "provider.invalid":
        assert (report.finish, report.exception) == ("stop", None)
    else:
        assert report.exception is not None
        assert report.exception.cause[0].startswith("ssl.SSLCertVerificationError: ")


REFUSALS = [
    (b"HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n", "httpcore2.ProxyError"),
    (b"SSH-2.0\r\n\r\n", "httpcore2.RemoteProtocolError"),
    (b"", "httpcore2.RemoteProtocolError"),
]


@pytest.mark.parametrize(("answer", "kind"), REFUSALS)
def test_proxy_that_opens_no_tunnel_is_reported(answer, kind, make_provider, make_request):
    request = make_request("https://provider.invalid/v1")
    with_word = "http://me:word@"
    report, _ = asyncio.run(
        through_proxy(lambda url: make_provider(proxy_url=url.replace("http://", with_word)), request, answer)
    )
    assert report.status is None
    assert report.exception is not None
    assert report.exception.fields["server"] == "https://provider.invalid"
    assert report.exception.fields["proxy"].startswith("http://127.0.0.1:")
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
    ("http://proxy:3128", 3128, []),
    ("http://proxy", 80, []),
    ("http://a:b@proxy:1/", 1, [(b"Proxy-Authorization", b"Basic YTpi")]),
]


@pytest.mark.parametrize(("url", "port", "headers"), PROXIES)
def test_proxy_is_read_from_its_url(url, port, headers):
    proxy = read_proxy(url)
    assert (proxy.url.host, proxy.url.port, proxy.headers) == (b"proxy", port, headers)


@pytest.mark.parametrize(
    "url",
    ["socks5://a:secret@proxy:1", "http://a:secret@pröxy:1", "proxy:3128", "http://a:secret@proxy:99999", "http://"],
)
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
    assert report.exception.fields == {
        "phase": "connect",
        "reused_connection": False,
        "server": f"https://127.0.0.1:{port}",
    }


def test_cancelling_during_the_handshake_closes_the_connection(make_provider, make_request):
    async def run():
        async def serve(reader, writer):
            try:
                await reader.readexactly(1)
                greeted.set()
                await reader.read()
                closed.set()
            finally:
                writer.close()

        greeted, closed = asyncio.Event(), asyncio.Event()
        async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
            request = make_request(f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1")
            task = asyncio.create_task(make_provider().send(request, IGNORE))
            await greeted.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            async with asyncio.timeout(20):
                await closed.wait()
        return closed.is_set()

    assert asyncio.run(run())
