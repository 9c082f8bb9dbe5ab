"""Corners of background work, each of which once went wrong: wakes, late answers, refused briefs, bounds, ids, deadlines."""

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.runtime.harness import Bench, play
from tests.runtime.test_worker import manual, quiet, rows_of, settings_of, until_ended

from stoic.cli.agents import CliAgents, Made
from stoic.cli.event import wake
from stoic.core.health import retry_now
from stoic.errors import UsageError
from stoic.records import InboxEntry, Lease, Outcome, Step, ThreadRecord
from stoic.runtime.agents import Agent
from stoic.runtime.worker import Worker
from stoic.store.sqlite import SqliteStore
from stoic.tools.declaration import Tool
from stoic.tools.desk import TaskSpec
from stoic.tools.task_tools import task_tools
from stoic.wiring import Runtime

UNAUTHORISED = {"status": 401, "body": {"error": {"message": "no", "code": "invalid_api_key"}}}
REFUSAL = ["text:I cannot", "finish:content_filter"]
PLAIN = Agent("openai-chat:M", name="agent")
OWNER = Agent("openai-chat:M", name="agent", tools=task_tools(), permissions="allow")


async def owned(runtime: Runtime) -> None:
    await runtime.store.create_thread(ThreadRecord(id="t", meta={"agent": "agent"}))


async def put(runtime: Runtime, kind: Any, content: Any, *, thread: str, name: str = "entry") -> None:
    await runtime.store.put(InboxEntry(id=name, thread=thread, kind=kind, content=content, created_at=0))


async def killed_at_request(runtime: Runtime, bench: Bench, number: int) -> None:
    """Run a worker and end it without any goodbye when that request has come."""
    work = asyncio.ensure_future(runtime.worker().run())
    await bench.provider.arrived(number)
    work.cancel()
    await asyncio.gather(work, return_exceptions=True)


def test_a_wake_that_was_taken_outlives_a_kill_and_one_too_many_leaves_nothing_waiting(tmp_path):
    async def story(bench: Bench) -> None:
        manual(bench)
        async with quiet(bench, PLAIN) as runtime:
            await runtime.tasks.start("go", task="job", agent="agent")
            worker = runtime.worker(on_ending=lambda _, __: worker.drain())
            await worker.run()
            for health in await runtime.store.health():
                await runtime.store.put_health(retry_now(health))
            assert await wake(runtime.store, "credential openai-chat") == ["job"]
            await killed_at_request(runtime, bench, 2)
            assert (await runtime.tasks.status("job")).state == "waiting"
        async with quiet(bench, PLAIN) as runtime:
            await put(runtime, "wake", {}, thread="job")
            await until_ended(runtime.worker(), runtime, "job")
            await put(runtime, "wake", {}, thread="job", name="another")
            await until_ended(runtime.worker(), runtime, "job")
            assert (await runtime.tasks.status("job")).state == "ended"
            assert await runtime.store.inbox("job") == []

    play(tmp_path, [UNAUTHORISED, ["hang"], ["text:ok"]], story)


def test_a_turn_waits_for_the_events_of_all_its_candidates(tmp_path):
    agent = Agent("openai-chat:M", fallbacks=["vllm:V"], name="agent")

    async def story(bench: Bench) -> None:
        manual(bench)
        access = settings_of(bench).access["openai-chat"]
        settings = msgspec.structs.replace(settings_of(bench), access={"openai-chat": access, "vllm": access})
        async with Runtime(settings=settings, clock=bench.clock, runs_tasks=False, agents=[agent]) as runtime:
            await runtime.tasks.start("go", task="job", agent="agent")
            worker = runtime.worker(on_ending=lambda _, __: worker.drain())
            await worker.run()
            (parked,) = await runtime.store.parked()
            assert parked.parked["event"] == "credential openai-chat, credential vllm"
            for health in await runtime.store.health():
                if "openai-chat" in health.route:
                    await runtime.store.put_health(retry_now(health))
            assert await wake(runtime.store, "credential openai-chat") == ["job"]
            await until_ended(runtime.worker(), runtime, "job")
            assert (await runtime.tasks.status("job")).outcome == "completed"
        assert [each.json["model"] for each in bench.provider.requests] == ["M", "V", "M"]

    play(tmp_path, [UNAUTHORISED, UNAUTHORISED, ["text:ok"]], story)


