"""What a turn may cost and take, and when it has (SPEC §15)."""

from stoic.core.history import TurnState
from stoic.records import Price, Record, Usage


class Limits(Record, frozen=True):
    """Bounds of one turn; None: no bound of that kind."""

    max_rounds: int | None = 64
    max_tokens: int | None = None
    """Input and output tokens together, over all rounds and attempts."""
    max_cost_usd: float | None = None
    max_seconds: float | None = None
    """Wall time from the turn's input on, waits included."""


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
    return sum(tokens * usd for tokens, usd in parts) / 1_000_000


def used_up(limits: Limits, state: TurnState, now_ms: int) -> str | None:
    """Say which limit the turn has reached before its next request, or None."""
    tokens = state.usage.input_tokens + state.usage.output_tokens
    if limits.max_rounds is not None and state.round > limits.max_rounds:
        return f"after {limits.max_rounds} rounds, the limit of this turn (max_rounds)"
    if limits.max_tokens is not None and tokens >= limits.max_tokens:
        return f"at {tokens:,} tokens, the limit being {limits.max_tokens:,} (max_tokens_per_turn)"
    if limits.max_cost_usd is not None and state.cost_usd is not None and state.cost_usd >= limits.max_cost_usd:
        return f"at {state.cost_usd:.4f} USD, the limit being {limits.max_cost_usd} (max_cost_usd)"
    if limits.max_seconds is not None and now_ms >= state.started_ms + limits.max_seconds * 1000:
        return f"after {limits.max_seconds:g} seconds, the limit of this turn (max_seconds)"
    return None


def deadline_ms(limits: Limits, state: TurnState) -> int | None:
    """Return when the turn's time is over, or None."""
    return None if limits.max_seconds is None else state.started_ms + round(limits.max_seconds * 1000)


def _at(tiers: list[tuple[int, float]], size: int) -> float:
    return next((usd for start, usd in reversed(tiers) if size >= start), 0.0)
