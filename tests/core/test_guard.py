"""Loops in a thread's life: what is known of them outlives turns and processes, and only a person's message ends it (SPEC §11)."""

from copy import deepcopy
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.core.world import Life, Reply, World, called, http, plan, run, said, scripted, tool

from stoic.core.commands import CallResult, Commit
from stoic.core.guard import Guard
from stoic.core.history import CallState
from stoic.core.starting import MOST_RUNS
from stoic.records import CallPart, InboxEntry, Outcome, Report

LOOK = called(("look", "{}"))
TOOLS = (tool("look", "read"), tool("put", "write"), replace(tool("odd", "read"), check=lambda _: "`n` is missing"))
FROM_THREAD = {"kind": "note", "payload": 1, "text": "[event note]\n1", "from_thread": "other"}
FROM_OUTSIDE = {"kind": "mail", "payload": 1, "text": "[event mail]\n1"}
LOOPS: dict[str, Report] = {
    "a read": LOOK,
    "a write": called(("put", "{}")),
    "reads side by side": called(*[("look", "{}")] * 3),
    "a read and a write": called(("look", "{}"), ("put", "{}")),
    "no such tool": called(("nothing", "{}")),
    "bad arguments": called(("odd", "{}")),
    "the same words": called(("look", "{}"), text="Once more."),
    "the same words and no such tool": called(("nothing", "{}"), ("look", "{}"), text="Once more."),
}


def world_of(reply: Reply, **fields: Any) -> World:
    world = World(plan(*TOOLS, **fields), reply)
    world.result = lambda operation: CallResult(operation=operation, text="the same", state="returned")
    world.message()
    return world


def stuck(report: Report) -> World:
    """Return a thread that was stopped as a loop since its model always answers the same."""
    world = world_of(scripted(report))
    assert ending_of(world).reason == "stuck_loop"
    return world


def ending_of(world: World) -> Outcome:
    ending = run(world)
    assert isinstance(ending, Outcome)
    return ending


def counted(world: World, turn: int) -> list[str | None]:
    """Return what the rows of a turn's results say of the detector."""
    return [row.meta.get("loop") for row in world.rows if row.kind == "result" and row.turn == turn]


def let_through(world: World) -> list[str]:
    return [name for row in world.rows if row.kind == "let_through" for name in row.content["operations"]]


def in_turns(*turns: list[Report]) -> Reply:
    """Reply by position, turn after turn."""
    replies = iter([report for each in turns for report in each])
    return lambda _: next(replies)


# ---- the rule of a stop ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("a read", "global_breaker"),
        ("no such tool", "unknown_tool"),
        ("the same words", "text_repeat"),
        ("the same words and no such tool", "text_repeat"),
        ("a poll and then a read", "global_breaker"),
        ("a read and then a poll", "poll_no_progress"),
    ],
)
def test_a_stop_names_the_rule_of_its_last_block_also_in_a_generator_made_anew(name: str, rule: str):
    look, poll = [LOOK], [called(("poll", "{}"))]
    mixed = look * 25 + poll * 20 + look * 5
    endings = {"a poll and then a read": poll * 3 + look, "a read and then a poll": look * 3 + poll}
    replies = [*mixed, *endings[name]] if name in endings else [LOOPS[name]] * 40
    world = world_of(scripted(*replies))
    world.plan = plan(*TOOLS, tool("poll", "poll"))
    life = Life(world)
    while not isinstance(life.command, Commit) or all(row.kind != "outcome" for row in life.command.rows):
        life.step()
    life.generator.close()
    assert Guard(world.plan.tools, world.loops, world.history().uncounted).stop_rule == rule
    assert ending_of(world).reason == "stuck_loop"
    (told,) = world.notices.values()
    assert f"without news (rule {rule}), so" in told.text


def test_as_long_as_nothing_is_to_be_stopped_there_is_no_rule_of_a_stop():
    blocked_twice = world_of(scripted(*[LOOK] * 33, said("Done.")))
    assert ending_of(blocked_twice).outcome == "completed"
    assert counted(blocked_twice, 1)[-3:] == ["blocked"] * 3
    uncounted = [row for row in blocked_twice.rows if row.kind != "outcome"]
    assert Guard(blocked_twice.plan.tools, None, uncounted).stop_rule is None
    assert not blocked_twice.notices


# ---- across turns ---------------------------------------------------------------------------------


