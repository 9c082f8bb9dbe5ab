"""Status functions are asked wherever an effect becomes unknown, again while it stays so, and the model is told what came of it."""

from typing import Any

import pytest
from msgspec.structs import replace
from tests.core.world import TROUBLE, Life, World, called, http, plan, run, said, scripted, tool

from stoic.core.commands import CallResult, Next
from stoic.core.statuses import MOST_ASKED, arguments_in
from stoic.records import Outcome, Row, ToolMessage, UserMessage

CALL = called(("pay", '{"cents":5}'))
LOST = CallResult(
    operation="t.1.1.0",
    text="timed out",
    state="unknown",
    failure="tool_timeout",
    ended_at=1,
    why="pay did not return (TimeoutError).",
)
TOLD = "operation t.1.1.0 of pay is"
BY_STATUS = " (the tool's own status function says so)."


def paying(*reports: Any, lost: CallResult = LOST, **facts: Any) -> World:
    world = World(plan(tool("pay", "send", **({"has_status": True} | facts))), scripted(CALL, *reports, said("ok")))
    world.results["t.1.1.0"] = lost
    world.message()
    return world


def say(world: World, text: str) -> None:
    """Run a turn that brings an answer and no call."""
    world.reply = scripted(said("ok"))
    world.message(text)
    run(world)


def result(world: World) -> ToolMessage:
    """Return what the model was told of the first call."""
    message = world.sends[1][1][-1]
    assert isinstance(message, ToolMessage)
    return message


def kinds(world: World, kind: str) -> list[Row]:
    return [row for row in world.rows if row.kind == kind]


@pytest.mark.parametrize(
    ("answer", "text", "error", "told"),
    [
        ("done", "says that operation t.1.1.0 of pay is done. Do not repeat it.", False, 0),
        ("not_done", "says that operation t.1.1.0 of pay is not done. The same call may be made again.", True, 0),
        ("unknown", "timed out", True, 1),
    ],
)
def test_a_call_that_has_become_unknown_is_asked_about_at_once(answer: str, text: str, error: bool, told: int):
    world = paying()
    world.statuses["t.1.1.0"] = answer
    run(world)
    why = "" if answer == "unknown" else "[runtime] pay did not return (TimeoutError). The tool's own status function "
    assert (result(world).text, result(world).error) == (why + text, error)
    (asked,) = world.asked
    assert (asked.operation.id, asked.arguments, asked.briefly) == ("t.1.1.0", '{"cents":5}', True)
    operation = world.operations["t.1.1.0"]
    assert (operation.state, operation.status, len(world.notices)) == ("unknown", answer, told)
    (row,) = kinds(world, "status")
    trouble = {"trouble": TROUBLE} if answer == "unknown" else {}
    assert row.content == {"operation": "t.1.1.0", "tool": "pay", "answer": answer} | trouble
    assert not row.visible


def test_an_end_without_a_reason_is_told_all_the_same():
    world = paying(lost=replace(LOST, why=None))
    world.statuses["t.1.1.0"] = "done"
    run(world)
    assert result(world).text.startswith("[runtime] This call has no result. The tool's own status function says")


def test_without_a_status_function_nobody_is_asked():
    world = paying(has_status=False)
    run(world)
    say(world, "again")
    assert (world.asked, kinds(world, "status"), result(world).text) == ([], [], "timed out")


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ("done", "[runtime] The turn was cancelled while this call ran. The tool's own status function says that"),
        ("not_done", "[runtime] The turn was cancelled while this call ran. The tool's own status function says that"),
        ("unknown", "[runtime] The turn was cancelled while this call ran. Effect unknown: operation t.1.1.0 of pay"),
    ],
)
def test_a_call_that_a_cancel_cuts_off_is_asked_about_before_the_turn_ends(answer: str, text: str):
    world = paying()
    world.statuses["t.1.1.0"] = answer
    life = Life(world)
    while not isinstance(life.command, Next):
        life.step()
    life.cancelling = world.put("cancel").id
    outcome = life.finish()
    assert isinstance(outcome, Outcome)
    assert outcome.outcome == "cancelled"
    assert [each.briefly for each in world.asked] == [True]
    assert world.operations["t.1.1.0"].status == answer
    assert kinds(world, "result")[0].content["text"].startswith(text)
    assert len(kinds(world, "status")) == 1


