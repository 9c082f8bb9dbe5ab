"""Status functions in a whole runtime: after a timeout, a cancel and a crash, and in later turns until they know."""

import asyncio
import threading

from tests.runtime.harness import Bench, outcome, play

from stoic.tools import OperationId, tool

PAY = ['tool:pay({"to": "ada", "cents": 5})', "stop"]
OK = ["text:ok", "stop"]


def test_a_payment_that_took_longer_than_it_may_is_asked_about_at_once(tmp_path):
    paid: list[str] = []

    def was_paid(operation: str, to: str, cents: int) -> str:
        return "done" if f"{to} {cents}" in paid else "not_done"

    @tool(effect="send", status=was_paid, timeout_seconds=0.05)
    async def pay(to: str, cents: int) -> str:
        paid.append(f"{to} {cents}")
        await asyncio.Event().wait()
        return "never"

    async def story(bench: Bench) -> None:
        async with bench.runtime() as runtime:
            await bench.thread(runtime, pay).run("pay")
            (operation,) = await runtime.store.operations("t")
            assert (operation.state, operation.status) == ("unknown", "done")
        assert bench.provider.requests[-1].holds("says that operation t.1.1.0 of pay is done. Do not repeat it.")

    play(tmp_path, [PAY, OK], story)


def test_not_done_counts_for_nothing_while_the_call_still_runs_in_its_thread(tmp_path):
    paid: list[str] = []
    go, gone = threading.Event(), threading.Event()

    def was_paid(operation: str, to: str, cents: int) -> str:
        return "done" if paid else "not_done"

    @tool(effect="send", status=was_paid, timeout_seconds=0.05)
    def pay(to: str, cents: int) -> str:
        go.wait()
        paid.append(to)
        gone.set()
        return "paid"

    async def story(bench: Bench) -> None:
        async with bench.runtime() as runtime:
            thread = bench.thread(runtime, pay)
            await thread.run("pay")
            assert bench.provider.requests[1].holds("Effect unknown: operation t.1.1.0 of pay")
            (row,) = [row for row in await bench.rows(runtime) if row.kind == "status"]
            assert row.content["trouble"] == "answered not_done while the call itself still runs"
            go.set()
            await asyncio.to_thread(gone.wait)
            await thread.run("well?")
            assert bench.provider.requests[2].holds("operation t.1.1.0 of pay is done; do not repeat it")
        assert paid == ["ada"]

    play(tmp_path, [PAY, OK, OK], story)


def test_a_payment_under_a_key_is_not_made_again_while_its_status_function_raises(tmp_path):
    paid: list[str] = []
    is_down = [True]
    begun = asyncio.Event()

    def was_paid(operation_id: str, to: str, cents: int) -> str:
        if is_down:
            raise ConnectionError("the bank is down")
        return "done" if operation_id in paid else "not_done"

    @tool(effect="send", status=was_paid)
    async def pay(to: str, cents: int, key: OperationId) -> str:
        paid.append(key)
        begun.set()
        await asyncio.Event().wait()
        return "never"

    async def story(bench: Bench) -> None:
        async with bench.runtime() as runtime:
            running = asyncio.ensure_future(bench.thread(runtime, pay).run("one"))
            await begun.wait()
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
        async with bench.runtime() as runtime:
            thread = bench.thread(runtime, pay)
            assert outcome(await thread.resume()).outcome == "completed"
            assert bench.provider.requests[-1].holds("Effect unknown: operation t.1.1.0 of pay")
            rows = [row.content for row in await bench.rows(runtime) if row.kind == "status"]
            assert [each["trouble"] for each in rows] == ["raised ConnectionError"]
            is_down.clear()
            await thread.run("and now?")
            assert bench.provider.requests[-1].holds("operation t.1.1.0 of pay is done; do not repeat it")
        assert paid == ["t.1.1.0"]

    play(tmp_path, [PAY, OK, OK], story)


def test_a_cancelled_payment_is_asked_about_before_the_turn_ends(tmp_path):
    paid: list[str] = []
    begun = asyncio.Event()

    async def was_paid(operation: str, **arguments: object) -> str:
        return "done" if paid else "not_done"

    @tool(effect="send", status=was_paid)
    async def pay(to: str, cents: int) -> str:
        paid.append(to)
        begun.set()
        await asyncio.Event().wait()
        return "never"

    async def story(bench: Bench) -> None:
        async with bench.runtime() as runtime:
            thread = bench.thread(runtime, pay)
            running = asyncio.ensure_future(thread.run("one"))
            await begun.wait()
            await thread.cancel()
            assert outcome(await running).outcome == "cancelled"
            (operation,) = await runtime.store.operations("t")
            assert (operation.state, operation.status) == ("unknown", "done")

    play(tmp_path, [PAY], story)
