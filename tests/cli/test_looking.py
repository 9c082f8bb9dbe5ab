"""`stoic show` and `stoic threads`: what the log looks like to a person and to a program."""

import asyncio
import json
from typing import Any

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
        "novelty what=a[2J thing",
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
        row(1, role="user", kind="message", content={"text": f"first {CANARY}"}),
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


def test_show_hides_the_bodies_of_quarantined_rows(bench):
    asyncio.run(quarantine(bench.database))
    human, program = bench.stoic("show", "t"), bench.stoic("show", "t", "--json")
    assert CANARY not in human.stdout + program.stdout
    assert human.stdout.count("[hidden: quarantined]") == 2
    assert "delivered, NOT readable" in human.stdout
    assert json.loads(program.stdout)["calls"][0]["readable"] is False
    assert json.loads(program.stdout)["rows"][2]["view"] == {"text": "withheld"}


def test_show_names_threads_like_the_unknown_one(bench):
    with ScriptedProvider([["text:ok"], ["text:ok"]]) as provider:
        bench.stoic(*bench.working(provider, "go", "--thread", "brave-otter"))
        bench.stoic(*bench.working(provider, "go", "--thread", "calm-fox"))
    done = bench.stoic("show", "brave-oter")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "stoic: there is no thread 'brave-oter'; did you mean brave-otter?\n"


def test_looking_creates_no_log(bench):
    shown, listed = bench.stoic("show", "t"), bench.stoic("threads")
    assert (shown.returncode, shown.stderr.count("\n")) == (2, 1)
    assert (listed.returncode, listed.stdout) == (0, "no threads yet; `stoic run` begins one\n")
    assert not bench.database.exists()


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
