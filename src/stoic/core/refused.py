"""What a turn does about a refusal: withhold and ask again, go on to another candidate, or end (SPEC §8, §9)."""

from msgspec.structs import replace

from stoic.core import notice
from stoic.core.attempts import attempt_row, refused_bytes
from stoic.core.classify.verdict import Verdict
from stoic.core.commands import Commit, Remembered, Send
from stoic.core.endings import stays_in_view, stop_refused
from stoic.core.failures import Axis, FailureClass
from stoic.core.generation import boundary_row
from stoic.core.quarantine import (
    Change,
    RefusedBy,
    Withholding,
    body_hash,
    is_external,
    is_withheld,
    next_step,
    withhold,
)
from stoic.core.refusal import LADDERS_A_TURN, Disposition, RefusalState, after_refusal, card, disposition
from stoic.core.repairs import pointed_row
from stoic.core.routing import next_card
from stoic.core.rows import kind_of
from stoic.core.steps import Context, Part, commit, draft
from stoic.records import Draft, Health, Json, Notice, Outcome, Record, Refusal, RefusedBytes, Report, Row, Usage


class Met(Record, frozen=True):
    """One refusal of the round's request."""

    verdict: Verdict
    model: str
    """The one that answered, where the provider names another than the one asked for."""
    at_ms: int
    attempt: list[Draft] = []
    """The attempt's row; none when nothing was sent, since the bytes are remembered."""
    memory: list[RefusedBytes] = []
    pointed: int | None = None
    """The row the provider points at."""
    usage: Usage = Usage()
    health: list[Health] = []


def refused(
    ctx: Context, send: Send, report: Report, verdict: Verdict, request_hash: str, health: list[Health]
) -> Part[Outcome | None]:
    """Do what follows from a refusal that a provider answered with; None: the turn goes on."""
    route = ctx.candidate.route
    met = Met(
        verdict=verdict,
        model=report.served_model or route.model,
        at_ms=ctx.now_ms,
        attempt=[attempt_row(ctx, report, verdict, None, None)],
        memory=refused_bytes(route, verdict, request_hash, ctx.now_ms),
        pointed=(yield from pointed_row(ctx, send, report)),
        usage=report.usage,
        health=health,
    )
    return (yield from _follow(ctx, met))


def remembered(ctx: Context, said: Remembered) -> Part[Outcome | None]:
    """Do what follows when these very bytes were refused lately, in whatever thread: the same, without a send."""
    known = said.refused
    verdict = Verdict(
        failure=FailureClass.REFUSAL,
        recovers_with=Axis.BOUNDARY,
        category=known.category,
        where=known.where,
        scope=known.scope,
    )
    return (yield from _follow(ctx, Met(verdict=verdict, model=known.model, at_ms=known.refused_at_ms)))


def withhold_known(ctx: Context) -> Part[None]:
    """Withhold before the next send what was quarantined in this segment already and has come again (SPEC §9).

    A summary is a send too, and may be asked for between two turns.
    """
    if not ctx.history.has_withheld:
        return
    found: dict[tuple[str, str, str | None], list[Change]] = {}
    for row in ctx.history.increment:
        known = ctx.history.withheld_by(body_hash(row)) if is_external(row) and _is_whole(row) else None
        if known is not None:
            change = withhold(row, RefusedBy(provider=known[0], category=known[2]))
            found.setdefault(known, []).extend([] if change is None else [change])
    for (provider, model, category), changes in found.items():
        step = Withholding(
            number=0,
            views=[change.view for change in changes],
            replacements=[change.replacement for change in changes if change.replacement is not None],
            withheld=[change.body for change in changes],
        )
        by = RefusedBy(provider=provider, category=category)
        yield from commit(ctx, Commit(rows=_quarantine_rows(ctx, step, by, model), views=step.views))


def _is_whole(row: Row) -> bool:
    """Tell whether nothing of an external row is withheld; where its images are, its text is not yet at fault."""
    return not is_withheld(row) and "withheld_images" not in (row.view or {})


