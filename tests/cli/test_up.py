"""`stoic up` as a real process: what it runs, says and leaves, and who takes over from it."""

import asyncio
import json
import os
import re
import signal

from tests.cli.background import DENIED, MODEL, Up, inside, reach, start_task

from stoic.records import InboxEntry, ThreadRecord
from stoic.store.sqlite import SqliteStore
from stoic.testing import ScriptedProvider


def enter(bench, thread: str, *, meta: dict | None = None) -> None:
    """Let a thread exist that has a message to answer, as another program would have made it."""

    async def run() -> None:
        store = SqliteStore(bench.database)
        await store.open()
        await store.create_thread(ThreadRecord(id=thread, created_at=1, meta=meta or {}))
        await store.put(
            InboxEntry(id=f"m-{thread}", thread=thread, kind="message", content={"text": thread}, created_at=2)
        )
        await store.close()

    asyncio.run(run())


def test_it_runs_what_is_stored_says_each_ending_and_drains(bench):
    script = {
        "rules": [
            {"request_contains": "job-that-writes", "reply": ["text:the answer"]},
            {"request_contains": "job-that-breaks", "reply": {"status": 400, "body": {"error": {"message": "no"}}}},
            {"request_contains": "job-that-lasts", "reply": ["gate:later", "text:at last"]},
        ]
    }
    with ScriptedProvider(script) as provider:
        reach(bench, provider)
        assert start_task(bench, "job-that-writes", task="one").stdout == "one is stored; `stoic up` runs it\n"
        assert start_task(bench, "job-that-breaks", task="two").returncode == 0
        enter(bench, "elsewhere", meta={"agent": "another"})
        enter(bench, "bare")
        with Up(bench) as up:
            assert "no model is named" in up.wait_for("no model")
            up.wait_for(r"^one · turn 1 completed · 1 round$")
            assert up.wait_for(r"^two · turn 1 ").startswith("two · turn 1 failed (invalid_request) · 1 round: ")
            up.wait_for(
                r"^! normal notice about thread two: Turn 1 did not complete while nobody watched: failed \(inv"
            )
            assert up.wait_for("^  stoic show") == "  stoic show two"
            waited = inside(bench, "tasks", "wait", "one", "two", "--timeout", "30")
            assert (waited.returncode, waited.stderr) == (4, "")
            assert waited.stdout == "one  completed · the answer\ntwo  failed (invalid_request)\n"
            start_task(bench, "job-that-lasts", task="three")
            while len(provider.requests) < 3:
                assert inside(bench, "tasks", "wait", "three", "--timeout", "0").returncode == 7
            up.process.send_signal(signal.SIGTERM)
            up.wait_for(r"^draining: 1 turn still run; nothing new begins")
            start_task(bench, "job-that-writes", task="four")
            provider.open_gate("later")
            assert up.end() == 0
        assert up.lines[-2:] == ["three · turn 1 completed · 1 round", "drained: 3 turns ended here"]
        assert [each for each in up.lines if "elsewhere" in each] == [
            "thread elsewhere belongs to the agent 'another' of another program"
        ]
        assert next(each for each in up.lines if "bare" in each).startswith(
            "! thread bare: it keeps no model of its own"
        )
        assert "\x1b" not in "".join(up.lines)
        stands = [json.loads(line) for line in inside(bench, "tasks", "list", "--json").stdout.splitlines()]
        assert [(each["task"], each["state"]) for each in stands] == [
            ("one", "ended"), ("two", "ended"), ("three", "ended"), ("four", "waiting"),
        ]  # fmt: skip


def test_another_takes_over_at_once_from_one_that_was_killed_in_a_call(bench):
    os.mkfifo(bench.workspace / "pipe")
    command = json.dumps({"command": "echo x >> ran; cat pipe"})
    script = {
        "rules": [{"request_contains": "Effect unknown", "reply": ["text:went on"]}],
        "replies": [[f"tool:shell({command})"]],
    }
    with ScriptedProvider(script) as provider:
        reach(bench, provider)
        start_task(bench, "go", "--yes")
        with Up(bench) as first, Up(bench) as second:
            with (bench.workspace / "pipe").open("w"):  # opens once the command reads
                first_has_it = f"process {first.process.pid}" in inside(bench, "show", "job").stdout
                holder, other = (first, second) if first_has_it else (second, first)
                assert f"running in process {holder.process.pid} on " in inside(bench, "show", "job").stdout
                holder.process.kill()
                other.wait_for("^job · turn 1 completed · 2 rounds$")
            assert other.drain() == 0
        assert (bench.workspace / "ran").read_text() == "x\n"
        assert len(provider.requests) == 2
    assert inside(bench, "tasks", "list").stdout == "job  completed · went on\n"


