"""A person's grant to a thread that was stopped as a loop: when there is something to grant (SPEC §11)."""

from stoic.core.history import History, TurnState
from stoic.errors import UsageError
from stoic.ports import Store


async def stuck_turn(store: Store, thread: str) -> int:
    """Return the number of the turn that was stopped as a loop, when it is the thread's newest and nothing was granted yet.

    Raises:
        UsageError: it is not so
        NoSuchThreadError: there is no such thread
    """
    loaded = await store.load(thread)
    history = History(thread)
    for row in loaded.rows:
        history.fold(row)
    turn = history.turn
    if turn is None or turn.outcome is None or turn.outcome.reason != "stuck_loop":
        raise UsageError(
            f"thread {thread!r} was not stopped as a loop ({_state(turn)}), so there are no calls to allow"
        )
    if not turn.shown:
        raise UsageError(
            f"thread {thread!r} left its stopped turn behind by a fresh start, so there are no calls to allow"
        )
    if any(entry.kind == "grant" and entry.content.get("turn") == turn.number for entry in loaded.inbox):
        raise UsageError(f"thread {thread!r} was allowed calls already and has not gone on since; resume it first")
    return turn.number


def _state(turn: TurnState | None) -> str:
    if turn is None:
        return "it has no turn yet"
    if turn.outcome is None:
        return f"turn {turn.number} is open; resume it without a grant"
    why = turn.outcome.reason or turn.outcome.failure_class
    return f"turn {turn.number} ended {turn.outcome.outcome}{f', {why}' if why else ''}"
