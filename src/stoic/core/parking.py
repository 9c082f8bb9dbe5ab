"""A turn that waits for something outside: what for, until when, and how the log tells it (SPEC §15)."""

from collections.abc import Sequence

import msgspec

from stoic.core.commands import Commit
from stoic.core.failures import Axis
from stoic.core.health import Admission
from stoic.core.steps import Context, Part, commit, draft
from stoic.records import Draft, Health, Json, Notice, Parked

MOST_PARKS = 1
"""How often one turn goes on by itself after a wait for a route; the next such failure ends it."""
LONGEST_PARK_MS = 7 * 24 * 3_600_000
"""A stated date that is further away ends the turn instead."""
TRIAL_LOOK_MS = 10_000
"""How long until a turn looks again whether another turn's trial of the route has ended."""


def park(
    ctx: Context,
    parked: Parked,
    rows: Sequence[Draft] = (),
    *,
    health: Sequence[Health] = (),
    notices: Sequence[Notice] = (),
) -> Part[Parked]:
    """Suspend the turn; the row that says so is written once, however often it is looked at meanwhile."""
    content = _content(parked)
    told = [] if ctx.state.parked == content else [draft(ctx, role="system", kind="parked", content=content)]
    if rows or told:
        yield from commit(ctx, Commit(rows=[*rows, *told], health=list(health), notices=list(notices)))
    return msgspec.structs.replace(parked, thread=ctx.history.thread, turn=ctx.state.number)


def for_route(ctx: Context, health: Health | None) -> Parked | None:
    """Return what the turn waits for when no candidate may answer any more; None: it ends.

    A turn waits for a date that the provider has stated, and, unless a person is there to see it, for an event.
    """
    if health is None or health.state != "open" or ctx.state.parks >= MOST_PARKS:
        return None
    if health.until_ms is not None:
        is_near = health.until_ms - ctx.now_ms <= LONGEST_PARK_MS
        is_stated = health.until_ms - health.failed_at_ms > max(ctx.plan.health_policy.cooldowns_ms)
        return Parked(waits_for="time", until_ms=health.until_ms) if is_near and is_stated else None
    if health.waits_for in {Axis.CREDENTIAL, Axis.CONFIG} and not ctx.is_human:
        return Parked(waits_for="event", event=f"{health.waits_for} {ctx.candidate.route.provider}")
    return None


def for_admission(ctx: Context, admission: Admission) -> Parked | None:
    """Return what the turn waits for when a route is closed before anything was sent; None: it ends."""
    parked = ctx.state.parked
    if parked is not None and parked["waits_for"] in {"time", "event"}:
        until_ms = parked.get("until_ms")
        if until_ms is None or ctx.now_ms < until_ms:
            return msgspec.convert(parked, Parked)  # nothing has come yet
    if admission.waits_for == "trial" and ctx.state.parks:
        # Others have waited for the same date; one of them asks first.
        return Parked(waits_for="time", until_ms=ctx.now_ms + TRIAL_LOOK_MS, event="trial")
    return None if ctx.is_human else for_route(ctx, ctx.health.get(ctx.candidate.key))


def _content(parked: Parked) -> dict[str, Json]:
    content = msgspec.to_builtins(parked)
    return {name: value for name, value in content.items() if name not in {"thread", "turn"}}
