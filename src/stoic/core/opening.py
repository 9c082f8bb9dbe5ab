"""How a turn begins, and what of the inbox joins it: messages, events, switches, answers (SPEC §4, §8)."""

from itertools import takewhile

from msgspec.structs import replace

from stoic.core import notes
from stoic.core.commands import Commit
from stoic.core.generation import boundary_row
from stoic.core.history import History
from stoic.core.refusal import may_send
from stoic.core.rows import kind_of
from stoic.core.steps import Context, Part, commit, draft
from stoic.records import Draft, InboxEntry

_ASKS = frozenset({"message", "event", "result"})
"""Rows that a model has to answer."""
_VAIN = frozenset({"wake", "cancel", "answer"})
"""Entries that ask for nothing where no turn is open and none begins."""
OPENS = frozenset({"message", "event", "wake", "grant"})
"""Entries that make a thread run."""


def open_turn(ctx: Context, inbox: list[InboxEntry]) -> Part[InboxEntry | None]:
    """Take what the inbox asks for first into the log; a cancel or answer that came before it has nothing to act on."""
    entry = next((entry for entry in inbox if entry.kind in OPENS and _may_open(ctx, entry)), None)
    if entry is None:
        return None
    before = [other for other in inbox if other.position < entry.position]
    stale = [other.id for other in before if other.kind in {"cancel", "answer", "grant"}]
    stale += [other.id for other in inbox if other.kind == "wake" and other is not entry]
    switches = switches_before(inbox)
    rows = [_opening_row(ctx, entry)]
    rows += [
        replace(rows[0], role="system", kind="switch", content=each.content, visible=False, view=None, meta={})
        for each in switches
    ]
    yield from commit(ctx, Commit(rows=rows, inbox_taken=[entry.id, *stale, *(each.id for each in switches)]))
    return entry


def switches_before(inbox: list[InboxEntry]) -> list[InboxEntry]:
    """Return the switches that the next turn begins with: those up to the next message, whatever opens the turn.

    A person who switches while an event is unread wants it read by the model that was switched to.
    """
    return [entry for entry in takewhile(lambda entry: entry.kind != "message", inbox) if entry.kind == "switch"]


def take_reveals(ctx: Context, inbox: list[InboxEntry]) -> Part[None]:
    """Take into the log that a person looked at withheld bodies; it changes nothing else."""
    entries = [entry for entry in inbox if entry.kind == "reveal"]
    if entries:
        rows = [reveal_row(ctx.history, entry) for entry in entries]
        yield from commit(ctx, Commit(rows=rows, inbox_taken=[entry.id for entry in entries]))


def reveal_row(history: History, entry: InboxEntry) -> Draft:
    """Make the row that tells that a person looked at withheld bodies."""
    return boundary_row(history, "reveal", entry.content, meta={"entry": entry.id})


def take_answers(ctx: Context, inbox: list[InboxEntry]) -> Part[None]:
    """Take a person's answers to the open turn's questions into the log; what was to wake it has done so."""
    taken = [entry for entry in inbox if entry.kind in {"answer", "wake"}]
    if taken:
        rows = [
            draft(ctx, role="system", kind="answer", content=entry.content | {"at_ms": entry.created_at})
            if entry.kind == "answer"
            else draft(ctx, role="system", kind="woken", content={})
            for entry in taken
        ]
        yield from commit(ctx, Commit(rows=rows, inbox_taken=[entry.id for entry in taken]))


def take_vain(ctx: Context, inbox: list[InboxEntry]) -> Part[None]:
    """Take what was to wake, stop or answer a turn of a thread that has none: it must not look as if there were work."""
    vain = [entry.id for entry in inbox if entry.kind in _VAIN]
    if vain:
        yield from commit(ctx, Commit(inbox_taken=vain))


def take_events(ctx: Context) -> Part[None]:
    """Take the events that came while the turn ran into the log, in their order, before the next round is sent.

    A turn that waits goes on waiting: what it waits for is not what an event tells.
    """
    may_read = ctx.plan.thread_kind == "repair" or not ctx.history.refusals
    entries = ctx.take_arrived() if may_read and ctx.state.parked is None else []
    if entries:
        rows = [_event_row(ctx, entry) for entry in entries]
        yield from commit(ctx, Commit(rows=rows, inbox_taken=[entry.id for entry in entries]))


def _may_open(ctx: Context, entry: InboxEntry) -> bool:
    """Tell whether an entry may make the thread run now.

    What no person caused stays unread while a refusal forbids to send; a repair thread opens its turn all the same, since
    other candidates may answer.
    """
    if entry.kind == "grant":
        return _is_stuck(ctx, entry)
    if entry.kind == "message":
        return True
    if entry.kind == "wake" and not any(kind_of(row) in _ASKS for row in ctx.history.increment):
        return False  # there is nothing that a model has not answered
    if ctx.plan.thread_kind == "repair" or ctx.plan.is_interrupted:
        return True
    bound, fingerprint = ctx.plan.candidates[0].route.provider, ctx.plan.fingerprint
    if ctx.history.refusers_under(fingerprint) - {bound}:
        return False  # who was only asked because of a failure has refused: the bound model is no way round that
    return all(may_send(state, ctx.now_ms, human=False) != "no" for state in ctx.history.refusals_under(fingerprint))


def _is_stuck(ctx: Context, grant: InboxEntry) -> bool:
    """Tell whether the turn that a grant is meant for is the newest one and was stopped as a loop."""
    turn = ctx.history.turn
    if turn is None or turn.outcome is None or turn.outcome.reason != "stuck_loop" or not turn.shown:
        return False  # what was left behind by a fresh start is not taken up again
    return grant.content.get("turn", turn.number) == turn.number


def _opening_row(ctx: Context, entry: InboxEntry) -> Draft:
    history, fingerprint = ctx.history, ctx.plan.fingerprint
    changed = fingerprint != history.fingerprint
    return Draft(
        role="user",
        kind=entry.kind,
        content=entry.content,
        generation=history.generation,
        segment=history.next_segment if changed else history.segment,
        turn=history.turn.number + 1 if history.turn else 1,
        visible=entry.kind in {"message", "event", "grant"},
        view={"text": notes.allowed(entry.content["calls"])} if entry.kind == "grant" else None,
        meta={"entry": entry.id} | ({"fingerprint": fingerprint, "shape": dict(ctx.plan.shape)} if changed else {}),
    )


def _event_row(ctx: Context, entry: InboxEntry) -> Draft:
    return draft(ctx, role="user", kind="event", content=entry.content, visible=True, meta={"entry": entry.id})
