"""The engine: one process's turns over one store, with its cache, its heartbeat and the cancels of what runs here."""

import asyncio
import contextlib
import logging
from collections import OrderedDict
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import TYPE_CHECKING, Literal, Self
from weakref import WeakValueDictionary

from msgspec.structs import replace

from stoic.core.budget import Bounds, Limits
from stoic.core.commands import Ending, Route
from stoic.core.health import HealthPolicy, Signs, retry_now
from stoic.core.history import History
from stoic.core.opening import OPENS, switches_before
from stoic.core.plan import Candidate, Permission, Plan, TaskFacts
from stoic.core.retry import RetryPolicy
from stoic.core.segment import COMPACT_AT_SHARE, fingerprint, shape_of
from stoic.credentials import Credentials
from stoic.errors import StoreError, UsageError
from stoic.events import TurnStarted
from stoic.ports import Connection, Outside
from stoic.records import InboxEntry, Lease, Outcome, Owner, Parked, Record
from stoic.runtime.agents import DEFAULT_MODE, Agent
from stoic.runtime.collecting import collection_held
from stoic.runtime.execution import Execution
from stoic.runtime.renderers import EVENT_RENDERERS
from stoic.runtime.runner import CancelSignal, Runner
from stoic.runtime.sending import Sender
from stoic.runtime.streams import Emit
from stoic.runtime.transcript import Live
from stoic.tools.context import ToolContext
from stoic.tools.ends import Ends
from stoic.tools.shells import Shells
from stoic.tools.spilling import Spill

if TYPE_CHECKING:
    from stoic.tools.desk import TaskDesk

TASK_START = "task_start"
"""The tool by which a thread comes to have tasks."""
HEARTBEAT_SECONDS = 5
CACHED_THREADS = 1_000
"""Idle threads kept in memory; the least recently used goes first and is loaded again when it is needed."""
_WATCH_SECONDS = 0.25
_log = logging.getLogger(__name__)


class Numbers(Record, frozen=True):
    """The numbers of one engine."""

    retry: RetryPolicy = RetryPolicy()
    health: HealthPolicy = HealthPolicy()
    deadline_ms: int = 600_000
    """Longest duration of one send."""
    compact_at_share: float = COMPACT_AT_SHARE
    """How full the model's context window may be before the conversation's beginning is summed up."""
    sends_at_once: int = 32
    """Requests to one route that this process has under way at a time; further ones wait."""
    per_thread: Bounds = Bounds()
    """What a thread and its tasks may take, where the agent does not say."""
    per_day: Bounds = Bounds()
    """What everything in the database may take on one day, where the agent does not say."""
    asks_again: Permission = "ask"
    """What becomes of a task's brief that another provider has refused: a person is asked, it is allowed or denied."""


class Ran(Record, frozen=True):
    """How one turn ended."""

    ending: Ending | None
    """None: there was nothing to do."""
    entry: str | None
    """The inbox entry that opened the turn."""
    released: bool
    """Whether the lease went back with the outcome."""
    is_stopped: bool = False
    """Whether the thread ended by refusal: nothing of it runs any more."""
    look_again_ms: int | None = None
    """When what stays unread now may be read, as far as that is a matter of the clock."""


