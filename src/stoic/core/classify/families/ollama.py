"""Ollama: `error` is a string and the only sign, https://github.com/ollama/ollama/blob/main/docs/api.md."""

from stoic.core.classify.rules import (
    AUTH,
    BAD_SCHEMA,
    CANCELLED,
    CONTEXT_LENGTH,
    INVALID_CONFIG,
    MALFORMED_TOOL_CALL,
    MODEL_NOT_FOUND,
    OVERLOADED,
    PERMISSION,
    QUOTA_TIME,
    SERVER_CONFIG,
    SERVER_ERROR,
    TIMEOUT,
    Family,
    Words,
)

FAMILY = Family(
    words=(
        Words(
            pattern=r"requires more system memory|out of memory|cudaMalloc failed|signal: killed|insufficient memory|unable to allocate",
            mark=SERVER_CONFIG,
        ),
        Words(pattern=r"server busy|maximum pending requests", mark=OVERLOADED),
        Words(pattern=r"error parsing tool call|XML syntax error", mark=MALFORMED_TOOL_CALL),
        Words(pattern=r"timed out waiting for (?:llama runner|server)", mark=TIMEOUT),
        Words(pattern=r"model .{0,120}not found|try pulling it|file does not exist", mark=MODEL_NOT_FOUND),
        Words(pattern=r"does not support (?:tools|thinking|chat|generate|vision)", mark=INVALID_CONFIG),
        Words(
            pattern=r"exceed\w* .{0,20}context (?:length|size|window)|input length exceeds|prompt too long",
            mark=CONTEXT_LENGTH,
        ),
        Words(pattern=r"invalid (?:JSON )?schema|invalid format", mark=BAD_SCHEMA),
        Words(pattern=r"usage limit", mark=QUOTA_TIME),
        Words(pattern=r"requires a subscription|upgrade for access", mark=PERMISSION),
        Words(pattern=r"unauthorized", mark=AUTH),
        Words(pattern=r"context canceled", mark=CANCELLED),
        Words(
            pattern=r"error was encountered while running the model|runner process (?:has )?terminated|runner has unexpectedly stopped|unexpected EOF|: EOF|CUDA error|no longer running|unexpected server status",
            mark=SERVER_ERROR,
        ),
    ),
)
