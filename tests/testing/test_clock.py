"""The clock and ids of tests."""

import asyncio
import uuid

from stoic.testing import CountingIds, FakeClock


def test_sleepers_wake_in_order_and_only_when_time_has_come():
    async def run():
        clock, woken = FakeClock(1000), []

        async def sleep(until_ms):
            await clock.sleep_until(until_ms)
            woken.append((until_ms, clock.now_ms()))

        async with asyncio.TaskGroup() as group:
            for until_ms in (4000, 2000, 3000):
                group.create_task(sleep(until_ms))
            group.create_task(advance(clock, woken))
        return clock, woken

    async def advance(clock, woken):
        assert clock.sleeping == 3
        clock.advance(0.5)
        assert not woken
        clock.advance(2)
        clock.advance(1)

    clock, woken = asyncio.run(run())
    assert [until_ms for until_ms, _ in woken] == [2000, 3000, 4000]
    assert clock.sleeps == [3.0, 1.0, 2.0]
    assert clock.now_ms() == 4500


def test_automatic_clock_jumps_to_the_end_of_every_sleep():
    async def run():
        clock = FakeClock(0, auto=True)
        await clock.sleep_until(60_000)
        await clock.sleep_until(61_500)
        await clock.sleep_until(1000)
        return clock

    clock = asyncio.run(run())
    assert (clock.now_ms(), clock.sleeps) == (61_500, [60.0, 1.5])


def test_cancelled_sleeper_is_forgotten():
    async def run():
        clock = FakeClock()
        task = asyncio.create_task(clock.sleep_until(clock.now_ms() + 1))
        await asyncio.wait([task], timeout=0)
        assert clock.sleeping == 1
        task.cancel()
        await asyncio.wait([task])
        return clock.sleeping

    assert asyncio.run(run()) == 0


def test_ids_count_up_sort_by_order_and_have_the_shape_of_version_7():
    ids, again = CountingIds(), CountingIds()
    made = [ids.new() for _ in range(300)]
    assert made == sorted(set(made))
    assert [again.new() for _ in range(300)] == made
    assert {uuid.UUID(text).version for text in made} == {7}
    assert made[0].endswith("-000000000001")
