"""A simulated world: one log, some processes, four providers, a clock, and threads that people talk to."""

import asyncio
import logging
from collections.abc import AsyncIterator
from functools import cache
from pathlib import Path
from typing import Any, cast

from stoic.errors import UnknownAgentError
from stoic.ports import Connection, HeldLeaseError, Store
from stoic.records import InboxEntry, Lease, Owner, Step, ThreadRecord
from stoic.runtime.agents import Agent, Mode
from stoic.runtime.task_agents import for_task, spec_of
from stoic.runtime.threads import Thread
from stoic.testing.clock import CountingIds
from stoic.testing.simulation.dice import Dice
from stoic.testing.simulation.hands import HANDS
from stoic.testing.simulation.ledger import Ledger
from stoic.testing.simulation.models import BY_NAME, VENDORS, SimulatedProvider, Weather
from stoic.testing.simulation.processes import Crash, Fate, Feed, Process, SimulatedChannel, owner_of, reached
from stoic.testing.simulation.setting import MAX_ROUNDS, Setting, Violation
from stoic.testing.simulation.virtual_time import VirtualClock
from stoic.tools import Tool
from stoic.tools.task_tools import task_tools

_SMALL_WINDOW_TOKENS = 600
_SHORT_MS = 1_000
_FOLLOWING = {vendor.name: VENDORS[(place + 1) % len(VENDORS)] for place, vendor in enumerate(VENDORS)}


class World:
    """Everything of one run but the people."""

    def __init__(self, setting: Setting, folder: Path) -> None:
        """Make the world of a setting; `folder` is where the ends of calls are written down."""
        self.setting = setting
        self.dice = Dice(setting.seed)
        self.clock = VirtualClock()
        self.ledger = Ledger(self.clock.now_ms)
        self.weather = Weather(setting.failure_percent)
        self.fate = Fate(self.dice.fork("fate"), setting.crash_percent, setting.crash_at, setting.spared)
        self.ids = CountingIds()
        self.feed = Feed()
        self.processes: list[Process] = []
        self.everybody: dict[str, Process] = {}
        self.store = cast("Store", _WatchedStore(setting.make_store(self._is_alive), self.ledger, self.feed))
        self.threads = [f"chat{number}" for number in range(1, setting.chats + 1)]
        self.threads += [f"repair{number}" for number in range(1, setting.repairs + 1)]
        self.bound = {thread: self.dice.pick(VENDORS) for thread in self.threads}
        """The provider that each thread's agent names."""
        self._folder = folder
        self._provider = SimulatedProvider(self.ledger, self.weather, self.dice.fork("models"))

    def _is_alive(self, owner: Owner) -> bool | None:
        """A dead process is seen to be gone; of a living one only the heartbeat is known, as from another host."""
        process = self.everybody.get(owner.id)
        return None if process is None or process.is_alive else False

    # ---- processes ----------------------------------------------------------------------------------

    async def start_process(self, *, serves: bool = True) -> Process:
        """Start a process; one that dies while it begins is followed by another."""
        name = f"p{len(self.everybody) + 1}"
        process = Process(name, self.ledger, self.clock, self.dice.fork(name), self.fate)
        self.everybody[name] = process
        keys = dict(self.weather.keys)

        def connect(model: str) -> Connection:
            vendor = BY_NAME[model.partition(":")[0]]
            return Connection(
                provider=vendor.name,
                api=vendor.api,
                model=model.partition(":")[2],
                url=f"https://{vendor.name}.invalid",
                headers={},
                renderer=vendor.renderer,
                send=self._provider,
                credential=str(keys[vendor.name]),
                simulated=True,
                context_window_tokens=_SMALL_WINDOW_TOKENS if self.setting.small_windows else None,
                express=lambda sampling: {} if sampling.max_tokens is None else {"max_tokens": sampling.max_tokens},
            )

        channel = SimulatedChannel(name, self.ledger, self.dice.fork(f"channel of {name}"))
        beginning = process.begin(
            reached(self.store, process, self.feed),
            self.ids,
            connect,
            self.agent_of,
            self._folder,
            channel,
            serves=serves,
        )
        # In a task of its own, so that everything it begins belongs to it and nothing of it to the world.
        await process.spawn(beginning)
        return process

    async def living(self, dice: Dice) -> Process:
        """Return one of the processes; those that died are replaced first."""
        self.processes = [process for process in self.processes if process.is_alive]
        while len(self.processes) < self.setting.processes:
            try:
                process = await self.start_process(serves=not self.processes or dice.chance(70))
            except (Crash, asyncio.CancelledError):
                continue
            self.processes.append(process)
        return dice.pick(self.processes)

    # ---- agents -------------------------------------------------------------------------------------

    def agent_of(self, record: ThreadRecord) -> Agent:
        """Return the agent of a thread; a task's is its owner's, as the task says."""
        thread = record.meta.get("root", record.id)
        thread = thread if thread in self.bound else self.threads[0]
        if record.meta.get("agent") not in {None, "agent"}:
            raise UnknownAgentError(f"thread {record.id} has no agent here")
        agent = self._agent(thread, ends=bool(record.meta.get("depth", 0) > 1))
        return for_task(agent, spec_of(record)) if "spec" in record.meta else agent

    def _agent(self, thread: str, *, ends: bool = False) -> Agent:
        """Return a thread's agent; chats with an odd number ask before effects."""
        return _made_agent(thread, self.bound[thread].name, ends=ends)

    def handle(self, process: Process, thread: str) -> Thread:
        """Return a thread as a process's user holds it."""
        record = self.ledger.records.get(thread)
        agent = self._agent(thread) if record is None else self.agent_of(record)
        kind = "repair" if thread.startswith("repair") else "chat"
        return Thread(process.engine, thread, agent, session=f"session of {process.name}", kind=kind)

    # ---- time ---------------------------------------------------------------------------------------

    def set_clock(self, ms: int) -> None:
        """Set the machine's clock; nobody's heart has beaten meanwhile."""
        self.ledger.was_clock_set = self.ledger.has_disturbance = True
        self.ledger.tell(f"the clock is set by {ms} ms")
        self.clock.set_forward(ms)

    async def lapse(self, ms: int) -> None:
        """Let time pass in which hearts go on beating; only what waits for the clock happens."""
        self.ledger.tell(f"{ms} ms pass")
        await self.clock.sleep_until(self.clock.now_ms() + _SHORT_MS)  # what takes moments is over by then
        while any(process.is_alive and process.is_telling for process in self.everybody.values()):
            await self.clock.sleep_until(self.clock.now_ms() + _SHORT_MS)  # nobody sends a notice for hours
        self.clock.set_forward(ms)
        inner = cast("_WatchedStore", self.store).inner
        for process in self.everybody.values():
            if process.is_alive:
                await inner.register(owner_of(process.name, self.clock.now_ms()))


