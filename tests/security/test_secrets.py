"""Credentials in what servers send back: none of them is kept, shown or sent on."""

import asyncio
import base64
import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.channels.hooks import Hooks
from tests.cli.background import inside
from tests.cli.processes import Bench
from tests.security.canaries import MARK, plant, traces, value_of
from tests.security.hostile import Hostile, Victim, answer

from stoic.core.retry import RetryPolicy
from stoic.ports import Request
from stoic.records import Outcome, Report
from stoic.runtime.agents import Agent
from stoic.settings import Access, Secret, Settings
from stoic.testing import FakeClock
from stoic.wire import chat
from stoic.wire.chat_decoding import ChatDecoder
from stoic.wire.redaction import MARK as REDACTED
from stoic.wire.transport import HttpProvider, HttpSettings
from stoic.wiring import Runtime

KEY = f"{MARK}-of-the/provider-0123456789"
CLOCK = FakeClock()


def key_of(victim: Victim) -> str:
    """Return the credential as it came, whatever header carried it."""
    carried = (victim.header(name) for name in ("authorization", "x-api-key", "x-goog-api-key", "api-key"))
    return next(filter(None, carried)).rpartition(" ")[2]


def body(value: object) -> Callable[[str], bytes]:
    """Return an error whose JSON has the key in the place of `%`."""
    return lambda key: answer(json.dumps(value).replace("%", key), "401 Unauthorized")


ECHOES: dict[str, Callable[[str], bytes]] = {
    "message": body({"error": {"message": "Incorrect API key provided: %. Find yours at %/keys", "type": "auth"}}),
    "code": body({"error": {"message": "no", "code": "%", "type": "%", "param": "%"}}),
    "name": body({"error": {"%": "no", "message": "no"}}),
    "text": lambda key: answer(f"<html>authorization: Bearer {key}</html>", "401 No", content_type="text/html"),
    "inner-json": lambda key: answer(
        json.dumps({"error": {"message": '{"key": "' + key.replace("/", "\\/") + '"}'}}), "400 No"
    ),
    "url": lambda key: answer(
        json.dumps({"error": {"message": f"POST /v1?key={key.replace('/', '%2F')} failed"}}), "400 No"
    ),
    "headers": lambda key: answer("{}", "401 No", www_authenticate=f'Bearer realm="{key}"', x_request_id=key),
    "retry-header": lambda key: answer("{}", "429 No", retry_after=f"{key} 2024-01-01", x_should_retry=key),
    "redirect": lambda key: answer("{}", "307 No", location=f"http://127.0.0.1:9/?key={key}"),
    "reason": lambda key: answer("{}", f"403 {key}"),
    "no-http": lambda key: f"{key} is what you sent\r\n\r\n".encode(),
    "broken-header": lambda key: f"HTTP/1.1 200 OK\r\nx: {key}\0\r\n\r\n".encode(),
    "broken-chunk": lambda key: f"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{key}\r\n".encode(),
    "event": lambda key: answer(
        f'event: error\ndata: {{"type":"error","error":{{"type":"{key}","message":"{key}"}}}}\n\n',
        content_type="text/event-stream",
    ),
    "comment": lambda key: answer(f": {key}\n\n", content_type="text/event-stream"),
    "finish": lambda key: answer(
        json.dumps({"model": key, "id": key, "choices": [{"message": {"content": "hm"}, "finish_reason": key}]})
    ),
    "refusal": body({"error": {"message": "%", "code": "content_policy_violation", "type": "%"}}),
}
PROVIDERS = {"openai-chat": "", "anthropic": "", "openai": "", "gemini": "", "azure": "/openai/v1"}


@pytest.mark.parametrize("how", ECHOES)
def test_a_key_that_a_server_sends_back_is_nowhere(how: str, tmp_path: Path, caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.DEBUG, "stoic")
    caplog.set_level(logging.INFO)
    told: list[object] = []

    async def run(url: str) -> None:
        access = {name: Access(base_url=url + path, key=Secret(KEY)) for name, path in PROVIDERS.items()}
        settings = Settings(database=str(tmp_path / "log.db"), access=access, retry=RetryPolicy(delays_ms=(0,)))
        async with Runtime(settings=settings) as runtime:
            for name in PROVIDERS:
                ending = await runtime.thread(name, Agent(f"{name}:m")).run("hi", told.append)
                assert isinstance(ending, Outcome)
                assert ending.outcome in {"failed", "stopped"}
                told.append(ending)
            assert (await runtime.store.health()) is not None
            assert list(traces(tmp_path)) == []  # while the log is open: its -wal too

    with Hostile(lambda victim: victim.send(ECHOES[how](key_of(victim)))) as server:
        asyncio.run(run(server.url("")))
        assert len(server.requests) >= len(PROVIDERS)
        assert all(KEY.encode() in each for each in server.requests)
    assert list(traces(tmp_path)) == []
    assert MARK not in repr(told)
    assert MARK not in caplog.text