class Engine:
    """Runs turns. Use it as an async context manager; it belongs to the event loop it was opened in."""

    def __init__(
        self,
        *,
        outside: Outside,
        owner: Owner,
        connect: Callable[[str], Connection],
        numbers: Numbers | None = None,
        spill: Spill | None = None,
        ends: Ends | None = None,
        shells: Shells | None = None,
        credentials: Credentials | None = None,
    ) -> None:
        """Put an engine together.

        Args:
            outside: the log, the time, and ids of rows and entries
            owner: this process, as the store's leases name it
            connect: from `PROVIDER:NAME` to a connection; raises ConfigurationError
            numbers: defaults if None
            spill: where results go that are too long to show; None: they are cut and the rest is lost
            ends: where the ends of calls are written down until the log holds them; None: nowhere
            shells: the background shells of the database's threads; None: none can be started
            credentials: what no process that a tool starts may find in its environment
        """
        self.outside = outside
        self.store = outside.store
        self.clock = outside.clock
        self.ids = outside.ids
        self.owner = owner
        self._connect = connect
        self._numbers = numbers or Numbers()
        self.spill = spill or Spill()
        self.ends = ends or Ends()
        self.shells = shells
        self._credentials = credentials or Credentials()
        self.desk: TaskDesk | None = None
        """For the task tools; None: no tasks can be started here."""
        self._rooms: dict[str, asyncio.Semaphore] = {}
        self._connections: dict[str, Connection] = {}
        self._cache: OrderedDict[str, Live] = OrderedDict()
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._running: dict[str, CancelSignal] = {}
        self._chores: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Self:
        """Open the store and make this process known to it."""
        await self.store.open()
        await self.store.register(replace(self.owner, heartbeat_at=self.clock.now_ms()))
        await self._clear_ends()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close connections and the store; a turn that still runs is left as it stands and can be resumed."""
        for chore in self._chores:
            chore.cancel()
        await asyncio.gather(*self._chores, return_exceptions=True)
        self._chores.clear()
        for provider in {id(each.send): each.send for each in self._connections.values()}.values():
            await provider.close()
        self.ends.close()
        await self._clear_ends()
        await self.store.close()

    def connection(self, model: str) -> Connection:
        """Return the connection of a model, made once.

        Raises:
            ConfigurationError: the name is unknown, or a setting it needs is missing
        """
        if model not in self._connections:
            self._connections[model] = self._connect(model)
        return self._connections[model]

    def lock(self, thread: str) -> asyncio.Lock:
        """Return the lock by which this process's own callers queue for a thread."""
        return self._locks.setdefault(thread, asyncio.Lock())

    def room(self, route: str) -> asyncio.Semaphore:
        """Return what bounds the requests to a route that are under way at a time."""
        return self._rooms.setdefault(route, asyncio.Semaphore(self._numbers.sends_at_once))

    def has_work(self, thread: str) -> None:
        """Hear that a task was started or told something here; an engine alone runs nothing by itself."""

    async def until_news(self, thread: str, seen: set[str], until_ms: int | None) -> bool:  # noqa: ARG002 - for whoever runs tasks
        """Wait until something has come into a thread's inbox that is not among what was seen, or the time has come.

        Returns:
            False at once: nobody here runs what the thread could wait for.
        """
        return False

    def cancel(self, thread: str, entry: str | None = None) -> bool:
        """Stop the turn that runs here on a thread; False: none runs here."""
        signal = self._running.get(thread)
        if signal is not None:
            signal.request(entry)
        return signal is not None

    def announce(self, thread: str) -> None:
        """Say that something came into a thread's inbox; a turn that runs here takes it in before its next round."""
        signal = self._running.get(thread)
        if signal is not None:
            signal.announce()

    async def run_turn(
        self,
        lease: Lease,
        agent: Agent,
        session: str,
        emit: Emit,
        wanted: str | None,
        *,
        opens: bool = True,
        attended: bool = True,
    ) -> Ran:
        """Run the thread's open turn, or the next one its inbox asks for.

        Args:
            lease: held by the caller; given back with the outcome of the wanted turn
            agent: how to run it
            session: the sitting for which a person's "for this session" holds
            emit: gets the events
            wanted: the inbox entry whose turn the caller waits for, None: whatever comes first
            opens: whether a turn may run; else only what stands before the next one is taken
            attended: whether somebody is there to be asked at once

        Raises:
            UsageError: a person switched the thread to a mode that the agent has not
        """
        live, inbox = await self._load(lease)
        agent = _in_mode(agent, lease.thread, _switched(live.history, inbox, "mode", live.history.mode))
        models = _models(agent, live.history, inbox)
        connections = [self.connection(model) for model in models]
        await self._reopen_chosen(connections, inbox)
        health = {each.route: each for each in await self.store.health()}
        signal = CancelSignal(known={entry.id for entry in inbox})
        runner = Runner(
            self.outside,
            live,
            lease,
            sender=Sender(live, connections, agent, self.outside, self._numbers.deadline_ms, emit, self.room),
            execution=Execution(agent.tools, self.clock, self._context(lease.thread, agent, live), self.ends),
            emit=emit,
            cancel=signal,
        )
        keep_lease = wanted is not None and _next_entry(live.history, inbox) != wanted
        if opens and live.history.open_turn is not None:
            emit(TurnStarted(thread=lease.thread, turn=live.history.open_turn.number, resumed=True))
        self._running[lease.thread] = signal
        self._start_chores()
        try:
            plan = self._plan(agent, connections, session, live, await self._task_facts(live, agent.tools))
            plan = replace(plan, is_attended=attended)
            ending = await runner.run(plan, inbox, health, keep_lease=keep_lease, opens=opens)
        except BaseException:
            self._cache.pop(lease.thread, None)
            raise
        finally:
            # One that lost its lease may end when a later one runs, or has run, in this process.
            if self._running.get(lease.thread) is signal:
                del self._running[lease.thread]
        if agent.extractor is not None and isinstance(ending, Outcome):
            from stoic.runtime.extraction import extract  # noqa: PLC0415 -- few agents do, and importing stoic is to be quick

            await extract(self.outside, lease.thread, ending.turn, agent.extractor, scope=agent.name)
        if isinstance(ending, Parked) and signal.asked and not signal.entries:
            await self._leave_cancel(lease.thread)
        if isinstance(ending, Parked):
            self._cache.pop(lease.thread, None)  # it may wait for days, and costs nothing meanwhile but its rows
        turn = live.history.turn
        return Ran(
            ending=ending,
            entry=turn.entry if turn else None,
            released=runner.released,
            is_stopped=live.history.tombstone is not None,
            look_again_ms=_probe_ms(live.history, plan.fingerprint, self.clock.now_ms()),
        )

    async def _leave_cancel(self, thread: str) -> None:
        """Keep a stop that came while the turn was being parked: whoever runs the thread next carries it out."""
        now_ms = self.clock.now_ms()
        await self.store.put(InboxEntry(id=self.ids.new(), thread=thread, kind="cancel", content={}, created_at=now_ms))

    async def interrupt(self, thread: str) -> Ending | None:
        """End the turn of a task that cannot go on, or has not begun, and deliver that; None: there is none.

        Raises:
            HeldLeaseError: a living owner has it
            StoreError: the log cannot be read or written
        """
        async with self.lock(thread):
            lease = await self.store.acquire(thread, self.owner.id, self.clock.now_ms())
            try:
                live, inbox = await self._load(lease)
                execution = Execution({}, self.clock, self._context(thread), self.ends)
                signal = CancelSignal()
                runner = Runner(
                    self.outside, live, lease, sender=None, execution=execution, emit=_ignore, cancel=signal
                )
                plan = Plan(
                    candidates=[],
                    fingerprint=live.history.fingerprint or "",
                    thread_kind=live.record.kind,
                    thread_scope=live.record.scope,
                    task=await self._task_facts(live, ()),
                    is_attended=False,
                    is_interrupted=True,
                )
                ending = await runner.run(plan, inbox, {}, keep_lease=True)
            except BaseException:
                self._cache.pop(thread, None)
                raise
            finally:
                await self.store.release(lease)
        return ending

    def _context(self, thread: str, agent: Agent | None = None, live: Live | None = None) -> ToolContext:
        in_mode = agent is not None and agent.mode != DEFAULT_MODE
        return ToolContext(
            thread=thread,
            store=self.store,
            spill=self.spill,
            shells=self.shells,
            credentials=self._credentials,
            tasks=self.desk,
            model=live.history.binding if live is not None else None,
            tools=list(agent.tools) if agent is not None and in_mode else None,
        )

    async def _task_facts(self, live: Live, tools: Iterable[str]) -> TaskFacts:
        """Return where a thread belongs, and who has refused its brief before."""
        meta = live.record.meta
        owner, has_tasks = meta.get("owner"), any(name == TASK_START for name in tools)
        if "root" not in meta:
            return TaskFacts(has_kin=has_tasks)
        is_new = not live.history.was_answered and "brief" in meta
        before = await self.store.refused_briefs(meta["root"], meta["brief"]) if is_new else []
        return TaskFacts(owner=owner, root=meta["root"], refused_before=before, has_kin=has_tasks or owner is not None)

    def _plan(self, agent: Agent, connections: list[Connection], session: str, live: Live, task: TaskFacts) -> Plan:
        bound = connections[0]
        shape = shape_of(
            provider=bound.provider,
            api=bound.api,
            model=bound.model,
            mode=agent.mode,
            system=agent.instructions,
            tools=agent.schemas,
            parameters=agent.parameters_for(bound),
        )
        return Plan(
            candidates=[_candidate(each, self._numbers.compact_at_share) for each in connections],
            fingerprint=fingerprint(shape),
            shape=shape,
            tools=agent.facts,
            mode=agent.mode,
            left_out=agent.left_out,
            permissions=agent.permissions,
            session=session,
            limits=self._limits(agent.limits),
            retry=self._numbers.retry,
            health_policy=self._numbers.health,
            output=agent.output.facts if agent.output else None,
            thread_kind=live.record.kind,
            thread_scope=live.record.scope,
            task=task,
            asks_again=self._numbers.asks_again,
            renderers=EVENT_RENDERERS,
        )

    def _limits(self, limits: Limits) -> Limits:
        """Return an agent's limits; for bounds of more than a turn that it does not give, the settings'."""
        numbers, none = self._numbers, Bounds()
        return replace(
            limits,
            per_thread=numbers.per_thread if limits.per_thread == none else limits.per_thread,
            per_day=numbers.per_day if limits.per_day == none else limits.per_day,
        )

    async def _reopen_chosen(self, connections: list[Connection], inbox: list[InboxEntry]) -> None:
        """A person who selects a model gets a real request, whatever its breaker says."""
        chosen = {entry.content["model"] for entry in inbox if entry.kind == "switch" and "model" in entry.content}
        for health in await self.store.health() if chosen else []:
            if any(each.key == health.route for each in connections[:1]) and health.state == "open":
                await self.store.put_health(retry_now(health))

    async def _load(self, lease: Lease) -> tuple[Live, list[InboxEntry]]:
        """Return the thread's folded state, from the cache when nobody else held its lease since, and its inbox."""
        live = self._cache.get(lease.thread)
        if live is not None and _is_current(live, lease):
            live.epoch, live.lease = lease.epoch, lease
            self._cache.move_to_end(lease.thread)
            return live, await self.store.inbox(lease.thread)
        with collection_held():
            loaded = await self.store.load(lease.thread)
            live = Live(lease.thread)
            live.epoch, live.lease = lease.epoch, lease
            live.record = loaded.thread
            for row in loaded.rows:
                live.history.fold(row)
            live.rows, live.loops = loaded.rows, loaded.guard
            for operation in loaded.operations:
                live.history.fold_operation(operation)
        self._cache[lease.thread] = live
        if len(self._cache) > CACHED_THREADS:
            self._cache.popitem(last=False)
        return live, loaded.inbox

    async def _clear_ends(self) -> None:
        """Delete what processes that are gone have left and nobody needs any more."""
        abandoned = self.ends.abandoned()
        if abandoned:
            self.ends.clear(abandoned, await self.store.operations(states=("running",)))

    def _start_chores(self) -> None:
        if not self._chores:
            self._chores = [asyncio.create_task(self._heartbeat()), asyncio.create_task(self._watch())]

    async def _heartbeat(self) -> None:
        """Renew this owner's one heartbeat while anything runs; a lost one costs the leases, never the log."""
        while True:
            await wait_seconds(HEARTBEAT_SECONDS)
            if self._running:
                try:
                    await self.store.register(replace(self.owner, heartbeat_at=self.clock.now_ms()))
                except StoreError as error:
                    _log.warning("heartbeat of owner %s not written: %s", self.owner.id, error)

    async def _watch(self) -> None:
        """Pass on the cancels and events that other processes put into the inbox of threads that run here."""
        async for _ in self.store.changes():
            # Only for turns that ran before the question: the answer may be old by the time it is here, and a cancel
            # that one turn has taken must not stop the next.
            asked_for = dict(self._running)
            for entry in await self._calls() if asked_for else []:
                signal = asked_for.get(entry.thread)
                if signal is not None and self._running.get(entry.thread) is signal:
                    signal.request(entry.id) if entry.kind == "cancel" else signal.announce()
            await wait_seconds(_WATCH_SECONDS)

    async def _calls(self) -> list[InboxEntry]:
        """Return the cancels and events for threads that run here; a log that cannot be read now is looked at again."""
        try:
            return await self.store.calls(self.owner.id)
        except StoreError as error:
            _log.warning("cancels and events not read: %s", error)
            return []