def test_a_task_parked_for_a_credential_goes_on_by_the_event(bench):
    with ScriptedProvider([DENIED, ["text:back"]]) as provider:
        reach(bench, provider)
        start_task(bench, "go")
        with Up(bench) as up:
            waits = "waits for the credential of openai-chat (`stoic event credential openai-chat`)"
            assert up.wait_for("^job · turn 1 is parked") == f"job · turn 1 is parked: it {waits}"
            assert inside(bench, "tasks", "list").stdout == f"job  parked · {waits}\n"
            shown = inside(bench, "show", "job").stdout
            assert "thread job · 1 turn · parked (event)" in shown
            assert f"    parked: it {waits}\n" in shown
            for arguments, code, said in (
                (["config", "openai-chat"], 0, "nothing waits for the config of openai-chat; nothing is changed\n"),
                (["credential", "openai"], 0, "nothing waits for the credential of openai; nothing is changed\n"),
                (["credential", "openai-chatt"], 2, "did you mean openai-chat"),
                (["credentials", "openai-chat"], 2, "there is no event 'credentials'; did you mean credential?"),
            ):
                done = inside(bench, "event", *arguments)
                assert (done.returncode, said in done.stdout + done.stderr) == (code, True)
            assert len(provider.requests) == 1
            done = inside(bench, "event", "credential", "openai-chat")
            assert done.stdout == f"{MODEL}: the next request is a trial\njob is woken; `stoic up` goes on with it\n"
            up.wait_for("^job · turn 1 completed")
            assert up.drain() == 0
        assert len(provider.requests) == 2


def test_on_a_terminal_a_live_line_stands_below_the_endings_and_a_second_ctrl_c_ends_at_once(bench):
    script = {
        "rules": [
            {"request_contains": "job-that-ends", "reply": ["text:ok"]},
            {"request_contains": "job-that-lasts", "reply": ["hang"]},
        ]
    }
    with ScriptedProvider(script) as provider:
        reach(bench, provider)
        with bench.terminal("up", "--model", MODEL, columns=100) as terminal:
            terminal.wait_for("0 running · 0 parked · 0 waiting · 0 turns ended")
            start_task(bench, "job-that-ends", task="fast")
            terminal.wait_for("0 running · 0 parked · 0 waiting · 1 turn ended")
            start_task(bench, "job-that-lasts", task="slow")
            terminal.wait_for("1 running · 0 parked · 0 waiting · 1 turn ended")
            while len(provider.requests) < 2:
                assert inside(bench, "tasks", "wait", "slow", "--timeout", "0").returncode == 7
            shown = re.sub(r"(?m)^\d\d:\d\d:\d\d ", "", terminal.display.text())
            lines = [line.rstrip() for line in shown.splitlines() if line.strip()]
            assert lines[0].startswith("stoic up: process ")
            assert lines[-2:] == [
                "fast · turn 1 completed · 1 round",
                "1 running · 0 parked · 0 waiting · 1 turn ended",
            ]
            terminal.interrupt()
            terminal.wait_for("draining: 1 turn still run")
            terminal.interrupt()
            assert terminal.end() == 130
        assert "left as it stands; `stoic up` goes on with it" in terminal.display.text()
    assert (
        inside(bench, "tasks", "list").stdout
        == "fast  completed · ok\nslow  interrupted · `stoic up` goes on with it\n"
    )


def test_what_cannot_be_is_said_before_anything_runs(bench):
    for arguments, said in (
        (["--model", "nobody:m"], "there is no provider 'nobody'"),
        (["--workspace", "nowhere"], "workspace 'nowhere' does not exist"),
        (["--base-url", "http://127.0.0.1:1/v1"], "no model is named"),
        (["--at-once", "0"], "'--at-once'"),
    ):
        done = inside(bench, "up", *arguments)
        assert (done.returncode, done.stdout, said in done.stderr) == (2, "", True)
    assert not bench.database.exists()
