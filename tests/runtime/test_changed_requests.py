"""Failures that recover by a changed request, over real HTTP: what is sent once more, and what is not (SPEC §6)."""

import asyncio
import json
from itertools import pairwise
from typing import Any

import msgspec
import pytest
from tests.runtime.harness import Bench, outcome, play

from stoic.connecting import Connector
from stoic.events import RequestChanged
from stoic.records import ImagePart
from stoic.runtime.agents import Agent
from stoic.runtime.plain_rendering import PlainRenderer
from stoic.runtime.threads import Thread
from stoic.settings import Access, Settings
from stoic.testing import FakeClock
from stoic.tools.declaration import Tool
from stoic.wire.messages import MessagesRenderer, without_markers
from stoic.wiring import Runtime

MODELS = {
    "chat": "openai-chat:gpt-5",
    "messages": "anthropic:claude-opus-5-5",
    "responses": "openai:gpt-5",
    "generate": "gemini:gemini-3-pro",
}
FIRST, SECOND = "QUFB", "QkJC"


def settings_of(base_url: str, path: str) -> Settings:
    root = base_url.removesuffix("/v1")
    access = {
        "openai-chat": Access(base_url=base_url),
        "openai": Access(base_url=base_url),
        "anthropic": Access(base_url=root),
        "gemini": Access(base_url=base_url),
        "groq": Access(base_url=base_url),
    }
    return Settings(database=path, access=access)


def runtime_of(bench: Bench) -> Runtime:
    return Runtime(settings=settings_of(bench.provider.base_url, str(bench.path)), clock=bench.clock)


def thread_of(runtime: Runtime, api: str, *tools: Tool, **settings: Any) -> Thread:
    agent = Agent(MODELS[api], instructions="Be brief.", tools=tools, permissions="allow", **settings)
    return runtime.thread("t", agent, session="s")


def picture(data: str) -> ImagePart:
    return ImagePart(media_type="image/png", data_base64=data)


def refuse(message: str, code: str | None = None, param: str | None = None) -> dict[str, Any]:
    """Return an error in the shape of OpenAI."""
    error = {"message": message, "type": "invalid_request_error", "param": param, "code": code}
    return {"status": 400, "body": {"error": error}}


OVERFLOW = (
    "This model's maximum context length is 8000 tokens. However, you requested 9000 tokens (7000 in the messages)."
)
NO_ROOM = {
    "chat": refuse(OVERFLOW, "context_length_exceeded"),
    "responses": refuse(OVERFLOW, "context_length_exceeded"),
    "messages": "wire:anthropic-400-input-plus-max",
}
LENGTH = {
    "chat": ("max_completion_tokens", 1000),
    "responses": ("max_output_tokens", 1000),
    "messages": ("max_tokens", 25833),
}


@pytest.mark.parametrize("api", NO_ROOM)
def test_a_reply_that_has_no_room_is_asked_for_shorter_once_in_the_words_of_the_api(tmp_path, api: str):
    name, limit = LENGTH[api]

    async def story(bench: Bench) -> None:
        async with runtime_of(bench) as runtime:
            thread = thread_of(runtime, api)
            assert outcome(await thread.run("go", bench.emit)).text == "ok"
            assert outcome(await thread.run("next")).text == "fine"
            rows = await bench.rows(runtime)
        first, second, third = [request.json for request in bench.provider.requests]
        assert second[name] == limit
        assert first.get(name) != limit
        assert {**first, name: limit} == second, "nothing else of the request changes"
        assert third.get(name) == first.get(name)
        assert {row.segment for row in rows} == {"t.1#1"}
        assert bench.clock.sleeps == []
        changed = [event for event in bench.events if isinstance(event, RequestChanged)]
        assert changed == [RequestChanged(round=1, kind="max_tokens", max_tokens=limit)]

    play(tmp_path, [NO_ROOM[api], ["text:ok", "stop"], ["text:fine", "stop"]], story)


