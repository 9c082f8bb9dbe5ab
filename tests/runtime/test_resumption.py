"""What survives the end of a process: position, request bytes, and what may not be repeated."""

import asyncio
from collections.abc import Awaitable, Callable
from itertools import pairwise
from typing import TYPE_CHECKING

import msgspec
import pytest
from tests.runtime.harness import Bench, outcome, play

from stoic.errors import StaleWriterError, UsageError
from stoic.events import ToolStarted, TurnStarted
from stoic.records import InboxEntry, Outcome, Owner, ThreadRecord
from stoic.runtime.agents import Agent
from stoic.store.memory import MemoryStore
from stoic.store.sqlite import SqliteStore
from stoic.tools.declaration import Tool

if TYPE_CHECKING:
    from stoic.core.commands import Ending

SCRIPT = [
    ["text:First. ", 'tool:look({"n":1})', 'tool:look({"n":2})', "stop"],
    ["text:Then. ", 'tool:put({"n":3})', "stop"],
    ["text:Done.", "stop"],
]


class StopError(Exception):
    """Ends a turn from inside, as the end of its task would."""


def words(request) -> list[str]:
    """Answer by what the conversation holds, so that a resumed turn meets the same provider."""
    return SCRIPT[sum(message["role"] == "assistant" for message in request.json["messages"])]


@pytest.mark.parametrize("at", range(16))
def test_a_turn_dropped_at_any_event_is_finished_by_the_next_process(tmp_path, at: int):
    put_runs: list[int] = []

    async def look(n: int) -> str:
        return f"seen {n}"

    async def put(n: int) -> str:
        put_runs.append(n)
        return "put"

    async def story(bench: Bench) -> None:
        tools = (Tool(look, effect="read"), put)
        count = 0

        def stop_at(event) -> None:
            nonlocal count
            bench.emit(event)
            count += 1
            if count > at:
                raise StopError

        async with bench.runtime() as runtime:
            with pytest.raises(StopError):
                await bench.thread(runtime, *tools).run("go", stop_at)
        async with bench.runtime() as later:
            ended = await bench.thread(later, *tools).resume()
            rows = await bench.rows(later)
        assert [row.kind for row in rows].count("outcome") == 1
        assert outcome(ended or rows_outcome(rows)).text == "Done."
        assert len(put_runs) <= 1
        bodies = [request.body for request in bench.provider.requests]
        assert all(later.startswith(first[:-2]) or first == later for first, later in pairwise(bodies))

    play(tmp_path, words, story)


def rows_outcome(rows):
    """Return the stored outcome."""
    return msgspec.convert(next(row.content for row in rows if row.kind == "outcome"), Outcome)


def test_the_request_after_a_restart_begins_with_the_bytes_of_the_last_one(tmp_path):
    async def look(n: int) -> str:
        return f"seen {n} \u2028 \ud83d\ude00"

    async def story(bench: Bench) -> None:
        for text in ("go", "and \u00fcber \u2028 that", "and so on"):
            async with bench.runtime() as runtime:
                await bench.thread(runtime, Tool(look, effect="read")).run(text)
        bodies = [request.body for request in bench.provider.requests]
        assert len(bodies) == 4
        for first, second in pairwise(bodies):
            assert second.startswith(first[:-2])

    replies = [
        ["text:A. ", 'tool:look({ "n" : 1.0 })', "stop"],
        ["text:B.", "stop"],
        ["text:C.", "stop"],
        ["text:D.", "stop"],
    ]
    play(tmp_path, replies, story)


def test_a_resumed_turn_is_announced_as_resumed(tmp_path):
    async def story(bench: Bench) -> None:
        async with bench.runtime() as runtime:
            running = asyncio.ensure_future(bench.thread(runtime).run("go"))
            await bench.provider.arrived(1)
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
            assert outcome(await bench.thread(runtime).resume(bench.emit)).text == "Here."
        assert bench.events[0] == TurnStarted(thread="t", turn=1, resumed=True)

    play(tmp_path, [["hang"], ["text:Here.", "stop"]], story)


def test_without_anything_to_do_a_resume_says_so(tmp_path):
    async def story(bench: Bench) -> None:
        async with bench.runtime() as runtime:
            assert await bench.thread(runtime).resume() is None
        assert bench.provider.requests == []

    play(tmp_path, [], story)


