"""A worker over real HTTP and a real file: what it runs, what it leaves alone, and what it does once."""

import asyncio

import msgspec
from tests.runtime.harness import Bench, outcome, play

from stoic.cli.agents import CliAgents, Made
from stoic.core.health import retry_now
from stoic.records import InboxEntry, Parked, Receipt, Row, Schedule
from stoic.runtime.agents import Agent
from stoic.runtime.schedules import fire_due
from stoic.runtime.worker import Worker
from stoic.testing import FakeClock
from stoic.tools.declaration import Tool
from stoic.tools.shell_tools import background_shell_tools
from stoic.tools.task_tools import task_tools
from stoic.tools.workspace import Workspace
from stoic.wiring import Runtime


def manual(bench: Bench) -> None:
    bench.clock = FakeClock()


def settings_of(bench: Bench):
    return bench.runtime()._settings  # pyright: ignore[reportPrivateUsage] - the same file and provider


def quiet(bench: Bench, *agents: Agent) -> Runtime:
    """Return a runtime that runs nothing by itself and knows these agents."""
    return Runtime(settings=settings_of(bench), clock=bench.clock, runs_tasks=False, agents=agents)


async def until_ended(worker: Worker, runtime: Runtime, *threads: str) -> None:
    """Run a worker until nothing is open on these threads."""
    changes = runtime.store.changes()
    work = asyncio.ensure_future(worker.run())
    while any(each.thread.id in threads for each in await runtime.store.work(0)):
        await anext(changes)
    worker.drain()
    await work


async def rows_of(runtime: Runtime, thread: str, kind: str) -> list[Row]:
    return [row for row in (await runtime.store.load(thread)).rows if row.kind == kind]


def test_an_approval_waits_across_restarts_and_the_model_is_told_who_decided_what(tmp_path):
    paid: list[tuple[float, str]] = []

    def pay(amount_usd: float, to: str) -> str:
        paid.append((amount_usd, to))
        return "paid"

    agent = Agent(
        "openai-chat:M", tools=[Tool(pay, effect="send", approval=True, approval_seconds=60)], permissions="allow"
    )

    async def story(bench: Bench) -> None:
        manual(bench)
        async with quiet(bench, agent) as runtime:
            parked = await runtime.thread("t", agent).run("pay ada")
            assert isinstance(parked, Parked)
            (question,) = parked.questions
            assert question.expires_at_ms == bench.clock.now_ms() + 60_000
            assert question.allowed_answers == ["once", "deny"]
        async with quiet(bench, agent) as runtime:
            (waiting,) = await runtime.store.parked()
            assert waiting.parked["questions"][0]["operation"] == "t.1.1.0"
            (notice,) = await runtime.store.notices()
            assert notice.notice.actions[0] == "stoic approvals allow t.1.1.0"
            await runtime.thread("t", agent).answer(
                "t.1.1.0", "pay", "once", by="cli:ada", arguments={"amount_usd": 5, "to": "ada"}
            )
            await until_ended(runtime.worker(), runtime, "t")
            assert paid == [(5, "ada")]
            assert bench.provider.requests[1].holds('[approval] {\\"decision\\":\\"allowed\\",\\"by\\":\\"cli:ada\\"')
            assert bench.provider.requests[1].holds(
                '\\"arguments_used\\":{\\"amount_usd\\":5,\\"to\\":\\"ada\\"}}\\npaid'
            )
            thread = runtime.thread("t", agent)
            assert isinstance(await thread.run("again"), Parked)
            await thread.answer("t.2.1.0", "pay", "deny", by="cli:ada", reason="too much")
            assert outcome(await thread.resume()).text == "I see"
            assert bench.provider.requests[3].holds('\\"reason\\":\\"too much\\"')
            assert isinstance(await thread.run("and again"), Parked)
            bench.clock.advance(60)
            await until_ended(runtime.worker(), runtime, "t")
            assert bench.provider.requests[5].holds("Nobody decided about this call of pay in time")
        assert paid == [(5, "ada")]

    call = 'tool:pay({"amount_usd": 500, "to": "ada"})'
    play(tmp_path, [[call], ["text:done"], [call], ["text:I see"], [call], ["text:a pity"]], story)


