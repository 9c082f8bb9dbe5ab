"""Turns over real HTTP and a real file: events, retries, cancels, queues."""

import asyncio
import os
import threading

import pytest
from tests.runtime.harness import Bench, SignallingClock, outcome, play

from stoic.errors import StoreError, UsageError
from stoic.events import LeaseAwaited, Retrying, RoundRolledBack, TextDelta, ToolStarted, TurnStarted
from stoic.records import Parked
from stoic.testing import RecordedRequest
from stoic.tools.declaration import Tool

HALF = ["text:Half of", "cut"]


def test_a_retried_round_is_rolled_back_before_it_is_sent_again(tmp_path):
    async def story(bench: Bench) -> None:
        async with bench.runtime() as runtime:
            ended = outcome(await bench.thread(runtime).run("go", bench.emit))
        assert ended.text == "Whole."
        assert bench.clock.sleeps == [1, 2]
        failed = ["round_started", "text_delta", "attempt_failed", "round_rolled_back", "retrying"]
        assert bench.kinds() == [
            "turn_started", *failed, *failed, "round_started", "text_delta", "round_ended", "outcome",
        ]  # fmt: skip
        assert [event.round for event in bench.events if isinstance(event, RoundRolledBack)] == [1, 1]

    play(tmp_path, [HALF, HALF, ["text:Whole.", "stop"]], story)


def test_the_events_of_send_are_those_of_run_and_end_with_the_outcome(tmp_path):
    async def story(bench: Bench) -> None:
        async with bench.runtime() as runtime:
            sent = [event async for event in bench.thread(runtime, name="one").send("go")]
            await bench.thread(runtime, name="two").run("go", bench.emit)
        assert [type(event) for event in sent] == [type(event) for event in bench.events]
        assert "".join(event.text for event in sent if isinstance(event, TextDelta)) == "A longer answer of words."

    play(tmp_path, {"replies": [], "default": ["text:A longer answer of words.", "stop"]}, story)


def test_a_turn_runs_to_its_end_when_nobody_listens_any_more(tmp_path):
    async def story(bench: Bench) -> None:
        async with bench.runtime() as runtime:
            thread = bench.thread(runtime)
            async for event in thread.send("go"):
                assert isinstance(event, TurnStarted)
                break
            bench.provider.open_gate("late")
            assert outcome(await thread.run("and then")).turn == 2
            rows = await bench.rows(runtime)
        assert [row.turn for row in rows if row.kind == "outcome"] == [1, 2]

    play(tmp_path, [["text:One", "gate:late", "stop"], ["text:Two", "stop"]], story)


def test_a_message_whose_events_nobody_reads_is_answered_all_the_same(tmp_path):
    async def story(bench: Bench) -> None:
        async with bench.runtime() as runtime:
            thread = bench.thread(runtime)
            thread.send("go")
            _ = [event async for event in thread.send("and then")]
            rows = await bench.rows(runtime)
        assert [row.content["text"] for row in rows if row.role == "user"] == ["go", "and then"]

    play(tmp_path, [["text:One", "stop"], ["text:Two", "stop"]], story)


def test_a_thread_gives_its_log_to_a_program(tmp_path):
    async def story(bench: Bench) -> None:
        async with bench.runtime() as runtime:
            thread = bench.thread(runtime)
            with pytest.raises(StoreError, match="thread t"):
                await thread.rows()
            await thread.run("go")
            assert [(row.seq, row.kind) for row in await thread.rows()] == [
                (1, "message"),
                (2, "reply"),
                (3, "outcome"),
            ]

    play(tmp_path, [["text:One", "stop"]], story)


def test_what_goes_wrong_with_a_message_is_raised_where_its_events_are_read(tmp_path):
    async def story(bench: Bench) -> None:
        async with bench.runtime() as runtime:
            with pytest.raises(UsageError, match="the message is empty"):
                _ = [event async for event in bench.thread(runtime).send(" ")]

    play(tmp_path, [], story)


