"""What work may cost and take, in a turn, in a thread and on a day, and when it has (SPEC §15)."""

import math
from collections.abc import Iterator
from typing import Literal, cast

from stoic.core.history import TurnState
from stoic.records import Draft, Json, Price, Record, Spent, Usage

WARN_AT_SHARE = 0.8
"""How much of a bound is used when a person is warned (SPEC §15)."""

_DECIMALS = 10
"""Of a dollar: a thousandth of what the cheapest token costs."""
SCOPES = {"turn": "in this turn", "thread": "in this thread and its tasks", "day": "today (UTC)"}
"""Where a bound of each scope holds."""
_OF_TURN = {
    "rounds": "max_rounds",
    "tokens": "max_tokens_per_turn",
    "cost_usd": "max_cost_usd",
    "seconds": "max_seconds",
}
"""What the bounds of a turn are called where they are given."""

Scope = Literal["turn", "thread", "day"]


class Bounds(Record, frozen=True):
    """What a thread, or a day, may take; None: no bound of that kind."""

    rounds: int | None = None
    """Replies of models."""
    tokens: int | None = None
    """Input and output together."""
    cost_usd: float | None = None
    """By list prices; a model whose price is not known counts for nothing."""
    seconds: float | None = None
    """Working time; what a parked turn waits does not count."""


class Limits(Record, frozen=True):
    """Bounds of one turn, and of more than one; None: no bound of that kind."""

    max_rounds: int | None = 64
    max_tokens: int | None = None
    """Input and output tokens together, over all rounds and attempts."""
    max_cost_usd: float | None = None
    max_seconds: float | None = None
    """Wall time from the turn's input on, waits included."""
    per_thread: Bounds = Bounds()
    """Of a thread and all tasks below it, ever."""
    per_day: Bounds = Bounds()
    """Of everything in the database, on one day of UTC."""


class Use(Record, frozen=True):
    """How far one bound is used up."""

    scope: Scope
    bound: str
    """`rounds`, `tokens`, `cost_usd` or `seconds`."""
    used: float
    limit: float

    @property
    def is_full(self) -> bool:
        """Whether nothing more may be sent."""
        return self.used >= self.limit

    @property
    def is_near(self) -> bool:
        """Whether a person is to be warned."""
        return self.used >= self.limit * WARN_AT_SHARE


def cost_usd(price: Price | None, usage: Usage) -> float | None:
    """Return what tokens cost; None without a price.

    A price may rise with the size of the input: then all tokens of the request cost the higher one.
    """
    if price is None:
        return None
    size = usage.input_tokens
    plain = max(size - usage.cache_read_tokens - usage.cache_write_tokens, 0)
    input_usd = _at(price.input, size)
    parts = (
        (plain, input_usd),
        (usage.cache_read_tokens, _at(price.cache_read, size) if price.cache_read else input_usd),
        (usage.cache_write_tokens, _at(price.cache_write, size) if price.cache_write else input_usd),
        (usage.output_tokens, _at(price.output, size)),
    )
    return exact(sum(tokens * usd for tokens, usd in parts) / 1_000_000)


def exact(usd: float) -> float:
    """Return an amount without the noise of binary fractions: no price tells more than ten decimals of a dollar."""
    return round(usd, _DECIMALS)


def uses_of_turn(limits: Limits, state: TurnState, now_ms: int) -> Iterator[Use]:
    """Yield how far each bound of the turn is used up."""
    bounds = Bounds(
        rounds=limits.max_rounds, tokens=limits.max_tokens, cost_usd=limits.max_cost_usd, seconds=limits.max_seconds
    )
    spent = Spent(
        rounds=state.round - 1,
        tokens=state.usage.input_tokens + state.usage.output_tokens,
        cost_usd=state.cost_usd or 0.0,
        duration_ms=now_ms - state.started_ms,
    )
    return uses("turn", bounds, spent)


def uses(scope: Scope, bounds: Bounds, spent: Spent) -> Iterator[Use]:
    """Yield how far each bound is used up."""
    used = (
        ("rounds", spent.rounds, bounds.rounds),
        ("tokens", spent.tokens, bounds.tokens),
        ("cost_usd", spent.cost_usd, bounds.cost_usd),
        ("seconds", spent.duration_ms / 1000, bounds.seconds),
    )
    for bound, amount, limit in used:
        if limit is not None:
            yield Use(scope=scope, bound=bound, used=amount, limit=limit)


def spent_by(rows: list[Draft]) -> Spent:
    """Return what the sends have taken that rows tell of; an outcome tells the sum of its turn again."""
    tokens, cost = 0, 0.0
    for row in rows:
        told = _told(row)
        usage: dict[str, int] = told.get("usage") or {}
        tokens += usage.get("input_tokens", 0) + usage.get("output_tokens", 0)
        cost += told.get("cost_usd") or 0.0
    return Spent(rounds=sum(row.kind == "reply" for row in rows), tokens=tokens, cost_usd=cost)


def _told(row: Draft) -> dict[str, Json]:
    """Return where a row tells what its send has taken; an outcome tells its turn's sends once more."""
    if "usage" in row.meta:
        return row.meta
    content: object = row.content
    return cast("dict[str, Json]", content) if row.kind != "outcome" and isinstance(content, dict) else {}


def reached(use: Use) -> str:
    """Say of a full bound what was reached, and what the bound is called."""
    name = _OF_TURN[use.bound] if use.scope == "turn" else f"per_{use.scope}.{use.bound}"
    match use.bound:
        case "rounds":
            amount = f"after {use.used:,.0f} rounds"
        case "tokens":
            amount = f"at {use.used:,.0f} tokens"
        case "cost_usd":
            amount = f"at {in_decimals(use.used)} USD"
        case _:
            amount = f"after {use.used:,.0f} seconds{'' if use.scope == 'turn' else ' of work'}"
    return f"{amount} {SCOPES[use.scope]}, the limit being {in_decimals(use.limit)} ({name})"


def amounts(use: Use) -> tuple[str, str]:
    """Return what is used and the limit as a person reads them; of a limit below a dollar every decimal counts."""
    if use.bound == "cost_usd" and use.limit < 1:
        return in_decimals(use.used), in_decimals(use.limit)
    decimals = 2 if use.bound == "cost_usd" else 0
    return f"{use.used:,.{decimals}f}", f"{use.limit:,.{decimals}f}"


def in_decimals(amount: float) -> str:
    """Return an amount in plain decimals, without zeros at its end."""
    whole, _, decimals = f"{amount:,.{_DECIMALS}f}".partition(".")
    return f"{whole}.{decimals.rstrip('0')}".rstrip(".")


def unusable_bound(bounds: Bounds) -> str | None:
    """Say which bound is none that anything could keep to, or None."""
    for bound in Bounds.__struct_fields__:
        limit = getattr(bounds, bound)
        if limit is not None and not 0 < limit < math.inf:
            return f"{bound} is {limit:g}"
    return None


def deadline_ms(limits: Limits, state: TurnState) -> int | None:
    """Return when the turn's time is over, or None."""
    return None if limits.max_seconds is None else state.started_ms + round(limits.max_seconds * 1000)


def _at(tiers: list[tuple[int, float]], size: int) -> float:
    return next((usd for start, usd in reversed(tiers) if size >= start), 0.0)