def test_a_thinking_budget_that_would_not_fit_leaves_compaction(tmp_path):
    async def half(view: Any) -> str:
        return "half of it"

    async def story(bench: Bench) -> None:
        async with runtime_of(bench) as runtime:
            agent = Agent(
                "anthropic:claude-sonnet-4",
                reasoning_effort="high",
                max_tokens=64_000,
                summariser=half,
                permissions="allow",
            )
            thread = runtime.thread("t", agent, session="s")
            await thread.run("one")
            assert outcome(await thread.run("two")).text == "ok"
        assert [request.json["max_tokens"] for request in bench.provider.requests] == [64_000] * 3

    no_room = refuse_messages("input length and `max_tokens` exceed context limit: 190000 + 64000 > 200000, decrease")
    play(tmp_path, [["text:first", "stop"], no_room, ["text:ok", "stop"]], story)


def refuse_messages(message: str) -> dict[str, Any]:
    """Return an error in the shape of Anthropic."""
    body = {"type": "error", "error": {"type": "invalid_request_error", "message": message}, "request_id": "req_1"}
    return {"status": 400, "body": body}


@pytest.mark.parametrize(
    ("model", "given", "lowered"),
    [
        ("openai-chat:gpt-5", {}, {"max_completion_tokens": 500}),
        ("openai-chat:gpt-4o", {}, {"max_tokens": 500}),
        ("groq:llama", {}, {"max_completion_tokens": 500}),
        ("openai:gpt-5", {"max_tokens": 900}, {"max_output_tokens": 500}),
        ("anthropic:claude-opus-5-5", {"max_tokens": 100}, {"max_tokens": 100}),
        ("gemini:gemini-3-pro", {}, {"generationConfig": {"maxOutputTokens": 500}}),
        (
            "gemini:gemini-3-pro",
            {"parameters": {"generationConfig": {"maxOutputTokens": 900, "topK": 4}}},
            {"generationConfig": {"maxOutputTokens": 500, "topK": 4}},
        ),
        ("openai-chat:m", {"parameters": {"max_tokens": 900, "top_p": 1}}, {"max_tokens": 500, "top_p": 1}),
        (
            "openai-chat:gpt-5",
            {"max_tokens": 900, "parameters": {"max_completion_tokens": 800}},
            {"max_completion_tokens": 500},
        ),
    ],
)
def test_the_longest_reply_is_lowered_wherever_a_person_said_it(model: str, given: Any, lowered: Any):
    connection = Connector(settings_of("http://127.0.0.1:9/v1", "x"), FakeClock())(model)
    assert Agent(model, **given).parameters_for(connection, max_tokens=500) == lowered


IMAGE_TOO_LARGE = {
    "chat": lambda place: refuse("Invalid image: the image is too large.", "invalid_image", place),
    "responses": lambda place: refuse("Invalid image: the image is too large.", "invalid_image", place),
    "messages": lambda place: refuse_messages(f"{place}: image exceeds 5 MB maximum: 6291456 bytes > 5242880 bytes"),
    "generate": lambda place: {
        "status": 400,
        "body": {"error": {"code": 400, "message": f"{place}: image is too large", "status": "INVALID_ARGUMENT"}},
    },
}
PLACES = {
    "chat": "messages[1].content[1]",
    "responses": "input[0].content[1].image_url",
    "messages": "messages.0.content.1.image.source.base64",
    "generate": "contents[0].parts[1].inline_data",
}


def showing(request: Any) -> list[str]:
    return [data for data in (FIRST, SECOND) if request.holds(data)]


@pytest.mark.parametrize("api", IMAGE_TOO_LARGE)
@pytest.mark.parametrize("pointed", [True, False])
def test_an_image_that_is_too_large_gives_way_to_a_note_and_stays_out(tmp_path, api: str, *, pointed: bool):
    async def story(bench: Bench) -> None:
        async with runtime_of(bench) as runtime:
            thread = thread_of(runtime, api)
            seen = outcome(await thread.run("see", bench.emit, images=[picture(FIRST), picture(SECOND)]))
            assert seen.text == "ok"
        async with runtime_of(bench) as later:
            assert outcome(await thread_of(later, api).run("next")).text == "fine"
        left = [FIRST] if pointed else []
        assert [showing(request) for request in bench.provider.requests] == [[FIRST, SECOND], left, left]
        assert bench.provider.requests[-1].holds("not shown: the provider found the size too large")
        bodies = [without_markers(request.body) for request in bench.provider.requests[1:]]
        assert bodies[1].startswith(bodies[0][:-2])
        (changed,) = [event for event in bench.events if isinstance(event, RequestChanged)]
        assert (changed.kind, changed.images) == ("images", 1 if pointed else 2)

    failure = IMAGE_TOO_LARGE[api](PLACES[api] if pointed else "request")
    play(tmp_path, [failure, ["text:ok", "stop"], ["text:fine", "stop"]], story)


