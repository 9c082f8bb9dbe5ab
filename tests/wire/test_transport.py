"""The HTTP client against a real server: what arrives, what breaks, and what is never done."""

import asyncio
import socket

import msgspec
import pytest

from stoic.errors import UsageError
from stoic.records import CallPart, TextPart
from stoic.testing import ScriptedProvider

IGNORE = lambda kind, text: None


async def ask(script, make_provider, make_request, count=1, **settings):
    """Send a request `count` times to a provider with this script; return reports and the provider."""
    async with ScriptedProvider(script) as scripted:
        wire = make_provider(**settings)
        reports = [await wire.send(make_request(scripted.base_url), IGNORE) for _ in range(count)]
        await wire.close()
        return reports, scripted


async def answer_raw(make_provider, make_request, answer, count=1, close=True, **settings):
    """Send to a server that answers the very bytes given, to each request of a connection alike."""
    connections = 0

    async def serve(reader, writer):
        nonlocal connections
        connections += 1
        try:
            while await reader.read(65536):
                writer.write(answer)
                if close:
                    break
        finally:
            writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        wire = make_provider(**settings)
        reports = [await wire.send(make_request(f"http://127.0.0.1:{port}/v1"), IGNORE) for _ in range(count)]
        await wire.close()
    return reports, connections


def event_stream(body, headers="content-type: text/event-stream\r\n"):
    return f"HTTP/1.1 200 OK\r\n{headers}\r\n".encode() + body


def chunk(content, finish="null"):
    return f'data: {{"choices":[{{"index":0,"delta":{{"content":{content}}},"finish_reason":{finish}}}]}}\n\n'.encode()


def test_deltas_arrive_while_the_answer_is_still_under_way(make_provider, make_request):
    async def run():
        heard = []
        script = [["thinking:hm", "text:Hello", "tool:pay({})", "gate:more", "text: again"]]
        async with ScriptedProvider(script) as scripted:

            def hear(kind, text):
                heard.append((kind, text))
                if kind == "call":
                    scripted.open_gate("more")

            wire = make_provider()
            report = await wire.send(make_request(scripted.base_url), hear)
            await wire.close()
        return heard, report

    heard, report = asyncio.run(run())
    assert heard == [("thinking", "hm"), ("text", "Hello"), ("call", "pay"), ("text", " again")]
    assert report.ended
    assert report.finish == "tool_calls"
    assert report.request_id == "req_scripted000001"


def test_connection_is_used_again_after_a_whole_answer_only(make_provider, make_request):
    script = [["text:a"], ["text:b"], ["text:c", "cut"], ["text:d"], {"status": 429, "body": {}}, ["text:e"]]
    reports, scripted = asyncio.run(ask(script, make_provider, make_request, 6))
    assert [request.connection for request in scripted.requests] == [1, 1, 1, 2, 2, 2]
    assert [report.end for report in reports] == ["clean", "clean", "cut", "clean", None, "clean"]


def test_connection_closed_by_the_server_meanwhile_is_not_used(make_provider, make_request):
    answer = event_stream(chunk('"x"', '"stop"'), "content-type: text/event-stream\r\ncontent-length: 80\r\n")
    assert len(chunk('"x"', '"stop"')) == 80
    reports, connections = asyncio.run(answer_raw(make_provider, make_request, answer, count=5))
    assert [(report.ended, report.exception) for report in reports] == [(True, None)] * 5
    assert connections == 5


def test_old_idle_connection_is_not_used(make_provider, make_request):
    _, scripted = asyncio.run(ask([["text:a"]] * 3, make_provider, make_request, 3, keep_idle_seconds=0))
    assert scripted.connections == 3


def test_connection_that_brought_bytes_nobody_asked_for_is_not_used(make_provider, make_request):
    answer = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}"
    more = b"HTTP/1.1 408 Request Timeout\r\n\r\n"
    reports, connections = asyncio.run(answer_raw(make_provider, make_request, answer + more, count=3, close=False))
    assert [(report.status, report.exception) for report in reports] == [(200, None)] * 3
    assert connections == 3


