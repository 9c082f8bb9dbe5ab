"""A simulated process: an engine, a worker and an outbox whose every touch of the outside takes time and may be its last."""

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextvars import ContextVar
from pathlib import Path
from typing import Any, TypeVar, cast

import msgspec

from stoic.errors import RejectedStepError, StaleWriterError, StoreError
from stoic.events import Happening, ToolStarted
from stoic.ports import Channel, Connection, Outside, Store
from stoic.records import InboxEntry, Lease, Notice, Owner, Step, Work
from stoic.runtime.engine import Engine, Numbers
from stoic.runtime.notices import Outbox
from stoic.runtime.streams import Emit
from stoic.runtime.task_agents import AgentSource
from stoic.runtime.tasks import Tasks
from stoic.runtime.worker import Worker
from stoic.testing.clock import CountingIds
from stoic.testing.simulation.dice import Dice
from stoic.testing.simulation.ledger import Followed, Ledger
from stoic.testing.simulation.setting import DAILY_NOTICES, Violation
from stoic.testing.simulation.virtual_time import VirtualClock
from stoic.tools.ends import Ends

T = TypeVar("T")

_LONGEST_DELAY_MS = 40
_ONE_IN = 8
"""So many touches are without delay for one with."""
_LONG_PAUSE_SECONDS = 40
_CHANGE_DELAY_MS = 250
_READS = frozenset(
    [
        "threads",
        "holder",
        "load",
        "operations",
        "inbox",
        "calls",
        "health",
        "work",
        "next_wake_ms",
        "parked",
        "tasks",
        "deliveries",
        "refused_briefs",
        "recall",
        "memories",
        "schedules",
        "unknown_of_kin",
        "refused_since",
        "notices",
        "notices_used",
    ]
)
"""What of a store changes nothing."""

PROCESS: ContextVar["Process"] = ContextVar("PROCESS")
"""Whose task it is: inherited by every task that a process's own tasks make."""
THREAD: ContextVar[str] = ContextVar("THREAD")
"""Which thread's turn it is, likewise."""
LEASE: ContextVar[Lease | None] = ContextVar("LEASE", default=None)
"""Under which lease it runs, likewise."""


class Crash(BaseException):
    """The process is gone; nothing of it may touch the outside any more."""


class DiskFullError(StoreError):
    """The disk took nothing."""


class Fate:
    """Decides at which step or effect a process dies, stands still or finds the disk full: chosen, or by the dice."""

    def __init__(self, dice: Dice, percent: int, at: tuple[int, str] | None, spared: frozenset[int]) -> None:
        """Begin; `spared` are numbers of strikes that do not happen."""
        self._dice = dice
        self._percent = percent
        self._at = at
        self._spared = spared
        self._strikes = 0
        self.struck: list[int] = []
        self.steps = 0

    def at_step(self) -> str:
        """Return `before`, `after`, `pause` or `full`; an empty text: nothing happens."""
        self.steps += 1
        if self._at is not None:
            number, when = self._at
            return when if number == self.steps else ""
        return self._strike(("before", "after", "pause", "full"))

    def at_effect(self) -> str:
        """Return `before` or `after` when the process dies at this effect of a tool, else an empty text."""
        return "" if self._at is not None else self._strike(("before", "after"))

    def end(self) -> None:
        """Let every process live from now on."""
        self._percent, self._at = 0, None

    def _strike(self, kinds: tuple[str, ...]) -> str:
        if not self._dice.chance(self._percent):
            return ""
        kind = self._dice.pick(kinds)
        self._strikes += 1
        if self._strikes in self._spared:
            return ""
        self.struck.append(self._strikes)
        return kind


