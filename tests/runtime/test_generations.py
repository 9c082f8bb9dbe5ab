"""Generations and segments over real HTTP: what is summed up, left behind or switched, and what is then sent (SPEC §2, §14)."""

import asyncio
from typing import Any

import pytest
from tests.runtime.harness import Bench, outcome, play

from stoic.core.notes import SUMMARY_INSTRUCTIONS, summary
from stoic.errors import ConfigurationError, NoSuchThreadError, UsageError
from stoic.events import Compacted, CompactionFailed, CompactionStarted, FreshStarted, RoundStarted, TurnStarted
from stoic.records import Outcome, Row, ThreadRecord
from stoic.runtime.agents import Agent, Mode
from stoic.runtime.threads import Thread
from stoic.settings import Access, Settings
from stoic.tools.declaration import Tool
from stoic.wiring import Runtime

MODEL = "openai-chat:m"
ASKS = SUMMARY_INSTRUCTIONS[:40]
"""What only a request for a summary holds."""
REFUSAL = "openai.chat.content_filter_empty"
CANARY = "canary-5582"


def runtime_of(bench: Bench, *, window: int | None = None) -> Runtime:
    settings = Settings(
        database=str(bench.path),
        access={
            "openai-chat": Access(base_url=bench.provider.base_url),
            "anthropic": Access(base_url=bench.provider.base_url.removesuffix("/v1")),
        },
        context_windows_tokens={} if window is None else {MODEL: window},
    )
    return Runtime(settings=settings, clock=bench.clock)


def thread_of(runtime: Runtime, *tools: Tool, name: str = "t", **settings: Any) -> Thread:
    return runtime.thread(name, Agent(MODEL, tools=tools, permissions="allow", **settings), session="s")


def summing_up(reply: Any, *replies: Any) -> dict[str, Any]:
    """Return a script that answers requests for a summary by `reply`, and the others in order."""
    return {"rules": [{"request_contains": ASKS, "reply": reply}], "replies": list(replies), "default": ["text:ok"]}


def took(text: str, input_tokens: int, output_tokens: int = 1) -> dict[str, Any]:
    usage = {"prompt_tokens": input_tokens, "completion_tokens": output_tokens}
    return {"words": [f"text:{text}"], "usage": usage}


def texts(request: Any) -> list[str]:
    return [message["content"] for message in request.json["messages"] if message["role"] != "system"]


def is_summary(request: Any) -> bool:
    return request.holds(ASKS)


# ---- fresh start -------------------------------------------------------------------------------------------


def test_a_fresh_start_leaves_history_and_refusal_behind(tmp_path):
    script = {"rules": [{"request_contains": CANARY, "reply": REFUSAL}], "default": ["text:ok"]}

    async def story(bench: Bench) -> None:
        async with runtime_of(bench) as runtime:
            thread = thread_of(runtime)
            await thread.run("hello")
            assert outcome(await thread.run(f"a question with {CANARY}")).refused
            await thread.post("mail", {"n": 1}, text="news")
            assert await thread.resume() is None
            boundary = await thread.fresh()
            assert (boundary.state, boundary.generation) == ("begun", 2)
            assert outcome(await thread.resume()).text == "ok"
            assert texts(bench.provider.requests[-1]) == ["[event mail]\nnews"]
            rows = await bench.rows(runtime)
        fresh = next(row for row in rows if row.kind == "fresh")
        assert (fresh.segment, fresh.visible, fresh.turn) == ("t.2#1", False, 2)

    play(tmp_path, script, story)


def test_a_fresh_start_asked_for_while_a_turn_runs_is_taken_before_the_next_and_told(tmp_path):
    async def story(bench: Bench) -> None:
        async with runtime_of(bench) as runtime, runtime_of(bench) as elsewhere:
            thread = thread_of(runtime)
            running = asyncio.ensure_future(thread.run("first", bench.emit))
            await bench.until(RoundStarted)
            assert (await thread_of(elsewhere).fresh()).state == "waiting"
            assert (await thread.compact()).state == "waiting"
            bench.provider.open_gate("first")
            await running
            await thread.run("second", bench.emit)
        assert [event.generation for event in bench.events if isinstance(event, FreshStarted)] == [2]
        assert texts(bench.provider.requests[-1]) == ["second"]
        assert not any(map(is_summary, bench.provider.requests))

    play(tmp_path, [["text:one", "gate:first"], ["text:two"]], story)


