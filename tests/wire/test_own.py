"""Providers that are a function of the user's: the same turns, failures and refusals as over HTTP."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tests.runtime.harness import outcome

from stoic import Agent, ConfigurationError, ModelError, ModelReply, ModelRequest, Runtime, Usage
from stoic.core.commands import Ending
from stoic.events import TextDelta
from stoic.records import CallPart, ToolMessage, UserMessage
from stoic.settings import Settings
from stoic.testing import FakeClock
from stoic.tools.declaration import Tool

Ask = Callable[[ModelRequest, Callable[[str], None]], Awaitable[ModelReply]]


def run(
    tmp_path, ask: Ask, *texts: str, emit: Callable[[Any], None] | None = None, **agent: Any
) -> list[Ending | None]:
    async def story() -> list[Ending | None]:
        settings = Settings(database=str(tmp_path / "log.db"))
        async with Runtime(settings=settings, clock=FakeClock(auto=True), providers={"house": ask}) as runtime:
            thread = runtime.thread("t", Agent("house:small", **agent))
            return [await thread.run(text, emit) for text in texts]

    return asyncio.run(asyncio.wait_for(story(), 30))


def test_a_function_gets_the_conversation_and_its_calls_run(tmp_path):
    asked: list[ModelRequest] = []

    async def ask(request: ModelRequest, say: Callable[[str], None]) -> ModelReply:
        asked.append(request)
        if len(asked) == 1:
            return ModelReply(calls=[CallPart(name="look", arguments='{"n":1}')], usage=Usage(input_tokens=5))
        say("Seen.")
        return ModelReply(text="Seen.", usage=Usage(input_tokens=7, output_tokens=1), served_model="large")

    async def look(n: int) -> str:
        return f"saw {n}"

    seen: list[Any] = []
    (ended,) = run(
        tmp_path,
        ask,
        "go",
        emit=seen.append,
        instructions="Be brief.",
        tools=[Tool(look, effect="read")],
        max_tokens=50,
        parameters={"top_p": 0.5},
    )
    assert (outcome(ended).text, outcome(ended).usage) == ("Seen.", Usage(input_tokens=12, output_tokens=1))
    first, second = asked
    assert (first.model, first.system, first.messages) == ("small", "Be brief.", [UserMessage(text="go")])
    assert [each.name for each in first.tools] == ["look"]
    assert first.parameters == {"max_tokens": 50, "top_p": 0.5}
    assert [type(each).__name__ for each in second.messages] == ["UserMessage", "AssistantMessage", "ToolMessage"]
    result = second.messages[2]
    assert isinstance(result, ToolMessage)
    assert (result.name, result.text) == ("look", "saw 1")
    assert [each.text for each in seen if isinstance(each, TextDelta)] == ["Seen."]


@pytest.mark.parametrize(
    ("error", "failure", "times"),
    [
        (ModelError(503, {"error": {"message": "busy"}}), "overloaded", 4),
        (ModelError(429, "slow down", {"Retry-After": "2"}), "rate_limit", 4),
        (ModelError(401, {"error": {"message": "who are you"}}), "auth", 1),
        (ConnectionResetError("gone"), "network", 4),
        (ValueError("a bug of the function"), "unknown", 1),
    ],
)
def test_what_a_function_raises_is_a_failure_by_name(tmp_path, error: Exception, failure: str, times: int):
    tries: list[ModelRequest] = []

    async def ask(request: ModelRequest, _: Callable[[str], None]) -> ModelReply:
        tries.append(request)
        raise error

    (ended,) = run(tmp_path, ask, "go")
    assert (outcome(ended).outcome, outcome(ended).failure_class, len(tries)) == ("failed", failure, times)


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (ModelReply(finish="content_filter"), ("stopped", "refused")),
        (ModelReply(text="half", finish="length"), ("completed", None)),
        (ModelReply(), ("failed", None)),
    ],
)
def test_what_a_function_returns_is_judged_like_any_reply(
    tmp_path, reply: ModelReply, expected: tuple[str, str | None]
):
    async def ask(_: ModelRequest, __: Callable[[str], None]) -> ModelReply:
        return reply

    (ended,) = run(tmp_path, ask, "go")
    assert (outcome(ended).outcome, outcome(ended).reason) == expected


def test_each_request_begins_with_the_bytes_of_the_one_before(tmp_path):
    asked: list[ModelRequest] = []

    async def ask(request: ModelRequest, _: Callable[[str], None]) -> ModelReply:
        asked.append(request)
        return ModelReply(text="ok")

    run(tmp_path, ask, "one", "two", "three")
    assert [request.messages[: len(asked[0].messages)] for request in asked] == [asked[0].messages] * 3
    assert len(asked[2].messages) == 5


@pytest.mark.parametrize("name", ["openai", "two words", "a:b", ""])
def test_a_name_that_is_taken_or_none_is_said_at_once(tmp_path, name: str):
    async def ask(_: ModelRequest, __: Callable[[str], None]) -> ModelReply:
        return ModelReply(text="ok")

    with pytest.raises(ConfigurationError, match="is a provider already, or no name"):
        Runtime(settings=Settings(database=str(tmp_path / "log.db")), providers={name: ask})