def test_request_is_sent_once_although_its_first_connection_held_an_unasked_answer(make_provider, make_request):
    answer = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}"

    async def run(behind):
        requests = []

        async def serve(reader, writer):
            try:
                while data := await reader.read(65536):
                    requests.append(data)
                    writer.write(answer + behind)
            finally:
                writer.close()

        async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
            wire = make_provider()
            request = make_request(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1")
            reports = [await wire.send(request, IGNORE) for _ in range(2)]
            await wire.close()
        return len(requests), [report.status for report in reports]

    assert asyncio.run(run(answer)) == (2, [200, 200])
    assert asyncio.run(run(b"no HTTP at all\r\n\r\n")) == (2, [200, 200])


def test_answer_that_comes_before_the_request_is_taken_whole_is_heard(make_provider, make_request):
    async def run():
        async def serve(reader, writer):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 413 Too Large\r\ncontent-length: 3\r\n\r\nbig")
            await left.wait()
            writer.close()

        left = asyncio.Event()
        async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
            request = make_request(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", "x" * 30_000_000)
            wire = make_provider()
            report = await wire.send(request, IGNORE)
            await wire.close()
            left.set()
        return report

    report = asyncio.run(run())
    assert (report.status, report.body, report.exception) == (413, "big", None)


def test_flood_on_an_idle_connection_is_not_taken_in_and_the_next_request_goes_elsewhere(make_provider, make_request):
    answer = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}"

    async def run():
        connections, flooded = [], asyncio.Event()

        async def serve(reader, writer):
            connections.append(writer)
            try:
                await reader.read(65536)
                writer.write(answer)
                if len(connections) == 1:
                    await release.wait()
                    writer.write(b"x" * 64_000_000)
                    # The client reads no further than its own mark and the system's buffers.
                    while writer.transport.get_write_buffer_size() > 60_000_000:
                        await asyncio.get_running_loop().run_in_executor(None, int)
                    flooded.set()
                await reader.read(65536)
            finally:
                writer.transport.abort()

        release = asyncio.Event()
        async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
            wire = make_provider()
            request = make_request(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1")
            await wire.send(request, IGNORE)
            release.set()
            await flooded.wait()
            report = await wire.send(request, IGNORE)
            await wire.close()
        return len(connections), report

    count, report = asyncio.run(run())
    assert (count, report.status, report.exception) == (2, 200, None)


def test_no_more_connections_are_kept_than_the_setting_says(make_provider, make_request):
    async def run():
        async with ScriptedProvider({"default": ["gate:go", "text:x"]}) as scripted:
            wire = make_provider(keep_connections=2)
            requests = [make_request(scripted.base_url) for _ in range(4)]
            sending = asyncio.gather(*(wire.send(request, IGNORE) for request in requests))
            await scripted.arrived(4)
            scripted.open_gate("go")
            await sending
            await asyncio.gather(*(wire.send(request, IGNORE) for request in requests))
            await wire.close()
            return scripted.connections

    assert asyncio.run(run()) == 6


def test_provider_used_in_a_second_event_loop_connects_anew(make_provider, make_request):
    with ScriptedProvider({"default": "ok"}) as scripted:
        wire = make_provider()

        async def once():
            report = await wire.send(make_request(scripted.base_url), IGNORE)
            await wire.close()
            return report.finish

        assert [asyncio.run(once()) for _ in range(2)] == ["stop", "stop"]


def test_api_without_a_wire_is_a_usage_error(make_provider, make_request):
    request = msgspec.structs.replace(make_request("http://127.0.0.1:1/v1"), api="smoke")
    with pytest.raises(UsageError, match="no wire for the API 'smoke'; known: chat"):
        asyncio.run(make_provider().send(request, IGNORE))


def test_death_of_a_reused_connection_is_told_and_nothing_is_sent_again(make_provider, make_request):
    script = [["text:a"], {"words": ["text:b"], "cut_at_byte": 0}, ["text:c"]]
    reports, scripted = asyncio.run(ask(script, make_provider, make_request, 2))
    assert reports[1].exception is not None
    assert reports[1].exception.fields == {
        "phase": "head",
        "reused_connection": True,
        "server": scripted.base_url.removesuffix("/v1"),
    }
    assert not reports[1].exception.after_first_byte
    assert len(scripted.requests) == 2


@pytest.mark.parametrize("cut", [0, 1, 17, 60, 150])
def test_answer_cut_inside_its_head_has_no_status(cut, make_provider, make_request):
    (report,), _ = asyncio.run(ask([{"words": ["text:x"], "cut_at_byte": cut}], make_provider, make_request))
    assert report.status is None
    assert report.end is None
    assert report.exception is not None
    assert report.exception.after_first_byte == (cut > 0)


def test_every_cut_inside_the_body_is_seen_and_none_makes_a_whole_call(make_provider, make_request):
    async def run():
        whole, _ = await ask([['tool:pay({"amount":1})']], make_provider, make_request)
        size = 1400
        script = [{"words": ['tool:pay({"amount":1})'], "cut_at_byte": cut} for cut in range(200, size, 7)]
        return whole[0], (await ask(script, make_provider, make_request, len(script)))[0]

    whole, cuts = asyncio.run(run())
    assert whole.parts == [CallPart(name="pay", arguments='{"amount":1}', provider_id="call_1_0")]
    assert {report.end for report in cuts} <= {"cut", None, "clean"}
    for report in cuts:
        assert report.ended == (report.finish == "tool_calls")
        assert (report.exception is None) == report.ended
        assert all(part.whole == report.ended for part in report.parts or [])
    assert any(report.ended and report.end == "cut" for report in cuts)
    assert any(report.parts and not report.ended for report in cuts)


def test_cut_after_the_protocols_own_end_leaves_the_answer_complete(make_provider, make_request):
    answer = event_stream(chunk('"x"', '"stop"'), "content-type: text/event-stream\r\ncontent-length: 999\r\n")
    (report,), _ = asyncio.run(answer_raw(make_provider, make_request, answer))
    assert (report.ended, report.end, report.exception) == (True, "cut", None)


def test_server_that_never_closes_after_the_end_does_not_hold_the_answer(make_provider, make_request):
    answer = event_stream(chunk('"x"', '"stop"') + b"data: [DONE]\n\n")
    (report,), _ = asyncio.run(
        answer_raw(make_provider, make_request, answer, close=False, after_end_timeout_seconds=0.05)
    )
    assert (report.ended, report.end, report.exception) == (True, "clean", None)
    assert report.parts == [TextPart(text="x")]


@pytest.mark.parametrize("words", [["hang"], ["text:some", "hang"]])
def test_silence_is_reported_as_a_timeout_that_says_how_long(words, make_provider, make_request):
    (report,), _ = asyncio.run(ask([words], make_provider, make_request, idle_timeout_seconds=0.1))
    assert report.exception is not None
    assert report.exception.type == "TimeoutError"
    assert report.exception.message.startswith("no byte for 0.1 s")
    assert report.exception.after_first_byte == (words[0] != "hang")


def test_deadline_ends_an_answer_that_keeps_coming(make_provider, make_request):
    async def run():
        words = [word for _ in range(500) for word in ("text:x", "delay:5ms")]
        async with ScriptedProvider([words]) as scripted:
            request = make_request(scripted.base_url, deadline_seconds=0.2)
            return await make_provider().send(request, IGNORE)

    report = asyncio.run(run())
    assert report.exception is not None
    assert report.exception.message == "no complete answer within 0.2 s, the request's deadline"
    assert report.exception.after_first_byte
    assert not report.ended


def test_passed_deadline_sends_nothing(make_provider, make_request):
    async def run():
        async with ScriptedProvider([["text:x"]]) as scripted:
            report = await make_provider().send(make_request(scripted.base_url, deadline_seconds=-1), IGNORE)
            return report, scripted.requests

    report, requests = asyncio.run(run())
    assert report.exception is not None
    assert requests == []


def test_cancelling_closes_the_connection_and_passes_through(make_provider, make_request):
    async def run():
        async with ScriptedProvider([["text:some", "hang"], ["text:next"]]) as scripted:
            wire = make_provider()
            begun = asyncio.Event()
            task = asyncio.create_task(wire.send(make_request(scripted.base_url), lambda kind, text: begun.set()))
            await begun.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await scripted.answered(1)
            report = await wire.send(make_request(scripted.base_url), IGNORE)
            await wire.close()
            return scripted.requests, report

    requests, report = asyncio.run(run())
    assert requests[0].left_early
    assert (requests[1].connection, report.ended) == (2, True)


@pytest.mark.parametrize("kind", [KeyError, BrokenPipeError, TimeoutError])
def test_exception_of_a_subscriber_passes_through_and_closes_the_connection(kind, make_provider, make_request):
    async def run():
        async with ScriptedProvider([["text:a", "hang"], ["text:b"]]) as scripted:
            wire = make_provider()

            def fail(_, text):
                raise kind(text)

            with pytest.raises(kind):
                await wire.send(make_request(scripted.base_url), fail)
            await wire.send(make_request(scripted.base_url), IGNORE)
            await wire.close()
            return scripted.requests

    assert [request.connection for request in asyncio.run(run())] == [1, 2]


def test_redirect_is_reported_and_not_followed(make_provider, make_request):
    script = [{"status": 307, "headers": {"location": "/v1/chat/completions"}, "body": {}}, ["text:x"]]
    (report,), scripted = asyncio.run(ask(script, make_provider, make_request))
    assert (report.status, report.headers["location"]) == (307, "/v1/chat/completions")
    assert len(scripted.requests) == 1


def test_refused_connection_is_reported_with_its_type(make_provider, make_request):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        report = asyncio.run(make_provider().send(make_request(f"http://127.0.0.1:{port}/v1"), IGNORE))
    assert report.exception is not None
    assert report.exception.type == "httpcore2.ConnectError"
    assert report.exception.cause[0].startswith("ConnectionRefusedError: [Errno ")
    assert report.exception.fields["phase"] == "connect"


def test_unknown_host_is_reported_with_its_type(make_provider, make_request):
    report = asyncio.run(make_provider().send(make_request("http://no-such-host.invalid/v1"), IGNORE))
    assert report.exception is not None
    assert report.exception.type == "httpcore2.ConnectError"
    assert report.exception.cause[0].startswith("socket.gaierror: [Errno ")


def test_server_that_speaks_no_tls_is_reported_as_an_ssl_error(make_provider, make_request):
    async def run():
        async def serve(reader, writer):
            writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            await reader.read(65536)
            writer.close()

        async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            return await make_provider().send(make_request(f"https://127.0.0.1:{port}/v1"), IGNORE)

    report = asyncio.run(run())
    assert report.exception is not None
    assert (report.exception.type, report.exception.fields["phase"]) == ("httpcore2.ConnectError", "connect")
    assert report.exception.cause[0].startswith("ssl.SSLError: [SSL")


def test_answer_that_is_no_http_is_reported_as_a_protocol_error(make_provider, make_request):
    (report,), _ = asyncio.run(answer_raw(make_provider, make_request, b"SSH-2.0-OpenSSH_9.6\r\n\r\n"))
    assert report.exception is not None
    assert report.exception.type == "httpcore2.RemoteProtocolError"
    assert report.exception.after_first_byte


def test_large_error_body_is_kept_up_to_its_limit(make_provider, make_request):
    script = [{"status": 500, "headers": {"content-type": "text/html"}, "body": "x" * 300_000}]
    (report,), _ = asyncio.run(ask(script, make_provider, make_request, error_body_limit_bytes=1000))
    assert (report.status, report.body, report.exception) == (500, "x" * 1000, None)


@pytest.mark.parametrize(
    ("settings", "entry"),
    [
        ({"answer_limit_bytes": 5000}, ["text:" + "x" * 3000]),
        ({"event_limit_bytes": 5000}, {"status": 200, "sse": [{"event": None, "data": "x" * 5001}]}),
        ({"answer_limit_bytes": 5000}, {"status": 200, "body": {"x": "x" * 5001}}),
    ],
)
def test_answer_beyond_its_limit_is_given_up_with_a_clear_failure(settings, entry, make_provider, make_request):
    (report,), _ = asyncio.run(ask([entry], make_provider, make_request, **settings))
    assert report.exception is not None
    assert report.exception.type == "stoic.wire.answers.AnswerTooLargeError"
    assert "larger than 5000 bytes" in report.exception.message
    assert not report.ended


def test_whole_answer_to_a_stream_request_is_a_complete_reply(make_provider, make_request):
    message = {"role": "assistant", "content": "hello"}
    body = {"id": "c1", "model": "m", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
    (report,), _ = asyncio.run(ask([{"status": 200, "body": body}], make_provider, make_request))
    assert (report.stream, report.body, report.ended, report.finish) == (False, body, True, "stop")
    assert (report.parts, report.request_id, report.served_model) == ([TextPart(text="hello")], "c1", "m")


@pytest.mark.parametrize("kind", ["text/plain", "application/octet-stream", "application/json"])
def test_stream_under_a_wrong_content_type_is_still_a_stream(kind, make_provider, make_request):
    answer = event_stream(b": hi\n\n" + chunk('"x"', '"stop"'), f"content-type: {kind}\r\n")
    (report,), _ = asyncio.run(answer_raw(make_provider, make_request, answer))
    assert (report.stream, report.parts, report.end) == (True, [TextPart(text="x")], "clean")


def test_answer_split_at_every_byte_gives_the_same_report(make_provider, make_request):
    text = "é\u2028😀"
    body = chunk(f'"{text}"') + b": keep-alive\n\n" + chunk('"y"', '"stop"') + b"data:[DONE]\n\n"
    stream = event_stream(body, f"content-type: text/event-stream\r\ncontent-length: {len(body)}\r\n")

    async def run():
        async def serve(reader, writer):
            writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            try:
                while await reader.read(65536):
                    cut = cuts.pop()
                    for piece in (stream[:cut], stream[cut:]):
                        writer.write(piece)
                        # Let the other side's reader run, so that the pieces arrive apart.
                        for _ in range(3):
                            await asyncio.get_running_loop().run_in_executor(None, int)
            finally:
                writer.close()

        cuts = list(range(len(stream) + 1))
        async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
            url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
            wire = make_provider()
            reports = [await wire.send(make_request(url), IGNORE) for _ in range(len(stream) + 1)]
            await wire.close()
        return reports

    reports = asyncio.run(run())
    assert reports[0].parts == [TextPart(text=text + "y")]
    assert all(report == reports[0] for report in reports)


def test_secrets_are_not_in_the_report(make_provider, make_request):
    script = [{"status": 401, "headers": {"set-cookie": "session=1", "X-Kind": "a"}, "body": {}}]
    (report,), _ = asyncio.run(ask(script, make_provider, make_request))
    assert "sk-secret" not in repr(report)
    assert "set-cookie" not in report.headers
    assert report.headers["x-kind"] == "a"


@pytest.mark.parametrize("url", ["http://hößt/v1", "ftp://host/v1", "host/v1", "http:///v1", "http://host:99999/v1"])
def test_url_that_cannot_be_is_a_usage_error(url, make_provider, make_request):
    with pytest.raises(UsageError, match="not a URL"):
        asyncio.run(make_provider().send(make_request(url), IGNORE))


@pytest.mark.parametrize("key", ["sk-secret\n", "sk\r\nx: y", "sk-é", "„sk“", " "])
def test_key_that_no_header_can_hold_is_a_usage_error_that_does_not_show_it(key, make_provider, make_request):
    request = msgspec.structs.replace(make_request("http://127.0.0.1:1/v1"), headers={"x-api-key": key})
    with pytest.raises(UsageError, match="'x-api-key' has a character HTTP does not allow") as raised:
        asyncio.run(make_provider().send(request, IGNORE))
    assert "sk" not in str(raised.value)


def test_url_of_request_may_carry_a_query_and_an_ip_version_6_host(make_provider, make_request):
    async def run():
        heads = []

        async def serve(reader, writer):
            heads.append(await reader.readuntil(b"\r\n\r\n"))
            writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")
            writer.close()

        async with await asyncio.start_server(serve, "::1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            url = f"http://[::1]:{port}/v1/chat/completions?api-version=2"
            wire = make_provider()
            report = await wire.send(msgspec.structs.replace(make_request(""), url=url), IGNORE)
            await wire.close()
        return heads[0], port, report

    head, port, report = asyncio.run(run())
    assert head.startswith(b"POST /v1/chat/completions?api-version=2 HTTP/1.1\r\nhost: [::1]:%d\r\n" % port)
    assert (report.status, report.exception, report.ended) == (204, None, False)
