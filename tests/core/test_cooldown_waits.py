"""A turn that nobody has caused and nobody watches waits for its route to cool down, a few times, then ends as failed."""

from typing import Any

import pytest
from msgspec.structs import replace
from tests.core.world import ROUTE, World, called, ended, http, parked, plan, report, run, said, scripted, tool

from stoic.core.budget import Limits
from stoic.core.commands import Route
from stoic.core.health import Signs
from stoic.core.history import is_for_cooldown
from stoic.core.parking import COOLDOWN_WAITS_MS
from stoic.core.plan import Candidate
from stoic.records import Health, Outcome, Parked, Report

TODAY_MS = 1_000_000
HOUR_MS = 3_600_000
DOWN = http(503, "overloaded")
CLOSED = http(401, "invalid_api_key")
LATER = http(429, "rate_limit_exceeded", headers={"retry-after": "3600"})
LOOK = tool("look", "read")
SPARE = Candidate(route=Route(provider="azure", api="chat", model="n"), key="B")


def scheduled(*reports: Report, next_due_ms: int | None = None, **fields: Any) -> World:
    """Return a world in which a worker has found a prompt of a schedule."""
    world = World(plan(LOOK, **{"is_attended": False} | fields), scripted(*reports))
    event(world, next_due_ms)
    return world


def event(world: World, next_due_ms: int | None = None) -> None:
    due = {} if next_due_ms is None else {"next_due_ms": next_due_ms}
    world.put("event", {"kind": "schedule", "payload": {}, "text": "[event schedule]\nLook."} | due)


def cooling(world: World) -> Parked:
    """Run a turn that is expected to wait for a cooldown."""
    waiting = parked(world)
    assert waiting.waits_for == "time"
    assert is_for_cooldown({"event": waiting.event})
    return waiting


def wake(world: World, waiting: Parked) -> None:
    assert waiting.until_ms is not None
    world.now_ms = waiting.until_ms


def open_until(until_ms: int, failed_at_ms: int, route: str = "A") -> Health:
    return Health(
        route=route,
        state="open",
        failure_class="overloaded",
        failed_at_ms=failed_at_ms,
        until_ms=until_ms,
        waits_for="time",
        openings=1,
    )


def test_a_prompt_of_a_night_is_sent_again_when_its_provider_is_back():
    world = scheduled(*[DOWN] * 5, said("the report"))
    waiting = cooling(world)
    assert (waiting.event, waiting.thread, waiting.turn, len(world.sends)) == ("time openai-chat", "t", 1, 4)
    assert world.health["A"].until_ms is not None
    assert world.health["A"].until_ms <= (waiting.until_ms or 0)
    rows = len(world.rows)
    assert parked(world) == waiting, "whoever looks before its time changes nothing"
    assert (len(world.rows), len(world.sends), world.notices) == (rows, 4, {})
    wake(world, waiting)
    waiting = cooling(world)
    assert len(world.sends) == 5, "a trial that fails is not repeated"
    wake(world, waiting)
    assert ended(world).text == "the report"
    assert (len(world.sends), world.notices, world.health["A"]) == (6, {}, Health(route="A"))


def test_it_waits_longer_each_time_and_so_many_times_then_fails_with_one_notice():
    world = scheduled(DOWN)
    waited_ms: list[int] = []
    while isinstance(ending := run(world), Parked):
        waited_ms.append((ending.until_ms or 0) - world.now_ms)
        wake(world, ending)
    assert isinstance(ending, Outcome)
    assert (ending.outcome, ending.failure_class, ending.recovers_with) == ("failed", "overloaded", "time")
    assert [round(each, -3) for each in waited_ms] == list(COOLDOWN_WAITS_MS)
    assert len(world.sends) == 4 + len(COOLDOWN_WAITS_MS)
    assert [(each.kind, each.key) for each in world.notices.values()] == [("turn_ended", "turn_ended:t:1")]


def test_a_route_that_stays_shut_longer_is_waited_for_as_long_as_that():
    world = scheduled(said("ok"))
    world.health["A"] = open_until(TODAY_MS + 200_000, TODAY_MS)
    waiting = cooling(world)
    assert (waiting.until_ms, world.sends) == (TODAY_MS + 200_000, [])
    wake(world, waiting)
    assert ended(world).text == "ok"


@pytest.mark.parametrize(
    "fields",
    [{"is_attended": True}, {"thread_kind": "task"}, {"thread_scope": "worker"}, {"thread_kind": "repair"}],
    ids=["attended", "task", "chat of a worker", "repair"],
)
def test_who_is_watched_or_is_no_chat_fails_at_once(fields: dict[str, Any]):
    world = scheduled(DOWN, **fields)
    assert ended(world).failure_class == "overloaded"
    assert len(world.sends) == 4


def test_what_a_person_asked_fails_at_once_though_nobody_watches():
    world = World(plan(is_attended=False), scripted(DOWN))
    world.message()
    assert ended(world).failure_class == "overloaded"


@pytest.mark.parametrize("report", [http(400, "invalid_request_error"), report([], "stop")])
def test_what_time_does_not_cure_is_not_waited_for(report: Report):
    assert ended(scheduled(report)).outcome == "failed"


def test_a_round_in_the_middle_of_a_turn_goes_on_where_it_stood():
    world = scheduled(called(("look", "{}")), *[DOWN] * 4, said("done"))
    wake(world, cooling(world))
    outcome = ended(world)
    assert (outcome.text, outcome.rounds, len(world.executed)) == ("done", 2, 1)


