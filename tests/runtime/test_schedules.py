"""Schedules in a runtime: what is due comes into the inbox once, is answered as an event, and never hammers."""

from typing import Any

from msgspec.structs import replace
from tests.runtime.harness import Bench, outcome, play

from stoic.core.refusal import HOUR_MS, MINUTE_MS
from stoic.core.schedules import HOLD_MS, next_due, parse
from stoic.records import Schedule, ThreadRecord
from stoic.runtime.schedules import fire_due, last_outcome
from stoic.wiring import Runtime

CANARY = "canary-90aa"
REFUSED = ["finish:content_filter"]


async def add(bench: Bench, runtime: Runtime, when: str = "every 15 minutes", **fields: Any) -> Schedule:
    timing = parse(when, "UTC")
    now_ms = bench.clock.now_ms()
    await runtime.store.create_thread(ThreadRecord(id="t", created_at=1))
    known: dict[str, Any] = {
        "id": "s",
        "thread": "t",
        "expression": when,
        "prompt": "Look around.",
        "created_at": now_ms,
    }
    known |= {"cron": timing.cron, "zone": timing.zone, "next_due_at": next_due(timing, now_ms)}
    schedule = Schedule(**known | fields)
    await runtime.store.put_schedule(schedule)
    return schedule


async def waiting(runtime: Runtime) -> list[str]:
    return [entry.id for entry in await runtime.store.inbox("t")]


def test_what_is_due_comes_once_and_is_answered_as_an_event(tmp_path):
    async def story(bench: Bench) -> None:
        async with bench.runtime() as runtime:
            assert await fire_due(runtime.store, bench.clock) is None
            schedule = await add(bench, runtime)
            assert await fire_due(runtime.store, bench.clock) == schedule.next_due_at
            assert await waiting(runtime) == []
            due_ms = schedule.next_due_at
            bench.clock.advance((due_ms - bench.clock.now_ms()) / 1000 + 35 * 60)
            for _ in range(2):
                assert await fire_due(runtime.store, bench.clock) == due_ms + 45 * MINUTE_MS
            (entry,) = await runtime.store.inbox("t")
            assert (entry.id, entry.kind) == (f"schedule:s:{due_ms}", "event")
            assert entry.content == {
                "kind": "schedule",
                "payload": {"schedule": "s", "prompt": "Look around."},
                "text": "[event schedule]\nLook around.",
                "source_channel": "schedule",
                "due_ms": due_ms,
                "missed": 2,
                "next_due_ms": due_ms + 45 * MINUTE_MS,
            }
            assert outcome(await bench.thread(runtime).resume(bench.emit)).text == "nothing new"
            assert bench.provider.requests[0].holds("Look around.")
            (known,) = await runtime.store.schedules()
            assert (known.last_fired_at, known.next_due_at) == (bench.clock.now_ms(), due_ms + 45 * MINUTE_MS)

    play(tmp_path, [["text:nothing new"]], story)


async def pass_hours(bench: Bench, runtime: Runtime, hours: int) -> None:
    """Let time pass by five minutes, with a supervisor that enters what is due and runs what may run."""
    for _ in range(hours * 12):
        bench.clock.advance(5 * 60)
        await fire_due(runtime.store, bench.clock)
        await bench.thread(runtime).resume()
        assert len(await waiting(runtime)) <= 1


def test_a_prompt_that_was_refused_is_sent_once_and_stays_withheld(tmp_path):
    async def story(bench: Bench) -> None:
        async with bench.runtime() as runtime:
            await add(bench, runtime, prompt=f"Say {CANARY}.")
            await pass_hours(bench, runtime, 1)
            requests = bench.provider.requests
            assert [request.holds(CANARY) for request in requests] == [True, *[False] * 4]
            found = await last_outcome(runtime.store, "t")
            assert found is not None
            assert (found.content["outcome"], found.content["reason"]) == ("completed", "input_withheld")

    play(tmp_path, {"rules": [{"request_contains": CANARY, "reply": REFUSED}], "default": "ok"}, story)


def test_a_thread_that_is_always_refused_is_asked_by_the_probe_times(tmp_path):
    async def story(bench: Bench) -> None:
        async with bench.runtime() as runtime:
            await add(bench, runtime)
            await pass_hours(bench, runtime, 3)
            # The event itself, then neutral; 15 minutes and an hour later one probe each.
            assert len(bench.provider.requests) == 4
            found = await last_outcome(runtime.store, "t")
            assert found is not None
            assert (found.content["outcome"], found.content["reason"]) == ("stopped", "refused")

    play(tmp_path, {"default": REFUSED}, story)


def test_a_failing_thread_is_not_tried_each_time(tmp_path):
    async def story(bench: Bench) -> None:
        async with bench.runtime() as runtime:
            await add(bench, runtime, "every minute")
            for _ in range(60):
                bench.clock.advance(60)
                await fire_due(runtime.store, bench.clock)
                await bench.thread(runtime).resume()
            assert HOUR_MS // HOLD_MS == len(bench.provider.requests) == 4

    broken = {"status": 400, "body": {"error": {"message": "no", "type": "invalid_request_error"}}}
    play(tmp_path, {"default": broken}, story)


def test_others_go_on_while_one_is_paused_or_of_an_unknown_zone(tmp_path, caplog):
    async def story(bench: Bench) -> None:
        async with bench.runtime() as runtime:
            first = await add(bench, runtime)
            await runtime.store.put_schedule(replace(first, id="paused", paused=True))
            await runtime.store.put_schedule(replace(first, id="lost", zone="Mars/Olympus"))
            bench.clock.advance(20 * 60)
            assert await fire_due(runtime.store, bench.clock) == first.next_due_at + 30 * MINUTE_MS
            assert await waiting(runtime) == [f"schedule:s:{first.next_due_at}"]
            assert [each.paused for each in await runtime.store.schedules()] == [False, True, True]
            assert "schedule lost of thread t is paused: there is no time zone 'Mars/Olympus' here" in caplog.text
            assert await last_outcome(runtime.store, "t") is None

    play(tmp_path, [], story)