def test_a_cancel_during_a_send_takes_back_what_was_shown_and_leaves_the_connection(tmp_path):
    async def story(bench: Bench) -> None:
        async with bench.runtime() as runtime:
            thread = bench.thread(runtime)
            running = asyncio.ensure_future(thread.run("go", bench.emit))
            await bench.until(TextDelta)
            await thread.cancel()
            assert outcome(await running).outcome == "cancelled"
            await bench.provider.answered(1)
            assert bench.provider.requests[0].left_early
            assert bench.kinds()[-2:] == ["round_rolled_back", "outcome"]
            assert outcome(await thread.run("again")).text == "Here."

    play(tmp_path, [["text:Half", "hang"], ["text:Here.", "stop"]], story)


def test_a_cancel_during_a_wait_for_a_retry_ends_the_turn_without_another_send(tmp_path):
    async def story(bench: Bench) -> None:
        clock = SignallingClock()
        async with bench.runtime(clock) as runtime:
            thread = bench.thread(runtime)
            running = asyncio.ensure_future(thread.run("go", bench.emit))
            await clock.asleep.wait()
            await thread.cancel()
            assert outcome(await running).outcome == "cancelled"
        assert any(isinstance(event, Retrying) for event in bench.events)
        assert len(bench.provider.requests) == 1

    play(tmp_path, ["wire:openai-503-overloaded"], story)


@pytest.mark.parametrize(
    ("effect", "state", "said"), [("read", "raised", "has no result"), ("write", "unknown", "Effect unknown")]
)
def test_a_cancel_during_a_tool_gives_its_call_a_result(tmp_path, effect: str, state: str, said: str):
    ended: list[str] = []

    async def wait_long() -> str:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("ended")
        return "never"

    async def story(bench: Bench) -> None:
        async with bench.runtime() as runtime:
            thread = bench.thread(runtime, Tool(wait_long, effect=effect))  # pyright: ignore[reportArgumentType] - parametrised
            running = asyncio.ensure_future(thread.run("go", bench.emit))
            await bench.until(ToolStarted)
            await thread.cancel()
            assert outcome(await running).outcome == "cancelled"
            assert ended == ["ended"]
            (operation,) = await runtime.store.operations("t")
            assert operation.state == state
            assert outcome(await thread.run("what happened?")).text == "Stopped."
        assert bench.provider.requests[1].holds(said)

    play(tmp_path, [["tool:wait_long({})", "stop"], ["text:Stopped.", "stop"]], story)


def test_a_cancel_from_another_process_stops_the_turn(tmp_path):
    async def story(bench: Bench) -> None:
        async with bench.runtime() as runtime, bench.runtime() as other:
            running = asyncio.ensure_future(bench.thread(runtime).run("go", bench.emit))
            await bench.until(TextDelta)
            await bench.thread(other).cancel()
            assert outcome(await running).outcome == "cancelled"
            assert await runtime.store.inbox("t") == []

    play(tmp_path, [["text:Half", "hang"]], story)


def test_a_cancel_with_nothing_running_does_not_stop_the_next_turn(tmp_path):
    async def story(bench: Bench) -> None:
        async with bench.runtime() as runtime:
            await bench.thread(runtime).cancel()
            assert outcome(await bench.thread(runtime).run("go")).outcome == "completed"
            assert await runtime.store.inbox("t") == []

    play(tmp_path, [["text:Here.", "stop"]], story)


def test_a_second_process_waits_for_the_lease_and_then_gets_its_own_turn(tmp_path):
    async def story(bench: Bench) -> None:
        async with bench.runtime() as runtime, bench.runtime() as other:
            first = asyncio.ensure_future(bench.thread(runtime).run("first", bench.emit))
            await bench.until(TextDelta)
            second = asyncio.ensure_future(bench.thread(other).run("second", bench.emit))
            await bench.until(LeaseAwaited)
            assert len(await other.store.inbox("t")) == 1
            assert not second.done()
            bench.provider.open_gate("on")
            assert [outcome(each).text for each in await asyncio.gather(first, second)] == ["One.", "Two."]
        assert bench.provider.requests[1].holds("One.")
        waited = [event for event in bench.events if isinstance(event, LeaseAwaited)]
        assert [(event.thread, event.pid) for event in waited] == [("t", os.getpid())]

    play(tmp_path, [["text:One", "gate:on", "text:.", "stop"], ["text:Two.", "stop"]], story)