@cache
def _made_agent(thread: str, vendor: str, *, ends: bool) -> Agent:
    """Make an agent once for all worlds: it is immutable; one that `ends` has no task tools."""
    asks = thread.startswith("chat") and int(thread[4:]) % 2 == 1
    following = _FOLLOWING[vendor]
    return Agent(
        BY_NAME[vendor].model,
        fallbacks=[following.model, _FOLLOWING[following.name].model],
        instructions=f"You belong to {thread}.",
        tools=[*HANDS, *([] if ends else _task_tools())],
        permissions="ask" if asks else "allow",
        max_rounds=MAX_ROUNDS,
        modes={"act": Mode(instructions="You act.")},
    )


@cache
def _task_tools() -> tuple[Tool, ...]:
    return tuple(task_tools())


class _WatchedStore:
    """A store that tells the ledger what takes effect in it."""

    def __init__(self, inner: Store, ledger: Ledger, feed: Feed) -> None:
        self.inner = inner
        self._ledger = ledger
        self._feed = feed

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.inner, name)
        self.__dict__[name] = method
        return method

    async def create_thread(self, thread: ThreadRecord, *, enter: InboxEntry | None = None) -> ThreadRecord:
        """Remember whose task it is."""
        is_new = thread.id not in self._ledger.records
        stored = await self.inner.create_thread(thread, enter=enter)
        self._note(enter if is_new else None)
        owner = stored.meta.get("owner")
        self._ledger.records.setdefault(thread.id, stored)
        if stored.kind == "task" and thread.id not in self._ledger.tasks:
            self._ledger.tasks[thread.id] = None
            self._ledger.tell(f"task {thread.id} of {owner}")
            if owner is not None:
                self._ledger.owners[thread.id] = owner
        self._feed.announce()
        return stored

    async def put(self, entry: InboxEntry) -> InboxEntry:
        """Remember what came."""
        stored = await self.inner.put(entry)
        self._ledger.note_entry(entry)
        self._feed.announce()
        return stored

    async def acquire(self, thread: str, owner: str, now_ms: int, *, enter: InboxEntry | None = None) -> Lease:
        """Remember who holds the thread, and that nothing more can come from whoever it is taken from."""
        before = self._ledger.holders.get(thread)
        is_held = before is not None and (await self.inner.thread(thread)).owner is not None
        try:
            lease = await self.inner.acquire(thread, owner, now_ms, enter=enter)
        except HeldLeaseError:
            # The entry is stored all the same; after any other error it is not.
            self._note(enter)
            raise
        self._note(enter)
        if before is not None and is_held:
            self._ledger.lose_answers(before.owner, thread)
        self._ledger.holders[thread] = lease
        self._ledger.tell(f"{owner} leases {thread} epoch {lease.epoch}")
        self._feed.announce()
        return lease

    def _note(self, entry: InboxEntry | None) -> None:
        if entry is not None:
            self._ledger.note_entry(entry)
            self._feed.announce()

    async def append(self, lease: Lease, step: Step) -> None:
        """Remember the step."""
        await self.inner.append(lease, step)
        self._ledger.note_step(lease, step)
        for delivery in step.deliveries:
            entry = next(
                (each for each in await self._owners_inbox(delivery.owner) if each.id not in self._ledger.put), None
            )
            if entry is not None:
                self._ledger.note_entry(entry)
        self._feed.announce()

    async def _owners_inbox(self, owner: str | None) -> list[InboxEntry]:
        return [] if owner is None else await self.inner.inbox(owner)

    async def release(self, lease: Lease) -> None:
        """Pass on, and say so."""
        await self.inner.release(lease)
        self._feed.announce()

    def changes(self) -> AsyncIterator[None]:
        """Only processes are told of changes."""
        raise Violation(0, "somebody listens to the shared store past every process")


class LogLines(logging.Handler):
    """Takes down what stoic logs while a world runs."""

    def __init__(self, ledger: Ledger) -> None:
        """Write into the ledger."""
        super().__init__()
        self._ledger = ledger

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the line."""
        line = record.getMessage()
        self._ledger.log_lines.append(line)
        self._ledger.tell(f"logged: {line}")
