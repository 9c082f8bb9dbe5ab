"""The rules of refusal: dispositions, the probe table, the freeze, and what is read back from cards."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stoic.core import refusal
from stoic.core.refusal import FROZEN_AT, PROBE_DELAYS_MS, Disposition, RefusalState, after_refusal, may_send, state_of

NOW = 1_800_000_000_000
ME = {"provider": "p", "model": "m", "category": "cyber"}


def state(refusals, at: int | None = NOW):
    return RefusalState(**ME, refusals=refusals, refused_at_ms=at)


@pytest.mark.parametrize(
    ("kind", "scope", "is_task"),
    [
        ("chat", "main", False),
        ("chat", "worker", True),
        ("task", "main", True),
        ("task", "worker", True),
        ("repair", "main", False),
        ("repair", "worker", False),
    ],
)
def test_a_task_is_a_kind_or_a_scope_and_repair_never_is_one(kind, scope, is_task):
    assert refusal.counts_as_task(kind, scope) is is_task
    ends = Disposition(ladder=False, others=False, tombstone=True)
    assert (refusal.disposition(kind, scope, "request_bytes") == ends) is is_task


@pytest.mark.parametrize("scope", ["request_bytes", "completion_sample", "model", "unknown", None])
def test_a_verdict_on_bytes_gets_the_ladder_and_only_repair_may_ask_others(scope):
    assert refusal.disposition("chat", "main", scope) == Disposition(ladder=True, others=False, tombstone=False)
    assert refusal.disposition("repair", "main", scope) == Disposition(ladder=True, others=True, tombstone=False)


@pytest.mark.parametrize("scope", ["account", "agent_action"])
@pytest.mark.parametrize("kind", ["chat", "repair"])
def test_a_verdict_on_the_account_or_the_action_gets_neither(kind, scope):
    assert refusal.disposition(kind, "main", scope) == Disposition(ladder=False, others=False, tombstone=False)


def test_probes_come_after_15_minutes_1_hour_and_6_hours_and_then_never():
    now, known, sends = NOW, None, []
    for _ in range(6):
        known = after_refusal(known, **ME, now_ms=now, human=False)
        due = known.probe_at_ms
        if due is None:
            break
        assert may_send(known, due - 1, human=False) == "no"
        assert may_send(known, due, human=False) == "probe"
        sends.append(due - now)
        now = due
    assert sends == [900_000, 3_600_000, 21_600_000]
    assert known is not None
    assert (known.refusals, known.is_frozen, known.probes_used) == (4, True, 3)
    assert may_send(known, NOW + 10**12, human=False) == "no"
    assert may_send(known, NOW, human=True) == "yes"


def test_a_provider_that_did_not_refuse_may_be_asked():
    assert may_send(None, NOW, human=False) == "yes"


@pytest.mark.parametrize(("before", "after"), [(None, 1), (1, 1), (3, 3), (4, 4)])
def test_a_person_raises_the_count_to_one_and_always_sets_the_time(before, after):
    known = None if before is None else state(before)
    found = after_refusal(known, **ME, now_ms=NOW + 5, human=True)
    assert (found.refusals, found.refused_at_ms) == (after, NOW + 5)


def test_the_count_never_exceeds_four():
    assert after_refusal(state(4), **ME, now_ms=NOW, human=False).refusals == FROZEN_AT == 4


@given(st.integers(1, 4), st.integers(0, 2**45), st.booleans())
def test_a_card_is_read_back_as_it_was_written(refusals, at, skipped):
    written = refusal.card(state(refusals, at), skipped=skipped)
    assert state_of(written) == state(refusals, at)
    assert written["skipped"] is skipped


@pytest.mark.parametrize("count", [None, "2", 0, -1, True, 2.0])
def test_a_card_without_a_count_is_frozen(count):
    found = state_of({**ME, "refusals": count, "refused_at": NOW})
    assert found.is_frozen
    assert found.probe_at_ms is None


@pytest.mark.parametrize("time", [None, "yesterday", True, 1.5, [], "2026-13-01"])
def test_a_card_with_an_unreadable_time_is_frozen(time):
    found = state_of({**ME, "refusals": 1, "refused_at": time})
    assert (found.is_frozen, found.refused_at_ms) == (True, None)


@pytest.mark.parametrize(
    "time",
    [
        NOW,
        datetime.fromtimestamp(NOW / 1000, UTC),
        "2027-01-15T08:00:00",
        "2027-01-15T08:00:00+00:00",
        "2027-01-15T10:00:00+02:00",
        "2027-01-15T08:00:00Z",
    ],
)
def test_times_are_taken_as_numbers_and_as_dates(time):
    assert state_of({**ME, "refusals": 1, "refused_at": time}).refused_at_ms == NOW


def test_a_foreign_card_without_names_is_read_too():
    assert state_of({"category": 3}) == RefusalState(
        provider="", model="", category=None, refusals=4, refused_at_ms=None
    )


def test_the_rule_is_said_with_the_numbers_it_is_made_of():
    assert "15 min, 1 h, 6 h" in refusal.rule()
    assert f"after {FROZEN_AT} refusals" in refusal.rule()
    said = [refusal.rule_of(state(count)) for count in (1, 2, 3, 4)]
    assert [refusal.duration(delay) in text for delay, text in zip(PROBE_DELAYS_MS, said[:3], strict=True)] == [
        True
    ] * 3
    assert said[3].startswith("frozen after 4")
