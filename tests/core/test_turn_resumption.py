"""Crashes and cancels at every command, and random ones: a resumed turn continues like the living one (SPEC §16)."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.core.test_repairs import CORRUPT, NO_ROOM, TOO_LARGE, UNSIGNED
from tests.core.world import Life, World, called, cut, http, plan, report, run, said, scripted, tool

from stoic.core.budget import Limits
from stoic.core.commands import Commit, Next, PlannedCall, Send, Sleep, Start
from stoic.core.replay import gate, messages
from stoic.records import CallPart, Outcome, Parked, Report, TextPart, ThinkingPart, UserMessage

TOOLS = (
    tool("look", "read"),
    tool("poll", "poll"),
    tool("pay", "send"),
    tool("put", "write"),
    tool("ship", "send", has_status=True),
    tool("set", "write", idempotent=True),
    tool("key", "send", keyed=True),
)
THOUGHT = report([ThinkingPart(text="hm", signature="sealed"), CallPart(name="look", arguments="{}")], "tool_calls")
MOST_SENDS = 4 + 3 + 3 + 1
"""Of a round: four by the clock, one with each note, one of each changed request, one after compaction."""
SCRIPTS: dict[str, list[Report]] = {
    "plain": [said("hello")],
    "retries": [http(503, "server_error"), cut(TextPart(text="ha")), said("hello")],
    "gives up": [http(503, "server_error")],
    "empty": [said(""), said("")],
    "half call": [report([CallPart(name="pay", arguments='{"a', whole=False)], "length"), said("ok")],
    "reads": [called(("look", "{}"), ("look", '{"n":1}'), ("poll", "{}")), said("ok")],
    "writes": [called(("pay", '{"n":1}'), ("put", "{}"), ("pay", '{"n":2}')), said("ok")],
    "mixed": [
        called(("look", "{}"), ("pay", '{"n":1}'), ("look", '{"n":2}'), ("nothing", "{}")),
        http(529, "overloaded_error"),
        called(("ship", '{"n":1}'), ("set", "{}"), ("key", "{}")),
        said("ok"),
    ],
    "loop": [called(("look", "{}"), text="I look."), called(("look", "{}"))],
    "write loop": [called(("put", "{}"))],
    "refused": [called(("look", "{}")), report([TextPart(text="x")], "content_filter")],
    "invalid": [http(400, "invalid_request_error")],
    "no room": [http(503, "server_error"), NO_ROOM, called(("look", "{}")), NO_ROOM, said("ok")],
    "images": [called(("look", "{}")), TOO_LARGE, said("ok")],
    "new image": [TOO_LARGE, http(503, "server_error"), TOO_LARGE],
    "signature": [THOUGHT, UNSIGNED, called(("pay", "{}")), http(503, "server_error"), said("ok")],
    "corrupt": [THOUGHT, CORRUPT, UNSIGNED],
}


def world_of(reports: list[Report], **fields: object) -> World:
    world = World(plan(*TOOLS, **fields), scripted(*reports))
    world.put("message", {"text": "go", "images": [{"media_type": "image/png", "data_base64": "AA=="}]})
    return world


def running(world: World) -> bool:
    return any(operation.state == "running" for operation in world.operations.values())


def check_sound(world: World) -> None:
    """The invariants that must hold at the end of every history."""
    assert len(world.outcomes()) == 1, "a turn has exactly one outcome"
    for prefix in range(len(world.rows) + 1):
        gate([*messages(world.rows[:prefix]), UserMessage(text="next")])
    repeats = Counter(world.effects)
    for operation, times in repeats.items():
        facts = world.plan.tools[world.operations[operation].tool]
        proven = facts.idempotent or facts.keyed or world.statuses.get(operation) == "not_done"
        assert times == 1 or proven, f"{operation} took effect {times} times without proof"
    results = Counter(row.content["operation"] for row in world.rows if row.kind == "result")
    assert all(times == 1 for times in results.values()), "a call has exactly one result"
    calls = [
        part for row in world.rows if row.kind == "reply" for part in row.content["parts"] if part["type"] == "call"
    ]
    assert len(calls) == results.total(), "every call has a result"
    assert not any(operation.state in {"intended", "running"} for operation in world.operations.values())
    starts = Counter((send.round, send.attempt) for send, _ in world.sends)
    assert all(attempt <= MOST_SENDS for _, attempt in starts), "the attempts of a round are bounded"


@pytest.mark.parametrize("name", SCRIPTS)
def test_after_every_commit_a_new_generator_yields_the_living_ones_next_command(name: str):
    world, compared = world_of(SCRIPTS[name]), 0
    life = Life(world)
    while not life.finished:
        was_commit = isinstance(life.command, Commit)
        life.step()
        if was_commit and not life.finished and not running(world):
            assert Life(world).command == life.command
            compared += 1
    assert compared
    check_sound(world)


def crashes(name: str, *, after: bool, keeps_ends: bool = False) -> None:
    """Die once at every command (in a long turn at 40 of them), before it or right after it was performed, and go on."""
    total = 0
    life = Life(world_of(SCRIPTS[name]))
    while not life.finished:
        life.step()
        total += 1
    for at in range(0, total, max(1, total // 40)):
        world = world_of(SCRIPTS[name])
        world.keeps_ends = keeps_ends
        life = Life(world)
        for _ in range(at):
            life.step()
        if after:
            life.perform()
        if world.outcomes():
            assert run(world) is None
        else:
            assert isinstance(run(world), Outcome)
        check_sound(world)


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_crash_before_any_command_leads_to_one_sound_end(name: str):
    crashes(name, after=False)


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_crash_after_any_command_leads_to_one_sound_end(name: str):
    crashes(name, after=True)


@pytest.mark.parametrize("name", SCRIPTS)
def test_where_ends_are_written_down_a_crash_after_any_command_repeats_nothing_that_ended(name: str):
    crashes(name, after=True, keeps_ends=True)


@pytest.mark.parametrize("status", ["done", "not_done", "unknown"])
def test_a_lost_write_is_repeated_only_when_its_status_says_not_done(status: str):
    world = world_of([called(("ship", "{}")), said("ok")])
    world.statuses["t.1.1.0"] = status
    life = Life(world)
    while not isinstance(life.command, Next):
        life.step()
    assert isinstance(run(world), Outcome)
    assert len(world.effects) == (2 if status == "not_done" else 1)
    operation = world.operations["t.1.1.0"]
    assert operation.state == ("returned" if status == "not_done" else "unknown")
    check_sound(world)


def test_a_lost_undeclared_write_is_not_repeated_and_its_result_says_unknown():
    world = world_of([called(("put", "{}")), said("ok")])
    life = Life(world)
    while not isinstance(life.command, Next):
        life.step()
    run(world)
    assert world.effects == ["t.1.1.0"]
    result = next(row for row in world.rows if row.kind == "result")
    assert "Effect unknown" in result.content["text"]


def test_a_crash_in_every_run_of_a_keyed_write_never_starts_another_operation():
    world = world_of([called(("key", "{}")), said("ok")])
    for _ in range(5):
        life = Life(world)
        while not isinstance(life.command, Next):
            life.step()
    run(world)
    assert set(world.effects) == {"t.1.1.0"}
    check_sound(world)


@pytest.mark.parametrize("name", SCRIPTS)
@pytest.mark.parametrize("kind", [Send, Next, Sleep])
def test_a_cancel_at_any_wait_ends_the_turn_in_a_valid_log(name: str, kind: type):
    waits = 0
    life = Life(world_of(SCRIPTS[name]))
    while not life.finished:
        waits += isinstance(life.command, kind)
        life.step()
    for at in range(0, waits, max(1, waits // 20)):
        world = world_of(SCRIPTS[name])
        life, seen = Life(world), -1
        while not life.finished:
            seen += isinstance(life.command, kind)
            if seen == at and isinstance(life.command, kind) and life.cancelling is None:
                life.cancelling = world.put("cancel").id
            life.step()
        assert isinstance(life.ending, Outcome)
        assert life.ending.outcome == "cancelled"
        assert world.inbox == []
        check_sound(world)
        world.message("again")
        world.reply = scripted(said("fine"))
        assert isinstance(run(world), Outcome)


def test_a_cancelled_write_is_unknown_and_a_call_not_started_is_not():
    world = world_of([called(("pay", '{"n":1}'), ("pay", '{"n":2}')), said("ok")])
    life = Life(world)
    while not isinstance(life.command, Next):
        life.step()
    life.cancelling = ""
    life.finish()
    assert [world.operations[f"t.1.1.{index}"].state for index in range(2)] == ["unknown", "raised"]
    assert world.operations["t.1.1.1"].runs == 0


def test_a_started_operation_read_or_write_was_stored_as_running_before():
    world = world_of(SCRIPTS["mixed"])
    life = Life(world)
    while not life.finished:
        if isinstance(life.command, Start):
            for planned in life.command.calls:
                assert isinstance(planned, PlannedCall)
                assert world.operations[planned.operation.id] == planned.operation
                assert planned.operation.state == "running"
        life.step()


def replies() -> st.SearchStrategy[Report]:
    calls = st.lists(
        st.tuples(
            st.sampled_from([each.name for each in TOOLS] + ["nothing"]), st.sampled_from(["{}", '{"n":1}', "[]", "{"])
        ),
        min_size=1,
        max_size=4,
    )
    return st.one_of(
        st.builds(
            said, st.sampled_from(["", " ", "text", "more text"]), finish=st.sampled_from(["stop", "length", "odd"])
        ),
        calls.map(lambda each: called(*each)),
        calls.map(lambda each: replace(called(*each), finish="length")),
        st.sampled_from(
            [
                http(503, "server_error"),
                http(429, "rate_limit_exceeded"),
                http(429, "insufficient_quota"),
                http(401, "invalid_api_key"),
                http(400, "invalid_request_error"),
                http(400, "context_length_exceeded"),
                NO_ROOM,
                TOO_LARGE,
                CORRUPT,
                UNSIGNED,
                THOUGHT,
                http(418, "teapot"),
                cut(TextPart(text="half")),
                cut(CallPart(name="pay", arguments="", whole=False)),
                report([TextPart(text="no")], "content_filter"),
            ]
        ),
    )


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_random_scripts_with_random_crashes_cancels_and_answers_always_end_sound(data: st.DataObject):
    permissions = data.draw(st.sampled_from([{}, {"send": "ask", "write": "deny"}, {"write": "ask"}]))
    reports = data.draw(st.lists(replies(), min_size=1, max_size=6))
    world = world_of([*reports, said("end")], permissions=permissions, session="s", limits=Limits(max_rounds=8))
    world.keeps_ends = data.draw(st.booleans())
    for status in data.draw(st.lists(st.sampled_from(["done", "not_done", "unknown"]), max_size=3)):
        world.statuses[f"t.1.{len(world.statuses) + 1}.0"] = status
    lives, may_cancel = 0, True
    while not world.outcomes():
        lives += 1
        assert lives < 200, "the turn runs for ever"
        life = Life(world)
        fate = data.draw(st.integers(0, 12)) if lives < 20 else 99
        for _ in range(fate * 3):
            if life.finished:
                break
            if may_cancel and data.draw(st.integers(0, 30)) == 0:
                life.cancelling, may_cancel = world.put("cancel").id, False
            life.step()
        if isinstance(life.ending, Parked):
            for question in life.ending.questions:
                answer = data.draw(st.sampled_from(["once", "session", "deny"]))
                content = {"operation": question.operation, "tool": question.tool, "answer": answer, "session": "s"}
                world.put("answer", content)
        elif not life.finished and data.draw(st.booleans()):
            life.perform()
    check_sound(world)


def test_the_world_itself_notices_a_repeated_write():
    world = world_of([called(("pay", "{}")), said("ok")])
    run(world)
    world.effects.append(world.effects[0])
    with pytest.raises(AssertionError, match="without proof"):
        check_sound(world)
