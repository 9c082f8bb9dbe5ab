"""A turn that waits: for a date, a credential, a task or a time, told once and gone on with when it has come (SPEC §15)."""

from typing import Any

from msgspec.structs import replace
from tests.core.world import ROUTE, World, called, ended, http, parked, plan, run, said, scripted, tool

from stoic.core.budget import Limits
from stoic.core.commands import CallResult, Wait
from stoic.core.health import Signs
from stoic.core.plan import Candidate
from stoic.records import Health, Parked, Row

TODAY_MS = 1_000_000
HOUR_MS = 3_600_000
WAITING = tool("wait_for", "wait")
CLOSED = http(401, "invalid_api_key")
LATER = http(429, "rate_limit_exceeded", headers={"retry-after": "3600"})


def rows(world: World, kind: str) -> list[Row]:
    return [row for row in world.rows if row.kind == kind]


def event(world: World) -> None:
    world.put("event", {"kind": "mail", "payload": {}, "text": "[event mail] 1"})


def open_until(until_ms: int, failed_at_ms: int = TODAY_MS) -> Health:
    return Health(
        route="A",
        state="open",
        failure_class="rate_limit",
        failed_at_ms=failed_at_ms,
        until_ms=until_ms,
        waits_for="time",
    )


# ---- a route that is closed -------------------------------------------------------------------------


def test_a_turn_that_nobody_watches_waits_for_a_credential_and_goes_on_when_it_is_another():
    world = World(plan(), scripted(CLOSED, said("back")))
    event(world)
    waiting = parked(world)
    assert (waiting.waits_for, waiting.event, waiting.until_ms) == ("event", "credential openai-chat", None)
    assert (waiting.thread, waiting.turn) == ("t", 1)
    assert [each.kind for each in world.notices.values()] == ["route_closed"], (
        "a person hears of it though nobody watches"
    )
    before = len(world.rows)
    world.now_ms += 100 * HOUR_MS
    assert parked(world) == waiting
    assert (len(world.rows), len(world.sends)) == (before, 1)
    world.plan = replace(
        world.plan, candidates=[Candidate(route=ROUTE, key="A", signs=Signs(credential="new", config=""))]
    )
    assert ended(world).text == "back"
    assert len(rows(world, "parked")) == 1


def test_who_watches_is_told_at_once_that_a_credential_is_missing():
    world = World(plan(), scripted(CLOSED))
    world.message()
    assert ended(world).failure_class == "auth"


def test_an_event_waits_for_the_stated_date_of_a_route_that_is_closed_already_and_a_person_does_not():
    world = World(plan(), scripted(said("ok")))
    world.health["A"] = open_until(TODAY_MS + HOUR_MS)
    event(world)
    waiting = parked(world)
    assert (waiting.waits_for, waiting.until_ms, world.sends) == ("time", TODAY_MS + HOUR_MS, [])
    world.now_ms = TODAY_MS + HOUR_MS
    assert ended(world).text == "ok"
    world.health["A"] = open_until(world.now_ms + HOUR_MS, world.now_ms)
    world.message()
    assert ended(world).failure_class == "rate_limit"


def test_a_turn_waits_for_no_cooldown_and_for_no_date_beyond_a_week():
    for delay_ms, waits in [(300_000, False), (300_001, True), (7 * 24 * HOUR_MS, True), (7 * 24 * HOUR_MS + 1, False)]:
        world = World(plan(), scripted(said("ok")))
        asks_ms = TODAY_MS + 1  # its input takes one step of the clock
        world.health["A"] = open_until(asks_ms + delay_ms, asks_ms)
        event(world)
        assert isinstance(run(world), Parked) is waits


def test_of_those_who_waited_for_one_date_one_asks_first_and_the_others_look_again():
    world = World(plan(), scripted(said("ok")))
    world.health["A"] = open_until(TODAY_MS + HOUR_MS)
    event(world)
    parked(world)
    world.now_ms = TODAY_MS + HOUR_MS
    world.health["A"] = replace(
        world.health["A"], state="half_open", trial_until_ms=world.now_ms + 600_000, trial_holder="another"
    )
    waiting = parked(world)
    assert (waiting.waits_for, waiting.event) == ("time", "trial")
    assert waiting.until_ms == TODAY_MS + HOUR_MS + 10_000
    world.now_ms = waiting.until_ms
    again = parked(world)
    assert again.until_ms == waiting.until_ms + 10_000, "looking again is none of its waits"
    world.now_ms = again.until_ms
    world.health["A"] = Health(route="A")
    assert ended(world).text == "ok"


def test_a_trial_of_another_turn_is_not_waited_for_by_one_that_has_just_begun():
    world = World(plan(), scripted(said("ok")))
    world.health["A"] = replace(
        open_until(TODAY_MS), state="half_open", trial_until_ms=TODAY_MS + 600_000, trial_holder="another"
    )
    event(world)
    assert ended(world).failure_class == "rate_limit"


def test_a_route_that_has_been_waited_for_once_ends_the_turn_when_it_closes_again_whatever_for():
    for second in (LATER, CLOSED):
        world = World(plan(), scripted(LATER, second))
        event(world)
        world.now_ms = parked(world).until_ms or 0
        assert ended(world).outcome == "failed"


