"""A turn ends at its limits, and what it cost is known or said to be unknown (SPEC §15)."""

from typing import Any

import pytest
from msgspec.structs import replace
from tests.core.world import ROUTE, Life, World, called, http, plan, run, said, scripted, tool

from stoic.core.budget import Bounds, Limits, cost_usd, in_decimals, spent_by, unusable_bound
from stoic.core.commands import Cancelled, Next
from stoic.core.plan import Candidate
from stoic.prices import facts_of, price_of
from stoic.records import Draft, Outcome, Price, Spent, Usage

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
    assert "after 6 seconds in this turn, the limit being 5 (max_seconds)" in outcome.message


WIDE = [
    ({"rounds": 2}, "after 2 rounds", "per_{}.rounds"),
    ({"tokens": 20}, "at 24 tokens", "per_{}.tokens"),
    ({"cost_usd": 0.00007}, "at 0.00008 USD", "per_{}.cost_usd"),
]


@pytest.mark.parametrize(("bound", "amount", "name"), WIDE)
@pytest.mark.parametrize("scope", ["thread", "day"])
def test_a_thread_and_a_day_have_bounds_that_outlast_a_turn(scope: str, bound: dict, amount: str, name: str):
    limits: dict[str, Any] = {f"per_{scope}": Bounds(**bound)}
    world = world_of(called(("look", "{}")), said("once"), said("twice"), **limits)
    assert outcome_of(world).outcome == "completed"
    world.message("again")
    outcome = outcome_of(world)
    assert (outcome.outcome, outcome.reason, len(world.sends)) == ("stopped", "budget", 2)
    assert amount in outcome.message
    assert name.format(scope) in outcome.message
    (told,) = [notice for notice in world.notices.values() if notice.key.startswith("budget_reached:")]
    assert "the turn was stopped, and nothing more is sent until" in told.text
    world.message("and again")
    assert outcome_of(world).reason == "budget"
    assert sum(key.startswith("budget_reached:") for key in world.notices) == 1


def test_what_the_tasks_of_a_thread_take_is_its_own():
    world = world_of(said("ok"), per_thread=Bounds(seconds=60))
    world.kin_spent = Spent(duration_ms=60_000)
    outcome = outcome_of(world)
    assert (outcome.reason, world.sends) == ("budget", [])
    assert (
        "after 60 seconds of work in this thread and its tasks, the limit being 60 (per_thread.seconds)"
        in outcome.message
    )


def test_a_day_is_everybodys_and_the_next_one_begins_anew():
    world = world_of(said("ok"), per_day=Bounds(tokens=100))
    world.spent_today = Spent(tokens=100)
    assert outcome_of(world).reason == "budget"
    world.spent_today = Spent()
    world.message("tomorrow")
    assert outcome_of(world).outcome == "completed"


def warnings(world: World) -> list[dict]:
    return [row.content for row in world.rows if row.kind == "budget"]


def test_a_person_is_warned_once_a_turn_when_four_fifths_of_a_bound_are_used():
    world = world_of(*[called(("look", "{}"))] * 9, said("ok"), max_rounds=10)
    life = Life(world)
    while len(world.sends) < 9:
        life.step()
    assert warnings(world) == [{"scope": "turn", "bound": "rounds", "used": 8, "limit": 10}]
    assert Life(world).finish() is not None
    assert len(warnings(world)) == 1
    assert world.notices == {}


def test_of_a_bound_of_more_than_a_turn_a_notice_warns_once_until_it_is_changed():
    world = world_of(said("one"), said("two"), said("three"), per_day=Bounds(cost_usd=1.0))
    world.spent_today = Spent(cost_usd=0.799)
    outcome_of(world)
    assert world.notices == {}
    world.spent_today = Spent(cost_usd=0.8)
    for words in ("two", "three"):
        world.message(words)
        outcome_of(world)
    (told,) = world.notices.values()
    assert (told.kind, told.priority) == ("budget", "normal")
    assert told.text.startswith("0.80 of 1.00 USD are used today (UTC).")
    assert [each["scope"] for each in warnings(world)] == ["day", "day"]


def test_a_small_bound_and_what_was_used_of_it_are_said_in_plain_decimals():
    world = world_of(said("one"), said("two"), max_cost_usd=0.0000001, per_day=Bounds(cost_usd=0.00001))
    world.spent_today = Spent(cost_usd=0.000009)
    assert outcome_of(world).outcome == "completed"
    (told,) = world.notices.values()
    assert told.text.startswith("0.000009 of 0.00001 USD are used today (UTC).")
    assert in_decimals(1e-07) == "0.0000001"
    assert [in_decimals(amount) for amount in (64, 1_234.5, 0.1 + 0.2)] == ["64", "1,234.5", "0.3"]


def test_a_cost_has_no_noise_of_binary_fractions():
    price = Price(input=[(0, 0.55)], output=[(0, 2.2)])
    found = [cost_usd(price, Usage(input_tokens=n, output_tokens=n)) for n in range(1, 500)]
    assert [cost for cost in found if cost is None or len(f"{cost!r}") > len("0.0000000000")] == []


def test_without_bounds_of_more_than_a_turn_nobody_looks_at_what_was_spent():
    world = world_of(said("ok"))
    world.spent_today = Spent(cost_usd=1e9)
    assert outcome_of(world).outcome == "completed"


def test_what_rows_tell_of_sends_is_counted_once():
    usage = {"input_tokens": 3, "output_tokens": 4}

    def row(kind: str, content: object = None, meta: dict[str, Any] | None = None) -> Draft:
        return Draft(
            role="system", kind=kind, content=content or {}, generation=1, segment="s", turn=1, meta=meta or {}
        )

    rows = [
        row("reply", meta={"usage": usage, "cost_usd": 0.5}),
        row("attempt", {"usage": usage}),
        row("outcome", {"usage": usage, "cost_usd": 0.5}),
        row("event", "words"),
    ]
    assert spent_by(rows) == Spent(rounds=1, tokens=14, cost_usd=0.5)


@pytest.mark.parametrize("bad", [0, -1, float("inf"), float("nan")])
def test_a_bound_that_nothing_could_keep_to_is_said(bad: float):
    assert str(unusable_bound(Bounds(cost_usd=bad))).startswith("cost_usd is ")
    assert unusable_bound(Bounds(rounds=1)) is None


def test_the_table_knows_the_models_people_use():
    known = facts_of("anthropic", "claude-3-5-haiku-latest")
    assert known is not None
    assert known.context_tokens == 200_000
    assert known.price == Price(input=[(0, 0.8)], output=[(0, 4.0)], cache_read=[(0, 0.08)], cache_write=[(0, 1.0)])
    assert price_of("openai", "gpt-4o") is not None
    assert price_of("openai-chat", "gpt-4o") == price_of("openai", "gpt-4o")
    assert price_of("openai", "no-such-model") is None
    assert price_of("nobody", "gpt-4o") is None