def test_nothing_is_left_behind_while_a_question_waits_for_a_person(tmp_path):
    async def story(bench: Bench) -> None:
        async with bench.runtime() as runtime:
            thread = bench.thread(runtime, Tool(lambda: "put", name="put"), ask=True)
            await thread.run("go")
            assert [(await thread.fresh()).state, (await thread.compact()).state] == ["waiting", "waiting"]
            assert [row.kind for row in (await bench.rows(runtime))[-2:]] == ["question", "parked"]

    play(tmp_path, [["tool:put({})"]], story)


def test_a_thread_that_is_not_there_or_ended_by_refusal_begins_no_generation(tmp_path):
    async def story(bench: Bench) -> None:
        async with runtime_of(bench) as runtime:
            for decide in (Thread.fresh, Thread.compact):
                with pytest.raises(NoSuchThreadError):
                    await decide(thread_of(runtime))
            task = runtime.thread("task", Agent(MODEL), kind="task")
            assert outcome(await task.run("brief")).refused
            for decide in (Thread.fresh, Thread.compact):
                with pytest.raises(UsageError, match="ended by refusal and never runs again"):
                    await decide(task)

    play(tmp_path, [REFUSAL], story)


# ---- compaction that a person asked for ----------------------------------------------------------------------


def test_a_person_has_a_thread_summed_up_and_the_next_request_begins_with_that(tmp_path):
    async def story(bench: Bench) -> None:
        async with runtime_of(bench) as runtime:
            thread = thread_of(runtime)
            for number in range(3):
                await thread.run(f"question {number}")
            boundary = await thread.compact(bench.emit)
            assert (boundary.state, boundary.generation) == ("begun", 2)
            request = bench.provider.requests[-1]
            assert is_summary(request)
            assert "tools" not in request.json
            (record,) = texts(request)
            assert "USER: question 0" in record
            assert "question 2" not in record
        async with runtime_of(bench) as later:
            await thread_of(later).run("question 3")
        assert texts(bench.provider.requests[-1]) == [summary("in short"), "question 2", "ok", "question 3"]
        assert bench.kinds() == ["compaction_started", "compacted"]

    play(tmp_path, summing_up(["text:in short"]), story)


@pytest.mark.parametrize(
    ("reply", "why"),
    [(REFUSAL, "refused"), (["text:half", "finish:length"], "cut"), (["text:", "stop"], "empty"), (["eof"], "cut")],
)
def test_a_summary_that_cannot_be_used_leaves_everything_as_it_was(tmp_path, reply: Any, why: str):
    async def story(bench: Bench) -> None:
        async with runtime_of(bench) as runtime:
            thread = thread_of(runtime)
            await thread.run("question 0")
            await thread.run("question 1")
            boundary = await thread.compact(bench.emit)
            assert (boundary.state, boundary.why, boundary.generation) == ("failed", why, 1)
            assert "The history is unchanged." in boundary.message
            await thread.run("question 2")
            notices = [stored.notice.kind for stored in await runtime.store.notices()]
            remembered = await runtime.store.refused_since(0)
        assert texts(bench.provider.requests[-1]) == ["question 0", "ok", "question 1", "ok", "question 2"]
        (event,) = [event for event in bench.events if isinstance(event, CompactionFailed)]
        assert (event.why, event.cause) == (why, "person")
        assert notices == (["compaction_refused"] if why == "refused" else [])
        assert len(remembered) == (why == "refused")

    play(tmp_path, summing_up(reply), story)


def test_a_summary_waits_for_messages_that_came_before_it(tmp_path):
    async def story(bench: Bench) -> None:
        async with runtime_of(bench) as runtime:
            thread = thread_of(runtime)
            await thread.run("question 0")
            await runtime.store.put(thread._entry("message", {"text": "question 1"}))
            assert (await thread.compact()).state == "waiting"
            await thread.resume()
            await thread.run("question 2", bench.emit)
        assert [is_summary(request) for request in bench.provider.requests] == [False, False, True, False]
        assert [type(event) for event in bench.events][:3] == [CompactionStarted, Compacted, TurnStarted]

    play(tmp_path, summing_up(["text:in short"]), story)


