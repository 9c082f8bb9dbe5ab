"""Health that several workers store: no count is lost, whatever each of them knew (SPEC §7)."""

import pytest
from msgspec.structs import replace
from tests.store.conftest import THREAD, Log

from stoic.core.failures import Axis, FailureClass
from stoic.core.health import Attempt, HealthPolicy, Says, Signs, attempted, begin_trial, give_back
from stoic.records import Health, Lease, Step, ThreadRecord

ROUTE = Health(route="r")
POLICY = HealthPolicy()


def attempt(said: Says = Says.BAD, ended_at_ms: int = 1_000, *, used_up: bool = False) -> Attempt:
    failure = (FailureClass.OVERLOADED, Axis.TIME) if said is Says.BAD else (None, None)
    return Attempt(
        policy=POLICY,
        signs=Signs(credential="c", config="f"),
        ended_at_ms=ended_at_ms,
        said=said,
        failure=failure[0],
        axis=failure[1],
        used_up=used_up,
    )


async def second_lease(log: Log) -> Lease:
    """Give the other store a thread of its own."""
    await log.other.create_thread(ThreadRecord(id="thread-2", created_at=1))
    return await log.other.acquire("thread-2", "second", 0)


async def stored(log: Log) -> Health:
    (known,) = await log.other.health()
    return known


def test_bad_attempts_of_two_workers_that_knew_the_same_are_both_counted(play):
    async def story(log: Log) -> None:
        lease = await second_lease(log)
        for number in range(1, 4):
            known = (await log.store.health() or [ROUTE])[0]
            await log.append(health=[attempted(known, attempt())])
            await log.other.append(lease, Step(health=[attempted(known, attempt())]))
            expected = 2 * number
            assert (await stored(log)).bad_in_a_row == expected
            if expected >= POLICY.threshold:
                break
        assert (await stored(log)).state == "open"

    play(story)


def test_the_fourth_bad_attempt_in_a_row_opens_even_if_each_worker_knew_of_fewer(play):
    async def story(log: Log) -> None:
        lease = await second_lease(log)
        for _ in range(2):
            await log.append(health=[attempted(ROUTE, attempt())])
        assert (await stored(log)).state == "closed"
        await log.other.append(lease, Step(health=[attempted(ROUTE, attempt())]))
        assert (await stored(log)).state == "closed"
        await log.other.append(lease, Step(health=[attempted(ROUTE, attempt(ended_at_ms=5_000))]))
        known = await stored(log)
        assert (known.state, known.bad_in_a_row, known.until_ms) == ("open", 4, 35_000)

    play(story)


def test_a_good_attempt_begins_anew_whatever_was_counted_meanwhile(play):
    async def story(log: Log) -> None:
        await log.append(health=[attempted(ROUTE, attempt(used_up=True))])
        await log.append(health=[attempted(ROUTE, attempt(Says.GOOD))])
        assert await stored(log) == ROUTE

    play(story)


def test_an_attempt_that_said_nothing_takes_nothing_back(play):
    async def story(log: Log) -> None:
        await log.append(health=[attempted(ROUTE, attempt(used_up=True))])
        opened = await stored(log)
        await log.append(health=[attempted(ROUTE, attempt(Says.NOTHING))])
        assert await stored(log) == opened

    play(story)


def test_a_trial_that_is_given_back_leaves_what_others_have_counted(play):
    async def story(log: Log) -> None:
        await log.append(health=[attempted(ROUTE, attempt(used_up=True))])
        known = await stored(log)
        trial = begin_trial(known, POLICY, 40_000, THREAD)
        assert await log.store.claim_trial(trial, 40_000)
        await log.append(health=[attempted(ROUTE, attempt(ended_at_ms=41_000))])
        counted = await stored(log)
        await log.append(health=[give_back(trial)])
        assert await stored(log) == counted
        assert (counted.bad_in_a_row, counted.state) == (2, "open")

    play(story)


def test_what_is_stored_is_plain_health_and_comes_back_as_it_is(play):
    async def story(log: Log) -> None:
        await log.append(health=[attempted(ROUTE, attempt())])
        assert await stored(log) == Health(
            route="r", bad_in_a_row=1, failed_at_ms=1_000, failure_class=FailureClass.OVERLOADED
        )

    play(story)


def test_a_rejected_step_counts_nothing(play):
    async def story(log: Log) -> None:
        with pytest.raises(Exception, match="seq 5"):
            await log.append(log.row(5), health=[attempted(ROUTE, attempt())])
        assert await log.other.health() == []

    play(story)


def test_a_trial_is_taken_once_and_keeps_what_others_have_counted(play):
    async def story(log: Log) -> None:
        await log.append(health=[attempted(ROUTE, attempt(used_up=True))])
        known = await stored(log)
        await log.append(health=[attempted(known, attempt(ended_at_ms=2_000))])
        trial = begin_trial(known, POLICY, 40_000, THREAD)
        assert await log.store.claim_trial(trial, 40_000)
        assert not await log.other.claim_trial(trial, 40_000)
        now = await stored(log)
        assert now == replace(
            trial, bad_in_a_row=2, failed_at_ms=2_000, until_ms=32_000, failure_class=FailureClass.OVERLOADED
        )
        assert not await log.store.claim_trial(replace(trial, route="unknown"), 40_000)

    play(story)
