"""How a turn ends: the one step that stores its outcome together with everything the ending changes (SPEC §6)."""

from typing import cast

from msgspec.structs import replace

from stoic.core import notes, notice
from stoic.core.budget import cost_usd, exact
from stoic.core.classify.verdict import Verdict
from stoic.core.commands import Commit, LookAtShells, ShellsSeen, Status
from stoic.core.failures import Axis, FailureClass
from stoic.core.health import give_back
from stoic.core.history import EFFECTS, OPEN_STATES, add_usage
from stoic.core.quarantine import NeutralEvent, RefusedBy, body_hash, is_withheld, read_neutral, withhold
from stoic.core.receipt import delivery, receipt
from stoic.core.repairs import KINDS
from stoic.core.rows import INPUTS, input_of, kind_of, turn_of
from stoic.core.starting import call_of
from stoic.core.statuses import ask_briefly, asked_row, can_be_asked
from stoic.core.steps import Context, Part, ask, closed, commit, draft, lose, result_row
from stoic.errors import BrokenInvariantError
from stoic.records import (
    Delivery,
    Draft,
    Health,
    Json,
    Notice,
    Operation,
    Outcome,
    Refusal,
    RefusedBytes,
    Report,
    Usage,
    ViewChange,
)

TOMBSTONE_KIND = "refusal_stop"
"""Of the row behind which nothing may be shown to a model and nothing may run; the store enforces it."""

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
        withheld = _withheld_input(ctx)
        if withheld is not None:
            said = notes.input_withheld(withheld.provider, withheld.category)
            outcome = replace(outcome, reason="input_withheld", message=said)
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
    usage: Usage | None = None,
    notices: list[Notice] | None = None,
    refused: list[RefusedBytes] | None = None,
) -> Part[Outcome]:
    """End the turn without an answer, for a reason that says nothing about the request's bytes; `usage` is of `rows`."""
    begun = ctx.state.round - (ctx.state.failed_attempts == 0)
    ending = _outcome(
        ctx,
        outcome=outcome,
        reason=reason,
        failure_class=failure_class,
        recovers_with=recovers_with,
        message=message,
        rounds=begun,
        usage=None if usage is None else add_usage(ctx.state.usage, usage),
    )
    return (
        yield from _end(
            ctx,
            ending,
            rows=rows or [],
            views=views,
            operations=operations or [],
            inbox_taken=taken or [],
            notices=notices or [],
            refused=refused or [],
        )
    )


def stays_in_view(ctx: Context, scope: str | None, *, tombstone: bool) -> bool:
    """Tell whether what a refusal of some scope was about stays in the view when it ends the turn."""
    return tombstone or ctx.plan.thread_kind == "repair" or scope in {"account", "agent_action"}


def stop_refused(
    ctx: Context,
    refusal: Refusal,
    step: Commit,
    *,
    usage: Usage | None = None,
    tombstone: bool = False,
    unsent: bool = False,
) -> Part[Outcome]:
    """End the turn by a refusal.

    In a chat what was refused leaves the view, so that the thread is not bricked: results as placeholders, so that pairs stay
    pairs, a person's words only in their own turn. A repair thread keeps its increment in its barest form for the probes, a
    task keeps everything as it stands, for people.

    Args:
        ctx: the turn
        refusal: whose, and of what kind
        step: what else is stored with the outcome
        usage: what the refused reply took
        tombstone: whether the thread never runs again
        unsent: whether nothing was sent, since the same was refused before
    """
    total = add_usage(ctx.state.usage, usage or Usage())
    stays = stays_in_view(ctx, refusal.scope, tombstone=tombstone)
    views = [] if stays else _withheld(ctx, RefusedBy(provider=refusal.provider, category=refusal.category))
    outcome = _outcome(
        ctx,
        outcome="stopped",
        reason="refused",
        refused=True,
        refusal=refusal,
        message=notes.refused(refusal, withheld=ctx.state.ladder > 0, task=tombstone, stays=stays, unsent=unsent),
        usage=total,
    )
    rows = list(step.rows)
    if tombstone:
        rows.append(_tombstone(ctx, refusal))
    return (
        yield from _end(
            ctx, outcome, rows=rows, health=step.health, views=views, notices=step.notices, refused=step.refused
        )
    )


def interrupt(ctx: Context) -> Part[Outcome]:
    """End the turn of a task that cannot go on."""
    rows, operations = close_calls(ctx)
    return (
        yield from give_up(
            ctx,
            notes.INTERRUPTED,
            outcome="failed",
            failure_class=FailureClass.INTERRUPTED,
            recovers_with=Axis.NEVER,
            rows=rows,
            operations=operations,
        )
    )


