"""The shapes of stored values: everything that the runtime writes fits, and what does not is told without its value."""

from typing import Any

import pytest

from stoic.core.shapes import misfit_of_delivery, misfit_of_entry, misfit_of_row, misfit_of_thread
from stoic.records import Delivery, InboxEntry, Row, StoredDelivery, ThreadRecord
from stoic.testing.simulation import simulate, varied


def row(kind: str, content: Any, **fields: Any) -> Row:
    place = {"id": "r", "thread": "t", "seq": 1, "generation": 1, "segment": "t.1#1", "turn": 1, "round": 1}
    return Row(**place, role="system", created_at=1, kind=kind, content=content, **fields)


@pytest.mark.parametrize("seed", [0, 3, 5, 8])
def test_every_row_of_a_simulated_world_fits(seed):
    rows = [each for thread in simulate(varied(seed)).rows.values() for each in thread]
    assert {each.kind for each in rows} >= {"message", "reply", "outcome"}
    assert [found for each in rows if (found := misfit_of_row(each))] == []


@pytest.mark.parametrize(
    ("damaged", "told"),
    [
        (row("message", ["text"]), "its content: Expected `object`, got `array`"),
        (row("message", {}), "its content: Object missing required field `text`"),
        (row("message", {"text": 7}), "its content: Expected `str`, got `int` - at `$.text`"),
        (row("reply", {"parts": [{"type": "secret"}]}), "its content: Invalid value - at `$.parts[0].type`"),
        (row("result", {"text": "", "operation": "o", "tool": "t", "call": -1}), "its content: Expected `int` >= 0 - at `$.call`"),
        (row("nudge", {"text": "", "reason": "r"}, view="text"), "its view: Expected `object`, got `str`"),
        (row("woken", {}, meta={"usage": 5}), "its meta: Expected `object`, got `int` - at `$.usage`"),
        (row("kept", {"text": ""}, meta={"kind": "message"}), "its meta: Object missing required field `turn`"),
        (row("kept", {"parts": 1}, meta={"kind": "reply", "turn": 1}), "its content: Expected `array`, got `int` - at `$.parts`"),
        (row("budget", {"scope": "turn"}), "its content: Object missing required field `bound`"),
    ],
)  # fmt: skip
def test_value_of_another_shape_is_told_with_its_place_and_without_itself(damaged, told):
    assert misfit_of_row(damaged) == told


def test_kind_of_a_newer_version_is_no_damage():
    assert misfit_of_row(row("a newer kind", 7, view={"text": "shown"}, meta={"new": 1})) is None


def test_entries_are_held_against_the_kind_of_row_they_become():
    assert misfit_of_entry(InboxEntry(id="e", thread="t", kind="wake", content=None, created_at=1)) is None
    assert (
        misfit_of_entry(InboxEntry(id="e", thread="t", kind="switch", content={"mode": "plan"}, created_at=1)) is None
    )
    broken = InboxEntry(id="e", thread="t", kind="switch", content={"mode": 1}, created_at=1)
    assert misfit_of_entry(broken) == "its content: Expected `str | null`, got `int` - at `$.mode`"


def test_facts_of_threads_and_deliveries_are_looked_at():
    assert misfit_of_thread(ThreadRecord(id="t", meta={"mine": [1]}, parked={"waits_for": "time"})) is None
    assert (
        misfit_of_thread(ThreadRecord(id="t", meta={"owner": 1}))
        == "its meta: Expected `str | null`, got `int` - at `$.owner`"
    )
    assert misfit_of_thread(ThreadRecord(id="t", parked=[])) == "its parked: Expected `object`, got `array`"
    stored = StoredDelivery(
        delivery=Delivery(id="d", task="t", turn=1, status="failed", receipt={}), created_at=1, reached=True
    )
    assert misfit_of_delivery(stored) == "its receipt: Object missing required field `task`"
