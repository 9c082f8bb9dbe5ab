"""A brief that was refused in an earlier task: not sent to that provider again, elsewhere only if a person says so (SPEC §12)."""

from typing import Any

import pytest
from tests.core.world import ROUTE, World, called, ended, http, parked, plan, said, scripted, tool

from stoic.core import notes
from stoic.core.commands import Route
from stoic.core.plan import Candidate, TaskFacts
from stoic.records import RefusedBytes, Row

OTHER = Route(provider="other", api="chat", model="n")
BRIEF = "t.brief"


def refused_by(provider: str, **more: Any) -> RefusedBytes:
    return RefusedBytes(hash="", provider=provider, model="x", refused_at_ms=77, **more)


def world_of(*before: RefusedBytes, **fields: Any) -> World:
    fields = {"thread_kind": "task", "asks_again": "ask"} | fields
    facts = TaskFacts(owner="o", root="o", refused_before=list(before))
    world = World(plan(tool("look", "read"), task=facts, **fields), scripted(called(("look", "{}")), said("done")))
    world.message("the brief")
    return world


def answer(world: World, said_: str) -> None:
    world.put("answer", {"operation": BRIEF, "tool": "task_start", "answer": said_, "session": "s"})


def rows(world: World, kind: str) -> list[Row]:
    return [row for row in world.rows if row.kind == kind]


@pytest.mark.parametrize("asks_again", ["ask", "allow", "deny"])
def test_the_provider_that_refused_the_brief_is_not_asked_again_and_the_task_ends_refused(asks_again: str):
    world = world_of(refused_by("other"), refused_by("openai-chat", category="cyber"), asks_again=asks_again)
    outcome = ended(world)
    assert (outcome.refused, outcome.reason, world.sends) == (True, "refused", [])
    assert outcome.refusal is not None
    assert (outcome.refusal.provider, outcome.refusal.model, outcome.refusal.category) == ("openai-chat", "x", "cyber")
    assert len(rows(world, "refusal_stop")) == 1
    assert rows(world, "refusal")[0].content["refused_at"] == 77, "a verdict that is only remembered is dated as it was"
    assert [each.status for each in world.deliveries.values()] == ["cancelled"]


def test_another_provider_waits_for_a_person_and_nothing_is_sent_until_then():
    world = world_of(refused_by("b"), refused_by("a"), refused_by("b"))
    first = parked(world)
    (question,) = first.questions
    assert (question.operation, question.tool, question.effect) == (BRIEF, "task_start", "send")
    assert question.allowed_answers == ["once", "deny"]
    assert question.arguments == '{"refused_by": "a, b", "ask_now": "openai-chat:m"}'
    assert (first.waits_for, first.until_ms, world.sends) == ("permission", None, [])
    assert list(world.notices) == [f"approval_wanted:{BRIEF}"]
    before = list(world.rows)
    assert parked(world) == first
    assert (world.rows, len(world.notices)) == (before, 1), "it is asked once"
    answer(world, "once")
    assert ended(world).text == "done"
    assert len(world.sends) == 2
    assert [row.kind for row in world.rows].count("question") == 1


def test_who_denies_it_ends_the_task_without_a_send_and_without_a_tombstone():
    world = world_of(refused_by("other"))
    parked(world)
    answer(world, "deny")
    outcome = ended(world)
    assert (outcome.outcome, outcome.reason, outcome.message) == ("stopped", "human", notes.NOT_ASKED_AGAIN)
    assert world.sends == []
    assert not rows(world, "refusal_stop")
    assert [each.status for each in world.deliveries.values()] == ["failed"]


@pytest.mark.parametrize(("asks_again", "sends", "reason"), [("allow", 2, None), ("deny", 0, "human")])
def test_an_operator_may_decide_it_once_for_all(asks_again: str, sends: int, reason: str | None):
    world = world_of(refused_by("other"), asks_again=asks_again)
    assert ended(world).reason == reason
    assert (len(world.sends), rows(world, "question")) == (sends, [])


def test_a_brief_that_nobody_refused_is_sent_at_once():
    world = world_of(asks_again="deny")
    assert ended(world).text == "done"
    assert len(world.sends) == 2


def test_only_the_brief_is_asked_about_not_what_the_task_is_told_later():
    world = world_of(refused_by("other"))
    parked(world)
    answer(world, "once")
    ended(world)
    world.message("and now this")
    assert ended(world).outcome == "completed"
    assert len(rows(world, "question")) == 1


def test_an_outage_leads_to_no_provider_that_refused_the_brief():
    """A fallback after the permission may reach another provider, but not the one that refused."""
    world = world_of(refused_by("other"), candidates=[Candidate(route=ROUTE, key="A"), Candidate(route=OTHER, key="B")])
    world.reply = scripted(http(401, "invalid_api_key"))
    parked(world)
    answer(world, "once")
    outcome = ended(world)
    assert [send.route.provider for send, _ in world.sends] == ["openai-chat"]
    assert (outcome.refused, len(rows(world, "fallback"))) == (True, 1)
