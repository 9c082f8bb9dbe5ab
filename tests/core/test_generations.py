"""Generations that a person begins between two turns: a fresh start, a compaction, and what either leaves (SPEC §2, §14)."""

import pytest
from msgspec.structs import replace
from tests.core.world import ROUTE, Life, World, called, http, plan, report, run, said, scripted, tool

from stoic.core import notes
from stoic.core.boundaries import settle
from stoic.core.commands import Cancelled, Commit, Committed, Route, Summarise
from stoic.core.plan import Candidate
from stoic.core.refusal import card, state_of
from stoic.records import AssistantMessage, Outcome, Report, ToolMessage, Usage, UserMessage

REFUSED = report([], "content_filter")


def world_of(*reports: Report, **fields: object) -> World:
    """Return a world in which one turn is done."""
    world = World(plan(tool("look", "read"), **fields), scripted(*(reports or [said("first answer")])))
    world.message("first question")
    run(world)
    return world


def kinds(world: World) -> list[str]:
    return [row.kind for row in world.rows]


def ask(world: World, text: str, *reports: Report) -> Outcome:
    world.reply = scripted(*(reports or [said("answer")]))
    world.message(text)
    outcome = run(world)
    assert isinstance(outcome, Outcome)
    return outcome


# ---- fresh start -----------------------------------------------------------------------------------


def test_a_fresh_start_is_taken_at_once_where_no_turn_is_open():
    world = world_of()
    entry = world.put("fresh")
    assert run(world) is None
    row = world.rows[-1]
    assert (row.kind, row.role, row.visible, row.generation, row.segment) == ("fresh", "system", False, 2, "t.2#1")
    assert (row.meta["entries"], world.inbox) == ([entry.id], [])


def test_the_next_generation_begins_without_history():
    world = world_of()
    world.put("fresh")
    assert ask(world, "second question").text == "answer"
    assert world.sends[-1][1] == [UserMessage(text="second question")]
    assert [row.segment for row in world.rows if row.kind == "message"] == ["t.1#1", "t.2#1"]


def test_a_thread_stopped_by_a_refusal_goes_on_after_a_fresh_start():
    world = world_of(REFUSED)
    assert world.history().refusals != []
    world.put("event", {"kind": "mail", "payload": 1, "text": "news"})
    assert run(world) is None, "what no person causes waits"
    world.put("fresh")
    world.reply = scripted(said("ok"))
    outcome = run(world)
    assert isinstance(outcome, Outcome)
    assert outcome.text == "ok"
    assert world.sends[-1][1] == [UserMessage(text="news")]
    assert world.history().refusals == []


def test_a_fresh_start_waits_for_the_open_turn_and_for_the_messages_before_it():
    world = world_of()
    world.message("second question")
    world.reply = scripted(said("second answer"))
    life = Life(world)
    life.step()
    world.put("fresh")
    world.message("third question")
    life.finish()
    world.reply = scripted(said("third answer"))
    run(world)
    assert kinds(world)[-7:] == ["message", "reply", "outcome", "fresh", "message", "reply", "outcome"]
    assert [message.text for message in world.sends[-2][1]] == ["first question", "first answer", "second question"]
    assert world.sends[-1][1] == [UserMessage(text="third question")]


def test_the_last_of_several_fresh_starts_takes_all_that_was_asked_for_before_it():
    world = world_of()
    for kind in ("compact", "fresh", "fresh"):
        world.put(kind)
    run(world)
    assert (kinds(world).count("fresh"), world.summarised, world.inbox) == (1, [], [])


def test_a_grant_for_a_turn_that_was_left_behind_opens_none():
    world = World(plan(tool("put"), permissions={"write": "deny"}), scripted(called(("put", "{}"))))
    world.message()
    outcome = run(world)
    assert isinstance(outcome, Outcome)
    assert outcome.reason == "stuck_loop"
    world.put("grant", {"calls": 3})
    world.put("fresh")
    assert run(world) is None
    assert kinds(world)[-1] == "fresh"


