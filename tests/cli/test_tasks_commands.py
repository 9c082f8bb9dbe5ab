"""`stoic tasks`: background work as a person and a program start, see and end it."""

import asyncio
import json

from tests.cli.background import REFUSAL, Up, inside, reach, start_task

from stoic.core.notes import START_ANEW
from stoic.records import InboxEntry
from stoic.store.sqlite import SqliteStore
from stoic.testing import RecordedRequest, ScriptedProvider

FAILS = {"status": 400, "body": {"error": {"message": "no"}}}
CANARY = "canary-in-a-brief"


def stands(bench, *arguments: str) -> list[dict]:
    return [json.loads(line) for line in inside(bench, "tasks", "list", "--json", *arguments).stdout.splitlines()]


def test_wait_runs_a_task_here_and_exits_as_it_ended(bench):
    script = {
        "rules": [
            {"request_contains": "job-that-fails", "reply": FAILS},
            {"request_contains": "job-that-is-refused", "reply": REFUSAL},
            {"request_contains": "job-that-asks", "reply": ['tool:write_file({"path":"a.txt","content":"x"})']},
        ],
        "default": ["text:the answer"],
    }
    with ScriptedProvider(script) as provider:
        reach(bench, provider)
        done = start_task(bench, "go", "--wait", task="fine")
        assert (done.returncode, done.stdout) == (0, "the answer\n")
        failed = start_task(bench, "job-that-fails", "--wait", task="bad")
        assert (failed.returncode, failed.stdout) == (4, "")
        assert "\nfailed (invalid_request): openai-chat:m: the provider finds the request invalid" in failed.stderr
        refused = start_task(bench, "job-that-is-refused", "--wait", "--json", task="ugly")
        assert (refused.returncode, json.loads(refused.stdout)["reason"]) == (5, "refused")
        asked = start_task(bench, "job-that-asks", "--wait", task="asks")
        assert (asked.returncode, asked.stdout) == (7, "")
        assert (
            "task asks waits for a person to decide about write_file (asks.1.1.0); `stoic tasks wait asks`"
            in asked.stderr
        )
        again = start_task(bench, "go", task="fine")
        assert (again.returncode, again.stdout) == (0, "fine is there already: completed\n")
        assert start_task(bench, "something else", task="fine").stderr.startswith(
            "stoic: --id 'fine': there is a thread"
        )
        assert len(provider.requests) == 4
    listed = inside(bench, "tasks", "list").stdout.splitlines()
    assert listed == [
        "fine  completed · the answer",
        "bad  failed (invalid_request)",
        "ugly  stopped (refused)",
        "asks  parked · waits for a person to decide about write_file (asks.1.1.0)",
    ]
    assert [inside(bench, "tasks", "wait", *each, "--timeout", "0").returncode for each in (
        ["fine"], ["fine", "bad"], ["fine", "bad", "ugly"], ["fine", "asks"], ["asks", "fine", "--any"], ["asks", "--any"],
    )] == [0, 4, 5, 7, 0, 7]  # fmt: skip
    stopped = inside(bench, "tasks", "stop", "asks")
    assert (stopped.returncode, stopped.stdout.splitlines()[0]) == (
        0,
        "asks is stopped; `stoic tasks message asks TEXT` lets it go on",
    )
    assert inside(bench, "approvals", "list").stdout == "nothing waits for a person's approval\n"


def test_a_refused_task_is_told_by_every_door_in_a_fresh_process_and_nothing_is_sent(bench):
    script = {"rules": [{"request_contains": CANARY, "reply": REFUSAL}], "default": ["text:ok"]}
    with ScriptedProvider(script) as provider:
        reach(bench, provider)
        assert start_task(bench, f"say {CANARY}").returncode == 0
        with Up(bench) as up:
            assert up.wait_for("^job · turn 1 ").startswith("job · turn 1 stopped (refused) · 1 round: ")
            listed, shown = inside(bench, "tasks", "list"), bench.stoic("tasks", "show", "job")
            assert listed.stdout == "job  stopped (refused)\n"
            assert shown.stdout.startswith(
                "job  stopped (refused)\n  outcome: stopped (refused)\n  delivery: cancelled\n"
            )
            assert f"{START_ANEW}\n" in shown.stdout
            assert "`stoic show job` shows its log" in shown.stdout
            told = bench.stoic("tasks", "message", "job", "go on")
            assert (told.returncode, told.stdout, told.stderr) == (5, "", f"stoic: task job: {START_ANEW}\n")
            stopped = bench.stoic("tasks", "stop", "job", "--json")
            found = json.loads(stopped.stdout)
            assert (stopped.returncode, found["refused"], found["note"]) == (0, True, START_ANEW)
            assert found["evidence"]["changed_paths"] == []
            for arguments in (["resume", "job"], ["run", "--thread", "job", "go on"]):
                door = inside(bench, *arguments, "--model", "openai-chat:other")
                assert (door.returncode, door.stdout) == (5, "")
                assert door.stderr.endswith(f"{START_ANEW}\n"), "after what a person is told of the refusal, once"
            assert up.drain() == 0
        assert len(provider.requests) == 1
        facts = inside(bench, "tasks", "show", "job", "--json").stdout
        assert CANARY not in facts + listed.stdout + shown.stdout + told.stderr + stopped.stdout
        assert json.loads(facts)["task"]["refused"] is True
    log = inside(bench, "show", "job").stdout
    assert "refused in round 1: this task does not run again" in log
    assert "what no person sends" not in log