def test_what_a_status_function_said_of_an_earlier_run_does_not_hold_for_a_later_one():
    world = paying()
    world.statuses["t.1.1.0"] = "not_done"
    life = Life(world)
    while not isinstance(life.command, Next):
        life.step()
    life = Life(world)  # a crash: it did not happen, so it runs again, and times out this time
    while len(world.effects) < 2:
        life.step()
    world.statuses["t.1.1.0"] = "unknown"
    life.finish()
    assert (world.operations["t.1.1.0"].status, len(world.notices)) == ("unknown", 1)


@pytest.mark.parametrize(
    ("answer", "told"),
    [("done", "done; do not repeat it"), ("not_done", "not done; the same call may be made again")],
)
def test_a_later_turn_asks_again_and_tells_the_model_once(answer: str, told: str):
    world = paying()
    run(world)
    say(world, "and now?")
    assert [(each.arguments, each.briefly) for each in world.asked[1:]] == [(None, True)]
    assert kinds(world, "known") == []
    world.statuses["t.1.1.0"] = answer
    say(world, "and now?")
    view = world.sends[-1][1]
    note = f"[runtime] What was unknown is known now: {TOLD} {told}{BY_STATUS}"
    assert view[-2:] == [UserMessage(text="and now?"), UserMessage(text=note)]
    assert world.operations["t.1.1.0"].status == answer
    say(world, "and now?")
    assert (len(world.asked), len(kinds(world, "known")), kinds(world, "status")[-1].content["late"]) == (3, 1, True)


def test_a_turn_asks_about_few_of_many_unknown_operations():
    world = paying()
    run(world)
    operation = world.operations["t.1.1.0"]
    for number in range(MOST_ASKED + 5):
        world.operations[f"t.1.2.{number}"] = replace(operation, id=f"t.1.2.{number}", round=2, index=number)
    say(world, "next")
    assert [each.operation.id for each in world.asked[1:]] == [f"t.1.2.{number}" for number in range(5, MOST_ASKED + 5)]


def decide(world: World, decision: str) -> None:
    """Store what `stoic operations resolve` stores."""
    world.operations["t.1.1.0"] = replace(world.operations["t.1.1.0"], state="unknown", status=decision)
    content = {"operation": "t.1.1.0", "tool": "pay", "decision": decision, "state": "unknown", "status": "unknown"}
    newest = world.rows[-1]
    row = replace(newest, seq=newest.seq + 1, id="resolution", kind="resolution", role="system", content=content)
    world.rows.append(replace(row, visible=False, accepted=False, view=None, meta={}))


def test_the_next_turn_is_told_what_a_person_decided_until_it_has_answered():
    world = paying()
    run(world)
    decide(world, "done")
    world.reply = scripted(http(400, "invalid_request_error", "no"))
    world.message("fails")
    run(world)
    say(world, "well?")
    note = f"[runtime] What was unknown is known now: {TOLD} done; do not repeat it (a person says so)."
    assert world.sends[-1][1][-1] == UserMessage(text=note)
    assert [row.quarantine for row in kinds(world, "known")] == ["excluded", None]
    say(world, "more")
    assert (len(kinds(world, "known")), len(world.asked)) == (2, 1)


def test_what_a_person_decided_before_the_result_was_told_is_told_by_the_result_alone():
    world = paying()
    life = Life(world)
    while not isinstance(life.command, Next):
        life.step()
    decide(world, "done")
    run(world)
    assert "A person says that operation t.1.1.0 of pay is done" in result(world).text
    assert kinds(world, "known") == []


def test_behind_a_refusal_nobody_is_asked_and_nothing_is_told_until_the_provider_has_answered():
    world = paying()
    run(world)
    world.reply = scripted(http(400, "content_policy_violation", "no"))
    world.message("bad")
    run(world)
    decide(world, "not_done")
    before = len(world.asked)
    world.message("worse")
    run(world)
    assert (kinds(world, "known"), len(world.asked)) == ([], before)
    say(world, "good")
    say(world, "more")
    assert len(kinds(world, "known")) == 1


def test_the_arguments_of_an_earlier_call_are_those_it_ran_with():
    world = paying()
    run(world)
    operation = world.operations["t.1.1.0"]
    assert arguments_in(world.rows, operation) == '{"cents":5}'
    assert arguments_in([], operation) is None
    answer = replace(world.rows[1], kind="answer", content={"operation": "t.1.1.0", "arguments": {"cents": 7}})
    other = replace(answer, content={"operation": "t.1.1.1", "arguments": {"cents": 9}})
    plain = replace(answer, content={"operation": "t.1.1.0"})
    assert arguments_in([*world.rows, answer, other, plain], operation) == '{"cents":7}'
