"""`stoic show` and `stoic threads`: what the log looks like to a person and to a program."""

import json
import os
import signal
import subprocess
import sys
from typing import Any

import pytest
from tests.cli.test_run import WRITE, park

from stoic.cli.timeline import timeline
from stoic.records import Operation, Owner, Row, Step, ThreadRecord, ViewChange
from stoic.store.sqlite import SqliteStore
from stoic.testing import ScriptedProvider

CANARY = "canary-7731"


def test_show_tells_each_step_of_a_turn_in_order(bench):
    script = [
        ["text:Reading.", 'tool:read_file({"path":"none"})', 'tool:shell({"cmd":"x"})'],
        {"status": 500, "body": {"error": {"message": "busy"}}},
        ["text:There is no such file."],
    ]
    with ScriptedProvider(script) as provider:
        bench.stoic(*bench.working(provider, "Look for it", "--thread", "t", "--yes"))
    done = bench.stoic("show", "t")
    order = [
        "thread t · 1 turn · completed",
        "turn 1",
        "Look for it",
        "round 1",
        "reply of openai-chat:m",
        "Reading.",
        "▶ read_file none",
        "- shell (bad_arguments): delivered, readable, not run · t.1.1.1",
        "✗ read_file (tool_error): delivered, readable, raised · t.1.1.0",
        "round 2",
        "✗ attempt 1: server_error (recovers with time), HTTP 500; evidence status=500; sent again after 1 s",
        "There is no such file.",
        "outcome: completed",
    ]
    assert [text for text in order if text not in done.stdout] == []
    assert sorted(order, key=done.stdout.index) == order
    assert (done.returncode, done.stderr) == (0, "")


def test_show_tells_figures_and_how_long_calls_questions_and_turns_took():
    call = {"type": "call", "name": "shell", "arguments": "{}"}
    rows = [
        row(1, role="user", kind="message", content={"text": "go"}, created_at=1_000),
        row(2, role="assistant", kind="reply", content={"parts": [call]}, created_at=2_000),
        row(3, role="system", kind="question", created_at=2_000, content={"questions": [{"operation": "t.1.1.0", "tool": "shell"}]}),
        row(4, role="system", kind="answer", created_at=9_000, content={"operation": "t.1.1.0", "answer": "once"}),
        row(5, role="tool", kind="result", created_at=9_000, content={"operation": "t.1.1.0", "tool": "shell", "text": "x"}),
        row(6, role="system", kind="outcome", created_at=13_340, content={
            "outcome": "completed", "rounds": 2, "cost_usd": 0.0123, "usage": {"input_tokens": 1500, "output_tokens": 20},
        }),
    ]  # fmt: skip
    operation = Operation(
        id="t.1.1.0", thread="t", turn=1, round=1, index=0, tool="shell", effect="exec", arguments_key="k",
        state="returned", started_at=9_000, ended_at=11_500, runs=1,
    )  # fmt: skip
    lines = [line.text.strip() for line in timeline(rows, [operation])]
    assert "✓ shell: delivered, readable, returned · t.1.1.0 · 2.5 s" in lines
    assert "a person answered once for t.1.1.0 · after 7 s" in lines
    assert "outcome: completed · 2 rounds · 1,500 tokens in, 20 out · $0.0123 · 12 s" in lines


def test_show_tells_fallbacks_switches_and_events_of_kinds_it_does_not_know():
    two = {"from": {"provider": "p", "model": "a"}, "to": {"provider": "p", "model": "b"}}
    rows = [
        row(1, role="system", kind="switch", content={"model": "p:a"}),
        row(2, role="system", kind="fallback", content={**two, "class": "auth", "skipped": False}),
        row(3, role="system", kind="fallback", content={**two, "class": "auth", "skipped": True}),
        row(4, role="system", kind="novelty", content={"what": "a\x1b[2J thing", "deep": {"x": 1}}),
        row(5, role="system", kind="novelty", content={"what": CANARY}, quarantine="excluded"),
    ]
    lines = [line.text.strip() for line in timeline(rows, [])]
    assert lines[2:] == [
        "a person switched to p:a",
        "⇄ p:b answers the rest of this turn: p:a failed (auth)",
        "⇄ p:b answers the rest of this turn: p:a is closed after auth",
        "novelty what=a thing",
        "novelty",
    ]


def test_show_folds_long_lines_on_a_narrow_terminal_and_leaves_them_whole_in_a_pipe(bench):
    answer = "every one of these words must be found again " * 3
    with ScriptedProvider([[f"text:{answer}"]]) as provider:
        bench.stoic(*bench.working(provider, "go", "--thread", "t"))
    with bench.terminal("show", "t", columns=32) as terminal:
        assert terminal.end() == 0
    shown = terminal.display.text()
    assert (
        answer.split() == " ".join(line.strip() for line in shown.splitlines() if line.startswith("      ")).split()[1:]
    )
    assert answer.strip() in bench.stoic("show", "t").stdout