def test_a_task_whose_key_is_not_accepted_waits_for_the_event_and_goes_on_once(tmp_path):
    agent = Agent("openai-chat:M", name="agent")

    async def story(bench: Bench) -> None:
        manual(bench)
        async with quiet(bench, agent) as runtime:
            await runtime.tasks.start("go", task="job", agent="agent")
            worker = runtime.worker(on_ending=lambda _, __: worker.drain())
            await worker.run()
            (parked,) = await runtime.store.parked()
            assert parked.parked == {"waits_for": "event", "event": "credential openai-chat"}
            assert [each.notice.kind for each in await runtime.store.notices()] == ["route_closed"]
            await until_ended(runtime.worker(), runtime, "job")
            assert len(bench.provider.requests) == 1, "nothing is sent before the event"
            for health in await runtime.store.health():
                await runtime.store.put_health(retry_now(health))
            await runtime.store.put(InboxEntry(id="w", thread="job", kind="wake", content={}, created_at=0))
            await until_ended(runtime.worker(), runtime, "job")
            (status,) = await runtime.tasks.of()
            assert (status.outcome, status.failure_class, status.state) == ("failed", "auth", "ended")
            assert len(bench.provider.requests) == 2, "at most one wait a turn"

    bad = {"status": 401, "body": {"error": {"message": "no", "code": "invalid_api_key"}}}
    play(tmp_path, [bad, bad], story)


def test_the_end_of_a_task_ends_its_background_shells(tmp_path):
    (tmp_path / "w").mkdir()
    tools = background_shell_tools(Workspace(tmp_path / "w"))
    agent = Agent("openai-chat:M", tools=tools, permissions="allow", name="agent")

    async def story(bench: Bench) -> None:
        manual(bench)
        async with quiet(bench, agent) as runtime:
            await runtime.tasks.start("go", task="job", agent="agent")
            await until_ended(runtime.worker(), runtime, "job")
            assert runtime.shells is not None
            assert [each.state for each in runtime.shells.of("job")] == ["stopped"]
            (stored,) = await runtime.store.deliveries(task="job")
            assert msgspec.convert(stored.delivery.receipt, Receipt).shells == []

    play(tmp_path, [['tool:shell_start({"command": "sleep 600"})'], ["text:done"]], story)


def test_a_task_that_cannot_go_on_is_settled_and_delivered_once(tmp_path):
    workspace = tmp_path / "w"
    workspace.mkdir()

    async def story(bench: Bench) -> None:
        manual(bench)
        made = Made(models=["openai-chat:M"], workspace=str(workspace), permission="allow")
        runtime = Runtime(settings=settings_of(bench), clock=bench.clock, runs_tasks=False, agents=CliAgents(made))
        async with runtime:
            meta = made.meta()
            await runtime.tasks.start("go", task="job", agent="stoic", meta=meta)
            workspace.rmdir()
            await until_ended(runtime.worker(), runtime, "job")
            (status,) = await runtime.tasks.of()
            assert (status.outcome, status.failure_class, status.delivery) == ("failed", "interrupted", "failed")
            assert len(await runtime.store.deliveries()) == 1
        assert bench.provider.requests == []

    play(tmp_path, [], story)


def test_a_schedule_that_is_due_is_entered_and_run_and_missed_runs_are_one(tmp_path):
    agent = Agent("openai-chat:M", name="agent")

    async def story(bench: Bench) -> None:
        manual(bench)
        async with quiet(bench, agent) as runtime:
            await runtime.thread("t", agent).run("hello")
            schedule = Schedule(
                id="s",
                thread="t",
                expression="every hour",
                cron="0 * * * *",
                zone="UTC",
                prompt="What is new?",
                created_at=bench.clock.now_ms(),
                next_due_at=bench.clock.now_ms() + 60_000,
            )
            await runtime.store.put_schedule(schedule)
            bench.clock.advance(5 * 3600)
            worker = runtime.worker(on_ending=lambda _, __: worker.drain())
            await worker.run()
            (event,) = await rows_of(runtime, "t", "event")
            assert (event.content["kind"], event.content["missed"]) == ("schedule", 5)
            assert await fire_due(runtime.store, bench.clock) is not None
            assert await runtime.store.inbox("t") == []
        assert len(bench.provider.requests) == 2

    play(tmp_path, [["text:hello"], ["text:nothing"]], story)


