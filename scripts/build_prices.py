"""Turns the data of `genai-prices` into the compact table that stoic ships; run by hand when prices change.

    uv run --with genai-prices python scripts/build_prices.py

The package is never imported at run time: it costs 0.25 to 0.75 s of CPU and 40 MB.
"""

import importlib.metadata
import json
from pathlib import Path
from typing import Any

from genai_prices.data import providers

TABLE = Path(__file__).parents[1] / "src" / "stoic" / "data" / "prices.json"
OURS = {
    "anthropic": "anthropic",
    "openai": "openai",
    "google": "gemini",
    "openrouter": "openrouter",
    "deepseek": "deepseek",
    "zhipuai": "zhipu",
    "moonshotai": "moonshot",
    "minimax": "minimax",
    "groq": "groq",
    "x-ai": "xai",
    "mistral": "mistral",
    "together": "together",
    "fireworks": "fireworks",
    "azure": "azure",
    "cerebras": "cerebras",
    "cohere": "cohere",
    "perplexity": "perplexity",
}
CLAUSES = {"equals": "=", "starts_with": "^", "ends_with": "$", "contains": "~", "regex": "/"}


def clause(match: Any) -> list[Any]:
    """Return a matching rule as nested lists."""
    for field, sign in {"or_": "or", "and_": "and"}.items():
        if hasattr(match, field):
            return [sign, *(clause(each) for each in getattr(match, field))]
    for field, sign in CLAUSES.items():
        if hasattr(match, field):
            return [sign, getattr(match, field)]
    raise TypeError(f"unknown clause {match!r}")


def price(value: Any) -> Any:
    """Return USD per million tokens: a number, or `[base, [above_tokens, number], …]` where it grows with the input."""
    if value is None:
        return None
    if hasattr(value, "tiers"):
        return [float(value.base), *([tier.start, float(tier.price)] for tier in value.tiers)]
    return float(value)


def model(info: Any) -> list[Any]:
    """Return one model: rule, input, output, cache read, cache write, context window in tokens."""
    prices = info.prices if not isinstance(info.prices, list) else info.prices[-1].prices
    fields = ("input_mtok", "output_mtok", "cache_read_mtok", "cache_write_mtok")
    return [clause(info.match), *(price(getattr(prices, field, None)) for field in fields), info.context_window]


def main() -> None:
    """Write the table."""
    version = importlib.metadata.version("genai-prices")
    models = {
        OURS[provider.id]: [model(info) for info in provider.models] for provider in providers if provider.id in OURS
    }
    TABLE.parent.mkdir(exist_ok=True)
    table = {"source": f"genai-prices {version} (MIT), https://github.com/pydantic/genai-prices", "models": models}
    TABLE.write_text(json.dumps(table, separators=(",", ":"), sort_keys=True) + "\n", encoding="utf-8")
    print(f"{TABLE.name}: {sum(map(len, models.values()))} models, {TABLE.stat().st_size} bytes")


if __name__ == "__main__":
    main()
