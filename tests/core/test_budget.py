"""A turn ends at its limits, and what it cost is known or said to be unknown (SPEC §15)."""

import pytest
from msgspec.structs import replace
from tests.core.world import ROUTE, Life, World, called, http, plan, run, said, scripted, tool

from stoic.core.budget import Limits, cost_usd
from stoic.core.commands import Cancelled, Next, Send
from stoic.core.plan import Candidate
from stoic.prices import facts_of, price_of
from stoic.records import Outcome, Price, Usage

PRICE = Price(input=[(0, 2.0), (1_000, 4.0)], output=[(0, 10.0)], cache_read=[(0, 0.5)])


def world_of(*reports, price: Price | None = PRICE, **limits) -> World:
    candidates = [Candidate(route=ROUTE, key="A", price=price)]
    the_plan = plan(tool("look", "read"), candidates=candidates, limits=Limits(**limits))
    world = World(the_plan, scripted(*reports))
    world.message()
    return world


def outcome_of(world: World) -> Outcome:
    outcome = run(world)
    assert isinstance(outcome, Outcome)
    return outcome


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (Usage(), 0.0),
        (Usage(input_tokens=100, output_tokens=10), (200 + 100) / 1e6),
        (Usage(input_tokens=100, output_tokens=10, cache_read_tokens=60), (80 + 30 + 100) / 1e6),
        (Usage(input_tokens=100, cache_write_tokens=50), (100 + 100) / 1e6),
        (Usage(input_tokens=1_000), 4_000 / 1e6),
        (Usage(input_tokens=2_000, cache_read_tokens=2_000), 1_000 / 1e6),
    ],
)
def test_tokens_cost_what_the_table_says(usage: Usage, expected: float):
    assert cost_usd(PRICE, usage) == pytest.approx(expected)


def test_without_a_price_there_is_no_cost():
    assert cost_usd(None, Usage(input_tokens=1)) is None


def test_an_outcome_adds_up_all_replies_and_failed_attempts():
    bad = replace(http(503, "server_error"), usage=Usage(input_tokens=100))
    world = world_of(bad, called(("look", "{}")), said("ok"))
    outcome = outcome_of(world)
    reply = (10 * 2 + 2 * 10) / 1e6
    assert outcome.cost_usd == pytest.approx(100 * 2 / 1e6 + 2 * reply)
    assert outcome.usage == Usage(input_tokens=120, output_tokens=4)


def test_a_turn_with_an_unknown_price_has_no_cost():
    assert outcome_of(world_of(said("ok"), price=None)).cost_usd is None


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ({"max_rounds": 2}, "2 rounds"),
        ({"max_tokens": 20}, "(max_tokens_per_turn)"),
        ({"max_cost_usd": 0.00007}, "(max_cost_usd)"),
    ],
)
def test_a_limit_stops_the_turn_before_the_request_that_would_pass_it(limits: dict, words: str):
    world = world_of(called(("look", "{}")), **limits)
    outcome = outcome_of(world)
    assert (outcome.outcome, outcome.reason, len(world.sends)) == ("stopped", "budget", 2)
    assert words in outcome.message


def test_a_turn_out_of_time_is_stopped_and_not_cancelled():
    world = world_of(called(("look", "{}")), said("ok"), max_seconds=5)
    life = Life(world)
    while not isinstance(life.command, Next):
        life.step()
    assert isinstance(life.command, Next)
    world.now_ms += 6_000
    life._resume(Cancelled(now_ms=world.now_ms, out_of_time=True))
    outcome = life.finish()
    assert isinstance(outcome, Outcome)
    assert (outcome.outcome, outcome.reason) == ("stopped", "budget")
    assert "5 seconds" in outcome.message


def test_a_send_never_outlasts_the_turns_time():
    world = world_of(said("ok"), max_seconds=5)
    outcome_of(world)
    send = world.sends[0][0]
    assert isinstance(send, Send)
    assert send.deadline_ms == world.rows[0].created_at + 5_000


def test_the_table_knows_the_models_people_use():
    known = facts_of("anthropic", "claude-3-5-haiku-latest")
    assert known is not None
    assert known.context_tokens == 200_000
    assert known.price == Price(input=[(0, 0.8)], output=[(0, 4.0)], cache_read=[(0, 0.08)], cache_write=[(0, 1.0)])
    assert price_of("openai", "gpt-4o") is not None
    assert price_of("openai-chat", "gpt-4o") == price_of("openai", "gpt-4o")
    assert price_of("openai", "no-such-model") is None
    assert price_of("nobody", "gpt-4o") is None
