"""Every order of what can happen to a task, up to six things: behind a refusal nothing runs, and each end is delivered once."""

import copy
from collections.abc import Callable

import pytest
from tests.core.world import Life, World, called, plan, report, said, tool

from stoic.core.commands import Commit, Send
from stoic.core.plan import TaskFacts
from stoic.records import Report, TextPart

LONGEST = 6


def answers(send: Send) -> Report:
    """Call a tool in the first round of a turn, answer in the next."""
    return called(("put", "{}")) if send.round == 1 else said("done")


def refuses(send: Send) -> Report:
    return report([TextPart(text="I cannot")], "content_filter")


def copied(world: World) -> World:
    """Return a world that goes on by itself: containers are copied, their values never change."""
    found = copy.copy(world)
    for name, value in vars(world).items():
        if isinstance(value, list | dict | set):
            setattr(found, name, copy.copy(value))
    return found


def run_with(world: World, reply: Callable[[Send], Report]) -> None:
    world.reply = reply
    Life(world).finish()


def refusal(world: World) -> None:
    run_with(world, refuses)


def stop(world: World) -> None:
    world.put("cancel", {})
    run_with(world, answers)


def message(world: World) -> None:
    """Tell the task something past every entrance: the entry is simply there."""
    world.message("go on")


def crash(world: World) -> None:
    """Let a process take its first steps and die."""
    world.reply = answers
    life, commits = Life(world), 0
    while not life.finished and commits < 2:
        commits += isinstance(life.command, Commit)
        life.step()


def restart(world: World) -> None:
    run_with(world, answers)


def delivery(world: World) -> None:
    """Let the owner's process look: what has been delivered stays what it was."""
    before = dict(world.deliveries)
    Life(world)
    assert world.deliveries == before


ACTIONS = [refusal, stop, message, crash, restart, delivery]


def check(world: World, before: World) -> None:
    stops = [row for row in world.rows if row.kind == "refusal_stop"]
    outcomes = world.outcomes()
    assert sorted(world.deliveries) == sorted(f"t.{each.turn}" for each in outcomes), "each end is delivered once"
    for each in outcomes:
        status = world.deliveries[f"t.{each.turn}"].status
        wanted = "cancelled" if each.refused or each.outcome == "cancelled" else "delivered"
        assert status == wanted
    assert len(stops) <= 1
    if any(row.kind == "refusal_stop" for row in before.rows):
        assert len(world.sends) == len(before.sends), "behind a tombstone nothing is sent"
        assert world.executed == before.executed, "behind a tombstone nothing runs"
        assert not any(row.visible for row in world.rows if row.seq > stops[0].seq), "nor shown to a model"


@pytest.mark.parametrize("first", ACTIONS)
def test_in_every_order_the_doors_hold(first: Callable[[World], None]):
    the_plan = plan(
        tool("put"), thread_kind="task", thread_scope="worker", task=TaskFacts(owner="o", root="o"), permissions={}
    )
    world = World(the_plan, answers)
    world.message("the brief")
    assert walk(world, first, 1) > 0, "no order met a tombstone"


def walk(world: World, action: Callable[[World], None], depth: int) -> int:
    """Do this, then everything that can follow; return how many of the orders met a tombstone."""
    found = copied(world)
    action(found)
    check(found, world)
    met = int(any(row.kind == "refusal_stop" for row in found.rows))
    if depth == LONGEST:
        return met
    return sum(walk(found, following, depth + 1) for following in ACTIONS)
