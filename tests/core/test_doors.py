"""Behind a tombstone: what still comes is taken, a turn left open is settled once, and nothing is sent (SPEC §12)."""

from typing import Any

from msgspec.structs import replace
from tests.core.world import World, called, plan, report, run, said, scripted, tool

from stoic.core.commands import CallResult
from stoic.core.plan import TaskFacts
from stoic.records import Outcome, Row, ShellFact


def refused_world(**fields: Any) -> World:
    """Return a task that ended by refusal."""
    fields = {"thread_kind": "task", "task": TaskFacts(owner="o", root="o")} | fields
    world = World(plan(tool("pay"), tool("look", "read"), **fields), scripted(report([], "content_filter")))
    world.message("brief")
    outcome = run(world)
    assert isinstance(outcome, Outcome)
    assert outcome.refused
    return world


def left_open(**operation: Any) -> World:
    """Return a task whose tombstone is in the log and whose turn has no outcome: an old log, or a foreign one."""
    world = refused_world()
    stone = next(row for row in world.rows if row.kind == "refusal_stop")
    world.reply = scripted(called(("pay", "{}"), ("look", "{}")), said("never"))
    fresh = World(world.plan, world.reply)
    fresh.result = lambda each: CallResult(operation=each, text="", state="returned")
    fresh.message("brief")
    run(fresh)
    reply = next(row for row in fresh.rows if row.kind == "reply")
    fresh.rows = [*fresh.rows[: reply.seq], replace(stone, seq=reply.seq + 1)]
    fresh.operations = {key: replace(each, **operation) for key, each in fresh.operations.items()}
    fresh.deliveries, fresh.sends, fresh.executed = {}, [], []
    return fresh


def rows(world: World, kind: str) -> list[Row]:
    return [row for row in world.rows if row.kind == kind]


def test_what_comes_for_a_refused_task_is_taken_and_nothing_runs():
    world = refused_world()
    before, sends = list(world.rows), len(world.sends)
    for kind in ("message", "event", "wake", "answer", "cancel", "compact", "fresh", "switch"):
        world.put(kind, {"text": "again"})
    world.put("reveal", {"rows": [1], "by": "kay"})
    assert run(world) is None
    assert world.inbox == []
    assert len(world.sends) == sends
    assert [row.kind for row in world.rows[len(before) :]] == ["reveal"], "who looked is told behind a tombstone too"
    assert run(world) is None
    assert len(world.deliveries) == 1


def test_a_turn_that_was_left_open_behind_a_tombstone_is_settled_as_refused_and_delivered_once():
    world = left_open(state="running", started_at=5, runs=1, ended_at=None)
    world.shells = [ShellFact(id="s1", state="running")]
    world.put("message", {"text": "go on"})
    seen = len(world.rows)
    outcome = run(world)
    assert isinstance(outcome, Outcome)
    assert (outcome.outcome, outcome.reason, outcome.refused) == ("stopped", "refused", True)
    assert outcome.refusal is not None
    assert (outcome.refusal.provider, outcome.refusal.model) == ("openai-chat", "m")
    assert "This thread does not run again" in outcome.message
    assert (world.sends, world.executed, world.inbox) == ([], [], [])
    new = world.rows[seen:]
    assert [row.kind for row in new] == ["result", "result", "outcome"]
    assert not any(row.visible for row in new), "no model is shown anything behind a tombstone"
    paid, looked = world.operations["t.1.1.0"], world.operations["t.1.1.1"]
    assert (paid.state, looked.state) == ("unknown", "raised")
    (delivery,) = world.deliveries.values()
    assert (delivery.id, delivery.status) == ("t.1", "cancelled")
    assert delivery.receipt["operations"] == [{"id": "t.1.1.0", "tool": "pay", "state": "unknown"}]
    assert delivery.receipt["shells"] == [{"id": "s1", "state": "running"}]
    assert run(world) is None
    assert len(world.deliveries) == 1


def test_a_tombstone_that_says_nothing_still_keeps_its_thread_from_running():
    world = left_open(state="intended", started_at=None, runs=0, ended_at=None)
    world.rows[-1] = replace(world.rows[-1], content={})
    outcome = run(world)
    assert isinstance(outcome, Outcome)
    assert (outcome.refused, world.sends, world.executed) == (True, [], [])
