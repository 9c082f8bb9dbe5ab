"""A turn that waits for something outside: what for, until when, and how the log tells it (SPEC §15)."""

from collections.abc import Sequence

import msgspec

from stoic.core.budget import deadline_ms
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
    """Suspend the turn, at the longest for as long as it may take; the row that says so is written once."""
    deadline = deadline_ms(ctx.plan.limits, ctx.state)
    if deadline is not None:
        until_ms = deadline if parked.until_ms is None else min(parked.until_ms, deadline)
        parked = msgspec.structs.replace(parked, until_ms=until_ms)
    content = _content(parked)
    told = [] if ctx.state.parked == content else [draft(ctx, role="system", kind="parked", content=content)]
    if rows or told:
        yield from commit(ctx, Commit(rows=[*rows, *told], health=list(health), notices=list(notices)))
    return msgspec.structs.replace(parked, thread=ctx.history.thread, turn=ctx.state.number)


def for_routes(ctx: Context, changed: Health | None = None) -> Parked | None:
    """Return what the turn waits for when no candidate may answer any more; None: it ends.

    A turn waits for the earliest date that a provider has stated, and, unless a person is there to see it, for events.

    Args:
        ctx: the turn
        changed: the present route's health after its failure, which is not stored yet
    """
    if ctx.state.parks >= MOST_PARKS:
        return None
    known = ctx.health | ({} if changed is None else {changed.route: changed})
    shut = [(each, known[each.key]) for each in ctx.plan.candidates if _is_shut(known.get(each.key))]
    dates = [date for _, health in shut if (date := _stated_ms(ctx, health)) is not None]
    events = [
        f"{health.waits_for} {candidate.route.provider}"
        for candidate, health in shut
        if health.waits_for in {Axis.CREDENTIAL, Axis.CONFIG} and health.until_ms is None and not ctx.is_human
    ]
    if not dates and not events:
        return None
    return Parked(
        waits_for="time" if dates else "event",
        until_ms=min(dates, default=None),
        event=", ".join(dict.fromkeys(events)) or None,
    )


def for_admission(ctx: Context, admission: Admission) -> Parked | None:
    """Return what the turn waits for when a route is closed before anything was sent; None: it ends."""
    waits = ctx.state.waits
    if waits is not None and (waits.get("until_ms") is None or ctx.now_ms < waits["until_ms"]):
        return msgspec.convert(waits, Parked)  # nothing has come yet that opens a route
    if admission.waits_for == "trial" and ctx.state.parks:
        # Others have waited for the same date; one of them asks first.
        return Parked(waits_for="time", until_ms=ctx.now_ms + TRIAL_LOOK_MS, event="trial")
    return None if ctx.is_human else for_routes(ctx)


def _is_shut(health: Health | None) -> bool:
    return health is not None and health.state == "open"


def _stated_ms(ctx: Context, health: Health) -> int | None:
    """Return the date until which a provider wants to be left alone, unless it is too far away."""
    if health.until_ms is None or health.until_ms - ctx.now_ms > LONGEST_PARK_MS:
        return None
    is_stated = health.until_ms - health.failed_at_ms > max(ctx.plan.health_policy.cooldowns_ms)
    return health.until_ms if is_stated else None


def _content(parked: Parked) -> dict[str, Json]:
    content = msgspec.to_builtins(parked)
    return {name: value for name, value in content.items() if name not in {"thread", "turn"}}
