"""Approvals: asked whatever the permissions say, within a time, maybe with other arguments, and told to the model as data (SPEC §10)."""

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace
from tests.core.world import Life, World, called, ended, parked, plan, said, scripted, tool

from stoic.core.arguments import arguments_key
from stoic.core.commands import AskStatus, CallResult, Start
from stoic.core.plan import ASK_FOR_EFFECTS
from stoic.records import ImagePart, Question, Row, ToolMessage

SECONDS = 600
PAY = tool("pay", approval_seconds=SECONDS)
ONE = ("pay", '{"euro":1}')
PLAIN = "result of t.1.1.0"


def world_of(*calls: tuple[str, str], **fields: Any) -> World:
    world = World(plan(PAY, tool("send", "send"), **fields), scripted(called(*(calls or [ONE])), said("done")))
    world.message()
    return world


def question(world: World) -> Question:
    (asked,) = parked(world).questions
    return asked


def answer(world: World, said_: str, **more: object) -> None:
    world.put("answer", {"operation": "t.1.1.0", "tool": "pay", "answer": said_, "session": "s"} | more)


def result(world: World) -> Row:
    return next(row for row in world.rows if row.kind == "result")


def shown(world: World) -> str:
    """Return what the model sees of the first call."""
    return next(message.text for message in world.sends[-1][1] if isinstance(message, ToolMessage))


def run_with(world: World) -> list[str]:
    """Run to the end and return the arguments that calls were started with."""
    life, started = Life(world), list[str]()
    while not life.finished:
        if isinstance(life.command, Start):
            started += [each.call.arguments for each in life.command.calls]
        life.step()
    return started


def test_an_approval_is_asked_for_each_call_whatever_the_permissions_say_and_for_no_session():
    world = world_of(permissions={}, session="s")
    asked = question(world)
    assert (asked.operation, asked.tool, asked.effect, asked.arguments) == ("t.1.1.0", "pay", "write", '{"euro":1}')
    assert asked.allowed_answers == ["once", "deny"]
    assert asked.expires_at_ms is not None
    answer(world, "once", by="kay", channel="cli")
    assert ended(world).outcome == "completed"
    assert world.effects == ["t.1.1.0"]
    assert shown(world) == f'[approval] {{"decision":"allowed","by":"kay"}}\n{PLAIN}'
    assert result(world).content["text"] == PLAIN, "the log keeps what came back as it came"
    world.reply = scripted(called(ONE), said("again"))
    world.message()
    assert parked(world).questions[0].operation == "t.2.1.0"


def test_a_question_keeps_its_time_and_the_turn_looks_again_when_the_first_is_over():
    world = world_of(("pay", '{"euro":1}'), ("send", "{}"), ("pay", '{"euro":2}'), permissions=ASK_FOR_EFFECTS)
    first = parked(world)
    assert [each.operation for each in first.questions] == ["t.1.1.0", "t.1.1.1", "t.1.1.2"]
    assert first.until_ms == first.questions[0].expires_at_ms
    assert [each.expires_at_ms for each in first.questions] == [first.until_ms, None, first.until_ms]
    before = len(world.rows)
    world.now_ms += 1000 * SECONDS // 2
    assert parked(world) == first, "a question that is asked again does not begin anew"
    assert len(world.rows) == before


def test_nobodys_answer_is_a_denial_that_says_so():
    world = world_of()
    asked_ms = world.rows[-1].created_at if world.rows else world.now_ms
    until_ms = parked(world).until_ms
    assert until_ms is not None
    assert until_ms - asked_ms >= 1000 * SECONDS
    world.now_ms = until_ms - 1
    parked(world)
    world.now_ms = until_ms
    assert ended(world).outcome == "completed"
    assert world.effects == []
    assert "Nobody decided about this call of pay in time; it was not run." in shown(world)
    assert "[approval]" not in shown(world)
    assert result(world).content["failure"] == "tool_denied"
    operation = world.operations["t.1.1.0"]
    assert (operation.state, operation.runs) == ("raised", 0)


