"""What tokens cost and how large a model's context is: a compact table, read when it is first asked for.

Source: the data of `genai-prices` (MIT, https://github.com/pydantic/genai-prices), made by `scripts/build_prices.py`.
"""

import re
from functools import lru_cache
from importlib.resources import files
from typing import Any

import msgspec

from stoic.records import Price, Record


class ModelFacts(Record, frozen=True):
    """What the table knows of a model."""

    price: Price | None
    """None where input or output has no price: then no cost can be told."""
    context_tokens: int | None


_ALIASES = {"openai-chat": "openai"}
Figure = float | list[Any] | None
"""USD per million tokens, or `[base, [above_tokens, USD], …]`; None: no price."""


class _Model(msgspec.Struct, array_like=True, frozen=True):
    rule: list[Any]
    input: Figure
    output: Figure
    cache_read: Figure
    cache_write: Figure
    context_tokens: int | None


class _Table(msgspec.Struct, frozen=True):
    source: str
    models: dict[str, list[_Model]]


def facts_of(provider: str, model: str) -> ModelFacts | None:
    """Return what is known of a model of a provider's own service; None: the table does not have it.

    Args:
        provider: as in `PROVIDER:NAME`
        model: the name, as the provider knows it
    """
    name = model.lower()
    for known in _table().models.get(_ALIASES.get(provider, provider), []):
        if _matches(known.rule, name):
            return ModelFacts(price=_price(known), context_tokens=known.context_tokens)
    return None


def price_of(provider: str, model: str) -> Price | None:
    """Return a model's price, or None when no price is known."""
    found = facts_of(provider, model)
    return found.price if found else None


@lru_cache(maxsize=1)
def _table() -> _Table:
    return msgspec.json.decode(files("stoic").joinpath("data/prices.json").read_bytes(), type=_Table)


def _matches(rule: list[Any], name: str) -> bool:
    sign, *rest = rule
    match sign:
        case "or":
            return any(_matches(each, name) for each in rest)
        case "and":
            return all(_matches(each, name) for each in rest)
        case "=":
            return name == rest[0]
        case "^":
            return name.startswith(rest[0])
        case "$":
            return name.endswith(rest[0])
        case "~":
            return rest[0] in name
        case _:
            return re.search(rest[0], name) is not None


def _price(known: _Model) -> Price | None:
    if known.input is None or known.output is None:
        return None
    return Price(
        input=_tiers(known.input),
        output=_tiers(known.output),
        cache_read=_tiers(known.cache_read),
        cache_write=_tiers(known.cache_write),
    )


def _tiers(figure: Figure) -> list[tuple[int, float]]:
    if figure is None:
        return []
    if isinstance(figure, list):
        base, *higher = figure
        return [(0, base), *((start, usd) for start, usd in higher)]
    return [(0, figure)]
