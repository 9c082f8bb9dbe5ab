"""Compaction: the runtime has a conversation's beginning summed up, and begins a generation with that (SPEC §6, §14)."""

from typing import Literal

import msgspec
from msgspec.structs import replace

from stoic.core import notes, notice
from stoic.core.attempts import failed_send, refused_bytes, verdict_on
from stoic.core.budget import cost_usd
from stoic.core.commands import Cancelled, Commit, Remembered, Summarise, Summarised
from stoic.core.endings import give_up, withdrawn
from stoic.core.failures import Axis, FailureClass
from stoic.core.generation import boundary_row, has_beginning, kept_rows, summed_up
from stoic.core.plan import Candidate
from stoic.core.refusal import may_send
from stoic.core.refused import withhold_known
from stoic.core.routing import admission_of
from stoic.core.steps import Context, Part, ask_or_cancel, commit
from stoic.records import Json, Outcome, Record, TextPart, Usage

Cause = Literal["context_length", "share", "person"]
"""A request that no longer fitted, one that would soon not fit, or a person's wish."""
Why = Literal["nothing", "refused", "empty", "cut", "failed", "blocked", "cancelled"]
"""Why there is no summary."""

_WHYS: dict[FailureClass | None, Why] = {
    FailureClass.REFUSAL: "refused",
    FailureClass.EMPTY_RESPONSE: "empty",
    FailureClass.OUTPUT_LIMIT: "cut",
    FailureClass.TRUNCATED_STREAM: "cut",
}
"""What a failed send means for the summary; any other failure is `failed`."""


class Missed(Record, frozen=True):
    """Why nothing was summed up, and what the log keeps of that; the history is as it was."""

    why: Why
    said: str
    """To a person."""
    step: Commit
    usage: Usage | None = None
    """What the send took."""


def is_due(ctx: Context) -> bool:
    """Tell whether the beginning is to be summed up before the next round, since the window is nearly full.

    Nobody asked for it, so it is tried once in a turn, and not again where it was refused.
    """
    limit, history = ctx.candidate.compact_above_tokens, ctx.history
    return (
        limit is not None
        and history.context_tokens > limit
        and ctx.state.compaction == "no"
        and not history.was_summary_refused(_bound(ctx).route.provider)
        and has_beginning(history)
        and _may_ask(ctx, human=ctx.is_human)
    )


def compact_early(ctx: Context) -> Part[Cancelled | None]:
    """Sum up before the window is full; where that fails, the turn goes on as it is."""
    missed = yield from _compact(ctx, "share", human=ctx.is_human)
    if not isinstance(missed, Missed):
        return missed
    yield from commit(ctx, missed.step)
    return None


def compact_full(ctx: Context) -> Part[Cancelled | Outcome | None]:
    """Sum up what no longer fits, once per turn; where that fails, the turn ends and nothing is lost."""
    missed = yield from _compact(ctx, "context_length", human=ctx.is_human)
    if not isinstance(missed, Missed):
        return missed
    why = notes.NOTHING_TO_COMPACT if missed.why == "nothing" else f"{missed.said} {notes.INPUT_LEFT}"
    return (
        yield from give_up(
            ctx,
            f"{notes.CONTEXT_FULL} {why}",
            outcome="failed",
            failure_class=FailureClass.CONTEXT_LENGTH,
            recovers_with=Axis.BOUNDARY if missed.why == "refused" else Axis.COMPACTION,
            rows=missed.step.rows,
            views=withdrawn(ctx),
            usage=missed.usage,
            notices=missed.step.notices,
            refused=missed.step.refused,
        )
    )


def compact_asked(ctx: Context, entries: list[str]) -> Part[None]:
    """Sum up between two turns because a person asked for it: these entries of the inbox are done with, whatever comes of it."""
    missed = yield from _compact(ctx, "person", human=True, entries=entries)
    if isinstance(missed, Cancelled):
        missed = _missed(ctx, "person", "cancelled")
    if missed is not None:
        rows = [replace(row, meta={"entries": entries}) for row in missed.step.rows]
        yield from commit(ctx, replace(missed.step, rows=rows, inbox_taken=entries))


