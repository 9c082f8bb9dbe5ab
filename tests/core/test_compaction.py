"""What no longer fits is summed up once per turn; without a usable summary nothing is lost (SPEC §6, §14)."""

import pytest
from msgspec.structs import replace
from tests.core.world import Life, World, called, http, plan, report, run, said, scripted, tool

from stoic.core import notes
from stoic.core.commands import Send, Summarise
from stoic.core.replay import messages
from stoic.records import AssistantMessage, Outcome, Report, ToolMessage, UserMessage

FULL = http(400, "context_length_exceeded", "too long")


def world_of(*reports: Report) -> World:
    world = World(plan(tool("look", "read")), scripted(said("first answer")))
    world.message("first question")
    run(world)
    world.reply = scripted(*reports)
    world.message("second question")
    return world


def test_a_full_context_is_summed_up_and_the_round_sent_once_more():
    world = world_of(FULL, said("second answer"))
    outcome = run(world)
    assert isinstance(outcome, Outcome)
    assert (outcome.outcome, outcome.text) == ("completed", "second answer")
    view = world.sends[-1][1]
    assert view == [UserMessage(text=notes.summary("what happened before")), UserMessage(text="second question")]
    assert [row.generation for row in world.rows if row.kind == "reply"] == [1, 2]
    assert world.rows[-1].segment == "t.2#1"


def test_the_next_turn_goes_on_in_the_new_generation():
    world = world_of(FULL, said("second answer"))
    run(world)
    world.reply = scripted(said("third answer"))
    world.message("third question")
    run(world)
    assert [type(message) for message in world.sends[-1][1]] == [
        UserMessage,
        UserMessage,
        AssistantMessage,
        UserMessage,
    ]


def test_the_newest_replies_of_the_turn_are_kept_word_for_word():
    calls = [called(("look", f'{{"n":{n}}}'), text=f"step {n}") for n in range(4)]
    world = world_of(*calls, FULL, said("done"))
    assert run(world) is not None
    view = world.sends[-1][1]
    assert isinstance(view[0], UserMessage)
    assert view[1] == UserMessage(text="second question")
    assert [message.text for message in view if isinstance(message, AssistantMessage)] == ["step 2", "step 3"]
    assert [message.text for message in view if isinstance(message, ToolMessage)] == [
        "result of t.2.3.0",
        "result of t.2.4.0",
    ]
    before = messages([row for row in world.rows if row.generation == 1])
    assert before[-2:] == view[-2:], "a kept row is the same bytes to a model"


def test_it_is_done_once_per_turn():
    world = world_of(FULL)
    outcome = run(world)
    assert isinstance(outcome, Outcome)
    assert outcome.failure_class == "context_length"
    assert (len(world.summarised), len(world.sends)) == (1, 1 + 2)


def test_a_first_message_that_is_too_long_is_not_summed_up():
    world = World(plan(), scripted(FULL))
    world.message("far too long")
    outcome = run(world)
    assert isinstance(outcome, Outcome)
    assert (outcome.failure_class, world.summarised) == ("context_length", [])
    assert notes.NOTHING_TO_COMPACT in outcome.message
    world.reply = scripted(said("ok"))
    world.message("short")
    run(world)
    assert world.sends[-1][1] == [UserMessage(text="short")]


@pytest.mark.parametrize("summary", [None, "", "  \n"])
def test_an_unusable_summary_leaves_the_history_unchanged(summary: str | None):
    world = world_of(FULL, said("never"))
    world.summary = summary
    outcome = run(world)
    assert isinstance(outcome, Outcome)
    assert (outcome.failure_class, outcome.recovers_with) == ("context_length", "compaction")
    assert not any(row.kind == "compaction" for row in world.rows)
    world.reply = scripted(said("ok"))
    world.message("third question")
    run(world)
    assert [message.text for message in world.sends[-1][1]] == ["first question", "first answer", "third question"]


def test_a_crash_before_or_after_the_summary_sums_up_and_ends_once():
    for at in range(12):
        world = world_of(FULL, said("second answer"))
        life = Life(world)
        for _ in range(at):
            if not life.finished:
                life.step()
        if not life.finished:
            life.perform()
        if len(world.outcomes()) == 1:
            assert isinstance(run(world), Outcome)
        assert [outcome.outcome for outcome in world.outcomes()] == ["completed", "completed"]
        assert sum(row.kind == "compaction" for row in world.rows) == 1


def test_a_cancel_while_it_is_summed_up_ends_the_turn():
    world = world_of(FULL, said("second answer"))
    life = Life(world)
    while not isinstance(life.command, Summarise):
        life.step()
    life.cancelling = world.put("cancel").id
    outcome = life.finish()
    assert isinstance(outcome, Outcome)
    assert outcome.outcome == "cancelled"


def test_a_second_compaction_keeps_what_the_first_kept():
    world = world_of(FULL, said("second answer"))
    run(world)
    calls = [called(("look", f'{{"n":{n}}}'), text=f"step {n}") for n in range(3)]
    world.reply = scripted(*calls, FULL, said("third answer"))
    world.message("third question")
    run(world)
    world.reply = scripted(FULL, said("fourth answer"))
    world.message("fourth question")
    run(world)
    assert world.rows[-1].generation == 4
    assert world.sends[-1][1][-1] == UserMessage(text="fourth question")


def test_a_refused_reply_after_compaction_is_still_a_refusal():
    world = world_of(FULL, report([], "content_filter"))
    outcome = run(world)
    assert isinstance(outcome, Outcome)
    assert outcome.refused


def test_a_send_after_compaction_counts_its_own_retries():
    down = http(503, "server_error")
    world = world_of(down, FULL, down, down, down, said("ok"))
    world.plan = replace(world.plan, health_policy=replace(world.plan.health_policy, threshold=99))
    outcome = run(world)
    assert isinstance(outcome, Outcome)
    assert outcome.outcome == "completed"
    assert all(isinstance(send, Send) for send, _ in world.sends)