def test_an_answer_counts_though_its_time_is_over_when_it_is_read():
    world = world_of()
    until_ms = parked(world).until_ms
    assert until_ms is not None
    answer(world, "once")
    world.now_ms = until_ms + 1
    assert ended(world).outcome == "completed"
    assert world.effects == ["t.1.1.0"]


def test_a_denial_with_its_reason_is_told_and_the_call_not_run():
    world = world_of()
    parked(world)
    answer(world, "deny", by="kay", reason="too much")
    assert ended(world).outcome == "completed"
    assert world.effects == []
    header, _, text = shown(world).partition("\n")
    assert header == '[approval] {"decision":"denied","by":"kay","reason":"too much"}'
    assert text.startswith("[runtime] A person denied this call of pay")


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({}, ""),
        ({"by": "kay"}, ""),
        ({"reason": "fine"}, '[approval] {"decision":"allowed","reason":"fine"}\n'),
        ({"arguments": {"n": 2}}, '[approval] {"decision":"allowed","arguments_used":{"n":2}}\n'),
    ],
)
def test_of_a_permission_the_model_is_told_when_it_says_more_than_yes(more: dict[str, object], told: str):
    world = world_of(("send", "{}"), permissions=ASK_FOR_EFFECTS)
    parked(world)
    answer(world, "once", tool="send", **more)
    assert ended(world).outcome == "completed"
    assert shown(world) == told + PLAIN


def test_a_call_runs_with_the_arguments_that_a_person_gave_it_and_counts_as_that_call():
    world = world_of()
    parked(world)
    edited = {"euro": 5}
    answer(world, "once", by="kay", arguments=edited)
    assert run_with(world) == ['{"euro":5}']
    assert world.operations["t.1.1.0"].arguments_key == arguments_key("pay", edited, "write")
    assert shown(world).startswith('[approval] {"decision":"allowed","by":"kay","arguments_used":{"euro":5}}\n')
    assert msgspec.json.decode(world.rows[1].content["parts"][0]["arguments"]) == {"euro": 1}, "the reply stays"


def test_edited_arguments_of_a_read_leave_its_operation_as_it_was():
    look = tool("look", "read", approval_seconds=SECONDS)
    world = World(plan(look), scripted(called(("look", "{}")), said("done")))
    world.message()
    parked(world)
    answer(world, "once", tool="look", arguments={"n": 1})
    assert run_with(world) == ['{"n":1}']
    assert world.operations["t.1.1.0"].arguments_key == ""


def test_edited_arguments_that_do_not_fit_run_nothing_and_say_what_is_wrong():
    picky = replace(PAY, check=lambda said_: "`euro` must be positive" if said_["euro"] < 0 else None)
    world = World(plan(picky), scripted(called(ONE), said("done")))
    world.message()
    parked(world)
    answer(world, "once", arguments={"euro": -1})
    assert ended(world).outcome == "completed"
    assert world.effects == []
    assert "The call of pay was not run: as a person changed it: `euro` must be positive" in shown(world)
    assert result(world).content["failure"] == "bad_arguments"


def test_a_denial_is_a_denial_whatever_arguments_came_with_it():
    picky = replace(PAY, check=lambda said_: "`euro` must be positive" if said_["euro"] < 0 else None)
    world = World(plan(picky), scripted(called(ONE), said("done")))
    world.message()
    parked(world)
    answer(world, "deny", arguments={"euro": -1})
    assert ended(world).outcome == "completed"
    assert (result(world).content["failure"], world.effects) == ("tool_denied", [])


