"""What Claude models take.

https://platform.claude.com/docs/en/build-with-claude/effort,
https://platform.claude.com/docs/en/build-with-claude/extended-thinking.
"""

import re

from stoic.models.refusing import cannot, require_effort
from stoic.records import Json
from stoic.sampling import Sampling

_NEW_NAME = re.compile(r"claude-([a-z]+)-(\d{1,2})(?!\d)(?:[-.](\d{1,2})(?!\d))?")
_OLD_NAME = re.compile(r"claude-(\d)(?:[-.](\d)(?!\d))?-[a-z]+")
_THINKS, _ADAPTS, _TAKES_XHIGH = (3, 7), (4, 6), (4, 7)
"""The first versions that think by budget, that think adaptively, and that take `xhigh` but no sampling parameters."""
_ALWAYS_THINK = re.compile(r"fable|mythos|opus-5[-.]5")
"""Models whose thinking cannot be turned off: https://platform.claude.com/docs/en/models/opus-5-5/whats-new-opus-5-5."""

BUDGETS_TOKENS = {"low": 2_048, "medium": 8_192, "high": 24_576}
"""Thinking budgets of models that know no effort: our own choice, within the documented minimum of 1,024 and the smallest
default of `max_tokens`."""


def version_of(model: str) -> tuple[int, int] | None:
    """Return a Claude model's version; None for any other model."""
    old = _OLD_NAME.search(model)
    if old:
        return int(old[1]), int(old[2] or 0)
    new = _NEW_NAME.search(model)
    return (int(new[2]), int(new[3] or 0)) if new else None


def effort_parameters(provider: str, model: str, sampling: Sampling) -> dict[str, Json]:
    """Return the keys that say a reasoning effort.

    Raises:
        UsageError: the model takes no such effort, or its thinking budget does not fit into `max_tokens`
    """
    effort, version = sampling.reasoning_effort, version_of(model)
    if effort is None:
        return {}
    if version is None:
        require_effort(provider, model, effort, ("none", "low", "medium", "high", "xhigh", "max"))
        return {"thinking": {"type": "disabled"}} if effort == "none" else {"output_config": {"effort": effort}}
    if version < _THINKS:
        require_effort(provider, model, effort, ())
    if version < _ADAPTS:
        return _budget(provider, model, effort, sampling.max_tokens)
    off = () if _ALWAYS_THINK.search(model) else ("none",)
    top = ("xhigh", "max") if version >= _TAKES_XHIGH else ("max",)
    require_effort(provider, model, effort, (*off, "low", "medium", "high", *top))
    if effort == "none":
        return {"thinking": {"type": "disabled"}}
    return {"thinking": {"type": "adaptive"}, "output_config": {"effort": effort}}


def check_temperature(provider: str, model: str, sampling: Sampling) -> None:
    """Check a temperature.

    Raises:
        UsageError: the model takes none, none of this size, or none while it thinks
    """
    temperature, version = sampling.temperature, version_of(model)
    if temperature is None:
        return
    if temperature > 1:
        raise cannot(provider, model, f"takes temperatures from 0 to 1, not {temperature:g}", "lower it")
    if version is None or temperature == 1:
        return
    if version >= _TAKES_XHIGH:
        raise cannot(provider, model, "takes no temperature", "leave temperature out")
    if sampling.reasoning_effort not in {None, "none"}:
        raise cannot(provider, model, "takes no temperature while it thinks", "leave temperature or effort out")


def _budget(provider: str, model: str, effort: str, max_tokens: int | None) -> dict[str, Json]:
    require_effort(provider, model, effort, ("none", *BUDGETS_TOKENS))
    if effort == "none":
        return {}
    budget = BUDGETS_TOKENS[effort]
    if max_tokens is not None and max_tokens <= budget:
        what = f"thinks with up to {budget} tokens at reasoning_effort {effort}, more than max_tokens {max_tokens}"
        raise cannot(provider, model, what, "raise max_tokens or lower the effort")
    return {"thinking": {"type": "enabled", "budget_tokens": budget}}
