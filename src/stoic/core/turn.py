"""One turn, from its input to its outcome, as a generator of commands: the story of SPEC §6, without doing anything.

Its position is folded from rows (`core.history`), never remembered: a generator made anew after a crash continues like
the one that died. Only the calls that this very generator has started are its own (`core.steps.Context`).
"""

from collections.abc import Generator

from msgspec.structs import replace

from stoic.core import notes
from stoic.core.budget import cost_usd, deadline_ms, used_up
from stoic.core.calls import mark_first, settle_calls
from stoic.core.classify import classify
from stoic.core.classify.verdict import Verdict
from stoic.core.commands import Cancelled, Command, Commit, Ending, Event, Replied, Send, Sleep, Unsendable, Woke
from stoic.core.compaction import compact
from stoic.core.details import detail_of
from stoic.core.endings import break_off, close_calls, fail, finish, give_up
from stoic.core.failures import Axis, FailureClass
from stoic.core.health import Says, says
from stoic.core.history import History
from stoic.core.output import NUDGE_REASON, judge, nudge, unmet, value_of
from stoic.core.plan import Plan
from stoic.core.retry import retry_at_ms
from stoic.core.routing import after_failure, after_good, choose, fallback_card
from stoic.core.steps import Context, Part, ask_or_cancel, commit, draft, intend
from stoic.errors import BrokenInvariantError
from stoic.records import CallPart, Draft, Health, InboxEntry, Outcome, Report, TextPart

Turn = Generator[Command, Event, Ending | None]

_NUDGES = {
    FailureClass.EMPTY_RESPONSE: notes.EMPTY_REPLY,
    FailureClass.OUTPUT_LIMIT: notes.HALF_CALL,
    FailureClass.MALFORMED_TOOL_CALL: notes.UNREADABLE_CALL,
}
"""What is said before the one re-send that each of these classes gets in a turn."""


def turn(
    history: History, plan: Plan, inbox: list[InboxEntry], now_ms: int, health: dict[str, Health] | None = None
) -> Turn:
    """Run the open turn to its end, or open one for the first message in the inbox and run that.

    Args:
        history: the thread's position; this generator feeds it with what `Committed` brings
        plan: what shapes the turn
        inbox: the entries not yet taken, in order of arrival
        now_ms: epoch milliseconds
        health: what is known of the candidates' routes, by key

    Returns:
        The outcome, what the turn is parked for, or None when there is nothing to do.
    """
    ctx = Context(history, plan, now_ms, health)
    if history.open_turn is None:
        opened = yield from _open(ctx, inbox)
        if opened is None:
            return None
        inbox = [entry for entry in inbox if entry.position > opened.position]
    cancels = [entry for entry in inbox if entry.kind == "cancel"]
    if cancels:
        return (yield from _cancel(ctx, [entry.id for entry in cancels]))
    yield from _take_answers(ctx, inbox)
    while history.open_turn is not None:
        ended = yield from _advance(ctx)
        if isinstance(ended, Cancelled):
            return (yield from _cancel(ctx, ended.entries, out_of_time=ended.out_of_time))
        if ended is not None:
            return ended
    raise BrokenInvariantError(f"thread {history.thread}: the turn ended without saying so")


def _open(ctx: Context, inbox: list[InboxEntry]) -> Part[InboxEntry | None]:
    """Take the first message into the log; a cancel or answer that came before it has nothing to act on."""
    entry = next((entry for entry in inbox if entry.kind == "message"), None)
    if entry is None:
        return None
    history, fingerprint = ctx.history, ctx.plan.fingerprint
    changed = fingerprint != history.fingerprint
    row = Draft(
        role="user",
        kind="message",
        content=entry.content,
        generation=history.generation,
        segment=history.next_segment if changed else history.segment,
        turn=history.turn.number + 1 if history.turn else 1,
        visible=True,
        meta={"entry": entry.id} | ({"fingerprint": fingerprint} if changed else {}),
    )
    before = [other for other in inbox if other.position < entry.position]
    stale = [other.id for other in before if other.kind in {"cancel", "answer"}]
    switches = [other for other in before if other.kind == "switch"]
    rows = [
        replace(row, role="system", kind="switch", content=each.content, visible=False, meta={}) for each in switches
    ]
    taken = [entry.id, *stale, *(each.id for each in switches)]
    yield from commit(ctx, Commit(rows=[row, *rows], inbox_taken=taken))
    return entry


