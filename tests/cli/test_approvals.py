"""`stoic approvals`: what waits for a person is listed whole, and the answer is what runs and what the model is told."""

import asyncio
import getpass
import json
import time

import pytest
from tests.cli.background import Up, inside, reach, start_task

from stoic.errors import UsageError
from stoic.records import InboxEntry
from stoic.runtime.agents import Agent
from stoic.store.sqlite import SqliteStore
from stoic.testing import FakeClock, ScriptedProvider
from stoic.tools.declaration import APPROVAL_SECONDS, tool
from stoic.wiring import Runtime

WRITE = 'tool:write_file({"path":"a.txt","content":"one\\ntwo\\u001b[31m"})'
SHELL = 'tool:shell({"command":"echo hi >> ran"})'


def approvals(bench) -> list[dict]:
    return [json.loads(line) for line in inside(bench, "approvals", "list", "--json").stdout.splitlines()]


def test_an_edited_call_runs_as_edited_and_the_model_is_told_who_decided_what(bench):
    script = {
        "rules": [
            {"request_contains": "job-that-writes", "reply": [WRITE], "times": 1},
            {"request_contains": "job-that-runs", "reply": [SHELL], "times": 1},
            {"request_contains": "job-that-repeats", "reply": [SHELL], "times": 2},
        ],
        "default": ["text:fine"],
    }
    with ScriptedProvider(script) as provider:
        reach(bench, provider)
        start_task(bench, "job-that-writes", task="w")
        start_task(bench, "job-that-runs", task="r")
        start_task(bench, "job-that-repeats", task="s")
        with Up(bench) as up:
            waits = "is parked: it waits for a person to decide about"
            assert up.wait_for("^w · turn 1 ") == f"w · turn 1 {waits} write_file (w.1.1.0)"
            up.wait_for("^r · turn 1 is parked")
            up.wait_for("^s · turn 1 is parked")
            listed = bench.stoic("approvals", "list").stdout
            assert "w.1.1.0  write_file (write) · thread w · asked 20" in listed
            assert "\n  path = a.txt\n  content = one\n    two\\x1b[31m\n" in listed
            assert "\n  stoic approvals allow w.1.1.0 [--edit JSON] [--session]\n" in listed
            known = approvals(bench)[0]
            assert json.loads(known["arguments"])["content"] == "one\ntwo\x1b[31m"
            assert (known["operation"], known["thread"], known["allowed_answers"], known["expires_at"]) == (
                "w.1.1.0", "w", ["once", "session", "deny"], None,
            )  # fmt: skip
            for arguments, said in (
                (["allow", "w.1.1.0", "--edit", "[1]"], "--edit is no JSON object"),
                (["allow", "w.1.1.0", "--edit", "{"], "--edit is not JSON"),
                (["allow", "w.1.1.0", "--edit", '{"path": "b"}'], "--edit lacks 'content', which the call has"),
                (
                    ["allow", "w.1.1.0", "--edit", '{"path": 1, "content": "x"}'],
                    "--edit gives 'path' as number; in the call it is string",
                ),
                (["allow", "w.1.1.9"], "no operation 'w.1.1.9' waits for a person; did you mean w.1.1.0"),
                (
                    ["deny", "xyzzy"],
                    "no operation 'xyzzy' waits for a person; those that wait: w.1.1.0, r.1.1.0, s.1.1.0",
                ),
            ):
                done = inside(bench, "approvals", *arguments)
                assert (done.returncode, done.stdout, said in done.stderr) == (2, "", True)
            edited = json.dumps({"path": "b.txt", "content": "mine"})
            allowed = bench.stoic("approvals", "allow", "w.1.1.0", "--edit", edited)
            goes_on = "`stoic up` or `stoic resume w` goes on"
            assert allowed.stdout == f"w.1.1.0 of write_file is allowed once, with your arguments; {goes_on}\n"
            up.wait_for("^w · turn 1 completed")
            denied = bench.stoic("approvals", "deny", "r.1.1.0", "--reason", "not on a Friday")
            assert denied.returncode == 0
            up.wait_for("^r · turn 1 completed")
            inside(bench, "approvals", "allow", "s.1.1.0", "--session")
            up.wait_for("^s · turn 1 completed")  # its second call of the tool was not asked about
            assert up.drain() == 0
        assert (bench.workspace / "b.txt").read_text() == "mine"
        assert (bench.workspace / "ran").read_text() == "hi\nhi\n"
        assert not (bench.workspace / "a.txt").exists()
        results = [
            each.json["messages"][-1]["content"]
            for each in provider.requests
            if each.json["messages"][-1]["role"] == "tool"
        ]
        by = f"cli:{getpass.getuser()}"
        assert [json.loads(each.splitlines()[0].removeprefix("[approval] ")) for each in results[:2]] == [
            {"decision": "allowed", "by": by, "arguments_used": {"path": "b.txt", "content": "mine"}},
            {"decision": "denied", "by": by, "reason": "not on a Friday"},
        ]
        shown = inside(bench, "show", "w").stdout
        assert f'a person ({by}) answered once for w.1.1.0, with {{"path":"b.txt","content":"mine"}}' in shown
        assert f"a person ({by}) answered deny for r.1.1.0, since: not on a Friday" in inside(bench, "show", "r").stdout
    assert inside(bench, "approvals", "list").stdout == "nothing waits for a person's approval\n"
    assert not inside(bench, "approvals", "list", "--json").stdout


