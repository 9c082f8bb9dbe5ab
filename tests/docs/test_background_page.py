"""What the page about background work says is what the program has: commands, options, numbers, and snippets that run."""

import os
import re
import subprocess
import sys
from pathlib import Path

import typer
from tests.docs.test_readme import ROOT

from stoic.cli.app import app
from stoic.runtime.tasks import MOST_DEEP, MOST_OPEN
from stoic.settings import SENDS_AT_ONCE
from stoic.testing import ScriptedProvider

PAGE = (ROOT / "docs" / "how-to" / "run-background-work.md").read_text(encoding="utf-8")
GROUPS = {"tasks", "approvals", "schedule", "memory"}


def test_every_command_of_the_page_exists():
    groups = typer.main.get_command(app).commands  # pyright: ignore[reportAttributeAccessIssue] - a group
    named = re.findall(r"stoic ((?:up|tasks|approvals|schedule|event|memory)(?: [a-z|]+)?)", PAGE)
    assert len(named) > 12
    for command in named:
        name, _, below = command.partition(" ")
        assert name in groups, command
        if name in GROUPS and below:
            assert set(below.split("|")) <= set(groups[name].commands), command


def test_the_numbers_are_the_constants():
    assert f"may have three owners above it, and {MOST_OPEN} tasks" in PAGE
    assert MOST_DEEP == 3
    assert f"`sends_at_once` ({SENDS_AT_ONCE})" in PAGE


def test_the_snippets_run(tmp_path: Path):
    tasks, approvals = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    body = "\n".join(f"    {line}" for line in tasks.splitlines())
    (tmp_path / "snippet.py").write_text(
        f"import asyncio\n{approvals}\nasync def main():\n{body}\n\nasyncio.run(main())\n"
    )
    with ScriptedProvider([["text:7 files", "stop"]]) as provider:
        environment = os.environ | {"OPENAI_BASE_URL": provider.base_url, "STOIC_DB": str(tmp_path / "log.db")}
        done = subprocess.run(
            [sys.executable, "snippet.py"], cwd=tmp_path, env=environment, check=False, capture_output=True, text=True
        )
    assert (done.returncode, done.stdout) == (0, "completed 7 files\n"), done.stderr
