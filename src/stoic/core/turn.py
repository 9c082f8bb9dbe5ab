"""One turn, from its input to its outcome, as a generator of commands: the story of SPEC §6, without doing anything.

Its position is folded from rows (`core.history`), never remembered: a generator made anew after a crash continues like
the one that died. Only the calls that this very generator has started are its own (`core.steps.Context`).
"""

from collections.abc import Generator

from msgspec.structs import replace

from stoic.core import notes, notice
from stoic.core.asking_again import ask_again, is_asked_again
from stoic.core.attempts import attempt_row, reply_meta, verdict_on
from stoic.core.boundaries import take_boundaries
from stoic.core.budget import deadline_ms, reached, uses_of_turn
from stoic.core.calls import settle_calls
from stoic.core.classify.verdict import Verdict
from stoic.core.commands import (
    Cancelled,
    Command,
    Commit,
    Ending,
    Event,
    Remembered,
    Replied,
    Send,
    Sleep,
    Unsendable,
    Woke,
)
from stoic.core.compaction import compact_early, compact_full, is_due
from stoic.core.doors import shut
from stoic.core.endings import ask_of_open, break_off, close_calls, fail, finish, give_up, interrupt
from stoic.core.failures import Axis, FailureClass
from stoic.core.health import Says, says
from stoic.core.history import History
from stoic.core.opening import open_turn, take_answers, take_events, take_reveals, take_vain
from stoic.core.output import NUDGE_REASON, judge, nudge, unmet, value_of
from stoic.core.parking import for_routes, park
from stoic.core.plan import Candidate, Plan
from stoic.core.refused import refused, remembered, withhold_known
from stoic.core.repairs import repair_of
from stoic.core.retry import retry_at_ms
from stoic.core.routing import after_failure, after_good, choose, fallback_card
from stoic.core.spending import full_bound, full_notices
from stoic.core.starting import let_through, mark_first
from stoic.core.statuses import ask_what_was_left, tell_known
from stoic.core.steps import Context, Part, ask_or_cancel, commit, draft, intend
from stoic.errors import BrokenInvariantError
from stoic.records import CallPart, Draft, Health, InboxEntry, Json, Outcome, Parked, Report, TextPart

Turn = Generator[Command, Event, Ending | None]

_NUDGES = {
    FailureClass.EMPTY_RESPONSE: notes.EMPTY_REPLY,
    FailureClass.OUTPUT_LIMIT: notes.HALF_CALL,
    FailureClass.MALFORMED_TOOL_CALL: notes.UNREADABLE_CALL,
}
"""What is said before the one re-send that each of these classes gets in a turn."""


def turn(
    history: History,
    plan: Plan,
    inbox: list[InboxEntry],
    now_ms: int,
    health: dict[str, Health] | None = None,
    loops: Json = None,
) -> Turn:
    """Run the open turn to its end, or open one for the first message in the inbox and run that.

    Args:
        history: the thread's position; this generator feeds it with what `Committed` brings
        plan: what shapes the turn
        inbox: the entries not yet taken, in order of arrival
        now_ms: epoch milliseconds
        health: what is known of the candidates' routes, by key
        loops: what was saved of the loop detector with an earlier outcome

    Returns:
        The outcome, what the turn is parked for, or None when there is nothing to do.
    """
    ctx = Context(history, plan, now_ms, health, loops)
    yield from take_reveals(ctx, inbox)
    if history.tombstone is not None:
        return (yield from shut(ctx, inbox))
    is_new = history.open_turn is None
    if is_new:
        rest = yield from _open(ctx, inbox)
        if rest is None:
            return None
        inbox = rest
    ctx.arrive(inbox)
    if plan.is_interrupted:
        return (yield from interrupt(ctx))
    cancels = [entry for entry in inbox if entry.kind == "cancel"]
    if cancels:
        return (yield from _cancel(ctx, [entry.id for entry in cancels]))
    yield from take_answers(ctx, inbox)
    if is_new:
        yield from ask_what_was_left(ctx)
    while history.open_turn is not None:
        ended = yield from _advance(ctx)
        if isinstance(ended, Cancelled):
            return (yield from _cancel(ctx, ended.entries, out_of_time=ended.out_of_time))
        if ended is not None:
            return ended
    raise BrokenInvariantError(f"thread {history.thread}: the turn ended without saying so")


