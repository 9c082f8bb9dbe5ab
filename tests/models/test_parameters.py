"""The neutral parameters in each API's words, and what is refused."""

import pytest

from stoic.errors import UsageError
from stoic.models.parameters import parameters_of
from stoic.models.providers import PROVIDERS
from stoic.sampling import EFFORTS, Sampling, check_sampling


def outcome_of(entry, model, effort):
    try:
        return parameters_of(entry, model, Sampling(reasoning_effort=effort))
    except UsageError as error:
        return str(error)


def said(model, **given):
    provider, _, name = model.partition(":")
    return parameters_of(PROVIDERS[provider], name, Sampling(**given))


@pytest.mark.parametrize("name", PROVIDERS)
def test_nothing_said_adds_nothing(name):
    assert parameters_of(PROVIDERS[name], "m", Sampling()) == {}


@pytest.mark.parametrize(
    ("model", "meant"),
    [
        ("anthropic:claude-haiku-4-5", {"max_tokens": 100, "temperature": 0.5}),
        ("openai:gpt-4o", {"max_output_tokens": 100, "temperature": 0.5}),
        ("openai:gpt-5.2", {"max_output_tokens": 100, "temperature": 0.5}),
        ("openai-chat:gpt-4o", {"max_tokens": 100, "temperature": 0.5}),
        ("openai-chat:gpt-5.2", {"max_completion_tokens": 100, "temperature": 0.5}),
        ("azure:gpt-5.2", {"max_completion_tokens": 100, "temperature": 0.5}),
        ("groq:llama-3.3-70b", {"max_completion_tokens": 100, "temperature": 0.5}),
        ("moonshot:moonshot-v1-8k", {"max_completion_tokens": 100, "temperature": 0.5}),
        ("minimax:MiniMax-M3", {"max_tokens": 100, "temperature": 0.5}),
        ("deepseek:deepseek-chat", {"max_tokens": 100, "temperature": 0.5}),
        ("ollama:qwen3", {"max_tokens": 100, "temperature": 0.5}),
        ("gemini:gemini-2.5-pro", {"generationConfig": {"maxOutputTokens": 100, "temperature": 0.5}}),
    ],
)
def test_length_and_temperature_are_said_in_the_apis_words(model, meant):
    assert said(model, max_tokens=100, temperature=0.5) == meant


