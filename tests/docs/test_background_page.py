"""What the page about background work says is what the program has: commands, options, numbers, and snippets that run."""

import re

import typer
from tests.docs.test_readme import ROOT

from stoic.cli.app import app
from stoic.runtime.tasks import MOST_DEEP, MOST_OPEN
from stoic.settings import SENDS_AT_ONCE

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