@pytest.mark.parametrize("opening", [("message", {"text": "go"}), ("event", FROM_OUTSIDE)])
def test_a_turn_that_counts_nothing_saves_nothing(opening):
    world = World(plan(*TOOLS), scripted(said("hello")))
    world.put(*opening)
    life = Life(world)
    while not life.finished:
        assert not isinstance(life.command, Commit) or life.command.guard is None
        life.step()
    assert world.loops is None


def test_two_frozen_calls_in_turn_are_blocked_at_call_33_however_many_turns_they_are_spread_over():
    pair = [called(("look", '{"n":1}')), called(("look", '{"n":2}'))]
    world = world_of(in_turns(*[[*pair, *pair, said("That is all for now.")]] * 9))
    run(world)
    for _ in range(8):
        world.put("event", FROM_THREAD)
        run(world)
    assert [each for turn in range(1, 10) for each in counted(world, turn)] == ["counted"] * 32 + ["blocked"] * 4


def test_compaction_excuses_one_rerun_of_a_call_and_forgets_nothing():
    world = world_of(in_turns([LOOK] * 15, [http(400, "context_length_exceeded")], [LOOK] * 20))
    assert ending_of(world).reason == "stuck_loop"
    assert [row.kind for row in world.rows].count("compaction") == 1
    assert len(world.executed) == 31


def test_a_fresh_start_between_two_turns_excuses_one_rerun_of_a_call_and_forgets_nothing():
    world = world_of(in_turns([LOOK] * 20, [said("Done.")], [LOOK] * 20))
    run(world)
    world.put("fresh")
    world.put("event", FROM_THREAD)
    assert ending_of(world).reason == "stuck_loop"
    assert {row.generation for row in world.rows} == {1, 2}
    assert len(world.executed) == 31


def test_a_persons_message_forgets_what_was_saved_and_a_turn_that_counts_nothing_after_it_says_so():
    world = stuck(LOOK)
    assert world.loops["ignored_blocks"] == 3
    world.message("stop that")
    world.reply = scripted(said("Fine."))
    run(world)
    assert world.loops == {}
    world.put("event", FROM_THREAD)
    world.reply = scripted(LOOK)
    run(world)
    assert counted(world, 3) == ["counted"] * 30 + ["blocked"] * 4


@pytest.mark.parametrize(
    ("opening", "ran"), [(("event", FROM_THREAD), 0), (("wake", {}), 0), (("event", FROM_OUTSIDE), 1)]
)
def test_after_a_stop_another_turn_may_ask_the_model_but_ends_at_the_first_call_that_is_blocked(opening, ran):
    world = stuck(LOOK)
    before, sends = len(world.executed), len(world.sends)
    world.put(*opening)
    assert ending_of(world).reason == "stuck_loop"
    assert len(world.executed) - before == ran
    assert len(world.sends) - sends == ran + 1
    assert counted(world, 2) == ["counted"] * ran + ["blocked"]


def test_after_a_stop_a_turn_that_does_something_else_completes():
    world = stuck(LOOK)
    world.put("event", FROM_THREAD)
    world.reply = in_turns([called(("put", "{}")), said("Done.")])
    assert ending_of(world).text == "Done."


def test_of_the_rows_only_calls_that_were_counted_and_words_beside_calls_count_again():
    world = world_of(in_turns([called(("look", "{}"), text="I look."), said("I look.")]))
    life = Life(world)
    while not world.executed:
        life.step()
    life.cancelling = ""
    life.finish()
    world.message()
    run(world)
    assert counted(world, 1) == [None]
    rows = [row for row in world.rows if row.kind in {"reply", "result"}]
    assert Guard(world.plan.tools, None, rows).unsaved()["calls"] == {}
    assert sum(Guard(world.plan.tools, None, rows).unsaved()["texts"].values()) == 1
    assert Guard(world.plan.tools, None, [row for row in rows if row.kind == "result"]).unsaved() is None


def test_a_state_of_another_version_counts_from_nothing():
    world = stuck(LOOK)
    world.loops = {"calls": "written by a later version"}
    world.put("event", FROM_THREAD)
    run(world)
    assert counted(world, 2) == ["counted"] * 30 + ["blocked"] * 4