@pytest.mark.parametrize(
    ("model", "effort", "meant"),
    [
        ("openai:gpt-5", "minimal", {"reasoning": {"effort": "minimal"}}),
        ("openai:gpt-5.2", "none", {"reasoning": {"effort": "none"}}),
        ("openai:gpt-5.6", "xhigh", {"reasoning": {"effort": "xhigh"}}),
        ("openai-chat:o3-mini", "low", {"reasoning_effort": "low"}),
        (
            "anthropic:claude-opus-5-5",
            "xhigh",
            {"thinking": {"type": "adaptive"}, "output_config": {"effort": "xhigh"}},
        ),
        ("anthropic:claude-opus-4-6", "max", {"thinking": {"type": "adaptive"}, "output_config": {"effort": "max"}}),
        ("anthropic:claude-sonnet-5", "none", {"thinking": {"type": "disabled"}}),
        ("anthropic:claude-sonnet-4-5", "low", {"thinking": {"type": "enabled", "budget_tokens": 2_048}}),
        ("anthropic:claude-sonnet-4-20250514", "high", {"thinking": {"type": "enabled", "budget_tokens": 24_576}}),
        ("anthropic:claude-3-7-sonnet-latest", "medium", {"thinking": {"type": "enabled", "budget_tokens": 8_192}}),
        ("anthropic:claude-haiku-4-5", "none", {}),
        ("anthropic:another", "high", {"output_config": {"effort": "high"}}),
        ("anthropic:another", "none", {"thinking": {"type": "disabled"}}),
        ("gemini:gemini-3.8-flash", "low", {"generationConfig": {"thinkingConfig": {"thinkingLevel": "low"}}}),
        ("gemini:gemini-flash-latest", "low", {"generationConfig": {"thinkingConfig": {"thinkingLevel": "low"}}}),
        ("gemini:gemini-2.5-flash", "none", {"generationConfig": {"thinkingConfig": {"thinkingBudget": 0}}}),
        ("gemini:gemini-2.5-pro", "medium", {"generationConfig": {"thinkingConfig": {"thinkingBudget": 8_192}}}),
        ("openrouter:a/b", "high", {"reasoning": {"effort": "high"}}),
        ("deepseek:deepseek-v4-pro", "max", {"thinking": {"type": "enabled"}, "reasoning_effort": "max"}),
        ("deepseek:deepseek-v4-pro", "none", {"thinking": {"type": "disabled"}}),
        ("zhipu:glm-5.2", "low", {"thinking": {"type": "enabled"}, "reasoning_effort": "low"}),
        ("zai:GLM-4.6", "high", {"thinking": {"type": "enabled"}}),
        ("moonshot:kimi-k3", "low", {"reasoning_effort": "low"}),
        ("moonshot:kimi-k2.6", "none", {"thinking": {"type": "disabled"}}),
        ("minimax:MiniMax-M3", "high", {"thinking": {"type": "adaptive"}}),
        ("minimax:MiniMax-M3", "none", {"thinking": {"type": "disabled"}}),
        ("volcengine:doubao", "minimal", {"thinking": {"type": "enabled"}, "reasoning_effort": "minimal"}),
        ("dashscope:qwen-plus", "none", {"enable_thinking": False}),
        ("dashscope:qwen-plus", "low", {"enable_thinking": True, "thinking_budget": 2_048}),
        ("hunyuan:hunyuan-a13b", "none", {"enable_thinking": False}),
        ("groq:openai/gpt-oss-120b", "low", {"reasoning_effort": "low"}),
        ("groq:qwen/qwen3-32b", "high", {"reasoning_effort": "default"}),
        ("groq:qwen/qwen3-32b", "none", {"reasoning_effort": "none"}),
        ("openai:gpt-5.1-codex-max", "xhigh", {"reasoning": {"effort": "xhigh"}}),
        ("openai:gpt-5.6", "max", {"reasoning": {"effort": "max"}}),
        ("anthropic:claude-opus-5", "none", {"thinking": {"type": "disabled"}}),
        ("xai:grok-4.7", "xhigh", {"reasoning_effort": "xhigh"}),
        ("xai:grok-latest", "high", {"reasoning_effort": "high"}),
        ("xai:grok-4.3", "none", {"reasoning_effort": "none"}),
        ("mistral:mistral-medium-latest", "high", {"reasoning_effort": "high"}),
        ("llamacpp:x", "none", {"chat_template_kwargs": {"enable_thinking": False}}),
        ("llamacpp:x", "low", {"chat_template_kwargs": {"enable_thinking": True, "reasoning_effort": "low"}}),
        ("vllm:x", "medium", {"reasoning_effort": "medium"}),
    ],
)
def test_effort_is_said_in_the_models_words(model, effort, meant):
    assert said(model, reasoning_effort=effort) == meant


@pytest.mark.parametrize(
    ("model", "effort", "takes"),
    [
        ("openai:gpt-4o", "low", "takes no reasoning_effort"),
        ("openai:gpt-5-chat-latest", "low", "takes no reasoning_effort"),
        ("openai:gpt-5-pro", "low", "high, not low"),
        ("openai:gpt-5-codex", "minimal", "low, medium, high, not minimal"),
        ("openai:gpt-5.1", "xhigh", "none, low, medium, high, not xhigh"),
        ("openai:gpt-5.2", "max", "none, low, medium, high, xhigh, not max"),
        ("openai:gpt-5.3-codex", "none", "low, medium, high, xhigh, not none"),
        ("anthropic:claude-opus-5-5", "none", "not none"),
        ("moonshot:kimi-k2.7-code", "none", "high, not none"),
        ("moonshot:kimi-k3.1-pro", "medium", "low, high, max, not medium"),
        ("minimax:MiniMax-M2.7", "none", "high, not none"),
        ("xai:grok-4.5", "none", "low, medium, high, not none"),
        ("xai:grok-4.20-reasoning", "xhigh", "low, medium, high, not xhigh"),
        ("openai:gpt-5", "none", "minimal, low, medium, high, not none"),
        ("openai:gpt-5.2", "minimal", "not minimal"),
        ("openai:o3", "xhigh", "low, medium, high, not xhigh"),
        ("anthropic:claude-3-5-sonnet-latest", "low", "takes no reasoning_effort"),
        ("anthropic:claude-haiku-4-5", "max", "none, low, medium, high, not max"),
        ("anthropic:claude-opus-4-6", "xhigh", "not xhigh"),
        ("anthropic:claude-fable-5", "none", "not none"),
        ("anthropic:claude-opus-5", "minimal", "not minimal"),
        ("gemini:gemini-3-pro-preview", "none", "minimal, low, medium, high, not none"),
        ("gemini:gemini-2.5-pro", "none", "not none"),
        ("gemini:gemini-2.0-flash", "low", "takes no reasoning_effort"),
        ("openrouter:a/b", "max", "not max"),
        ("zai:glm-4.6", "low", "none, high, not low"),
        ("moonshot:kimi-k3", "none", "not none"),
        ("moonshot:kimi-k2.6", "low", "none, high, not low"),
        ("xai:grok-4", "low", "takes no reasoning_effort"),
        ("xai:grok-4-fast-non-reasoning", "low", "takes no reasoning_effort"),
        ("groq:openai/gpt-oss-120b", "none", "low, medium, high, not none"),
        ("dashscope:qwen-plus", "xhigh", "not xhigh"),
        ("mistral:m", "low", "none, high, not low"),
    ],
)
def test_effort_a_model_does_not_take_is_refused_with_those_it_does(model, effort, takes):
    with pytest.raises(UsageError, match=f"^{model} .*{takes}"):
        said(model, reasoning_effort=effort)


