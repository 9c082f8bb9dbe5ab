"""Tasks over real HTTP: delivered once, awaited without cost, ended for good by a refusal, bounded (SPEC §12, §17.5, §17.6)."""

import asyncio
import json
from typing import Any

import msgspec
import pytest
from tests.runtime.harness import Bench, outcome, play

from stoic.core.notes import START_ANEW
from stoic.errors import UsageError
from stoic.events import OutcomeReached
from stoic.records import InboxEntry, Operation, Parked, Receipt, Row, Step, ThreadRecord
from stoic.runtime.agents import Agent
from stoic.runtime.threads import Thread
from stoic.testing import FakeClock
from stoic.tools.desk import TaskSpec
from stoic.tools.shell_tools import background_shell_tools
from stoic.tools.task_tools import task_tools
from stoic.tools.workspace import Workspace
from stoic.wiring import Runtime

CHILD = "openai-chat:Child"
TASK = "t.1.1.0"
CANARY = "KANARIENVOGEL-7"


def call(tool: str, **arguments: Any) -> str:
    return f"tool:{tool}({json.dumps(arguments)})"


def start(brief: str = "count the files", **more: Any) -> str:
    return call("task_start", brief=brief, model=CHILD, **more)


def wait(*tasks: str, **more: Any) -> str:
    return call("task_wait", tasks=list(tasks or (TASK,)), **more)


def owner(bench: Bench, runtime: Runtime, *tools: Any, name: str = "t") -> Thread:
    agent = Agent("openai-chat:M", instructions="Be brief.", tools=[*task_tools(), *tools], permissions="allow")
    return runtime.thread(name, agent, session="s")


def to(bench: Bench, model: str) -> list[str]:
    """Return the bodies of the requests that asked for a model."""
    bodies = [msgspec.json.decode(request.body) for request in bench.provider.requests]
    return [json.dumps(body) for body in bodies if body["model"] == model]


async def receipts(runtime: Runtime, **of: str) -> list[Receipt]:
    return [msgspec.convert(each.delivery.receipt, Receipt) for each in await runtime.store.deliveries(**of)]


async def events(runtime: Runtime, thread: str = "t") -> list[Row]:
    return [row for row in (await runtime.store.load(thread)).rows if row.kind == "event"]


async def events_of(runtime: Runtime, thread: str, kind: str) -> list[Row]:
    return [row for row in (await runtime.store.load(thread)).rows if row.kind == kind]


def manual(bench: Bench) -> None:
    bench.clock = FakeClock()


# ---- a result, and waiting for it -------------------------------------------------------------------


def test_a_result_is_delivered_once_and_wakes_an_owner_that_waits(tmp_path):
    async def story(bench: Bench) -> None:
        manual(bench)
        async with bench.runtime() as runtime:
            changes = runtime.store.changes()
            running = asyncio.ensure_future(owner(bench, runtime).run("go", bench.emit))
            while not await runtime.store.parked():
                await anext(changes)
            bench.provider.open_gate("parked")
            ending = outcome(await running)
            assert ending.text == "the task says 7"
            (event,) = await events(runtime)
            assert event.content["payload"]["text"] == "there are 7"
            assert event.content["task_thread"] == TASK
            (receipt,) = await receipts(runtime, owner="t")
            assert (receipt.status, receipt.outcome, receipt.text) == ("delivered", "completed", "there are 7")
            (status,) = await runtime.tasks.of("t")
            assert (status.state, status.delivery, status.turns) == ("ended", "delivered", 1)
            parks = [row for row in await bench.rows(runtime) if row.kind == "parked"]
            assert [row.content["tasks"] for row in parks] == [[TASK]]
        assert len(to(bench, "M")) == 3
        assert to(bench, "M")[2].count("there are 7") == 1
        assert "count the files" in to(bench, "Child")[0]
        endings = [each.outcome for each in bench.events if isinstance(each, OutcomeReached)]
        assert endings == ["completed"]

    child = ["Child", "gate:parked", "text:there are 7"]
    play(tmp_path, [["M", start()], ["M", wait()], child, ["M", "text:the task says 7"]], story)


def test_a_result_that_comes_after_the_owners_turn_opens_its_next_one(tmp_path):
    async def story(bench: Bench) -> None:
        manual(bench)
        async with bench.runtime() as runtime:
            thread = owner(bench, runtime)
            assert outcome(await thread.run("go")).text == "started"
            await runtime.tasks.wait([TASK])
            assert outcome(await thread.resume()).text == "so it is 7"
            assert await thread.resume() is None

    play(tmp_path, [["M", start()], ["M", "text:started"], ["Child", "text:7"], ["M", "text:so it is 7"]], story)


