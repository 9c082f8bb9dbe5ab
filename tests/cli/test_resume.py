"""`stoic resume` and `stoic scan --thread`: going on with a thread, and looking for loops in one."""

import asyncio
import json
import signal

import pytest
from tests.cli.processes import LIMIT_SECONDS, Bench
from tests.cli.test_looking import CANARY, quarantine

from stoic.testing import ScriptedProvider

ALWAYS = {"replies": [], "default": ['tool:read_file({"path":"a.txt"})']}


def resuming(bench: Bench, provider, *arguments: str) -> list[str]:
    """Return the arguments of `resume` for the thread `t` against a provider, in the workspace."""
    return ["resume", "t", *arguments, *bench.working(provider)[1:]]


def stopped(bench: Bench, provider) -> None:
    """Leave the thread `t` stopped as a loop."""
    (bench.workspace / "a.txt").write_text("the same\n")
    done = bench.stoic(*bench.working(provider, "go", "--thread", "t"))
    assert done.returncode == 6
    assert "or let it repeat so many calls more: `stoic resume t --allow N`." in done.stderr


def rows(bench: Bench, kind: str) -> list[dict]:
    return [row for row in json.loads(bench.stoic("show", "t", "--json").stdout)["rows"] if row["kind"] == kind]


def test_a_grant_lets_a_stopped_loop_repeat_exactly_so_many_calls(bench):
    with ScriptedProvider(ALWAYS) as provider:
        stopped(bench, provider)
        done = bench.stoic(*resuming(bench, provider, "--allow", "3", "--json"))
        assert len(provider.requests) == 34 + 3 + 4
        assert provider.requests[34].holds("A person allows 3 more calls of those that were blocked as a loop")
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert (done.returncode, done.stderr) == (6, "")
    assert events[0] == {"type": "turn_started", "thread": "t", "turn": 2}
    assert [event["state"] for event in events if event["type"] == "tool_ended"] == ["returned"] * 3 + ["not_run"] * 4
    assert events[-1].items() >= {"type": "outcome", "outcome": "stopped", "reason": "stuck_loop"}.items()
    assert [row["content"] for row in rows(bench, "let_through")] == [
        {"operations": [f"t.2.{number}.0"]} for number in (1, 2, 3)
    ]
    shown = bench.stoic("show", "t").stdout
    assert "a person allowed 3 of the calls that were blocked as a loop" in shown
    assert shown.count("runs only because a person allowed it: t.2.") == 3


def test_without_a_grant_a_stopped_loop_has_nothing_to_go_on_with_and_the_way_is_named(bench):
    with ScriptedProvider(ALWAYS) as provider:
        stopped(bench, provider)
        done = bench.stoic(*resuming(bench, provider))
        assert len(provider.requests) == 34
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.endswith("`stoic resume t --allow N` lets the loop that was stopped repeat N calls more\n")


def test_an_interrupted_turn_goes_on_and_takes_no_grant(bench):
    with ScriptedProvider([["text:first", "gate:never"], ["text:answer"]]) as provider:
        with bench.start(*bench.working(provider, "hi", "--thread", "t", "--json")) as process:
            assert process.stdout
            while b"text_delta" not in process.stdout.readline():
                pass
            process.send_signal(signal.SIGTERM)
            assert process.wait(LIMIT_SECONDS) == 143
        refused = bench.stoic(*resuming(bench, provider, "--allow", "2"))
        done = bench.stoic(*resuming(bench, provider))
    assert refused.returncode == 2
    assert "not stopped as a loop (turn 1 is open; resume it without a grant)" in refused.stderr
    assert (done.returncode, done.stdout) == (0, "answer\n")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["resume", "t", "--allow", "2"], "thread 't' was not stopped as a loop (turn 1 ended completed), so"),
        (["resume", "t"], "thread 't' has nothing to go on with: no turn is open; `stoic run --thread t PROMPT`"),
        (["resume", "tt"], "there is no thread 'tt'; did you mean t?"),
        (["resume", "t", "--allow", "0"], "Invalid value for '--allow'"),
        (["resume"], "Missing argument"),
        (["resume", "t", "--continue"], "No such option: --continue"),
        (["scan"], "name one thing to scan"),
        (["scan", "file.json", "--thread", "t"], "name one thing to scan"),
        (["scan", "--thread", "tt"], "there is no thread 'tt'; did you mean t?"),
    ],
)
def test_wrong_use_is_one_line_and_exits_2(arguments, said, bench):
    with ScriptedProvider([["text:ok"]]) as provider:
        bench.stoic(*bench.working(provider, "go", "--thread", "t"))
    done = bench.stoic(*arguments, STOIC_MODEL="openai-chat:m", OPENAI_API_KEY="sk-test")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert said in done.stderr


@pytest.mark.parametrize("command", [["resume", "t"], ["scan", "--thread", "t"]])
def test_without_a_log_there_is_no_thread_and_none_is_created(command, bench):
    done = bench.stoic(*command, STOIC_MODEL="openai-chat:m", OPENAI_API_KEY="sk-test")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "there is no thread 't': there is no log at" in done.stderr
    assert not bench.database.exists()


# ---- scan -----------------------------------------------------------------------------------------


def test_scan_finds_in_a_thread_the_call_that_was_blocked(bench):
    (bench.workspace / "b.txt").write_text("other\n")
    pair = [['tool:read_file({"path":"a.txt"})'], ['tool:read_file({"path":"b.txt"})']]
    with ScriptedProvider(pair * 18) as provider:
        stopped(bench, provider)
        assert provider.unplayed == []
    blocked = [row["meta"]["loop"] for row in rows(bench, "result")].index("blocked") + 1
    found = json.loads(bench.stoic("scan", "--thread", "t", "--json").stdout)
    assert found.pop("message").startswith("Not run: blocked by the loop rule global_breaker.")
    assert found == {"id": "t", "verdict": "block", "rule": "global_breaker", "at_call": 33}
    assert blocked == 33
    told = bench.stoic("scan", "--thread", "t")
    assert (told.returncode, told.stderr) == (0, "")
    assert told.stdout.startswith("t: block by rule global_breaker at call 33\n  calls: 3-33\n  Not run: blocked by ")


def test_scan_of_a_thread_begins_anew_at_a_persons_message(bench):
    (bench.workspace / "a.txt").write_text("the same\n")
    script = [*[['tool:read_file({"path":"a.txt"})']] * 9, ["text:ok"]] * 2
    with ScriptedProvider(script) as provider:
        for _ in range(2):
            assert bench.stoic(*bench.working(provider, "go", "--thread", "t")).returncode == 0
    assert bench.stoic("scan", "--thread", "t").stdout == "t: no loop in 18 calls\n"


def test_scan_reads_the_view_of_quarantined_results_only(bench):
    asyncio.run(quarantine(bench.database))
    for form in ([], ["--json"]):
        done = bench.stoic("scan", "--thread", "t", *form)
        assert (done.returncode, done.stderr) == (0, "")
        assert CANARY not in done.stdout
