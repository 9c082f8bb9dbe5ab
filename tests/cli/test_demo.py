"""`stoic demo`: it does what it says, and it says so only when it was done."""

import asyncio
import re
from pathlib import Path

import pytest

from stoic.cli.demo_play import SUMMARY, VOID
from stoic.cli.demo_proof import prove
from stoic.store.sqlite import SqliteStore


def test_demo_works_without_key_terminal_or_question_and_proves_itself(bench):
    done = bench.stoic("demo", TMPDIR=str(bench.folder))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("The provider is simulated")
    assert "(simulated provider)" in done.stdout
    assert done.stdout.count("  ✓ ") == 7
    assert "↻ sent again in 1 s" in done.stdout
    assert "write_file not run (bad_arguments)" in done.stdout
    assert VOID not in done.stdout
    (folder,) = bench.folder.glob("stoic-demo-*")
    assert (folder / "workspace" / "summary.txt").read_text() == SUMMARY


def test_demo_names_a_command_that_shows_its_log(bench):
    done = bench.stoic("demo", TMPDIR=str(bench.folder))
    found = re.search(r"STOIC_DB=(\S+) stoic show demo", done.stdout)
    assert found
    shown = bench.stoic("show", "demo", STOIC_DB=found[1])
    assert "outcome: completed" in shown.stdout


def test_demo_shows_on_a_terminal_how_the_cut_text_vanishes(bench):
    with bench.terminal("demo", TMPDIR=str(bench.folder), columns=120, rows=50) as terminal:
        terminal.wait_for(VOID)
        assert terminal.end() == 0
    assert VOID not in terminal.display.text()
    assert "VOID" not in terminal.display.text()


@pytest.mark.parametrize("broken", ["summary.txt", "notes/monday.txt"])
def test_claim_about_a_file_fails_when_the_disk_says_otherwise(broken, bench):
    bench.stoic("demo", TMPDIR=str(bench.folder))
    (folder,) = bench.folder.glob("stoic-demo-*")
    (folder / "workspace" / broken).write_text("something else")

    async def claims(workspace: Path) -> list[bool]:
        store = SqliteStore(folder / "stoic.db")
        await store.open()
        found = await prove(store, "demo", workspace, [])
        await store.close()
        return [claim.holds for claim in found[:2]]

    assert asyncio.run(claims(folder / "workspace")) == [broken != "summary.txt", broken == "summary.txt"]
