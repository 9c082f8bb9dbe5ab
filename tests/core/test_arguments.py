"""Which calls the journal takes for the same operation: those that would do the same outside (SPEC §10)."""

import msgspec
import pytest
from tests.core.world import Life, World, called, plan, run, said, scripted, tool

from stoic.core.arguments import LONGEST, arguments_key, arguments_of
from stoic.core.commands import Next
from stoic.core.loops.call import Effect
from stoic.records import Json, Outcome

Pair = tuple[str, Effect | None, Json, Json]

SAME: dict[str, Pair] = {
    "another timeout": ("shell", "exec", {"command": "make", "timeout_seconds": 5}, {"command": "make"}),
    "another patience": ("run", "exec", {"cmd": "make", "yield_time_ms": 5}, {"cmd": "make", "block": True}),
    "an explanation": ("shell", "exec", {"command": "make", "description": "Build."}, {"command": "make"}),
    "spacing": ("shell", "exec", {"command": " make   all "}, {"command": "make all"}),
    "an undeclared shell": ("bash", None, {"command": "make", "timeout": 5}, {"command": "make", "timeout": 9}),
    "key order": ("pay", "send", {"a": 1, "b": 2}, {"b": 2.0, "a": 1.0}),
    "absent is null": ("pay", "send", {"a": 1, "b": None}, {"a": 1}),
    "a reason": ("pay", "send", {"amount": 1, "reasoning": "They asked."}, {"amount": 1, "reasoning": "Once more."}),
    "a key of the model's own": ("pay", "send", {"amount": 1, "idempotency_key": "a"}, {"amount": 1}),
    "a path": ("write_file", "write", {"path": "./a/b", "content": "x"}, {"path": "a//b", "content": "x"}),
}
DIFFERENT: dict[str, Pair] = {
    "another command": ("shell", "exec", {"command": "make"}, {"command": "make all"}),
    "spacing inside quotes": ("shell", "exec", {"command": "echo 'a  b'"}, {"command": "echo 'a b'"}),
    "a timeout that is the content": ("configure", "write", {"timeout_seconds": 5}, {"timeout_seconds": 9}),
    "a timeout beside an address": ("watch_site", "write", {"url": "u", "timeout": 5}, {"url": "u", "timeout": 9}),
    "a thought that is the content": ("note", "write", {"thought": "a"}, {"thought": "b"}),
    "a description that is the content": ("open_issue", "send", {"description": "a"}, {"description": "b"}),
    "another amount": ("pay", "send", {"amount": 1}, {"amount": 2}),
    "another content": ("write_file", "write", {"path": "a", "content": "x"}, {"path": "a", "content": "y"}),
    "arguments that are no object": ("pay", "send", [1], [2]),
}


@pytest.mark.parametrize("name", SAME)
def test_what_makes_no_difference_outside_makes_none_to_the_journal(name: str):
    tool_name, effect, one, other = SAME[name]
    assert arguments_key(tool_name, one, effect) == arguments_key(tool_name, other, effect)


@pytest.mark.parametrize("name", DIFFERENT)
def test_what_may_make_a_difference_outside_makes_one_to_the_journal(name: str):
    tool_name, effect, one, other = DIFFERENT[name]
    assert arguments_key(tool_name, one, effect) != arguments_key(tool_name, other, effect)


def test_two_tools_are_never_the_same():
    assert arguments_key("pay", {"a": 1}, "send") != arguments_key("pay2", {"a": 1}, "send")


def world_with_unknown_command() -> World:
    """A shell command was cut off; the model then asks for it with more time."""
    first = called(("shell", '{"command":"make deploy","timeout_seconds":10}'))
    again = called(("shell", '{"timeout_seconds":600,"command":"make deploy"}'))
    world = World(plan(tool("shell", "exec", loop_key=["timeout_seconds"])), scripted(first, again, said("ok")))
    world.message()
    life = Life(world)
    while not isinstance(life.command, Next):
        life.step()
    return world


def test_an_unknown_command_is_not_repeated_with_another_timeout():
    world = world_with_unknown_command()
    assert isinstance(run(world), Outcome)
    assert world.effects == ["t.1.1.0"]
    refused = next(row for row in world.rows if row.kind == "result" and row.round == 2)
    assert "operation t.1.1.0 was the same call of shell with equal arguments" in refused.content["text"]


def test_the_journal_keys_what_has_an_effect_and_nothing_else():
    world = World(plan(tool("look", "read"), tool("put")), scripted(called(("look", "{}"), ("put", "{}")), said("ok")))
    world.message()
    run(world)
    assert [bool(world.operations[f"t.1.1.{index}"].arguments_key) for index in range(2)] == [False, True]


def test_arguments_longer_than_any_model_writes_are_not_read():
    assert arguments_of('"' + "x" * (LONGEST - 2) + '"') == "x" * (LONGEST - 2)
    with pytest.raises(msgspec.DecodeError, match=f"at most {LONGEST} characters are read"):
        arguments_of('"' + "x" * (LONGEST - 1) + '"')
