"""The neutral parameters in each API's own words; what a model is known not to take is refused before it is sent."""

from collections.abc import Callable

from stoic.models import claude, openai_models
from stoic.models.compatible_efforts import effort_of
from stoic.models.entries import ProviderEntry
from stoic.models.gemini_models import thinking_config
from stoic.models.refusing import cannot
from stoic.records import Json
from stoic.sampling import Sampling, check_sampling

_COMPLETION_TOKENS = {"groq", "cerebras", "moonshot", "moonshot-cn"}
"""Providers that call `max_tokens` deprecated: https://console.groq.com/docs/api-reference,
https://inference-docs.cerebras.ai/api-reference/chat-completions, https://platform.kimi.ai/docs/api/chat."""
_MINIMAX = {"minimax", "minimax-cn"}
_OPENAI_NAMES = {"openai", "openai-chat", "azure", "azure-responses"}
"""Providers whose model names are OpenAI's own."""

Expression = Callable[[ProviderEntry, str, Sampling], dict[str, Json]]


def parameters_of(entry: ProviderEntry, model: str, sampling: Sampling) -> dict[str, Json]:
    """Return the top-level keys of a request that say what the neutral parameters say.

    Args:
        entry: the provider
        model: the model's name as the provider knows it
        sampling: what is wanted; nothing of it is dropped in silence

    Raises:
        UsageError: the model is known not to take one of them, or not both together
    """
    if sampling == Sampling():
        return {}
    return _BY_API[entry.api](entry, model, check_sampling(sampling))


def _messages(entry: ProviderEntry, model: str, sampling: Sampling) -> dict[str, Json]:
    effort = sampling.reasoning_effort
    if entry.name in _MINIMAX and effort is not None:
        thinking = effort_of(entry.name, model, effort)
    else:
        thinking = claude.effort_parameters(entry.name, model, sampling)
    claude.check_temperature(entry.name, model, sampling)
    tokens: dict[str, Json] = {} if sampling.max_tokens is None else {"max_tokens": sampling.max_tokens}
    return {**tokens, **_temperature(sampling), **thinking}


def _responses(entry: ProviderEntry, model: str, sampling: Sampling) -> dict[str, Json]:
    if entry.name in _OPENAI_NAMES:
        openai_models.check(entry.name, model, sampling)
    found: dict[str, Json] = {} if sampling.max_tokens is None else {"max_output_tokens": sampling.max_tokens}
    found |= _temperature(sampling)
    return found if sampling.reasoning_effort is None else {**found, "reasoning": {"effort": sampling.reasoning_effort}}


def _generate(entry: ProviderEntry, model: str, sampling: Sampling) -> dict[str, Json]:
    config: dict[str, Json] = {} if sampling.max_tokens is None else {"maxOutputTokens": sampling.max_tokens}
    config |= _temperature(sampling)
    if sampling.reasoning_effort is not None:
        config["thinkingConfig"] = thinking_config(entry.name, model, sampling.reasoning_effort)
    return {"generationConfig": config}


def _chat(entry: ProviderEntry, model: str, sampling: Sampling) -> dict[str, Json]:
    name = entry.name
    if name in _OPENAI_NAMES:
        openai_models.check(name, model, sampling)
    if "kimi-" in model and sampling.temperature not in {None, 1}:
        # https://platform.kimi.ai/docs/api/models-overview: fixed for all but the moonshot-v1 models.
        raise cannot(name, model, "takes no temperature", "leave temperature out")
    found = _temperature(sampling)
    if sampling.max_tokens is not None:
        reasons = name in _OPENAI_NAMES and openai_models.reasons(model)
        found["max_completion_tokens" if reasons or name in _COMPLETION_TOKENS else "max_tokens"] = sampling.max_tokens
    if sampling.reasoning_effort is not None:
        found |= effort_of(name, model, sampling.reasoning_effort)
    return found


def _temperature(sampling: Sampling) -> dict[str, Json]:
    return {} if sampling.temperature is None else {"temperature": sampling.temperature}


_BY_API: dict[str, Expression] = {
    "messages": _messages,
    "responses": _responses,
    "generate": _generate,
    "chat": _chat,
}