def test_the_end_of_the_callers_task_also_ends_the_calls_it_started(tmp_path):
    ended = asyncio.Event()

    async def wait_long() -> str:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return "never"

    async def story(bench: Bench) -> None:
        async with bench.runtime() as runtime:
            running = asyncio.ensure_future(bench.thread(runtime, wait_long).run("go", bench.emit))
            await bench.until(ToolStarted)
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
            assert ended.is_set()

    play(tmp_path, [["tool:wait_long({})", "stop"]], story)


def test_a_late_answer_to_a_turn_that_has_ended_does_not_disturb_the_next_one(tmp_path):
    async def story(bench: Bench) -> None:
        async with bench.runtime() as runtime:
            thread = bench.thread(runtime)
            await thread.run("one")
            await thread.answer("t.1.1.0", "pay", "once")
            assert outcome(await thread.run("two")).text == "Two."
            assert await runtime.store.inbox("t") == []

    play(tmp_path, [["text:One.", "stop"], ["text:Two.", "stop"]], story)


LIMITED = {"status": 429, "headers": {"retry-after": "90"}, "body": {"error": {"code": "rate_limit_exceeded"}}}
INVALID = {"status": 400, "body": {"error": {"message": "Unsupported value", "type": "invalid_request_error"}}}
REFUSED = ["text:No", "finish:content_filter"]


@pytest.mark.parametrize(("ending", "stay"), [(INVALID, False), (REFUSED, True)])
def test_words_of_an_earlier_turn_leave_with_a_later_failure_by_the_bytes_and_stay_after_a_refusal(
    tmp_path, ending, stay
):
    async def story(bench: Bench) -> None:
        async with bench.runtime() as runtime:
            thread = bench.thread(runtime)
            assert outcome(await thread.run("early words")).failure_class == "rate_limit"
            bench.clock.advance(91)
            assert outcome(await thread.run("bad words")).outcome in {"failed", "stopped"}
            assert outcome(await thread.run("good words")).text == "Fine."
        last = bench.provider.requests[-1]
        assert last.holds("early words") is stay
        assert not last.holds("bad words")

    play(tmp_path, [LIMITED, ending, ["text:Fine.", "stop"]], story)


class Overtaken(SqliteStore):
    """A log whose holder stands still between taking a lease and reading what came in."""

    overtake: Callable[[], Awaitable[None]] | None = None

    async def inbox(self, thread: str) -> list[InboxEntry]:
        overtake, self.overtake = self.overtake, None
        if overtake is not None:
            await overtake()
        return await super().inbox(thread)


def test_a_message_that_another_process_takes_while_its_holder_stands_still_is_that_ones(tmp_path):
    # Found by simulation (seed 5000178): the holder called a bug what was the end of its lease.
    async def story(bench: Bench) -> None:
        slow = Overtaken(bench.path)
        others = SqliteStore(bench.path, is_alive=lambda _: False)
        async with bench.runtime(store=slow) as runtime, bench.runtime(store=others) as other:
            thread = bench.thread(runtime)
            await thread.run("one")
            running: list[asyncio.Task[Ending | None]] = []

            async def overtake() -> None:
                running.append(asyncio.create_task(bench.thread(other).resume()))
                await bench.provider.arrived(2)

            slow.overtake = overtake
            with pytest.raises(StaleWriterError, match="nothing was stored"):
                await thread.run("two")
            await bench.thread(other).cancel()
            assert outcome(await running[0]).outcome == "cancelled"

    play(tmp_path, [["text:One.", "stop"], ["hang"]], story)


def test_a_turn_that_lost_its_lease_may_end_while_a_later_step_of_its_thread_runs_in_the_same_process(tmp_path):
    # Found by simulation (seed 51000000733): the later one failed with a KeyError when it had ended.
    async def story(bench: Bench) -> None:
        others = SqliteStore(bench.path, is_alive=lambda _: False)
        async with bench.runtime() as runtime, bench.runtime(store=others) as other:
            thread = bench.thread(runtime)
            await thread.run("one")
            overtaken = asyncio.ensure_future(thread.run("two"))
            await bench.provider.arrived(2)
            assert outcome(await bench.thread(other).resume()).text == "Two."
            later = asyncio.ensure_future(thread.compact())
            await bench.provider.arrived(4)
            bench.provider.open_gate("late")
            with pytest.raises(StaleWriterError, match="nothing was stored"):
                await overtaken
            bench.provider.open_gate("summary")
            assert (await later).state == "begun"

    script = [["text:One."], ["gate:late", "text:Too late."], ["text:Two."], ["gate:summary", "text:So far."]]
    play(tmp_path, script, story)