def test_a_call_is_asked_about_with_the_arguments_a_person_gave_it(tmp_path):
    paid: list[float] = []
    begun = asyncio.Event()

    async def pay(amount_usd: float) -> str:
        paid.append(amount_usd)
        begun.set()
        await asyncio.Event().wait()
        return "paid"

    def became_of(operation_id: str, amount_usd: float) -> str:
        return "done" if amount_usd in paid else "not_done"

    tool = Tool(pay, effect="send", approval=True, status=became_of)
    agent = Agent("openai-chat:M", name="agent", tools=[tool], permissions="allow")

    async def story(bench: Bench) -> None:
        manual(bench)
        async with quiet(bench, agent) as runtime:
            await runtime.thread("t", agent).run("pay")
            await runtime.thread("t", agent).answer("t.1.1.0", "pay", "once", arguments={"amount_usd": 5})
            work = asyncio.ensure_future(runtime.worker().run())
            await begun.wait()
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)
        async with quiet(bench, agent) as runtime:
            await until_ended(runtime.worker(), runtime, "t")
        assert paid == [5]

    play(tmp_path, [['tool:pay({"amount_usd": 500})'], ["text:done"]], story)


def test_an_approval_that_comes_too_late_is_none(tmp_path):
    paid: list[float] = []

    def pay(amount_usd: float) -> str:
        paid.append(amount_usd)
        return "paid"

    tool = Tool(pay, effect="send", approval=True, approval_seconds=60)
    agent = Agent("openai-chat:M", name="agent", tools=[tool], permissions="allow")

    async def story(bench: Bench) -> None:
        manual(bench)
        async with quiet(bench, agent) as runtime:
            await runtime.thread("t", agent).run("pay")
            bench.clock.advance(7200)
            await runtime.thread("t", agent).answer("t.1.1.0", "pay", "once", by="late")
            await until_ended(runtime.worker(), runtime, "t")
        assert paid == []
        assert bench.provider.requests[1].holds("Nobody decided about this call of pay in time")

    play(tmp_path, [['tool:pay({"amount_usd": 500})'], ["text:done"]], story)


@pytest.mark.parametrize("how", ["stopped before it began", "denied"])
def test_no_way_leads_round_a_refused_brief(tmp_path, how: str):
    model = "openai-chat:Child" if how == "stopped before it began" else "vllm:other"

    async def story(bench: Bench) -> None:
        manual(bench)
        access = settings_of(bench).access["openai-chat"]
        settings = msgspec.structs.replace(settings_of(bench), access={"openai-chat": access, "vllm": access})
        async with Runtime(settings=settings, clock=bench.clock, runs_tasks=False, agents=[OWNER]) as runtime:
            await owned(runtime)
            tasks = runtime.tasks

            def worker() -> Worker:
                return runtime.worker(takes=lambda record: record.id != "t")

            await tasks.start("the brief", owner="t", task="a", spec=TaskSpec(model="openai-chat:Child"))
            await until_ended(worker(), runtime, "a")
            await tasks.start("the brief", owner="t", task="b", spec=TaskSpec(model=model))
            if how == "denied":
                await until_ended(worker(), runtime, "b")
                answer = {"operation": "b.brief", "tool": "task_start", "answer": "deny", "session": "s"}
                await put(runtime, "answer", answer, thread="b")
            else:
                await put(runtime, "cancel", {}, thread="b")
            await until_ended(worker(), runtime, "b")
            first = await tasks.status("b")
            assert (first.outcome, first.reason) == (("stopped", "human") if how == "denied" else ("cancelled", None))
            await tasks.message("b", "go on", owner="t")
            await until_ended(worker(), runtime, "b")
            assert (await tasks.status("b")).outcome == "stopped"
        assert len(bench.provider.requests) == 1

    play(tmp_path, {"rules": [{"request_contains": "the brief", "reply": REFUSAL}], "replies": []}, story)


