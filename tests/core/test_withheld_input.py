"""A turn whose whole input was withheld completes, and says that its answer is not about it (SPEC §9)."""

from typing import Any

import pytest
from tests.core.test_refused import CANARY, event, shown, trigger, world
from tests.core.world import Send, World, called, ended, plan, said, scripted

from stoic.core.plan import TaskFacts
from stoic.records import Message, Outcome, Report, ToolMessage


def withheld(*, calls: bool = False, **fields: Any) -> World:
    """Make a world whose provider refuses the canary; `calls`: its first answer asks for a tool."""

    def reply(send: Send, view: list[Message]) -> Report:
        answer = trigger(CANARY)(send, view)
        has_result = any(isinstance(message, ToolMessage) for message in view)
        return called(("look", "{}")) if calls and not has_result and answer.finish == "stop" else answer

    return world(reply, **{"is_attended": False} | fields)


def told(of: World) -> list[tuple[str, str]]:
    return [(each.key, each.priority) for each in of.notices.values()]


ONCE = [("input_withheld:t.1#1:openai-chat", "normal")]


def test_the_answer_to_a_withheld_event_says_that_it_is_not_about_it_and_a_person_is_told_once():
    of = withheld()
    for _ in range(2):
        event(of, about=CANARY)
        outcome = ended(of)
        assert (outcome.outcome, outcome.reason, outcome.text) == ("completed", "input_withheld", "fine")
        assert "was withheld, since openai-chat refused it (category unnamed)" in outcome.message
        assert told(of) == ONCE
    assert shown(of).count(CANARY) == 1


def test_it_is_said_also_when_the_answer_took_several_rounds():
    of = withheld(calls=True)
    event(of, about=CANARY)
    assert ended(of).reason == "input_withheld"
    assert len(of.sends) == 3


@pytest.mark.parametrize("fields", [{"is_attended": True}, {"task": TaskFacts(owner="o"), "thread_kind": "task"}])
def test_who_watches_is_told_by_the_outcome_alone(fields: dict[str, Any]):
    of = withheld(**fields)
    event(of, about=CANARY)
    ended(of)
    assert not told(of)


def test_an_event_that_was_only_told_with_less_is_answered():
    of = withheld(renderers={"mail": lambda _: "a mail"})
    event(of, about=CANARY)
    assert is_plain(ended(of))


def test_what_else_a_turn_was_given_is_answered():
    of = withheld()
    of.message()
    event(of, about=CANARY)
    of.tells_inbox = True
    assert is_plain(ended(of))
    assert any(row.kind == "quarantine" for row in of.rows)


def test_an_event_that_is_read_is_answered():
    of = World(plan(is_attended=False), scripted(said("ok")))
    event(of, about="weather")
    assert is_plain(ended(of))
    assert not told(of)


def is_plain(outcome: Outcome) -> bool:
    return (outcome.outcome, outcome.reason, outcome.message) == ("completed", None, "")