def settle_refused(
    ctx: Context, refusal: Refusal, *, rows: list[Draft], operations: list[Operation], taken: list[str]
) -> Part[Outcome]:
    """End a turn that was left open behind a tombstone; `rows` are invisible, since no model is shown anything there."""
    outcome = _outcome(
        ctx,
        outcome="stopped",
        reason="refused",
        refused=True,
        refusal=refusal,
        message=notes.refused(refusal, withheld=False, task=True, stays=True),
    )
    return (yield from _end(ctx, outcome, rows=rows, frozen=True, operations=operations, inbox_taken=taken))


def _withheld(ctx: Context, by: RefusedBy) -> list[ViewChange]:
    """Return the changes by which an exhausted increment of a chat leaves the view."""
    views: list[ViewChange] = []
    for row in ctx.history.increment:
        if kind_of(row) == "result":
            change = None if is_withheld(row) else withhold(row, by)
            views += [] if change is None else [change.view]
        elif row.kind != "compaction" and (kind_of(row) != "message" or turn_of(row) == ctx.state.number):
            views.append(ViewChange(seq=row.seq, quarantine="excluded"))
    return views


def fail(
    ctx: Context, attempt: Draft, verdict: Verdict, report: Report, health: list[Health], notices: list[Notice]
) -> Part[Outcome]:
    """End the turn by a failure; unaccepted rows that caused it leave the view, so the thread goes on."""
    if verdict.failure is None:
        raise BrokenInvariantError("a complete reply is no failure")
    route = ctx.candidate.route
    kind = KINDS.get(verdict.failure)
    changed = kind if kind in ctx.state.changes else None
    outcome = _outcome(
        ctx,
        outcome="cancelled" if verdict.failure is FailureClass.CANCELLED else "failed",
        failure_class=verdict.failure,
        recovers_with=verdict.recovers_with,
        message=notes.failed(
            verdict,
            route.provider,
            route.model,
            ctx.state.failed_attempts + 1,
            attempt.content.get("detail"),
            changed,
            ctx.candidate.credential_from,
        ),
        usage=add_usage(ctx.state.usage, report.usage),
    )
    # An unknown failure that a provider answered with may be about these bytes; one that it did not answer is not.
    keeps = verdict.recovers_with in _KEEPS_VIEW or (verdict.recovers_with is Axis.NEVER and report.status is None)
    views = [] if keeps else withdrawn(ctx)
    return (yield from _end(ctx, outcome, rows=[attempt], views=views, health=health, notices=notices))


def break_off(ctx: Context, why: str) -> Part[Outcome]:
    """End the turn by a bug of stoic itself; what was not accepted leaves the view, so that the thread can go on."""
    return (
        yield from give_up(
            ctx,
            notes.bug(why),
            outcome="failed",
            failure_class=FailureClass.INTERNAL,
            recovers_with=Axis.NEVER,
            views=withdrawn(ctx),
            notices=[notice.gate_violation(ctx.history.thread, ctx.state.number)],
        )
    )


def _withheld_input(ctx: Context) -> NeutralEvent | None:
    """Return what stands for the turn's input, if all of it was withheld: then the answer is not about it (SPEC §9)."""
    own = [row for row in ctx.state.shown if kind_of(row) in INPUTS and turn_of(row) == ctx.state.number]
    neutral = [read_neutral(row.content["text"]) if is_withheld(row) else None for row in own]
    return neutral[0] if neutral and all(neutral) else None


def ask_of_open(ctx: Context) -> Part[dict[str, Status]]:
    """Ask what became of the open calls of a turn that is to end, where their tools have a status function."""
    said: dict[str, Status] = {}
    for call in ctx.state.pending():
        operation = ctx.history.operations[call.operation]
        if _has_begun(ctx, operation) and can_be_asked(ctx, operation):
            said[operation.id] = yield from ask_briefly(ctx, operation, call_of(ctx, call).arguments)
    return said


def close_calls(ctx: Context, said: dict[str, Status] | None = None) -> tuple[list[Draft], list[Operation]]:
    """Return a result for each open call of a cancelled turn, and the end of its operation.

    Args:
        ctx: the turn
        said: what status functions answered, by operation
    """
    rows, operations = list[Draft](), list[Operation]()
    said = said or {}
    for call in ctx.state.pending():
        operation = ctx.history.operations[call.operation]
        if not _has_begun(ctx, operation):
            text, end = notes.not_started(operation.tool), closed(ctx, operation)
        elif operation.id in said:
            answer = said[operation.id].answer
            rows.append(asked_row(ctx, operation, said[operation.id]))
            text = notes.status_said(operation, answer, notes.CANCELLED_RUNNING)
            text = text or notes.effect_unknown(operation, notes.CANCELLED_RUNNING)
            end = replace(lose(operation, ctx.now_ms), status=answer)
        elif operation.effect in EFFECTS:
            text = notes.effect_unknown(operation, notes.CANCELLED_RUNNING)
            end = lose(operation, ctx.now_ms)
        else:
            text, end = notes.cancelled_read(operation.tool), closed(ctx, operation)
        rows.append(result_row(ctx, operation, text, FailureClass.CANCELLED))
        operations.append(end)
    return rows, operations


