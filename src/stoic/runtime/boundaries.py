"""What a person asks for between two turns, carried out at once where no turn is open: a fresh start, a compaction."""

from typing import Literal

from stoic.core import notes
from stoic.core.boundaries import fresh_start
from stoic.core.endings import TOMBSTONE_KIND
from stoic.core.history import History
from stoic.errors import EndedByRefusalError
from stoic.ports import HeldLeaseError, Loaded
from stoic.records import InboxEntry, Lease, Record, Step
from stoic.runtime.agents import Agent
from stoic.runtime.engine import Engine
from stoic.runtime.runner import stamped
from stoic.runtime.streams import Emit


class Boundary(Record, frozen=True):
    """What became of the next generation that a person asked for."""

    state: Literal["begun", "waiting", "failed"]
    """`waiting`: it begins when the open turn, or the messages that came before, are done."""
    generation: int
    """The thread's newest."""
    message: str = ""
    """Why it failed."""
    why: str | None = None
    """The reason in one word: `nothing`, `refused`, `empty`, `cut`, `failed`, `blocked` or `cancelled`."""


async def start_fresh(engine: Engine, entry: InboxEntry) -> Boundary:
    """Begin a generation without history; it needs no model.

    Raises:
        UsageError: the thread ended by refusal
        NoSuchThreadError: there is no such thread
        StoreError: the log cannot be read or written
    """
    lease = await _enter(engine, entry)
    released = False
    try:
        loaded, history = await _load(engine, entry.thread)
        step = None if history.open_turn is not None else fresh_start(history, loaded.inbox)
        if lease is not None and step is not None:
            now_ms, seq = engine.clock.now_ms(), history.last_seq + 1
            rows = [stamped(row, engine.ids.new(), entry.thread, seq, now_ms) for row in step.rows]
            await engine.store.append(lease, Step(rows=rows, inbox_taken=step.inbox_taken, release=True))
            released = True
    finally:
        if lease is not None and not released:
            await engine.store.release(lease)
    return await _became_of(engine, entry)


async def sum_up(engine: Engine, agent: Agent, entry: InboxEntry, session: str, emit: Emit) -> Boundary:
    """Begin a generation with a summary of the present one.

    Raises:
        ConfigurationError: the agent's model cannot be reached as configured
        UsageError: the thread ended by refusal
        NoSuchThreadError: there is no such thread
        StoreError: the log cannot be read or written
    """
    for model in agent.models:  # a wrong one is said before anything is stored
        agent.parameters_for(engine.connection(model))
    lease = await _enter(engine, entry)
    if lease is not None:
        try:
            await engine.run_turn(lease, agent, session, emit, None, opens=False)
        finally:
            await engine.store.release(lease)
    return await _became_of(engine, entry)


async def _enter(engine: Engine, entry: InboxEntry) -> Lease | None:
    """Enter the entry, and take the lease; None: a turn runs somewhere, and the entry waits for its end."""
    loaded, _ = await _load(engine, entry.thread)
    if any(row.kind == TOMBSTONE_KIND for row in loaded.rows):
        raise EndedByRefusalError(f"thread {entry.thread}: {notes.START_ANEW}")
    try:
        return await engine.store.acquire(entry.thread, engine.owner.id, engine.clock.now_ms(), enter=entry)
    except HeldLeaseError:
        return None


async def _load(engine: Engine, thread: str) -> tuple[Loaded, History]:
    loaded = await engine.store.load(thread)
    history = History(thread)
    for row in loaded.rows:
        history.fold(row)
    return loaded, history


async def _became_of(engine: Engine, entry: InboxEntry) -> Boundary:
    loaded, history = await _load(engine, entry.thread)
    row = next((row for row in loaded.rows if entry.id in row.meta.get("entries", [])), None)
    generation = history.generation
    if row is None:
        return Boundary(state="waiting", generation=generation)
    if row.kind != "compaction_failed":
        return Boundary(state="begun", generation=generation)
    content = row.content
    return Boundary(state="failed", generation=generation, message=content["message"], why=content["why"])