def test_the_agents_own_summariser_may_fail_and_that_is_told(tmp_path):
    async def broken(view: object) -> str:
        raise ValueError(CANARY)

    async def story(bench: Bench) -> None:
        async with runtime_of(bench) as runtime:
            thread = thread_of(runtime, summariser=broken)
            await thread.run("question 0")
            await thread.run("question 1")
            boundary = await thread.compact()
            assert (boundary.why, "failed (ValueError)" in boundary.message) == ("failed", True)
            assert CANARY not in str(await bench.rows(runtime))

    play(tmp_path, {"default": ["text:ok"]}, story)


@pytest.mark.parametrize(("said", "summed_up"), [("in short", True), (7, False)])
def test_an_agents_own_summariser_may_be_sync_and_must_return_text(tmp_path, said: object, summed_up: bool):
    async def story(bench: Bench) -> None:
        async with runtime_of(bench) as runtime:
            thread = thread_of(runtime, summariser=lambda _: said)
            await thread.run("question 0")
            await thread.run("question 1")
            boundary = await thread.compact()
            assert ("(TypeError)" in boundary.message) is not summed_up
            assert any("in short" in str(row.content) for row in await bench.rows(runtime)) is summed_up

    play(tmp_path, {"default": ["text:ok"]}, story)


def test_a_summary_can_be_cancelled(tmp_path):
    async def story(bench: Bench) -> None:
        async with runtime_of(bench) as runtime:
            thread = thread_of(runtime)
            await thread.run("question 0")
            await thread.run("question 1")
            running = asyncio.ensure_future(thread.compact(bench.emit))
            await bench.until(CompactionStarted)
            await thread.cancel()
            assert (await running).why == "cancelled"
            assert await thread.resume() is None

    play(tmp_path, summing_up(["hang"]), story)


def test_a_compaction_of_a_process_that_died_is_made_by_the_next(tmp_path):
    async def story(bench: Bench) -> None:
        async with runtime_of(bench) as runtime:
            thread = thread_of(runtime)
            await thread.run("question 0")
            await thread.run("question 1")
            running = asyncio.ensure_future(thread.compact(bench.emit))
            await bench.until(CompactionStarted)
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
        async with runtime_of(bench) as later:
            bench.provider.open_gate("never")
            await thread_of(later).run("question 2")
            generations = [row.generation for row in await bench.rows(later) if row.kind == "message"]
        assert generations == [1, 1, 2]

    play(tmp_path, summing_up(["text:in short", "gate:never"]), story)


# ---- compaction by share -----------------------------------------------------------------------------------------


def test_a_window_that_is_nearly_full_is_compacted_unasked(tmp_path):
    async def story(bench: Bench) -> None:
        async with runtime_of(bench, window=1_000) as runtime:
            thread = thread_of(runtime)
            assert outcome(await thread.run("question 0")).text == "a"
            assert outcome(await thread.run("question 1", bench.emit)).text == "b"
            ended = outcome(await thread.run("question 2", bench.emit))
        assert [is_summary(request) for request in bench.provider.requests] == [False, False, True, False]
        assert [event.cause for event in bench.events if isinstance(event, Compacted)] == ["share"]
        assert texts(bench.provider.requests[-1]) == [summary("in short"), "question 2"]
        assert ended.usage.input_tokens == 1_000, "the summary's tokens count in the turn"

    replies = [took("a", 799), took("b", 800), took("c", 100)]
    play(tmp_path, summing_up(took("in short", 900), *replies), story)


def test_where_the_window_is_not_known_nothing_is_compacted_unasked(tmp_path):
    async def story(bench: Bench) -> None:
        async with runtime_of(bench) as runtime:
            for number in range(3):
                await thread_of(runtime).run(f"question {number}")
        assert len(bench.provider.requests) == 3

    play(tmp_path, [took("a", 10_000_000)] * 3, story)


