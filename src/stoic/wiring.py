"""The only file that chooses adapters: which store, which wire, which clock and ids stand behind a runtime."""

import asyncio
import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self

import uuid_utils

from stoic.connecting import Connector
from stoic.core import shapes
from stoic.core.refusal import ThreadKind, counts_as_task
from stoic.errors import ConfigurationError, UsageError
from stoic.notifying import connect_channels
from stoic.ports import Channel, Clock, Connection, Ids, Outside, Store
from stoic.records import DAY_MS, Json, Spent, ThreadRecord
from stoic.runtime.agents import Agent
from stoic.runtime.engine import Engine, Numbers
from stoic.runtime.notices import Outbox
from stoic.runtime.task_agents import AgentSource, KnownAgents
from stoic.runtime.tasks import Tasks
from stoic.runtime.threads import Thread
from stoic.runtime.worker import Worker
from stoic.settings import Settings, read_settings
from stoic.store.owners import this_process
from stoic.store.sqlite import SqliteStore
from stoic.tools.ends import Ends
from stoic.tools.shells import Shells
from stoic.tools.spilling import Spill

if TYPE_CHECKING:
    from stoic.wire.own import OwnModel


class SystemClock:
    """The machine's clock."""

    def now_ms(self) -> int:
        """Return the current time in epoch milliseconds."""
        return time.time_ns() // 1_000_000

    async def sleep_until(self, until_ms: int) -> None:
        """Return when `now_ms()` has reached `until_ms`, also when the clock was set meanwhile."""
        while (remaining_ms := until_ms - self.now_ms()) > 0:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(min(remaining_ms / 1000, 60.0)):
                    await asyncio.Event().wait()


class RandomIds:
    """UUIDv7: ordered by time, unique across machines."""

    def new(self) -> str:
        """Return a new id."""
        return str(uuid_utils.uuid7())


