"""Enters the prompts of schedules that are due: each at most once, missed ones as one, none while an earlier is unread."""

import contextlib
import logging

from msgspec.structs import replace

from stoic.core.schedules import Due, due, held_until, next_due
from stoic.errors import NoSuchThreadError, UsageError
from stoic.ports import Clock, Store, load_readable
from stoic.records import InboxEntry, Row, Schedule

KIND = "schedule"
"""Of the events that schedules are: renderers are registered by it."""
_NEWEST_ROWS = 20
_log = logging.getLogger(__name__)


async def fire_due(store: Store, clock: Clock) -> int | None:
    """Enter what is due into the inboxes; a loop calls this again at the returned time, or earlier.

    Any number of processes may do this at once. What was entered is an event: it opens no turn while a refusal forbids
    sends that no person causes (SPEC §8), and the next one is not entered before it was read.

    Returns:
        The next due time in epoch milliseconds; None: no schedule is active.

    Raises:
        StoreError: the log cannot be read or written
    """
    now_ms = clock.now_ms()
    times: list[int] = []
    for schedule in await store.schedules():
        if schedule.paused:
            continue
        try:
            times.append(await _attend(store, schedule, now_ms))
        except UsageError as error:  # a zone that another machine knew: it must not hold up the others
            _log.warning("schedule %s of thread %s is paused: %s", schedule.id, schedule.thread, error)
            with contextlib.suppress(NoSuchThreadError):
                await store.put_schedule(replace(schedule, paused=True))
        except NoSuchThreadError:  # deleted meanwhile, its schedules with it
            continue
    return min(times, default=None)


async def last_outcome(store: Store, thread: str) -> Row | None:
    """Return the row of a thread's last outcome; None: no turn of it has ended. Raises NoSuchThreadError, StoreError."""
    last_seq = (await store.thread(thread)).last_seq
    for after_seq in (max(last_seq - _NEWEST_ROWS, 0), 0):  # nearly always it is among the newest
        rows = (await load_readable(store, thread, after_seq=after_seq)).rows
        found = next((row for row in reversed(rows) if row.kind == "outcome"), None)
        if found is not None:
            return found
    return None


async def _attend(store: Store, schedule: Schedule, now_ms: int) -> int:
    """Enter a schedule's prompt if it is due; return when to look again."""
    run = due(schedule, now_ms)
    if run is None:
        return schedule.next_due_at
    held_ms = held_until(await last_outcome(store, schedule.thread), now_ms)
    if held_ms is not None:
        return held_ms
    following_ms = next_due(schedule, now_ms)
    await store.fire_schedule(schedule, _entry(schedule, run, following_ms, now_ms), following_ms)
    return following_ms


def _entry(schedule: Schedule, run: Due, following_ms: int, now_ms: int) -> InboxEntry:
    return InboxEntry(
        id=f"{KIND}:{schedule.id}:{run.due_ms}",
        thread=schedule.thread,
        kind="event",
        content={
            "kind": KIND,
            # Equal from run to run: a prompt that was refused is known again and stays withheld (SPEC §9).
            "payload": {"schedule": schedule.id, "prompt": schedule.prompt},
            "text": f"[event {KIND}]\n{schedule.prompt}",
            "source_channel": KIND,
            "due_ms": run.due_ms,
            "missed": run.missed,
            "next_due_ms": following_ms,
        },
        created_at=now_ms,
    )