def test_an_image_that_was_answered_once_stays_and_the_thread_goes_on(tmp_path):
    async def story(bench: Bench) -> None:
        async with runtime_of(bench) as runtime:
            thread = thread_of(runtime, "chat")
            assert outcome(await thread.run("see", images=[picture(FIRST)])).text == "a picture"
            failed = outcome(await thread.run("and this?", images=[picture(SECOND)]))
            assert failed.failure_class == "image_too_large"
            assert "answered part of the conversation" in failed.message
            assert outcome(await thread.run("never mind")).text == "fine"
        assert [showing(request) for request in bench.provider.requests] == [[FIRST], [FIRST, SECOND], [FIRST]]

    failure = IMAGE_TOO_LARGE["chat"]("messages[1].content[0]")
    play(tmp_path, [["text:a picture", "stop"], failure, ["text:fine", "stop"]], story)


# ---- the plainest form --------------------------------------------------------------------------

NOT_TAKEN = {
    "messages": ["wire:anthropic-400-signature", "wire:anthropic-400-tool-use-without-result"],
    "responses": ["wire:openai-400-encrypted-content", "wire:openai-400-dangling-tool-call"],
    "generate": ["wire:gemini-400-thought-missing", "wire:gemini-400-parts-mismatch"],
}
SEALS = {"messages": "c2lnbmF0dXJl", "responses": "ZW5jcnlwdGVk", "generate": "c2lnbmVk"}
"""How the scripted provider's proofs of what it thought begin."""
THINKING = [["thinking:let me look", "text:Looking.", "tool:look({})", "stop"], ["text:Seen.", "stop"]]


def look() -> str:
    return "a view"


LOOK = Tool(look, effect="read")


@pytest.mark.parametrize("failure", [0, 1])
@pytest.mark.parametrize("api", NOT_TAKEN)
def test_a_history_that_is_not_taken_is_rendered_plainly_and_stays_so(tmp_path, api: str, failure: int):
    async def story(bench: Bench) -> None:
        async with runtime_of(bench) as runtime:
            thread = thread_of(runtime, api, LOOK)
            assert outcome(await thread.run("look")).text == "Seen."
            rows = await bench.rows(runtime)
            assert outcome(await thread.run("again", bench.emit)).text == "ok"
            assert (await bench.rows(runtime))[: len(rows)] == rows
        async with runtime_of(bench) as later:
            assert outcome(await thread_of(later, api, LOOK).run("next")).text == "fine"
        failed, *repaired = bench.provider.requests[2:]
        assert failed.holds(SEALS[api])
        assert not any(request.holds(SEALS[api]) or request.holds("let me look") for request in repaired)
        assert all(request.holds("Looking.") and request.holds("a view") for request in repaired)
        bodies = [without_markers(request.body) for request in repaired]
        assert len(bodies) == 3
        assert all(after.startswith(before[:-2]) for before, after in pairwise(bodies))
        assert [event.kind for event in bench.events if isinstance(event, RequestChanged)] == ["plain"]

    replies = [["thinking:again", "text:It is", "tool:look({})", "stop"], ["text:ok", "stop"], ["text:fine", "stop"]]
    play(tmp_path, [*THINKING, NOT_TAKEN[api][failure], *replies], story)


@pytest.mark.parametrize("api", NOT_TAKEN)
def test_a_history_that_is_not_taken_twice_fails_and_the_thread_goes_on(tmp_path, api: str):
    async def story(bench: Bench) -> None:
        async with runtime_of(bench) as runtime:
            thread = thread_of(runtime, api, LOOK)
            await thread.run("look")
            failed = outcome(await thread.run("again"))
            assert failed.failure_class in {"signature_invalid", "history_corrupt"}
            assert "Leaving out thinking and signatures did not help" in failed.message
            assert outcome(await thread.run("next")).text == "fine"
        assert [request.status for request in bench.provider.requests] == [200, 200, 400, 400, 200]
        assert bench.provider.requests[-1].holds(SEALS[api])

    play(tmp_path, [*THINKING, *NOT_TAKEN[api], ["text:fine", "stop"]], story)


