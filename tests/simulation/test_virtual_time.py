"""Time that jumps, and dice that repeat."""

import asyncio

import pytest

from stoic.testing.simulation import Dice, StalledError, VirtualClock, run_in_virtual_time

HOUR_MS = 3_600_000


def test_waits_take_virtual_time_and_end_in_the_order_of_their_times():
    ended: list[int] = []

    async def main() -> int:
        clock = VirtualClock(0)

        async def wait(until_ms: int) -> None:
            await clock.sleep_until(until_ms)
            ended.append(until_ms)

        await asyncio.gather(*(wait(hours * HOUR_MS) for hours in (3, 1, 2)))
        return clock.now_ms()

    assert run_in_virtual_time(main()) == 3 * HOUR_MS
    assert ended == [HOUR_MS, 2 * HOUR_MS, 3 * HOUR_MS]


def test_a_sleep_never_ends_before_its_time():
    async def main() -> list[int]:
        clock = VirtualClock()
        early: list[int] = []
        for step in (1, 3, 7, 33, 1_001):
            until_ms = clock.now_ms() + step
            await clock.sleep_until(until_ms)
            early += [step] if clock.now_ms() < until_ms else []
        return early

    assert run_in_virtual_time(main()) == []


def test_a_sleep_into_the_past_ends_at_once():
    async def main() -> int:
        clock = VirtualClock(5)
        await clock.sleep_until(4)
        return clock.now_ms()

    assert run_in_virtual_time(main()) == 5


def test_a_timeout_of_asyncio_passes_in_virtual_time():
    async def main() -> None:
        async with asyncio.timeout(1_000_000):
            await asyncio.Event().wait()

    with pytest.raises(TimeoutError):
        run_in_virtual_time(main())


def test_a_wait_that_nothing_can_end_is_told_instead_of_hanging():
    async def main() -> None:
        await asyncio.Event().wait()

    with pytest.raises(StalledError, match="every task waits"):
        run_in_virtual_time(main())


def test_a_cancelled_sleep_leaves_no_timer_behind():
    async def main() -> int:
        clock = VirtualClock(0)
        sleeping = asyncio.ensure_future(clock.sleep_until(HOUR_MS))
        await clock.sleep_until(1)
        sleeping.cancel()
        await asyncio.gather(sleeping, return_exceptions=True)
        await clock.sleep_until(2)
        return clock.now_ms()

    assert run_in_virtual_time(main()) == 2


def test_dice_repeat_by_their_seed_and_differ_between_seeds():
    rolls = [[Dice(seed).below(1_000_000) for _ in range(1)] + [Dice(seed).below(6)] for seed in (1, 1, 2)]
    assert rolls[0] == rolls[1] != rolls[2]


def test_dice_reach_every_side_and_nothing_else():
    dice = Dice(7)
    assert {dice.below(6) for _ in range(200)} == {0, 1, 2, 3, 4, 5}
    assert {dice.pick("ab") for _ in range(50)} == {"a", "b"}
    assert {dice.chance(50) for _ in range(50)} == {True, False}
    assert not any(dice.chance(0) for _ in range(50))
    assert all(dice.chance(100) for _ in range(50))


def test_dice_give_the_published_sequence():
    dice = Dice(1234567)
    assert [dice.below(1 << 64) for _ in range(3)] == [6457827717110365317, 3203168211198807973, 9817491932198370423]
