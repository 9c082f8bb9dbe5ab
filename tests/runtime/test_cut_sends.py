"""A send that the turn's own time or a person cuts off says nothing about the route: it is no failed attempt."""

import asyncio

from tests.runtime.harness import Bench, SignallingClock, outcome, play

from stoic.events import TextDelta
from stoic.records import Outcome
from stoic.runtime.agents import Agent
from stoic.settings import Access, Settings
from stoic.wiring import Runtime, SystemClock

HANG = {"replies": [], "default": ["text:Half", "hang"]}


def bounded(seconds: float) -> Agent:
    return Agent("openai-chat:m", instructions="Be brief.", max_seconds=seconds)


def test_turns_that_run_out_of_time_do_not_shut_the_route(tmp_path):
    async def story(bench: Bench) -> None:
        settings = Settings(database=str(bench.path), access={"openai-chat": Access(base_url=bench.provider.base_url)})
        async with Runtime(settings=settings, clock=SystemClock()) as runtime:
            thread = runtime.thread("t", bounded(0.1), session="s")
            ended = [outcome(await thread.run(str(number), bench.emit)) for number in range(5)]
            rows = await bench.rows(runtime)
            assert await runtime.store.health() == []
        assert {(each.outcome, each.reason) for each in ended} == {("stopped", "budget")}
        assert not [row for row in rows if row.kind == "attempt"]
        assert not {"attempt_failed", "retrying"} & set(bench.kinds())

    play(tmp_path, HANG, story)


def test_a_turn_that_goes_on_after_a_restart_is_stopped_when_its_time_is_over(tmp_path):
    async def story(bench: Bench) -> None:
        clock = SignallingClock()
        async with bench.runtime(clock) as dying:
            running = asyncio.ensure_future(dying.thread("t", bounded(60), session="s").run("go", bench.emit))
            await bench.until(TextDelta)
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
        clock.advance(30)
        bench.seen.clear()
        async with bench.runtime(clock) as runtime:
            going_on = asyncio.ensure_future(runtime.thread("t", bounded(60), session="s").resume(bench.emit))
            await bench.until(TextDelta)
            clock.advance(31)
            ended = outcome(await going_on)
            rows = await bench.rows(runtime)
            assert await runtime.store.health() == []
        assert (ended.outcome, ended.reason) == ("stopped", "budget")
        assert not [row for row in rows if row.kind == "attempt"]

    play(tmp_path, HANG, story)


def test_turns_that_a_person_cancels_do_not_shut_the_route(tmp_path):
    async def cancelled(bench: Bench, runtime: Runtime) -> Outcome:
        bench.seen.clear()
        running = asyncio.ensure_future(bench.thread(runtime).run("go", bench.emit))
        await bench.until(TextDelta)
        await bench.thread(runtime).cancel()
        return outcome(await running)

    async def story(bench: Bench) -> None:
        async with bench.runtime() as runtime:
            ended = [await cancelled(bench, runtime) for _ in range(5)]
            rows = await bench.rows(runtime)
            assert await runtime.store.health() == []
        assert {each.outcome for each in ended} == {"cancelled"}
        assert not [row for row in rows if row.kind == "attempt"]

    play(tmp_path, HANG, story)