class Runtime(Engine):
    """The embedded runtime over one database; use it as an async context manager.

    `async with Runtime() as runtime: outcome = await runtime.thread("t1", agent).run("…")`
    """

    def __init__(
        self,
        database: str | None = None,
        *,
        settings: Settings | None = None,
        store: Store | None = None,
        clock: Clock | None = None,
        ids: Ids | None = None,
        connect: Callable[[str], Connection] | None = None,
        providers: "Mapping[str, OwnModel] | None" = None,
        channels: Sequence[Channel] | None = None,
        delivers_notices: bool = True,
        agents: AgentSource | Sequence[Agent] = (),
        runs_tasks: bool = True,
    ) -> None:
        """Choose the adapters; nothing is opened yet.

        Args:
            database: path of the SQLite log; default `$STOIC_DB`, else `~/.local/share/stoic/stoic.db`
            settings: default: from the environment
            store: another log than the SQLite file
            clock: default the machine's
            ids: default UUIDv7
            connect: from `PROVIDER:NAME` to a connection; default by the settings
            providers: functions that ask models of an API of their own, by the provider's name (how-to "Add a provider")
            channels: where notices go; default by the settings
            delivers_notices: whether they go there while the runtime is open; False: only when `outbox` is told to
            agents: those that run threads which nobody holds in his hand, such as tasks after a restart, or a function that
                returns a thread's agent; agents of threads made here are known anyway
            runs_tasks: whether tasks that are started here run here; False: they wait for a worker (`serve`, `stoic up`)
        """
        settings = settings or read_settings()
        check_database(database or settings.database)
        clock = clock or SystemClock()
        ids = ids or RandomIds()
        path = Path(database or settings.database).absolute()
        owner = this_process(ids.new(), clock.now_ms())
        self._settings = settings
        self._channels = channels
        self._delivers_notices = delivers_notices
        self._delivery: asyncio.Task[None] | None = None
        super().__init__(
            outside=Outside(store=store or SqliteStore(path, shapes=shapes), clock=clock, ids=ids),
            owner=owner,
            connect=connect or Connector(settings, clock, own=providers),
            spill=Spill(path.parent / "spill") if store is None else None,
            ends=Ends(path.with_name(f"{path.name}-ends"), owner.id) if store is None else None,
            shells=Shells(path.with_name(f"{path.name}-shells") if store is None else None),
            credentials=settings.credentials(),
            numbers=Numbers(
                retry=settings.retry,
                health=settings.health,
                deadline_ms=round(settings.deadline_seconds * 1000),
                compact_at_share=settings.compact_at_share,
                sends_at_once=settings.sends_at_once,
                per_thread=settings.per_thread,
                per_day=settings.per_day,
                asks_again=settings.asks_again,
            ),
        )
        self._known = None if callable(agents) else KnownAgents(*agents)
        self._agents: AgentSource = agents if callable(agents) else self._known or KnownAgents()
        self._runs_tasks = runs_tasks
        self._roots: set[str] = set()
        self._worker: Worker | None = None
        self._work: asyncio.Task[None] | None = None
        self.tasks = Tasks(self, self._agents)
        self.desk = self.tasks

    @cached_property
    def outbox(self) -> Outbox:
        """What delivers the notices. Raises ConfigurationError if a channel cannot be reached as configured."""
        channels = self._channels
        if channels is None:
            channels = connect_channels(self._settings, self.clock)
        return Outbox(self.outside, channels, self._settings.notices_per_day)

    async def __aenter__(self) -> Self:
        """Open the store, make this process known to it, and begin to deliver notices."""
        channels = self.outbox.channels
        await super().__aenter__()
        if channels and self._delivers_notices:
            self._delivery = asyncio.create_task(self.outbox.run())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Deliver what is due unless an exception ends it all, then close everything."""
        if self._work is not None:
            self._work.cancel()
            await asyncio.gather(self._work, return_exceptions=True)
            self._work = self._worker = None
        try:
            if self._delivery is not None:
                await self._end_delivery(self._delivery, at_once=error is not None)
            await self.outbox.close()
        finally:
            await super().__aexit__(kind, error, trace)

    async def _end_delivery(self, delivery: "asyncio.Task[None]", *, at_once: bool) -> None:
        if at_once:
            delivery.cancel()
        else:
            await self.outbox.attend()
        await self.outbox.end(delivery)

    def thread(
        self,
        thread: str,
        agent: Agent,
        *,
        session: str | None = None,
        kind: ThreadKind = "chat",
        scope: Literal["main", "worker"] = "main",
        meta: dict[str, Json] | None = None,
    ) -> Thread:
        """Return a handle on a thread, which is created when something is sent to it.

        Args:
            thread: its id, any text of 1 to 200 printable characters
            agent: what runs it
            session: names the sitting for which a person's "for this session" holds; default a new one
            kind: of a new thread: `chat`, `task` (stops at its first refusal) or `repair` (its job is to try candidates)
            meta: of a new thread: further facts, for a source of agents
            scope: of a new thread: a `worker` counts as a task whatever its kind, `repair` apart

        Raises:
            UsageError: the id is empty, too long or not printable
        """
        if self._known is not None:
            self._known.meet(agent)
        return Thread(self, thread, agent, session=session or self.ids.new(), kind=kind, scope=scope, meta=meta)

    async def spent(self, *, thread: str | None = None, days: int | None = None) -> Spent:
        """Return what work has taken: rounds, tokens, list-price cost in USD, working time in milliseconds.

        Args:
            thread: this one with the tasks below it; None: everything in the database
            days: so many of UTC, today included; None: ever

        Raises:
            UsageError: `days` is below 1
            StoreError: the log cannot be read
        """
        if days is not None and days < 1:
            raise UsageError(f"days is {days}; it must be at least 1, or None for all there ever was")
        since_ms = 0 if days is None else self.clock.now_ms() - (days - 1) * DAY_MS
        return await self.store.spent(root=thread, since_ms=max(since_ms, 0))

    def worker(self, **options: Any) -> Worker:
        """Return a worker that runs everything in the database whose agent is known here; see `Worker` for the options."""
        return Worker(self, self._agents, **options)

    async def serve(self) -> None:
        """Run everything in the database whose agent is known here, until this is cancelled.

        Raises:
            StoreError: the log cannot be read
        """
        await self.worker().run()

    def has_work(self, thread: str) -> None:
        """Run a task that was started or told something here, unless the runtime is not to."""
        if self._runs_tasks:
            self._roots.add(thread)
            self._embed().poke()  # it may have looked before it knew that the thread is its to run

    async def until_news(self, thread: str, seen: set[str], until_ms: int | None) -> bool:
        """Wait until something has come into a thread's inbox that is not among what was seen; tasks under it run meanwhile.

        What has come is added to what was seen; the wait also ends at its time.

        Returns:
            False at once: tasks do not run here.
        """
        if not self._runs_tasks:
            return False
        self._roots.add(thread)
        worker = self._embed()
        worker.poke()
        changes = self.store.changes()
        until = asyncio.ensure_future(self.clock.sleep_until(until_ms)) if until_ms is not None else None
        try:
            while not (new := {entry.id for entry in await self.store.inbox(thread)} - seen):
                change = asyncio.ensure_future(anext(changes))
                work = [] if self._work is None else [self._work]
                await asyncio.wait([change, *work, *([until] if until else [])], return_when=asyncio.FIRST_COMPLETED)
                self._embed()
                change.cancel()
                await asyncio.gather(change, return_exceptions=True)
                if until is not None and until.done():
                    break
            seen |= new
        finally:
            if until is not None:
                until.cancel()
        return True

    def _embed(self) -> Worker:
        """Return the worker that runs the tasks of threads that are driven here; it begins with the first."""
        if self._work is not None and self._work.done():
            self._worker, ended = None, self._work
            ended.result()  # raises what ended it
        if self._worker is None:
            self._worker = self.worker(takes=self._is_ours, schedules=False)
            self._work = asyncio.create_task(self._worker.run())
        return self._worker

    def _is_ours(self, record: ThreadRecord) -> bool:
        is_task = counts_as_task(record.kind, record.scope)
        return is_task and bool(self._roots & {record.id, record.meta.get("root"), record.meta.get("owner")})


def check_database(database: str) -> None:
    """Check that a database is named as this version can use it.

    Raises:
        ConfigurationError: it is a URL; the text does not repeat it, since it may hold a password
    """
    scheme, separator, _ = database.partition("://")
    if separator:
        raise ConfigurationError(
            f"the database is named as a {scheme}:// URL; this version takes the path of a SQLite file"
        )
