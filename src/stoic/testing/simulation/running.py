"""Runs one simulated world from its seed to its rest, and makes a failing run as short as it can be."""

import asyncio
import logging
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec
from msgspec.structs import replace

from stoic.core.health import retry_now
from stoic.records import Record, Row
from stoic.testing.simulation.invariants import watchers
from stoic.testing.simulation.ledger import Ledger
from stoic.testing.simulation.people import People
from stoic.testing.simulation.processes import Crash, Process, SimulatedChannel, adopting_factory
from stoic.testing.simulation.setting import Setting, Violation, hold
from stoic.testing.simulation.virtual_time import run_in_virtual_time
from stoic.testing.simulation.world import LogLines, World

_WAITS_MS = (0, 0, 30, 300, 3_000, 30_000)
_LIMIT_SECONDS = 200_000
_MOST_LAPSES = 60
_LAPSE_MS = 61_000
_CLAIM_MS = 2_000_000
_LINES_SHOWN = 150


class Failure(Record, frozen=True):
    """A run in which something did not hold."""

    setting: Setting
    invariant: int
    """Its number in SPEC §16; 0: something that nobody had foreseen."""
    what: str
    story: list[str]

    def told(self) -> str:
        """Return what to show a person: what did not hold, how to see it again, and the story."""
        skipped = len(self.story) - _LINES_SHOWN
        lines = [f"… {skipped} lines before", *self.story[-_LINES_SHOWN:]] if skipped > 0 else self.story
        return "\n  ".join([f"seed {self.setting.seed}: {self.what}", *lines])


def simulate(setting: Setting) -> Ledger:
    """Run one world and check every invariant.

    Raises:
        Violation: one does not hold; the text names it, the seed, and tells the story
    """
    ledger, failure = run(setting)
    if failure is not None:
        error = Violation(failure.invariant, failure.told())
        raise error
    return ledger


def run(setting: Setting) -> tuple[Ledger, Failure | None]:
    """Run one world; return what happened in it, and what did not hold."""
    worlds: list[World] = []

    async def main(folder: Path) -> None:
        world = World(setting, folder)
        worlds.append(world)
        await _play(world)

    error: Exception | None = None
    try:
        with tempfile.TemporaryDirectory(prefix="stoic-sim-") as folder:
            run_in_virtual_time(main(Path(folder)))
    except Exception as raised:  # noqa: BLE001 - whatever ends a run is what the simulation is there to find
        error = raised
    ledger = worlds[0].ledger
    ledger.struck = worlds[0].fate.struck
    if error is None and not ledger.violations:
        return ledger, None
    if ledger.violations:
        error = ledger.violations[0]
    invariant = error.invariant if isinstance(error, Violation) else 0
    what = str(error) if isinstance(error, Violation) else f"{type(error).__name__}: {error}"
    return ledger, Failure(setting=setting, invariant=invariant, what=what, story=ledger.story)


def shorten(failure: Failure) -> Failure:
    """Leave out what people do and what fate strikes, as long as the same invariant does not hold.

    The run that comes out fails by itself, with fewer lines of story; it is found by trying, so it may not be the shortest.
    """
    best = failure
    for setting in (replace(best.setting, crash_percent=0), replace(best.setting, processes=1)):
        best = _tried(best, setting) or best
    everything = range(1, best.setting.actions + 1)
    best = _without(best, everything, lambda setting, out: replace(setting, dropped=setting.dropped | out))
    ledger, _ = run(best.setting)
    return _without(best, ledger.struck, lambda setting, out: replace(setting, spared=setting.spared | out))


