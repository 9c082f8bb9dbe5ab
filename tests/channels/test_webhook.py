"""Webhooks against a real server: what arrives, that it is signed, and what counts as having arrived."""

import asyncio
import hashlib
import hmac
import json
import socket

import pytest
from tests.channels.hooks import Hooks

from stoic.channels import webhook
from stoic.credentials import Secret
from stoic.notifying import connect_channels
from stoic.records import Notice
from stoic.settings import ChannelSettings, Settings
from stoic.testing import FakeClock

SECRET = "s3cret"
NOTICE = Notice(
    id="n1",
    key="refusal:t.1#1:0:openai",
    thread="t",
    kind="refusal",
    priority="critical",
    text="Refused by openai:m.",
    actions=["stoic fresh t"],
    created_at=5,
)


def settings(*urls, **fields):
    channels = [ChannelSettings(type="webhook", url=Secret(url), secret=Secret(SECRET)) for url in urls]
    return Settings(database="unused", notice_channels=channels, **fields)


def deliver(url, notice=NOTICE, times=1, **fields):
    """Return what a webhook says to each of some deliveries, and the clock that stamped them."""
    clock = FakeClock()

    async def run():
        (channel,) = connect_channels(settings(url, **fields), clock)
        said = [await channel.deliver(notice) for _ in range(times)]
        await channel.close()
        return said

    return asyncio.run(run()), clock


def test_a_notice_arrives_whole_and_signed():
    with Hooks(200) as hooks:
        said, clock = deliver(hooks.url)
    (posted,) = hooks.posted
    assert said == [None]
    assert posted.path == "/hook"
    assert posted.headers["content-type"] == "application/json"
    wanted = hmac.new(SECRET.encode(), posted.body, hashlib.sha256).hexdigest()
    assert posted.headers["x-stoic-signature"] == f"sha256={wanted}"
    assert posted.value == {
        "key": NOTICE.key,
        "id": "n1",
        "kind": "refusal",
        "priority": "critical",
        "thread": "t",
        "text": NOTICE.text,
        "actions": ["stoic fresh t"],
        "created_at": 5,
        "sent_at": clock.now_ms(),
    }


def test_the_signature_is_the_one_that_the_how_to_checks():
    body = json.dumps({"key": "k"}).encode()
    wanted = hmac.new(b"s\xff", body, hashlib.sha256).hexdigest()
    assert webhook.signature(Secret("s\udcff"), body) == f"sha256={wanted}"


@pytest.mark.parametrize("status", [200, 201, 204, 299])
def test_any_success_is_an_arrival(status):
    with Hooks(status) as hooks:
        assert deliver(hooks.url, times=2)[0] == [None, None]
    assert len(hooks.posted) == 2


def test_a_redirect_is_not_followed():
    with Hooks(307) as hooks:
        said, _ = deliver(hooks.url)
    assert said == ["HTTP 307: redirects are not followed; give the address it leads to"]
    assert [posted.path for posted in hooks.posted] == ["/hook"]


@pytest.mark.parametrize("status", [400, 404, 500, 503])
def test_any_other_status_is_told_and_sent_once(status):
    with Hooks(status) as hooks:
        assert deliver(hooks.url)[0] == [f"HTTP {status}"]
    assert len(hooks.posted) == 1


def test_what_an_error_page_says_is_not_kept():
    def blame(handler):
        body = b"your secret is " + SECRET.encode() * 1000
        handler.send_response(500)
        handler.send_header("content-length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    with Hooks(blame) as hooks:
        assert deliver(hooks.url)[0] == ["HTTP 500"]


def test_a_success_whose_body_breaks_off_or_never_ends_is_an_arrival():
    def break_off(handler):
        handler.send_response(200)
        handler.send_header("content-length", "100")
        handler.end_headers()
        handler.wfile.write(b"{")
        handler.close_connection = True

    def flood(handler):
        handler.send_response(200)
        handler.end_headers()
        try:
            while True:
                handler.wfile.write(b"x" * 65536)
        except OSError:
            handler.close_connection = True

    def stream(handler):
        handler.send_response(200)
        handler.send_header("content-type", "text/event-stream")
        handler.end_headers()
        handler.wfile.write(b"data: {}\n\n")
        handler.close_connection = True

    with Hooks(break_off, flood, stream) as hooks:
        assert [deliver(hooks.url)[0] for _ in range(3)] == [[None]] * 3


def test_a_server_that_is_not_there_is_told_without_the_path():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    ((error,), _) = deliver(f"http://127.0.0.1:{port}/secret-path")
    assert error
    assert error.startswith("ConnectError: ")
    assert "secret-path" not in error


def test_a_proxy_leads_to_other_machines_and_never_to_this_one():
    with Hooks(200) as hooks, Hooks(204) as proxy:
        proxy_url = f"http://{proxy.host}"
        assert deliver(hooks.url, http_proxy_url=proxy_url)[0] == [None]
        assert deliver("http://hooks.example/hook", http_proxy_url=proxy_url)[0] == [None]
    assert [posted.path for posted in hooks.posted] == ["/hook"]
    assert [posted.path for posted in proxy.posted] == ["http://hooks.example:80/hook"]


def test_a_webhook_takes_every_notice_and_its_name_shows_host_alone():
    first, second = connect_channels(settings("https://a.example/x?token=1", "https://a.example/y"), FakeClock())
    assert first.takes(NOTICE)
    assert first.name.startswith("webhook a.example ")
    assert "token" not in first.name
    assert first.name != second.name
