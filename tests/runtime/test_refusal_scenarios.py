"""The recorded refusal scenarios (tests/cases/refusals_scenarios.json) over real HTTP: every expectation of each is checked."""

import asyncio
import re
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from tests.runtime.harness import WIRE_CASES, Bench, outcome, play
from tests.runtime.refusal_stage import SCENARIOS, Scenario, Stage, judge, script_of, triggers_of

from stoic.errors import StoicError
from stoic.events import Quarantined, RoundEnded, RoundRolledBack, TextDelta
from stoic.records import Outcome
from stoic.runtime.threads import Thread
from stoic.wiring import Runtime

HOUR_SECONDS = 3600
CONVERSATIONS = sorted(name for name, each in SCENARIOS.items() if each["kind"] == "conversation")
ADVICE = re.compile(r"\b(retry|try again|send (it |this )?again|resend|type continue)\b", re.IGNORECASE)

Facts = dict[str, Callable[[], Any]]


def test_every_scenario_is_here_or_named_as_elsewhere():
    tasks = {name for name, each in SCENARIOS.items() if each["kind"] == "background"}
    assert len(CONVERSATIONS) == 14
    others = {"fanout_discards_siblings", "child_failure_seen_as_success"}
    assert set(CONVERSATIONS) | tasks | others == SCENARIOS.keys()
    assert tasks == JOBS | {"background_judge_2955_refusals", "batch_one_bad_item"}


# ---- a chat that a person talks to ----------------------------------------------------------------


@pytest.mark.parametrize("name", CONVERSATIONS)
def test_a_recorded_refusal_in_a_conversation_comes_out_right(tmp_path, name: str):
    scenario = SCENARIOS[name]

    async def story(bench: Bench) -> None:
        stage = Stage(bench, scenario)
        talk = Conversation(stage)
        async with stage.runtime() as runtime:
            thread = stage.thread(runtime)
            await stage.build_history(thread)
            for step in scenario["repro"]["steps"]:
                await talk.take(step, runtime, thread)
            await stage.look(runtime)
        facts = conversation_facts(stage, scenario) | talk.facts
        for expected, wanted in scenario["expect"].items():
            judge(expected, wanted, facts)

    play(tmp_path, script_of(scenario), story)


