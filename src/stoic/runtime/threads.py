"""A thread as its user holds it: send, follow the events, answer a question, cancel, go on after an interruption."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Literal

import msgspec
from msgspec.structs import replace

from stoic.core import notes
from stoic.core.commands import Ending
from stoic.core.refusal import ThreadKind
from stoic.errors import BrokenInvariantError, EndedByRefusalError, NoSuchThreadError, UsageError
from stoic.events import Event, Happening, LeaseAwaited, OutcomeReached, UsageFigures
from stoic.ports import HeldLeaseError
from stoic.records import ImagePart, InboxEntry, Json, Lease, Outcome, Parked, Row, Step, ThreadRecord
from stoic.runtime.agents import Agent
from stoic.runtime.boundaries import Boundary, start_fresh, sum_up
from stoic.runtime.engine import Engine, wait_seconds
from stoic.runtime.forking import fork
from stoic.runtime.grants import stuck_turn
from stoic.runtime.streams import Emit, EventStream

_LONGEST_ID = 200
LONGEST_TEXT = 8_000_000
"""Characters of a message, an event or a brief: more than any model reads, and all of it would stay in every later request."""
_NO_ENTRY = ""
"""The id of no inbox entry."""
_ASK_AGAIN_SECONDS = 0.25
"""How often a held lease is asked for: a holder that dies says nothing."""


def check_id(thread: str) -> str:
    """Return a thread's id. Raises UsageError if it is empty, too long or not printable."""
    if not 1 <= len(thread) <= _LONGEST_ID or not thread.isprintable():
        raise UsageError(f"thread id {thread[:40]!r}: use 1 to {_LONGEST_ID} printable characters")
    return thread


def check_text(text: str, what: str) -> None:
    """Check that a text can be a part of a conversation. Raises UsageError if it is too long."""
    if len(text) > LONGEST_TEXT:
        raise UsageError(
            f"{what} has {len(text):,} characters, and at most {LONGEST_TEXT:,} are taken; put it into a file and say where it is"
        )


