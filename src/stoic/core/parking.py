"""A turn that waits for something outside: what for, until when, and how the log tells it (SPEC §15)."""

from collections.abc import Sequence

import msgspec

from stoic.core.budget import deadline_ms
from stoic.core.commands import Commit
from stoic.core.failures import Axis
from stoic.core.health import Admission
from stoic.core.history import is_for_cooldown
from stoic.core.plan import Candidate
from stoic.core.steps import Context, Part, commit, draft
from stoic.records import Draft, Health, Json, Notice, Parked

MOST_PARKS = 1
"""How often one turn goes on by itself after a wait for a stated date or an event; the next such failure ends it."""
LONGEST_PARK_MS = 7 * 24 * 3_600_000
"""A stated date that is further away ends the turn instead."""
COOLDOWN_WAITS_MS = (30_000, 60_000, 300_000, 900_000, 1_800_000, 3_600_000, 3_600_000, 3_600_000)
"""How long a turn that no person has caused waits at the least for a route that cools down; so many times (decision 0009)."""
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

    A turn waits for the earliest date that a provider has stated, and, unless a person is there to see it, for events; one
    that nobody waits for also until a route has cooled down.

    Args:
        ctx: the turn
        changed: the present route's health after its failure, which is not stored yet
    """
    known = ctx.health | ({} if changed is None else {changed.route: changed})
    dates, events = list[int](), list[str]()
    if ctx.state.waits.events < MOST_PARKS:
        shut = [(each, known[each.key]) for each in ctx.plan.candidates if _is_shut(known.get(each.key))]
        dates += [date for _, health in shut if (date := _stated_ms(ctx, health)) is not None]
        events += [
            f"{health.waits_for} {candidate.route.provider}"
            for candidate, health in shut
            if health.waits_for in {Axis.CREDENTIAL, Axis.CONFIG} and health.until_ms is None and not ctx.is_human
        ]
    cooling = _cooling(ctx, known)
    cooled_ms = _cooled_ms(ctx, [until_ms for _, until_ms in cooling])
    if cooled_ms is not None:
        dates.append(cooled_ms)
        events += [f"{Axis.TIME} {candidate.route.provider}" for candidate, _ in cooling]
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
    if waits.now is not None and not is_over(ctx, waits.now):
        return msgspec.convert(waits.now, Parked)  # nothing has come yet that opens a route
    if admission.waits_for == "trial" and (waits.events or (waits.cooldowns and not ctx.has_message)):
        # Others have waited for the same date; one of them asks first.
        return Parked(waits_for="time", until_ms=ctx.now_ms + TRIAL_LOOK_MS, event="trial")
    return None if ctx.is_human else for_routes(ctx)


def is_over(ctx: Context, parked: dict[str, Json]) -> bool:
    """Tell whether a wait for a route has ended by itself: its time has come, or a person's message has."""
    until_ms = parked.get("until_ms")
    return (until_ms is not None and ctx.now_ms >= until_ms) or (ctx.has_message and is_for_cooldown(parked))


def _cooling(ctx: Context, known: dict[str, Health]) -> list[tuple[Candidate, int]]:
    """Return the candidates that will be tried again by the clock alone, each with the time from which it may be."""
    # What has refused is asked again, and nobody else: an outage is no way round a refusal.
    candidates = [ctx.candidate] if ctx.history.has_refusal else ctx.plan.candidates
    found: list[tuple[Candidate, int]] = []
    for candidate in candidates:
        health = known.get(candidate.key)
        if health is None or health.state != "open":
            found.append((candidate, ctx.now_ms))  # others have it back since this turn went on from it, or try it now
        elif health.waits_for == Axis.TIME and health.until_ms is not None and not _is_stated(ctx, health):
            found.append((candidate, health.until_ms))
    return found


def _cooled_ms(ctx: Context, opening_ms: list[int]) -> int | None:
    """Return until when the turn waits for a route to cool down; None: it does not.

    Only a chat's turn does that no person has caused, that a worker runs, and behind which no person's message waits. It
    waits longer each time, and neither beyond its own time nor until the next prompt of its schedule.
    """
    state, plan = ctx.state, ctx.plan
    is_waited_for = plan.is_attended or state.is_human or ctx.has_message
    if plan.thread_kind != "chat" or ctx.is_task or is_waited_for or not opening_ms:
        return None
    if state.waits.cooldowns >= len(COOLDOWN_WAITS_MS):
        return None
    until_ms = max(min(opening_ms), ctx.now_ms + COOLDOWN_WAITS_MS[state.waits.cooldowns])
    bounds = (state.next_due_ms, deadline_ms(plan.limits, state))
    return None if any(bound is not None and until_ms >= bound for bound in bounds) else until_ms


def _is_shut(health: Health | None) -> bool:
    return health is not None and health.state == "open"


def _stated_ms(ctx: Context, health: Health) -> int | None:
    """Return the date until which a provider wants to be left alone, unless it is too far away."""
    if health.until_ms is None or health.until_ms - ctx.now_ms > LONGEST_PARK_MS:
        return None
    return health.until_ms if _is_stated(ctx, health) else None


def _is_stated(ctx: Context, health: Health) -> bool:
    """Tell whether a time that a route is shut until is longer than any cooldown."""
    until_ms = health.until_ms or 0
    return until_ms - health.failed_at_ms > max(ctx.plan.health_policy.cooldowns_ms)


def _content(parked: Parked) -> dict[str, Json]:
    content = msgspec.to_builtins(parked)
    return {name: value for name, value in content.items() if name not in {"thread", "turn"}}
