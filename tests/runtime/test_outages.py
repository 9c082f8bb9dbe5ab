"""A schedule's prompt and a provider that is down for a while, over real HTTP and a real file: it waits, and is given up in the end."""

from tests.runtime.harness import Bench, outcome, play

from stoic.core.commands import Ending
from stoic.core.parking import COOLDOWN_WAITS_MS
from stoic.core.schedules import next_due, parse
from stoic.records import Outcome, Parked, Schedule
from stoic.runtime.agents import Agent
from stoic.testing import FakeClock
from stoic.wiring import Runtime

AGENT = Agent("openai-chat:M", name="agent")
DOWN = {"status": 503, "body": {"error": {"message": "busy", "type": "server_error"}}}
_LONGEST_RETRY_MS = 4_000


class Patient(FakeClock):
    """A clock that moves by itself past what a turn waits for between two sends, and past nothing longer."""

    async def sleep_until(self, until_ms: int) -> None:
        if until_ms - self.now_ms() <= _LONGEST_RETRY_MS:
            self.advance(max(0, until_ms - self.now_ms()) / 1000)
        await super().sleep_until(until_ms)


def opened(bench: Bench) -> Runtime:
    """Return a runtime that runs nothing by itself, at the time of the one before."""
    bench.clock = Patient(bench.clock.now_ms())
    settings = bench.runtime()._settings  # pyright: ignore[reportPrivateUsage] - the same file and provider
    return Runtime(settings=settings, clock=bench.clock, runs_tasks=False, agents=[AGENT])


async def begin(bench: Bench, runtime: Runtime, when: str = "every day 09:00") -> None:
    """Let there be a thread with a schedule that has just come due."""
    outcome(await runtime.thread("t", AGENT).run("Say that you are ready."))
    timing = parse(when, "UTC")
    due_ms = next_due(timing, bench.clock.now_ms())
    bench.clock.advance((due_ms - bench.clock.now_ms()) / 1000)
    await runtime.store.put_schedule(
        Schedule(
            id="s",
            thread="t",
            expression=when,
            cron=timing.cron,
            zone=timing.zone,
            prompt="Look.",
            created_at=bench.clock.now_ms(),
            next_due_at=due_ms,
        )
    )


async def work(runtime: Runtime) -> Ending:
    """Run a worker until a turn has ended, or waits."""
    endings: list[Ending] = []
    worker = runtime.worker(on_ending=lambda _, ending: (endings.append(ending), worker.drain()))
    await worker.run()
    (ending,) = endings
    return ending


async def wait_out(bench: Bench, runtime: Runtime) -> tuple[int, Outcome]:
    """Let time pass for as often as a turn waits; return how often that was, and how it ended."""
    waits = 0
    while isinstance(ending := await work(runtime), Parked):
        waits += 1
        assert ending.until_ms is not None
        bench.clock.advance((ending.until_ms - bench.clock.now_ms()) / 1000)
    return waits, outcome(ending)


def test_it_outlives_an_outage_of_an_hour_and_a_restart_and_nobody_is_bothered(tmp_path):
    async def story(bench: Bench) -> None:
        async with opened(bench) as runtime:
            await begin(bench, runtime)
            began_ms = bench.clock.now_ms()
            parked = await work(runtime)
            assert isinstance(parked, Parked)
            assert (parked.event, len(bench.provider.requests)) == ("time openai-chat", 5)
            (record,) = await runtime.store.parked()
            assert record.wake_at_ms == parked.until_ms
        async with opened(bench) as runtime:
            assert await runtime.store.work(bench.clock.now_ms()) == [], "it is not looked at before its time"
            assert parked.until_ms is not None
            bench.clock.advance((parked.until_ms - bench.clock.now_ms()) / 1000)
            waits, last = await wait_out(bench, runtime)
            assert (waits, last.text) == (4, "the report")
            assert 50 * 60_000 < bench.clock.now_ms() - began_ms < 60 * 60_000
            assert len(bench.provider.requests) == 10
            assert bench.provider.requests[-1].body == bench.provider.requests[1].body
            assert await runtime.store.notices() == []

    play(tmp_path, [["text:ready"], *[DOWN] * 8, ["text:the report"]], story)


def test_one_that_does_not_end_is_given_up_with_one_notice_and_the_next_prompt_comes_as_usual(tmp_path):
    async def story(bench: Bench) -> None:
        async with opened(bench) as runtime:
            await begin(bench, runtime)
            waits, last = await wait_out(bench, runtime)
            assert (last.outcome, last.failure_class, waits) == ("failed", "server_error", len(COOLDOWN_WAITS_MS))
            assert len(bench.provider.requests) == 1 + 4 + len(COOLDOWN_WAITS_MS)
            (notice,) = await runtime.store.notices()
            assert (notice.notice.kind, notice.notice.key) == ("turn_ended", "turn_ended:t:2")
            (schedule,) = await runtime.store.schedules()
            bench.clock.advance((schedule.next_due_at - bench.clock.now_ms()) / 1000)
            assert outcome(await work(runtime)).text == "two nights"

    down = [DOWN] * (4 + len(COOLDOWN_WAITS_MS))
    play(tmp_path, [["text:ready"], *down, ["text:two nights"]], story)


def test_it_is_given_up_before_its_schedule_is_due_again(tmp_path):
    async def story(bench: Bench) -> None:
        async with opened(bench) as runtime:
            await begin(bench, runtime, "every 15 minutes")
            (before,) = await runtime.store.schedules()
            waits, last = await wait_out(bench, runtime)
            assert (waits, last.outcome) == (3, "failed")
            (schedule,) = await runtime.store.schedules()
            assert schedule.next_due_at == before.next_due_at + 15 * 60_000
            assert bench.clock.now_ms() < schedule.next_due_at

    play(tmp_path, [["text:ready"], *[DOWN] * 7], story)


def test_a_message_ends_the_wait_and_both_are_answered_as_soon_as_the_provider_is(tmp_path):
    async def story(bench: Bench) -> None:
        async with opened(bench) as runtime:
            await begin(bench, runtime)
            parked = await work(runtime)
            assert isinstance(parked, Parked)
            thread = runtime.thread("t", AGENT)
            at_once = outcome(await thread.run("Are you there?"))
            assert (at_once.turn, at_once.outcome, len(bench.provider.requests)) == (3, "failed", 5)
            assert parked.turn == 2
            bench.clock.advance(60)
            assert outcome(await thread.run("And now?")).text == "yes"
            request = bench.provider.requests[-1]
            assert all(request.holds(said) for said in ("Look.", "Are you there?", "And now?"))

    play(tmp_path, [["text:ready"], *[DOWN] * 4, ["text:yes"]], story)