def test_show_json_holds_rows_and_the_three_facts_of_each_call(bench):
    with ScriptedProvider([['tool:shell({"command":"true"})'], ["text:ok"]]) as provider:
        bench.stoic(*bench.working(provider, "go", "--thread", "t"))
    shown = json.loads(bench.stoic("show", "t", "--json").stdout)
    assert [row["kind"] for row in shown["rows"]] == ["message", "reply", "result", "reply", "outcome"]
    assert shown["calls"] == [
        {"operation": "t.1.1.0", "tool": "shell", "delivered": True, "readable": True, "succeeded": "not run"}
    ]
    assert shown["state"]["state"] == "completed"


def row(seq: int, **fields: Any) -> Row:
    plain: dict[str, Any] = {
        "generation": 1,
        "segment": "t.1#1",
        "turn": 1,
        "round": 1,
        "created_at": 1,
        "visible": True,
    }
    return Row(id=f"r{seq}", thread="t", seq=seq, **{**plain, **fields})


async def quarantine(database) -> None:
    """Store a thread whose message and whose tool result are quarantined."""
    store = SqliteStore(database)
    await store.open()
    await store.register(Owner(id="o", host="h", boot_id="b", pid=1, started_at=1))
    await store.create_thread(ThreadRecord(id="t", created_at=1))
    lease = await store.acquire("t", "o", 1)
    call = {"type": "call", "name": "read_file", "arguments": '{"path":"x"}'}
    rows = [
        row(1, role="user", kind="message", content={"text": "my own words"}),
        row(2, role="assistant", kind="reply", content={"parts": [call]}, accepted=False),
        row(
            3,
            role="tool",
            kind="result",
            content={"call": 0, "operation": "t.1.1.0", "tool": "read_file", "text": CANARY},
        ),
    ]
    changes = [
        ViewChange(seq=1, quarantine="excluded"),
        ViewChange(seq=3, quarantine="placeholder", view={"text": "withheld"}),
    ]
    await store.append(lease, Step(rows=rows))
    outcome = row(4, role="system", kind="outcome", content={"outcome": "stopped", "refused": True}, visible=False)
    await store.append(lease, Step(rows=[outcome], views=changes, release=True))
    await store.close()


def test_show_names_threads_like_the_unknown_one(bench):
    with ScriptedProvider([["text:ok"], ["text:ok"]]) as provider:
        bench.stoic(*bench.working(provider, "go", "--thread", "brave-otter"))
        bench.stoic(*bench.working(provider, "go", "--thread", "calm-fox"))
    done = bench.stoic("show", "brave-oter")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "stoic: there is no thread 'brave-oter'; did you mean brave-otter?\n"


def test_looking_creates_no_log(bench):
    shown = bench.stoic("show", "t")
    absent = f"there is no log at {bench.database} (named by $STOIC_DB)"
    assert (shown.returncode, shown.stdout, shown.stderr) == (2, "", f"stoic: there is no thread 't': {absent}\n")
    for command in (["threads"], ["threads", "--json"], ["operations", "list"], ["health"], ["health", "--json"]):
        done = bench.stoic(*command)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", f"stoic: {absent}; `stoic run` begins one\n")
    assert not bench.database.exists()


def test_log_at_its_usual_place_is_not_said_to_be_named(bench):
    done = bench.stoic("threads", STOIC_DB="")
    usual = bench.folder / ".local" / "share" / "stoic" / "stoic.db"
    assert done.stderr == f"stoic: there is no log at {usual}; `stoic run` begins one\n"


@pytest.mark.parametrize(
    ("database", "said"),
    [("postgresql://me:word@h/x", "named as a postgresql:// URL"), ("x" * 300, "File name too long")],
)
def test_database_that_cannot_be_one_is_one_line_and_exits_2(database, said, bench):
    for command in (["show", "t"], ["threads"], ["operations", "list"], ["health"], ["run", "--continue"]):
        done = bench.stoic(*command, STOIC_DB=database, STOIC_MODEL="openai-chat:m")
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
        assert said in done.stderr
        assert "word" not in done.stderr