def test_a_refused_early_summary_lets_the_turn_go_on_and_is_told_once(tmp_path):
    async def story(bench: Bench) -> None:
        async with runtime_of(bench, window=1_000) as runtime:
            thread = thread_of(runtime)
            for number in range(4):
                assert outcome(await thread.run(f"question {number}")).outcome == "completed"
            notices = [stored.notice.kind for stored in await runtime.store.notices()]
        assert sum(map(is_summary, bench.provider.requests)) == 1
        assert notices == ["compaction_refused"]

    play(tmp_path, summing_up(REFUSAL, *[took("a", 900)] * 4), story)


# ---- compaction by a request that no longer fits --------------------------------------------------------------------


FULL = {"status": 400, "body": {"error": {"message": "too long", "code": "context_length_exceeded"}}}


def test_a_refused_summary_of_what_no_longer_fits_offers_a_fresh_start(tmp_path):
    async def story(bench: Bench) -> None:
        async with runtime_of(bench) as runtime:
            thread = thread_of(runtime)
            await thread.run("question 0")
            ended = outcome(await thread.run("question 1", bench.emit))
            assert (ended.failure_class, ended.recovers_with) == ("context_length", "boundary")
            assert "stoic fresh t" in ended.message
            assert "compaction_failed" in bench.kinds()
            (stored,) = await runtime.store.notices()
            assert stored.notice.actions[0] == "stoic fresh t"
            await thread.fresh()
            assert outcome(await thread.run("question 2")).text == "ok"
        assert texts(bench.provider.requests[-1]) == ["question 2"]

    play(tmp_path, summing_up(REFUSAL, ["text:ok"], FULL), story)


def test_no_copy_and_no_summary_holds_what_was_quarantined(tmp_path):
    def look(n: int) -> str:
        return CANARY if n == 0 else "harmless"

    rules: list[Any] = [
        {"request_contains": ASKS, "reply": ["text:in short"]},
        {"request_contains": CANARY, "reply": REFUSAL},
    ]
    replies = [["text:ok"], ['tool:look({"n":0})'], ['tool:look({"n":1})'], ["text:done"]]
    script = {"rules": rules, "replies": replies, "default": ["text:ok"]}

    async def story(bench: Bench) -> None:
        async with runtime_of(bench) as runtime:
            thread = thread_of(runtime, Tool(look, effect="read"))
            await thread.run("question 0")
            assert outcome(await thread.run("question 1")).text == "done"
            first = len(bench.provider.requests)
            assert (await thread.compact()).state == "begun"
            await thread.run("question 2")
            copies = [row for row in await bench.rows(runtime) if row.kind == "kept"]
        assert CANARY not in str(copies)
        assert not any(request.holds(CANARY) for request in bench.provider.requests[first:])

    play(tmp_path, script, story)


# ---- segments: what a person switches, and what the runtime does for one turn ------------------------------------------


def modes() -> dict[str, Mode]:
    return {"plan": Mode(instructions="Only plan.", tools=["look"], permissions={"write": "deny"})}


def tools() -> tuple[Tool, Tool]:
    return Tool(lambda: "seen", name="look", effect="read"), Tool(lambda: "put", name="put")


def openings(rows: list[Row]) -> list[tuple[str, str | None]]:
    return [(row.segment, row.meta.get("shape", {}).get("mode")) for row in rows if row.kind == "message"]


def test_a_switch_of_mode_is_durable_and_opens_a_segment_and_the_way_back_resumes_the_first_shape(tmp_path):
    async def story(bench: Bench) -> None:
        async with runtime_of(bench) as runtime:
            thread = thread_of(runtime, *tools(), instructions="Be brief.", modes=modes())
            await thread.run("one")
            await thread.switch(mode="plan")
            await thread.run("two")
        async with runtime_of(bench) as later:
            thread = thread_of(later, *tools(), instructions="Be brief.", modes=modes())
            await thread.run("three")
            await thread.switch(mode="default")
            await thread.run("four")
            rows = await bench.rows(later)
        assert openings(rows) == [("t.1#1", "default"), ("t.1#2", "plan"), ("t.1#2", None), ("t.1#3", "default")]
        shapes = [row.meta["shape"] for row in rows if "shape" in row.meta]
        assert shapes[0] == shapes[2]
        systems = [request.json["messages"][0]["content"] for request in bench.provider.requests]
        assert systems == ["Be brief.", "Be brief.\n\nOnly plan.", "Be brief.\n\nOnly plan.", "Be brief."]
        offered = [[tool["function"]["name"] for tool in request.json["tools"]] for request in bench.provider.requests]
        assert offered == [["look", "put"], ["look"], ["look"], ["look", "put"]]

    play(tmp_path, {"default": ["text:ok"]}, story)


