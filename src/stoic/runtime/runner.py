"""Drives one turn's generator: performs each command, answers it with one event, tells subscribers what happened."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from msgspec.structs import replace

from stoic.core.boundaries import settle
from stoic.core.budget import deadline_ms, spent_by
from stoic.core.commands import (
    AskStatus,
    Cancelled,
    Claimed,
    ClaimTrial,
    Command,
    Commit,
    Committed,
    Compare,
    Compared,
    Ended,
    Ending,
    Event,
    KinSeen,
    Locate,
    Located,
    LookAtKin,
    LookAtShells,
    LookAtSpending,
    Next,
    Recall,
    Recalled,
    Remembered,
    Replied,
    Send,
    ShellsSeen,
    Sleep,
    SpendingSeen,
    Start,
    Started,
    Status,
    Summarise,
    Unsendable,
    Woke,
)
from stoic.core.plan import Plan
from stoic.core.refusal import counts_as_task
from stoic.core.rows import kind_of
from stoic.core.statuses import arguments_in
from stoic.core.turn import turn
from stoic.errors import BrokenInvariantError, UnsendableError
from stoic.events import RoundRolledBack, ToolStarted
from stoic.ports import Outside
from stoic.records import (
    Draft,
    Health,
    InboxEntry,
    Lease,
    Operation,
    RefusedBytes,
    Row,
    Spent,
    Step,
    ViewChange,
)
from stoic.runtime.execution import BRIEF_STATUS_SECONDS, Execution
from stoic.runtime.narration import narrate
from stoic.runtime.sending import Sender
from stoic.runtime.streams import Emit
from stoic.runtime.transcript import Live

T = TypeVar("T")


WAITING_TOOLS = frozenset({"task_message"})
"""Tools that may wait for an event though their effect is another."""


class CancelSignal:
    """Says that somebody wants the turn stopped; interrupts what the runner waits for."""

    def __init__(self, known: set[str] | None = None) -> None:
        """Begin without a request; `known` are the inbox entries that the turn itself has seen and decided on."""
        self.requested = False
        self.asked = False
        """Whether somebody wanted it; else the turn's own time is over."""
        self.out_of_time = False
        self.entries: list[str] = []
        self._known = known or set[str]()
        self._has_news = False
        self._waiting: asyncio.Task[Any] | None = None

    def request(self, entry: str | None = None) -> None:
        """Ask the turn to stop, once or again; `entry` is the inbox entry that said so."""
        if entry in self._known:
            return
        self.requested = self.asked = True
        if entry is not None and entry not in self.entries:
            self.entries.append(entry)
        if self._waiting is not None:
            self._waiting.cancel()

    def announce(self) -> None:
        """Say that something came into the inbox that does not stop the turn."""
        self._has_news = True

    def take_news(self) -> bool:
        """Tell once whether something came."""
        news, self._has_news = self._has_news, False
        return news

    def end_in_time(self) -> None:
        """Stop the turn because its own time is over."""
        self.requested = self.out_of_time = True
        if self._waiting is not None:
            self._waiting.cancel()

    async def interruptible(self, work: Coroutine[Any, Any, T]) -> T | None:
        """Wait for the work; None: the turn is to stop, and the work was cancelled."""
        if self.requested:
            work.close()
            return None
        task = asyncio.ensure_future(work)
        self._waiting = task
        try:
            return await task
        except asyncio.CancelledError:
            current = asyncio.current_task()
            if self.requested and not (current and current.cancelling()):
                return None
            raise
        finally:
            self._waiting = None


async def _boxed(begin: Callable[[], Coroutine[Any, Any, T]]) -> tuple[T]:
    """Return the answer of a work in a box, so that None can be told from being interrupted before or while it ran."""
    return (await begin(),)