def _take_answers(ctx: Context, inbox: list[InboxEntry]) -> Part[None]:
    answers = [entry for entry in inbox if entry.kind == "answer"]
    if answers:
        rows = [draft(ctx, role="system", kind="answer", content=entry.content) for entry in answers]
        yield from commit(ctx, Commit(rows=rows, inbox_taken=[entry.id for entry in answers]))


def _advance(ctx: Context) -> Part[Ending | Cancelled | None]:
    """Go one step on from where the rows say the turn stands; None: there is more."""
    stuck = ctx.guard.stop
    if stuck is not None:
        rows, operations = close_calls(ctx)
        return (yield from give_up(ctx, notes.stuck(stuck), reason="stuck_loop", rows=rows, operations=operations))
    if ctx.state.pending():
        return (yield from settle_calls(ctx))
    limit = used_up(ctx.plan.limits, ctx.state, ctx.now_ms)
    if limit is not None:
        return (yield from give_up(ctx, notes.limit_reached(limit), reason="budget"))
    if ctx.state.compaction == "wanted":
        return (yield from compact(ctx))
    return (yield from _attempt(ctx))


def _attempt(ctx: Context) -> Part[Outcome | Cancelled | None]:
    """Send the round's request once and store what it brought."""
    state = ctx.state
    if state.retry_at_ms is not None:
        woke = yield from ask_or_cancel(ctx, Sleep(until_ms=state.retry_at_ms), Woke)
        if isinstance(woke, Cancelled):
            return woke
        ctx.see_health(woke.health)
    candidate = yield from choose(ctx)
    if isinstance(candidate, Outcome):
        return candidate
    send = Send(
        round=state.round,
        attempt=state.failed_attempts + 1,
        route=candidate.route,
        upto_seq=ctx.history.last_seq,
        deadline_ms=deadline_ms(ctx.plan.limits, state),
    )
    replied = yield from ask_or_cancel(ctx, send, (Replied, Unsendable))
    if isinstance(replied, Cancelled):
        return replied
    if isinstance(replied, Unsendable):
        return (yield from break_off(ctx, replied.why))
    ctx.see_health(replied.health)
    report = replied.report
    verdict = classify(report)
    if verdict.failure is None:
        return (yield from _accept(ctx, report, cut=False))
    if _is_cut_answer(verdict, report):
        return (yield from _accept(ctx, report, cut=True))
    return (yield from _failed(ctx, report, verdict))


def _is_cut_answer(verdict: Verdict, report: Report) -> bool:
    """Tell whether a reply hit its length limit with text alone: then the text is the answer, marked cut."""
    parts = report.parts or []
    return (
        verdict.failure is FailureClass.OUTPUT_LIMIT
        and any(isinstance(part, TextPart) and part.text.strip() for part in parts)
        and not any(isinstance(part, CallPart) for part in parts)
    )


def _accept(ctx: Context, report: Report, *, cut: bool) -> Part[Outcome | None]:
    """Store a complete reply with the operations it asks for; without calls it ends the turn."""
    parts = [part for part in report.parts or [] if not isinstance(part, TextPart) or part.text]
    reply = draft(
        ctx,
        role="assistant",
        kind="reply",
        content={"parts": parts},
        visible=True,
        accepted=True,
        meta=_reply_meta(ctx, report, cut=cut),
    )
    calls = [part for part in parts if isinstance(part, CallPart)]
    if not calls:
        text = "".join(part.text for part in parts if isinstance(part, TextPart))
        return (yield from _answer(ctx, reply, report, text, cut=cut))
    ctx.guard.said("".join(part.text for part in parts if isinstance(part, TextPart)))
    rows, operations = intend(ctx, calls)
    if not rows:
        operations = mark_first(ctx, operations, calls)
    accept_upto = ctx.history.last_seq
    step = Commit(rows=[reply, *rows], operations=operations, accept_upto=accept_upto, health=after_good(ctx))
    yield from commit(ctx, step)
    return None


def _answer(ctx: Context, reply: Draft, report: Report, text: str, *, cut: bool) -> Part[Outcome | None]:
    """End the turn with its final reply; where a type was asked for, it may be asked for once more."""
    output = ctx.plan.output
    if output is None:
        return (yield from finish(ctx, reply, report.usage, text, cut=cut, health=after_good(ctx)))
    answer = judge(output, text)
    if answer.complaint is None:
        value = value_of(answer)
        return (yield from finish(ctx, reply, report.usage, text, cut=cut, health=after_good(ctx), value=value))
    if NUDGE_REASON in ctx.state.nudges:
        why = unmet(output, answer.complaint)
        return (yield from finish(ctx, reply, report.usage, text, cut=cut, health=after_good(ctx), misfit=why))
    content = {"text": nudge(answer.complaint), "reason": NUDGE_REASON}
    asking = draft(ctx, role="user", kind="nudge", content=content, visible=True)
    accept_upto = ctx.history.last_seq
    yield from commit(ctx, Commit(rows=[reply, asking], accept_upto=accept_upto, health=after_good(ctx)))
    return None