class Conversation:
    """Carries out a scenario's steps, each with its plain meaning."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.facts: Facts = {}

    async def take(self, step: str, runtime: Runtime, thread: Thread) -> None:
        """Carry out one step and note the requests that it leads to."""
        stage, said = self.stage, step.removeprefix("user says: ")
        before = len(stage.bench.provider.requests) + (step == "deliver increment" and bool(stage.results))
        if said != step:
            stage.endings.append(outcome(await thread.run(said, stage.bench.emit)))
        else:
            await self._steps[step](self, runtime, thread)
        name = step if step not in stage.sent else f"{step} once more"
        stage.sent[name] = stage.bench.provider.requests[before:]

    async def _deliver(self, _: Runtime, thread: Thread) -> None:
        await self.stage.deliver(thread)

    async def _let_a_day_pass(self, runtime: Runtime, thread: Thread) -> None:
        """Wake the thread every hour, as a scheduler would."""
        before = len(self.stage.bench.provider.requests)
        for _ in range(24):
            self.stage.bench.clock.advance(HOUR_SECONDS)
            assert await thread.wake() is None
            assert await thread.resume() is None
        sent = len(self.stage.bench.provider.requests) - before
        self.facts["clock_driven_resends"] = lambda: sent

    async def _fork(self, runtime: Runtime, thread: Thread) -> None:
        """Let the fork meet everything that no person causes."""
        before = len(self.stage.bench.provider.requests)
        forked = await thread.fork("f")
        await forked.post("mail", {"n": 1})
        assert await forked.resume() is None
        assert await forked.wake() is None
        sent = len(self.stage.bench.provider.requests) - before
        fork = Stage(self.stage.bench, {"repro": self.stage.repro})
        await fork.look(runtime, "f")
        self.facts["fork_sends"] = lambda: sent
        self.facts["fork_state"] = lambda: states_of(fork, self.stage.endings[0])

    async def _start_fresh(self, runtime: Runtime, thread: Thread) -> None:
        await self.stage.look(runtime)
        states = states_of(self.stage, self.stage.endings[0])
        self.facts["final_state"] = lambda: states
        await thread.fresh()
        ended = outcome(await thread.run("hello"))
        self.facts["fresh_start"] = lambda: "ok" if ended.outcome == "completed" else ended.outcome

    _steps = {
        "deliver increment": _deliver,
        "let the clock run 24 h": _let_a_day_pass,
        "fork thread": _fork,
        "fresh start": _start_fresh,
    }


def conversation_facts(stage: Stage, scenario: Scenario) -> Facts:
    """Return what the expectations of the case file are about, by their names there."""
    first, requests, triggers = stage.endings[0], stage.requests, triggers_of(scenario)
    events, attempts = stage.bench.events, [row.content for row in stage.rows if row.kind == "attempt"]
    quarantined = any(isinstance(event, Quarantined) for event in events)
    benign = [text for text in stage.results if not any(trigger in text for trigger in triggers)]
    later = [request for step, sent in stage.sent.items() if step.startswith("user says") for request in sent]
    wire = WIRE_CASES[scenario["repro"]["provider_script"]["rules"][0]["reply"]]
    usable = all(each.outcome == "completed" for each in stage.endings[1:])
    rolled_back = {(each.round, each.attempt) for each in events if isinstance(each, RoundRolledBack)}
    shown = [each for each in events if isinstance(each, TextDelta)]
    answers = [each for each in events if isinstance(each, RoundEnded)]
    return {
        "max_sends": lambda: len(stage.first_turn),
        "max_sends_first_turn": lambda: len(stage.first_turn),
        "max_sends_with_trigger": lambda: max(stage.holding(trigger) for trigger in triggers),
        "final_state": lambda: states_of(stage, first),
        "accepted_history_contains_trigger": lambda: any(stage.is_accepted(trigger) for trigger in triggers),
        "notify_human": lambda: bool(stage.notices),
        "provider_switched": stage.has_switched,
        "second_user_turn": lambda: second_turn(stage, scenario),
        "quarantine_visible": lambda: quarantined,
        "empty_bubble": lambda: not first.text or any(not each.text.strip() and not each.calls for each in answers),
        "benign_results_kept_min": lambda: sum(requests[-1].holds(text) for text in benign),
        "refusal_text_in_next_request": lambda: any(
            request.holds(text) for request in later for text in refusal_texts(wire, first)
        ),
        "partial_text_in_next_request": lambda: any(
            request.holds(part["text"]) for request in later for part in wire["body"]["content"]
        ),
        "advice_contains_retry": lambda: ADVICE.search(stage.words()) is not None,
        "kept_parts": lambda: kept_parts(stage, triggers),
        "sdk_auto_retries": lambda: len(requests) - len({request.body for request in requests}),
        "tool_calls_executed": lambda: len(stage.ran),
        "discard_marker": lambda: any(isinstance(each, RoundRolledBack) and each.discarded_calls for each in events),
        "partial_text_retracted": lambda: (
            bool(shown) and all((each.round, each.attempt) in rolled_back for each in shown) and not answers
        ),
        "recorded_as": lambda: {"empty_response": "ambiguous_empty"}[str(first.failure_class)],
        "reported_success": lambda: first.outcome == "completed",
        "conversation_usable": lambda: usable,
        "class_not": lambda: [each["class"] for each in attempts],
        "raw_stop_reason": lambda: next(each["value"] for each in attempts[0]["evidence"] if "stop" in each["field"]),
    }


def states_of(stage: Stage, first: Outcome) -> set[str]:
    """Return what the increment led to, in those words of the case file that are true of it."""
    if first.outcome == "completed":
        is_withheld = any(row.kind == "quarantine" for row in stage.rows)
        return {"continued", "quarantined_then_continued"} if is_withheld else {"never refused"}
    if (first.outcome, first.reason, first.refused) != ("stopped", "refused", True):
        return {first.outcome}
    return {"refused", "segment_refused"} if stage.history().refusals else {"refused"}


def second_turn(stage: Stage, scenario: Scenario) -> str:
    """Return how the turn after the increment's went; the word of the case file for what went well."""
    assert next(sent for step, sent in stage.sent.items() if step.startswith("user says")), "nothing was sent"
    return scenario["expect"]["second_user_turn"] if stage.endings[1].outcome == "completed" else "refused"