def _follow(ctx: Context, met: Met) -> Part[Outcome | None]:
    plan, state, provider = ctx.plan, ctx.state, ctx.candidate.route.provider
    fate = disposition(plan.thread_kind, plan.thread_scope, met.verdict.scope)
    by = RefusedBy(provider=provider, category=met.verdict.category)
    step = None
    # A probe is one send; and what an exhausted ladder has left is sent once to each further candidate.
    is_first = ctx.history.refusal_of(provider) is None or ctx.is_human
    if fate.ladder and is_first and not state.is_exhausted and (state.ladder or state.ladders < LADDERS_A_TURN):
        # Unattended, a ladder that another failure broke off goes on where it was; a person begins a new one.
        done = state.ladder if ctx.is_human else max(state.ladder, ctx.history.ladder_of(provider))
        step = next_step(ctx.history.increment, by, done=done, pointed=met.pointed, renderers=plan.renderers)
    if step is None:
        return (yield from _exhausted(ctx, met, fate))
    rows = [*met.attempt, *_quarantine_rows(ctx, step, by, ctx.candidate.route.model)]
    yield from commit(ctx, Commit(rows=rows, views=step.views, refused=met.memory, health=met.health))
    return None


def _quarantine_rows(ctx: Context, step: Withholding, by: RefusedBy, model: str) -> list[Draft]:
    """Return the row that tells what a step withholds, and the rows that stand in for events; they stand in the newest turn."""
    history = ctx.history
    bodies = {row.seq: body_hash(row) for row in history.increment if is_external(row) and not is_withheld(row)}
    content = {
        "step": step.number,
        "provider": by.provider,
        "model": model,
        "category": by.category,
        "rows": step.withheld,
        "bodies": [bodies[seq] for seq in step.withheld if seq in bodies],
    }
    return [
        boundary_row(history, "quarantine", content),
        *(
            replace(boundary_row(history, "event", each.content, meta=each.meta), role="user", visible=True)
            for each in step.replacements
        ),
    ]


def _exhausted(ctx: Context, met: Met, fate: Disposition) -> Part[Outcome | None]:
    """Count the verdict; then the next candidate of a repair thread, or the end."""
    state = _counted(ctx, met)
    content = card(state, skipped=False) | _leaving(ctx, met, fate)
    rows = [*met.attempt, draft(ctx, role="system", kind="refusal", content=content)]
    step = Commit(rows=rows, refused=met.memory, health=met.health, notices=_notices(ctx, met, state))
    following = next_card(ctx, FailureClass.REFUSAL, None, skipped=False) if fate.others else None
    if following is not None:
        yield from commit(ctx, replace(step, rows=[*rows, following]))
        return None
    verdict = met.verdict
    refusal = Refusal(
        provider=state.provider,
        model=met.model,
        category=verdict.category,
        where=verdict.where or "prompt",
        scope=verdict.scope or "request_bytes",
    )
    return (
        yield from stop_refused(ctx, refusal, step, usage=met.usage, tombstone=fate.tombstone, unsent=not met.attempt)
    )


def _leaving(ctx: Context, met: Met, fate: Disposition) -> dict[str, Json]:
    """Return the bodies of results that leave the view with the turn though no step of a ladder has withheld them."""
    if stays_in_view(ctx, met.verdict.scope, tombstone=fate.tombstone):
        return {}
    rows = [row for row in ctx.history.increment if kind_of(row) == "result" and not is_withheld(row)]
    return {"bodies": [body_hash(row) for row in rows]} if rows else {}


def _counted(ctx: Context, met: Met) -> RefusalState:
    """Return the provider's state after this verdict; one that is only remembered is dated as it was."""
    route = ctx.candidate.route
    return after_refusal(
        ctx.history.refusal_of(route.provider),
        provider=route.provider,
        model=route.model,
        category=met.verdict.category,
        now_ms=met.at_ms,
        human=ctx.is_human,
        segment=ctx.history.segment,
    )


def _notices(ctx: Context, met: Met, state: RefusalState) -> list[Notice]:
    """Return what a person is told of a refusal that the ladder did not help; a task's owner is told instead, where it has one."""
    thread, candidate, scope = ctx.history.thread, ctx.candidate, met.verdict.scope
    withheld = ctx.state.ladder > 0
    if scope == "account":
        credential = candidate.signs.credential
        return [notice.access_revoked(thread, candidate.route, credential, met.verdict.category, ctx.now_ms)]
    if scope == "agent_action":
        return [notice.decision_wanted(thread, state.segment, candidate.route, met.verdict.category)]
    if ctx.plan.thread_kind == "repair":
        known = ctx.history.refusals
        others = [each for each in known if each.provider != state.provider]
        # By the oldest of them: they may have begun in two segments of the same prefix, whoever refuses now.
        began = next(iter(known), state).segment
        told = notice.repair_refused(thread, began, [*others, state], withheld=withheld)
        return [] if told is None else [told]
    if ctx.is_task:
        return [] if ctx.plan.task.owner is not None else [notice.task_refused(thread, state.segment, state)]
    return [notice.chat_refused(thread, state.segment, state, withheld=withheld)]
