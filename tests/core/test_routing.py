"""Fallback because of failure: for this turn only, along the declared candidates, and never round a refusal (SPEC §7)."""

import pytest
from msgspec.structs import replace
from tests.core.world import Life, World, called, http, plan, report, run, said, tool

from stoic.core.commands import Route, Send
from stoic.core.health import Signs
from stoic.core.plan import Candidate
from stoic.records import Outcome, Report

A = Candidate(
    route=Route(provider="openai-chat", api="chat", model="a"), key="A", signs=Signs(credential="c", config="f")
)
B = Candidate(route=Route(provider="openai-chat", api="chat", model="b"), key="B")
DOWN = http(503, "server_error")


def world_of(a: list[Report], b: list[Report], *tools, candidates=(A, B)) -> World:
    replies = {"a": list(a), "b": list(b)}

    def reply(send: Send) -> Report:
        rest = replies[send.route.model]
        return rest.pop(0) if len(rest) > 1 else rest[0]

    return World(plan(*tools, candidates=list(candidates)), reply)


def turn(world: World, text: str = "go") -> Outcome:
    world.message(text)
    ending = run(world)
    assert isinstance(ending, Outcome)
    return ending


def asked(world: World) -> str:
    return "".join(send.route.model for send, _ in world.sends)


def test_a_stand_in_answers_when_the_bound_route_has_used_up_its_retries_and_only_for_this_turn():
    world = world_of([DOWN], [said("one"), said("two")])
    assert turn(world).text == "one"
    assert asked(world) == "aaaab"
    card = next(row for row in world.rows if row.kind == "fallback")
    assert card.content["from"]["model"] == "a"
    assert card.content["to"]["model"] == "b"
    assert card.content["class"] == "server_error"
    world.now_ms += 31_000
    world.reply = lambda send: said(send.route.model)
    assert turn(world).text == "a"


def test_while_the_breaker_is_open_the_bound_route_is_skipped_without_a_send_or_a_wait():
    world = world_of([DOWN], [said("one"), said("two")])
    turn(world)
    until, slept = world.health["A"].until_ms, len(world.slept_ms)
    assert turn(world).text == "two"
    assert asked(world) == "aaaabb"
    assert (world.health["A"].until_ms, len(world.slept_ms)) == (until, slept)
    assert [row.content["skipped"] for row in world.rows if row.kind == "fallback"] == [False, True]


def test_a_fallback_keeps_the_rest_of_the_turn():
    world = world_of([DOWN], [called(("look", "{}")), said("done")], tool("look", "read"))
    assert turn(world).text == "done"
    assert asked(world) == "aaaabb"


@pytest.mark.parametrize(
    ("bad", "sends"),
    [
        (http(401, "invalid_api_key"), "ab"),
        (http(429, "insufficient_quota"), "ab"),
        (http(404, "model_not_found"), "ab"),
    ],
)
def test_what_waits_for_a_person_falls_back_at_once(bad: Report, sends: str):
    world = world_of([bad], [said("ok")])
    assert turn(world).text == "ok"
    assert asked(world) == sends
    assert world.health["A"].state == "open"


@pytest.mark.parametrize("bad", [http(400, "invalid_request_error"), report([], "content_filter"), http(418, "teapot")])
def test_what_is_about_the_request_does_not_fall_back_and_says_nothing_of_health(bad: Report):
    world = world_of([bad], [said("ok")])
    turn(world)
    assert asked(world) == "a"
    assert world.health == {}


def test_an_outage_after_a_refusal_is_no_way_round_it():
    world = world_of([report([], "content_filter"), DOWN], [said("ok")])
    assert turn(world).refused
    assert turn(world, "again").outcome == "failed"
    assert set(asked(world)) == {"a"}


def test_a_refusal_by_the_stand_in_ends_the_turn_there():
    world = world_of([DOWN], [report([], "content_filter")])
    assert turn(world).refused
    assert asked(world) == "aaaab"


def test_without_a_stand_in_a_closed_route_fails_the_turn_without_a_send():
    world = world_of([http(401, "invalid_api_key")], [], candidates=[A])
    turn(world)
    outcome = turn(world)
    assert (outcome.outcome, outcome.failure_class, outcome.recovers_with) == ("failed", "auth", "credential")
    assert asked(world) == "a"
    assert "stoic health retry" in outcome.message


def test_a_replaced_credential_goes_through_at_once():
    world = world_of([http(401, "invalid_api_key"), said("ok")], [], candidates=[A])
    turn(world)
    renewed = replace(A, signs=Signs(credential="other", config="f"))
    world.plan = replace(world.plan, candidates=[renewed])
    assert turn(world).text == "ok"
    assert world.health["A"].state == "closed"


def test_a_trial_that_somebody_else_has_is_not_taken():
    world = world_of([DOWN], [said("one"), said("two")])
    turn(world)
    world.now_ms += 31_000
    world.claims = False
    assert turn(world).text == "two"
    assert asked(world) == "aaaabb"


def test_a_failed_trial_opens_again_for_longer_and_is_not_retried():
    world = world_of([DOWN], [said("x")])
    turn(world)
    world.now_ms += 31_000
    turn(world)
    assert asked(world) == "aaaab" + "ab"
    assert world.health["A"].openings == 2


def test_a_trial_with_a_request_shaped_failure_leaves_the_route_half_open():
    world = world_of([DOWN, DOWN, DOWN, DOWN, http(400, "invalid_request_error"), said("ok")], [said("x")])
    turn(world)
    world.now_ms += 31_000
    turn(world)
    assert world.health["A"].state == "half_open"
    assert turn(world).text == "ok"
    assert world.health["A"].state == "closed"


def test_a_long_stated_wait_falls_back_without_waiting_and_is_kept():
    long = http(429, "rate_limit_exceeded", headers={"retry-after": "3600"})
    world = world_of([long], [said("ok")])
    assert turn(world).text == "ok"
    assert (asked(world), world.slept_ms) == ("ab", [])
    assert world.health["A"].until_ms == pytest.approx(world.now_ms + 3_600_000, abs=100)


def test_bad_attempts_count_over_rounds_and_a_breaker_that_opens_ends_the_retries():
    world = world_of([DOWN, DOWN, called(("look", "{}")), DOWN], [said("x")], tool("look", "read"))
    assert turn(world).text == "x"
    assert asked(world) == "aaa" + "aaaa" + "b"


def test_a_resumed_turn_stays_with_its_stand_in():
    world = world_of([DOWN], [called(("look", "{}")), said("done")], tool("look", "read"))
    world.message()
    life = Life(world)
    while len(world.sends) < 5:
        life.step()
    life.perform()
    assert isinstance(run(world), Outcome)
    assert asked(world)[-1] == "b"