def test_what_only_a_person_may_decide_is_asked_call_by_call_until_its_time_is_over(bench):
    @tool(effect="send", approval=True)
    def pay(amount: int) -> str:
        """Pay an amount.

        Args:
            amount: in cents
        """
        return f"paid {amount}"

    clock = FakeClock(time.time_ns() // 1_000_000 - 2 * APPROVAL_SECONDS * 1000)

    async def park(provider) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("OPENAI_BASE_URL", provider.base_url)
            async with Runtime(str(bench.database), clock=clock) as runtime:
                thread = runtime.thread("t", Agent("openai-chat:m", tools=[pay]))
                await thread.run("pay")
                with pytest.raises(UsageError, match="must be one JSON object, not list"):
                    await thread.answer("t.1.1.0", "pay", "once", arguments=[1])
                with pytest.raises(UsageError, match="cannot be denied with other arguments"):
                    await thread.answer("t.1.1.0", "pay", "deny", arguments={"amount": 1})

    with ScriptedProvider([['tool:pay({"amount":5})']]) as provider:
        asyncio.run(park(provider))
    (known,) = approvals(bench)
    assert (known["allowed_answers"], known["expires_at"]) == (
        ["once", "deny"],
        known["asked_at"] + APPROVAL_SECONDS * 1000,
    )
    for_the_session = inside(bench, "approvals", "allow", "t.1.1.0", "--session")
    assert for_the_session.stderr.endswith("is decided about call by call; leave --session out\n")
    assert " · its time was over 20" in inside(bench, "approvals", "list").stdout
    late = inside(bench, "approvals", "allow", "t.1.1.0")
    assert (late.returncode, "could be allowed until" in late.stderr) == (2, True)
    assert inside(bench, "approvals", "deny", "t.1.1.0").returncode == 0
    twice = inside(bench, "approvals", "deny", "t.1.1.0")
    assert twice.stderr == (
        "stoic: operation 't.1.1.0' is answered already (deny); `stoic up` or `stoic resume t` goes on; none waits\n"
    )
    assert "t.1.1.0 of pay is answered (deny)" in inside(bench, "approvals", "list").stdout

    async def entries() -> list[InboxEntry]:
        store = SqliteStore(bench.database)
        await store.open()
        found = await store.inbox("t")
        await store.close()
        return found

    (entry,) = asyncio.run(entries())
    assert entry.content == {
        "operation": "t.1.1.0", "tool": "pay", "answer": "deny", "session": "stoic up", "by": f"cli:{getpass.getuser()}",
    }  # fmt: skip


def test_looking_creates_no_log(bench):
    listed = inside(bench, "approvals", "list")
    assert (listed.returncode, listed.stdout) == (0, "")
    done = inside(bench, "approvals", "allow", "t.1.1.0")
    assert done.stderr.startswith(
        f"stoic: no operation 't.1.1.0' waits for a person: there is no log at {bench.database}"
    )
    assert (done.returncode, bench.database.exists()) == (2, False)


@pytest.mark.parametrize("blank", ["", " ", "\n"])
def test_call_without_any_argument_text_is_listed_and_may_be_edited(bench, blank):
    @tool(effect="write", approval=True)
    def lock() -> str:
        """Lock the door."""
        return "locked"

    call = {"index": 0, "id": "c1", "function": {"name": "lock", "arguments": blank}}
    chunks = [{"index": 0, "delta": {"tool_calls": [call]}}, {"index": 0, "delta": {}, "finish_reason": "tool_calls"}]

    async def park(provider) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("OPENAI_BASE_URL", provider.base_url)
            async with Runtime(str(bench.database)) as runtime:
                await runtime.thread("t", Agent("openai-chat:m", tools=[lock])).run("lock it")

    sse = [{"event": None, "data": {"choices": [chunk]}} for chunk in chunks]
    with ScriptedProvider([{"status": 200, "sse": sse}]) as provider:
        asyncio.run(park(provider))
    assert "t.1.1.0  lock (write)" in inside(bench, "approvals", "list").stdout
    allowed = inside(bench, "approvals", "allow", "t.1.1.0", "--edit", "{}")
    assert (allowed.returncode, allowed.stderr) == (0, "")