class Thread:
    """One durable conversation run by one agent; any number of handles, in any number of processes, may exist."""

    def __init__(
        self,
        engine: Engine,
        thread: str,
        agent: Agent,
        *,
        session: str,
        kind: ThreadKind = "chat",
        scope: Literal["main", "worker"] = "main",
        meta: dict[str, Json] | None = None,
    ) -> None:
        """Prefer `Runtime.thread`. Raises UsageError if the id is empty, too long or not printable."""
        self.id = check_id(thread)
        self.agent = agent
        self._engine = engine
        self._session = session
        self._kind: ThreadKind = kind
        self._scope: Literal["main", "worker"] = scope
        self._meta: dict[str, Json] = {"agent": agent.name} | (meta or {})
        self._tasks: set[asyncio.Task[Ending | None]] = set()

    def send(self, text: str) -> "AsyncGenerator[Event]":
        """Send a message and follow its turn: `async for event in thread.send(text)`; the last event is always `OutcomeReached`.

        The turn begins with the call and runs to its end even when nobody listens, or goes on listening: what goes wrong is
        raised where the events are read. Without an interest in them `run` is the simpler call. Messages of one thread are
        answered in order.

        Raises:
            UsageError: the text is empty
            ConfigurationError: the agent's model cannot be reached as configured
            StoreError: the log cannot be read or written
        """
        stream = EventStream()
        task = asyncio.ensure_future(self.run(text, stream.put))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(lambda _: stream.close())
        return _follow(stream, task)

    async def run(self, text: str, emit: "Emit | None" = None, *, images: Sequence[ImagePart] = ()) -> Ending:
        """Send a message and return how its turn ended, or what it is parked for.

        A turn that was interrupted goes on first. While one is parked the message is kept, and what that turn waits for is
        returned at once; once it has gone on and ended, the next `resume`, `run` or worker answers the message. One that
        merely outwaits an outage fails instead, and the message's turn has its input too.

        Args:
            text: the message
            emit: called with each event, the last one being `OutcomeReached`
            images: shown to the model after the text

        Raises:
            UsageError: there is neither text nor image, or the text is too long
            ConfigurationError: the agent's model cannot be reached as configured
            StoreError: the log cannot be read or written
        """
        if not text.strip() and not images:
            raise UsageError("the message is empty; say something")
        check_text(text, "the message")
        content: dict[str, Json] = {"text": text}
        if images:
            content["images"] = [msgspec.to_builtins(image) for image in images]
        ending = await self._drive(self._entry("message", content), emit or _ignore)
        if ending is None:
            raise BrokenInvariantError(f"thread {self.id}: a message led to no turn")
        return ending

    async def resume(self, emit: "Emit | None" = None) -> Ending | None:
        """Take up the turn that was interrupted or parked, or else the next unread message: one turn, whose ending is returned.

        None: there is nothing to do. To send a message call `run` alone, which goes on with what is open before it.
        """
        return await self._drive(None, emit or _ignore)

    async def post(
        self,
        kind: str,
        payload: Json,
        *,
        text: str | None = None,
        images: Sequence[ImagePart] = (),
        source_channel: str | None = None,
        from_thread: str | None = None,
        task_thread: str | None = None,
        owner_thread: str | None = None,
        id: str | None = None,  # noqa: A002 - the entry's, as the inbox names it
    ) -> str:
        """Deliver an event durably and in order; nothing runs here because of it.

        A turn that runs takes it in before its next round; else the next `resume` opens a turn with it. It stays unread
        while a refusal forbids sends that no person causes.

        Args:
            kind: what it is, such as `mail` or `build_failed`; renderers are registered by it
            payload: what happened; any JSON value
            text: how a model reads it; default the kind and the payload
            images: shown to the model after the text
            source_channel: where it came from; this and the next three are kept for tracing
            from_thread: the thread it came from
            task_thread: the task it is about
            owner_thread: the thread that owns that task
            id: makes posting it twice harmless; default a new one

        Returns:
            The event's id.

        Raises:
            UsageError: the kind is empty, or the text is too long
            StoreError: the payload is nothing JSON can hold, or the log cannot be written
        """
        if not kind.strip():
            raise UsageError("the event has no kind; name what it is, such as 'mail'")
        said = text if text is not None else msgspec.json.encode(payload).decode()
        check_text(said, "the event")
        content: dict[str, Json] = {"kind": kind, "payload": payload, "text": f"[event {kind}]\n{said}"}
        if images:
            content["images"] = [msgspec.to_builtins(image) for image in images]
        origins = {
            "source_channel": source_channel,
            "from_thread": from_thread,
            "task_thread": task_thread,
            "owner_thread": owner_thread,
        }
        content |= {name: origin for name, origin in origins.items() if origin is not None}
        entry = self._entry("event", content)
        entry = entry if id is None else replace(entry, id=id)
        await self._put(entry)
        self._engine.announce(self.id)
        return entry.id

    async def wake(self, emit: "Emit | None" = None) -> Ending | None:
        """Run the thread again without anything new, as a timer does: a probe that is due, or the next candidate.

        Returns:
            How the turn ended; None: nothing may be sent now.
        """
        entry = self._entry("wake", {})
        await self._put(entry)
        return await self._drive(None, emit or _ignore)

    async def fork(self, thread: str) -> "Thread":
        """Copy the thread's present generation into a new thread, with what was refused in it.

        Raises:
            UsageError: there is a thread of that id, or this one has an open turn
        """
        forked = Thread(self._engine, thread, self.agent, session=self._session)
        await fork(self._engine, self.id, thread)
        return forked

    async def answer(
        self,
        operation: str,
        tool: str,
        answer: str,
        *,
        by: str | None = None,
        reason: str | None = None,
        arguments: Json | None = None,
    ) -> None:
        """Answer a question of a parked turn: `once`, `session` or `deny`; `resume` or a worker then goes on.

        Args:
            operation: `question.operation`; the tool likewise
            tool: `question.tool`
            answer: the decision
            by: who decided; the model is told, of an approval or beside a reason or other arguments
            reason: why, for the model
            arguments: an object that the call runs with instead of the model's own, such as `json.loads(question.arguments) |
                {"count": 1}`; None: as the model wrote them

        Raises:
            UsageError: any other answer, or arguments that are no JSON object or go with a denial
            StoreError: there is no such thread, or the log cannot be written
        """
        if answer not in {"once", "session", "deny"}:
            raise UsageError(f"answer {answer!r} is none of once, session, deny")
        if arguments is not None and not isinstance(arguments, dict):
            raise UsageError(f"the arguments of {tool} must be one JSON object, not {type(arguments).__name__}")
        if arguments is not None and answer == "deny":
            raise UsageError(f"{tool} cannot be denied with other arguments; say why instead")
        content: dict[str, Json] = {
            "operation": operation,
            "tool": tool,
            "answer": answer,
            "session": self._session,
        }
        said: dict[str, Json] = {"by": by, "reason": reason, "arguments": arguments}
        content |= {name: value for name, value in said.items() if value is not None}
        await self._engine.store.put(self._entry("answer", content))

    async def allow(self, calls: int) -> None:
        """Let a thread that was stopped as a loop repeat itself for so many calls more; `resume` then goes on.

        Only calls that would be blocked count. When they are used up, everything is blocked that was blocked before.

        Raises:
            UsageError: there is nothing to allow, or fewer than one call is
            StoreError: there is no such thread, or the log cannot be read or written
        """
        if calls < 1:
            raise UsageError(f"{calls} calls cannot be allowed; allow at least 1")
        turn = await stuck_turn(self._engine.store, self.id)
        await self._engine.store.put(self._entry("grant", {"calls": calls, "turn": turn}))

    async def switch(self, model: str | None = None, *, mode: str | None = None) -> None:
        """Bind the thread to another model or mode from its next turn on, durably, until the next switch.

        A person's decision: it opens a segment, and the model gets a real request even while its breaker is open.

        Args:
            model: `PROVIDER:NAME`; None: as it is
            mode: one of the agent's, or `default`; None: as it is

        Raises:
            UsageError: neither is given, or the agent has no such mode
            ConfigurationError: the model cannot be reached as configured
        """
        if model is None and mode is None:
            raise UsageError("there is nothing to switch to; name a model or a mode")
        if model is not None:
            self.agent.parameters_for(self._engine.connection(model))
        if mode is not None:
            self.agent.in_mode(mode)
        await self._require_open_door()
        chosen = {"model": model, "mode": mode}
        await self._put(self._entry("switch", {what: name for what, name in chosen.items() if name is not None}))

    async def fresh(self) -> Boundary:
        """Leave all history behind: the next turn begins a generation without it, and without what was refused in it.

        It is taken at once where no turn is open and no message waits; else when these are done.

        Raises:
            UsageError: the thread ended by refusal
            StoreError: there is no such thread, or the log cannot be read or written
        """
        return await start_fresh(self._engine, self._entry("fresh", {}))

    async def compact(self, emit: "Emit | None" = None) -> Boundary:
        """Have the conversation summed up: a generation begins with the summary and the newest turn.

        Of a long turn only its input and its newest two replies are kept. It is taken as `fresh` is.

        Raises:
            ConfigurationError: the model cannot be reached as configured
            UsageError: the thread ended by refusal
            StoreError: there is no such thread, or the log cannot be read or written
        """
        return await sum_up(self._engine, self.agent, self._entry("compact", {}), self._session, emit or _ignore)

    async def rows(self) -> list[Row]:
        """Return the thread's log, oldest row first: what was said, called and decided, and what became of it.

        What is withheld from models is in it. A row's `role`, `kind` and `content` are those of the table `rows`.

        Raises:
            StoreError: there is no such thread, or the log cannot be read
        """
        return (await self._engine.store.load(self.id)).rows

    async def cancel(self) -> None:
        """Stop the thread's running turn, in whichever process it runs."""
        if not self._engine.cancel(self.id):
            with contextlib.suppress(NoSuchThreadError):
                await self._engine.store.put(self._entry("cancel", {}))

    async def _require_open_door(self) -> None:
        """Raise UsageError if the thread ended by refusal; one that is not there yet has not."""
        with contextlib.suppress(NoSuchThreadError):
            if (await self._engine.store.thread(self.id)).is_stopped:
                raise EndedByRefusalError(f"thread {self.id}: {notes.START_ANEW}")

    async def _put(self, entry: InboxEntry) -> None:
        """Enter an entry; a thread that is not there yet is created."""
        try:
            await self._engine.store.put(entry)
        except NoSuchThreadError:
            await self._create()
            await self._engine.store.put(entry)

    async def _create(self) -> None:
        record = ThreadRecord(
            id=self.id,
            kind=self._kind,
            scope=self._scope,
            created_at=self._engine.clock.now_ms(),
            meta=self._meta,
        )
        await self._engine.store.create_thread(record)

    def _entry(self, kind: str, content: dict[str, Json]) -> InboxEntry:
        engine = self._engine
        return InboxEntry(
            id=engine.ids.new(),
            thread=self.id,
            kind=kind,  # pyright: ignore[reportArgumentType] - one of them, by the callers above
            content=content,
            created_at=engine.clock.now_ms(),
        )

    async def attend(
        self,
        emit: "Emit | None" = None,
        on_ending: Callable[[Ending], None] | None = None,
        *,
        goes_on: Callable[[], bool] = lambda: True,
    ) -> int | None:
        """Run whatever the thread has to do, turn after turn, as a worker does that nobody waits for.

        Args:
            emit: gets the events
            on_ending: called with how each turn ended, or what it waits for
            goes_on: asked after each turn whether another one may begin

        Returns:
            When what stays unread may be read, as far as that is a matter of the clock; None: it is not.

        Raises:
            HeldLeaseError: a living owner has the thread
            ConfigurationError: the agent's model cannot be reached as configured
            StoreError: the log cannot be read or written
        """
        emit = emit or _ignore
        self._check_models()
        async with self._engine.lock(self.id):
            store, engine = self._engine.store, self._engine
            lease = await store.acquire(self.id, engine.owner.id, engine.clock.now_ms())
            try:
                while True:
                    # Nobody waits for one of the turns, so the lease is kept until there is nothing more to do.
                    ran = await engine.run_turn(lease, self.agent, self._session, emit, _NO_ENTRY, attended=False)
                    if ran.ending is not None:
                        emit(_last_event(ran.ending))
                        if on_ending is not None:
                            on_ending(ran.ending)
                    if ran.ending is None or isinstance(ran.ending, Parked) or not goes_on():
                        return ran.look_again_ms
            finally:
                await store.release(lease)

    def _check_models(self) -> None:
        """Check that each model can be reached. Raises ConfigurationError, UsageError."""
        for model in self.agent.models:
            self.agent.parameters_for(self._engine.connection(model))

    async def _drive(self, entry: InboxEntry | None, emit: Emit) -> Ending | None:
        """Run turns until the entry's own has ended, or one when there is no entry.

        A turn that waits for tasks which this process runs goes on here when something comes from them.
        """
        self._check_models()
        async with self._engine.lock(self.id):
            ending, seen = await self._until_ended(entry, emit), set[str]()
            while (
                isinstance(ending, Parked)
                and ending.waits_for == "task"
                and await self._engine.until_news(self.id, seen, ending.until_ms)
            ):
                ending = await self._until_ended(entry, emit, again=True)
        if ending is not None:
            emit(_last_event(ending))
        if self.agent.output is not None and isinstance(ending, Outcome) and ending.outcome == "completed":
            return replace(ending, value=self.agent.output.revive(ending.value))
        return ending

    async def _until_ended(self, entry: InboxEntry | None, emit: Emit, *, again: bool = False) -> Ending | None:
        lease = await self._acquire(None if again else entry, emit)
        released = False
        try:
            while True:
                ran = await self._engine.run_turn(lease, self.agent, self._session, emit, entry.id if entry else None)
                released = ran.released
                if ran.ending is None and entry is not None:
                    if ran.is_stopped:
                        raise EndedByRefusalError(f"thread {self.id}: {notes.START_ANEW}")
                    return await self._told_by_log(entry, lease)
                if entry is None or isinstance(ran.ending, Parked) or ran.entry == entry.id:
                    return ran.ending
        finally:
            if not released:
                await self._engine.store.release(lease)

    async def _acquire(self, entry: InboxEntry | None, emit: Emit) -> Lease:
        """Take the lease, waiting for its holder, and enter the entry; a thread that is not there yet is created."""
        store, owner, clock = self._engine.store, self._engine.owner.id, self._engine.clock
        try:
            try:
                return await store.acquire(self.id, owner, clock.now_ms(), enter=entry)
            except NoSuchThreadError:
                await self._create()
                return await store.acquire(self.id, owner, clock.now_ms(), enter=entry)
        except HeldLeaseError:
            told = False
            while True:
                await wait_seconds(_ASK_AGAIN_SECONDS)
                try:
                    return await store.acquire(self.id, owner, clock.now_ms())
                except HeldLeaseError as error:
                    if not told:
                        told = True
                        emit(LeaseAwaited(thread=self.id, pid=error.owner.pid, host=error.owner.host))

    async def _told_by_log(self, entry: InboxEntry, lease: Lease) -> Outcome:
        """Return the outcome of an entry that another process's holder has taken and run meanwhile.

        Raises:
            StaleWriterError: that holder still runs it, since this one stood still for so long that it lost the lease
        """
        rows = (await self._engine.store.load(self.id)).rows
        turn = next((row.turn for row in rows if row.meta.get("entry") == entry.id), None)
        told = next((row for row in rows if row.kind == "outcome" and row.turn == turn), None)
        if told is None:
            await self._engine.store.append(lease, Step())
            raise BrokenInvariantError(f"thread {self.id}: inbox entry {entry.id} is neither unread nor in the log")
        return msgspec.convert(told.content, Outcome)