def test_a_nested_task_has_no_more_than_its_owner(tmp_path):
    def danger(x: int) -> str:
        return str(x)

    agent = Agent(
        "openai-chat:M", name="agent", tools=[*task_tools(), Tool(danger, effect="read")], permissions="allow"
    )

    async def story(bench: Bench) -> None:
        manual(bench)
        async with quiet(bench, agent) as runtime:
            await owned(runtime)
            await runtime.tasks.start("x", owner="t", task="p", spec=TaskSpec(tools=["task_start"], max_rounds=2))
            with pytest.raises(UsageError, match="no tool 'danger' to give"):
                await runtime.tasks.start("x", owner="p", spec=TaskSpec(tools=["danger"]))
            await runtime.tasks.start("x", owner="p", task="c", spec=TaskSpec(max_rounds=1000))
            (nested,) = await runtime.store.tasks(owner="p")
            assert nested.meta["spec"] == {"tools": ["task_start"], "max_rounds": 2}
        (tmp_path / "w" / "sub" / "inner").mkdir(parents=True)
        made = Made(models=["openai-chat:M"], workspace=str(tmp_path / "w"), permission="allow")
        runtime = Runtime(settings=settings_of(bench), clock=bench.clock, runs_tasks=False, agents=CliAgents(made))
        async with runtime:
            await runtime.store.create_thread(ThreadRecord(id="u", meta={"agent": "stoic"} | made.meta()))
            await runtime.tasks.start("x", owner="u", task="p2", spec=TaskSpec(workspace="sub"))
            for outside in ("../other", str(tmp_path)):
                with pytest.raises(UsageError, match="within the owner's"):
                    await runtime.tasks.start("x", owner="p2", spec=TaskSpec(workspace=outside))
            await runtime.tasks.start("x", owner="p2", task="c2", spec=TaskSpec(workspace="inner"))
            (inner,) = await runtime.store.tasks(owner="p2")
            assert Path(inner.meta["spec"]["workspace"]) == Path("sub/inner")

    play(tmp_path, [], story)


def test_a_model_that_cannot_be_asked_is_said_when_the_task_is_started(tmp_path):
    async def story(bench: Bench) -> None:
        manual(bench)
        async with quiet(bench, OWNER) as runtime:
            await runtime.thread("t", OWNER).run("go")
            (result,) = await rows_of(runtime, "t", "result")
            assert "there is no provider 'opnai'" in result.content["text"]
            assert await runtime.store.tasks() == []

    play(tmp_path, [['tool:task_start({"brief": "x", "model": "opnai:gpt"})'], ["text:a typo"]], story)


def test_the_id_of_a_deleted_task_can_be_used_again(tmp_path):
    async def story(bench: Bench) -> None:
        manual(bench)
        async with quiet(bench, OWNER) as runtime:
            await owned(runtime)
            for answer in ("one", "two"):
                await runtime.tasks.start(answer, owner="t", task="job")
                await until_ended(runtime.worker(takes=lambda record: record.id == "job"), runtime, "job")
                assert (await runtime.tasks.status("job")).text == answer
                await runtime.store.delete_thread("job", bench.clock.now_ms())
            assert len(await runtime.store.inbox("t")) == 2

    play(tmp_path, [["text:one"], ["text:two"]], story)


def test_whatever_an_agent_source_raises_is_told_and_not_tried_without_end(tmp_path):
    asked: list[str] = []

    def source(record: ThreadRecord) -> Agent:
        asked.append(record.id)
        if record.id == "good":
            return PLAIN
        raise ValueError("boom")

    async def story(bench: Bench) -> None:
        manual(bench)
        runtime = Runtime(settings=settings_of(bench), clock=bench.clock, runs_tasks=False, agents=source)
        async with runtime:
            for name in ("bad", "good"):
                await runtime.store.create_thread(ThreadRecord(id=name, created_at=len(name)))
                await put(runtime, "message", {"text": "hi"}, thread=name, name=name)
            worker = runtime.worker(on_ending=lambda _, __: worker.drain())
            await worker.run()
            assert worker.troubles == {"bad": "ValueError: boom"}
            assert asked.count("bad") <= 2

    play(tmp_path, [["text:hi"]], story)


