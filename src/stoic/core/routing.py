"""Where a round goes: the bound route while it is healthy, else for this turn the next candidate (SPEC §7)."""

import msgspec
from msgspec.structs import replace

from stoic.core import notes
from stoic.core.classify.verdict import Verdict
from stoic.core.commands import Claimed, ClaimTrial, Commit, Ending
from stoic.core.endings import give_up, stop_refused
from stoic.core.failures import Axis, FailureClass
from stoic.core.health import Admission, Attempt, Says, admit, attempted, begin_trial, says
from stoic.core.parking import for_admission, is_over, park
from stoic.core.plan import Candidate
from stoic.core.refusal import RefusalState, card, may_send
from stoic.core.steps import Context, Part, ask, commit, draft
from stoic.records import Draft, Health, Outcome, Parked, Refusal


def choose(ctx: Context) -> Part[Candidate | Ending]:
    """Return the route the round's request goes to now; else the outcome, or what the turn waits for.

    A route whose breaker is open, or whose provider has refused and may not be asked yet, is skipped without waiting and
    without moving its clock; the skip is a row.
    """
    waiting = _still_waiting(ctx)
    if waiting is not None:
        return waiting
    while True:
        candidate = ctx.candidate
        known = ctx.history.refusal_of(candidate.route.provider)
        if known is not None and may_send(known, ctx.now_ms, human=ctx.is_human) == "no":
            stopped = yield from _skip_refuser(ctx, known)
            if stopped is not None:
                return stopped
            continue
        admission = admission_of(ctx, candidate)
        if admission.kind == "yes":
            return candidate
        if admission.kind == "trial" and (yield from _claim(ctx, candidate)):
            return candidate
        card = fallback_card(ctx, admission.failure_class or "unknown", admission.until_ms, skipped=True)
        if card is None:
            return (yield from _nowhere(ctx, candidate, admission))
        yield from commit(ctx, Commit(rows=[card]))


def _still_waiting(ctx: Context) -> Parked | None:
    """Return what a turn was parked for if nothing has come of it yet; None: it goes on, or was not parked for a route.

    Nothing is stored then: of two workers that look at the turn, each row of one would make the other look again.
    """
    parked = ctx.state.parked
    if parked is None or parked["waits_for"] not in {"time", "event"}:
        return None
    if is_over(ctx, parked) or any(_may_be_asked(ctx, each) for each in ctx.reachable(moves=_may_move(ctx))):
        return None
    return msgspec.convert(parked | {"thread": ctx.history.thread, "turn": ctx.state.number}, Parked)


def _may_be_asked(ctx: Context, candidate: Candidate) -> bool:
    known = ctx.history.refusal_of(candidate.route.provider)
    if known is not None and may_send(known, ctx.now_ms, human=ctx.is_human) == "no":
        return False
    return admission_of(ctx, candidate).kind != "no"


def fallback_card(ctx: Context, failure_class: str, until_ms: int | None, *, skipped: bool) -> Draft | None:
    """Make the row by which this turn goes on with the next candidate; None: there is none, or it may not.

    Args:
        ctx: the turn
        failure_class: why the present route does not answer
        until_ms: when it may again, as far as that is a matter of the clock
        skipped: whether it was not even asked
    """
    if not _may_move(ctx) and ctx.history.has_refusal:
        return None  # an outage after a refusal must not become a way round it
    return next_card(ctx, failure_class, until_ms, skipped=skipped)


def next_card(ctx: Context, failure_class: str, until_ms: int | None, *, skipped: bool) -> Draft | None:
    """Make the row by which this turn goes on with the next candidate, whatever the reason; None: there is none."""
    following = ctx.next_candidate
    if following is None:
        return None
    present = ctx.candidate.route
    content: dict[str, object] = {
        "from": {"provider": present.provider, "model": present.model},
        "to": {"provider": following.route.provider, "model": following.route.model},
        "class": failure_class,
        "skipped": skipped,
    }
    if until_ms is not None:
        content["until_ms"] = until_ms
    return draft(ctx, role="system", kind="fallback", content=content)


