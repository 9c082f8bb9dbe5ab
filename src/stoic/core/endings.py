"""How a turn ends: the one step that stores its outcome together with everything the ending changes (SPEC §6)."""

from stoic.core import notes
from stoic.core.budget import cost_usd
from stoic.core.classify.verdict import Verdict
from stoic.core.commands import Commit
from stoic.core.failures import Axis, FailureClass
from stoic.core.health import free_trial
from stoic.core.history import EFFECTS, add_usage
from stoic.core.steps import Context, Part, commit, draft, lose, never_ran, result_row
from stoic.errors import BrokenInvariantError
from stoic.records import Draft, Health, Json, Operation, Outcome, Refusal, Report, Usage, ViewChange

_KEEPS_VIEW = frozenset({Axis.TIME, Axis.CREDENTIAL, Axis.CONFIG})
"""Failures that say nothing about the request's bytes: what was asked stays for the next turn."""


def finish(
    ctx: Context,
    reply: Draft,
    usage: Usage,
    text: str,
    *,
    cut: bool,
    health: list[Health],
    value: Json = None,
    misfit: str | None = None,
) -> Part[Outcome]:
    """Store the final reply and the outcome in one step: `completed`, or `failed` when it does not fit the asked type."""
    total = add_usage(ctx.state.usage, usage)
    if misfit is None:
        outcome = _outcome(ctx, outcome="completed", text=text, cut=cut, usage=total, value=value)
    else:
        failure = FailureClass.MALFORMED_TOOL_CALL
        outcome = _outcome(
            ctx,
            outcome="failed",
            failure_class=failure,
            recovers_with=Axis.REQUEST_CHANGE,
            message=misfit,
            text=text,
            cut=cut,
            usage=total,
        )
    return (yield from _end(ctx, outcome, rows=[reply], accept_upto=ctx.history.last_seq, health=health))


def give_up(
    ctx: Context,
    message: str,
    *,
    outcome: str = "stopped",
    reason: str | None = None,
    failure_class: FailureClass | None = None,
    recovers_with: Axis | None = None,
    rows: list[Draft] | None = None,
    operations: list[Operation] | None = None,
    views: list[ViewChange] | None = None,
    taken: list[str] | None = None,
) -> Part[Outcome]:
    """End the turn without an answer, for a reason that says nothing about the request's bytes."""
    begun = ctx.state.round - (ctx.state.failed_attempts == 0)
    ending = _outcome(
        ctx,
        outcome=outcome,
        reason=reason,
        failure_class=failure_class,
        recovers_with=recovers_with,
        message=message,
        rounds=begun,
    )
    return (
        yield from _end(ctx, ending, rows=rows or [], views=views, operations=operations or [], inbox_taken=taken or [])
    )


def fail(ctx: Context, attempt: Draft, verdict: Verdict, report: Report, health: list[Health]) -> Part[Outcome]:
    """End the turn by a failure or a refusal; unaccepted rows that caused it leave the view, so the thread goes on."""
    if verdict.failure is None:
        raise BrokenInvariantError("a complete reply is no failure")
    route, refused = ctx.candidate.route, verdict.failure is FailureClass.REFUSAL
    usage = add_usage(ctx.state.usage, report.usage)
    if refused:
        refusal = Refusal(
            provider=route.provider,
            model=report.served_model or route.model,
            category=verdict.category,
            where=verdict.where or "prompt",
            scope=verdict.scope or "request_bytes",
        )
        message = notes.refused(verdict, route.provider, route.model)
        outcome = _outcome(
            ctx, outcome="stopped", reason="refused", refused=True, refusal=refusal, message=message, usage=usage
        )
    else:
        tries = ctx.state.failed_attempts + 1
        message = notes.failed(verdict, route.provider, route.model, tries, attempt.content.get("detail"))
        outcome = _outcome(
            ctx,
            outcome="cancelled" if verdict.failure is FailureClass.CANCELLED else "failed",
            failure_class=verdict.failure,
            recovers_with=verdict.recovers_with,
            message=message,
            usage=usage,
        )
    # An unknown failure that a provider answered with may be about these bytes; one that it did not answer is not.
    keeps = verdict.recovers_with in _KEEPS_VIEW or (verdict.recovers_with is Axis.NEVER and report.status is None)
    views = [] if keeps else withdrawn(ctx, refused=refused)
    return (yield from _end(ctx, outcome, rows=[attempt], views=views, health=health))