def test_after_a_kill_show_says_what_is_known_and_how_to_go_on(bench):
    for name in ("started", "block"):
        os.mkfifo(bench.workspace / name)
    command = json.dumps({"command": "echo > started; cat block"})
    with ScriptedProvider([[f"tool:shell({command})"], ["text:I cannot tell."]]) as provider:
        with bench.start(*bench.working(provider, "hi", "--thread", "t", "--yes")) as process:
            (bench.workspace / "started").read_text()
            running = bench.stoic("show", "t").stdout
            process.kill()
        shown, listed, journal = (bench.stoic(*each).stdout for each in (["show", "t"], ["threads"], OPERATIONS))
        program = json.loads(bench.stoic("show", "t", "--json").stdout)
        undecided = bench.stoic(*OPERATIONS, "--unknown", "--json").stdout
        assert bench.stoic(*bench.working(provider, "--thread", "t", "--yes")).returncode == 0
    assert "thread t · 1 turn · open (running)" in running
    assert "no result yet: running · t.1.1.0" in running
    assert f"  running in process {process.pid} on " in running
    assert "thread t · 1 turn · open (interrupted)" in shown
    assert "no result yet: it was running when its process ended · t.1.1.0" in shown
    assert "interrupted: no process works on this turn; `stoic run --thread t` goes on with it" in shown
    assert "open (interrupted)" in listed
    assert "exec · was running when its process ended" in journal
    assert (program["state"]["detail"], program["calls"][0]["succeeded"]) == ("interrupted", "unknown")
    assert json.loads(undecided).items() >= {"operation": "t.1.1.0", "state": "running", "lost": True}.items()


PROGRAM = """
import os, signal, stoic


@stoic.tool(effect="read")
def die() -> str:
    os.kill(os.getpid(), signal.SIGKILL)


@stoic.tool(effect="send")
def send() -> str:
    return "sent"


agent = stoic.Agent("openai-chat:m", name="shop", tools=[die, send])
stoic.run_sync(agent, "hi", thread="parked")
stoic.run_sync(agent, "hi", thread="killed")
"""


def test_of_a_program_s_thread_show_names_the_program_since_run_cannot_go_on_with_it(bench):
    (bench.folder / "program.py").write_text(PROGRAM)
    with ScriptedProvider([["tool:send({})"], ["tool:die({})"]]) as provider:
        environment = bench.environment | {"OPENAI_BASE_URL": provider.base_url}
        done = subprocess.run([sys.executable, "program.py"], cwd=bench.folder, env=environment, check=False)
    assert done.returncode == -signal.SIGKILL
    again = "run the program that made it again (its agent is shop)"
    assert bench.stoic("show", "killed").stdout.endswith(f"  interrupted: no process works on this turn; {again}\n")
    parked = bench.stoic("show", "parked").stdout
    assert parked.endswith(f"  parked: `stoic approvals list` shows what for; then {again}\n")
    assert "parked.1.1.0" in bench.stoic("approvals", "list").stdout


OPERATIONS = ["operations", "list"]


def test_show_names_messages_that_wait_and_what_a_parked_turn_waits_for(bench):
    with ScriptedProvider([[WRITE]]) as provider:
        park(bench, provider)
        bench.stoic(*bench.working(provider, "words that wait", "--thread", "t"))
    shown = bench.stoic("show", "t").stdout
    assert "  parked: `stoic run --thread t` on a terminal asks again, with --yes it allows\n" in shown
    assert shown.endswith("  unread message:\n      words that wait\n")


def test_hints_quote_a_thread_that_no_shell_takes_for_one_word(bench):
    with (
        ScriptedProvider([[WRITE]]) as provider,
        bench.terminal(*bench.working(provider, "x", "--thread", "my thread"), columns=200) as terminal,
    ):
        terminal.wait_for("Allow?")
        terminal.type("\x04")
        assert terminal.end() == 7
    assert "`stoic run --thread 'my thread'` asks again" in terminal.display.text()
    assert "`stoic run --thread 'my thread'` on a terminal" in bench.stoic("show", "my thread").stdout


def test_show_of_a_broken_log_is_one_line_and_exits_2(bench):
    bench.database.write_bytes(b"no database at all" * 100)
    for command in (["show", "t"], ["threads"]):
        done = bench.stoic(*command)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)


def test_threads_lists_state_and_turns_the_latest_first(bench):
    refused = {"status": 401, "body": {"error": {"message": "no"}}}
    with ScriptedProvider([["text:ok"], ["text:ok"], refused]) as provider:
        bench.stoic(*bench.working(provider, "go", "--thread", "older"))
        bench.stoic(*bench.working(provider, "go", "--thread", "newer"))
        bench.stoic(*bench.working(provider, "go", "--thread", "older"))
    human, program = bench.stoic("threads"), bench.stoic("threads", "--json")
    assert [line.split(" · ")[:2] for line in human.stdout.splitlines()] == [
        ["older  2 turns", "failed (auth)"],
        ["newer  1 turn", "completed"],
    ]
    states = [json.loads(line) for line in program.stdout.splitlines()]
    assert [(state["thread"], state["turns"], state["state"], state["detail"]) for state in states] == [
        ("older", 2, "failed", "auth"),
        ("newer", 1, "completed", None),
    ]