def echo(request: RecordedRequest) -> list[str]:
    """Answer with the words of the newest user message."""
    return [f"text:You said {request.json['messages'][-1]['content']}", "stop"]


def test_messages_sent_at_once_are_answered_in_order_each_with_its_own_answer(tmp_path):
    async def story(bench: Bench) -> None:
        async with bench.runtime() as runtime:
            thread = bench.thread(runtime)
            texts = [f"message {number}" for number in range(5)]
            endings = await asyncio.gather(*(thread.run(text) for text in texts))
            rows = await bench.rows(runtime)
        assert [outcome(ending).text for ending in endings] == [f"You said {text}" for text in texts]
        assert [row.content["text"] for row in rows if row.kind == "message"] == texts

    play(tmp_path, echo, story)


def test_threads_do_not_wait_for_each_other(tmp_path):
    async def story(bench: Bench) -> None:
        async with bench.runtime() as runtime:
            slow = asyncio.ensure_future(bench.thread(runtime, name="slow").run("go"))
            await bench.provider.arrived(1)
            assert outcome(await bench.thread(runtime, name="quick").run("go")).text == "Quick."
            assert not slow.done()
            bench.provider.open_gate("slow")
            assert outcome(await slow).text == "Slow."

    play(tmp_path, [["gate:slow", "text:Slow.", "stop"], ["text:Quick.", "stop"]], story)


def test_a_question_parks_the_turn_and_an_answer_lets_another_process_go_on(tmp_path):
    ran: list[int] = []

    async def pay(amount: int) -> str:
        ran.append(amount)
        return "paid"

    async def story(bench: Bench) -> None:
        async with bench.runtime() as runtime:
            parked = await bench.thread(runtime, pay, ask=True).run("go", bench.emit)
        assert isinstance(parked, Parked)
        assert bench.kinds()[-2:] == ["permission_asked", "outcome"]
        assert ran == []
        (question,) = parked.questions
        async with bench.runtime() as later:
            thread = bench.thread(later, pay, ask=True)
            await thread.answer(question.operation, question.tool, "once")
            assert outcome(await thread.resume()).text == "Done."
        assert ran == [7]

    play(tmp_path, [['tool:pay({"amount":7})', "stop"], ["text:Done.", "stop"]], story)


def test_two_reads_of_one_reply_really_run_at_the_same_time(tmp_path):
    arrived = [asyncio.Event(), asyncio.Event()]

    async def look(number: int) -> str:
        arrived[number].set()
        await arrived[1 - number].wait()
        return f"seen {number}"

    async def story(bench: Bench) -> None:
        async with bench.runtime() as runtime:
            assert outcome(await bench.thread(runtime, Tool(look, effect="read")).run("go")).text == "Both."
        results = [message["content"] for message in bench.provider.requests[1].json["messages"][-2:]]
        assert results == ["seen 0", "seen 1"]

    play(tmp_path, [['tool:look({"number":0})', 'tool:look({"number":1})', "stop"], ["text:Both.", "stop"]], story)


def test_sync_tools_run_beside_each_other_and_beside_the_loop(tmp_path):
    barrier = threading.Barrier(2, timeout=10)

    def look(number: int) -> str:
        barrier.wait()
        return f"seen {number}"

    async def story(bench: Bench) -> None:
        async with bench.runtime() as runtime:
            assert outcome(await bench.thread(runtime, Tool(look, effect="read")).run("go")).text == "Both."
        assert bench.provider.requests[1].holds("seen 0")
        assert bench.provider.requests[1].holds("seen 1")

    play(tmp_path, [['tool:look({"number":0})', 'tool:look({"number":1})', "stop"], ["text:Both.", "stop"]], story)


