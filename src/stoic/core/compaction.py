"""Compaction: a generation ends in a summary, and the next one begins with it and the newest rows (SPEC §6, §14)."""

from stoic.core import notes
from stoic.core.commands import Cancelled, Commit, Summarise, Summarised
from stoic.core.endings import give_up, withdrawn
from stoic.core.failures import Axis, FailureClass
from stoic.core.rows import kind_of, turn_of
from stoic.core.segment import segment_id
from stoic.core.steps import Context, Part, ask_or_cancel, commit
from stoic.records import Draft, Outcome, Row

KEPT_REPLIES = 2
"""So many of the turn's newest replies, with their results, are kept word for word."""


def compact(ctx: Context) -> Part[Cancelled | Outcome | None]:
    """Open the next generation with a summary, once per turn; without a usable one the turn ends and nothing is lost."""
    kept = _kept(ctx.state.shown)
    if ctx.history.past + len(ctx.state.shown) <= len(kept):
        return (yield from _give_up(ctx, notes.NOTHING_TO_COMPACT))
    command = Summarise(upto_seq=ctx.history.last_seq, kept=[row.seq for row in kept])
    summarised = yield from ask_or_cancel(ctx, command, Summarised)
    if isinstance(summarised, Cancelled):
        return summarised
    if summarised.text is None or not summarised.text.strip():
        return (yield from _give_up(ctx, notes.NO_SUMMARY))
    yield from commit(ctx, Commit(rows=_next_generation(ctx, summarised.text.strip(), kept)))
    return None


def _kept(shown: list[Row]) -> list[Row]:
    """Return the turn's input and its newest replies with all that came after them."""
    replies = [index for index, row in enumerate(shown) if kind_of(row) == "reply"]
    if len(replies) <= KEPT_REPLIES:
        return list(shown)
    inputs = [row for row in shown if kind_of(row) == "message"]
    return [*inputs, *shown[replies[-KEPT_REPLIES] :]]


def _next_generation(ctx: Context, summary: str, kept: list[Row]) -> list[Draft]:
    generation = ctx.history.generation + 1
    segment = segment_id(ctx.history.thread, generation, 1)
    summing_up = Draft(
        role="user",
        kind="compaction",
        content={"text": notes.summary(summary)},
        generation=generation,
        segment=segment,
        turn=ctx.state.number,
        round=ctx.state.round,
        visible=True,
    )
    return [summing_up, *(_copy(row, generation, segment, ctx.state.number) for row in kept)]


def _copy(row: Row, generation: int, segment: str, turn: int) -> Draft:
    """Return a row's copy in the next generation; it changes what is seen, never where the turn stands."""
    origin = {"kind": kind_of(row), "turn": turn_of(row), "of": row.meta.get("of", row.seq)}
    return Draft(
        role=row.role,  # pyright: ignore[reportArgumentType] - a role of a row
        kind="kept",
        content=row.content,
        view=row.view,
        generation=generation,
        segment=segment,
        turn=turn,
        round=row.round,
        visible=True,
        accepted=row.accepted,
        meta=row.meta | origin,
    )


def _give_up(ctx: Context, why: str) -> Part[Outcome]:
    message = f"{notes.CONTEXT_FULL} {why}"
    return (
        yield from give_up(
            ctx,
            message,
            outcome="failed",
            failure_class=FailureClass.CONTEXT_LENGTH,
            recovers_with=Axis.COMPACTION,
            views=withdrawn(ctx, refused=False),
        )
    )