def test_a_task_that_nobody_runs_is_run_by_the_next_process_and_delivered_once(tmp_path):
    async def story(bench: Bench) -> None:
        manual(bench)
        settings = bench.runtime()._settings  # pyright: ignore[reportPrivateUsage] - the same file and provider
        async with Runtime(settings=settings, clock=bench.clock, runs_tasks=False) as first:
            ending = await owner(bench, first).run("go")
            assert isinstance(ending, Parked)
            assert (ending.waits_for, ending.tasks) == ("task", [TASK])
        assert to(bench, "Child") == []
        agent = owner(bench, first).agent
        async with Runtime(settings=settings, clock=bench.clock, agents=[agent]) as second:
            worker = second.worker(on_ending=lambda thread, _: thread == "t" and worker.drain())
            await worker.run()
            rows = await bench.rows(second)
            assert rows[-1].content["text"] == "7 it is"
            assert len(await events(second)) == len(await receipts(second)) == 1

    play(tmp_path, [["M", start()], ["M", wait()], ["Child", "text:7"], ["M", "text:7 it is"]], story)


def test_a_wait_ends_at_its_time_and_any_of_several_is_enough(tmp_path):
    async def story(bench: Bench) -> None:
        manual(bench)
        async with bench.runtime() as runtime:
            running = asyncio.ensure_future(owner(bench, runtime).run("go"))
            changes = runtime.store.changes()
            while not any(each.parked["tasks"] == [TASK] for each in await runtime.store.parked()):
                await anext(changes)
            bench.clock.advance(61)
            ending = outcome(await running)
            assert ending.text == "enough"
            bench.provider.open_gate("slow")
            results = [row.content["text"] for row in await bench.rows(runtime) if row.kind == "result"]
            assert msgspec.json.decode(results[-2])["ended"][0]["task"] == "t.1.1.1"
            assert msgspec.json.decode(results[-1])["timed_out"] is True

    script = [
        ["M", start("slow one"), start("quick one").replace("Child", "Quick")],
        ["Child", "gate:slow", "text:late"],
        ["Quick", "text:soon"],
        ["M", wait(TASK, "t.1.1.1", until="any")],
        ["M", wait(TASK, timeout_seconds=60)],
        ["M", "text:enough"],
    ]
    play(tmp_path, script, story)


def test_a_message_to_a_task_is_answered_in_a_turn_of_its_own_that_can_be_waited_for(tmp_path):
    async def story(bench: Bench) -> None:
        manual(bench)
        async with bench.runtime() as runtime:
            assert outcome(await owner(bench, runtime).run("go")).text == "thanks"
            assert [each.text for each in reversed(await receipts(runtime))] == ["one", "two"]
            assert [row.content["payload"]["turn"] for row in await events(runtime)] == [1, 2]

    script = [
        ["M", start()],
        ["Child", "text:one"],
        ["M", wait()],
        ["M", call("task_message", task=TASK, text="and now?", wait=True)],
        ["Child", "text:two"],
        ["M", "text:thanks"],
    ]
    play(tmp_path, script, story)


def test_an_owner_that_is_gone_gets_nothing_and_the_receipt_stays(tmp_path):
    async def story(bench: Bench) -> None:
        manual(bench)
        async with bench.runtime() as runtime:
            await owner(bench, runtime).run("go")
            await runtime.store.delete_thread("t", bench.clock.now_ms())
            bench.provider.open_gate("gone")
            await runtime.tasks.wait([TASK])
            (stored,) = await runtime.store.deliveries(task=TASK)
            assert not stored.reached

    play(tmp_path, [["M", start()], ["Child", "gate:gone", "text:7"], ["M", "text:bye"]], story)