def test_a_fresh_start_before_the_first_turn_opens_the_second_generation():
    world = World(plan(), scripted(said("ok")))
    world.put("fresh")
    assert run(world) is None
    assert (world.rows[0].turn, world.rows[0].generation) == (0, 2)
    world.message()
    run(world)
    assert world.rows[1].segment == "t.2#1"


def test_only_what_stands_before_the_next_turn_is_taken_when_none_may_open():
    world = world_of()
    world.put("fresh")
    world.message("second question")
    generator = settle(world.history(), world.plan, world.inbox, 1)
    command = next(generator)
    assert isinstance(command, Commit)
    with pytest.raises(StopIteration):
        generator.send(Committed(rows=world.commit(command), now_ms=2))
    assert [entry.kind for entry in world.inbox] == ["message"]
    life = Life(world)
    life.step()
    world.put("fresh")
    assert list(settle(world.history(), world.plan, world.inbox, 1)) == [], "a turn is open"


# ---- compaction that a person asked for --------------------------------------------------------------


def test_a_person_has_the_conversation_summed_up_between_two_turns():
    world = world_of()
    ask(world, "second question", said("second answer"))
    entry = world.put("compact")
    assert run(world) is None
    compaction = next(row for row in world.rows if row.kind == "compaction")
    assert (compaction.meta["cause"], compaction.meta["entries"], compaction.segment) == ("person", [entry.id], "t.2#1")
    assert world.to_sum_up(world.summarised[0]) == [
        UserMessage(text="first question"),
        replace(first_answer(world), text="first answer"),
    ]
    assert [message.text for message in world.view()] == [
        notes.summary("what happened before"),
        "second question",
        "second answer",
    ]
    ask(world, "third question")
    assert world.sends[-1][1][:-1] == world.view()[:3]


def first_answer(world: World) -> AssistantMessage:
    found = world.to_sum_up(world.summarised[0])[1]
    assert isinstance(found, AssistantMessage)
    return found


def test_of_a_long_turn_its_input_and_its_newest_replies_are_kept():
    calls = [called(("look", f'{{"n":{n}}}'), text=f"step {n}") for n in range(3)]
    world = world_of(*calls, said("done"))
    world.put("compact")
    run(world)
    view = world.view()
    assert [message.text for message in view] == [
        notes.summary("what happened before"),
        "first question",
        "step 2",
        "result of t.1.3.0",
        "done",
    ]
    assert isinstance(view[3], ToolMessage)


def test_kept_rows_are_accepted_as_their_originals_are_and_say_nothing_of_their_own_arrival():
    world = world_of()
    ask(world, "second question", http(503, "server_error"))  # fails by an outage: the words stay, not accepted
    ask(world, "third question", http(503, "server_error"))
    world.health.clear()
    world.put("compact")
    run(world)
    kept = [row for row in world.rows if row.kind == "kept"]
    assert [(row.content["text"], row.accepted) for row in kept] == [
        ("second question", False),
        ("third question", False),
    ]
    assert all(row.meta.keys() == {"kind", "turn", "of"} for row in kept)
    assert world.history().increment[1:] == kept


def test_where_everything_would_be_kept_there_is_nothing_to_sum_up():
    world = world_of()
    world.put("compact")
    run(world)
    row = world.rows[-1]
    assert (row.kind, row.content["why"], row.content["cause"]) == ("compaction_failed", "nothing", "person")
    assert (world.inbox, world.summarised, world.history().generation) == ([], [], 1)


def test_a_thread_without_turns_has_nothing_to_sum_up():
    world = World(plan(), scripted(said("ok")))
    world.put("compact")
    assert run(world) is None
    assert (world.rows[0].content["why"], world.rows[0].turn) == ("nothing", 0)


def test_several_wishes_are_one_compaction():
    world = world_of()
    ask(world, "second question")
    entries = [world.put("compact").id for _ in range(2)]
    run(world)
    assert len(world.summarised) == 1
    assert next(row for row in world.rows if row.kind == "compaction").meta["entries"] == entries


