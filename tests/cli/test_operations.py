"""`stoic operations`: the journal as a person and a program see it, and what a person's decision changes."""

import json

from stoic.testing import ScriptedProvider

LOST = 'tool:shell({"command":"echo 1 >> count.txt; sleep 60","timeout_seconds":1})'
FINE = 'tool:write_file({"path":"a.txt","content":"x"})'
SAID = ["text:ok"]


def lose(bench, *more, thread: str = "t") -> None:
    """Run a turn whose shell command is killed at its deadline: whether it took effect is unknown."""
    with ScriptedProvider([[*more, LOST], SAID]) as provider:
        assert bench.stoic(*bench.working(provider, "go", "--thread", thread, "--yes")).returncode == 0


def test_operations_are_listed_the_newest_first(bench):
    lose(bench, FINE)
    lose(bench, thread="u")
    human, program = bench.stoic("operations", "list"), bench.stoic("operations", "list", "--json")
    assert [line.split("  ")[:2] for line in human.stdout.splitlines()] == [
        ["u.1.1.0", "shell"], ["t.1.1.1", "shell"], ["t.1.1.0", "write_file"],
    ]  # fmt: skip
    assert "exec · effect UNKNOWN · " in human.stdout.splitlines()[0]
    assert "write · returned · " in human.stdout.splitlines()[2]
    told = [json.loads(line) for line in program.stdout.splitlines()]
    assert [(each["operation"], each["state"], each["status"], each["runs"]) for each in told] == [
        ("u.1.1.0", "unknown", None, 1), ("t.1.1.1", "unknown", None, 1), ("t.1.1.0", "returned", None, 1),
    ]  # fmt: skip
    assert (human.returncode, human.stderr) == (0, "")


def test_a_list_can_be_narrowed_to_a_thread_and_to_what_waits_for_a_decision(bench):
    lose(bench, FINE)
    lose(bench, thread="u")
    assert bench.stoic("operations", "list", "--thread", "u").stdout.startswith("u.1.1.0  shell")
    waiting = bench.stoic("operations", "list", "--unknown", "--thread", "t").stdout
    assert [line.split()[0] for line in waiting.splitlines()] == ["t.1.1.1"]
    bench.stoic("operations", "resolve", "t.1.1.1", "done")
    nothing = bench.stoic("operations", "list", "--unknown", "--thread", "t")
    assert nothing.stdout == "no operation waits for a decision\n"
    assert bench.stoic("operations", "list", "--unknown", "--thread", "t", "--json").stdout == ""
    assert "exec · end lost, known to be done · " in bench.stoic("operations", "list").stdout


def test_a_decision_lets_an_equal_call_run_again(bench):
    lose(bench)
    count = bench.workspace / "count.txt"
    lose(bench)
    assert count.read_text() == "1\n"
    done = bench.stoic("operations", "resolve", "t.1.1.0", "not_done")
    assert done.stdout == "t.1.1.0 of shell is not_done; an equal call may run again\n"
    assert (done.returncode, done.stderr) == (0, "")
    lose(bench)
    assert count.read_text() == "1\n1\n"


def test_the_decision_is_in_the_log(bench):
    lose(bench)
    bench.stoic("operations", "resolve", "t.1.1.0", "done")
    rows = json.loads(bench.stoic("show", "t", "--json").stdout)["rows"]
    assert [(row["kind"], row["visible"]) for row in rows][-1] == ("resolution", False)
    assert "a person says: t.1.1.0 of shell is done" in bench.stoic("show", "t").stdout


def test_wrong_usage_is_one_line(bench):
    lose(bench, FINE)
    for arguments, said in (
        (["resolve", "t.1.1.1", "maybe"], "decision 'maybe' is neither done nor not_done"),
        (["resolve", "t.9.9.9", "done"], "there is no operation 't.9.9.9'; `stoic operations list --unknown` shows"),
        (["resolve", "t.1.1.0", "done"], "operation 't.1.1.0' is not unknown: it returned"),
        (["list", "--thread", "tt"], "there is no thread 'tt'; did you mean t?"),
    ):
        done = bench.stoic("operations", *arguments)
        assert done.stderr.startswith(f"stoic: {said}")
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)


def test_looking_creates_no_log(bench):
    listed = bench.stoic("operations", "list")
    assert (listed.returncode, listed.stdout) == (0, "")
    assert listed.stderr.startswith(f"stoic: there is no log at {bench.database}")
    for arguments in (["list", "--thread", "t"], ["resolve", "t.1.1.0", "done"]):
        done = bench.stoic("operations", *arguments)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
        assert f"there is no log at {bench.database}" in done.stderr
    assert not bench.database.exists()


def test_an_edit_is_shown_as_a_diff_before_it_is_allowed(bench):
    (bench.workspace / "a.txt").write_text("one\ntwo\nthree\n")
    call = 'tool:edit_file({"path":"a.txt","old":"two","new":"2"})'
    with ScriptedProvider([[call], SAID]) as provider, bench.terminal(*bench.working(provider, "go")) as terminal:
        terminal.wait_for("Allow?")
        shown = terminal.display.text()
        terminal.type("y\n")
        assert terminal.end() == 0
    assert "edit_file (write) asks to run:" in shown
    assert [line.strip() for line in shown.splitlines() if line.strip()[:1] in {"-", "+"}][2:] == ["-two", "+2"]
    assert (bench.workspace / "a.txt").read_text() == "one\n2\nthree\n"


def test_an_edit_that_would_fail_says_so_before_it_is_allowed(bench):
    (bench.workspace / "a.txt").write_text("one\n")
    call = 'tool:edit_file({"path":"a.txt","old":"none","new":"2"})'
    with ScriptedProvider([[call], SAID]) as provider, bench.terminal(*bench.working(provider, "go")) as terminal:
        terminal.wait_for("Allow?")
        assert "the call would fail: old does not stand in 'a.txt'" in " ".join(terminal.display.text().split())
        terminal.type("n\n")
        assert terminal.end() == 0
    assert (bench.workspace / "a.txt").read_text() == "one\n"