def refusal_texts(wire: Any, ended: Outcome) -> list[str]:
    """Return what was said of a refusal by the provider and by us."""
    details = wire["body"].get("stop_details") or {}
    return [ended.message, "Refusal", "could not be completed", *([details["explanation"]] if details else [])]


def kept_parts(stage: Stage, triggers: list[str]) -> list[str]:
    """Return which parts of the increment's first entry the model still saw in the end."""
    request = stage.first_turn[-1]
    parts = {"text": "screenshot taken", "image": triggers[0]}
    return [kind for kind, text in parts.items() if request.holds(text)]


# ---- tasks ----------------------------------------------------------------------------------------

JOBS = {"cron_ok_nothing_delivered", "backoff_on_content_risk", "nested_retry_layers", "empty_turn_burns_budget"}


@pytest.mark.parametrize("name", sorted(JOBS))
def test_a_refused_job_ends_at_once_and_for_good(tmp_path, name: str):
    scenario = SCENARIOS[name]
    (brief,) = (each["content"] for each in scenario["repro"]["increment"])

    async def story(bench: Bench) -> None:
        stage = Stage(bench, scenario)
        async with stage.runtime() as runtime:
            ended = outcome(await stage.thread(runtime, kind="task").run(brief, bench.emit))
        async with stage.runtime() as runtime:
            await stage.look(runtime)
            assert await stage.thread(runtime).resume() is None
            with pytest.raises(StoicError, match="ended by refusal"):
                await stage.thread(runtime).run("go on")
        stored = msgspec.convert(next(row.content for row in stage.rows if row.kind == "outcome"), Outcome)
        facts: Facts = {
            "outcome": lambda: {ended.outcome, str(ended.reason)},
            "durable": lambda: stored == ended and stage.rows[-1].kind == "outcome",
            "sends": lambda: len(bench.provider.requests),
            "delivered": lambda: bool(ended.text),
            "reported_ok": lambda: ended.outcome == "completed",
            "backoff_waits": lambda: len(bench.clock.sleeps),
        }
        for expected, wanted in scenario["expect"].items():
            judge(expected, wanted, facts)
        assert not stage.has_switched()
        (told,) = stage.notices
        assert "never runs again" in told, "it has no owner who could be told"
        assert not any(row.quarantine for row in stage.rows)

    play(tmp_path, script_of(scenario), story)


def test_an_owner_reads_of_its_refused_task_that_it_was_refused_and_no_trigger(tmp_path):
    scenario = SCENARIOS["child_failure_seen_as_success"]
    (brief,) = (each["content"] for each in scenario["repro"]["increment"])

    async def story(bench: Bench) -> None:
        stage = Stage(bench, scenario)
        async with stage.runtime() as runtime:
            owner = stage.thread(runtime, "owner")
            assert outcome(await owner.run("start it")).outcome == "completed"
            (task,) = await runtime.tasks.wait([(await runtime.tasks.start(brief, owner="owner")).task])
            (stored,) = await runtime.store.deliveries(task=task.task)
            read = outcome(await owner.resume())
            (event,) = [row.content for row in await bench.rows(runtime, "owner") if row.kind == "event"]
        payload = event["payload"]
        facts: Facts = {
            "parent_sees": lambda: {payload["reason"]},
            "receipt_contains_trigger": lambda: "[[T31]]" in msgspec.json.encode([stored, event]).decode(),
            "parent_next_send_refused": lambda: read.refused,
        }
        for expected, wanted in scenario["expect"].items():
            judge(expected, wanted, facts)
        assert (payload["category"], payload["provider"], payload["task"]) == ("cyber", "anthropic", task.task)
        assert (payload.get("text", ""), payload["status"]) == ("", "cancelled")
        assert bench.provider.requests[-1].holds("refused_by: anthropic")

    play(tmp_path, script_of(scenario), story)


async def run_task(stage: Stage, runtime: Runtime, name: str, brief: str) -> Outcome:
    """Run a new task."""
    return outcome(await stage.thread(runtime, name, kind="task").run(brief))


