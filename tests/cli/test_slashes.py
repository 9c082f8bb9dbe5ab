"""Which lines of a chat are commands, and which are messages."""

import pytest

from stoic.cli.slashes import COMMANDS, Slash, help_text, parse, switch_of, unknown
from stoic.errors import UsageError


@pytest.mark.parametrize(
    ("text", "slash"),
    [
        ("/help", Slash(name="help")),
        ("  /HELP \n", Slash(name="help")),
        ("/switch  openai-chat:x ", Slash(name="switch", argument="openai-chat:x")),
        ("/nope", Slash(name="nope")),
        ("/etc/hosts", None),
        ("/ hello", None),
        ("/2 of it", None),
        ("say /help", None),
        ("hello\n/help", None),
    ],
)
def test_line_is_a_command_only_when_a_word_follows_its_slash(text, slash):
    assert parse(text) == slash


@pytest.mark.parametrize(("typed", "near"), [("stats", "/status"), ("q", "/quit"), ("swich", "/switch")])
def test_unknown_command_names_the_nearest(typed, near):
    assert near in unknown(typed)


def test_help_names_every_command():
    assert [name for name in COMMANDS if f"/{name}" not in help_text()] == []


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("openai:m", ("openai:m", None)),
        ("--mode plan", (None, "plan")),
        ("--mode=plan openai:m", ("openai:m", "plan")),
        ("openai:m --mode plan", ("openai:m", "plan")),
    ],
)
def test_switch_names_a_model_a_mode_or_both(typed, meant):
    assert switch_of(typed) == meant


def test_a_mode_that_is_written_like_a_model_says_how_a_mode_is_written():
    with pytest.raises(UsageError, match=r"default names no model; write .*, or for a mode /switch --mode default$"):
        switch_of("default")


@pytest.mark.parametrize("typed", ["", "--mode", "a:b c:d", "--mod plan", "--mode plan --mode act"])
def test_a_switch_that_says_something_else_says_how_it_is_written(typed):
    with pytest.raises(UsageError, match="/switch"):
        switch_of(typed)
