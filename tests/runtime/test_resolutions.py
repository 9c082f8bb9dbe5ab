"""A person's decision about an unknown write: stored once, under the lease, and then an equal call may run again."""

import asyncio

import pytest
from tests.runtime.harness import Bench, outcome, play

from stoic.errors import UsageError
from stoic.events import ToolStarted
from stoic.records import Lease, Step
from stoic.runtime.resolutions import resolve
from stoic.store.sqlite import SqliteStore
from stoic.tools.declaration import Tool
from stoic.tools.ends import Ends

PAY = ["tool:pay({})", "stop"]


async def lost(bench: Bench, runs: list[int]):
    """Return a thread's tool whose first call loses its connection after sending."""

    async def pay() -> str:
        runs.append(1)
        if len(runs) == 1:
            raise ConnectionResetError("gone")
        return "paid"

    return pay


@pytest.mark.parametrize("decision", ["done", "not_done"])
def test_an_equal_call_is_refused_until_a_person_has_decided_and_runs_afterwards(tmp_path, decision):
    runs: list[int] = []

    async def story(bench: Bench) -> None:
        pay = await lost(bench, runs)
        async with bench.runtime() as runtime:
            thread = bench.thread(runtime, pay)
            await thread.run("one")
            await thread.run("two")
            assert bench.provider.requests[3].holds("Not run: operation t.1.1.0 was the same call")
            decided = await resolve(runtime.outside, runtime.owner.id, "t.1.1.0", decision)
            assert (decided.state, decided.status) == ("unknown", decision)
            await thread.run("three")
            assert len(runs) == 2
            (row,) = [row for row in await bench.rows(runtime) if row.kind == "resolution"]
            told = {"operation": "t.1.1.0", "tool": "pay", "decision": decision, "state": "unknown"}
            assert row.content.items() >= told.items()
            assert not row.visible
            assert row.turn == 2

    said = ["text:ok", "stop"]
    play(tmp_path, [PAY, said, PAY, said, PAY, said], story)


def test_a_decision_outlives_its_process(tmp_path):
    runs: list[int] = []

    async def story(bench: Bench) -> None:
        pay = await lost(bench, runs)
        async with bench.runtime() as runtime:
            await bench.thread(runtime, pay).run("one")
        async with bench.runtime() as other:
            await resolve(other.outside, other.owner.id, "t.1.1.0", "not_done")
        async with bench.runtime() as runtime:
            assert outcome(await bench.thread(runtime, pay).run("two")).outcome == "completed"
        assert len(runs) == 2

    said = ["text:ok", "stop"]
    play(tmp_path, [PAY, said, PAY, said], story)


def test_an_operation_that_ran_when_its_process_died_can_be_decided_about(tmp_path):
    async def stay() -> str:
        await asyncio.Event().wait()
        return "never"

    async def story(bench: Bench) -> None:
        async with bench.runtime() as runtime:
            running = asyncio.ensure_future(bench.thread(runtime, stay).run("one", bench.emit))
            await bench.until(ToolStarted)
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
            (before,) = await runtime.store.operations("t")
            assert before.state == "running"
            decided = await resolve(runtime.outside, runtime.owner.id, before.id, "done")
            assert (decided.state, decided.status) == ("unknown", "done")
            assert await runtime.store.operations("t") == [decided]

    play(tmp_path, [["tool:stay({})", "stop"]], story)


def test_a_call_without_effect_leaves_nothing_to_decide(tmp_path):
    async def stay() -> str:
        await asyncio.Event().wait()
        return "never"

    async def story(bench: Bench) -> None:
        async with bench.runtime() as runtime:
            look = Tool(stay, effect="read")
            running = asyncio.ensure_future(bench.thread(runtime, look).run("one", bench.emit))
            await bench.until(ToolStarted)
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
            with pytest.raises(UsageError, match=r"operation 't\.1\.1\.0' of stay has no effect: there is nothing"):
                await resolve(runtime.outside, runtime.owner.id, "t.1.1.0", "done")

    play(tmp_path, [["tool:stay({})", "stop"]], story)