def ask(url: str, **settings: Any) -> Report:
    async def run() -> Report:
        wire = HttpProvider(CLOCK, {chat.API: ChatDecoder}, HttpSettings(**settings))
        request = Request(
            url=url,
            headers=chat.auth_headers(KEY),
            body=b"{}",
            provider="p",
            api=chat.API,
            model="m",
            deadline_ms=CLOCK.now_ms() + 20_000,
        )
        report = await wire.send(request, lambda kind, text: None)
        await wire.close()
        return report

    return asyncio.run(run())


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_proxys_password_does_not_come_back(scheme: str):
    password = f"{MARK}-of-the-proxy"
    basic = base64.b64encode(f"me:{password}".encode()).decode()

    def act(victim: Victim) -> None:
        assert victim.header("proxy-authorization") == f"Basic {basic}"
        text = json.dumps({"error": {"message": f"{password} {basic} {victim.header('authorization')}"}})
        victim.send(answer(text, f"407 {password} {basic}", x_seen=basic))

    with Hostile(act) as proxy:
        report = ask(f"{scheme}://provider.invalid/v1", proxy_url=f"http://me:{password}@127.0.0.1:{proxy.port}")
        assert len(proxy.requests) == 1
    assert MARK not in repr(report)
    assert basic not in repr(report)
    assert REDACTED in repr(report)


def test_what_a_model_says_is_left_as_it_came():
    reply = {"choices": [{"message": {"content": f"Your file says KEY={KEY}"}, "finish_reason": "stop"}]}
    with Hostile(answer(json.dumps(reply))) as server:
        report = ask(server.url())
    assert [getattr(part, "text", None) for part in report.parts or []] == [f"Your file says KEY={KEY}"]


def test_a_short_word_in_the_place_of_a_key_is_left_in_texts():
    with Hostile(answer('{"error": {"message": "none of the models is loaded"}}', "503 No")) as server:
        asked = server.url()

        async def run() -> Report:
            wire = HttpProvider(CLOCK, {chat.API: ChatDecoder})
            request = Request(
                url=asked, headers=chat.auth_headers("none"), body=b"{}", provider="p", api=chat.API, model="m",
                deadline_ms=CLOCK.now_ms() + 20_000,
            )  # fmt: skip
            report = await wire.send(request, lambda kind, text: None)
            await wire.close()
            return report

        assert asyncio.run(run()).body == {"error": {"message": "none of the models is loaded"}}


def test_no_command_shows_or_keeps_a_credential(bench: Bench):
    """A whole day: a turn that fails by its key, its notices by every channel, and whatever a person looks at then."""

    def act(victim: Victim) -> None:
        key = key_of(victim)
        victim.send(answer(json.dumps({"error": {"message": f"bad key {key}", "code": key}}), "401 No", x_key=key))

    def shout(handler) -> None:
        handler.wfile.write(f"{handler.raw_requestline.decode()} {handler.headers} is no HTTP\r\n\r\n".encode())
        handler.close_connection = True

    with Hooks(shout) as hooks, Hostile(act) as server:
        bench.environment |= plant(bench.folder, f"http://{hooks.host}")
        work = ["--workspace", str(bench.workspace), "--model", "openai-chat:m", "--base-url", server.url()]
        ran = [
            bench.stoic("run", "hi", "--thread", "t", *work),
            inside(bench, "notices", "send"),
            *(inside(bench, *line.split()) for line in LOOKS),
            bench.stoic("run", "hi", "--thread", "u", "--json", *work),
        ]
        assert len(server.requests) >= 1
        assert len(hooks.posted) >= 1
    shown = "".join(done.stdout + done.stderr for done in ran)
    assert "[key]" in shown
    assert "Traceback" not in shown
    assert "RemoteProtocolError" in shown
    assert MARK not in shown
    assert value_of("OPENAI_API_KEY").encode() in server.requests[0]
    assert list(traces(bench.folder, bench.folder / "config.toml")) == []


LOOKS = (
    "show t", "show t --json", "threads", "threads export t", "threads export t --format md", "health", "health --json",
    "notices --all", "notices --all --json", "doctor", "doctor --json", "config", "config --json", "operations list",
)  # fmt: skip
