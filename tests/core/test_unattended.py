"""A turn that nobody watches and that does not complete is told of once, unless something else tells it (SPEC §13)."""

from typing import Any

import pytest
from tests.core.world import Life, World, called, ended, http, plan, report, run, said, scripted, tool

from stoic.core.budget import Bounds, Limits
from stoic.core.commands import CallResult, Cancelled, Send
from stoic.core.plan import TaskFacts
from stoic.records import Outcome, Parked, Report

DOWN = http(503, "overloaded")
WRONG = http(400, "invalid_request_error")
REFUSED = report([], "content_filter")
LOOK = tool("look", "read")
NEVER_ENDS = called(("look", "{}"))


def world_of(*reports: Report, **fields: Any) -> World:
    return World(plan(LOOK, **{"is_attended": False} | fields), scripted(*reports))


def opened(world: World) -> World:
    world.put("event", {"kind": "schedule", "payload": {}, "text": "[event schedule]\nLook."})
    return world


def told(world: World) -> list[str]:
    return [each.text for each in world.notices.values() if each.kind == "turn_ended"]


@pytest.mark.parametrize(
    ("reports", "limits", "why"),
    [
        ([DOWN], Limits(), "failed (overloaded)"),
        ([WRONG], Limits(), "failed (invalid_request)"),
        ([NEVER_ENDS] * 3, Limits(max_rounds=2), "stopped (budget)"),
        ([called(("look", "{}"), text="cut")], Limits(max_tokens=1), "stopped (budget)"),
        ([report([], "stop")] * 2, Limits(), "failed (empty_response)"),
        ([http(499, "client_closed_request")], Limits(), "cancelled (cancelled)"),
    ],
)
def test_what_went_wrong_unwatched_is_told_once_with_what_there_is_to_do(reports, limits: Limits, why: str):
    world = opened(world_of(*reports, limits=limits))
    while isinstance(waiting := run(world), Parked):  # for its provider to recover
        world.now_ms = waiting.until_ms or world.now_ms
    (notice,) = world.notices.values()
    assert (notice.key, notice.priority) == ("turn_ended:t:1", "normal")
    assert notice.text == f"Turn 1 did not complete while nobody watched: {why}, with openai-chat:m."
    assert notice.actions == ["stoic show t", "stoic run --thread t MESSAGE"]


@pytest.mark.parametrize(
    "fields", [{"is_attended": True}, {"task": TaskFacts(owner="o"), "thread_kind": "task"}], ids=["attended", "owned"]
)
def test_who_watches_or_owns_a_turn_is_told_otherwise(fields: dict[str, Any]):
    world = opened(world_of(WRONG, **fields))
    assert ended(world).outcome == "failed"
    assert not world.notices


def test_a_task_that_no_thread_owns_is_told_of():
    world = opened(world_of(WRONG, thread_kind="task"))
    ended(world)
    assert len(told(world)) == 1


def test_nothing_is_told_of_a_turn_that_completes():
    world = opened(world_of(said("ok")))
    ended(world)
    assert not world.notices


def test_nothing_is_told_of_a_turn_that_a_person_stopped():
    life = Life(opened(world_of(said("never"))))
    while not isinstance(life.command, Send):
        life.step()
    life._resume(Cancelled(now_ms=life.world.now_ms))
    outcome = life.finish()
    assert isinstance(outcome, Outcome)
    assert (outcome.outcome, life.world.notices) == ("cancelled", {})


@pytest.mark.parametrize(
    ("reports", "limits", "kind"),
    [
        ([REFUSED] * 4, Limits(), "refusal"),
        ([NEVER_ENDS] * 60, Limits(), "stuck_loop"),
        ([NEVER_ENDS] * 3, Limits(per_thread=Bounds(rounds=2)), "budget"),
    ],
)
def test_what_another_notice_tells_is_not_told_twice(reports, limits: Limits, kind: str):
    world = opened(world_of(*reports, limits=limits))
    world.result = lambda operation: CallResult(operation=operation, text="the same", state="returned")
    assert ended(world).outcome == "stopped"
    assert {each.kind for each in world.notices.values()} == {kind}


def test_a_task_that_cannot_go_on_is_told_of_without_a_model():
    world = opened(world_of(candidates=[], is_interrupted=True, thread_kind="task"))
    assert ended(world).failure_class == "interrupted"
    assert told(world) == ["Turn 1 did not complete while nobody watched: failed (interrupted)."]