def test_where_the_end_is_written_down_there_is_nothing_to_decide(tmp_path):
    stored = asyncio.Event()

    class StuckStore(SqliteStore):
        """Never gets to store a result."""

        async def append(self, lease: Lease, step: Step) -> None:
            if any(row.kind == "result" for row in step.rows):
                stored.set()
                await asyncio.Event().wait()
            await super().append(lease, step)

    async def pay() -> str:
        return "paid"

    async def story(bench: Bench) -> None:
        runtime = bench.runtime(store=StuckStore(bench.path))
        runtime.ends = Ends(tmp_path / "log.db-ends", runtime.owner.id)
        async with runtime:
            running = asyncio.ensure_future(bench.thread(runtime, pay).run("one"))
            await stored.wait()
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
            with pytest.raises(UsageError, match=r"how its call ended is written down, .* resume thread 't'"):
                await resolve(runtime.outside, runtime.owner.id, "t.1.1.0", "not_done", runtime.ends)
        async with bench.runtime() as runtime:
            assert outcome(await bench.thread(runtime, pay).resume()).outcome == "completed"
            assert bench.provider.requests[-1].holds("paid")

    play(tmp_path, [PAY, ["text:ok", "stop"]], story)


def test_a_thread_at_work_is_named_and_nothing_is_stored(tmp_path):
    runs: list[int] = []

    async def story(bench: Bench) -> None:
        pay = await lost(bench, runs)
        async with bench.runtime() as runtime, bench.runtime() as other:
            thread = bench.thread(runtime, pay)
            await thread.run("one")
            running = asyncio.ensure_future(thread.run("two"))
            await bench.provider.arrived(3)
            with pytest.raises(UsageError, match=r"thread 't' is at work in process .*; nothing was stored"):
                await resolve(other.outside, other.owner.id, "t.1.1.0", "done")
            await thread.cancel()
            await running
            assert [row.kind for row in await bench.rows(runtime)].count("resolution") == 0
            await resolve(other.outside, other.owner.id, "t.1.1.0", "done")

    play(tmp_path, [PAY, ["text:ok", "stop"], ["hang"]], story)


def test_what_is_known_or_not_there_cannot_be_decided_about_and_the_lease_goes_back(tmp_path):
    async def pay() -> str:
        return "paid"

    async def story(bench: Bench) -> None:
        async with bench.runtime() as runtime:
            await bench.thread(runtime, pay).run("one")
            with pytest.raises(
                UsageError, match=r"operation 't\.1\.1\.0' is not unknown: it returned; there is nothing"
            ):
                await resolve(runtime.outside, runtime.owner.id, "t.1.1.0", "done")
            with pytest.raises(UsageError, match=r"there is no operation 'none'; `stoic operations list --unknown`"):
                await resolve(runtime.outside, runtime.owner.id, "none", "done")
            assert (await runtime.store.load("t")).thread.owner is None

    play(tmp_path, [PAY, ["text:ok", "stop"]], story)


@pytest.mark.parametrize(
    ("decision", "again", "said"),
    [("not_done", 2, "paid"), ("done", 1, "A person says that operation t.1.1.0 of pay is done")],
)
def test_a_turn_that_was_interrupted_goes_on_by_what_the_person_decided(tmp_path, decision, again: int, said: str):
    runs: list[int] = []
    stay = asyncio.Event()

    async def pay() -> str:
        runs.append(1)
        await stay.wait()
        return "paid"

    async def story(bench: Bench) -> None:
        async with bench.runtime() as runtime:
            running = asyncio.ensure_future(bench.thread(runtime, pay).run("one", bench.emit))
            await bench.until(ToolStarted)
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
            stay.set()
            await resolve(runtime.outside, runtime.owner.id, "t.1.1.0", decision)
            assert outcome(await bench.thread(runtime, pay).resume()).outcome == "completed"
        assert len(runs) == again
        assert bench.provider.requests[-1].holds(said)

    play(tmp_path, [PAY, ["text:ok", "stop"]], story)
