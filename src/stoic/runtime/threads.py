"""A thread as its user holds it: send, follow the events, answer a question, cancel, go on after an interruption."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence

import msgspec
from msgspec.structs import replace

from stoic.core.commands import Ending
from stoic.errors import BrokenInvariantError, NoSuchThreadError, UsageError
from stoic.events import Happening, OutcomeReached, UsageFigures
from stoic.ports import HeldLeaseError
from stoic.records import ImagePart, InboxEntry, Json, Lease, Outcome, Parked, ThreadRecord
from stoic.runtime.agents import Agent
from stoic.runtime.engine import Engine, wait_seconds
from stoic.runtime.streams import Emit, EventStream

_LONGEST_ID = 200
_ASK_AGAIN_SECONDS = 0.25
"""How often a held lease is asked for: a holder that dies says nothing."""


class Thread:
    """One durable conversation run by one agent; any number of handles, in any number of processes, may exist."""

    def __init__(self, engine: Engine, thread: str, agent: Agent, *, session: str) -> None:
        """Prefer `Runtime.thread`. Raises UsageError if the id is empty, too long or not printable."""
        if not 1 <= len(thread) <= _LONGEST_ID or not thread.isprintable():
            raise UsageError(f"thread id {thread[:40]!r}: use 1 to {_LONGEST_ID} printable characters")
        self.id = thread
        self.agent = agent
        self._engine = engine
        self._session = session
        self._tasks: set[asyncio.Task[Ending | None]] = set()

    async def send(self, text: str) -> AsyncIterator[Happening]:
        """Send a message and follow its turn; the last event is always `OutcomeReached`.

        The turn runs to its end even when nobody goes on listening. Messages of one thread are answered in order.

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
        async for event in stream:
            yield event
        await task

    async def run(self, text: str, emit: Emit | None = None, *, images: Sequence[ImagePart] = ()) -> Ending:
        """Send a message and return how its turn ended, or what it is parked for.

        Args:
            text: the message
            emit: called with each event, the last one being `OutcomeReached`
            images: shown to the model after the text

        Raises:
            UsageError: there is neither text nor image
            ConfigurationError: the agent's model cannot be reached as configured
            StoreError: the log cannot be read or written
        """
        if not text.strip() and not images:
            raise UsageError("the message is empty; say something")
        content: dict[str, Json] = {"text": text}
        if images:
            content["images"] = [msgspec.to_builtins(image) for image in images]
        ending = await self._drive(self._entry("message", content), emit or _ignore)
        if ending is None:
            raise BrokenInvariantError(f"thread {self.id}: a message led to no turn")
        return ending

    async def resume(self, emit: Emit | None = None) -> Ending | None:
        """Take up the turn that was interrupted or parked, or the next unread message; None: there is nothing to do."""
        return await self._drive(None, emit or _ignore)

    async def answer(self, operation: str, tool: str, answer: str) -> None:
        """Answer a question of a parked turn: `once`, `session` or `deny`; `resume` then goes on.

        Raises:
            UsageError: any other answer
        """
        if answer not in {"once", "session", "deny"}:
            raise UsageError(f"answer {answer!r} is none of once, session, deny")
        content = {"operation": operation, "tool": tool, "answer": answer, "session": self._session}
        await self._engine.store.put(self._entry("answer", content))

    async def switch(self, model: str) -> None:
        """Bind the thread to another model from its next turn on, durably, until the next switch.

        A person's decision: the model gets a real request even while its breaker is open.

        Raises:
            ConfigurationError: the model cannot be reached as configured
        """
        self.agent.parameters_for(self._engine.connection(model))
        with contextlib.suppress(NoSuchThreadError):
            await self._engine.store.put(self._entry("switch", {"model": model}))
            return
        await self._create()
        await self._engine.store.put(self._entry("switch", {"model": model}))

    async def cancel(self) -> None:
        """Stop the thread's running turn, in whichever process it runs."""
        if not self._engine.cancel(self.id):
            with contextlib.suppress(NoSuchThreadError):
                await self._engine.store.put(self._entry("cancel", {}))

    async def _create(self) -> None:
        record = ThreadRecord(id=self.id, created_at=self._engine.clock.now_ms())
        await self._engine.store.create_thread(record)

    def _entry(self, kind: str, content: dict[str, Json]) -> InboxEntry:
        engine = self._engine
        return InboxEntry(
            id=engine.ids.new(),
            thread=self.id,
            kind=kind,  # pyright: ignore[reportArgumentType] - one of the five, by the callers above
            content=content,
            created_at=engine.clock.now_ms(),
        )

    async def _drive(self, entry: InboxEntry | None, emit: Emit) -> Ending | None:
        """Run turns until the entry's own has ended, or one when there is no entry."""
        for model in self.agent.models:
            self.agent.parameters_for(self._engine.connection(model))
        async with self._engine.lock(self.id):
            lease = await self._acquire(entry)
            released = False
            try:
                while True:
                    ran = await self._engine.run_turn(
                        lease, self.agent, self._session, emit, entry.id if entry else None
                    )
                    released = ran.released
                    if ran.ending is None and entry is not None:
                        ending = await self._told_by_log(entry)
                        break
                    if entry is None or isinstance(ran.ending, Parked) or ran.entry == entry.id:
                        ending = ran.ending
                        break
            finally:
                if not released:
                    await self._engine.store.release(lease)
        if ending is not None:
            emit(_last_event(ending))
        if self.agent.output is not None and isinstance(ending, Outcome) and ending.outcome == "completed":
            return replace(ending, value=self.agent.output.revive(ending.value))
        return ending

    async def _acquire(self, entry: InboxEntry | None) -> Lease:
        """Take the lease, waiting for its holder, and enter the entry; a thread that is not there yet is created."""
        store, owner, clock = self._engine.store, self._engine.owner.id, self._engine.clock
        try:
            try:
                return await store.acquire(self.id, owner, clock.now_ms(), enter=entry)
            except NoSuchThreadError:
                await self._create()
                return await store.acquire(self.id, owner, clock.now_ms(), enter=entry)
        except HeldLeaseError:
            while True:
                await wait_seconds(_ASK_AGAIN_SECONDS)
                try:
                    return await store.acquire(self.id, owner, clock.now_ms())
                except HeldLeaseError:
                    continue

    async def _told_by_log(self, entry: InboxEntry) -> Outcome:
        """Return the outcome of an entry that another process's holder has taken and run meanwhile."""
        rows = (await self._engine.store.load(self.id)).rows
        turn = next((row.turn for row in rows if row.meta.get("entry") == entry.id), None)
        told = next((row for row in rows if row.kind == "outcome" and row.turn == turn), None)
        if told is None:
            raise BrokenInvariantError(f"thread {self.id}: inbox entry {entry.id} is neither unread nor in the log")
        return msgspec.convert(told.content, Outcome)


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
