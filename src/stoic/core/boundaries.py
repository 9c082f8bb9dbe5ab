"""What a person asks for between two turns: a fresh start, or a compaction; each begins a generation (SPEC §2)."""

from collections.abc import Generator
from itertools import takewhile

from stoic.core.commands import Command, Commit, Event
from stoic.core.compaction import compact_asked
from stoic.core.generation import boundary_row
from stoic.core.history import History
from stoic.core.plan import Plan
from stoic.core.steps import Context, Part, commit
from stoic.records import Health, InboxEntry, Json

BOUNDARIES = frozenset({"compact", "fresh"})


def settle(
    history: History,
    plan: Plan,
    inbox: list[InboxEntry],
    now_ms: int,
    health: dict[str, Health] | None = None,
    loops: Json = None,
) -> Generator[Command, Event, None]:
    """Take what stands before the next turn, and open none; the arguments are those of `core.turn.turn`."""
    if history.open_turn is None:
        yield from take_boundaries(Context(history, plan, now_ms, health, loops), inbox)


def take_boundaries(ctx: Context, inbox: list[InboxEntry]) -> Part[None]:
    """Take the fresh start and the compaction that a person asked for before the next message.

    What waits of events and wakes belongs to the generation after them.
    """
    step = fresh_start(ctx.history, inbox)
    if step is not None:
        yield from commit(ctx, step)
    taken = [] if step is None else step.inbox_taken
    asked = [entry.id for entry in _asked(inbox) if entry.id not in taken]
    if asked:
        yield from compact_asked(ctx, asked)


def fresh_start(history: History, inbox: list[InboxEntry]) -> Commit | None:
    """Return the step that begins a generation without history; None: nobody asks for it before the next message.

    It takes what was asked for before it, which it makes needless.
    """
    asked = _asked(inbox)
    count = max((number for number, entry in enumerate(asked, 1) if entry.kind == "fresh"), default=0)
    if not count:
        return None
    entries = [entry.id for entry in asked[:count]]
    return Commit(rows=[boundary_row(history, "fresh", {}, meta={"entries": entries}, opens=True)], inbox_taken=entries)


def _asked(inbox: list[InboxEntry]) -> list[InboxEntry]:
    return [entry for entry in takewhile(lambda entry: entry.kind != "message", inbox) if entry.kind in BOUNDARIES]