def test_a_tool_that_the_mode_has_not_is_not_run(tmp_path):
    async def story(bench: Bench) -> None:
        async with runtime_of(bench) as runtime:
            thread = thread_of(runtime, *tools(), modes=modes())
            await thread.switch(mode="plan")
            await thread.run("go")
            (result,) = [row for row in await bench.rows(runtime) if row.kind == "result"]
        assert result.content["failure"] == "unknown_tool"
        assert "mode plan does not have this tool. Tools of this mode: look." in result.content["text"]
        assert "There is no tool" not in result.content["text"]

    play(tmp_path, [["tool:put({})"], ["text:ok"]], story)


def test_a_refusal_state_comes_back_with_its_mode(tmp_path):
    script = {"rules": [{"request_contains": CANARY, "reply": REFUSAL}], "default": ["text:ok"]}

    async def story(bench: Bench) -> None:
        async with runtime_of(bench) as runtime:
            thread = thread_of(runtime, *tools(), modes=modes())
            assert outcome(await thread.run(CANARY)).refused
            await thread.switch(mode="plan")
            await thread.post("mail", {}, text="news")
            assert isinstance(await thread.resume(), Outcome), "another segment is another judge"
            await thread.switch(mode="default")
            await thread.post("mail", {}, text="more news")
            assert await thread.resume() is None, "the way back unfreezes nothing"
            await thread.fresh()
            assert isinstance(await thread.resume(), Outcome)

    play(tmp_path, script, story)


def test_every_change_by_a_person_opens_a_segment_and_is_told_apart(tmp_path):
    async def story(bench: Bench) -> None:
        async with runtime_of(bench) as runtime:
            await thread_of(runtime, instructions="a").run("one")
            await thread_of(runtime, instructions="b").run("two")
            await thread_of(runtime, *tools(), instructions="b").run("three")
            await thread_of(runtime, *tools(), instructions="b", temperature=0.5).run("four")
            await thread_of(runtime, *tools(), instructions="b", temperature=0.5).switch("anthropic:n")
            await thread_of(runtime, *tools(), instructions="b").run("five")
            rows = await bench.rows(runtime)
        assert [row.segment for row in rows if "shape" in row.meta] == [f"t.1#{number}" for number in range(1, 6)]

    play(tmp_path, {"default": ["text:ok"]}, story)


def test_what_the_runtime_does_for_one_turn_or_one_send_opens_no_segment(tmp_path):
    no_room = {
        "status": 400,
        "body": {"error": {"message": "maximum context length is 8000 tokens. However, you requested 9000 tokens (7000 in the messages)", "code": "context_length_exceeded"}},
    }  # fmt: skip
    script = [["text:ok"], {"status": 401, "body": {"error": {"message": "no", "code": "invalid_api_key"}}}, ["text:stand-in"], ["text:ok"], no_room, ["text:ok"]]  # fmt: skip

    async def story(bench: Bench) -> None:
        async with runtime_of(bench) as runtime:
            agent = Agent(MODEL, fallbacks=["anthropic:n"], permissions="allow")
            thread = runtime.thread("t", agent)
            for text in ("one", "two"):
                await thread.run(text)
            await thread.switch(MODEL)
            for text in ("three", "four"):
                await thread.run(text)
            rows = await bench.rows(runtime)
        assert {row.segment for row in rows} == {"t.1#1"}
        assert sum("shape" in row.meta for row in rows) == 1
        assert [row.kind for row in rows if row.kind in {"fallback", "attempt"}] == ["attempt", "fallback", "attempt"]

    play(tmp_path, script, story)


