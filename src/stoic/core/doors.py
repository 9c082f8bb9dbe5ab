"""The door behind a tombstone: a thread that ended by refusal is settled once and never runs again (SPEC §12)."""

from msgspec.structs import replace

from stoic.core.commands import Commit
from stoic.core.endings import close_calls, settle_refused
from stoic.core.steps import Context, Part, commit
from stoic.records import InboxEntry, Outcome, Refusal


def shut(ctx: Context, inbox: list[InboxEntry]) -> Part[Outcome | None]:
    """Take what still came for the thread, and end a turn that was left open, without asking anybody.

    Returns:
        The outcome of that turn; None: none was open.
    """
    taken = [entry.id for entry in inbox if entry.kind != "reveal"]
    if ctx.history.open_turn is None:
        if taken:
            yield from commit(ctx, Commit(inbox_taken=taken))
        return None
    stop = ctx.history.tombstone or {}
    rows, operations = close_calls(ctx)
    refusal = Refusal(
        provider=stop.get("provider", ""),
        model=stop.get("model"),
        category=stop.get("category"),
        where="prompt",
        scope="request_bytes",
    )
    invisible = [replace(row, visible=False) for row in rows]
    return (yield from settle_refused(ctx, refusal, rows=invisible, operations=operations, taken=taken))
