"""Where a thread stands, told from its log alone."""

from typing import Literal

from stoic.cli.timeline import moment
from stoic.core.history import History
from stoic.ports import Loaded
from stoic.records import Record


class ThreadState(Record, frozen=True, omit_defaults=False):
    """One thread in a list."""

    thread: str
    turns: int
    state: Literal["new", "open", "parked", "completed", "stopped", "failed", "cancelled"]
    """`new` before the first turn; `open` while a turn runs or was interrupted; else how the last turn ended."""
    detail: str | None
    """The class of a failure, the reason of a stop, or what a parked turn waits for."""
    unread: int
    """Messages that wait for their turn."""
    last_activity: int
    """Epoch milliseconds."""
    binding: str | None = None
    """The model that a person switched the thread to; None: the agent's own."""

    def said(self) -> str:
        """Return it for people."""
        detail = f" ({self.detail})" if self.detail else ""
        unread = f" · {self.unread} unread" if self.unread else ""
        turns = f"{self.turns} turn{'' if self.turns == 1 else 's'}"
        return f"{turns} · {self.state}{detail}{unread} · {moment(self.last_activity)}"


def state_of(loaded: Loaded) -> ThreadState:
    """Return where a thread stands."""
    history = History(loaded.thread.id)
    for row in loaded.rows:
        history.fold(row)
    state, detail = _state(history)
    waiting = [entry for entry in loaded.inbox if entry.kind == "message"]
    switches = [str(entry.content["model"]) for entry in loaded.inbox if entry.kind == "switch"]
    times = [loaded.thread.created_at, *(row.created_at for row in loaded.rows[-1:]), *(e.created_at for e in waiting)]
    return ThreadState(
        thread=loaded.thread.id,
        turns=history.turn.number if history.turn else 0,
        state=state,
        detail=detail,
        unread=len(waiting),
        last_activity=max(times),
        binding=switches[-1] if switches else history.binding,
    )


def _state(
    history: History,
) -> tuple[Literal["new", "open", "parked", "completed", "stopped", "failed", "cancelled"], str | None]:
    turn = history.turn
    if turn is None:
        return "new", None
    if turn.outcome is not None:
        return turn.outcome.outcome, turn.outcome.failure_class or turn.outcome.reason
    pending = {call.operation for call in turn.pending()}
    if pending & turn.asked - turn.answers.keys():
        return "parked", "permission"
    return "open", None