def test_a_state_is_at_most_100_kb():
    guard = Guard({f"read_{number}": tool(f"read_{number}", "read") for number in range(90)})
    for number in range(4_000):
        name, arguments = f"read_{number % 90}", f'{{"path":"{number % 1_000}"}}'
        call = CallState(0, CallPart(name=name, arguments=arguments), f"t.1.{number}.0", number)
        guard.said(f"I read {'x' * number}.")
        guard.after(call, "Permission denied" if number % 3 == 0 else f"done in {number} ms", failed=number % 3 == 0)
    size = len(msgspec.json.encode(guard.unsaved()))
    assert 70_000 < size < 100_000


# ---- grants ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("calls", [1, 5])
def test_a_grant_lets_exactly_so_many_calls_run_and_then_the_old_state_holds(calls):
    world = stuck(LOOK)
    before = len(world.executed)
    world.put("grant", {"calls": calls})
    assert ending_of(world).reason == "stuck_loop"
    assert len(world.executed) - before == calls
    assert counted(world, 2) == ["counted"] * calls + ["blocked"] * 4
    assert let_through(world) == [f"t.2.{number}.0" for number in range(1, calls + 1)]


def test_a_grant_is_told_to_the_model_and_every_api_takes_the_view():
    world = stuck(LOOK)
    world.put("grant", {"calls": 1})
    run(world)
    row = next(row for row in world.rows if row.kind == "grant")
    assert (row.role, row.turn, row.content) == ("user", 2, {"calls": 1})
    assert "A person allows one more call" in row.view["text"]
    first = next(view for send, view in world.sends if send.upto_seq == row.seq)
    assert "A person allows" in first[-1].text


def test_reads_side_by_side_share_a_grant():
    world = stuck(called(*[("look", "{}")] * 4))
    world.put("grant", {"calls": 6})
    run(world)
    assert counted(world, 2)[:8] == ["counted"] * 6 + ["blocked"] * 2
    assert let_through(world) == [f"t.2.1.{index}" for index in range(4)] + ["t.2.2.0", "t.2.2.1"]


def test_a_grant_counts_only_calls_that_would_be_blocked():
    world = stuck(LOOK)
    world.put("grant", {"calls": 2})
    other = [called(("look", f'{{"n":{number}}}')) for number in range(3)]
    world.reply = in_turns([*other, LOOK, LOOK, said("Done.")])
    assert ending_of(world).text == "Done."
    assert let_through(world) == ["t.2.4.0", "t.2.5.0"]


def test_what_is_left_of_a_grant_is_there_in_the_next_turn_until_a_person_says_something():
    world = stuck(LOOK)
    world.put("grant", {"calls": 3})
    world.reply = in_turns([LOOK, said("Done.")], [LOOK, said("Done.")], [LOOK] * 40)
    run(world)
    world.put("event", FROM_THREAD)
    run(world)
    assert let_through(world) == ["t.2.1.0", "t.3.1.0"]
    world.message()
    run(world)
    assert counted(world, 4) == ["counted"] * 30 + ["blocked"] * 4


def test_a_grant_covers_calls_that_cannot_run_and_repeated_words():
    world = stuck(LOOPS["no such tool"])
    world.put("grant", {"calls": 2})
    run(world)
    assert counted(world, 2) == ["counted"] * 2 + ["blocked"] * 4
    words = stuck(LOOPS["the same words"])
    assert len(words.executed) == 10
    words.put("grant", {"calls": 3})
    run(words)
    assert len(words.executed) == 13


@pytest.mark.parametrize("answer", ["once", "deny"])
def test_a_call_that_a_person_is_asked_about_uses_up_a_grant_when_it_is_answered(answer):
    world = stuck(LOOPS["a write"])
    world.plan = replace(world.plan, permissions={"write": "ask"}, session="s")
    world.put("grant", {"calls": 1})
    run(world)
    assert let_through(world) == []
    world.put("answer", {"operation": "t.2.1.0", "tool": "put", "answer": answer, "session": "s"})
    run(world)
    assert let_through(world) == ["t.2.1.0"]
    assert counted(world, 2)[:1] == ["counted"]


def test_a_write_whose_effect_is_unknown_called_again_and_again_is_a_loop():
    world = world_of(scripted(LOOPS["a write"]))
    life = Life(world)
    while not world.executed:
        life.step()
    assert ending_of(world).reason == "stuck_loop"
    assert world.executed == ["t.1.1.0"]
    assert counted(world, 1) == [None, *["counted"] * 30, *["blocked"] * 4]


def test_a_grant_does_not_let_a_denied_call_be_repeated_for_ever():
    world = world_of(scripted(LOOPS["a write"]), permissions={"write": "deny"})
    run(world)
    world.put("grant", {"calls": 3})
    assert ending_of(world).reason == "stuck_loop"
    assert counted(world, 2) == ["counted"] * 3 + ["blocked"] * 4


