"""The breaker's table: every state meets every event, and nothing but a real failure moves its clock."""

import itertools

import pytest
from msgspec.structs import replace

from stoic.core.failures import Axis, FailureClass
from stoic.core.health import Attempt, HealthPolicy, Says, Signs, admit, after_attempt, begin_trial, retry_now, says
from stoic.records import Health

POLICY = HealthPolicy()
SIGNS = Signs(credential="c1", config="f1")
ROUTE = Health(route="r")


def bad(
    health: Health,
    now_ms: int,
    failure: FailureClass = FailureClass.OVERLOADED,
    axis: Axis = Axis.TIME,
    wait_ms: int | None = None,
    *,
    used_up: bool = False,
) -> Health:
    attempt = Attempt(
        policy=POLICY,
        signs=SIGNS,
        ended_at_ms=now_ms,
        said=Says.BAD,
        failure=failure,
        axis=axis,
        retry_after_ms=wait_ms,
        used_up=used_up,
    )
    return after_attempt(health, attempt)


def good(health: Health) -> Health:
    return after_attempt(health, Attempt(policy=POLICY, signs=SIGNS, ended_at_ms=0, said=Says.GOOD))


def nothing(health: Health) -> Health:
    return after_attempt(health, Attempt(policy=POLICY, signs=SIGNS, ended_at_ms=0, said=Says.NOTHING))


def opened(now_ms: int = 1_000) -> Health:
    return bad(ROUTE, now_ms, used_up=True)


STATES = {
    "closed": ROUTE,
    "open": opened(),
    "waiting": bad(ROUTE, 1_000, FailureClass.AUTH, Axis.CREDENTIAL),
    "trial": begin_trial(opened(), POLICY, 40_000),
    "half_open": nothing(begin_trial(opened(), POLICY, 40_000)),
}
EVENTS = {"good": good, "bad": lambda each: bad(each, 50_000), "nothing": nothing, "retry now": retry_now}
TABLE = {
    ("closed", "good"): "closed",
    ("closed", "bad"): "closed",
    ("closed", "nothing"): "closed",
    ("closed", "retry now"): "closed",
    ("open", "good"): "closed",
    ("open", "bad"): "open",
    ("open", "nothing"): "open",
    ("open", "retry now"): "half_open",
    ("waiting", "good"): "closed",
    ("waiting", "bad"): "open",
    ("waiting", "nothing"): "open",
    ("waiting", "retry now"): "half_open",
    ("trial", "good"): "closed",
    ("trial", "bad"): "open",
    ("trial", "nothing"): "half_open",
    ("trial", "retry now"): "half_open",
    ("half_open", "good"): "closed",
    ("half_open", "bad"): "open",
    ("half_open", "nothing"): "half_open",
    ("half_open", "retry now"): "half_open",
}


def test_the_table_is_complete():
    assert set(TABLE) == set(itertools.product(STATES, EVENTS))


@pytest.mark.parametrize(("state", "event"), TABLE)
def test_every_state_meets_every_event_as_the_table_says(state: str, event: str):
    assert EVENTS[event](STATES[state]).state == TABLE[state, event]


@pytest.mark.parametrize(
    ("failure", "axis", "scope", "expected"),
    [
        (None, None, None, Says.GOOD),
        (FailureClass.OVERLOADED, Axis.TIME, None, Says.BAD),
        (FailureClass.AUTH, Axis.CREDENTIAL, None, Says.BAD),
        (FailureClass.NETWORK, Axis.CONFIG, None, Says.BAD),
        (FailureClass.INVALID_REQUEST, Axis.REQUEST_CHANGE, None, Says.NOTHING),
        (FailureClass.CONTEXT_LENGTH, Axis.COMPACTION, None, Says.NOTHING),
        (FailureClass.REFUSAL, Axis.BOUNDARY, "request_bytes", Says.NOTHING),
        (FailureClass.REFUSAL, Axis.BOUNDARY, "account", Says.BAD),
        (FailureClass.CANCELLED, Axis.NEVER, None, Says.NOTHING),
        (FailureClass.UNKNOWN, Axis.NEVER, None, Says.NOTHING),
    ],
)
def test_an_attempt_says_good_bad_or_nothing(failure, axis, scope, expected):
    assert says(failure, axis, scope) is expected


def test_an_unknown_or_closed_route_admits_everybody():
    assert admit(None, POLICY, SIGNS, 0).kind == "yes"
    assert admit(ROUTE, POLICY, SIGNS, 0).kind == "yes"


def test_it_opens_after_four_bad_attempts_in_a_row_and_a_good_one_begins_anew():
    health = ROUTE
    for now_ms in range(3):
        health = bad(health, now_ms)
        assert health.state == "closed"
    assert bad(health, 3).state == "open"
    assert bad(good(health), 3).state == "closed"