def _open(ctx: Context, inbox: list[InboxEntry]) -> Part[list[InboxEntry] | None]:
    """Open a turn, if anything asks for one, and return what came into the inbox after that."""
    if not ctx.plan.is_interrupted:
        yield from take_boundaries(ctx, inbox)
    opened = yield from open_turn(ctx, inbox)
    if opened is None:
        yield from take_vain(ctx, inbox)
        return None
    return [entry for entry in inbox if entry.position > opened.position and entry.kind != "wake"]


def _advance(ctx: Context) -> Part[Ending | Cancelled | None]:
    """Go one step on from where the rows say the turn stands; None: there is more."""
    stuck = ctx.guard.stop
    if stuck is not None:
        rows, operations = close_calls(ctx)
        told = notice.stuck_loop(ctx.history.thread, ctx.state.number, ctx.guard.stop_rule)
        return (
            yield from give_up(
                ctx,
                notes.stuck(stuck, ctx.history.thread),
                reason="stuck_loop",
                rows=rows,
                operations=operations,
                notices=[told],
            )
        )
    deadline = deadline_ms(ctx.plan.limits, ctx.state)
    if deadline is not None and ctx.now_ms >= deadline and not ctx.running:
        return Cancelled(now_ms=ctx.now_ms, out_of_time=True)  # also one that was parked beyond its time
    if ctx.state.pending():
        return (yield from settle_calls(ctx))
    full = yield from full_bound(ctx)
    if full is not None:
        message, told = notes.limit_reached(reached(full)), full_notices(ctx, full)
        return (yield from give_up(ctx, message, reason="budget", notices=told))
    if ctx.state.compaction == "wanted":
        return (yield from compact_full(ctx))
    if is_due(ctx):
        return (yield from compact_early(ctx))
    yield from take_events(ctx)
    yield from tell_known(ctx)
    return (yield from _attempt(ctx))


def _attempt(ctx: Context) -> Part[Ending | Cancelled | None]:
    """Send the round's request once and store what it brought."""
    state = ctx.state
    if state.retry_at_ms is not None:
        woke = yield from ask_or_cancel(ctx, Sleep(until_ms=state.retry_at_ms), Woke)
        if isinstance(woke, Cancelled):
            return woke
        ctx.see_health(woke.health)
    yield from withhold_known(ctx)
    candidate = yield from _candidate(ctx)
    if candidate is None or isinstance(candidate, Outcome | Parked):
        return candidate
    send = Send(
        round=state.round,
        attempt=state.failed_attempts + 1,
        route=candidate.route,
        upto_seq=ctx.history.last_seq,
        max_tokens=state.max_tokens,
        may_repeat=ctx.is_human or ctx.history.refusal_of(candidate.route.provider) is not None,
        plain=ctx.history.is_plain(candidate.route.provider, candidate.route.model),
    )
    replied = yield from ask_or_cancel(ctx, send, (Replied, Remembered, Unsendable))
    if isinstance(replied, Cancelled):
        return replied
    if isinstance(replied, Unsendable):
        return (yield from break_off(ctx, replied.why))
    if isinstance(replied, Remembered):
        return (yield from remembered(ctx, replied))
    ctx.see_health(replied.health)
    report = replied.report
    verdict = verdict_on(report)
    if verdict.failure is None:
        return (yield from _accept(ctx, report, cut=False))
    if _is_cut_answer(verdict, report):
        return (yield from _accept(ctx, report, cut=True))
    return (yield from _failed(ctx, send, replied, verdict))