def test_a_switch_needs_something_that_is_there(tmp_path):
    async def story(bench: Bench) -> None:
        async with runtime_of(bench) as runtime:
            thread = thread_of(runtime, *tools(), modes=modes())
            with pytest.raises(UsageError, match="nothing to switch to"):
                await thread.switch()
            with pytest.raises(UsageError, match="no mode 'act'; this agent has default, plan"):
                await thread.switch(mode="act")
            with pytest.raises(ConfigurationError, match="no provider"):
                await thread.switch("nobody:m")
            await thread.switch(mode="plan")
            with pytest.raises(
                UsageError, match="thread 't' was switched to a mode: there is no mode 'plan'; this agent has d"
            ):
                await thread_of(runtime).run("go")
        assert bench.provider.requests == []

    play(tmp_path, {"default": ["text:ok"]}, story)


@pytest.mark.parametrize(
    ("named", "said"),
    [
        ({"default": Mode()}, "use one word other than default"),
        ({"two words": Mode()}, "use one word other than default"),
        ({"plan": Mode(tools=["nothing"])}, "has the tool 'nothing', which the agent has not; its tools are look, put"),
    ],
)
def test_a_mode_that_cannot_be_is_said_at_once(named: dict[str, Mode], said: str):
    with pytest.raises(UsageError, match=said):
        Agent(MODEL, tools=tools(), modes=named)


def test_an_effect_that_no_permission_names_still_asks_also_in_a_mode():
    modes = {"plan": Mode(permissions={"write": "deny"})}
    agent = Agent(MODEL, permissions={"write": "allow"}, modes=modes)
    assert agent.permissions == {"write": "allow", "send": "ask", "exec": "ask"}
    assert agent.in_mode("plan").permissions == {"write": "deny", "send": "ask", "exec": "ask"}
    assert (
        Agent(MODEL, permissions={}).permissions
        == Agent(MODEL).permissions
        == dict.fromkeys(("write", "send", "exec"), "ask")
    )
    assert Agent(MODEL, permissions="allow").permissions == dict.fromkeys(("write", "send", "exec"), "allow")
    assert (
        Agent(MODEL, permissions="deny", modes={"do": Mode(permissions="allow")}).in_mode("do").permissions["exec"]
        == "allow"
    )


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"wirte": "allow"}, "'wirte' is no effect; there are read, write, send, exec, poll, wait"),
        ({"write": "yes"}, "write is 'yes'; it must be one of allow, ask, deny"),
        ("yes", "write is 'yes'; it must be one of allow, ask, deny"),
    ],
)
def test_a_permission_that_cannot_be_is_said_at_once(given: Any, said: str):
    with pytest.raises(UsageError, match=said):
        Agent(MODEL, permissions=given)


def test_a_grant_is_not_given_for_what_was_left_behind(tmp_path):
    async def story(bench: Bench) -> None:
        async with bench.runtime() as runtime:
            thread = bench.thread(runtime, Tool(lambda: "same", name="look", effect="read"))
            assert outcome(await thread.run("go")).reason == "stuck_loop"
            await thread.fresh()
            with pytest.raises(UsageError, match="left its stopped turn behind"):
                await thread.allow(3)

    play(tmp_path, {"default": ["tool:look({})"]}, story)


def test_a_fork_does_not_carry_a_quarantined_body(tmp_path):
    script = {"rules": [{"request_contains": CANARY, "reply": REFUSAL}], "replies": [["tool:look({})"], ["text:ok"]]}

    async def story(bench: Bench) -> None:
        async with bench.runtime() as runtime:
            thread = bench.thread(runtime, Tool(lambda: CANARY, name="look", effect="read"))
            await thread.run("go")
            await thread.fork("u")
            assert CANARY in str(await bench.rows(runtime))
            assert CANARY not in str(await bench.rows(runtime, "u"))

    play(tmp_path, script, story)


def test_a_summary_before_the_first_turn_is_nothing(tmp_path):
    async def story(bench: Bench) -> None:
        async with bench.runtime() as runtime:
            await runtime.store.create_thread(ThreadRecord(id="t"))
            assert (await bench.thread(runtime).compact()).why == "nothing"

    play(tmp_path, [], story)