def after_good(ctx: Context) -> list[Health]:
    """Return what a complete reply changes of its route's health; nothing, if it was healthy anyway."""
    known = ctx.health.get(ctx.candidate.key)
    ctx.trials.discard(ctx.candidate.key)
    return [Health(route=known.route)] if known is not None and known != Health(route=known.route) else []


def after_failure(ctx: Context, verdict: Verdict, *, used_up: bool) -> Health | None:
    """Return the route's health after a failed attempt; None: the attempt said nothing and nothing was known."""
    candidate = ctx.candidate
    known = ctx.health.get(candidate.key)
    said = says(verdict.failure, verdict.recovers_with, verdict.scope)
    ctx.trials.discard(candidate.key)
    if said is Says.NOTHING and known is None:
        return None
    attempt = Attempt(
        policy=ctx.plan.health_policy,
        signs=candidate.signs,
        ended_at_ms=ctx.now_ms,
        said=said,
        failure=verdict.failure,
        axis=verdict.recovers_with,
        retry_after_ms=verdict.retry_after_ms,
        used_up=used_up,
    )
    return attempted(known or Health(route=candidate.key), attempt)


def admission_of(ctx: Context, candidate: Candidate) -> Admission:
    """Tell whether a request may go to a candidate now."""
    known = ctx.health.get(candidate.key)
    if known is not None and known.trial_until_ms is not None and known.trial_holder == ctx.history.thread:
        # This turn's own trial, also when a crash lies between.
        ctx.trials.add(candidate.key)
    if candidate.key in ctx.trials:
        return Admission(kind="yes")
    return admit(known, ctx.plan.health_policy, candidate.signs, ctx.now_ms, human=True)


def _claim(ctx: Context, candidate: Candidate) -> Part[bool]:
    """Take the one trial of a half-open route; False: somebody else has it."""
    trial = begin_trial(ctx.health[candidate.key], ctx.plan.health_policy, ctx.now_ms, ctx.history.thread)
    claimed = yield from ask(ctx, ClaimTrial(health=trial), Claimed)
    if claimed.granted:
        ctx.health[candidate.key] = trial
        ctx.trials.add(candidate.key)
    return claimed.granted


def _skip_refuser(ctx: Context, known: RefusalState) -> Part[Outcome | None]:
    """Go on to the next candidate of a repair thread, or end; the card copies what is known of the refusals."""
    copied = card(known, skipped=True)
    following = next_card(ctx, FailureClass.REFUSAL, known.probe_at_ms, skipped=True) if _may_move(ctx) else None
    if following is not None:
        yield from commit(ctx, Commit(rows=[replace(following, content=following.content | copied)]))
        return None
    refusal = Refusal(
        provider=known.provider, model=known.model, category=known.category, where="prompt", scope="request_bytes"
    )
    row = draft(ctx, role="system", kind="refusal", content=copied)
    return (yield from stop_refused(ctx, refusal, Commit(rows=[row])))


def _may_move(ctx: Context) -> bool:
    return ctx.plan.thread_kind == "repair"


def _nowhere(ctx: Context, candidate: Candidate, admission: Admission) -> Part[Ending]:
    waiting = for_admission(ctx, admission)
    if waiting is not None:
        return (yield from park(ctx, waiting))
    route = candidate.route
    waits_for = admission.waits_for or Axis.TIME
    message = notes.closed_route(
        route.provider,
        route.model,
        admission.failure_class or "unknown",
        waits_for,
        admission.until_ms,
        ctx.now_ms,
        candidate.credential_from,
        was_sent=ctx.state.failed_attempts > 0,
    )
    return (
        yield from give_up(
            ctx,
            message,
            outcome="failed",
            failure_class=FailureClass(admission.failure_class or "unknown"),
            recovers_with=Axis.TIME if waits_for == "trial" else Axis(waits_for),
        )
    )
