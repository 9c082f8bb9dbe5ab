"""How much fits into a model's context window.

Most figures are those of the table in `stoic.prices` (its source: https://github.com/pydantic/genai-prices); what that lacks
stands here with the page that says it. A model that is in neither is unknown: the configuration file may say its window.
"""

from stoic.prices import facts_of

_SAME_MODELS = {
    "openai-chat": "openai",
    "azure": "openai",
    "azure-responses": "openai",
    "moonshot-cn": "moonshot",
    "zai": "zhipu",
    "minimax-cn": "minimax",
}
"""Providers that serve another one's models under the same names."""

_FURTHER: dict[str, tuple[tuple[str, int], ...]] = {
    # https://help.aliyun.com/zh/model-studio/models
    "dashscope": (
        ("qwen3-max", 262_144),
        ("qwen3-coder-plus", 1_000_000),
        ("qwen-plus", 1_000_000),
        ("qwen-flash", 1_000_000),
        ("qwen-turbo", 131_072),
        ("qwen-max", 32_768),
    ),
    # https://docs.mistral.ai/getting-started/models/models_overview/
    "mistral": (("mistral-large-latest", 262_144), ("mistral-medium-latest", 131_072), ("codestral-latest", 262_144)),
}
"""By provider: beginnings of names, the more special first, and tokens."""
_FURTHER["dashscope-intl"] = _FURTHER["dashscope"]


def context_window_tokens(provider: str, model: str) -> int | None:
    """Return the size of a model's context window in tokens, prompt and reply together; None: it is not known.

    Args:
        provider: as in `PROVIDER:NAME`
        model: the name as the provider knows it
    """
    for name in (provider, _SAME_MODELS.get(provider)):
        found = facts_of(name, model) if name else None
        if found is not None and found.context_tokens is not None:
            return found.context_tokens
    further = _FURTHER.get(provider, ())
    return next((tokens for beginning, tokens in further if model.lower().startswith(beginning)), None)
