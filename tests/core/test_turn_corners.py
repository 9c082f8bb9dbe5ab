"""Corners of a turn that a review found: each was a way to repeat a write, to hang, or to go round a verdict."""

import pytest
from msgspec.structs import replace
from tests.core.test_routing import DOWN, A, asked, turn, world_of
from tests.core.world import Life, World, called, http, plan, report, run, said, scripted, tool

from stoic.core import notes
from stoic.core.commands import AskStatus, CallResult, Next, Unsendable
from stoic.core.plan import ASK_FOR_EFFECTS
from stoic.records import Health, Outcome, Parked, ToolMessage, UserMessage

UNKNOWN = CallResult(operation="t.1.1.0", text="timed out", state="unknown", failure="tool_timeout")


def paying(status: str, **facts) -> World:
    reports = [called(("pay", "{}")), called(("pay", "{}")), called(("pay", "{}")), said("ok")]
    world = World(plan(tool("pay", has_status=True, **facts)), scripted(*reports))
    world.results["t.1.1.0"] = UNKNOWN
    world.statuses["t.1.1.0"] = status
    world.message()
    return world


def test_an_equal_call_of_a_write_known_to_be_done_is_told_so_and_not_run():
    world = paying("unknown")
    life = Life(world)
    while not world.asked:
        life.step()
    world.statuses["t.1.1.0"] = "done"
    life.finish()
    assert world.effects.count("t.1.2.0") == 0
    result = world.sends[2][1][-1]
    assert isinstance(result, ToolMessage)
    assert "The tool's own status function says that operation t.1.1.0 of pay is done" in result.text


@pytest.mark.parametrize("facts", [{"idempotent": True}, {"keyed": True}])
def test_status_is_asked_before_even_a_repeatable_write_runs_again(facts: dict):
    world = World(plan(tool("pay", has_status=True, **facts)), scripted(called(("pay", "{}")), said("ok")))
    world.statuses["t.1.1.0"] = "done"
    world.message()
    life = Life(world)
    while not isinstance(life.command, Next):
        life.step()
    run(world)
    assert world.effects == ["t.1.1.0"]


@pytest.mark.parametrize(
    ("facts", "runs"),
    [
        ({"keyed": True, "has_status": True}, 1),
        ({"has_status": True}, 1),
        ({"keyed": True}, 2),
        ({"idempotent": True}, 2),
        ({"idempotent": True, "has_status": True}, 2),
    ],
)
def test_while_a_status_function_does_not_know_no_key_makes_a_lost_write_run_again(facts: dict, runs: int):
    world = World(plan(tool("pay", **facts)), scripted(called(("pay", "{}")), said("ok")))
    world.message()
    life = Life(world)
    while not isinstance(life.command, Next):
        life.step()
    run(world)
    assert world.effects == ["t.1.1.0"] * runs


def test_a_cancel_while_a_status_function_is_asked_ends_the_turn():
    world = paying("unknown")
    life = Life(world)
    while not (isinstance(life.command, AskStatus) and not life.command.briefly):
        life.step()
    life.cancelling = world.put("cancel").id
    outcome = life.finish()
    assert isinstance(outcome, Outcome)
    assert outcome.outcome == "cancelled"


def test_a_cancel_while_the_status_of_a_lost_write_is_asked_ends_the_turn_and_leaves_it_unknown():
    world = World(plan(tool("pay", has_status=True)), scripted(called(("pay", "{}")), said("ok")))
    world.message()
    life = Life(world)
    while not isinstance(life.command, Next):
        life.step()
    resumed = Life(world)
    while not isinstance(resumed.command, AskStatus):
        resumed.step()
    resumed.cancelling = world.put("cancel").id
    outcome = resumed.finish()
    assert isinstance(outcome, Outcome)
    assert outcome.outcome == "cancelled"
    assert world.operations["t.1.1.0"].state == "unknown"


@pytest.mark.parametrize("answer", ["No!", "", "yes", "always"])
def test_only_the_two_known_words_allow_a_write(answer: str):
    world = World(plan(tool("send", "send"), permissions=ASK_FOR_EFFECTS), scripted(called(("send", "{}")), said("ok")))
    world.message()
    run(world)
    world.put("answer", {"operation": "t.1.1.0", "tool": "send", "answer": answer, "session": "s"})
    run(world)
    assert world.effects == []


def test_a_denied_call_made_again_and_again_is_a_loop_too():
    world = World(plan(tool("put"), permissions={"write": "deny"}), scripted(called(("put", "{}"))))
    world.message()
    outcome = run(world)
    assert isinstance(outcome, Outcome)
    assert outcome.reason == "stuck_loop"
    assert outcome.rounds <= 34


def test_a_broken_view_ends_the_turn_as_a_bug_and_the_thread_goes_on():
    world = World(plan(), scripted(said("ok")))
    world.message("first")
    life = Life(world)
    while not life.finished:
        if world.rows and not world.sends:
            life._resume(Unsendable(why="message 0 is empty", now_ms=world.now_ms))
            break
        life.step()
    outcome = life.finish()
    assert isinstance(outcome, Outcome)
    assert (outcome.outcome, outcome.failure_class) == ("failed", "internal")
    world.message("second")
    run(world)
    assert world.sends[-1][1] == [UserMessage(text="second")]


