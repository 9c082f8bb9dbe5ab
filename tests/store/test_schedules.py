"""Schedules: the same stories on every store."""

import asyncio

import pytest
from msgspec.structs import replace

from stoic.errors import NoSuchThreadError, StoreError
from stoic.records import Schedule, Step, ThreadRecord

THREAD = "thread-1"
SCHEDULE = Schedule(
    id="s",
    thread=THREAD,
    expression="every day 09:00",
    cron="0 9 * * *",
    zone="Europe/Berlin",
    prompt="Look.",
    created_at=5,
    next_due_at=100,
)


def entry(log, due_ms: int = 100, **fields):
    content = {"kind": "schedule", "payload": {"due_ms": due_ms}, "text": "Look.", "source_channel": "schedule"}
    return log.entry(
        f"schedule:s:{due_ms}", **{"kind": "event", "content": content, "created_at": due_ms + 1, **fields}
    )


def test_a_schedule_comes_back_as_it_was_and_only_its_pause_and_next_time_change(play):
    async def story(log):
        other = replace(SCHEDULE, id="later", last_fired_at=3, paused=True)
        await log.store.put_schedule(SCHEDULE)
        await log.store.put_schedule(other)
        assert await log.other.schedules() == [SCHEDULE, other]
        changed = replace(
            SCHEDULE, prompt="x", cron="x", zone="x", created_at=9, last_fired_at=9, next_due_at=7, paused=True
        )
        await log.other.put_schedule(changed)
        assert await log.store.schedules() == [replace(SCHEDULE, next_due_at=7, paused=True), other]
        assert await log.other.delete_schedule("s")
        assert not await log.other.delete_schedule("s")
        assert await log.store.schedules() == [other]

    play(story)


def test_of_two_who_fire_at_once_one_enters_the_prompt(play):
    async def story(log):
        await log.store.put_schedule(SCHEDULE)
        fired = await asyncio.gather(
            log.store.fire_schedule(SCHEDULE, entry(log), 200), log.other.fire_schedule(SCHEDULE, entry(log), 300)
        )
        assert sorted(fired) == [False, True]
        (known,) = await log.store.schedules()
        assert known == replace(SCHEDULE, next_due_at=300 if fired[1] else 200, last_fired_at=101)
        (waiting,) = await log.other.inbox(THREAD)
        assert replace(waiting, position=0) == entry(log)

    play(story)


def test_nothing_piles_up_while_a_prompt_is_unread(play):
    async def story(log):
        await log.store.put_schedule(SCHEDULE)
        await log.store.put_schedule(replace(SCHEDULE, id="s2"))
        assert await log.store.fire_schedule(SCHEDULE, entry(log), 200)
        second = replace(SCHEDULE, next_due_at=200)
        assert not await log.other.fire_schedule(second, entry(log, 200), 300)
        assert [(each.next_due_at, each.last_fired_at) for each in await log.store.schedules()] == [
            (300, 101),
            (100, None),
        ]
        assert await log.other.fire_schedule(replace(SCHEDULE, id="s2"), replace(entry(log), id="schedule:s2:100"), 200)
        assert [each.id for each in await log.store.inbox(THREAD)] == ["schedule:s:100", "schedule:s2:100"]
        await log.append(log.row(1), inbox_taken=["schedule:s:100"])
        third = replace(SCHEDULE, next_due_at=300)
        assert await log.other.fire_schedule(third, entry(log, 300), 400)
        assert [each.id for each in await log.store.inbox(THREAD)] == ["schedule:s2:100", "schedule:s:300"]

    play(story)


def test_a_due_time_is_entered_once_for_ever_even_if_the_clock_was_set_back(play):
    async def story(log):
        await log.store.put_schedule(SCHEDULE)
        await log.store.fire_schedule(SCHEDULE, entry(log), 200)
        await log.append(log.row(1), inbox_taken=["schedule:s:100"])
        await log.store.put_schedule(SCHEDULE)
        again = replace(entry(log), content={"text": "another"})
        assert not await log.other.fire_schedule(SCHEDULE, again, 200)
        assert await log.store.inbox(THREAD) == []

    play(story)


def test_a_paused_or_unknown_schedule_fires_nothing(play):
    async def story(log):
        await log.store.put_schedule(replace(SCHEDULE, paused=True))
        assert not await log.store.fire_schedule(SCHEDULE, entry(log), 200)
        assert not await log.store.fire_schedule(replace(SCHEDULE, id="none"), entry(log), 200)
        assert await log.other.inbox(THREAD) == []
        assert await log.store.schedules() == [replace(SCHEDULE, paused=True)]
        with pytest.raises(StoreError, match=r"inbox entry .* is for thread x"):
            await log.store.fire_schedule(SCHEDULE, entry(log, thread="x"), 200)

    play(story)


def test_a_thread_that_ended_by_refusal_gets_no_schedule_and_its_old_one_stops(play):
    async def story(log):
        await log.store.put_schedule(SCHEDULE)
        await log.append(log.row(1, kind="refusal_stop", role="system", visible=False))
        assert not await log.other.fire_schedule(SCHEDULE, entry(log), 200)
        assert await log.other.inbox(THREAD) == []
        assert await log.other.schedules() == [replace(SCHEDULE, next_due_at=200, paused=True)]
        with pytest.raises(StoreError, match="thread-1 ended by refusal and never runs again"):
            await log.store.put_schedule(replace(SCHEDULE, id="new"))
        await log.store.put_schedule(replace(SCHEDULE, next_due_at=300, paused=True))
        with pytest.raises(NoSuchThreadError):
            await log.store.put_schedule(replace(SCHEDULE, thread="nowhere"))

    play(story)


def test_a_schedule_goes_with_its_thread(play):
    async def story(log):
        await log.store.create_thread(ThreadRecord(id="kept", created_at=1))
        await log.store.put_schedule(SCHEDULE)
        await log.store.put_schedule(replace(SCHEDULE, id="kept", thread="kept"))
        await log.store.append(log.lease, Step(release=True))
        await log.store.delete_thread(THREAD, 0)
        assert [each.id for each in await log.other.schedules()] == ["kept"]

    play(story)
