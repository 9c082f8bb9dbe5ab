"""`stoic threads delete` and `stoic threads export`."""

import asyncio
import json

import pytest
from tests.cli.test_looking import CANARY, quarantine

from stoic.testing import ScriptedProvider


def talk(bench, *threads: str) -> None:
    """Store one finished turn in each of the threads."""
    with ScriptedProvider([["text:ok"]] * len(threads)) as provider:
        for thread in threads:
            bench.stoic(*bench.working(provider, "go", "--thread", thread))


# ---- delete ---------------------------------------------------------------------------------------


def test_delete_with_yes_deletes_that_thread_alone(bench):
    talk(bench, "gone", "kept")
    done = bench.stoic("threads", "delete", "gone", "--yes")
    assert (done.returncode, done.stdout, done.stderr) == (0, "deleted gone\n", "")
    listed = bench.stoic("threads", "--json").stdout.splitlines()
    assert [json.loads(line)["thread"] for line in listed] == ["kept"]


def test_delete_forgets_what_was_kept_of_long_results_and_of_no_other_thread(bench):
    long = 'tool:shell({"command":"seq 1 20000"})'
    with ScriptedProvider([[long], ["text:ok"]] * 2) as provider:
        for thread in ("gone", "kept"):
            bench.stoic(*bench.working(provider, "go", "--thread", thread, "--yes"))
    kept = bench.folder / "spill"
    assert sorted(path.name for path in kept.iterdir()) == ["gone", "kept"]
    assert bench.stoic("threads", "delete", "gone", "--yes").returncode == 0
    assert [path.name for path in kept.iterdir()] == ["kept"]


@pytest.mark.parametrize(("answer", "code", "left"), [("y", 0, 0), ("n", 6, 1), ("", 6, 1), ("\x04", 6, 1)])
def test_delete_asks_at_a_terminal_and_only_yes_deletes(answer, code, left, bench):
    talk(bench, "t")
    with bench.terminal("threads", "delete", "t") as terminal:
        terminal.wait_for("Delete it for good?")
        assert "t · 1 turn · completed" in terminal.display.text()
        terminal.type(answer if answer == "\x04" else f"{answer}\n")
        assert terminal.end() == code
    assert len(bench.stoic("threads", "--json").stdout.splitlines()) == left


def test_delete_is_refused_while_a_turn_runs(bench):
    with (
        ScriptedProvider([["text:half", "gate:later"]]) as provider,
        bench.terminal(*bench.working(provider, "go", "--thread", "t")) as terminal,
    ):
        terminal.wait_for("half")
        done = bench.stoic("threads", "delete", "t", "--yes")
        provider.open_gate("later")
        assert terminal.end() == 0
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert f"thread 't' was not deleted: a turn of it runs (pid {terminal.process.pid} on " in done.stderr
    assert "completed" in bench.stoic("threads").stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["delete", "t"], "nobody is here to be asked; --yes deletes without asking"),
        (["delete", "tt", "--yes"], "there is no thread 'tt'; did you mean t?"),
        (["export", "tt"], "there is no thread 'tt'; did you mean t?"),
        (["export", "t", "--format", "pdf"], "Invalid value for '--format'"),
        (["rename"], "No such command 'rename'"),
    ],
)
def test_wrong_use_is_one_line_and_exits_2(arguments, said, bench):
    talk(bench, "t")
    done = bench.stoic("threads", *arguments)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert said in done.stderr
    assert len(bench.stoic("threads", "--json").stdout.splitlines()) == 1


@pytest.mark.parametrize("command", [["delete", "t", "--yes"], ["export", "t"]])
def test_without_a_log_there_is_no_thread_and_none_is_created(command, bench):
    done = bench.stoic("threads", *command)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert not bench.database.exists()


# ---- export ---------------------------------------------------------------------------------------


def test_export_is_what_show_gives_programs_and_jsonl_its_rows(bench):
    talk(bench, "t")
    whole = bench.stoic("threads", "export", "t")
    assert whole.stdout == bench.stoic("show", "t", "--json").stdout
    lines = bench.stoic("threads", "export", "t", "--format", "jsonl").stdout.splitlines()
    assert [json.loads(line) for line in lines] == json.loads(whole.stdout)["rows"]


def test_export_as_a_document_tells_messages_calls_and_the_three_facts(bench):
    (bench.workspace / "a.md").write_text("```\nfenced\n```")
    script = [["text:Reading.", 'tool:read_file({"path":"a.md"})'], ["text:It is *fenced*."]]
    with ScriptedProvider(script) as provider:
        bench.stoic(*bench.working(provider, "Look", "--thread", "t"))
    document = bench.stoic("threads", "export", "t", "--format", "md").stdout
    order = [
        "# t\n",
        "## Turn 1, ",
        "### Message\n\nLook\n",
        "### Reply of openai-chat:m\n\nReading.\n",
        '### Call of read_file\n\n```\n{"path":"a.md"}\n```\n',
        "### Result of read_file: delivered, readable, returned\n\n````\n```\nfenced\n```\n````\n",
        "It is *fenced*.",
        "**Outcome: completed.**",
    ]
    assert [text for text in order if text not in document] == []
    assert sorted(order, key=document.index) == order


@pytest.mark.parametrize("form", ["json", "jsonl", "md"])
def test_export_leaves_out_the_bodies_of_quarantined_rows(form, bench):
    asyncio.run(quarantine(bench.database))
    done = bench.stoic("threads", "export", "t", "--format", form)
    assert done.returncode == 0
    assert CANARY not in done.stdout
    assert done.stdout != ""
