"""How much fits into a context window."""

import pytest

from stoic.models.windows import context_window_tokens


@pytest.mark.parametrize(
    ("provider", "model", "tokens"),
    [
        ("anthropic", "claude-haiku-4-5", 200_000),
        ("openai", "gpt-5", 400_000),
        ("openai-chat", "gpt-5", 400_000),
        ("azure-responses", "gpt-5", 400_000),
        ("deepseek", "deepseek-v4-pro", 1_000_000),
        ("moonshot", "moonshot-v1-8k", 8_192),
        ("zai", "glm-5.2", 1_000_000),
        ("dashscope", "qwen3-max", 262_144),
        ("dashscope-intl", "Qwen-Plus", 1_000_000),
        ("dashscope", "qwen-of-tomorrow", None),
        ("mistral", "mistral-large-latest", None),
        ("vllm", "whatever", None),
        ("nobody", "gpt-5", None),
    ],
)
def test_window_is_the_documented_one_or_unknown(provider, model, tokens):
    assert context_window_tokens(provider, model) == tokens