def test_a_task_that_cannot_go_on_is_settled_also_when_an_event_comes_first(tmp_path):
    async def story(bench: Bench) -> None:
        manual(bench)
        workspace = tmp_path / "w"
        workspace.mkdir()
        made = Made(models=["openai-chat:M"], workspace=str(workspace), permission="allow")
        runtime = Runtime(settings=settings_of(bench), clock=bench.clock, runs_tasks=False, agents=CliAgents(made))
        async with runtime:
            meta = {"agent": "stoic", "owner": "o", "root": "o"} | made.meta()
            await runtime.store.create_thread(ThreadRecord(id="job", kind="chat", scope="worker", meta=meta))
            await put(runtime, "event", {"kind": "mail", "text": "x", "payload": {}}, thread="job")
            workspace.rmdir()
            await until_ended(runtime.worker(), runtime, "job")
            assert (await runtime.tasks.status("job")).failure_class == "interrupted"
            assert len(await runtime.store.deliveries()) == 1

    play(tmp_path, [], story)


def test_the_time_of_a_turn_is_over_also_while_it_waits_for_a_person(tmp_path):
    def write(x: int) -> str:
        return str(x)

    agent = Agent("openai-chat:M", name="agent", tools=[Tool(write, effect="write")])

    async def story(bench: Bench) -> None:
        manual(bench)
        async with quiet(bench, agent) as runtime:
            await runtime.tasks.start("x", task="job", agent="agent", spec=TaskSpec(max_seconds=60))
            worker = runtime.worker(on_ending=lambda _, __: worker.drain())
            await worker.run()
            assert [each.notice.kind for each in await runtime.store.notices()] == ["approval_wanted"]
            assert await runtime.store.next_wake_ms(0) == bench.clock.now_ms() + 60_000
            bench.clock.advance(60)
            worker = runtime.worker(on_ending=lambda _, __: worker.drain())
            await worker.run()
            status = await runtime.tasks.status("job")
            assert (status.state, status.outcome, status.reason) == ("ended", "stopped", "budget")

    play(tmp_path, [['tool:write({"x": 1})']], story)


class CancellingStore(SqliteStore):
    """A store that says when a turn is about to be stored as parked."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.parks = asyncio.Event()
        self.goes_on = asyncio.Event()

    async def append(self, lease: Lease, step: Step) -> None:
        """Store a step; one that parks a turn waits until the test lets it."""
        if any(row.kind == "parked" for row in step.rows) and not self.parks.is_set():
            self.parks.set()
            await self.goes_on.wait()
        await super().append(lease, step)


def test_a_stop_that_comes_while_a_turn_is_being_parked_is_not_lost(tmp_path):
    async def story(bench: Bench) -> None:
        manual(bench)
        store = CancellingStore(bench.path)
        runtime = Runtime(settings=settings_of(bench), clock=bench.clock, store=store, runs_tasks=False, agents=[OWNER])
        async with runtime:
            await owned(runtime)
            await runtime.tasks.start("x", owner="t", task="job")
            worker = runtime.worker(
                takes=lambda record: record.id == "job",
                on_ending=lambda _, ending: isinstance(ending, Outcome) and worker.drain(),
            )
            work = asyncio.ensure_future(worker.run())
            await store.parks.wait()
            assert runtime.cancel("job")
            store.goes_on.set()
            await work
            assert (await runtime.tasks.status("job")).outcome == "cancelled"

    play(tmp_path, [['tool:task_start({"brief": "y"})'], ['tool:task_wait({"tasks": ["job.1.1.0"]})']], story)


def test_a_stop_that_comes_as_a_task_ends_leaves_nothing_to_wait_for(tmp_path):
    async def story(bench: Bench) -> None:
        async with quiet(bench, OWNER) as runtime:
            await owned(runtime)
            await runtime.tasks.start("x", owner="t", task="job")
            await until_ended(runtime.worker(), runtime, "job")
            # Another process had looked at the task before it ended.
            await put(runtime, "cancel", {}, thread="job")
            await until_ended(runtime.worker(), runtime, "job")
            assert await runtime.store.inbox("job") == []
            assert await runtime.tasks.open_under("t") == []
            assert (await runtime.tasks.status("job")).outcome == "completed"

    play(tmp_path, [["text:Done."], ["text:I heard."]], story)