def test_what_a_person_asks_for_is_sent_although_the_provider_refused_and_clears_the_refusal():
    world = world_of()
    ask(world, "second question", REFUSED)
    assert world.history().refusals != []
    world.summing = lambda _: said("in short")
    world.put("compact")
    run(world)
    assert world.summarised[0].may_repeat
    assert world.history().refusals == []
    compaction = next(row for row in world.rows if row.kind == "compaction")
    assert compaction.meta["usage"] == {"input_tokens": 10, "output_tokens": 2}


def test_a_cancel_while_it_is_summed_up_leaves_everything_and_the_message_behind_it_is_cancelled_too():
    world = world_of()
    ask(world, "second question")
    world.put("compact")
    world.message("third question")
    life = Life(world)
    assert isinstance(life.command, Summarise)
    life.cancelling = world.put("cancel").id
    outcome = life.finish()
    assert isinstance(outcome, Outcome)
    assert outcome.outcome == "cancelled"
    assert [row.content["why"] for row in world.rows if row.kind == "compaction_failed"] == ["cancelled"]
    assert world.inbox == []


def test_no_request_of_the_runtimes_own_goes_to_a_route_that_is_closed():
    world = world_of()
    ask(world, "second question")
    ask(world, "third question", http(401, "invalid_api_key"))
    world.put("compact")
    run(world)
    assert (world.rows[-1].content["why"], world.summarised) == ("blocked", [])


def test_a_summary_is_asked_of_the_bound_provider_alone():
    other = Route(provider="anthropic", api="messages", model="n")
    candidates = [Candidate(route=other, key="B"), Candidate(route=ROUTE, key="A")]
    world = world_of()
    ask(world, "second question")
    world.plan = replace(world.plan, candidates=candidates)
    world.put("compact")
    run(world)
    assert world.summarised[0].route == other


@pytest.mark.parametrize("kind", ["fresh", "compact"])
@pytest.mark.parametrize("refuses", [False, True])
def test_a_crash_at_every_command_ends_in_the_same_rows(kind: str, refuses: bool):
    def begin() -> World:
        world = world_of()
        ask(world, "second question", said("second answer", usage=Usage(input_tokens=1)))
        world.summing = lambda _: REFUSED if refuses else said("in short")
        world.put(kind)
        world.message("third question")
        world.reply = scripted(said("third answer"))
        return world

    whole = begin()
    run(whole)
    for after in (False, True):
        for at in range(8):
            world = begin()
            life = Life(world)
            for _ in range(at):
                if not life.finished:
                    life.step()
            if after and not life.finished:
                life.perform()
            while world.inbox or world.history().open_turn:
                run(world)
            assert [(row.kind, row.content, row.segment) for row in world.rows] == [
                (row.kind, row.content, row.segment) for row in whole.rows
            ]
            assert len(world.outcomes()) == 3
            assert len(world.notices) == (refuses and kind == "compact")


def test_a_probe_state_of_an_older_generation_is_forgotten_and_of_this_one_kept():
    world = world_of()
    state = state_of({"provider": "openai-chat", "model": "m", "refusals": 1, "refused_at": 5, "segment": "t.1#1"})
    step = [replace(world.rows[-1], seq=9, kind="refusal", content=card(state, skipped=True))]
    history = world.history()
    history.fold(step[0])
    assert history.refusal_of("openai-chat") == state
    history.fold(replace(step[0], seq=10, kind="fresh", content={}, generation=2))
    assert history.refusal_of("openai-chat") is None


def test_a_cancel_of_a_compaction_without_a_message_leaves_the_cancel_to_the_next_turn():
    world = world_of()
    ask(world, "second question")
    world.put("compact")
    life = Life(world)
    cancel = world.put("cancel").id
    life.cancelling = cancel
    assert isinstance(life.perform(), Cancelled)
    life.finish()
    assert [entry.id for entry in world.inbox] == [cancel]
    assert ask(world, "third question").outcome == "completed"