async def _follow(stream: EventStream, task: "asyncio.Task[Ending]") -> "AsyncGenerator[Event]":
    """Yield a turn's events, then raise what the turn raised."""
    async for event in stream:
        yield event
    await task


def _ignore(_: Happening) -> None:
    """Nobody listens."""


def _last_event(ending: Ending) -> OutcomeReached:
    if isinstance(ending, Parked):
        return OutcomeReached(
            outcome="parked",
            reason=ending.waits_for,
            thread=ending.thread,
            turn=ending.turn,
            questions=[msgspec.to_builtins(question) for question in ending.questions],
            until_ms=ending.until_ms,
            event=ending.event,
            tasks=ending.tasks,
        )
    return OutcomeReached(
        outcome=ending.outcome,
        failure_class=ending.failure_class,
        reason=ending.reason,
        refused=ending.refused,
        text=ending.text,
        thread=ending.thread,
        turn=ending.turn,
        rounds=ending.rounds,
        message=ending.message,
        cut=ending.cut,
        refusal=msgspec.to_builtins(ending.refusal),
        usage=UsageFigures(
            input_tokens=ending.usage.input_tokens,
            output_tokens=ending.usage.output_tokens,
            cache_read_tokens=ending.usage.cache_read_tokens,
        ),
        cost_usd=ending.cost_usd,
    )