def test_a_message_of_a_person_ends_the_wait_and_is_answered_with_what_was_waited_for():
    world = scheduled(DOWN)
    cooling(world)
    world.message("Are you there?")
    outcome = ended(world)
    assert (outcome.outcome, outcome.failure_class, outcome.turn) == ("failed", "overloaded", 1)
    assert "nothing more was sent" in (outcome.message or "")
    assert [each.kind for each in world.notices.values()] == ["turn_ended"]
    world.health["A"], world.reply = Health(route="A"), scripted(said("both"))
    assert (ended(world).text, world.inbox) == ("both", [])
    shown = str(world.sends[-1][1])
    assert "Look." in shown
    assert "Are you there?" in shown


def test_where_a_message_waits_already_no_wait_begins():
    world = scheduled(DOWN)
    world.message()
    assert (ended(world).turn, len(world.sends)) == (1, 4)


def test_a_message_that_comes_when_the_route_may_be_asked_again_gets_what_was_waited_for_answered_first():
    world = scheduled(*[DOWN] * 4, said("the report"), said("hello"))
    wake(world, cooling(world))
    world.message()
    assert (ended(world).text, ended(world).turn) == ("the report", 2)


def test_another_event_ends_no_wait_and_is_read_later():
    world = scheduled(*[DOWN] * 4, said("the report"))
    waiting = cooling(world)
    event(world)
    assert parked(world) == waiting
    wake(world, waiting)
    assert (ended(world).text, len(world.inbox)) == ("the report", 1)


@pytest.mark.parametrize(("left_ms", "waits"), [(80_000, True), (30_000, False)])
def test_it_does_not_wait_until_the_schedules_next_prompt_or_beyond_its_own_time(left_ms: int, waits: bool):
    for world in (
        scheduled(DOWN, next_due_ms=TODAY_MS + 7_000 + left_ms),
        scheduled(DOWN, limits=Limits(max_seconds=(7_000 + left_ms) / 1000)),
    ):
        ending = run(world)
        assert isinstance(ending, Parked) is waits
        if isinstance(ending, Parked):
            wake(world, ending)
            assert ended(world).failure_class == "overloaded", "its second wait would be too long"


def test_a_prompt_that_comes_while_another_turn_tries_the_route_waits_and_then_looks_often():
    world = scheduled(said("ok"))
    trial = replace(
        open_until(TODAY_MS, TODAY_MS), state="half_open", trial_until_ms=TODAY_MS + 600_000, trial_holder="x"
    )
    world.health["A"] = trial
    wake(world, cooling(world))
    world.health["A"] = trial
    look = parked(world)
    assert (look.event, round((look.until_ms or 0) - world.now_ms, -3)) == ("trial", 10_000)
    wake(world, look)
    world.message()
    assert "is being tried by another turn" in (ended(world).message or ""), "a person is not kept waiting"


def test_a_person_who_says_retry_now_wakes_it():
    world = scheduled(*[DOWN] * 4, said("ok"))
    cooling(world)
    world.health["A"] = replace(world.health["A"], state="half_open")
    world.put("wake")
    assert (ended(world).text, len(world.sends)) == ("ok", 5)


def test_one_that_is_woken_in_vain_waits_on():
    world = scheduled(*[DOWN] * 4, said("ok"))
    waiting = cooling(world)
    world.put("wake")
    assert parked(world) == waiting
    turn = world.history().open_turn
    assert turn is not None
    assert (len(world.sends), turn.waits.cooldowns) == (4, 1)


def test_a_stated_date_is_waited_for_beside_the_cooldowns():
    world = scheduled(*[DOWN] * 4, LATER, DOWN, said("ok"))
    wake(world, cooling(world))
    stated = parked(world)
    assert (stated.event, round((stated.until_ms or 0) - world.now_ms, -3)) == (None, HOUR_MS)
    wake(world, stated)
    wake(world, cooling(world))
    assert ended(world).text == "ok"


def test_of_two_routes_the_one_that_cools_down_is_waited_for_while_the_other_waits_for_its_credential():
    world = scheduled(CLOSED, *[DOWN] * 4, said("ok"), candidates=[Candidate(route=ROUTE, key="A"), SPARE])
    waiting = cooling(world)
    assert waiting.event == "credential openai-chat, time azure"
    new = Candidate(route=ROUTE, key="A", signs=Signs(credential="new", config=""))
    world.plan = replace(world.plan, candidates=[new, SPARE])
    assert ended(world).text == "ok"
    assert world.sends[-1][0].route == ROUTE


def test_a_route_that_others_have_back_is_asked_after_the_wait():
    world = scheduled(*[DOWN] * 4, said("ok"), candidates=[Candidate(route=ROUTE, key="A"), SPARE])
    world.health["A"] = open_until(TODAY_MS + HOUR_MS, TODAY_MS + HOUR_MS - 300_000)
    world.others_health = [Health(route="A")]
    waiting = cooling(world)
    assert (waiting.event, {send.route for send, _ in world.sends}) == ("time openai-chat, time azure", {SPARE.route})
    world.health["A"] = Health(route="A")
    wake(world, waiting)
    assert ended(world).text == "ok"
    assert world.sends[-1][0].route == ROUTE


def test_after_a_refusal_only_who_refused_is_waited_for():
    """The spare, which cools down sooner, is no way round it."""
    refused = report([], "content_filter")
    world = scheduled(
        called(("look", "{}")), refused, *[DOWN] * 4, said("ok"), candidates=[Candidate(route=ROUTE, key="A"), SPARE]
    )
    world.health["B"] = open_until(TODAY_MS + 1_000, TODAY_MS, "B")
    waiting = cooling(world)
    assert waiting.event == "time openai-chat"
    wake(world, waiting)
    assert ended(world).text == "ok"
    assert {send.route for send, _ in world.sends} == {ROUTE}
