"""`stoic schedule`: prompts that come into threads by the clock; add, list, pause, resume and remove them."""

import asyncio
import os
from typing import IO

from msgspec.structs import replace

from stoic.cli import exits
from stoic.cli.cleaning import json_text, one_line, quoted, shortened
from stoic.cli.names import near, readable_id
from stoic.cli.opening import log_to_list, opened_log, require_log, require_thread
from stoic.cli.screen import Style
from stoic.cli.states import ThreadState, read_state
from stoic.cli.timeline import moment
from stoic.cli.zones import machine_zone
from stoic.core.refusal import duration
from stoic.core.schedules import HOLD_MS, held_until, next_due, parse, zone_of
from stoic.errors import UsageError
from stoic.moments import date_of
from stoic.ports import Store
from stoic.records import Record, Schedule
from stoic.runtime.schedules import last_outcome
from stoic.store.owners import process_is_alive
from stoic.wiring import RandomIds, SystemClock

_STYLES = {"completed": "green", "failed": "red", "stopped": "red", "open": "yellow", "parked": "yellow"}
_PROMPT_CELLS = 60


class ScheduleLine(Record, frozen=True, omit_defaults=False):
    """One schedule for programs."""

    id: str
    thread: str
    expression: str
    """When, as it was typed."""
    cron: str
    zone: str
    prompt: str
    paused: bool
    created_at: int
    """Epoch milliseconds, like the next three."""
    next_due_at: int
    held_until: int | None
    """Until when nothing is entered though it is due by then, since the thread's last turn did not go well; None: it is not."""
    last_fired_at: int | None
    unread: bool
    """Whether its last prompt waits in the inbox; until it was read no other one comes."""
    last_turn: str
    """How the thread's last turn ended or where it stands, such as `completed`, `failed` or `stopped`; `new`: none yet."""
    detail: str | None
    """The class of a failure, or the reason of a stop such as `refused`; `input_withheld` where all of the prompt was."""
    until_ms: int | None
    """When a turn that waits for a time goes on; None: it does not wait for one."""


def add(thread: str, when: str, prompt: str, *, zone: str | None, stdout: IO[str]) -> int:
    """Store a new schedule and say when it is due first.

    Args:
        thread: where its prompt goes
        when: in words, or as a cron expression
        prompt: what comes into the thread
        zone: whose clock is meant; None: this machine's
        stdout: where to

    Raises:
        UsageError: there is no such thread, or it ended by refusal; the time is not understood; the prompt is empty
    """
    if not prompt.strip():
        raise UsageError("the prompt is empty; say what the agent is to do then")
    timing = parse(when, zone or machine_zone())
    require_log(f"there is no thread {thread!r}")
    now_ms = SystemClock().now_ms()
    schedule = Schedule(
        id=readable_id(RandomIds().new()),
        thread=thread,
        expression=when,
        cron=timing.cron,
        zone=timing.zone,
        prompt=prompt,
        created_at=now_ms,
        next_due_at=next_due(timing, now_ms),
    )
    asyncio.run(_add(schedule))
    stdout.write(f"{schedule.id}: next {_local(schedule, schedule.next_due_at)}\n")
    return exits.COMPLETED


def list_schedules(*, as_json: bool, stdout: IO[str]) -> int:
    """Print the schedules, the oldest first, each with how its thread stands; as JSON, one object a line."""
    if not log_to_list():
        return exits.COMPLETED
    lines = asyncio.run(_lines())
    if as_json:
        for line, _ in lines:
            stdout.write(json_text(line) + "\n")
        return exits.COMPLETED
    style = Style(stdout, os.environ)
    for line, schedule in lines:
        _print(line, schedule, style, stdout)
    if not lines:
        stdout.write("no schedules yet; `stoic schedule add` makes one\n")
    return exits.COMPLETED


def tell_idle(*, stderr: IO[str]) -> None:
    """Say that no prompt is entered now where schedules are active and no process is seen to work on the log."""
    if log_to_list() and asyncio.run(_is_idle()):
        stderr.write("nothing enters prompts now: no `stoic up` is seen to run on this database\n")


def remove(schedule: str, *, stdout: IO[str]) -> int:
    """Delete a schedule; a prompt of it that is in the inbox already stays. Raises UsageError (no such schedule)."""
    asyncio.run(_remove(_known_id(schedule)))
    stdout.write(f"removed {one_line(schedule)}\n")
    return exits.COMPLETED


def pause(schedule: str, *, stdout: IO[str]) -> int:
    """Let a schedule enter nothing until it is resumed. Raises UsageError (no such schedule)."""
    asyncio.run(_change(_known_id(schedule), paused=True))
    stdout.write(f"paused {one_line(schedule)}; `stoic schedule resume {quoted(schedule)}` goes on\n")
    return exits.COMPLETED


def resume(schedule: str, *, stdout: IO[str]) -> int:
    """Let a paused schedule go on; what was due meanwhile is not made up for.

    Raises:
        UsageError: there is no such schedule, or its thread ended by refusal
    """
    changed = asyncio.run(_change(_known_id(schedule), paused=False))
    stdout.write(f"{one_line(schedule)}: next {_local(changed, changed.next_due_at)}\n")
    return exits.COMPLETED


def _known_id(schedule: str) -> str:
    """Check that there can be such a schedule. Raises UsageError."""
    require_log(f"there is no schedule {schedule!r}")
    return schedule