def test_a_write_that_is_asked_about_again_after_a_crash_runs_under_the_grant_it_had():
    world = stuck(LOOPS["a write"])
    world.plan = plan(tool("look", "read"), tool("put", "write", has_status=True))
    world.put("grant", {"calls": 1})
    life = Life(world)
    while "t.2.1.0" not in world.executed:
        life.step()
    world.statuses["t.2.1.0"] = "not_done"
    run(world)
    assert world.executed.count("t.2.1.0") == 2
    assert let_through(world) == ["t.2.1.0"]


def test_a_grant_opens_a_turn_only_right_after_the_stop_it_is_meant_for():
    world = world_of(in_turns([said("Hello.")]))
    world.put("grant", {"calls": 1})
    run(world)
    assert run(world) is None
    stopped = stuck(LOOK)
    stopped.put("grant", {"calls": 1, "turn": 3})
    assert run(stopped) is None
    early: InboxEntry = stopped.inbox[0]
    stopped.message("go on")
    run(stopped)
    assert early not in stopped.inbox, "it is taken with the message, so that it cannot be used for a later loop"
    assert not any(row.kind == "grant" for row in stopped.rows)


# ---- crashes --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LOOPS)
def test_a_generator_made_anew_in_a_granted_turn_goes_on_like_the_living_one(name: str):
    world = stuck(LOOPS[name])
    world.put("grant", {"calls": 4})
    life, compared = Life(world), 0
    while not life.finished:
        was_commit = isinstance(life.command, Commit)
        life.step()
        running = any(operation.state == "running" for operation in world.operations.values())
        if was_commit and not life.finished and not running:
            assert Life(world).command == life.command
            compared += 1
    assert compared


@pytest.mark.parametrize("name", LOOPS)
@pytest.mark.parametrize("keeps_ends", [True, False])
@pytest.mark.parametrize("after", [True, False])
def test_a_crash_at_any_command_lets_not_one_call_more_through_and_saves_the_same_state(name, keeps_ends, after):
    start = stuck(LOOPS[name])
    start.put("grant", {"calls": 4})
    start.keeps_ends = keeps_ends
    whole = deepcopy(start)
    life, commands = Life(whole), 0
    while not life.finished:
        life.step()
        commands += 1
    for at in range(0, commands, max(1, commands // 9)):
        world = deepcopy(start)
        life = Life(world)
        for _ in range(at):
            life.step()
        if after:
            life.perform()
        run(world)
        assert len(world.outcomes()) == 2
        lost = any(row.content.get("failure") == "unknown" for row in world.rows if row.kind == "result")
        if (
            lost
        ):  # a write of which nothing is known: its equals are refused for another reason, and that is news at first
            assert len(set(let_through(world))) == len(let_through(world)) <= 4
        else:
            assert let_through(world) == let_through(whole)
            assert world.loops == whole.loops


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_what_is_saved_does_not_depend_on_how_often_the_process_died(data: st.DataObject):
    reports = data.draw(st.lists(st.sampled_from([*LOOPS.values(), said("Enough.")]), min_size=1, max_size=4))
    script = [report for report in reports for _ in range(data.draw(st.integers(1, 12)))]
    openings = data.draw(st.lists(st.sampled_from([FROM_THREAD, FROM_OUTSIDE]), max_size=2))
    grants = data.draw(st.integers(0, 3))

    lives = data.draw(st.lists(st.integers(0, 300), max_size=MOST_RUNS - 1))

    def play(lives: list[int]) -> World:
        world = world_of(scripted(*script, said("Done.")))
        world.plan = plan(TOOLS[0], tool("put", "write", idempotent=True), TOOLS[2])
        for turn in range(len(openings) + 2):
            while len(world.outcomes()) == turn:
                life = Life(world)
                for _ in range(lives.pop() if lives else 10_000):
                    if life.finished:
                        break
                    life.step()
                assert life.ending is not None or not life.finished
            if turn < len(openings):
                world.put("event", openings[turn])
            elif turn == len(openings) and grants and world.outcomes()[-1].reason == "stuck_loop":
                world.put("grant", {"calls": grants})
            else:
                break
        return world

    living, dying = play([]), play(lives)
    assert let_through(living) == let_through(dying)
    assert living.loops == dying.loops
