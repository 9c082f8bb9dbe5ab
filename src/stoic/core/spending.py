"""The bounds that a turn is held to before each request: those of the turn itself, of its thread and of the day (SPEC §15)."""

from stoic.core import notice
from stoic.core.budget import Bounds, Use, uses, uses_of_turn
from stoic.core.commands import Commit, LookAtSpending, SpendingSeen
from stoic.core.steps import Context, Part, ask, commit, draft
from stoic.records import Draft, Notice


def full_bound(ctx: Context) -> Part[Use | None]:
    """Return a bound that leaves no room for the next request; of those nearly used warn, once a turn."""
    limits = ctx.plan.limits
    found = list(uses_of_turn(limits, ctx.state, ctx.now_ms))
    if limits.per_thread != Bounds() or limits.per_day != Bounds():
        seen = yield from ask(ctx, LookAtSpending(), SpendingSeen)
        found += [*uses("thread", limits.per_thread, seen.thread), *uses("day", limits.per_day, seen.day)]
    full = next((each for each in found if each.is_full), None)
    if full is None:
        yield from _warn(
            ctx, [each for each in found if each.is_near and (each.scope, each.bound) not in ctx.state.warned]
        )
    return full


def full_notices(ctx: Context, full: Use) -> list[Notice]:
    """Return what a person is told when a bound is reached that more than this turn is held to."""
    return [] if full.scope == "turn" else [notice.budget(ctx.history.thread, full, ctx.now_ms)]


def _warn(ctx: Context, near: list[Use]) -> Part[None]:
    if near:
        rows = [_warning(ctx, each) for each in near]
        told = [notice.budget(ctx.history.thread, each, ctx.now_ms) for each in near if each.scope != "turn"]
        yield from commit(ctx, Commit(rows=rows, notices=told))


def _warning(ctx: Context, use: Use) -> Draft:
    return draft(ctx, role="system", kind="budget", content=use)
