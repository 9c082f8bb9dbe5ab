"""A simulated process: an engine whose every touch of the outside takes time and may be its last."""

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from typing import Any, TypeVar

import msgspec
from tests.simulation.outside import Outside, owner_of

from stoic.errors import StaleWriterError
from stoic.events import ToolStarted
from stoic.ports import Connection, Loaded, Store
from stoic.ports import Outside as Ports
from stoic.records import (
    Health,
    InboxEntry,
    Lease,
    Memory,
    Notice,
    NoticeBudget,
    Operation,
    Owner,
    RefusedBytes,
    Schedule,
    Step,
    StoredDelivery,
    StoredNotice,
    ThreadRecord,
    Work,
)
from stoic.runtime.engine import Engine
from stoic.testing import CountingIds
from stoic.testing.simulation import Dice, VirtualClock
from stoic.tools.ends import Ends

T = TypeVar("T")

_LONGEST_DELAY_MS = 40
_LONG_PAUSE_SECONDS = 40
_POLL_MS = 250


class Crash(BaseException):
    """The process is gone; nothing of it may touch the outside any more."""


class Fate:
    """Decides at which append a process dies or stands still: at a chosen one, or at random."""

    def __init__(self, dice: Dice, *, crash_percent: int = 0, crash_at: tuple[int, str] | None = None) -> None:
        self._dice = dice
        self._percent = crash_percent
        self._crash_at = crash_at
        self.appends = 0

    def next(self) -> str:
        """Return `before` or `after` when the process dies at this append, `pause`, or an empty text."""
        self.appends += 1
        if self._crash_at is not None:
            number, when = self._crash_at
            return when if number == self.appends else ""
        return self._dice.pick(("before", "after", "pause")) if self._dice.chance(self._percent) else ""

    def at_effect(self) -> str:
        """Return `before` or `after` when the process dies at this effect of a tool, else an empty text."""
        return self._dice.pick(("before", "after")) if self._dice.chance(self._percent) else ""

    def end(self) -> None:
        """Let every process live from now on."""
        self._percent, self._crash_at = 0, None


