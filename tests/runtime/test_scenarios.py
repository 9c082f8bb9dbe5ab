"""The recorded failure scenarios (tests/cases/failures_scenarios.json) that one provider alone can show, over real HTTP."""

import asyncio
from typing import Any

import msgspec
import pytest
from tests.runtime.harness import CASES, WIRE_CASES, Bench, outcome, play

from stoic.events import RoundEnded, ToolStarted
from stoic.records import Outcome
from stoic.testing import ScriptedProvider
from stoic.tools.declaration import Tool

SCENARIOS: dict[str, dict[str, Any]] = {
    each["id"]: each for each in msgspec.json.decode((CASES / "failures_scenarios.json").read_bytes())
}

ELSEWHERE = {
    "context-400-retried",
    "tpm-ceiling-413",
    "long-retry-after",
    "fallback-persists",
    "fallback-silent",
    "primary-hit-each-turn",
    "tool-ids-after-fallback",
    "half-open-wedged",
    "excluded-error-closes",
    "cooldown-renewed-by-skips",
    "billing-clock-outlives-topup",
}
"""Scenarios that need a second provider, a breaker or compaction: each has a test in `test_fallback_scenarios.py`."""
BEFORE = {"dup-text-after-retry": [["text:A. ", "tool:look({})", "stop"]]}
"""Replies of the same turn that bring about what `setup` says."""
WORDS = {"completed": "ok"}
"""What the case file calls an outcome, where it has a word of its own."""


class Tools:
    """The tools that the scenarios name; they count, and `slow` waits for the cancel."""

    def __init__(self) -> None:
        self.runs: list[dict[str, Any]] = []

    def all(self) -> list[Tool]:
        def note(name: str, **arguments: Any) -> str:
            self.runs.append({"name": name, "args": arguments})
            return "done"

        def code(src: str) -> str:
            return note("code", src=src)

        def pay() -> str:
            return note("pay")

        def wipe(path: str = "/") -> str:
            return note("wipe", path=path)

        def look() -> str:
            return "seen"

        async def slow() -> str:
            await asyncio.Event().wait()
            return note("slow")

        return [Tool(code), Tool(pay), Tool(wipe), Tool(slow), Tool(look, effect="read")]


class Result:
    """What a scenario led to."""

    def __init__(
        self,
        bench: Bench,
        tools: Tools,
        endings: list[Outcome],
        classes: list[str],
        setup_sends: int,
        *,
        successes: int,
    ) -> None:
        self.bench = bench
        self.tools = tools
        self.endings = endings
        self.classes = classes
        self.setup_sends = setup_sends
        self.successes = successes

    def facts(self) -> dict[str, Any]:
        """Return what the expectations of the case file are about, by their names there."""
        requests, runs = self.bench.provider.requests, self.tools.runs
        names = [run["name"] for run in runs]
        sent = [message for request in requests for message in request.json["messages"]]
        return {
            "requests": len(requests) - self.setup_sends,
            "slept_s": sum(self.bench.clock.sleeps),
            "turn": WORDS.get(self.endings[-1].outcome, self.endings[-1].outcome),
            "turn2": WORDS.get(self.endings[-1].outcome, self.endings[-1].outcome),
            "final_text": self.text(),
            "tool_runs": runs,
            "tool_runs_count": {name: names.count(name) for name in names},
            # A success is booked by the one complete reply at the end; the failed first attempt books none.
            "health_successes_after_first": self.successes - 1,
            "blocks_sent_empty": sum(message["content"] == "" for message in sent),
            # The scripted provider answers a broken pair with 400, as real servers do.
            "pairs_intact": all(one.status == 200 for one in requests) and requests[-1].holds("cancelled"),
        }

    def check(self, name: str, wanted: Any) -> None:
        """Check one expectation."""
        facts = self.facts()
        if name == "class":
            assert wanted in self.classes
        elif name == "events_include":
            assert {event.replace("rollback", "rolled_back") for event in wanted} <= set(self.bench.kinds())
        elif name.endswith("_max"):
            assert facts[name.removesuffix("_max")] <= wanted
        elif name.endswith("_min"):
            assert facts[name.removesuffix("_min")] >= wanted
        else:
            assert facts[name] == wanted

    def text(self) -> str:
        """Return what a subscriber has at the end of the turn."""
        return "".join(event.text for event in self.bench.events if isinstance(event, RoundEnded))


def test_every_scenario_is_here_or_named_as_elsewhere():
    assert SCENARIOS.keys() >= ELSEWHERE
    assert BEFORE.keys() <= SCENARIOS.keys()
    assert len(SCENARIOS.keys() - ELSEWHERE) == 14


@pytest.mark.parametrize("name", sorted(SCENARIOS.keys() - ELSEWHERE))
def test_a_recorded_failure_scenario_comes_out_right(tmp_path, name: str):
    repro = SCENARIOS[name]["repro"]
    before = BEFORE.get(name, [])

    async def story(bench: Bench) -> None:
        if "history holds" in repro["setup"]:
            await leave_an_empty_round(bench)
        result = await perform(bench, repro["script"], len(before))
        for expected, wanted in repro["expect"].items():
            result.check(expected, wanted)

    script = [entry for entry in repro["script"] if not str(entry).startswith("user:")]
    play(tmp_path, [*before, *script], story)


async def leave_an_empty_round(bench: Bench) -> None:
    """Give the thread a turn that ended with empty replies, from another provider."""
    earlier = ScriptedProvider([["stop"], ["stop"]], cases=WIRE_CASES)
    async with earlier, Bench(bench.path.parent, earlier).runtime() as runtime:
        ended = outcome(await bench.thread(runtime).run("say something"))
    assert ended.failure_class == "empty_response"


async def perform(bench: Bench, script: list[Any], setup_sends: int) -> Result:
    """Run the turns of a scenario; `user:cancel` cancels the first as soon as its tool runs."""
    tools, endings = Tools(), list[Outcome]()
    async with bench.runtime() as runtime:
        thread = bench.thread(runtime, *tools.all())
        running = asyncio.ensure_future(thread.run("go", bench.emit))
        if "user:cancel" in script:
            await bench.until(ToolStarted)
            await thread.cancel()
            assert outcome(await running).outcome == "cancelled"
            running = asyncio.ensure_future(thread.run("go on", bench.emit))
        endings.append(outcome(await running))
        rows = await bench.rows(runtime)
        healthy = [each for each in await runtime.store.health() if each.state == "closed" and not each.bad_in_a_row]
    classes = [row.content["class"] for row in rows if row.kind == "attempt"]
    return Result(bench, tools, endings, classes, setup_sends, successes=len(healthy))