def test_an_edited_call_equal_to_one_whose_effect_is_unknown_is_not_run():
    world = world_of(("send", '{"n":1}'), ONE, permissions={})
    lost = CallResult(operation="t.1.1.0", text="lost", state="unknown", failure="unknown", ended_at=5)
    world.results["t.1.1.0"] = lost
    world.plan = replace(world.plan, tools={**world.plan.tools, "send": replace(PAY, name="send", effect="send")})
    parked(world)
    answer(world, "once", tool="send")
    parked(world)
    world.put("answer", {"operation": "t.1.1.1", "tool": "pay", "answer": "once", "session": "s"})
    assert ended(world).outcome == "completed"
    world.reply = scripted(called(("send", '{"n":2}')), said("done"))
    world.message()
    parked(world)
    effects = list(world.effects)
    edited = {"operation": "t.2.1.0", "tool": "send", "answer": "once", "session": "s", "arguments": {"n": 1}}
    world.put("answer", edited)
    assert ended(world).outcome == "completed"
    assert world.effects == effects
    last = [row for row in world.rows if row.kind == "result"][-1]
    assert "operation t.1.1.0 was the same call of send with equal arguments" in last.content["text"]


def test_a_decision_stands_before_the_warning_of_a_loop():
    replies = [called(ONE) for _ in range(10)]
    world = World(plan(PAY), scripted(*replies, said("done")))
    world.result = lambda operation: CallResult(operation=operation, text="the same", state="returned")
    world.message()
    for number in range(1, 11):
        parked(world)
        world.put(
            "answer", {"operation": f"t.1.{number}.0", "tool": "pay", "answer": "once", "session": "s", "by": "kay"}
        )
    assert ended(world).outcome == "completed"
    text = [message.text for message in world.sends[-1][1] if isinstance(message, ToolMessage)][-1]
    header, output, warning = text.split("\n", 2)
    assert (header, output) == ('[approval] {"decision":"allowed","by":"kay"}', "the same")
    assert warning.startswith("\n[runtime] ")


def test_a_status_function_is_asked_about_the_arguments_that_the_call_really_had():
    world = World(plan(replace(PAY, has_status=True)), scripted(called(ONE), said("done")))
    world.message()
    parked(world)
    answer(world, "once", arguments={"euro": 5})
    life = Life(world)
    while not world.effects:
        life.step()
    life.generator.close()
    world.statuses["t.1.1.0"] = "done"
    life, asked = Life(world), list[str | None]()
    while not life.finished:
        if isinstance(life.command, AskStatus):
            asked.append(life.command.arguments)
        life.step()
    assert asked == ['{"euro":5}']
    assert world.effects == ["t.1.1.0"]


def test_what_is_told_of_a_decision_stands_before_the_text_and_keeps_the_images():
    world = world_of()
    picture = ImagePart(media_type="image/png", data_base64="AA==")
    world.results["t.1.1.0"] = CallResult(operation="t.1.1.0", text="paid", state="returned", images=[picture])
    parked(world)
    answer(world, "once", by="kay")
    assert ended(world).outcome == "completed"
    seen = next(message for message in world.sends[-1][1] if isinstance(message, ToolMessage))
    assert (seen.text.partition("\n")[2], list(seen.images)) == ("paid", [picture])


def test_a_person_is_told_of_a_question_once_where_nobody_is_asked_at_once():
    permission = {"permissions": ASK_FOR_EFFECTS}
    for call, fields, told in [
        (ONE, {}, ["approval_wanted:t.1.1.0"]),
        (("send", "{}"), permission, []),
        (("send", "{}"), permission | {"is_attended": False}, ["approval_wanted:t.1.1.0"]),
    ]:
        world = world_of(call, **fields)
        parked(world)
        assert list(world.notices) == told
        world.notices.clear()
        parked(world)
        assert not world.notices


def test_an_answer_waits_for_the_program_that_has_the_tool():
    world = world_of()
    parked(world)
    answer(world, "once")
    whole, world.plan = world.plan, plan(tool("send", "send"))
    first = parked(world)
    assert (first.waits_for, first.event) == ("event", "tool pay")
    assert not [row for row in world.rows if row.kind == "result"]
    world.plan = whole
    assert ended(world).outcome == "completed"
    assert world.executed == ["t.1.1.0"]