def test_a_history_that_is_plain_already_is_not_sent_twice(tmp_path):
    async def story(bench: Bench) -> None:
        async with runtime_of(bench) as runtime:
            failed = outcome(await thread_of(runtime, "chat").run("go"))
        assert failed.failure_class == "history_corrupt"
        assert len(bench.provider.requests) == 1

    play(tmp_path, ["wire:openai-400-dangling-tool-call", ["text:never", "stop"]], story)


def strict(request: Any) -> Any:
    """Answer as a server that wants roles to alternate, results included, as some templates of open models do."""
    speakers = ["assistant" if each["role"] == "assistant" else "user" for each in request.json["messages"][1:]]
    roles = [each["role"] for each in request.json["messages"][1:]]
    if ("tool", "user") in pairwise(roles) or ("user", "user") in pairwise(roles):
        return refuse("An assistant message with 'tool_calls' must be followed by tool messages; roles must alternate")
    return ["tool:look({})", "stop"] if speakers.count("assistant") == 0 else ["text:ok", "stop"]


def test_a_server_that_wants_roles_to_alternate_is_served_after_one_refusal(tmp_path):
    async def story(bench: Bench) -> None:
        async with runtime_of(bench) as runtime:
            cancelled = thread_of(runtime, "chat", Tool(look, effect="read"), max_rounds=1)
            assert outcome(await cancelled.run("look")).reason == "budget"
            thread = thread_of(runtime, "chat", LOOK)
            assert outcome(await thread.run("and now?")).text == "ok"
            assert outcome(await thread.run("and then?")).text == "ok"
        assert [request.status for request in bench.provider.requests] == [200, 400, 200, 200]

    play(tmp_path, strict, story)


def test_a_thinking_budget_goes_with_the_thinking():
    plainly = PlainRenderer(usual=MessagesRenderer(provider="p", model="m"))
    assert plainly.TAIL == b"]}"
    head = plainly.head("m", "", [], {"thinking": {"type": "enabled", "budget_tokens": 2048}, "top_k": 1})
    assert json.loads(head + plainly.TAIL) == {
        "model": "m",
        "max_tokens": 8192,
        "top_k": 1,
        "stream": True,
        "messages": [],
    }
    adaptive = {"thinking": {"type": "adaptive"}}
    assert b"adaptive" in plainly.head("m", "", [], adaptive)


# ---- crashes ------------------------------------------------------------------------------------

CHANGED = {
    "max_tokens": ("messages", "wire:anthropic-400-input-plus-max"),
    "images": ("chat", IMAGE_TOO_LARGE["chat"]("request")),
    "plain": ("responses", "wire:openai-400-encrypted-content"),
}


@pytest.mark.parametrize("kind", CHANGED)
def test_a_process_that_dies_before_the_answer_leaves_the_changed_request_to_the_next_one(tmp_path, kind: str):
    api, failure = CHANGED[kind]

    async def story(bench: Bench) -> None:
        async with runtime_of(bench) as runtime:
            thread = thread_of(runtime, api, LOOK)
            await thread.run("look")
            running = asyncio.ensure_future(thread.run("again", images=[picture(FIRST)]))
            await bench.provider.arrived(4)
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
        async with runtime_of(bench) as later:
            assert outcome(await thread_of(later, api, LOOK).resume()).text == "ok"
            attempts = [row for row in await bench.rows(later) if row.kind == "attempt"]
        first, before, after = bench.provider.requests[2:]
        assert before.body == after.body != first.body
        assert [row.content["change"]["kind"] for row in attempts] == [kind]

    play(tmp_path, [*THINKING, failure, ["hang"], ["text:ok", "stop"]], story)


def test_the_row_of_a_changed_request_tells_it(tmp_path):
    async def story(bench: Bench) -> None:
        async with runtime_of(bench) as runtime:
            await thread_of(runtime, "messages").run("go")
            attempt = next(row for row in await bench.rows(runtime) if row.kind == "attempt")
        assert attempt.content["change"] == {"kind": "max_tokens", "max_tokens": 25833}
        assert attempt.content["recovers_with"] == "request_change"
        assert msgspec.json.encode(attempt.content)

    play(tmp_path, ["wire:anthropic-400-input-plus-max", ["text:ok", "stop"]], story)