def _candidate(ctx: Context) -> Part[Candidate | Ending | None]:
    """Return the route that may be asked now; else how the turn ends, or what it waits for."""
    candidate = yield from choose(ctx)
    if isinstance(candidate, Candidate) and is_asked_again(ctx):
        return (yield from ask_again(ctx))
    return candidate


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
        meta=reply_meta(ctx, report, cut=cut),
    )
    calls = [part for part in parts if isinstance(part, CallPart)]
    if not calls:
        text = "".join(part.text for part in parts if isinstance(part, TextPart))
        return (yield from _answer(ctx, reply, report, text, cut=cut))
    ctx.guard.said("".join(part.text for part in parts if isinstance(part, TextPart)))
    rows, operations = intend(ctx, calls)
    operations = mark_first(ctx, operations, calls)
    accept_upto = ctx.history.last_seq
    rows = [reply, *let_through(ctx), *rows]
    step = Commit(rows=rows, operations=operations, accept_upto=accept_upto, health=after_good(ctx))
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


def _failed(ctx: Context, send: Send, replied: Replied, verdict: Verdict) -> Part[Ending | None]:
    """Store a failed attempt with what follows from it: a retry, one changed re-send, or the turn's end."""
    report = replied.report
    state, failure = ctx.state, verdict.failure or FailureClass.UNKNOWN
    if failure is FailureClass.REFUSAL:
        after = after_failure(ctx, verdict, used_up=True)
        health = [] if after is None else [after]
        return (yield from refused(ctx, send, report, verdict, replied.request_hash, health))
    repair = yield from repair_of(ctx, send, report, verdict)
    if repair is None and failure is FailureClass.CONTEXT_LENGTH and verdict.limit_tokens is not None:
        # Where a smaller max_tokens cannot help, or did not, only a smaller context can.
        verdict = replace(verdict, recovers_with=Axis.COMPACTION)
    again_ms = retry_at_ms(ctx.plan.retry, verdict, state.transport_failures + 1, ctx.now_ms)
    after = after_failure(ctx, verdict, used_up=again_ms is None)
    health = [] if after is None else [after]
    if after is not None and after.state == "open":
        again_ms = None  # a breaker that opens ends the retries
    attempt = attempt_row(ctx, report, verdict, again_ms, repair)
    if again_ms is not None or repair is not None:
        views = [] if repair is None else repair.views
        yield from commit(ctx, Commit(rows=[attempt], health=health, views=views))
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
    is_shut = after is not None and after.state == "open" and after.waits_for in {Axis.CREDENTIAL, Axis.CONFIG}
    told = [notice.route_closed(ctx.history.thread, ctx.candidate.route, after)] if after and is_shut else []
    waiting = for_routes(ctx, after) if says(failure, verdict.recovers_with) is Says.BAD else None
    if waiting is not None:
        return (yield from park(ctx, waiting, [attempt], health=health, notices=told))
    return (yield from fail(ctx, attempt, verdict, report, health, told))


def _cancel(ctx: Context, entries: list[str], *, out_of_time: bool = False) -> Part[Outcome]:
    """End the turn that somebody stopped or whose time is over; every open call gets its result in the same step."""
    rows, operations = close_calls(ctx, (yield from ask_of_open(ctx)))
    if out_of_time:
        full = next((each for each in uses_of_turn(ctx.plan.limits, ctx.state, ctx.now_ms) if each.is_full), None)
        limit = "since its time is over" if full is None else reached(full)
        message, outcome, reason = notes.limit_reached(limit), "stopped", "budget"
    else:
        message, outcome, reason = notes.TURN_CANCELLED, "cancelled", None
    return (
        yield from give_up(
            ctx, message, outcome=outcome, reason=reason, rows=rows, operations=operations, taken=entries
        )
    )