def test_tasks_are_bounded_in_depth_and_number_and_wrong_use_is_one_line(tmp_path):
    async def story(bench: Bench) -> None:
        manual(bench)
        settings = bench.runtime()._settings  # pyright: ignore[reportPrivateUsage] - the same file and provider
        async with Runtime(settings=settings, clock=bench.clock, runs_tasks=False) as runtime:
            owner(bench, runtime)
            await runtime.store.create_thread(ThreadRecord(id="t", meta={"agent": "agent"}))
            tasks = runtime.tasks
            for above, task in (("t", "a"), ("a", "b"), ("b", "c")):
                await tasks.start("dig", owner=above, task=task)
            with pytest.raises(UsageError, match="3 owners above it"):
                await tasks.start("dig", owner="c")
            for wrong, match in (
                (tasks.start(" ", owner="t"), "brief is empty"),
                (tasks.start("x", owner="nobody"), "no thread 'nobody'"),
                (tasks.start("x", owner="t", spec=TaskSpec(tools=["fly"])), "no tool 'fly'"),
                (tasks.start("x", owner="t", spec=TaskSpec(max_rounds=0)), "max_rounds is 0"),
                (tasks.start("x", owner="t", spec=TaskSpec(workspace="w")), "no workspace"),
                (tasks.start("x", agent="who"), "'who' is not known"),
                (tasks.message("a", ""), "message is empty"),
                (tasks.status("zz"), "no task 'zz'"),
                (tasks.status("b", owner="t"), "no task 'b' of yours; those there are: a"),
            ):
                with pytest.raises(UsageError, match=match):
                    await wrong
            assert [each.task for each in await tasks.of()] == ["a", "b", "c"]

    play(tmp_path, [], story)


def test_a_task_differs_from_its_owner_as_its_spec_says(tmp_path):
    async def story(bench: Bench) -> None:
        manual(bench)
        async with bench.runtime() as runtime:
            thread = owner(bench, runtime)
            await thread.run("go")
            (status,) = await runtime.tasks.wait([TASK])
            assert (status.outcome, status.reason) == ("stopped", "budget")
        (body,) = [msgspec.json.decode(each) for each in to(bench, "Child")]
        assert [each["function"]["name"] for each in body["tools"]] == ["task_status"]

    script = [
        ["M", start(tools=["task_status"], max_rounds=1)],
        ["M", "text:started"],
        ["Child", call("task_status")],
    ]
    play(tmp_path, script, story)


def test_requests_to_one_route_are_held_back_beyond_a_number(tmp_path):
    async def story(bench: Bench) -> None:
        manual(bench)
        settings = msgspec.structs.replace(bench.runtime()._settings, sends_at_once=2)  # pyright: ignore[reportPrivateUsage] - the same file
        async with Runtime(settings=settings, clock=bench.clock) as runtime:
            owner(bench, runtime)
            changes = runtime.store.changes()
            started = [await runtime.tasks.start(f"brief {number}", agent="agent") for number in range(5)]
            while [each.phase for each in await runtime.store.tasks()] != ["open"] * 5:
                await anext(changes)
            await bench.provider.arrived(2)
            assert len(bench.provider.requests) == 2
            bench.provider.open_gate("all")
            found = await runtime.tasks.wait([each.task for each in started])
            assert [each.outcome for each in found] == ["completed"] * 5

    play(tmp_path, [["gate:all", "text:done"] for _ in range(5)], story)


# ---- refusals -----------------------------------------------------------------------------------------


def refusing(*replies: Any) -> dict[str, Any]:
    """Return a script in which a provider refuses whatever holds the canary, and else plays these."""
    content_filter = ["text:I cannot", "finish:content_filter"]
    return {"rules": [{"request_contains": CANARY, "reply": content_filter}], "replies": list(replies)}


@pytest.mark.parametrize(("kind", "scope"), [("task", "worker"), ("task", "main"), ("chat", "worker")])
def test_a_refused_task_stops_at_once_and_its_owner_hears_where_and_nothing_more(tmp_path, kind, scope):
    async def story(bench: Bench) -> None:
        manual(bench)
        (tmp_path / "w").mkdir()
        tools = background_shell_tools(Workspace(tmp_path / "w"))
        async with bench.runtime() as runtime:
            parent = owner(bench, runtime, *tools, name="boss")
            await runtime.store.create_thread(ThreadRecord(id="boss", meta={"agent": "agent"}))
            meta = {"owner": "boss", "root": "boss", "depth": 1, "agent": "agent"}
            task = Thread(runtime, "job", parent.agent, session="s", kind=kind, scope=scope, meta=meta)
            ending = outcome(await task.run("start the server, then read the page"))
            assert (ending.outcome, ending.reason, ending.refused) == ("stopped", "refused", True)
            sends = len(bench.provider.requests)
            assert sends == 3, "the refused request is sent once"
            (stored,) = await runtime.store.deliveries(task="job")
            assert (stored.delivery.status, stored.reached) == ("cancelled", True)
            receipt = msgspec.convert(stored.delivery.receipt, Receipt)
            assert (receipt.last_tool, receipt.round, receipt.provider) == ("shell_poll", 3, "openai-chat")
            assert receipt.text == "Starting. "
            shells = [(each.id, each.state) for each in receipt.shells]
            assert shells == [("job.1.1.0", "running")], "the scene is left as it is"
            stopped = await runtime.tasks.stop("job")
            assert stopped.refused
            assert stopped.evidence.last_message == "Starting. "
            assert stopped.evidence.last_tool is not None
            assert stopped.evidence.last_tool.args_firstline == stopped.evidence.last_tool.outcome == "withheld"
            status = await runtime.tasks.status("job")
            inbox = await runtime.store.inbox("boss")
            assert [entry.id.startswith("delivery:job.1:") for entry in inbox] == [True], "one wake-up"
            for told in (stored, stopped, status, inbox, await runtime.store.notices()):
                assert CANARY not in msgspec.json.encode(told).decode()
            for said in (stopped.note, status.note, receipt.note):
                assert START_ANEW in said
            bench.provider.requests.clear()
            assert outcome(await parent.resume()).text == "noted"
            assert CANARY not in bench.provider.requests[0].body.decode()
            assert runtime.shells is not None
            assert [each.state for each in runtime.shells.of("job")] == ["running"]
            runtime.shells.close("job")

    script = refusing(
        ["text:Starting. ", call("shell_start", command="printf 'KANARIEN%s' VOGEL-7; exec sleep 600")],
        ['tool:shell_poll({"shell": "job.1.1.0", "wait_seconds": 30})'],
        ["text:noted"],
    )
    play(tmp_path, script, story)