class Feed:
    """Wakes whoever waits for a change of the log, in the order in which they began to wait."""

    def __init__(self) -> None:
        """Begin at version 0."""
        self.version = 0
        self._waiting: list[asyncio.Future[None]] = []

    def announce(self) -> None:
        """Say that something was written."""
        self.version += 1
        waiting, self._waiting = self._waiting, []
        for future in waiting:
            if not future.done():
                future.set_result(None)

    async def wait(self) -> None:
        """Return after the next change."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        await future


class Process:
    """One process: it can be stopped for any time, as a suspended machine is, and it can die."""

    def __init__(self, name: str, ledger: Ledger, clock: VirtualClock, dice: Dice, fate: Fate) -> None:
        """Begin outside of everything; `begin` opens it."""
        self.name = name
        self.ledger = ledger
        self.clock = clock
        self.dice = dice
        self.fate = fate
        self.is_alive = True
        self.was_disturbed = False
        """Whether it may have lost a lease without dying."""
        self._started: dict[tuple[str, str, str], list[str]] = {}
        """Operations that were started last and whose tools have not begun, by thread, tool and argument."""
        self._running = asyncio.Event()
        self._running.set()
        self._tasks: dict[asyncio.Future[Any], None] = {}
        """In order of their beginning: a set's order would depend on addresses, not on the seed."""
        self.engine: Engine
        self.desk: Tasks
        self.outbox: Outbox
        self.worker: Worker | None = None
        self._chores: list[asyncio.Task[None]] = []
        self._delivery: asyncio.Task[None] | None = None

    @property
    def is_telling(self) -> bool:
        """Whether it is sending notices now."""
        return self._delivery is not None and self.outbox.is_busy

    # ---- its life -----------------------------------------------------------------------------------

    async def begin(
        self,
        store: Store,
        ids: CountingIds,
        connect: Callable[[str], Connection],
        agents: AgentSource,
        folder: Path,
        channel: Channel,
        *,
        serves: bool,
    ) -> None:
        """Open the engine, and begin to run work and deliver notices as `stoic up` does."""
        PROCESS.set(self)
        outside = Outside(store=store, clock=self.clock, ids=ids)
        self.engine = Engine(
            outside=outside,
            owner=owner_of(self.name, self.clock.now_ms()),
            connect=connect,
            numbers=Numbers(asks_again=self.dice.pick(("ask", "ask", "allow", "deny"))),
            ends=Ends(folder, self.name),
        )
        self.desk = self.engine.desk = Tasks(self.engine, agents)
        self.outbox = Outbox(outside, [channel], DAILY_NOTICES)
        await self.engine.__aenter__()
        self._delivery = asyncio.create_task(self.outbox.run())
        if serves:
            self.worker = _SimulatedWorker(self.engine, agents, emit=self.follow, session=f"session of {self.name}")
            self._chores.append(asyncio.create_task(self._serve(self.worker)))

    async def _serve(self, worker: Worker) -> None:
        """Run work; when the disk is full, begin again, as whoever supervises the process does."""
        while True:
            try:
                await worker.run()
            except DiskFullError:
                await self.clock.sleep_until(self.clock.now_ms() + 1_000)
            else:
                return

    async def end(self) -> None:
        """Close everything in good order; what is under way is left as it stands."""
        for chore in self._chores:
            chore.cancel()
        await asyncio.gather(*self._chores, return_exceptions=True)
        if self._delivery is not None:
            await self.outbox.end(self._delivery)
        await self.engine.__aexit__(None, None, None)
        self.ledger.lose_answers(self.name)
        self.is_alive = False

    def spawn(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Run something in this process."""
        before = PROCESS.set(self)
        try:
            return asyncio.ensure_future(work)
        finally:
            PROCESS.reset(before)

    def adopt(self, task: asyncio.Future[Any]) -> None:
        """Let a task die with the process."""
        self._tasks[task] = None
        task.add_done_callback(self._forget)

    def _forget(self, task: asyncio.Future[Any]) -> None:
        self._tasks.pop(task, None)

    def die(self) -> None:
        """End at once: what waits never goes on, and what would clean up cannot reach the outside."""
        self.is_alive = False
        self.ledger.has_disturbance = True
        self.ledger.tell(f"{self.name} dies")
        self.ledger.lose_answers(self.name)
        current = asyncio.current_task()
        for task in list(self._tasks):
            if task is not current:
                task.cancel()
        ends = self.engine.ends
        file, ends._file = ends._file, None  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] -- as the kernel does
        if file is not None:
            os.close(file)

    async def die_here(self) -> None:
        """End at once, from inside one of its own tasks."""
        self.die()
        task = asyncio.current_task()
        if task is not None:
            task.cancel()
        await asyncio.Event().wait()

    def pause(self, seconds: int) -> None:
        """Stand still for so long, heartbeat included."""
        self.was_disturbed = self.ledger.has_disturbance = True
        self._running.clear()
        self.ledger.tell(f"{self.name} stands still for {seconds} s")
        asyncio.get_running_loop().call_later(seconds, self._running.set)

    async def touch(self) -> None:
        """Take some time on the way to or from the outside.

        Raises:
            Crash: the process is dead
        """
        if self.is_alive:
            delay_ms = self.dice.below(_LONGEST_DELAY_MS * _ONE_IN)
            if delay_ms < _LONGEST_DELAY_MS:
                await self.clock.sleep_until(self.clock.now_ms() + delay_ms)
            if not self._running.is_set():
                await self._running.wait()
        if not self.is_alive:
            raise Crash(self.name)

    # ---- what its calls are called ------------------------------------------------------------------

    def follow(self, thread: str) -> Emit:
        """Return what takes down a thread's events, as a subscriber sees them."""
        events: list[Happening] = []
        self.ledger.followed.append(Followed(thread=thread, process=self.name, events=events))

        def emit(event: Happening) -> None:
            if isinstance(event, ToolStarted):
                self._note_start(thread, event)
            events.append(event)

        return emit

    def _note_start(self, thread: str, started: ToolStarted) -> None:
        """Remember which operation a call belongs to."""
        argument = str(msgspec.json.decode(started.arguments or "{}").get("n", ""))
        key = (thread, started.tool, argument)
        round_of = started.operation.rpartition(".")[0]
        same_round = [
            operation
            for operation in self._started.get(key, [])
            if operation.rpartition(".")[0] == round_of and operation != started.operation
        ]
        self._started[key] = [*same_round, started.operation]

    def operation_of(self, thread: str, tool: str, argument: str) -> str:
        """Return the operation of a call that begins now; equal calls of one round begin in their order."""
        return self._started[thread, tool, argument].pop(0)


class _SimulatedWorker(Worker):
    """A worker whose tasks know which thread they run."""

    async def _attend(self, work: Work) -> None:
        THREAD.set(work.thread.id)
        await super()._attend(work)

    def _note_trouble(self, thread: str, error: Exception) -> None:
        if not isinstance(error, DiskFullError | Violation):
            PROCESS.get().ledger.surprise(f"a worker cannot run {thread}: {type(error).__name__}: {error}")
        super()._note_trouble(thread, error)


class _ReachedStore:
    """The store as one process reaches it: each call takes time, and may be the process's last."""

    def __init__(self, inner: Store, process: Process, feed: Feed) -> None:
        self._inner = inner
        self._process = process
        self._feed = feed
        self.open = inner.open

    async def close(self) -> None:
        """Leave the shared store open."""

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        method = getattr(self._inner, name)
        touch = self._process.touch

        is_read = name in _READS

        async def reach(*arguments: Any, **options: Any) -> Any:
            await touch()
            answer = await method(*arguments, **options)
            if not is_read:  # to die right after a look is to die before what comes next
                await touch()
            return answer

        self.__dict__[name] = reach
        return reach

    async def acquire(self, thread: str, owner: str, now_ms: int, *, enter: InboxEntry | None = None) -> Lease:
        """Take the lease, and remember that whoever runs here runs under it."""
        await self._process.touch()
        lease = await self._inner.acquire(thread, owner, now_ms, enter=enter)
        LEASE.set(lease)
        await self._process.touch()
        return lease

    async def append(self, lease: Lease, step: Step) -> None:
        """Store a step, unless fate has it otherwise."""
        process = self._process
        ledger = process.ledger
        await process.touch()
        fate = process.fate.at_step()
        if fate == "before":
            process.die()
            raise Crash(process.name)
        if fate == "full":
            ledger.tell(f"{process.name} finds the disk full at {lease.thread}")
            ledger.lose_answers(process.name, lease.thread)
            raise DiskFullError("the disk is full; nothing of this step was stored")
        if fate == "pause":
            process.pause(_LONG_PAUSE_SECONDS)
            await process.touch()
        try:
            await self._inner.append(lease, step)
        except StaleWriterError:
            ledger.lose_answers(process.name, lease.thread)
            ledger.rejected.append(f"{process.name} {lease.thread}")
            ledger.tell(f"{process.name} is rejected on {lease.thread}")
            raise
        except RejectedStepError as error:
            ledger.lose_answers(process.name, lease.thread)
            ledger.surprise(f"the store rejects a step of {process.name}: {error}")
            raise
        if fate == "after":
            process.die()
            raise Crash(process.name)
        await process.touch()

    async def changes(self) -> AsyncIterator[None]:
        """Yield after changes, now and then as late as the port allows."""
        seen, clock, dice = self._feed.version, self._process.clock, self._process.dice
        while True:
            while self._feed.version == seen:
                await self._feed.wait()
            seen = self._feed.version
            if dice.chance(90):
                await clock.sleep_until(clock.now_ms() + _CHANGE_DELAY_MS // 2 + dice.below(_CHANGE_DELAY_MS // 2))
            await self._process.touch()
            yield


def reached(inner: Store, process: Process, feed: Feed) -> Store:
    """Return the store as a process reaches it."""
    return cast("Store", _ReachedStore(inner, process, feed))


class SimulatedChannel:
    """A way to a person that fails now and then."""

    def __init__(self, process_name: str, ledger: Ledger, dice: Dice) -> None:
        """Belong to a process; a channel of a name is one for all of them."""
        self.name = "pager"
        self._process = process_name
        self._ledger = ledger
        self._dice = dice
        self.fails = True

    def takes(self, notice: Notice) -> bool:  # noqa: ARG002 - all of them
        """Take every notice."""
        return True

    async def deliver(self, notice: Notice) -> str | None:
        """Reach the person, or say why not."""
        process = PROCESS.get()
        await process.touch()
        if self.fails and self._dice.chance(20):
            return "the pager is busy"
        self._ledger.heard.append((self._process, notice.key))
        self._ledger.first_heard.setdefault(notice.key, process.clock.now_ms())
        self._ledger.tell(f"{self._process} tells a person {notice.key}")
        await process.touch()
        return None

    async def close(self) -> None:
        """Hold nothing open."""


def owner_of(name: str, now_ms: int) -> Owner:
    """Describe a simulated process."""
    return Owner(id=name, host="simulated", boot_id="boot", pid=1, started_at=1, heartbeat_at=now_ms)


def adopting_factory(loop: asyncio.AbstractEventLoop, coroutine: Any, **options: Any) -> asyncio.Future[Any]:
    """Make a task that dies with the process whose task makes it."""
    task = asyncio.Task(coroutine, loop=loop, **options)
    process = PROCESS.get(None)
    if process is not None:
        process.adopt(task)
    return task
