"""The recorded failure scenarios that need a second provider, a breaker or compaction, over real HTTP."""

import re
from typing import Any

import msgspec
from msgspec.structs import replace
from tests.runtime.harness import CASES, Bench, outcome, play

from stoic.core.health import HealthPolicy
from stoic.events import Compacted, FallbackUsed
from stoic.records import Health, Message
from stoic.runtime.agents import Agent
from stoic.runtime.threads import Thread
from stoic.settings import Access, Settings
from stoic.tools.declaration import Tool
from stoic.wiring import Runtime

SCENARIOS: dict[str, dict[str, Any]] = {
    each["id"]: each for each in msgspec.json.decode((CASES / "failures_scenarios.json").read_bytes())
}
A, B = "anthropic:A", "openai-chat:B"


def scenario(name: str) -> tuple[list[Any], dict[str, Any]]:
    repro = SCENARIOS[name]["repro"]
    return repro["script"], repro["expect"]


def runtime_of(bench: Bench, **health: Any) -> Runtime:
    url = bench.provider.base_url
    access = {
        "openai-chat": Access(base_url=url),
        "anthropic": Access(base_url=url.removesuffix("/v1")),
        "mistral": Access(base_url=url),
        "groq": Access(base_url=url),
    }
    settings = Settings(database=str(bench.path), access=access, health=HealthPolicy(**health))
    return Runtime(settings=settings, clock=bench.clock)


def thread_of(runtime: Runtime, *models: str, tools: tuple[Tool, ...] = (), **settings: Any) -> Thread:
    return runtime.thread(
        "t", Agent(models[0], fallbacks=models[1:], tools=tools, permissions="allow", **settings), session="s"
    )


def asked(bench: Bench) -> list[str]:
    return [request.json["model"] for request in bench.provider.requests]


async def health_of(runtime: Runtime, model: str) -> Health:
    (found,) = [each for each in await runtime.store.health() if each.route.startswith(f"{model} ")]
    return found