def _reply_meta(ctx: Context, report: Report, *, cut: bool) -> dict[str, object]:
    route = ctx.candidate.route
    meta: dict[str, object] = {"provider": route.provider, "model": route.model, "usage": report.usage}
    optional = {
        "served_model": report.served_model if report.served_model != route.model else None,
        "request_id": report.request_id,
        "cut": cut or None,
        "end_unconfirmed": report.end_unconfirmed or None,
        "cost_usd": cost_usd(ctx.candidate.price, report.usage),
    }
    return meta | {key: value for key, value in optional.items() if value is not None}


def _failed(ctx: Context, report: Report, verdict: Verdict) -> Part[Outcome | None]:
    """Store a failed attempt with what follows from it: a retry, one changed re-send, or the turn's end."""
    state, failure = ctx.state, verdict.failure or FailureClass.UNKNOWN
    again_ms = retry_at_ms(ctx.plan.retry, verdict, state.transport_failures + 1, ctx.now_ms)
    after = after_failure(ctx, verdict, used_up=again_ms is None)
    health = [] if after is None else [after]
    if after is not None and after.state == "open":
        again_ms = None  # a breaker that opens ends the retries
    attempt = _attempt_row(ctx, report, verdict, again_ms)
    if again_ms is not None:
        yield from commit(ctx, Commit(rows=[attempt], health=health))
        return None
    if failure in _NUDGES and failure not in state.nudges:
        content = {"text": _NUDGES[failure], "reason": failure}
        nudge = draft(ctx, role="user", kind="nudge", content=content, visible=True)
        yield from commit(ctx, Commit(rows=[attempt, nudge], health=health))
        return None
    if verdict.recovers_with is Axis.COMPACTION and state.compaction == "no":
        yield from commit(ctx, Commit(rows=[attempt], health=health))
        return None
    if says(failure, verdict.recovers_with) is Says.BAD:
        card = fallback_card(ctx, failure, after.until_ms if after else None, skipped=False)
        if card is not None:
            yield from commit(ctx, Commit(rows=[attempt, card], health=health))
            return None
    return (yield from fail(ctx, attempt, verdict, report, health))


def _attempt_row(ctx: Context, report: Report, verdict: Verdict, again_ms: int | None) -> Draft:
    route, usage = ctx.candidate.route, report.usage
    content: dict[str, object] = {
        "class": verdict.name,
        "recovers_with": verdict.recovers_with or Axis.NEVER,
        "attempt": ctx.state.failed_attempts + 1,
        "provider": route.provider,
        "model": route.model,
        "evidence": verdict.evidence,
    }
    optional = {
        "status": report.status,
        "request_id": verdict.request_id or report.request_id,
        "retry_at_ms": again_ms,
        "delay_ms": None if again_ms is None else again_ms - ctx.now_ms,
        "retry_after_ms": verdict.retry_after_ms,
        "category": verdict.category,
        "where": verdict.where,
        "scope": verdict.scope,
        "detail": None if verdict.failure is FailureClass.REFUSAL else detail_of(report),
        "usage": usage if usage.input_tokens or usage.output_tokens else None,
        "cost_usd": cost_usd(ctx.candidate.price, usage) if usage.input_tokens or usage.output_tokens else None,
    }
    content |= {key: value for key, value in optional.items() if value is not None}
    return draft(ctx, role="system", kind="attempt", content=content)


def _cancel(ctx: Context, entries: list[str], *, out_of_time: bool = False) -> Part[Outcome]:
    """End the turn that somebody stopped or whose time is over; every open call gets its result in the same step."""
    rows, operations = close_calls(ctx)
    if out_of_time:
        limit = used_up(ctx.plan.limits, ctx.state, ctx.now_ms) or "since its time is over"
        message, outcome, reason = notes.limit_reached(limit), "stopped", "budget"
    else:
        message, outcome, reason = notes.TURN_CANCELLED, "cancelled", None
    return (
        yield from give_up(
            ctx, message, outcome=outcome, reason=reason, rows=rows, operations=operations, taken=entries
        )
    )