async def _tombstoned(bench: Bench, runtime: Runtime) -> None:
    """Make a task that ended by refusal, by hand as another version may have left it: in flight, not delivered."""
    store, ids = runtime.store, runtime.ids
    meta = {"owner": "t", "root": "t", "depth": 1, "agent": "agent", "brief": "b"}
    await store.create_thread(ThreadRecord(id="t", meta={"agent": "agent"}))
    await store.create_thread(ThreadRecord(id="job", kind="task", scope="worker", meta=meta))
    lease = await store.acquire("job", runtime.owner.id, bench.clock.now_ms())
    common = {"thread": "job", "generation": 1, "segment": "job.1#1", "turn": 1, "created_at": bench.clock.now_ms()}
    parts = [{"type": "call", "name": "task_status", "arguments": "{}", "provider_id": "x"}]
    stop = {"provider": "openai-chat", "model": "child", "category": "cyber", "round": 2, "brief": "b", "root": "t"}
    rows = [
        Row(id=ids.new(), seq=1, round=0, role="user", kind="message", content={"text": "go"}, visible=True, **common),  # pyright: ignore[reportArgumentType] - fields of Row
        Row(
            id=ids.new(),
            seq=2,
            round=1,
            role="assistant",
            kind="reply",
            content={"parts": parts},
            visible=True,
            accepted=True,
            meta={"provider": "openai-chat", "model": "Child"},
            **common,  # pyright: ignore[reportArgumentType] - fields of Row
        ),
        Row(id=ids.new(), seq=3, round=2, role="system", kind="refusal_stop", content=stop, **common),  # pyright: ignore[reportArgumentType] - fields of Row
    ]
    await store.append(lease, Step(rows=rows, accept_upto=2))
    operation = Operation(
        id="job.1.1.0",
        thread="job",
        turn=1,
        round=1,
        index=0,
        tool="task_status",
        effect="write",
        arguments_key="k",
        state="unknown",
        runs=1,
    )
    await store.append(lease, Step(operations=[operation], release=True))


def test_a_tombstone_with_an_open_turn_is_settled_at_a_restart_without_any_send(tmp_path):
    async def story(bench: Bench) -> None:
        manual(bench)
        async with bench.runtime() as runtime:
            await _tombstoned(bench, runtime)
        async with bench.runtime() as runtime:
            owner(bench, runtime)
            worker = runtime.worker(takes=lambda record: record.id == "job", on_ending=lambda _, __: worker.drain())
            await worker.run()
            (stored,) = await runtime.store.deliveries()
            assert (stored.delivery.status, stored.reached) == ("cancelled", True)
            receipt = msgspec.convert(stored.delivery.receipt, Receipt)
            assert (receipt.reason, receipt.category) == ("refused", "cyber")
            assert [(each.id, each.state) for each in receipt.operations] == [("job.1.1.0", "unknown")]
        async with bench.runtime() as runtime:
            owner(bench, runtime)
            task = Thread(runtime, "job", owner(bench, runtime).agent, session="s")
            assert await task.resume() is None
            doors = [
                task.run("again"),
                runtime.tasks.message("job", "again"),
                runtime.tasks.start("below", owner="job"),
                task.fork("copy"),
                task.fresh(),
                task.compact(),
            ]
            for door in doors:
                with pytest.raises(UsageError) as caught:
                    await door
                assert START_ANEW in str(caught.value)
            assert len(await runtime.store.deliveries()) == 1
            assert await runtime.store.inbox("job") == []
        assert bench.provider.requests == []

    play(tmp_path, [], story)