def break_off(ctx: Context, why: str) -> Part[Outcome]:
    """End the turn by a bug of stoic itself; what was not accepted leaves the view, so that the thread can go on."""
    return (
        yield from give_up(
            ctx,
            notes.bug(why),
            outcome="failed",
            failure_class=FailureClass.INTERNAL,
            recovers_with=Axis.NEVER,
            views=withdrawn(ctx, refused=False),
        )
    )


def close_calls(ctx: Context) -> tuple[list[Draft], list[Operation]]:
    """Return a result for each open call of a cancelled turn, and the end of its operation."""
    rows, operations = list[Draft](), list[Operation]()
    for call in ctx.state.pending():
        operation = ctx.history.operations[call.operation]
        begun = operation.id in ctx.running or operation.state in {"running", "unknown"}
        if not begun:
            text, closed = notes.not_started(operation.tool), never_ran(ctx, operation)
        elif operation.effect in EFFECTS:
            text = notes.effect_unknown(operation, notes.CANCELLED_RUNNING)
            closed = lose(operation, ctx.now_ms)
        else:
            text, closed = notes.cancelled_read(operation.tool), never_ran(ctx, operation)
        rows.append(result_row(ctx, operation, text, FailureClass.CANCELLED))
        operations.append(closed)
    return rows, operations


def withdrawn(ctx: Context, *, refused: bool) -> list[ViewChange]:
    """Return the changes by which the unaccepted rows leave the view; pairs stay pairs.

    After a refusal a person's words of an earlier turn stay (SPEC §8). After any other failure by the request's bytes
    they leave too: else words that were never accepted would fail every later turn (docs/decisions/0004).
    """
    return [
        ViewChange(seq=row.seq, quarantine="placeholder", view={"text": notes.WITHHELD_RESULT, "failure": "unknown"})
        if row.kind == "result"
        else ViewChange(seq=row.seq, quarantine="excluded")
        for row in ctx.history.increment
        if row.quarantine is None and not (refused and row.kind == "message" and row.turn != ctx.state.number)
    ]


def _outcome(
    ctx: Context, *, outcome: str, usage: Usage | None = None, text: str | None = None, **rest: object
) -> Outcome:
    state = ctx.state
    return Outcome(
        outcome=outcome,  # pyright: ignore[reportArgumentType] - every caller names one of the four
        text="\n\n".join(state.texts) if text is None else text,
        thread=ctx.history.thread,
        turn=state.number,
        usage=usage or state.usage,
        cost_usd=_cost(ctx, usage),
        **{"rounds": state.round, **rest},  # pyright: ignore[reportArgumentType] - the fields of Outcome
    )


def _cost(ctx: Context, usage: Usage | None) -> float | None:
    """Return what the turn cost; `usage` is the whole turn's when it holds a reply that is not folded yet."""
    state = ctx.state
    if usage is None or state.cost_usd is None:
        return state.cost_usd
    new = Usage(
        input_tokens=usage.input_tokens - state.usage.input_tokens,
        output_tokens=usage.output_tokens - state.usage.output_tokens,
        cache_read_tokens=usage.cache_read_tokens - state.usage.cache_read_tokens,
        cache_write_tokens=usage.cache_write_tokens - state.usage.cache_write_tokens,
    )
    added = cost_usd(ctx.candidate.price, new)
    return None if added is None else state.cost_usd + added


def _end(
    ctx: Context,
    outcome: Outcome,
    *,
    rows: list[Draft],
    health: list[Health] | None = None,
    views: list[ViewChange] | None = None,
    **step: object,
) -> Part[Outcome]:
    told = {each.route for each in health or []}
    freed = [free_trial(ctx.health[key]) for key in sorted(ctx.trials - told) if key in ctx.health]
    changed = {change.seq for change in views or []}
    # What the runtime said to have one round answered is over with the turn.
    nudges = [
        ViewChange(seq=row.seq, quarantine="excluded")
        for row in ctx.history.increment
        if row.kind == "nudge" and row.quarantine is None and row.seq not in changed and outcome.outcome != "completed"
    ]
    row = draft(ctx, role="system", kind="outcome", content=outcome)
    all_health, all_views = [*(health or []), *freed], [*(views or []), *nudges]
    yield from commit(ctx, Commit(rows=[*rows, row], health=all_health, views=all_views, **step))  # pyright: ignore[reportArgumentType] - fields of Commit
    return outcome