async def half(view: list[Message]) -> str:
    """Sum up as the cases say: half of it is gone."""
    told = "".join(getattr(message, "text", "") for message in view)
    return told[: len(told) // 2]


async def nothing(_: list[Message]) -> None:
    """Have no summary."""


def compaction_scenario(tmp_path, name: str, model: str) -> None:
    script, expect = scenario(name)

    async def story(bench: Bench) -> None:
        async with runtime_of(bench) as runtime:
            thread = thread_of(runtime, model, summariser=half)
            await thread.run("a long question " * 50)
            before, slept = len(bench.provider.requests), list(bench.clock.sleeps)
            assert outcome(await thread.run("go", bench.emit)).text == "ok"
        requests = bench.provider.requests[before:]
        assert len(requests) == expect["requests"]
        assert sum(isinstance(event, Compacted) for event in bench.events) == expect["compactions"]
        assert len(requests[1].body) < len(requests[0].body)
        assert sum(bench.clock.sleeps[len(slept) :]) == expect.get("slept_s", 0)

    play(tmp_path, [["text:a long answer", "stop"], *script], story)


def test_context_400_is_compacted_once_and_never_resent_unchanged(tmp_path):
    compaction_scenario(tmp_path, "context-400-retried", "openai-chat:m")


def test_a_request_beyond_the_whole_minutes_bucket_is_compacted_and_not_waited_for(tmp_path):
    compaction_scenario(tmp_path, "tpm-ceiling-413", "groq:m")


def test_a_long_retry_after_falls_back_at_once_and_is_kept(tmp_path):
    script, expect = scenario("long-retry-after")

    async def story(bench: Bench) -> None:
        async with runtime_of(bench) as runtime:
            started_ms = bench.clock.now_ms()
            assert outcome(await thread_of(runtime, A, B).run("go")).outcome == "completed"
            health = await health_of(runtime, A)
        assert sum(bench.clock.sleeps) == expect["slept_s"]
        assert asked(bench)[-1] == expect["answered_by"]
        assert health.until_ms == started_ms + expect["next_try_A_after_s"] * 1000

    play(tmp_path, script, story)


def test_a_fallback_is_not_stored_as_a_choice(tmp_path):
    script, expect = scenario("fallback-persists")

    async def story(bench: Bench) -> None:
        async with runtime_of(bench) as runtime:
            thread = thread_of(runtime, A, B)
            assert outcome(await thread.run("one")).text == "one"
            assert asked(bench)[-1] == expect["turn1"]
            bench.clock.advance(120)
            assert outcome(await thread.run("two")).text == "two"
            assert asked(bench)[-1] == expect["turn2"]
            rows = await bench.rows(runtime)
        assert not any(row.kind == "switch" for row in rows)
        assert thread.agent.model == f"anthropic:{expect['stored_choice']}"
        assert {row.segment for row in rows} == {"t.1#0", "t.1#1"} - {"t.1#0"}

    play(tmp_path, script, story)


def test_a_fallback_is_told_with_who_and_why(tmp_path):
    script, expect = scenario("fallback-silent")

    async def story(bench: Bench) -> None:
        async with runtime_of(bench) as runtime:
            assert outcome(await thread_of(runtime, A, B).run("go", bench.emit)).text == "ok"
        assert set(expect["events_include"]) <= set(bench.kinds())
        (told,) = [event for event in bench.events if isinstance(event, FallbackUsed)]
        said = f"{told.from_model} {told.to_model} {told.failure_class}"
        assert all(word in said for word in expect["notice_names"])

    play(tmp_path, script, story)


def test_a_dead_primary_is_skipped_while_its_breaker_is_open(tmp_path):
    script, expect = scenario("primary-hit-each-turn")

    async def story(bench: Bench) -> None:
        async with runtime_of(bench) as runtime:
            thread = thread_of(runtime, A, B)
            assert outcome(await thread.run("one")).text == "one"
            slept = sum(bench.clock.sleeps)
            assert outcome(await thread.run("two", bench.emit)).text == "two"
        assert asked(bench).count("A") == expect["requests_to_A"]
        assert sum(bench.clock.sleeps) - slept == expect["turn2_slept_s"]
        assert [event.skipped for event in bench.events if isinstance(event, FallbackUsed)] == [True]

    play(tmp_path, script, story)


def test_call_ids_of_the_history_are_ids_that_every_provider_takes(tmp_path):
    script, expect = scenario("tool-ids-after-fallback")

    def look() -> str:
        return "seen"

    async def story(bench: Bench) -> None:
        async with runtime_of(bench) as runtime:
            thread = thread_of(runtime, "openai-chat:A", "mistral:B", tools=(Tool(look, effect="read"),))
            assert outcome(await thread.run("look")).text == "looked"
            assert outcome(await thread.run("go")).text == "ok"
        last = bench.provider.requests[-1]
        assert last.json["model"] == "B"
        calls = [call["id"] for message in last.json["messages"] for call in message.get("tool_calls") or []]
        results = [message["tool_call_id"] for message in last.json["messages"] if message["role"] == "tool"]
        assert calls
        assert all(re.fullmatch(expect["ids_sent_to_B_match"], call) for call in calls)
        assert (calls == results) is expect["pairs_intact"]

    before = [["tool:look({})", "stop"], ["text:looked", "stop"]]
    play(tmp_path, [*before, *(entry for entry in script if not str(entry).startswith("tool call"))], story)


def test_a_trial_that_fails_by_the_request_frees_its_slot(tmp_path):
    script, expect = scenario("half-open-wedged")

    async def story(bench: Bench) -> None:
        async with runtime_of(bench) as runtime:
            thread = thread_of(runtime, "openai-chat:m", summariser=nothing)
            await thread.run("break it")
            bench.clock.advance(31)
            before = len(bench.provider.requests)
            assert outcome(await thread.run("too long")).failure_class == "context_length"
            assert (await health_of(runtime, "openai-chat:m")).state == expect["state_after_1"]
            assert outcome(await thread.run("short")).text == "ok"
        assert (len(bench.provider.requests) - before == 2) is expect["request_2_admitted"]

    play(tmp_path, ["wire:openai-500 x4", *script], story)


def test_a_request_shaped_error_neither_closes_nor_opens_and_one_trial_passes_at_a_time(tmp_path):
    script, expect = scenario("excluded-error-closes")

    async def story(bench: Bench) -> None:
        async with runtime_of(bench, threshold=2) as runtime:
            thread = thread_of(runtime, "openai-chat:m")
            assert outcome(await thread.run("one")).failure_class == "server_error"
            health = await health_of(runtime, "openai-chat:m")
            assert (health.state, len(bench.provider.requests)) == ("open", 2)
            bench.clock.advance(31)
            now_ms = bench.clock.now_ms()
            trial = replace(health, state="half_open", trial_until_ms=now_ms + 60_000)
            granted = [await runtime.store.claim_trial(trial, now_ms) for _ in range(5)]
            assert sum(granted) == expect["parallel_probes_admitted"]
            await runtime.store.put_health(replace(trial, trial_until_ms=None))
            await thread.run("two")
            assert (await health_of(runtime, "openai-chat:m")).state == expect["state"]

    play(tmp_path, [entry for entry in script if not str(entry).startswith("wait:")], story)


def test_skipped_attempts_do_not_renew_the_cooldown(tmp_path):
    script, expect = scenario("cooldown-renewed-by-skips")

    async def story(bench: Bench) -> None:
        async with runtime_of(bench, cooldowns_ms=(60_000,)) as runtime:
            thread = thread_of(runtime, A)
            await thread.run("break it")
            opened = await health_of(runtime, A)
            for _ in range(3):
                bench.clock.advance(10)
                assert outcome(await thread.run("again")).failure_class == "overloaded"
            unchanged = (await health_of(runtime, A)).until_ms == opened.until_ms
            assert unchanged is expect["open_until_unchanged"]
            bench.clock.advance(31)
            ended = outcome(await thread.run("now"))
            assert {"completed": "ok"}[ended.outcome] == expect["turn_at_61s"]
        assert len(bench.provider.requests) == 5

    play(tmp_path, [entry for entry in script if not str(entry).startswith(("wait:", "user"))], story)


def test_a_person_who_selects_a_model_gets_a_real_request_whatever_the_clock_says(tmp_path):
    script, expect = scenario("billing-clock-outlives-topup")

    async def story(bench: Bench) -> None:
        async with runtime_of(bench) as runtime:
            thread = thread_of(runtime, A)
            assert outcome(await thread.run("one")).failure_class == "quota"
            assert outcome(await thread.run("not yet")).failure_class == "quota"
            assert len(bench.provider.requests) == 1
            await thread.switch(A)
            assert outcome(await thread.run("two")).text == "ok"
        assert asked(bench)[-1] == expect["turn2"]
        assert asked(bench).count("A") == expect["requests_to_A"]

    play(tmp_path, [entry for entry in script if not str(entry).startswith("user:")], story)
