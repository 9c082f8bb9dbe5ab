"""What the simulation has found: each story as short as it could be made (`stoic sim`)."""

from msgspec.structs import replace
from tests.core.world import ROUTE, World, called, http, parked, plan, report, run, said, scripted, tool

from stoic.core.arguments import arguments_key
from stoic.core.commands import Route, Send
from stoic.core.plan import Candidate, TaskFacts
from stoic.records import Operation, Outcome, Report

OTHER = Route(provider="anthropic", api="messages", model="o")
BOTH = [Candidate(route=ROUTE, key="A"), Candidate(route=OTHER, key="B")]
SHUT = http(403, "permission_denied")
LATER = http(429, "rate_limit_exceeded", headers={"retry-after": "3600"})
REFUSED = report([], "content_filter")
HOUR_MS = 3_600_000


def world_of(bound: list[Report], other: list[Report]) -> World:
    """Two providers, each with its replies in order; the last one repeats."""
    replies = {"openai-chat": list(bound), "anthropic": list(other)}

    def reply(send: Send) -> Report:
        rest = replies[send.route.provider]
        return rest.pop(0) if len(rest) > 1 else rest[0]

    return World(plan(candidates=BOTH), reply)


def event(world: World, number: int) -> None:
    world.put("event", {"kind": "mail", "payload": {"n": number}, "text": f"[event mail] {number}"})


def asked(world: World) -> list[str]:
    return [send.route.provider for send, _ in world.sends]


def ladder_steps(world: World) -> list[int]:
    return [row.content["step"] for row in world.rows if row.kind == "quarantine" and row.content["step"]]


def with_a_broken_ladder() -> World:
    """Make a world whose first turn was refused twice, ended by another failure, and is refused from then on."""
    world = world_of([REFUSED, REFUSED, http(404, "model_not_found"), REFUSED], [SHUT])
    for number in range(3):
        event(world, number)
    parked(world)
    world.put("cancel")
    run(world)
    world.health.clear()
    return world


def test_a_turn_that_waits_for_its_routes_stores_nothing_however_often_it_is_looked_at():
    # Two workers on one database: each row of one made the other look again, without end.
    world = world_of([SHUT], [SHUT])
    event(world, 1)
    waiting = parked(world)
    before = list(world.rows)
    assert [parked(world) for _ in range(3)] == [waiting] * 3
    assert world.rows == before


def test_a_turn_that_waits_for_a_route_stays_with_the_provider_that_has_refused():
    # A wait for another failure in between must not lead from the one that refused back to the bound model.
    world = world_of([SHUT, said("round it")], [REFUSED, LATER, said("within it")])
    event(world, 1)
    parked(world)
    assert asked(world) == ["openai-chat", "anthropic", "anthropic"]
    world.now_ms += 2 * HOUR_MS
    world.health.pop("A")
    ending = run(world)
    assert isinstance(ending, Outcome)
    assert (ending.text, asked(world)[3:]) == ("within it", ["anthropic"])


def test_an_event_stays_unread_after_a_stand_in_has_refused_and_then_failed():
    world = world_of([SHUT, said("round it")], [REFUSED, SHUT])
    event(world, 1)
    parked(world)
    world.health.clear()
    world.put("cancel")
    assert isinstance(run(world), Outcome)
    event(world, 2)
    assert run(world) is None
    assert asked(world) == ["openai-chat", "anthropic", "anthropic"]
    world.message("a person may")
    assert isinstance(run(world), Outcome)
    assert asked(world)[3:] == ["openai-chat"]


def test_a_switch_that_comes_after_an_event_is_in_the_log_of_the_turn_that_it_decides():
    world = world_of([said("ok")], [said("ok")])
    event(world, 1)
    world.put("switch", {"model": "anthropic:o"})
    world.message("of the next turn")
    world.put("switch", {"model": "openai-chat:m"})
    run(world)
    assert [(row.kind, row.turn) for row in world.rows][:2] == [("event", 1), ("switch", 1)]
    assert [row.content["model"] for row in world.rows if row.kind == "switch"] == ["anthropic:o"]
    assert [entry.kind for entry in world.inbox] == ["message", "switch"]