class Runner:
    """Performs the commands of one turn on one thread under one lease."""

    def __init__(
        self,
        outside: Outside,
        live: Live,
        lease: Lease,
        *,
        sender: Sender | None,
        execution: Execution,
        emit: Emit,
        cancel: CancelSignal,
    ) -> None:
        self._store = outside.store
        self._clock = outside.clock
        self._ids = outside.ids
        self._live = live
        self._lease = lease
        self._sender = sender
        self._execution = execution
        self._emit = emit
        self._cancel = cancel
        self._spent_until_ms = outside.clock.now_ms()
        """Up to when working time is stored."""
        self._logged: list[Row] | None = None
        """The log as it was read for the calls of earlier turns, which do not change; None: nobody wanted it."""
        self.released = False
        """Whether the lease went back with the outcome."""

    @property
    def _sends(self) -> Sender:
        if self._sender is None:
            raise BrokenInvariantError(f"thread {self._live.history.thread}: a turn that cannot go on wants to send")
        return self._sender

    async def run(
        self, plan: Plan, inbox: list[InboxEntry], health: dict[str, Health], *, keep_lease: bool, opens: bool = True
    ) -> Ending | None:
        """Run one turn to its outcome, until it is parked, or find nothing to do (None).

        Args:
            plan: what shapes the turn
            inbox: the entries not yet taken
            health: what is known of the routes, by key
            keep_lease: do not give the lease back with the outcome: there is more to do on this thread
            opens: whether a turn may be opened or gone on with; else only what stands before the next one is taken
        """
        begin = turn if opens else settle
        generator = begin(self._live.history, plan, inbox, self._clock.now_ms(), health, self._live.loops)
        timer: asyncio.Task[None] | None = None
        try:
            command = next(generator)
            while True:
                timer = timer or self._timer(plan)
                event = await self._perform(command, keep_lease=keep_lease)
                command = generator.send(event)
        except StopIteration as stopped:
            return stopped.value
        finally:
            generator.close()
            if timer is not None:
                timer.cancel()
            # Whatever ends this early, the caller's own cancellation or a lost lease: no call runs on unwatched.
            await self._execution.cancel()

    def _timer(self, plan: Plan) -> asyncio.Task[None] | None:
        """Begin to watch the time of the open turn; None: there is none yet, or its time has no bound."""
        state = self._live.history.open_turn
        until_ms = None if state is None else deadline_ms(plan.limits, state)
        return None if until_ms is None else asyncio.create_task(self._end_in_time(until_ms))

    async def _end_in_time(self, until_ms: int) -> None:
        """Stop the turn when its own time is over, whatever it waits for then."""
        await self._clock.sleep_until(until_ms)
        self._cancel.end_in_time()

    async def _perform(self, command: Command, *, keep_lease: bool) -> Event:
        match command:
            case Commit():
                return await self._commit(command, keep_lease=keep_lease)
            case Send():
                return await self._send(command)
            case Next():
                return await self._next()
            case Recall():
                results = await self._execution.recall(command.operations)
                return Recalled(results=results, now_ms=self._clock.now_ms())
            case Start():
                return self._start(command)
            case Sleep():
                return await self._sleep(command.until_ms)
            case (
                AskStatus()
                | Summarise()
                | ClaimTrial()
                | Compare()
                | Locate()
                | LookAtShells()
                | LookAtKin()
                | LookAtSpending()
            ):
                return await self._ask(command)

    async def _ask(
        self, command: AskStatus | Summarise | ClaimTrial | Compare | Locate | LookAtShells | LookAtKin | LookAtSpending
    ) -> Event:
        """Perform what is rare: ask a tool, a summariser, the other workers, or how a request would look."""
        match command:
            case LookAtKin():
                record = self._live.record
                found = await self._store.unknown_of_kin(record.id, record.meta.get("owner"))
                return KinSeen(operations=found, now_ms=self._clock.now_ms())
            case LookAtSpending():
                return await self._spending()
            case LookAtShells():
                shells = await self._execution.running_shells()
                return ShellsSeen(shells=shells, now_ms=self._clock.now_ms())
            case Compare():
                return Compared(differs=await self._sends.differs(command), now_ms=self._clock.now_ms())
            case Locate():
                return Located(images=await self._sends.locate(command), now_ms=self._clock.now_ms())
            case AskStatus():
                return await self._status(command)
            case Summarise():
                return await self._cancel.interruptible(self._sends.summarise(command)) or self._cancelled()
            case ClaimTrial():
                now_ms = self._clock.now_ms()
                return Claimed(granted=await self._store.claim_trial(command.health, now_ms), now_ms=now_ms)

    async def _status(self, command: AskStatus) -> Status | Cancelled:
        operation, arguments = command.operation, command.arguments
        if arguments is None:
            if self._logged is None:
                self._logged = (await self._store.load(operation.thread)).rows
            arguments = arguments_in(self._logged, operation) or ""
        if command.briefly:
            said = await self._execution.status(operation, arguments, seconds=BRIEF_STATUS_SECONDS)
        else:
            said = await self._cancel.interruptible(self._execution.status(operation, arguments))
        if said is None:
            return self._cancelled()
        return Status(answer=said.answer, trouble=said.trouble, now_ms=self._clock.now_ms())

    async def _spending(self) -> SpendingSeen:
        record, now_ms = self._live.record, self._clock.now_ms()
        return SpendingSeen(
            thread=await self._store.spent(root=record.meta.get("root", record.id)),
            day=await self._store.spent(since_ms=now_ms),
            now_ms=now_ms,
        )

    def _start(self, command: Start) -> Started:
        for planned in command.calls:
            self._execution.start(planned)
            operation = planned.operation
            self._emit(
                ToolStarted(
                    operation=operation.id,
                    tool=operation.tool,
                    effect=operation.effect,
                    arguments=planned.call.arguments,
                )
            )
        return Started(now_ms=self._clock.now_ms())

    async def _sleep(self, until_ms: int) -> Woke | Cancelled:
        slept = await self._cancel.interruptible(_boxed(lambda: self._clock.sleep_until(until_ms)))
        if slept is None:
            return self._cancelled()
        return Woke(now_ms=self._clock.now_ms(), health=await self._store.health())

    def _cancelled(self) -> Cancelled:
        signal = self._cancel
        return Cancelled(
            now_ms=self._clock.now_ms(),
            entries=list(signal.entries),
            out_of_time=signal.out_of_time and not signal.asked,
        )

    async def _next(self) -> Ended | Cancelled:
        results = await self._cancel.interruptible(self._execution.next())
        if results is None:
            # What ended by itself meanwhile is a fact and comes first; the next Next is answered by the cancel.
            await self._execution.cancel()
            results = self._execution.take_ended()
        return Ended(results=results, now_ms=self._clock.now_ms()) if results else self._cancelled()

    async def _send(self, command: Send) -> Replied | Remembered | Unsendable | Cancelled:
        history = self._live.history
        if command.upto_seq != history.last_seq:
            raise BrokenInvariantError(
                f"thread {history.thread}: a request up to row {command.upto_seq} of {history.last_seq}"
            )
        try:
            sent = await self._cancel.interruptible(self._sends.send(command))
        except UnsendableError as error:
            return Unsendable(why=str(error), now_ms=self._clock.now_ms())
        if sent is None:
            self._emit(RoundRolledBack(round=command.round, attempt=command.attempt))
            return self._cancelled()
        if isinstance(sent, RefusedBytes):
            return Remembered(refused=sent, now_ms=self._clock.now_ms())
        report, request_hash = sent
        went_well = report.status == 200 and report.ended and report.exception is None  # noqa: PLR2004 - of HTTP
        health = [] if went_well else await self._store.health()
        return Replied(report=report, now_ms=self._clock.now_ms(), health=health, request_hash=request_hash)

    async def _commit(self, command: Commit, *, keep_lease: bool) -> Committed:
        now_ms = self._clock.now_ms()
        thread, first_seq = self._live.history.thread, self._live.history.last_seq + 1
        rows = [
            stamped(draft, self._ids.new(), thread, first_seq + index, now_ms)
            for index, draft in enumerate(command.rows)
        ]
        ends = any(row.kind == "outcome" for row in rows)
        self.released = ends and not keep_lease
        step = Step(
            rows=rows,
            operations=command.operations,
            views=command.views,
            accept_upto=command.accept_upto,
            inbox_taken=command.inbox_taken,
            health=command.health,
            notices=[replace(each, id=self._ids.new(), created_at=now_ms) for each in command.notices],
            refused=command.refused,
            deliveries=command.deliveries,
            guard=command.guard,
            spent=self._spent(command.rows, now_ms),
            release=self.released,
        )
        await self._revoke(command.views)
        if any(row.kind == "outcome" and not row.content.get("refused") for row in rows):
            await self._close_shells()
        await self._store.append(self._lease, step)
        self._execution.stored(command.operations)
        self._live.fold(rows, command.views)
        if command.guard is not None:
            self._live.loops = command.guard
        for event in narrate(rows, command.operations, self._live.history):
            self._emit(event)
        return Committed(rows=rows, now_ms=now_ms, arrived=await self._arrived(command.operations))

    def _spent(self, rows: list[Draft], now_ms: int) -> Spent | None:
        """Return what was taken since it was stored last; None: these rows tell of no send and no end."""
        spent = spent_by(rows)
        if spent == Spent() and not any(row.kind == "outcome" for row in rows):
            return None
        duration_ms, self._spent_until_ms = max(now_ms - self._spent_until_ms, 0), now_ms
        return replace(spent, duration_ms=duration_ms)

    async def _close_shells(self) -> None:
        """Close the background shells of a task that ends, before its end is stored; a refusal leaves the scene as it is."""
        if counts_as_task(self._live.record.kind, self._live.record.scope):
            await self._execution.close_shells()

    async def _revoke(self, changes: list[ViewChange]) -> None:
        """Close the other ways to what is withheld, before it is: the buffers of background shells (SPEC §9)."""
        withheld = {change.seq for change in changes if change.quarantine is not None}
        increment = self._live.history.increment if withheld else []
        operations = [row.content["operation"] for row in increment if row.seq in withheld and kind_of(row) == "result"]
        if operations:
            await self._execution.revoke_shells(operations)

    async def _arrived(self, ended: list[Operation]) -> list[InboxEntry]:
        """Return what the inbox holds, if anything came since the last question; what was waited for has come."""
        has_waited = any(each.effect == "wait" or each.tool in WAITING_TOOLS for each in ended)
        if not self._cancel.take_news() and not has_waited:
            return []
        return await self._store.inbox(self._live.history.thread)


def stamped(draft: Draft, row_id: str, thread: str, seq: int, now_ms: int) -> Row:
    """Return a draft as the row it becomes."""
    return Row(
        id=row_id,
        thread=thread,
        seq=seq,
        generation=draft.generation,
        segment=draft.segment,
        turn=draft.turn,
        round=draft.round,
        role=draft.role,
        kind=draft.kind,
        content=draft.content,
        created_at=now_ms,
        view=draft.view,
        visible=draft.visible,
        accepted=draft.accepted,
        meta=draft.meta,
    )