def test_writes_of_one_reply_run_one_after_the_other(tmp_path):
    running: list[int] = []
    most: list[int] = []

    async def put(number: int) -> None:
        running.append(number)
        most.append(len(running))
        await asyncio.to_thread(threading.Event().wait, 0.01)
        running.remove(number)

    async def story(bench: Bench) -> None:
        async with bench.runtime() as runtime:
            await bench.thread(runtime, put).run("go")
        assert most == [1, 1, 1]

    calls = [f'tool:put({{"number":{number}}})' for number in range(3)]
    play(tmp_path, [[*calls, "stop"], ["text:Done.", "stop"]], story)


async def forever() -> str:
    await asyncio.Event().wait()
    return "never"


async def lose_connection() -> str:
    raise ConnectionResetError("the peer is gone")


async def stay_outside() -> str:
    raise ConnectionRefusedError("nobody listens")


async def fail() -> str:
    raise ValueError("no such invoice")


@pytest.mark.parametrize(
    ("function", "effect", "state", "failure", "said"),
    [
        (forever, "read", "raised", "tool_timeout", "TimeoutError"),
        (forever, "write", "unknown", "tool_timeout", "Effect unknown"),
        (lose_connection, "send", "unknown", "tool_error", "Effect unknown"),
        (lose_connection, "read", "raised", "tool_error", "the peer is gone"),
        (stay_outside, "send", "raised", "tool_error", "nobody listens"),
        (fail, "write", "raised", "tool_error", "ValueError: no such invoice"),
    ],
)
def test_how_a_tool_ends_is_told_to_the_model_and_kept_in_the_journal(tmp_path, function, effect, state, failure, said):
    async def story(bench: Bench) -> None:
        tool = Tool(function, name="act", effect=effect, timeout_seconds=0.05)
        async with bench.runtime() as runtime:
            assert outcome(await bench.thread(runtime, tool).run("go")).outcome == "completed"
            (operation,) = await runtime.store.operations("t")
            result = next(row for row in await bench.rows(runtime) if row.kind == "result")
        assert (operation.state, operation.runs) == (state, 1)
        assert result.content["failure"] == failure
        assert bench.provider.requests[1].holds(said)
        assert not bench.provider.requests[1].holds("Traceback")

    play(tmp_path, [["tool:act({})", "stop"], ["text:Done.", "stop"]], story)


def test_an_unknown_write_is_not_repeated_by_an_equal_call_but_by_another_one(tmp_path):
    async def act(number: int) -> str:
        ran.append(number)
        raise ConnectionResetError("the peer is gone")

    ran: list[int] = []

    async def story(bench: Bench) -> None:
        async with bench.runtime() as runtime:
            await bench.thread(runtime, act).run("go")
        assert ran == [1, 2]
        assert bench.provider.requests[2].holds("Not run: operation t.1.1.0")

    first, other = 'tool:act({"number":1})', 'tool:act({"number":2})'
    play(tmp_path, [[first, "stop"], ['tool:act({ "number": 1.0 })', other, "stop"], ["text:Done.", "stop"]], story)


def test_an_equal_call_of_the_same_reply_is_not_run_after_the_first_ended_unknown(tmp_path):
    async def act(number: int) -> str:
        ran.append(number)
        raise ConnectionResetError("the peer is gone")

    ran: list[int] = []

    async def story(bench: Bench) -> None:
        async with bench.runtime() as runtime:
            await bench.thread(runtime, act).run("go")
        assert ran == [1]
        assert bench.provider.requests[1].holds("Not run: operation t.1.1.0")

    play(tmp_path, [['tool:act({"number":1})', 'tool:act({"number":1})', "stop"], ["text:Done.", "stop"]], story)