def test_an_event_that_a_boundary_saw_in_the_inbox_and_that_then_opens_the_turn_is_taken_once():
    world = world_of([said("one"), said("two")], [said("ok")])
    world.message()
    run(world)
    world.put("compact")
    event(world, 1)
    world.tells_inbox = True
    ending = run(world)
    assert isinstance(ending, Outcome)
    assert [row.kind for row in world.rows if row.turn == 2 and row.visible] == ["event", "reply"]


def test_the_proof_by_which_a_task_repeats_what_is_unknown_at_its_owner_is_in_the_log():
    ship = tool("ship", "send", has_status=True)
    facts = TaskFacts(owner="o", root="o", has_kin=True)
    world = World(plan(ship, thread_kind="task", task=facts), scripted(called(("ship", '{"n":1}')), said("shipped")))
    unknown = Operation(
        id="o.1.1.0",
        thread="o",
        turn=1,
        round=1,
        index=0,
        tool="ship",
        effect="send",
        arguments_key=arguments_key("ship", {"n": 1}, "send"),
        state="unknown",
        runs=1,
    )
    world.kin = [unknown]
    world.statuses["o.1.1.0"] = "not_done"
    world.message()
    assert isinstance(run(world), Outcome)
    assert world.effects == ["t.1.1.0"]
    (proof,) = [row for row in world.rows if row.kind == "kin_status"]
    assert proof.content == {"operation": "o.1.1.0", "status": "not_done", "for": "t.1.1.0"}
    assert not proof.visible


def test_a_repair_thread_that_waits_looks_past_who_refused_without_storing_anything():
    world = world_of([REFUSED], [SHUT])
    world.plan = plan(candidates=BOTH, thread_kind="repair")
    event(world, 1)
    waiting = parked(world)
    before = list(world.rows)
    assert parked(world) == waiting
    assert world.rows == before


def test_a_turn_that_is_woken_while_its_route_is_still_shut_waits_on_for_the_same():
    world = World(plan(), scripted(SHUT))
    event(world, 1)
    waiting = parked(world)
    world.put("wake")
    assert parked(world).event == waiting.event
    assert len(world.sends) == 1


def test_a_ladder_that_another_failure_broke_off_goes_on_where_it_was_in_the_next_turn_that_no_person_opens():
    # Seed 302216707946: each such break gave the provider a whole ladder more, and the probes came after that.
    world = with_a_broken_ladder()
    event(world, 4)
    ending = run(world)
    assert isinstance(ending, Outcome)
    assert ending.reason == "refused"
    assert ladder_steps(world) == [1, 2, 3]
    assert sum(row.kind == "attempt" and row.content["class"] == "refusal" for row in world.rows) == 4


def test_a_person_begins_a_ladder_of_their_own_after_one_that_was_broken_off():
    world = with_a_broken_ladder()
    world.message("what came in?")
    run(world)
    assert ladder_steps(world)[:3] == [1, 2, 1]


def test_the_same_refusing_providers_are_told_of_once_though_their_refusals_began_in_two_segments():
    # Seed 330062963766: the notice was named after the segment of whoever refused last.
    world = world_of([REFUSED], [said("instead"), said("other tools"), REFUSED])
    first = world.plan = plan(candidates=BOTH, thread_kind="repair")
    event(world, 1)
    run(world)
    world.plan = replace(first, fingerprint="another", candidates=BOTH[1:])
    event(world, 2)
    run(world)
    world.plan = first
    for number in (3, 4):
        event(world, number)
        run(world)
        world.now_ms += HOUR_MS
    assert [(each.model, each.segment) for each in world.history().refusals] == [("m", "t.1#1"), ("o", "t.1#3")]
    assert [key for key in world.notices if key.endswith(":0:anthropic,openai-chat")] == [
        "refusal:t.1#1:0:anthropic,openai-chat"
    ]
