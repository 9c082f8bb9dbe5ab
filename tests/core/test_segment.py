"""What shapes a request's prefix: each part is told apart, and a fingerprint that comes back resumes what it had (SPEC §2)."""

from typing import Any

import pytest
from msgspec.structs import replace
from tests.core.world import World, plan, report, run, said, scripted

from stoic.core.plan import Plan
from stoic.core.segment import COMPACT_AT_SHARE, changed_parts, fingerprint, shape_of
from stoic.records import ToolSchema

REFUSED = report([], "content_filter")


def test_the_order_of_parameters_does_not_shape_the_prefix_and_that_of_tools_does():
    first: dict[str, Any] = {"provider": "p", "api": "chat", "model": "m", "mode": "", "system": "s", "tools": []}
    assert shape_of(**first, parameters={"a": 1, "b": 2}) == shape_of(**first, parameters={"b": 2, "a": 1})
    tools = [ToolSchema(name=name, description="", parameters={}) for name in "ab"]
    one: dict[str, Any] = first | {"tools": tools, "parameters": {}}
    other: dict[str, Any] = first | {"tools": tools[::-1], "parameters": {}}
    assert shape_of(**one) != shape_of(**other)


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"provider": "q"}, "model"),
        ({"model": "n"}, "model"),
        ({"api": "messages"}, "api"),
        ({"mode": "plan"}, "mode"),
        ({"system": "t"}, "prompt"),
        ({"tools": [ToolSchema(name="a", description="", parameters={})]}, "tools"),
        ({"parameters": {"top_p": 1}}, "parameters"),
    ],
)
def test_every_part_of_the_prefix_has_a_fingerprint_of_its_own_and_can_be_told(change: dict[str, Any], part: str):
    first: dict[str, Any] = {"provider": "p", "api": "chat", "model": "m", "mode": "", "system": "s", "tools": [], "parameters": {}}  # fmt: skip
    before, after = shape_of(**first), shape_of(**first | change)
    assert fingerprint(before) != fingerprint(after)
    assert changed_parts(before, after) == [part]
    assert changed_parts(before, before) == []
    assert changed_parts({}, {"model": "p:m"}) == ["model"]


def under(the_plan: Plan, name: str) -> Plan:
    return replace(the_plan, fingerprint=name, shape={"tools": name})


def test_a_changed_prefix_opens_a_segment_that_says_its_shape_and_an_equal_one_none():
    world = World(under(plan(), "f"), scripted(said("ok")))
    for name in ("f", "f", "g"):
        world.plan = under(world.plan, name)
        world.message()
        run(world)
    openings = [row for row in world.rows if row.kind == "message"]
    assert [row.segment for row in openings] == ["t.1#1", "t.1#1", "t.1#2"]
    assert [row.meta.get("shape") for row in openings] == [{"tools": "f"}, None, {"tools": "g"}]


def test_a_fingerprint_that_comes_back_within_the_generation_resumes_its_refusals_and_in_the_next_none():
    world = World(under(plan(), "f"), scripted(REFUSED))
    world.message()
    run(world)
    refused = world.history().refusals
    assert [state.refusals for state in refused] == [1]
    world.reply = scripted(said("ok"))
    for name, known in (("g", []), ("f", refused)):
        world.plan = under(world.plan, name)
        world.put("event", {"kind": "mail", "payload": 1, "text": "news"})
        run(world)
        assert world.history().refusals_under(name) == known
    waiting = [entry.kind for entry in world.inbox]
    assert waiting == ["event"], "flapping tools do not unfreeze anything"
    world.put("fresh")
    run(world)
    assert world.inbox == []
    assert world.history().refusals_under("f") == []
    assert world.history().segment == "t.2#2", "the last turn was under another one"


def test_what_a_person_switched_to_stays_until_the_next_switch():
    world = World(plan(), scripted(said("ok")))
    seen: list[tuple[str | None, str | None]] = []
    for switch in ({"model": "p:m"}, {"mode": "plan"}, {"model": "p:n", "mode": "default"}):
        world.put("switch", switch)
        world.message()
        run(world)
        seen.append((world.history().binding, world.history().mode))
    assert seen == [("p:m", None), ("p:m", "plan"), ("p:n", "default")]


def test_a_context_is_compacted_before_the_window_is_full():
    assert 0.5 < COMPACT_AT_SHARE < 1