def _compact(
    ctx: Context, cause: Cause, *, human: bool, entries: list[str] | None = None
) -> Part[Cancelled | Missed | None]:
    """Open the next generation; None: it is open, and the entries are taken."""
    history = ctx.history
    if not has_beginning(history):
        return _missed(ctx, cause, "nothing")
    if not _may_ask(ctx, human=human):
        return _missed(ctx, cause, "blocked")
    yield from withhold_known(ctx)
    command = Summarise(
        route=_bound(ctx).route,
        upto_seq=history.last_seq,
        kept=[row.seq for row in kept_rows(history)],
        may_repeat=human,
    )
    said = yield from ask_or_cancel(ctx, command, (Summarised, Remembered))
    if isinstance(said, Cancelled):
        return said
    text = _judge(ctx, cause, said)
    if isinstance(text, Missed):
        return text
    meta = {"cause": cause, **_spent(ctx, said)} | ({"entries": entries} if entries else {})
    yield from commit(ctx, Commit(rows=summed_up(history, text, meta), inbox_taken=entries or []))
    return None


def _bound(ctx: Context) -> Candidate:
    """Return the one route that the runtime's own requests go to."""
    return ctx.plan.candidates[0]


def _may_ask(ctx: Context, *, human: bool) -> bool:
    """Tell whether a request of the runtime's own may go to the bound route now; it uses up no probe and no trial (SPEC §9)."""
    bound, history = _bound(ctx), ctx.history
    if not human and history.was_summary_refused(bound.route.provider):
        return False
    known = history.refusal_of(bound.route.provider)
    return may_send(known, ctx.now_ms, human=human) == "yes" and admission_of(ctx, bound).kind == "yes"


def _judge(ctx: Context, cause: Cause, said: Summarised | Remembered) -> str | Missed:
    """Return the summary, or why there is none that can be used."""
    if isinstance(said, Remembered):
        return _missed(ctx, cause, "refused", {"category": said.refused.category})
    report = said.report
    if report is None:
        text = (said.text or "").strip()
        return text or _missed(ctx, cause, "failed" if said.error else "empty", {"raised": said.error})
    verdict = verdict_on(report)
    text = "".join(part.text for part in report.parts or [] if isinstance(part, TextPart)).strip()
    if verdict.failure is None and text:
        return text
    why = "empty" if verdict.failure is None else _WHYS.get(verdict.failure, "failed")
    missed = _missed(ctx, cause, why, failed_send(_bound(ctx), report, verdict), usage=report.usage)
    if why != "refused":
        return missed
    memory = refused_bytes(_bound(ctx).route, verdict, said.request_hash, ctx.now_ms)
    return replace(missed, step=replace(missed.step, refused=memory))


def _missed(
    ctx: Context, cause: Cause, why: Why, facts: dict[str, Json] | None = None, *, usage: Usage | None = None
) -> Missed:
    """Return why there is no summary, with the row and the notice that tell it."""
    history, route, known = ctx.history, _bound(ctx).route, facts or {}
    said = notes.not_summed_up(
        why,
        f"{route.provider}:{route.model}",
        known.get("category"),
        known.get("raised") or known.get("class"),
        history.thread,
    )
    content = {"why": why, "cause": cause, "message": said, "provider": route.provider, "model": route.model}
    told = {name: value for name, value in (content | known).items() if value is not None}
    row = boundary_row(history, "compaction_failed", msgspec.to_builtins(told))
    is_told = why == "refused" and not ctx.is_task
    category = known.get("category")
    notices = [notice.compaction_refused(history.thread, history.segment, route, category)] if is_told else []
    spent = None if usage == Usage() else usage
    return Missed(why=why, said=said, step=Commit(rows=[row], notices=notices), usage=spent)


def _spent(ctx: Context, said: Summarised | Remembered) -> dict[str, Json]:
    """Return who summed up and what it took; nothing when the agent's own function did."""
    if isinstance(said, Remembered) or said.report is None:
        return {}
    usage, bound = said.report.usage, _bound(ctx)
    cost = cost_usd(bound.price, usage)
    spent: dict[str, Json] = {"provider": bound.route.provider, "model": bound.route.model}
    spent["usage"] = msgspec.to_builtins(usage)
    return spent if cost is None else spent | {"cost_usd": cost}