def _without(best: Failure, parts: Iterable[int], leave_out: Callable[[Setting, frozenset[int]], Setting]) -> Failure:
    """Leave out parts in ever smaller pieces."""
    left = list(parts)
    size = max(1, len(left) // 2)
    while left:
        kept: list[int] = []
        for begin in range(0, len(left), size):
            piece = left[begin : begin + size]
            found = _tried(best, leave_out(best.setting, frozenset(piece)))
            if found is None:
                kept += piece
            else:
                best = found
        if size == 1:
            return best
        left, size = kept, max(1, size // 2)
    return best


def _tried(best: Failure, setting: Setting) -> Failure | None:
    """Return what fails in the same way and is no longer a story; what nobody had foreseen is of many kinds."""
    _, failure = run(setting)
    if failure is None or failure.invariant != best.invariant:
        return None
    return failure if len(failure.story) <= len(best.story) else None


# ---- one run --------------------------------------------------------------------------------------


async def _play(world: World) -> None:
    """Let everything happen, then bring every thread to rest without further trouble."""
    ledger = world.ledger
    loop = asyncio.get_running_loop()
    loop.set_task_factory(adopting_factory)
    loop.set_exception_handler(lambda _, context: _note_error(ledger, context))
    ledger.watchers = watchers(ledger)
    lines, logger = LogLines(ledger), logging.getLogger("stoic")
    logger.addHandler(lines)
    was_propagated, logger.propagate = logger.propagate, False
    try:
        await world.store.open()
        people = People(world)
        for number in range(1, world.setting.actions + 1):
            dice = world.dice.fork(f"action {number}")
            if number not in world.setting.dropped:
                await people.act(number, dice)
            await world.clock.sleep_until(world.clock.now_ms() + dice.pick(_WAITS_MS))
            _check_surprises(ledger)
        await _settle(world, people)
        _check_surprises(ledger)
        await _compare(world)
        for watcher in ledger.watchers:
            watcher.ended()
        await world.store.close()
    finally:
        logger.removeHandler(lines)
        logger.propagate = was_propagated


def _note_error(ledger: Ledger, context: dict[str, object]) -> None:
    """Note what ended in a task that nobody waits for; that calls of a dead process end is no surprise."""
    error = context.get("exception")
    if isinstance(error, Violation):
        ledger.violations.append(error)
    elif not isinstance(error, Crash):
        ledger.surprise(repr(error or context["message"]))


def _check_surprises(ledger: Ledger) -> None:
    if ledger.violations:
        raise ledger.violations[0]
    hold(not ledger.surprises, 0, lambda: f"nobody had foreseen: {ledger.surprises}")


async def _settle(world: World, people: People) -> None:
    """End all processes, and let a last one bring everything to rest."""
    ledger = world.ledger
    ledger.tell("# everything comes to rest")
    world.fate.end()
    world.weather.clear()
    async with asyncio.timeout(_LIMIT_SECONDS):
        await asyncio.gather(*people.waiting, return_exceptions=True)
        for process in world.processes:
            if process.is_alive:
                await process.spawn(process.end())
        last = await world.start_process()
        for channel in last.outbox.channels:
            if isinstance(channel, SimulatedChannel):
                channel.fails = False
        await _rest(world, people, last)
        for stored in await world.store.notices(states=("failed",)):
            ledger.given_up[stored.notice.key] = stored.attempts
        for _ in range(3):
            await world.lapse(await _claimed_ms(world))
            await last.spawn(last.outbox.deliver_due(by_hand=True))
            await _rest(world, people, last)
        await last.spawn(people.hear_of_refused(last))
        await last.spawn(last.end())


async def _claimed_ms(world: World) -> int:
    """Return how long to wait until each notice that a process took and died is free again; a clock set back makes it long."""
    claims = [each.retry_at for each in await world.store.notices(states=("due",)) if each.retry_at is not None]
    return max([_CLAIM_MS, *[claim - world.clock.now_ms() for claim in claims]])


async def _rest(world: World, people: People, last: Process) -> None:
    """Answer what is asked, open what is shut, and let time pass until no turn is open."""
    ledger, dice = world.ledger, world.dice.fork("rest")
    for _ in range(_MOST_LAPSES):
        await _quiet(world, last)
        _check_surprises(ledger)
        is_open = [thread for thread in ledger.rows if ledger.has_open_turn(thread)]
        unread = [work.thread.id for work in await world.store.work(world.clock.now_ms()) if work.newest_entry]
        unread = [thread for thread in unread if await _has_message(world, thread)]
        if not is_open and not unread:
            return
        for thread, question in people.questions():
            await people.decide(last, thread, question, dice.pick(("once", "deny")))
        for health in await world.store.health():
            await world.store.put_health(retry_now(health))
        for record in await world.store.parked():
            if record.parked["waits_for"] == "event":
                await last.spawn(people.drive(last, record.id))
        wake_ms = await world.store.next_wake_ms(world.clock.now_ms())
        await world.lapse(_LAPSE_MS if wake_ms is None else max(_LAPSE_MS, wake_ms - world.clock.now_ms()))
    is_open = [thread for thread in ledger.rows if ledger.has_open_turn(thread)]
    hold(False, 5, lambda: f"turns that never end: {is_open}, or messages that nobody takes")  # noqa: FBT003


async def _has_message(world: World, thread: str) -> bool:
    """Tell whether a message waits that must be read; behind a tombstone none is."""
    is_shut = thread in world.ledger.tombstoned
    return not is_shut and any(entry.kind == "message" for entry in await world.store.inbox(thread))


async def _quiet(world: World, last: Process) -> None:
    """Wait until nothing happens any more."""
    worker = last.worker
    seen = -1
    while world.feed.version != seen or (worker is not None and worker.running):
        seen = world.feed.version
        await world.clock.sleep_until(world.clock.now_ms() + 2_000)
        _check_surprises(world.ledger)


async def _compare(world: World) -> None:
    """The store holds what the steps said, row by row."""
    for thread, rows in world.ledger.rows.items():
        stored = (await world.store.load(thread)).rows
        kept = msgspec.json.decode(msgspec.json.encode(rows), type=list[Row])
        different = [ours.seq for ours, theirs in zip(kept, stored, strict=False) if ours != theirs]
        said = f"{thread} stores {len(stored)} rows, not {len(rows)}; other ones at {different}"
        hold(len(stored) == len(rows) and not different, 10, lambda said=said: said)
