"""Runs whatever of a database has something to do: open turns, parked ones that are due, unread messages and events.

Any number of workers, in any number of processes, may share a database: a thread is one worker's while it holds the lease,
and the lease of a process that is gone is taken over at once.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable
from typing import Any

from stoic.core.commands import Ending
from stoic.core.refusal import counts_as_task
from stoic.errors import (
    ConfigurationError,
    NoSuchThreadError,
    StaleWriterError,
    StoicError,
    StoreError,
    UnknownAgentError,
    UsageError,
)
from stoic.ports import HeldLeaseError
from stoic.records import Outcome, Record, ThreadRecord, Work
from stoic.runtime.engine import Engine
from stoic.runtime.schedules import fire_due
from stoic.runtime.streams import Emit
from stoic.runtime.task_agents import AgentSource
from stoic.runtime.threads import Thread

AT_ONCE = 64
"""How many threads one worker runs at a time."""
_HELD_SECONDS = 0.25
"""How often leases of others are looked at: a holder that dies says nothing."""
_AGAIN_MS = 60_000
"""How long a thread that could not be run, for want of a key or a folder, is left alone while nothing changes on it."""
_log = logging.getLogger(__name__)

Takes = Callable[[ThreadRecord], bool]


class _Seen(Record, frozen=True):
    """A thread as it stood when nothing could be done on it."""

    newest_entry: int
    last_seq: int
    until_ms: int | None


class Worker:
    """One loop that looks for work and runs it; use `run` in a task of its own, `drain` to end it."""

    def __init__(
        self,
        engine: Engine,
        agents: AgentSource,
        *,
        takes: Takes | None = None,
        at_once: int = AT_ONCE,
        schedules: bool = True,
        on_ending: Callable[[str, Ending], None] | None = None,
        emit: Callable[[str], Emit] | None = None,
        session: str | None = None,
    ) -> None:
        """Take the engine and who knows the agents.

        Args:
            engine: opened by the caller
            agents: returns the agent of a thread
            takes: whether a thread is this worker's to run; default every one
            at_once: how many threads run at a time
            schedules: whether prompts of schedules are entered when they are due
            on_ending: called with a thread's id and how its turn ended or what it waits for
            emit: from a thread's id to what gets its events
            session: names the sitting for which a person's "for this session" holds; default a new one
        """
        self._engine = engine
        self._store = engine.store
        self._agents = agents
        self._takes = takes or _everything
        self._at_once = at_once
        self._schedules = schedules
        self._on_ending = on_ending or _nothing
        self._emit = emit or _silent
        self._session = session or engine.ids.new()
        self._seen: dict[str, _Seen] = {}
        self._held = False
        self._is_first_look = True
        self._poke = asyncio.Event()
        self._draining = False
        self.running: dict[str, asyncio.Task[None]] = {}
        """The threads that run here now."""
        self.troubles: dict[str, str] = {}
        """Threads that could not be run, with the reason."""
        self.turns = 0
        """How many turns have ended here."""

    async def run(self) -> None:
        """Look for work and run it until `drain`, or until this is cancelled: then turns stay as they stand.

        Raises:
            StoreError: the log cannot be read
        """
        listener = self._store.changes()
        change: asyncio.Future[Any] = asyncio.ensure_future(anext(listener))
        try:
            while not self._draining:
                next_ms = await self._look()
                await self._news(change, next_ms)
                if change.done():
                    change.result()
                    change = asyncio.ensure_future(anext(listener))
            while self.running:
                await asyncio.wait(list(self.running.values()))
        finally:
            change.cancel()
            running = list(self.running.values())
            for task in running:
                task.cancel()
            await asyncio.gather(change, *running, return_exceptions=True)

    def drain(self) -> None:
        """Begin nothing more; `run` returns when the turns that run now have ended."""
        self._draining = True
        self._poke.set()

    def poke(self) -> None:
        """Look for work now."""
        self._poke.set()

    async def _look(self) -> int | None:
        """Begin what can be begun; return when something is due by the clock."""
        now_ms = self._engine.clock.now_ms()
        times = [await fire_due(self._store, self._engine.clock)] if self._schedules else []
        self._held = False
        alive: dict[str, bool] = {}
        found = await self._store.work(now_ms)
        if self._is_first_look:
            # Keys and configuration may be others than those of the process that parked them.
            self._is_first_look = False
            waiting = [each for each in await self._store.parked() if each.parked["waits_for"] == "event"]
            known = {work.thread.id for work in found}
            found += [Work(thread=each) for each in waiting if each.id not in known]
        there = {work.thread.id for work in found}
        self._seen = {thread: seen for thread, seen in self._seen.items() if thread in there}
        for work in found:
            record = work.thread
            if record.id in self.running or not self._takes(record):
                continue
            seen = self._seen.get(record.id)
            if seen is not None and not _is_new(seen, work, now_ms):
                times.append(seen.until_ms)
                continue
            if await self._is_held(record, now_ms, alive):
                self._held = True
                continue
            if len(self.running) >= self._at_once:
                break
            task = asyncio.create_task(self._attend(work), name=f"stoic {record.id}")
            self.running[record.id] = task
            task.add_done_callback(lambda _, thread=record.id: self._ended(thread))
        times.append(await self._store.next_wake_ms(now_ms))
        return min((each for each in times if each is not None), default=None)

    async def _is_held(self, record: ThreadRecord, now_ms: int, alive: dict[str, bool]) -> bool:
        """Tell whether a living owner has the thread; every owner is looked at once."""
        if record.owner is None:
            return False
        if record.owner not in alive:
            try:
                alive[record.owner] = await self._store.holder(record.id, now_ms) is not None
            except NoSuchThreadError:  # deleted meanwhile
                return True
        return alive[record.owner]

    def _ended(self, thread: str) -> None:
        del self.running[thread]
        self._poke.set()

    async def _news(self, change: "asyncio.Future[Any]", next_ms: int | None) -> None:
        """Wait until something was written, something is due, or a turn has ended."""
        waits: list[asyncio.Future[Any]] = [asyncio.ensure_future(self._poke.wait())]
        if next_ms is not None:
            waits.append(asyncio.ensure_future(self._engine.clock.sleep_until(next_ms)))
        try:
            timeout = _HELD_SECONDS if self._held else None
            await asyncio.wait([change, *waits], timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in waits:
                each.cancel()
            await asyncio.gather(*waits, return_exceptions=True)
        self._poke.clear()

    async def _attend(self, work: Work) -> None:
        """Run what a thread has to do; whatever prevents it is known afterwards, and nothing is tried without end."""
        thread = work.thread.id
        look_again_ms: int | None = None
        try:
            look_again_ms = await self._run(work.thread)
            self.troubles.pop(thread, None)
        except (HeldLeaseError, StaleWriterError):
            return  # somebody else has it
        except UnknownAgentError:
            pass  # another program's
        except Exception as error:  # noqa: BLE001 - an agent source is a user's function; nothing is tried without end
            self._note_trouble(thread, error)
            look_again_ms = self._engine.clock.now_ms() + _AGAIN_MS
        await self._remember(work, look_again_ms)

    async def _run(self, record: ThreadRecord) -> int | None:
        try:
            agent = self._agents(record)
        except (ConfigurationError, UnknownAgentError):
            raise
        except UsageError as error:
            if not counts_as_task(record.kind, record.scope):
                raise
            # Its folder or one of its tools is gone: it cannot go on, and its owner has to hear of it.
            self._note_trouble(record.id, error)
            return await self._settle(record)
        thread = Thread(self._engine, record.id, agent, session=self._session)
        return await thread.attend(
            self._emit(record.id), self._note_ending(record.id), goes_on=lambda: not self._draining
        )

    async def _settle(self, record: ThreadRecord) -> None:
        ending = await self._engine.interrupt(record.id)
        if ending is not None:
            self._note_ending(record.id)(ending)

    def _note_ending(self, thread: str) -> Callable[[Ending], None]:
        def note(ending: Ending) -> None:
            self.turns += isinstance(ending, Outcome)
            self._on_ending(thread, ending)

        return note

    def _note_trouble(self, thread: str, error: Exception) -> None:
        said = str(error) if isinstance(error, StoicError) else f"{type(error).__name__}: {error}"
        if self.troubles.get(thread) != said:
            self.troubles[thread] = said
            _log.warning("thread %s: %s", thread, said)

    async def _remember(self, work: Work, look_again_ms: int | None) -> None:
        """Remember how a thread stood, so that it is not looked at again before something changes.

        What came into its inbox while it ran was not seen, so only what was there before counts as seen.
        """
        with contextlib.suppress(StoreError):  # deleted meanwhile
            last_seq = (await self._store.thread(work.thread.id)).last_seq
            self._seen[work.thread.id] = _Seen(
                newest_entry=work.newest_entry, last_seq=last_seq, until_ms=look_again_ms
            )


def _is_new(seen: _Seen, work: Work, now_ms: int) -> bool:
    """Tell whether anything has changed on a thread, or its time has come."""
    is_due = seen.until_ms is not None and now_ms >= seen.until_ms
    record = work.thread
    wakes = record.phase == "parked" and record.wake_at_ms is not None and now_ms >= record.wake_at_ms
    return is_due or wakes or (work.newest_entry, record.last_seq) != (seen.newest_entry, seen.last_seq)


def _everything(record: ThreadRecord) -> bool:  # noqa: ARG001 - the signature is Takes'
    return True


def _nothing(thread: str, ending: Ending) -> None:
    """Nobody listens."""


def _silent(thread: str) -> Emit:  # noqa: ARG001 - nobody sees the events of any thread
    return lambda event: None  # noqa: ARG005 - the signature is Emit's
