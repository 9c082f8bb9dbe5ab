"""Where a thread stands, told from its log and from who holds it."""

from typing import Literal, cast

from stoic.cli.timeline import moment
from stoic.core.history import History
from stoic.ports import Clock, DamagedRowsError, Loaded, Store
from stoic.records import Owner, Record

State = Literal["new", "open", "parked", "completed", "stopped", "failed", "cancelled", "damaged"]
"""`new` before the first turn; `open` while a turn runs or was interrupted; `damaged` where a row cannot be read, which hides
how it stands; else how the last turn ended."""


class ThreadState(Record, frozen=True, omit_defaults=False):
    """One thread in a list."""

    thread: str
    turns: int
    state: State
    detail: str | None
    """The class of a failure, the reason of a stop or of a completion that is none of the input, what a parked turn waits for; of an open turn `running` or, when no
    living process has it, `interrupted`."""
    unread: int
    """Messages that wait for their turn."""
    last_activity: int
    """Epoch milliseconds."""
    binding: str | None = None
    """The model that a person switched the thread to; None: the agent's own."""
    mode: str | None = None
    """The mode that a person switched the thread to; None: none yet."""
    until_ms: int | None = None
    """When a parked turn that waits for a time goes on, in epoch milliseconds; None: it does not by itself."""

    def said(self) -> str:
        """Return it for people."""
        until = f", until {moment(self.until_ms)}" if self.until_ms is not None else ""
        detail = f" ({self.detail}{until})" if self.detail else ""
        unread = f" · {self.unread} unread" if self.unread else ""
        turns = f"{self.turns} turn{'' if self.turns == 1 else 's'}"
        return f"{turns} · {self.state}{detail}{unread} · {moment(self.last_activity)}"


async def read_state(store: Store, clock: Clock, thread: str) -> ThreadState:
    """Return where a thread stands. Raises NoSuchThreadError, StoreError."""
    loaded, holder, _ = await load_held(store, clock, thread)
    return state_of(loaded, holder)


async def load_held(store: Store, clock: Clock, thread: str) -> tuple[Loaded, Owner | None, DamagedRowsError | None]:
    """Return a thread, as far as it can be read, with the living owner of its lease and what is damaged.

    Raises:
        NoSuchThreadError, StoreError
    """
    before = await store.holder(thread, clock.now_ms())
    damage = None
    try:
        loaded = await store.load(thread)
    except DamagedRowsError as error:
        loaded, damage = error.rest, error
    # Asked on both sides: whoever takes or gives the lease meanwhile must not make the turn look interrupted.
    return loaded, await store.holder(thread, clock.now_ms()) or before, damage


def state_of(loaded: Loaded, holder: Owner | None) -> ThreadState:
    """Return where a thread stands.

    Args:
        loaded: the thread, as far as it can be read
        holder: the living owner of its lease; None: nobody works on it
    """
    history = History(loaded.thread.id)
    is_damaged = any(row.kind == "damaged" for row in loaded.rows)
    for row in [] if is_damaged else loaded.rows:
        history.fold(row)
    state, detail = ("damaged", None) if is_damaged else _state(history, holder)
    waiting = [entry for entry in loaded.inbox if entry.kind == "message"]
    switches = [cast("dict[str, str]", entry.content) for entry in loaded.inbox if entry.kind == "switch"]
    chosen = {what: name for switch in switches for what, name in switch.items()}
    times = [loaded.thread.created_at, *(row.created_at for row in loaded.rows[-1:]), *(e.created_at for e in waiting)]
    return ThreadState(
        thread=loaded.thread.id,
        turns=max(row.turn for row in loaded.rows) if is_damaged else history.turn.number if history.turn else 0,
        state=state,
        detail=detail,
        unread=len(waiting),
        last_activity=max(times),
        binding=chosen.get("model", history.binding),
        until_ms=loaded.thread.wake_at_ms if (state, detail) == ("parked", "time") else None,
        mode=chosen.get("mode", history.mode),
    )


def _state(history: History, holder: Owner | None) -> tuple[State, str | None]:
    turn = history.turn
    if turn is None:
        return "new", None
    if turn.outcome is not None:
        return turn.outcome.outcome, turn.outcome.failure_class or turn.outcome.reason
    if holder is not None:
        return "open", "running"
    pending = {call.operation for call in turn.pending()}
    if pending & turn.asked.keys() - turn.answers.keys():
        return "parked", "permission"
    if turn.parked is not None:
        return "parked", turn.parked["waits_for"]
    return "open", "interrupted"