def test_after_a_turn_memories_are_made_of_it(tmp_path):
    texts: list[str] = []

    async def extractor(text: str) -> list[str]:
        texts.append(text)
        return ["Ada likes tea."]

    agent = Agent("openai-chat:M", name="ada's", extractor=extractor)

    async def story(bench: Bench) -> None:
        manual(bench)
        async with quiet(bench, agent) as runtime:
            await runtime.thread("t", agent).run("I am Ada and like tea.")
            (memory,) = await runtime.store.recall("ada's", "tea", 5)
            assert memory.text == "Ada likes tea."
        (text,) = texts
        assert "I am Ada and like tea." in text
        assert "noted" in text

    play(tmp_path, [["text:noted"]], story)


def test_threads_of_other_programs_and_without_a_key_are_left_alone(tmp_path):
    known, foreign = Agent("openai-chat:M", name="known"), Agent("openai-chat:M", name="foreign")
    keyless = Agent("anthropic:x", name="keyless")

    async def story(bench: Bench) -> None:
        manual(bench)
        async with quiet(bench, known, foreign, keyless) as runtime:
            for name in ("known", "foreign", "keyless"):
                await runtime.tasks.start("go", task=name, agent=name)
        async with quiet(bench, known, keyless) as runtime:
            worker = runtime.worker(on_ending=lambda _, __: worker.drain())
            await worker.run()
            states = {each.task: each.state for each in await runtime.tasks.of()}
            assert states == {"known": "ended", "foreign": "waiting", "keyless": "waiting"}
            assert "ANTHROPIC_API_KEY" in worker.troubles["keyless"]
        assert len(bench.provider.requests) == 1

    play(tmp_path, [["text:done"]], story)


def test_an_unknown_write_of_a_task_is_not_repeated_by_its_owner(tmp_path):
    ran: list[str] = []

    async def ship(what: str) -> str:
        ran.append(what)
        raise TimeoutError

    agent = Agent("openai-chat:M", tools=[Tool(ship, effect="send"), *task_tools()], permissions="allow", name="agent")

    async def story(bench: Bench) -> None:
        manual(bench)
        async with quiet(bench, agent) as runtime:
            await runtime.thread("t", agent).run("go")
            await until_ended(runtime.worker(), runtime, "t", "t.1.1.0")
            results = [row.content["text"] for row in await rows_of(runtime, "t", "result")]
            assert "operation t.1.1.0.1.1.0 was the same call of ship" in results[-1]
        assert ran == ["disk"]

    ship_it = 'tool:ship({"what": "disk"})'
    script = [
        ["M", 'tool:task_start({"brief": "ship a disk", "model": "openai-chat:Child"})'],
        ["M", 'tool:task_wait({"tasks": ["t.1.1.0"]})'],
        ["Child", ship_it],
        ["Child", "text:unknown"],
        ["M", ship_it],
        ["M", "text:unknown it stays"],
    ]
    play(tmp_path, script, story)


def test_a_person_is_told_of_each_turn_that_fails_where_nobody_watches(tmp_path):
    agent = Agent("openai-chat:M")

    async def story(bench: Bench) -> None:
        async with quiet(bench, agent) as runtime:
            thread = runtime.thread("t", agent)
            for number in (1, 2):
                await thread.post("schedule", {"prompt": "canary-51cc"})
                await until_ended(runtime.worker(), runtime, "t")
                assert len(await rows_of(runtime, "t", "outcome")) == number
            assert outcome(await thread.run("and now")).outcome == "failed"
            told = [each.notice for each in reversed(await runtime.store.notices())]
        assert [each.key for each in told] == ["turn_ended:t:1", "turn_ended:t:2"]
        assert "failed (invalid_request), with openai-chat:M" in told[0].text
        assert "canary" not in repr(told)

    wrong = {"status": 400, "body": {"error": {"message": "no canary-51cc", "type": "invalid_request_error"}}}
    play(tmp_path, {"replies": [], "default": wrong}, story)
