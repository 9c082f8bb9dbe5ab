"""What a send was, and what the log keeps of it: the row of a failed attempt, and what stands beside an accepted reply."""

from stoic.core.budget import cost_usd
from stoic.core.classify import classify
from stoic.core.classify.verdict import Evidence, Verdict
from stoic.core.commands import Route
from stoic.core.details import detail_of
from stoic.core.failures import Axis, FailureClass
from stoic.core.plan import Candidate
from stoic.core.repairs import Repair
from stoic.core.steps import Context, draft
from stoic.records import CallPart, Draft, Json, RefusedBytes, Report


def verdict_on(report: Report) -> Verdict:
    """Say what an attempt brought; a fine reply in the shape of another API is unknown, since nothing of it was taken in."""
    verdict = classify(report)
    if verdict.failure is not None or report.parts is not None:
        return verdict
    evidence = [Evidence(field="events" if report.stream else "body", value="another API's shape")]
    return Verdict(
        failure=FailureClass.UNKNOWN, recovers_with=Axis.NEVER, evidence=evidence, request_id=verdict.request_id
    )


def reply_meta(ctx: Context, report: Report, *, cut: bool) -> dict[str, object]:
    """Return what a reply's row says beside the reply: who made it, and what it took."""
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


def attempt_row(ctx: Context, report: Report, verdict: Verdict, again_ms: int | None, repair: Repair | None) -> Draft:
    """Make the row of a failed attempt.

    Args:
        ctx: the turn
        report: what the attempt brought
        verdict: what that is
        again_ms: when the round is sent again by the clock
        repair: what its next request does differently
    """
    content: dict[str, object] = {"attempt": ctx.state.failed_attempts + 1}
    optional = {
        "retry_at_ms": again_ms,
        "delay_ms": None if again_ms is None else again_ms - ctx.now_ms,
        "change": None if repair is None else repair.change,
        "discarded": _begun_calls(ctx, report) or None,
    }
    content |= {key: value for key, value in optional.items() if value is not None}
    return draft(ctx, role="system", kind="attempt", content=failed_send(ctx.candidate, report, verdict) | content)


def failed_send(candidate: Candidate, report: Report, verdict: Verdict) -> dict[str, Json]:
    """Return what the log keeps of a send that brought no reply; of a refusal nothing that the provider explained."""
    usage = report.usage
    content: dict[str, Json] = {
        "class": verdict.name,
        "recovers_with": verdict.recovers_with or Axis.NEVER,
        "provider": candidate.route.provider,
        "model": candidate.route.model,
        "evidence": verdict.evidence,
    }
    optional = {
        "status": report.status,
        "request_id": verdict.request_id or report.request_id,
        "retry_after_ms": verdict.retry_after_ms,
        "category": verdict.category,
        "where": verdict.where,
        "scope": verdict.scope,
        "detail": None if verdict.failure is FailureClass.REFUSAL else detail_of(report),
        "usage": usage if usage.input_tokens or usage.output_tokens else None,
        "cost_usd": cost_usd(candidate.price, usage) if usage.input_tokens or usage.output_tokens else None,
    }
    return content | {key: value for key, value in optional.items() if value is not None}


def refused_bytes(route: Route, verdict: Verdict, request_hash: str, now_ms: int) -> list[RefusedBytes]:
    """Return what is remembered of a refused request, so that it is not sent again; nothing where its bytes are not at fault."""
    if verdict.scope in {"account", "agent_action"}:
        return []
    return [
        RefusedBytes(
            hash=request_hash,
            provider=route.provider,
            model=route.model,
            refused_at_ms=now_ms,
            scope=verdict.scope or "request_bytes",
            where=verdict.where or "prompt",
            category=verdict.category,
        )
    ]


def _begun_calls(ctx: Context, report: Report) -> list[str]:
    """Return the tools of the calls that a reply had begun; a name that is no tool's may be anything and stays out."""
    calls = [part for part in report.parts or [] if isinstance(part, CallPart)]
    return [call.name if call.name in ctx.plan.tools else "other" for call in calls]