class Process:
    """One process: it can be paused for any time, as a suspended machine is, and it can die."""

    def __init__(self, name: str, outside: Outside, dice: Dice, fate: Fate) -> None:
        self.name = name
        self.outside = outside
        self.dice = dice
        self.fate = fate
        self.clock = VirtualClock()
        self.alive = True
        self.was_paused = False
        self._started: dict[tuple[str, str, str], list[str]] = {}
        """Operations that were started last and whose tools have not begun, by thread, tool and argument."""
        self._running = asyncio.Event()
        self._running.set()
        self._tasks: dict[asyncio.Task[Any], None] = {}
        """In order of their beginning: a set's order would depend on addresses, not on the seed."""
        self.engine: Engine

    def note_start(self, thread: str, started: ToolStarted) -> None:
        """Remember which operation a call belongs to."""
        argument = msgspec.json.decode(started.arguments or "{}").get("n", "")
        key = (thread, started.tool, argument)
        same_round = [
            operation
            for operation in self._started.get(key, [])
            if operation.rpartition(".")[0] == started.operation.rpartition(".")[0] and operation != started.operation
        ]
        self._started[key] = [*same_round, started.operation]

    def operation_of(self, thread: str, tool: str, argument: str) -> str:
        """Return the operation of a call that begins now; equal calls of one round begin in their order."""
        return self._started[thread, tool, argument].pop(0)

    async def begin(self, store: Store, ids: CountingIds, connect: Callable[[str], Connection], ends: Ends) -> None:
        """Open the engine."""
        self.engine = Engine(
            outside=Ports(store=store, clock=self.clock, ids=ids),
            owner=owner_of(self.name, self.clock.now_ms()),
            connect=connect,
            ends=ends,
        )
        await self.engine.__aenter__()

    async def end(self) -> None:
        """Close the engine in good order."""
        await self.engine.__aexit__(None, None, None)

    def spawn(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Run something in this process."""
        task = asyncio.ensure_future(work)
        self.adopt(task)
        return task

    def adopt(self, task: asyncio.Task[Any] | None) -> None:
        """Let a task die with the process."""
        if task is not None:
            self._tasks[task] = None
            task.add_done_callback(lambda done: self._tasks.pop(done, None))

    def die(self) -> None:
        """End at once: what waits never goes on, and what would clean up cannot reach the outside."""
        self.alive = False
        self.outside.tell(f"{self.name} dies")
        for task in [*self._tasks, *self.engine._chores]:
            if task is not asyncio.current_task():
                task.cancel()
        file, self.engine.ends._file = self.engine.ends._file, None
        if file is not None:
            os.close(file)  # as the kernel does

    async def die_here(self) -> None:
        """End at once, from inside one of its own tasks."""
        self.die()
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.Event().wait()

    def pause(self, seconds: int) -> None:
        """Stand still for so long, heartbeat included."""
        self.was_paused = True
        self._running.clear()
        self.outside.tell(f"{self.name} is paused for {seconds} s")
        asyncio.get_running_loop().call_later(seconds, self.go_on)

    def go_on(self) -> None:
        """Go on where it stood still."""
        self._running.set()

    async def touch(self) -> None:
        """Take some time on the way to or from the outside.

        Raises:
            Crash: the process is dead
        """
        if self.alive:
            delay_ms = self.dice.below(_LONGEST_DELAY_MS)
            if delay_ms % 2:
                await self.clock.sleep_until(self.clock.now_ms() + delay_ms)
            await self._running.wait()
        if not self.alive:
            raise Crash(self.name)


class ProcessStore:
    """The store as one process reaches it."""

    def __init__(self, inner: Store, process: Process) -> None:
        self._inner = inner
        self._process = process
        self.open = inner.open

    async def close(self) -> None:
        """Leave the shared store open."""

    async def _reach(self, work: Callable[[], Awaitable[T]]) -> T:
        await self._process.touch()
        answer = await work()
        await self._process.touch()
        return answer

    async def register(self, owner: Owner) -> None:
        await self._reach(lambda: self._inner.register(owner))

    async def create_thread(self, thread: ThreadRecord) -> ThreadRecord:
        return await self._reach(lambda: self._inner.create_thread(thread))

    async def threads(self, *, limit: int = 100, prefix: str = "") -> list[ThreadRecord]:
        return await self._reach(lambda: self._inner.threads(limit=limit, prefix=prefix))

    async def put(self, entry: InboxEntry) -> InboxEntry:
        return await self._reach(lambda: self._inner.put(entry))

    async def acquire(self, thread: str, owner: str, now_ms: int, *, enter: InboxEntry | None = None) -> Lease:
        return await self._reach(lambda: self._inner.acquire(thread, owner, now_ms, enter=enter))

    async def release(self, lease: Lease) -> None:
        await self._reach(lambda: self._inner.release(lease))

    async def holder(self, thread: str, now_ms: int) -> Owner | None:
        return await self._reach(lambda: self._inner.holder(thread, now_ms))

    async def load(self, thread: str, *, after_seq: int = 0) -> Loaded:
        return await self._reach(lambda: self._inner.load(thread, after_seq=after_seq))

    async def operations(self, thread: str | None = None, *, states: tuple[str, ...] = ()) -> list[Operation]:
        return await self._reach(lambda: self._inner.operations(thread, states=states))

    async def inbox(self, thread: str) -> list[InboxEntry]:
        return await self._reach(lambda: self._inner.inbox(thread))

    async def calls(self, owner: str) -> list[InboxEntry]:
        return await self._reach(lambda: self._inner.calls(owner))

    async def delete_thread(self, thread: str, now_ms: int) -> None:
        await self._reach(lambda: self._inner.delete_thread(thread, now_ms))

    async def health(self) -> list[Health]:
        try:
            return await self._reach(self._inner.health)
        except BaseException:
            self._process.outside.lose_unsettled(self._process.name)
            raise

    async def claim_trial(self, trial: Health, now_ms: int) -> bool:
        return await self._reach(lambda: self._inner.claim_trial(trial, now_ms))

    async def put_health(self, health: Health) -> None:
        await self._reach(lambda: self._inner.put_health(health))

    async def work(self, now_ms: int) -> list[Work]:
        return await self._reach(lambda: self._inner.work(now_ms))

    async def next_wake_ms(self, now_ms: int) -> int | None:
        return await self._reach(lambda: self._inner.next_wake_ms(now_ms))

    async def parked(self) -> list[ThreadRecord]:
        return await self._reach(self._inner.parked)

    async def tasks(
        self, *, owner: str | None = None, root: str | None = None, limit: int = 1000
    ) -> list[ThreadRecord]:
        return await self._reach(lambda: self._inner.tasks(owner=owner, root=root, limit=limit))

    async def deliveries(self, *, task: str | None = None, owner: str | None = None) -> list[StoredDelivery]:
        return await self._reach(lambda: self._inner.deliveries(task=task, owner=owner))

    async def refused_briefs(self, root: str, brief: str) -> list[RefusedBytes]:
        return await self._reach(lambda: self._inner.refused_briefs(root, brief))

    async def remember(self, memory: Memory) -> bool:
        return await self._reach(lambda: self._inner.remember(memory))

    async def recall(self, scope: str | None, query: str, limit: int) -> list[Memory]:
        return await self._reach(lambda: self._inner.recall(scope, query, limit))

    async def memories(self, scope: str | None, limit: int) -> list[Memory]:
        return await self._reach(lambda: self._inner.memories(scope, limit))

    async def forget(self, scope: str | None, memory: str) -> bool:
        return await self._reach(lambda: self._inner.forget(scope, memory))

    async def put_schedule(self, schedule: Schedule) -> None:
        return await self._reach(lambda: self._inner.put_schedule(schedule))

    async def schedules(self) -> list[Schedule]:
        return await self._reach(self._inner.schedules)

    async def delete_schedule(self, schedule: str) -> bool:
        return await self._reach(lambda: self._inner.delete_schedule(schedule))

    async def fire_schedule(self, schedule: Schedule, entry: InboxEntry, next_due_at: int) -> bool:
        return await self._reach(lambda: self._inner.fire_schedule(schedule, entry, next_due_at))

    async def unknown_of_kin(self, thread: str, owner: str | None) -> list[Operation]:
        return await self._reach(lambda: self._inner.unknown_of_kin(thread, owner))

    async def refused_since(self, since_ms: int) -> list[RefusedBytes]:
        return await self._reach(lambda: self._inner.refused_since(since_ms))

    async def put_notice(self, notice: Notice, *, folds: Sequence[StoredNotice] = ()) -> bool:
        return await self._reach(lambda: self._inner.put_notice(notice, folds=folds))

    async def notices(self, *, states: tuple[str, ...] = (), limit: int = 1000) -> list[StoredNotice]:
        return await self._reach(lambda: self._inner.notices(states=states, limit=limit))

    async def notices_used(self, since_ms: int) -> int:
        return await self._reach(lambda: self._inner.notices_used(since_ms))

    async def settle_notice(
        self, known: StoredNotice, now: StoredNotice, *, budget: NoticeBudget | None = None
    ) -> bool:
        return await self._reach(lambda: self._inner.settle_notice(known, now, budget=budget))

    async def _touch_with_answer(self, thread: str) -> None:
        try:
            await self._process.touch()
        except BaseException:
            self._process.outside.lose_answer(self._process.name, thread)
            raise

    async def append(self, lease: Lease, step: Step) -> None:
        process = self._process
        await self._touch_with_answer(lease.thread)
        fate = process.fate.next()
        if fate == "before":
            process.outside.lose_answer(process.name, lease.thread)
            process.die()
            raise Crash(process.name)
        if fate == "pause":
            process.pause(_LONG_PAUSE_SECONDS)
            await self._touch_with_answer(lease.thread)
        try:
            await self._inner.append(lease, step)
        except StaleWriterError:
            process.outside.lose_answer(process.name, lease.thread)
            process.outside.rejected.append(f"{process.name} {lease.thread}")
            process.outside.tell(f"{process.name} is rejected on {lease.thread}")
            raise
        if fate == "after":
            process.die()
            raise Crash(process.name)
        await process.touch()

    async def changes(self) -> AsyncIterator[None]:
        # As late as the port allows; a store's own listeners are woken in an order that depends on addresses.
        while True:
            await self._process.clock.sleep_until(self._process.clock.now_ms() + _POLL_MS)
            await self._process.touch()
            yield