async def _add(schedule: Schedule) -> None:
    async with opened_log() as store:
        await require_thread(store, schedule.thread)
        await _require_living(store, schedule.thread)
        same = next((each for each in await store.schedules() if _says(each) == _says(schedule)), None)
        if same is not None:
            goes_on = f"; it is paused: `stoic schedule resume {quoted(same.id)}`" if same.paused else ""
            raise UsageError(
                f"schedule {same.id} enters the same prompt into thread {schedule.thread!r} at the same times{goes_on}"
            )
        await store.put_schedule(schedule)


def _says(schedule: Schedule) -> tuple[str, str, str, str]:
    return schedule.thread, schedule.cron, schedule.zone, schedule.prompt


async def _is_idle() -> bool:
    async with opened_log() as store:
        is_wanted = any(not each.paused for each in await store.schedules())
        return is_wanted and not any(process_is_alive(each) for each in await store.owners())


async def _remove(schedule: str) -> None:
    async with opened_log() as store:
        if not await store.delete_schedule(schedule):
            raise await _unknown(store, schedule)


async def _change(schedule: str, *, paused: bool) -> Schedule:
    """Pause or resume a schedule and return it as it is then."""
    async with opened_log() as store:
        known = next((each for each in await store.schedules() if each.id == schedule), None)
        if known is None:
            raise await _unknown(store, schedule)
        if not paused:
            await _require_living(store, known.thread)
        is_resumed = known.paused and not paused
        next_due_at = next_due(known, SystemClock().now_ms()) if is_resumed else known.next_due_at
        changed = replace(known, paused=paused, next_due_at=next_due_at)
        await store.put_schedule(changed)
        return changed


async def _require_living(store: Store, thread: str) -> None:
    """Check that a thread may run again. Raises UsageError."""
    if (await store.thread(thread)).is_stopped:
        raise UsageError(
            f"thread {thread!r} ended by refusal and never runs again; schedule the prompt for another thread"
        )


async def _unknown(store: Store, schedule: str) -> UsageError:
    close = near(schedule, [each.id for each in await store.schedules()])
    hint = f"did you mean {' or '.join(close)}?" if close else "`stoic schedule list` shows those there are"
    return UsageError(f"there is no schedule {schedule!r}; {hint}")


async def _lines() -> list[tuple[ScheduleLine, Schedule]]:
    async with opened_log() as store:
        found, clock = await store.schedules(), SystemClock()
        states = {thread: await read_state(store, clock, thread) for thread in {each.thread for each in found}}
        waiting = [entry.id for thread in states for entry in await store.inbox(thread)]
        now_ms = clock.now_ms()
        held = {thread: held_until(await last_outcome(store, thread), now_ms) for thread in states}
        return [(_line(each, states[each.thread], waiting, held[each.thread]), each) for each in found]


def _line(schedule: Schedule, state: ThreadState, waiting: list[str], held_ms: int | None) -> ScheduleLine:
    is_held = held_ms is not None and schedule.next_due_at < held_ms
    return ScheduleLine(
        id=schedule.id,
        thread=schedule.thread,
        expression=schedule.expression,
        cron=schedule.cron,
        zone=schedule.zone,
        prompt=schedule.prompt,
        paused=schedule.paused,
        created_at=schedule.created_at,
        next_due_at=schedule.next_due_at,
        held_until=held_ms if is_held else None,
        last_fired_at=schedule.last_fired_at,
        unread=any(entry.startswith(f"schedule:{schedule.id}:") for entry in waiting),
        last_turn=state.state,
        detail=state.detail,
        until_ms=state.until_ms,
    )


def _print(line: ScheduleLine, schedule: Schedule, style: Style, stdout: IO[str]) -> None:
    when = "paused" if line.paused else f"next {_local(schedule, line.held_until or line.next_due_at)}"
    if line.held_until is not None and not line.paused:
        when += f" (held back for {duration(HOLD_MS)} after a turn that did not go well; due {_local(schedule, line.next_due_at)})"
    fired = "never yet" if line.last_fired_at is None else _local(schedule, line.last_fired_at)
    until = "" if line.until_ms is None else f", until {_local(schedule, line.until_ms)}"
    detail = f" ({line.detail}{until})" if line.detail else ""
    is_withheld = line.last_turn == "completed" and line.detail
    turn = style(f"last turn {line.last_turn}{detail}", "red" if is_withheld else _STYLES.get(line.last_turn, "dim"))
    unread = f" · {style('its last prompt is unread', 'yellow')}" if line.unread else ""
    head = f"{one_line(line.id)}  thread {one_line(line.thread)} · {one_line(line.expression)} · "
    stdout.write(f"{head}{style(when, 'yellow' if line.paused else 'plain')} · last {fired}\n")
    stdout.write(f"  {turn}{unread} · {shortened(one_line(line.prompt), _PROMPT_CELLS)}\n")


def _local(schedule: Schedule, epoch_ms: int) -> str:
    """Return a time by the clock of the schedule's zone; a zone that is not known here is no reason to show nothing."""
    try:
        zone = zone_of(schedule.zone)
    except UsageError:
        return moment(epoch_ms)
    return f"{date_of(epoch_ms, zone):%Y-%m-%d %H:%M} {one_line(schedule.zone)}"