def test_what_was_said_to_have_one_round_answered_leaves_with_the_turn():
    world = World(plan(), scripted(said(""), DOWN))
    world.message("first")
    run(world)
    world.now_ms += 31_000
    world.reply = scripted(said("ok"))
    world.message("second")
    run(world)
    assert world.sends[-1][1] == [UserMessage(text="first"), UserMessage(text="second")]


def test_a_refused_fingerprint_that_comes_back_is_still_refused():
    world = world_of([report([], "content_filter"), said("other tools"), DOWN], [said("round it")])
    assert turn(world).refused
    first = world.plan
    world.plan = replace(first, fingerprint="other")
    assert turn(world).text == "other tools"
    world.plan = first
    assert turn(world).outcome == "failed"
    assert set(asked(world)) == {"a"}


def test_a_crash_in_a_trial_goes_on_with_it():
    world = world_of([DOWN, DOWN, DOWN, DOWN, said("back")], [], candidates=[A])
    turn(world)
    world.now_ms += 31_000
    world.message()
    life = Life(world)
    while world.health["A"].state != "half_open":
        life.step()
    assert world.health["A"].trial_holder == "t"
    outcome = run(world)
    assert isinstance(outcome, Outcome)
    assert outcome.text == "back"
    assert world.health["A"] == Health(route="A")


def test_a_cancelled_trial_gives_its_slot_back():
    world = world_of([DOWN], [], candidates=[A])
    turn(world)
    world.now_ms += 31_000
    world.message()
    life = Life(world)
    while world.health["A"].state != "half_open":
        life.step()
    life.cancelling = ""
    life.finish()
    assert (world.health["A"].state, world.health["A"].trial_until_ms) == ("half_open", None)


def test_a_breaker_that_another_worker_opens_ends_the_retries():
    world = world_of([DOWN], [said("ok")])
    world.message()
    life = Life(world)
    while len(world.sends) < 1:
        life.step()
    opened = Health(
        route="A", state="open", until_ms=world.now_ms + 60_000, waits_for="time", failure_class="overloaded"
    )
    world.others_health = [opened]
    life.finish()
    assert asked(world) == "ab"
    assert world.health.get("A") != Health(route="A")


def test_the_words_of_a_failure_are_kept_for_a_person_and_those_of_a_refusal_are_not():
    said_so = http(400, "invalid_request_error", "Unsupported parameter 'x'; key sk-abcdefghijklmnop was used")
    world = World(plan(), scripted(said_so))
    world.message()
    outcome = run(world)
    assert isinstance(outcome, Outcome)
    assert "It said: \"Unsupported parameter 'x'; key [key] was used\"." in outcome.message
    world = World(plan(), scripted(http(400, "content_policy_violation", "Your words about X are forbidden")))
    world.message()
    run(world)
    assert not any("forbidden" in str(row.content) for row in world.rows)


@pytest.mark.parametrize("begun", [False, True])
def test_a_task_that_cannot_go_on_ends_interrupted_and_is_delivered_once(begun: bool):
    asking = plan(tool("pay"), permissions=ASK_FOR_EFFECTS, thread_kind="task")
    world = World(asking, scripted(called(("pay", "{}"))))
    world.message()
    if begun:
        assert isinstance(run(world), Parked)
    sends = len(world.sends)
    world.plan = plan(candidates=[], thread_kind="task", is_interrupted=True)
    outcome = run(world)
    assert isinstance(outcome, Outcome)
    assert (outcome.failure_class, outcome.recovers_with, outcome.message) == (
        "interrupted",
        "never",
        notes.INTERRUPTED,
    )
    assert (len(world.sends), world.effects, world.inbox) == (sends, [], [])
    assert [each.status for each in world.deliveries.values()] == ["failed"]
    assert [row.content["failure"] for row in world.rows if row.kind == "result"] == ["cancelled"] * begun


def test_an_interrupted_task_takes_an_event_that_came_between_its_turns_and_says_so():
    world = World(plan(candidates=[], thread_kind="task", is_interrupted=True), scripted(said("never")))
    world.put("event", {"kind": "task_ended", "payload": {}, "text": "[task u ended]"})
    outcome = run(world)
    assert isinstance(outcome, Outcome)
    assert (outcome.failure_class, world.inbox) == ("interrupted", [])
    world.put("compact")
    assert run(world) is None, "nobody can sum anything up"


def test_a_wake_behind_the_event_that_opens_a_turn_is_taken_once():
    world = World(plan(), scripted(said("seen")))
    world.put("event", {"kind": "mail", "payload": {}, "text": "[event mail]"})
    world.put("wake")
    outcome = run(world)
    assert isinstance(outcome, Outcome)
    assert (outcome.text, world.inbox) == ("seen", [])
