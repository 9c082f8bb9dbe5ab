"""What OpenAI's models take: https://platform.openai.com/docs/guides/reasoning."""

import re

from stoic.models.refusing import cannot, require_effort
from stoic.sampling import Sampling

_REASONS = re.compile(r"(?:^|[/:])(?:o\d|codex|gpt-oss|gpt-(?:[5-9]|\d\d)(?!.*-chat))")
_O_SERIES = re.compile(r"(?:^|[/:])o\d")
_FIRST_GPT_5 = re.compile(r"(?:^|[/:])gpt-5(?![.\d]|-\d(?!\d))")
"""`gpt-5`, `gpt-5-mini`, `gpt-5-2025-08-07`; not `gpt-5.1`."""

_PRO_5 = re.compile(r"(?:^|[/:])gpt-5-pro")
_GPT_5_1 = re.compile(r"gpt-5[.-]1(?!\d)(?!-codex-max)")
_FROM_5_6 = re.compile(r"gpt-(?:5[.-][6-9]|[6-9]|\d\d)")


def reasons(model: str) -> bool:
    """Tell whether a model reasons before it answers, by its name."""
    return _REASONS.search(model) is not None


def check(provider: str, model: str, sampling: Sampling) -> None:
    """Check effort and temperature.

    Raises:
        UsageError: the model takes no such effort, or no temperature, or not both together
    """
    effort = sampling.reasoning_effort
    if effort is not None:
        require_effort(provider, model, effort, _efforts(model))
    if sampling.temperature is None or sampling.temperature == 1 or not reasons(model):
        return
    # From gpt-5.1 on a temperature is taken while the effort is none, which is the default of some.
    if _O_SERIES.search(model) or _FIRST_GPT_5.search(model):
        raise cannot(provider, model, "takes no temperature other than 1", "leave temperature out")
    if effort not in {None, "none"}:
        raise cannot(
            provider, model, f"takes no temperature with reasoning_effort {effort}", "leave one out, or set it to none"
        )


def _efforts(model: str) -> tuple[str, ...]:
    if not reasons(model):
        return ()
    if _PRO_5.search(model):
        return ("high",)
    if _O_SERIES.search(model) or "gpt-oss" in model:
        return ("low", "medium", "high")
    if _FIRST_GPT_5.search(model):
        return ("low", "medium", "high") if "codex" in model else ("minimal", "low", "medium", "high")
    off = () if "codex" in model else ("none",)
    top = () if _GPT_5_1.search(model) else ("xhigh", "max") if _FROM_5_6.search(model) else ("xhigh",)
    return (*off, "low", "medium", "high", *top)
