"""A whole thread over each API: real HTTP, a real log, thinking that goes back to its maker and to nobody else."""

import asyncio
import json
from typing import Any

import pytest
from tests.wire.apis import APIS, DECODERS

from stoic.ports import Connection
from stoic.records import Outcome
from stoic.runtime.agents import Agent
from stoic.settings import Settings
from stoic.testing import FakeClock, ScriptedProvider
from stoic.wire.messages import without_markers
from stoic.wire.transport import HttpProvider
from stoic.wiring import Runtime

MODELS = {"chat": "gpt-5", "messages": "claude-opus-5-5", "responses": "gpt-5", "generate": "gemini-3-pro"}
OTHERS = {"chat": "gpt-5-mini", "messages": "claude-haiku-5-5", "responses": "gpt-5-mini", "generate": "gemini-3-flash"}


def pay(amount: int) -> str:
    """Pay.

    Args:
        amount: How much.
    """
    return f"paid {amount}"


class Bench:
    """One API, one scripted provider, one log, and a runtime for each process that uses them."""

    def __init__(self, api, provider, folder):
        self.api, self.provider, self.path, self.clock = api, provider, str(folder / "log.db"), FakeClock(auto=True)

    def connect(self, model):
        """Make a connection of `PROVIDER:NAME`."""
        name, module = model.partition(":")[2], APIS[self.api].module
        base_url = self.provider.base_url
        url = module.endpoint(base_url, name) if self.api == "generate" else module.endpoint(base_url)
        return Connection(
            provider=self.api,
            api=self.api,
            model=name,
            url=url,
            headers=module.auth_headers("sk-secret"),
            renderer=APIS[self.api].make_renderer(self.api, name),
            send=HttpProvider(self.clock, DECODERS),
        )

    async def say(self, text, model):
        """Send one message from a process of its own and return the outcome."""
        settings = Settings(database=self.path)
        agent = Agent(f"{self.api}:{model}", instructions="Be brief.", tools=[pay], permissions="allow")
        async with Runtime(settings=settings, clock=self.clock, connect=self.connect) as runtime:
            outcome = await runtime.thread("t", agent, session="s").run(text)
        assert isinstance(outcome, Outcome)
        return outcome


def play(api, tmp_path, script, story):
    async def main() -> Any:
        async with ScriptedProvider(script) as provider:
            await story(Bench(api, provider, tmp_path))
            return provider.requests

    return asyncio.run(main())


@pytest.mark.parametrize("api", ["messages", "responses", "generate"])
def test_renderers_are_equal_when_provider_and_model_are(api):
    make = APIS[api].make_renderer
    assert {make("p", "m"): 1}[make("p", "m")] == 1
    assert make("p", "m") not in {make("p", "other"), make("q", "m")}


THINKING_SCRIPT = [
    ["thinking:let me pay", "text:Paying.", 'tool:pay({"amount": 1})', 'tool:pay({"amount": 2})'],
    ["thinking:it went well", "text:Done."],
    {"status": 400, "body": {"error": {"message": "bad request", "type": "invalid_request_error"}}},
    ["text:Still here."],
    ["text:I am another one."],
]
PROOFS = {
    "chat": [],
    "messages": [b'"signature":"c2lnbmF0dXJl10"', b'"signature":"c2lnbmF0dXJl20"'],
    "responses": [b'"encrypted_content":"ZW5jcnlwdGVk10"', b'"encrypted_content":"ZW5jcnlwdGVk20"'],
    "generate": [b'"thoughtSignature":"c2lnbmVk0001"', b'"thoughtSignature":"c2VhbGVk0002"'],
}
"""What the scripted provider signs its first and second reply with."""


@pytest.mark.parametrize("api", APIS)
def test_thread_with_thinking_calls_and_a_failed_turn_extends_its_bytes(api, tmp_path):
    async def story(bench):
        texts = [(await bench.say(text, MODELS[api])).text for text in ("pay twice", "fail", "and now?")]
        assert texts[0] == "Done."
        assert texts[2] == "Still here."

    requests = play(api, tmp_path, THINKING_SCRIPT, story)
    assert [request.status for request in requests] == [200, 200, 400, 200]
    bodies = [without_markers(request.body).removesuffix(b"]}") for request in requests]
    assert bodies[1].startswith(bodies[0])
    assert bodies[2].startswith(bodies[1])
    # The failed turn was not accepted: what follows extends the request before it.
    assert bodies[3].startswith(bodies[1])
    assert requests[3].holds("paid 2")
    for proof in PROOFS[api]:
        assert bodies[3].count(proof) == 1


@pytest.mark.parametrize("api", APIS)
def test_another_model_sees_what_was_said_but_no_proof_of_what_was_thought(api, tmp_path):
    async def story(bench):
        for text in ("pay twice", "fail", "and now?"):
            await bench.say(text, MODELS[api])
        assert (await bench.say("who are you?", OTHERS[api])).text == "I am another one."

    last = play(api, tmp_path, THINKING_SCRIPT, story)[-1]
    assert last.status == 200
    assert last.holds("Paying.")
    for text in (
        "let me pay",
        "it went well",
        *(json.loads(b"{" + proof + b"}").popitem()[1] for proof in PROOFS[api]),
    ):
        assert not last.holds(text)