def test_a_turn_that_lost_its_lease_builds_no_other_request_from_what_the_next_holder_has_stored(tmp_path):
    # Found by simulation (seed 82000002384): it was told that there was nothing to answer in the view, a bug of ours.
    async def story(bench: Bench) -> None:
        others = SqliteStore(bench.path, is_alive=lambda _: False)
        async with bench.runtime() as runtime, bench.runtime(store=others) as other:
            overtaken = asyncio.ensure_future(bench.thread(runtime).run("one"))
            await bench.provider.arrived(1)
            assert outcome(await bench.thread(other).resume()).failure_class == "invalid_request"
            bench.provider.open_gate("late")
            with pytest.raises(StaleWriterError, match="nothing was sent"):
                await overtaken

    dangling = (
        "An assistant message with 'tool_calls' must be followed by tool messages"  # then a plain one is thought of
    )
    late = {"status": 400, "gate": "late", "body": {"error": {"message": dangling, "type": "invalid_request_error"}}}
    play(tmp_path, [late, INVALID], story)


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_taking_a_lease_is_a_sign_of_life(tmp_path, kind: str):
    async def story() -> None:
        store = MemoryStore() if kind == "memory" else SqliteStore(tmp_path / "log.db", is_alive=lambda _: None)
        await store.open()
        for name in ("idle", "eager"):
            await store.register(Owner(id=name, host="h", boot_id="b", pid=1, started_at=1, heartbeat_at=0))
        await store.create_thread(ThreadRecord(id="t"))
        lease = await store.acquire("t", "idle", 60_000)
        with pytest.raises(Exception, match="held by"):
            await store.acquire("t", "eager", 61_000)
        assert lease.epoch == 1
        await store.close()

    asyncio.run(story())


@pytest.mark.parametrize("text", ["", "  \n"])
def test_an_empty_message_is_refused_before_anything_is_stored(tmp_path, text: str):
    async def story(bench: Bench) -> None:
        async with bench.runtime() as runtime:
            with pytest.raises(UsageError, match="the message is empty"):
                await bench.thread(runtime).run(text)
            assert await runtime.store.threads() == []

    play(tmp_path, [], story)


@pytest.mark.parametrize("name", ["", "a\nb", "x" * 201])
def test_a_thread_id_that_cannot_be_is_refused(tmp_path, name: str):
    async def story(bench: Bench) -> None:
        async with bench.runtime() as runtime:
            with pytest.raises(UsageError, match="use 1 to 200 printable characters"):
                runtime.thread(name, Agent("openai-chat:m"))

    play(tmp_path, [], story)


def test_a_cancel_that_one_turn_has_taken_does_not_stop_the_next(tmp_path):
    async def story(bench: Bench) -> None:
        async with bench.runtime() as runtime, bench.runtime() as other:
            for number in range(3):
                running = asyncio.ensure_future(bench.thread(runtime).run(f"go {number}"))
                await bench.provider.arrived(2 * number + 1)
                following = asyncio.ensure_future(bench.thread(runtime).run(f"next {number}"))
                await bench.thread(other).cancel()
                ended = [outcome(each).outcome for each in await asyncio.gather(running, following)]
                assert ended == ["cancelled", "completed"]

    play(tmp_path, [["hang"], ["text:Next.", "stop"]] * 3, story)


def test_two_entries_with_one_meaning_are_two_turns(tmp_path):
    async def story(bench: Bench) -> None:
        async with bench.runtime() as runtime:
            await bench.thread(runtime).run("one")
            entry = InboxEntry(id="e", thread="t", kind="message", content={"text": "one"}, created_at=1)
            await runtime.store.put(entry)
            assert outcome(await bench.thread(runtime).resume()).turn == 2

    play(tmp_path, [["text:A.", "stop"], ["text:B.", "stop"]], story)
