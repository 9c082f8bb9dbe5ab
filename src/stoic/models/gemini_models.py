"""How Gemini models are told how much to think: https://ai.google.dev/gemini-api/docs/thinking."""

import re

from stoic.models.refusing import require_effort
from stoic.records import Json

_VERSION = re.compile(r"gemini-(\d+)(?:\.(\d+))?")
_LEVELS_FROM, _BUDGETS_FROM = (3, 0), (2, 5)
BUDGETS_TOKENS = {"minimal": 512, "low": 2_048, "medium": 8_192, "high": 24_576}
"""Budgets of models that know no levels: our own choice within the documented ranges (24,576 is Flash's largest)."""


def thinking_config(provider: str, model: str, effort: str) -> dict[str, Json]:
    """Return the `thinkingConfig` that says an effort: a level from Gemini 3 on, a budget before.

    Raises:
        UsageError: the model takes no such effort; those of Gemini 3 and `pro` of 2.5 cannot be told not to think
    """
    found = _VERSION.search(model)
    # A name without a version, such as gemini-flash-latest, is a current model's.
    version = (int(found[1]), int(found[2] or 0)) if found else _LEVELS_FROM
    if version >= _LEVELS_FROM:
        require_effort(provider, model, effort, tuple(BUDGETS_TOKENS))
        return {"thinkingLevel": effort}
    off = () if "pro" in model else ("none",)
    require_effort(provider, model, effort, (*off, *BUDGETS_TOKENS) if version >= _BUDGETS_FROM else ())
    return {"thinkingBudget": 0 if effort == "none" else BUDGETS_TOKENS[effort]}