@pytest.mark.parametrize(
    ("model", "given", "why"),
    [
        ("openai:gpt-5", {"temperature": 0}, "takes no temperature other than 1"),
        ("openai:o3", {"temperature": 0}, "takes no temperature other than 1"),
        ("openai-chat:gpt-5-mini-2025-08-07", {"temperature": 0.2}, "takes no temperature other than 1"),
        ("openai:gpt-5.2", {"temperature": 0, "reasoning_effort": "high"}, "no temperature with reasoning_effort high"),
        ("moonshot:kimi-k2.6", {"temperature": 0.3}, "takes no temperature"),
        ("anthropic:claude-haiku-4-5", {"temperature": 1.5}, "from 0 to 1"),
        ("anthropic:claude-opus-4-7", {"temperature": 0}, "takes no temperature"),
        ("anthropic:claude-sonnet-5", {"temperature": 0}, "takes no temperature"),
        ("anthropic:claude-haiku-4-5", {"temperature": 0, "reasoning_effort": "low"}, "while it thinks"),
        (
            "anthropic:claude-haiku-4-5",
            {"max_tokens": 8_192, "reasoning_effort": "medium"},
            "up to 8192 tokens at reasoning_effort medium, more than max_tokens 8192",
        ),
    ],
)
def test_combination_a_model_does_not_take_is_refused(model, given, why):
    with pytest.raises(UsageError, match=why):
        said(model, **given)


@pytest.mark.parametrize(
    ("model", "given"),
    [
        ("openai:gpt-5", {"temperature": 1}),
        ("openai:gpt-5.2", {"temperature": 0, "reasoning_effort": "none"}),
        ("anthropic:claude-sonnet-5", {"temperature": 1}),
        ("anthropic:claude-sonnet-4-6", {"temperature": 0.2}),
        ("anthropic:claude-sonnet-4-6", {"temperature": 0.2, "reasoning_effort": "none"}),
        ("anthropic:deepseek-v4-pro", {"temperature": 0.2}),
        ("anthropic:claude-haiku-4-5", {"max_tokens": 8_193, "reasoning_effort": "medium"}),
    ],
)
def test_combination_a_model_takes_is_sent(model, given):
    assert said(model, **given)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"max_tokens": 0}, "max_tokens is 0; it must be at least 1"),
        ({"temperature": -0.1}, "temperature is -0.1; it must be from 0 to 2"),
        ({"temperature": 2.1}, "temperature is 2.1"),
        ({"temperature": float("nan")}, "temperature is nan"),
        ({"reasoning_effort": "hard"}, "'hard'; it must be one of none, minimal, low"),
    ],
)
def test_parameter_that_can_be_no_models_is_refused(given, why):
    with pytest.raises(UsageError, match=why):
        check_sampling(Sampling(**given))


@pytest.mark.parametrize("name", PROVIDERS)
@pytest.mark.parametrize("effort", EFFORTS)
def test_every_effort_is_either_said_or_refused_in_one_line(name, effort):
    model = {"openai": "gpt-5.6", "gemini": "gemini-3.8-flash", "anthropic": "claude-opus-5"}.get(name, "gpt-oss-120b")
    said_or_refused = outcome_of(PROVIDERS[name], model, effort)
    assert said_or_refused not in ({}, "")
    if isinstance(said_or_refused, str):
        assert said_or_refused.startswith(f"{name}:{model} takes the reasoning_effort ")
        assert "\n" not in said_or_refused


def test_default_fills_only_what_is_not_said():
    assert Sampling(temperature=0).or_else(Sampling(max_tokens=5, temperature=1, reasoning_effort="low")) == Sampling(
        max_tokens=5, temperature=0, reasoning_effort="low"
    )