def _has_begun(ctx: Context, operation: Operation) -> bool:
    return operation.state in {"running", "unknown"} and operation.id not in ctx.marked


def withdrawn(ctx: Context) -> list[ViewChange]:
    """Return the changes by which the unaccepted rows leave the view after a failure by the request; pairs stay pairs.

    A person's words of an earlier turn leave too: else words that were never accepted would fail every later turn
    (docs/decisions/0004). A summary stays: without it all that it stands for would be forgotten.
    """
    return [
        ViewChange(seq=row.seq, quarantine="placeholder", view={"text": notes.WITHHELD_RESULT, "failure": "unknown"})
        if kind_of(row) == "result"
        else ViewChange(seq=row.seq, quarantine="excluded")
        for row in ctx.history.increment
        if row.quarantine is None and row.kind != "compaction"
    ]


def _tombstone(ctx: Context, refusal: Refusal) -> Draft:
    """Make the row behind which nothing may run: who refused, where, and the brief's hash for whoever asks again."""
    brief = input_of(ctx.state.shown)
    content = {
        "provider": refusal.provider,
        "model": refusal.model,
        "category": refusal.category,
        "round": ctx.state.round,
        "brief": None if brief is None else body_hash(brief.content),
        "root": ctx.plan.task.root,
    }
    return draft(ctx, role="system", kind=TOMBSTONE_KIND, content=content)


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
    if state.cost_usd is None:
        return None
    if usage is None:
        return exact(state.cost_usd)
    new = Usage(
        input_tokens=usage.input_tokens - state.usage.input_tokens,
        output_tokens=usage.output_tokens - state.usage.output_tokens,
        cache_read_tokens=usage.cache_read_tokens - state.usage.cache_read_tokens,
        cache_write_tokens=usage.cache_write_tokens - state.usage.cache_write_tokens,
    )
    added = cost_usd(ctx.candidate.price, new)
    return None if added is None else exact(state.cost_usd + added)


def _end(
    ctx: Context,
    outcome: Outcome,
    *,
    rows: list[Draft],
    health: list[Health] | None = None,
    views: list[ViewChange] | None = None,
    frozen: bool = False,
    **step: object,
) -> Part[Outcome]:
    """Store the outcome; `frozen`: behind a tombstone no view changes any more."""
    told = {each.route for each in health or []}
    freed = [give_back(ctx.health[key]) for key in sorted(ctx.trials - told) if key in ctx.health]
    changed = {change.seq for change in views or []}
    # What the runtime said to have one round answered is over with the turn.
    nudges = [
        ViewChange(seq=row.seq, quarantine="excluded")
        for row in ctx.history.increment
        if kind_of(row) == "nudge"
        and row.quarantine is None
        and row.seq not in changed
        and outcome.outcome != "completed"
        and not frozen
    ]
    row = draft(ctx, role="system", kind="outcome", content=outcome)
    step["notices"] = step.get("notices") or _untold(ctx, outcome)
    if ctx.is_task:
        step["deliveries"] = [(yield from _delivery(ctx, outcome, step.get("operations")))]
    all_health, all_views = [*(health or []), *freed], [*(views or []), *nudges]
    yield from commit(ctx, Commit(rows=[*rows, row], health=all_health, views=all_views, **step))  # pyright: ignore[reportArgumentType] - fields of Commit
    return outcome


def _untold(ctx: Context, outcome: Outcome) -> list[Notice]:
    """Return what a person is told of an ending that nobody watched and that no other notice tells.

    Owners hear of their tasks by deliveries, and refusals have notices of their own, which come once in a segment (SPEC §8).
    """
    is_seen = ctx.plan.is_attended or ctx.plan.task.owner is not None
    is_stopped_by_hand = outcome.outcome == "cancelled" and outcome.failure_class is None
    if is_seen or outcome.refused or is_stopped_by_hand:
        return []
    if outcome.outcome == "completed":
        by = _withheld_input(ctx)
        return [] if by is None else [notice.input_withheld(ctx.history.thread, ctx.history.segment, by, outcome.turn)]
    return [notice.turn_ended(outcome, ctx.candidate.route if ctx.plan.candidates else None)]


def _delivery(ctx: Context, outcome: Outcome, changed: object) -> Part[Delivery]:
    """Make what a task's owner gets; shells run on only behind a refusal, every other end closes them."""
    seen = (yield from ask(ctx, LookAtShells(), ShellsSeen)).shells if outcome.refused else []
    operations = dict(ctx.history.operations)
    for operation in cast("list[Operation]", changed or []):
        operations.pop(operation.id, None)
        if operation.state in OPEN_STATES:
            operations[operation.id] = operation
    of = receipt(outcome, ctx.state, tools=ctx.plan.tools, operations=operations.values(), shells=seen)
    return delivery(of, ctx.plan.task.owner)