def test_an_event_that_comes_meanwhile_ends_no_wait_and_is_read_when_the_turn_goes_on():
    for closed, is_human in [(LATER, True), (LATER, False), (CLOSED, False)]:
        world = World(plan(tool("look", "read")), scripted(closed, called(("look", "{}")), said("ok")))
        world.message() if is_human else event(world)
        waiting = parked(world)
        event(world)
        assert parked(world) == waiting
        assert len(world.sends) == 1
        world.now_ms = waiting.until_ms or world.now_ms
        world.health["A"] = Health(route="A")
        assert ended(world).text == "ok"
        assert world.inbox == []
        assert len(rows(world, "event")) == 2 - is_human


def test_a_turn_waits_no_longer_than_it_may_take():
    for closed, seconds, until_s in [(LATER, 60, 60), (LATER, 7200, 3600), (CLOSED, 60, 60)]:
        world = World(plan(limits=Limits(max_seconds=seconds)), scripted(closed))
        event(world)
        until_ms = parked(world).until_ms
        assert until_ms is not None
        assert round((until_ms - TODAY_MS) / 1000) == until_s
        if until_s == seconds:
            world.now_ms = until_ms
            assert (ended(world).reason, len(world.sends)) == ("budget", 1)


# ---- a call that waits ------------------------------------------------------------------------------


def waits(world: World, *, until_ms: int, tasks: list[str] | None = None) -> dict[str, Any]:
    """Let each call of the waiting tool wait; what the mapping says of an operation is its result instead."""
    done: dict[str, str] = {}

    def result(operation: str) -> CallResult:
        if world.operations[operation].tool != WAITING.name or operation in done:
            return CallResult(operation=operation, text=done.get(operation, "seen"), state="returned", ended_at=7)
        wait = Wait(waits_for="task" if tasks else "time", until_ms=until_ms, tasks=tasks or [])
        return CallResult(operation=operation, text="", state="returned", wait=wait)

    world.result = result
    return done


def of_calls(*calls: tuple[str, str]) -> World:
    return World(plan(WAITING, tool("look", "read"), tool("pay")), scripted(called(*calls), said("done")))


def test_a_call_that_waits_for_tasks_parks_the_turn_and_is_made_again_when_one_has_ended():
    world = of_calls((WAITING.name, '{"n":1}'), ("look", "{}"), ("pay", "{}"))
    done = waits(world, until_ms=TODAY_MS + HOUR_MS, tasks=["t.2", "t.1"])
    world.message()
    waiting = parked(world)
    assert (waiting.waits_for, waiting.tasks, waiting.until_ms) == ("task", ["t.1", "t.2"], TODAY_MS + HOUR_MS)
    assert [row.content["text"] for row in rows(world, "result")] == ["seen"]
    assert world.effects == [], "a call with an effect waits for those before it"
    held = world.operations["t.1.1.0"]
    assert (held.state, held.started_at, held.runs) == ("intended", None, 0)
    before = len(world.rows)
    assert parked(world) == waiting
    assert len(world.rows) == before, "looking again says nothing new"
    done["t.1.1.0"] = "t.1 has ended"
    world.put("wake")
    assert ended(world).text == "done"
    assert [row.content["text"] for row in rows(world, "result")] == ["seen", "t.1 has ended", "seen"]
    assert world.inbox == []


def test_of_several_calls_that_wait_the_soonest_says_until_when_and_all_tasks_are_named():
    world = of_calls((WAITING.name, '{"n":1}'), (WAITING.name, '{"n":2}'))
    ends = iter([TODAY_MS + 2 * HOUR_MS, TODAY_MS + HOUR_MS])

    def result(operation: str) -> CallResult:
        wait = Wait(waits_for="task", until_ms=next(ends), tasks=["shared", operation])
        return CallResult(operation=operation, text="", state="returned", wait=wait)

    world.result = result
    world.message()
    waiting = parked(world)
    assert (waiting.tasks, waiting.until_ms) == (["shared", "t.1.1.0", "t.1.1.1"], TODAY_MS + HOUR_MS)


def test_a_call_that_waits_for_a_time_uses_up_none_of_the_turns_waits_for_a_route():
    world = World(plan(WAITING), scripted(called((WAITING.name, "{}")), LATER, said("done")))
    done = waits(world, until_ms=TODAY_MS + HOUR_MS)
    world.message()
    waiting = parked(world)
    assert (waiting.waits_for, waiting.until_ms, waiting.event) == ("time", TODAY_MS + HOUR_MS, "call")
    done["t.1.1.0"] = "it is time"
    for_route = parked(world)
    assert (for_route.waits_for, for_route.event) == ("time", None)
    assert for_route.until_ms is not None
    world.now_ms = for_route.until_ms
    assert ended(world).text == "done"


def test_a_turn_is_cancelled_while_its_call_waits():
    world = of_calls((WAITING.name, "{}"))
    waits(world, until_ms=TODAY_MS + HOUR_MS)
    world.message()
    parked(world)
    world.put("cancel")
    assert ended(world).outcome == "cancelled"
    assert [row.content["failure"] for row in rows(world, "result")] == ["cancelled"]
    assert world.operations["t.1.1.0"].state == "raised"
