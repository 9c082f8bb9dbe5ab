"""How much fits into a model's context window.

The figures are those of the table in `stoic.prices`; its source is https://github.com/pydantic/genai-prices. A model that
is not in it is unknown; the configuration file may say its window.
"""

from stoic.prices import facts_of

_ELSEWHERE = {
    "openai-chat": ("openai", ""),
    "azure": ("openai", ""),
    "azure-responses": ("openai", ""),
    "moonshot-cn": ("moonshot", ""),
    "zai": ("zhipu", ""),
    "minimax-cn": ("minimax", ""),
    "dashscope": ("openrouter", "qwen/"),
    "dashscope-intl": ("openrouter", "qwen/"),
}
"""Under which provider, and with what before its name, the table has the models of another one."""


def context_window_tokens(provider: str, model: str) -> int | None:
    """Return the size of a model's context window in tokens, prompt and reply together; None: it is not known.

    Args:
        provider: as in `PROVIDER:NAME`
        model: the name as the provider knows it
    """
    found = facts_of(provider, model)
    if (found is None or found.context_tokens is None) and provider in _ELSEWHERE:
        other, beginning = _ELSEWHERE[provider]
        found = facts_of(other, beginning + model)
    return found.context_tokens if found else None
