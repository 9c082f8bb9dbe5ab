"""Loops in a thread's life over a real file and real HTTP: what is known of them outlives processes, and grants are exact."""

import msgspec
import pytest
from tests.runtime.harness import Bench, outcome, play

from stoic.errors import NoSuchThreadError, UsageError
from stoic.runtime.threads import Thread
from stoic.tools.declaration import Tool

LOOK = ["tool:look({})", "stop"]
ENOUGH = ["text:Enough for now.", "stop"]


class StopError(Exception):
    """Ends a turn from inside, as the end of its task would."""


def always(_request) -> list[str]:
    return LOOK


class Looking:
    """A tool that brings the same every time, and how often it ran."""

    def __init__(self) -> None:
        self.runs = 0

    def tool(self) -> Tool:
        async def look() -> str:
            self.runs += 1
            return "the same"

        return Tool(look, effect="read")


async def event(thread: Thread) -> None:
    """Post what another thread might say."""
    await thread.post("note", {"n": 1}, from_thread="other")


async def rows_of(bench: Bench, runtime, kind: str):
    return [row for row in await bench.rows(runtime) if row.kind == kind]


@pytest.mark.parametrize("restarts", [True, False])
def test_calls_are_counted_on_in_the_next_turn_and_process(tmp_path, restarts: bool):
    looking = Looking()

    async def story(bench: Bench) -> None:
        async with bench.runtime() as runtime, bench.runtime() as other:
            assert outcome(await bench.thread(runtime, looking.tool()).run("go")).text == "Enough for now."
            thread = bench.thread(other if restarts else runtime, looking.tool())
            await event(thread)
            assert outcome(await thread.resume()).reason == "stuck_loop"
            results = await rows_of(bench, runtime, "result")
            assert looking.runs == 30
            assert [row.meta["loop"] for row in results] == ["counted"] * 30 + ["blocked"] * 4

    play(tmp_path, [*[LOOK] * 20, ENOUGH, *[LOOK] * 14], story)


def test_only_a_persons_message_begins_anew_and_what_is_known_survives_a_restart(tmp_path):
    looking = Looking()

    async def story(bench: Bench) -> None:
        runs = [30, 30, 30, 60, 60]
        for number, expected in enumerate(runs):
            async with bench.runtime() as runtime:
                thread = bench.thread(runtime, looking.tool())
                if number in {0, 3}:
                    ending = await thread.run("go")
                else:
                    await event(thread)
                    ending = await thread.resume()
                assert outcome(ending).reason == "stuck_loop"
                assert looking.runs == expected
                state = (await runtime.store.load("t")).guard
                assert state["ignored_blocks"] >= 3
                assert len(msgspec.json.encode(state)) < 2_000

    play(tmp_path, always, story)


def test_a_grant_lets_exactly_so_many_calls_run_in_another_process_too(tmp_path):
    looking = Looking()

    async def story(bench: Bench) -> None:
        async with bench.runtime() as runtime:
            await bench.thread(runtime, looking.tool()).run("go")
        async with bench.runtime() as runtime:
            await bench.thread(runtime, looking.tool()).allow(5)
        async with bench.runtime() as runtime:
            thread = bench.thread(runtime, looking.tool())
            assert outcome(await thread.resume(bench.emit)).reason == "stuck_loop"
            assert looking.runs == 35
            assert bench.kinds()[0] == "turn_started"
            (grant,) = await rows_of(bench, runtime, "grant")
            assert grant.content == {"calls": 5, "turn": 1}
            assert len(await rows_of(bench, runtime, "let_through")) == 5
            assert await thread.resume() is None
        assert bench.provider.requests[34].holds("A person allows 5 more calls")

    play(tmp_path, always, story)


@pytest.mark.parametrize("at", range(0, 24, 2))
def test_a_granted_turn_dropped_at_any_event_goes_on_without_one_call_more(tmp_path, at: int):
    looking = Looking()

    async def story(bench: Bench) -> None:
        count = 0

        def stop_at(_happening) -> None:
            nonlocal count
            count += 1
            if count > at:
                raise StopError

        async with bench.runtime() as runtime:
            thread = bench.thread(runtime, looking.tool())
            await thread.run("go")
            await thread.allow(3)
            with pytest.raises(StopError):
                await thread.resume(stop_at)
        async with bench.runtime() as later:
            assert outcome(await bench.thread(later, looking.tool()).resume()).reason == "stuck_loop"
            let_through = [
                name for row in await rows_of(bench, later, "let_through") for name in row.content["operations"]
            ]
            assert len(let_through) == len(set(let_through)) == 3
            results = [row.meta["loop"] for row in await rows_of(bench, later, "result") if row.turn == 2]
            assert results == ["counted"] * 3 + ["blocked"] * 4

    play(tmp_path, always, story)


def test_there_is_something_to_allow_only_right_after_a_turn_was_stopped_as_a_loop(tmp_path):
    looking = Looking()

    async def story(bench: Bench) -> None:
        async with bench.runtime() as runtime:
            thread = bench.thread(runtime, looking.tool())
            with pytest.raises(NoSuchThreadError):
                await thread.allow(1)
            await event(thread)
            with pytest.raises(UsageError, match=r"'t' was not stopped as a loop \(it has no turn yet\)"):
                await thread.allow(1)
            await thread.run("go")
            with pytest.raises(UsageError, match="0 calls cannot be allowed; allow at least 1"):
                await thread.allow(0)
            await thread.allow(1)
            with pytest.raises(
                UsageError, match="was allowed calls already and has not gone on since; resume it first"
            ):
                await thread.allow(1)
            await thread.resume()
            await thread.run("something else")
            with pytest.raises(UsageError, match=r"not stopped as a loop \(turn 4 ended completed\)"):
                await thread.allow(1)

    play(tmp_path, [ENOUGH, *[LOOK] * 34, *[LOOK] * 5, ENOUGH], story)


def test_a_grant_that_a_message_came_before_is_not_kept_for_a_later_loop(tmp_path):
    looking = Looking()

    async def story(bench: Bench) -> None:
        async with bench.runtime() as runtime:
            thread = bench.thread(runtime, looking.tool())
            await thread.run("go")
            await thread.allow(4)
            entry = (await runtime.store.inbox("t"))[0]
            assert outcome(await thread.run("go again")).turn == 3, "the grant's turn comes first"
            assert looking.runs == 64
            await runtime.store.put(msgspec.structs.replace(entry, id="late"))
            assert await thread.resume() is None
            assert looking.runs == 64

    play(tmp_path, always, story)


def test_a_fork_inherits_what_is_known_of_loops(tmp_path):
    looking = Looking()

    async def story(bench: Bench) -> None:
        async with bench.runtime() as runtime:
            thread = bench.thread(runtime, looking.tool())
            await thread.run("go")
            fork = await thread.fork("copy")
            await event(fork)
            assert outcome(await fork.resume()).reason == "stuck_loop"
            assert looking.runs == 30

    play(tmp_path, always, story)