def test_nothing_neither_opens_nor_closes_nor_counts():
    health = bad(bad(bad(ROUTE, 1), 2), 3)
    assert nothing(health).bad_in_a_row == 3
    assert nothing(opened()).until_ms == opened().until_ms


def test_it_opens_at_once_when_a_rounds_retries_are_used_up():
    assert opened(1_000).until_ms == 31_000


def test_cooldowns_grow_from_30_seconds_to_5_minutes_and_stay_there():
    health, now_ms, waits = ROUTE, 0, []
    for _ in range(5):
        health = bad(begin_trial(health, POLICY, now_ms), now_ms, used_up=True)
        assert health.until_ms is not None
        waits.append(health.until_ms - now_ms)
        now_ms = health.until_ms
    assert waits == [30_000, 60_000, 300_000, 300_000, 300_000]


def test_an_attempt_that_had_begun_before_it_opened_renews_the_cooldown_and_opens_nothing_anew():
    late = bad(bad(opened(1_000), 1_500, used_up=True), 2_000, used_up=True)
    assert (late.openings, late.until_ms, late.failed_at_ms, late.bad_in_a_row) == (1, 32_000, 2_000, 3)
    earlier = bad(late, 1_800)
    assert (earlier.until_ms, earlier.failed_at_ms) == (32_000, 2_000)


def test_a_stated_wait_replaces_a_shorter_cooldown():
    assert bad(ROUTE, 0, FailureClass.RATE_LIMIT, wait_ms=3_600_000, used_up=True).until_ms == 3_600_000
    assert bad(ROUTE, 0, FailureClass.RATE_LIMIT, wait_ms=1_000, used_up=True).until_ms == 30_000


def test_a_skip_never_moves_the_clock():
    health = opened(1_000)
    answers = [admit(health, POLICY, SIGNS, now_ms) for now_ms in (2_000, 20_000, 30_999)]
    assert [(each.kind, each.until_ms) for each in answers] == [("no", 31_000)] * 3
    assert admit(health, POLICY, SIGNS, 31_000).kind == "trial"


def test_one_trial_at_a_time_and_its_deadline_frees_the_slot():
    trial = begin_trial(opened(), POLICY, 40_000)
    assert admit(trial, POLICY, SIGNS, 40_001).kind == "no"
    assert admit(trial, POLICY, SIGNS, 40_000 + POLICY.trial_ms).kind == "trial"
    assert admit(nothing(trial), POLICY, SIGNS, 40_001).kind == "trial"


@pytest.mark.parametrize("failure", [FailureClass.AUTH, FailureClass.QUOTA])
def test_a_credential_failure_waits_for_another_credential_and_for_no_clock(failure: FailureClass):
    health = bad(ROUTE, 0, failure, Axis.CREDENTIAL)
    assert (health.state, health.until_ms) == ("open", None)
    assert admit(health, POLICY, SIGNS, 10**12).kind == "no"
    assert admit(health, POLICY, replace(SIGNS, config="f2"), 10**12).kind == "no"
    assert admit(health, POLICY, replace(SIGNS, credential="c2"), 1).kind == "trial"


def test_a_configuration_failure_waits_for_another_configuration():
    health = bad(ROUTE, 0, FailureClass.MODEL_NOT_FOUND, Axis.CONFIG)
    assert admit(health, POLICY, SIGNS, 10**12).kind == "no"
    assert admit(health, POLICY, replace(SIGNS, config="f2"), 1).kind == "trial"


def test_a_quota_with_a_stated_date_reopens_then():
    health = bad(ROUTE, 0, FailureClass.QUOTA, Axis.CREDENTIAL, wait_ms=7_200_000)
    assert admit(health, POLICY, SIGNS, 7_199_999).kind == "no"
    assert admit(health, POLICY, SIGNS, 7_200_000).kind == "trial"


def test_a_human_message_may_try_a_quota_without_date_once_every_ten_minutes():
    health = bad(ROUTE, 0, FailureClass.QUOTA, Axis.CREDENTIAL)
    assert admit(health, POLICY, SIGNS, 599_999, human=True).kind == "no"
    assert admit(health, POLICY, SIGNS, 600_000, human=False).kind == "no"
    assert admit(health, POLICY, SIGNS, 600_000, human=True).kind == "trial"
    again = bad(begin_trial(health, POLICY, 600_000), 600_001, FailureClass.QUOTA, Axis.CREDENTIAL)
    assert admit(again, POLICY, SIGNS, 900_000, human=True).kind == "no"


def test_a_person_who_says_retry_now_gets_a_trial():
    health = retry_now(bad(ROUTE, 0, FailureClass.AUTH, Axis.CREDENTIAL))
    assert admit(health, POLICY, SIGNS, 1).kind == "trial"
    assert retry_now(ROUTE) == ROUTE