async def wait_seconds(seconds: float) -> None:
    """Wait in real time: liveness of processes is not a matter of the clock that decisions are made by."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await asyncio.Event().wait()


def _probe_ms(history: History, fingerprint: str, now_ms: int) -> int | None:
    """Return when the next send that no person causes is due, after refusals; None: it is no matter of the clock."""
    times = [state.probe_at_ms for state in history.refusals_under(fingerprint)]
    return min((each for each in times if each is not None and each > now_ms), default=None)


def _ignore(event: object) -> None:
    """Nobody follows the end of what cannot go on."""


def _models(agent: Agent, history: History, inbox: list[InboxEntry]) -> list[str]:
    """Return the bound model first, then the candidates: a person's switch binds until the next one."""
    bound = _switched(history, inbox, "model", history.binding) or agent.model
    return [bound, *(model for model in agent.models[1:] if model != bound)]


def _in_mode(agent: Agent, thread: str, mode: str | None) -> Agent:
    try:
        return agent.in_mode(mode)
    except UsageError as error:
        raise UsageError(f"thread {thread!r} was switched to a mode: {error}. Switch it back to default") from None


def _switched(
    history: History, inbox: list[InboxEntry], what: Literal["model", "mode"], before: str | None
) -> str | None:
    """Return what the open turn or the next one is switched to by a person; `before`: what the log says."""
    if history.open_turn is not None:
        return before
    switches = [entry.content[what] for entry in switches_before(inbox) if what in entry.content]
    return switches[-1] if switches else before


def _candidate(connection: Connection, compact_at_share: float) -> Candidate:
    window = connection.context_window_tokens
    return Candidate(
        route=Route(provider=connection.provider, api=connection.api, model=connection.model),
        key=connection.key,
        signs=Signs(credential=connection.credential, config=connection.url),
        credential_from=connection.credential_from,
        price=connection.price,
        compact_above_tokens=None if window is None else int(window * compact_at_share),
    )


def _is_current(live: Live, lease: Lease) -> bool:
    """Tell whether nobody but this engine can have written since the state was folded."""
    return live.lease is lease or (live.epoch == lease.epoch - 1 and live.history.last_seq == lease.last_seq)


def _next_entry(history: History, inbox: list[InboxEntry]) -> str | None:
    """Return the entry whose turn comes next: the open turn's, else that of the first entry that makes the thread run."""
    if history.open_turn is not None:
        return history.open_turn.entry
    return next((entry.id for entry in inbox if entry.kind in OPENS), None)