def test_an_owner_hears_of_the_end_and_its_task_is_made_as_it_is(bench):
    script = {"rules": [{"request_contains": "job-of-an-owner", "reply": ["text:done"]}], "default": ["text:ok"]}
    with ScriptedProvider(script) as provider:
        reach(bench, provider)
        assert inside(bench, *bench.working(provider, "hello", "--thread", "boss")).returncode == 0
        started = inside(
            bench, "tasks", "start", "job-of-an-owner", "--owner", "boss", "--id", "job", "--max-rounds", "3"
        )
        assert started.stdout == "job is stored; `stoic up` runs it\n"
        with Up(bench) as up:
            up.wait_for("^job · turn 1 completed")
            up.wait_for("^boss · turn 2 completed")
            assert up.drain() == 0
        assert provider.requests[1].json["model"] == "m"
        assert "[task job ended]" in provider.requests[2].json["messages"][-1]["content"]
    assert inside(bench, "tasks", "list", "--owner", "boss").stdout == "job  completed · of boss · done\n"
    assert [each["owner"] for each in stands(bench)] == ["boss"]
    shown = inside(bench, "show", "boss").stdout
    assert "  event task_ended from job:\n      [task job ended]\n      outcome: completed\n" in shown
    for arguments, said in (
        (["--owner", "bos"], "there is no thread 'bos'; did you mean boss?"),
        (["--owner", "boss", "--yes"], "--yes does not go with --owner"),
        (["--owner", "boss", "--workspace", str(bench.folder)], "is outside"),
        (["--owner", "boss", "--model", "nobody:m"], "model 'nobody:m': write PROVIDER:NAME"),
    ):
        done = inside(bench, "tasks", "start", "go", *arguments)
        assert (done.returncode, done.stdout, said in done.stderr) == (2, "", True)
    assert len(stands(bench)) == 1


def test_a_task_is_stopped_with_evidence_whoever_has_it_and_a_message_lets_it_go_on(bench):
    script = {
        "rules": [{"request_contains": "now end", "reply": ["text:ended"]}],
        "replies": [["text:Looking.", 'tool:list_files({"path":"."})'], ["hang"]],
    }
    with ScriptedProvider(script) as provider:
        reach(bench, provider)
        start_task(bench, "never begun", task="idle")
        stopped = inside(bench, "tasks", "stop", "idle")
        assert (stopped.returncode, stopped.stdout) == (
            0,
            "idle is stopped; `stoic tasks message idle TEXT` lets it go on\n",
        )
        assert not provider.requests
        start_task(bench, "go")
        with Up(bench) as up:
            while len(provider.requests) < 2:
                assert inside(bench, "tasks", "wait", "job", "--timeout", "0").returncode == 7
            stopped = inside(bench, "tasks", "stop", "job")
            assert (stopped.returncode, stopped.stdout.splitlines()) == (0, [
                "job is stopped; `stoic tasks message job TEXT` lets it go on",
                "  last message:", "    Looking.", '  last tool: list_files {"path":"."} · returned',
            ])  # fmt: skip
            assert up.wait_for("^job · turn 1 cancelled")
            assert inside(bench, "tasks", "list").stdout == "idle  cancelled\njob  cancelled\n"
            assert inside(bench, "tasks", "wait", "job", "idle").returncode == 8
            told = inside(bench, "tasks", "message", "job", "now end")
            assert told.stdout == "told job; it answers in its next turn, which `stoic up` runs\n"
            up.wait_for("^job · turn 2 completed")
            assert up.drain() == 0
    assert inside(bench, "tasks", "stop", "job").stdout.startswith("job had ended before; nothing is changed\n")


def test_run_waits_for_no_task_that_was_told_to_stop_as_it_ended(bench):
    async def stop_too_late() -> None:
        store = SqliteStore(bench.database)
        await store.open()
        await store.put(InboxEntry(id="stop", thread="t.1.1.0", kind="cancel", content={}, created_at=1))
        await store.close()

    def script(request: RecordedRequest) -> list[str]:
        messages = request.json["messages"]
        if messages[-1]["content"] == "begin":
            return ['tool:task_start({"brief": "job"})']
        return ["text:all is done" if messages[-1]["content"] == "and now?" else "text:ok"]

    with ScriptedProvider(script) as provider:
        assert bench.stoic(*bench.working(provider, "begin", "--thread", "t")).returncode == 0
        asyncio.run(stop_too_late())
        done = bench.stoic(*bench.working(provider, "and now?", "--thread", "t"))
    assert (done.stdout, done.returncode) == ("all is done\n", 0)


def test_wrong_usage_is_one_line_and_looking_creates_no_log(bench):
    listed = inside(bench, "tasks", "list")
    assert (listed.returncode, listed.stdout) == (0, "")
    for arguments in (["show", "job"], ["message", "job", "x"], ["wait", "job"], ["stop", "job"]):
        done = inside(bench, "tasks", *arguments)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith(f"stoic: there is no task 'job': there is no log at {bench.database}")
    assert not bench.database.exists()
    assert start_task(bench, "go").returncode == 0
    for arguments, said in (
        (["show", "jop"], "there is no task 'jop'; those there are: job"),
        (["message", "jop", "x"], "there is no task 'jop'; those there are: job"),
        (["message", "job", " "], "TEXT is empty; say something"),
        (["wait", "job", "jop"], "there is no task 'jop'; those there are: job"),
        (["wait", "job", "--timeout", "-1"], "--timeout is -1; it must be a number from 0"),
        (["start", " "], "BRIEF is empty; say something"),
        (["start", "x", "--id", "a\nb"], "--id 'a\\nb': use 1 to 200 printable characters"),
        (["start", "x"], "no model is named"),
    ):
        done = inside(bench, "tasks", *arguments)
        assert done.stderr.startswith(f"stoic: {said}")
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