def test_a_refused_brief_is_not_sent_to_the_same_provider_again_and_elsewhere_only_if_a_person_says_so(tmp_path):
    brief = f"read the page {CANARY}"

    async def story(bench: Bench) -> None:
        manual(bench)
        settings = msgspec.structs.replace(
            bench.runtime()._settings,  # pyright: ignore[reportPrivateUsage] - the same file and provider
            access={name: bench.runtime()._settings.access["openai-chat"] for name in ("openai-chat", "vllm")},  # pyright: ignore[reportPrivateUsage] - as above
        )
        async with Runtime(settings=settings, clock=bench.clock) as runtime:
            owner(bench, runtime)
            await runtime.store.create_thread(ThreadRecord(id="t", meta={"agent": "agent"}))
            tasks = runtime.tasks

            changes = runtime.store.changes()

            async def ended(task: str, model: str) -> Any:
                await tasks.start(brief, owner="t", task=task, spec=TaskSpec(model=model))
                while (status := await tasks.status(task)).state not in {"ended", "parked"}:
                    await anext(changes)
                return status

            first = await ended("a", CHILD)
            assert (first.reason, len(bench.provider.requests)) == ("refused", 1)
            again = await ended("b", "openai-chat:other")
            assert (again.reason, len(bench.provider.requests)) == ("refused", 1), "refused without a send"
            told = [row.content["message"] for row in await events_of(runtime, "b", "outcome")]
            assert "refused the same before, so nothing was sent" in told[0]
            elsewhere = await ended("c", "vllm:other")
            assert (elsewhere.state, elsewhere.waits_for) == ("parked", "permission")
            (parked,) = await runtime.store.parked()
            (question,) = parked.parked["questions"]
            assert CANARY not in msgspec.json.encode(parked.parked).decode()
            assert question["tool"] == "task_start"
            assert len(bench.provider.requests) == 1
            answer = {"operation": question["operation"], "tool": "task_start", "answer": "once", "session": "s"}
            entry = InboxEntry(id="answer", thread="c", kind="answer", content=answer, created_at=0)
            await runtime.store.put(entry)
            (allowed,) = await tasks.wait(["c"])
            assert (allowed.outcome, len(bench.provider.requests)) == ("completed", 2)

    content_filter = ["text:I cannot", "finish:content_filter"]
    script = {"rules": [{"request_contains": '"Child"', "reply": content_filter}], "replies": [["text:read"]]}
    play(tmp_path, script, story)


def test_an_owner_of_a_task_that_failed_is_told_so(tmp_path):
    async def story(bench: Bench) -> None:
        manual(bench)
        async with bench.runtime() as runtime:
            await owner(bench, runtime).run("go")
            (receipt,) = await receipts(runtime)
            assert (receipt.status, receipt.failure_class) == ("failed", "invalid_request")
            (event,) = await events(runtime)
            assert "delivery: failed" in event.content["text"]

    bad = {"status": 400, "body": {"error": {"message": "no", "type": "invalid_request_error"}}}
    script = {
        "rules": [{"request_contains": '"Child"', "reply": bad}],
        "replies": [["M", start()], ["M", wait()], ["M", "text:it failed"]],
    }
    play(tmp_path, script, story)


def test_a_stop_ends_a_running_task_and_tells_what_it_was_at(tmp_path):
    async def story(bench: Bench) -> None:
        manual(bench)
        async with bench.runtime() as runtime:
            thread = owner(bench, runtime)
            await thread.run("go")
            await bench.provider.arrived(4)
            stopped = await runtime.tasks.stop(TASK, owner="t")
            assert (stopped.stopped, stopped.refused, stopped.state) == (True, False, "ended")
            assert stopped.evidence.last_message == "Looking. "
            assert stopped.evidence.last_tool is not None
            tool = stopped.evidence.last_tool
            assert (tool.tool, tool.args_firstline, tool.outcome) == ("task_status", "{}", "returned")
            (receipt,) = await receipts(runtime)
            assert (receipt.status, receipt.outcome) == ("cancelled", "cancelled")
            assert not (await runtime.tasks.stop(TASK)).stopped

    script = [
        ["M", start()],
        ["M", "text:started"],
        ["Child", "text:Looking. ", call("task_status")],
        ["Child", "hang"],
    ]
    play(tmp_path, script, story)