def test_a_judge_that_meets_the_same_item_again_asks_once(tmp_path):
    scenario = SCENARIOS["background_judge_2955_refusals"]
    (brief,) = (each["content"] for each in scenario["repro"]["increment"])
    expect = scenario["expect"]

    async def story(bench: Bench) -> None:
        stage, sends, endings = Stage(bench, scenario), list[int](), list[Outcome]()
        said = brief
        for number, step in enumerate(scenario["repro"]["steps"]):
            if step == "turn 7 grows":
                said = f"{brief}, and what was said since"
                continue
            before = len(bench.provider.requests)
            async with stage.runtime() as runtime:
                endings.append(await run_task(stage, runtime, f"pass-{number}", said))
                await stage.look(runtime, f"pass-{number}")
            sends.append(len(bench.provider.requests) - before)
            bench.clock.advance(HOUR_SECONDS)
        *before_growth, after_growth = sends
        facts: Facts = {
            "sends_before_growth": lambda: sum(before_growth),
            "sends_after_growth": lambda: after_growth,
            "outcome": lambda: {each.reason for each in endings} & {"refused"},
            "keyed_by": lambda: {"bytes_fingerprint"} if len(stage.refused) == 2 else set[str](),
        }
        for expected, wanted in expect.items():
            judge(expected, wanted, facts)
        assert [each.refused for each in endings] == [True] * 4
        assert len({each.hash for each in stage.refused}) == len(stage.refused)

    play(tmp_path, script_of(scenario), story)


def test_a_batch_with_one_bad_item_is_split_until_only_that_one_is_refused(tmp_path):
    scenario = SCENARIOS["batch_one_bad_item"]
    (items,) = (each["content"] for each in scenario["repro"]["increment"])
    endings: dict[str, str] = {}

    async def story(bench: Bench) -> None:
        stage = Stage(bench, scenario)

        async def run_batch(batch: list[str]) -> None:
            """Split as a caller does: each part is a new request."""
            ended = await run_task(stage, runtime, "-".join(["batch", *batch]), "\n".join(batch))
            if not ended.refused:
                endings.update(dict.fromkeys(batch, ended.outcome))
            elif len(batch) == 1:
                endings[batch[0]] = "refused"
            else:
                half = len(batch) // 2
                await run_batch(batch[:half])
                await run_batch(batch[half:])

        async with stage.runtime() as runtime:
            await run_batch(items)
        facts: Facts = {
            "ok_items": lambda: list(endings.values()).count("completed"),
            "refused_items": lambda: list(endings.values()).count("refused"),
            "max_sends": lambda: len(bench.provider.requests),
        }
        for expected, wanted in scenario["expect"].items():
            judge(expected, wanted, facts)
        assert not stage.has_switched()

    play(tmp_path, script_of(scenario), story)


# ---- auto-fix work --------------------------------------------------------------------------------


def test_items_fanned_out_end_one_by_one_and_the_refused_one_passes_its_probe(tmp_path):
    scenario = SCENARIOS["fanout_discards_siblings"]
    items = [each["content"] for each in scenario["repro"]["increment"]]

    async def story(bench: Bench) -> None:
        stage = Stage(bench, scenario)
        async with stage.runtime() as runtime:
            threads = [stage.thread(runtime, f"item-{each}", second=False, kind="repair") for each in range(1, 6)]
            ended = await asyncio.gather(*(thread.run(item) for thread, item in zip(threads, items, strict=True)))
            outcomes = [outcome(each) for each in ended]
            (refused,) = (each for each in outcomes if each.refused)
            assert refused.thread == "item-3"
            assert outcome(await threads[2].wake()).refused, "a probe before its time is no send"
            bench.clock.advance(15 * 60)
            probed = outcome(await threads[2].wake())
        facts: Facts = {
            "kept_items": lambda: sum(each.outcome == "completed" for each in outcomes),
            "item3_outcome_in": lambda: "ok_after_probe" if probed.outcome == "completed" else str(probed.reason),
            "max_sends_item3": lambda: sum(request.holds("[[T27]]") for request in bench.provider.requests),
            "run_failed": lambda: any(each.outcome == "failed" for each in [*outcomes, probed]),
        }
        for expected, wanted in scenario["expect"].items():
            judge(expected, wanted, facts)
        assert facts["max_sends_item3"]() == 2

    play(tmp_path, script_of(scenario), story)
