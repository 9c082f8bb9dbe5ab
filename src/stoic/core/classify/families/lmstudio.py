"""LM Studio's local server: `error` is a string."""

from stoic.core.classify.rules import (
    CONTEXT_LENGTH,
    HISTORY_CORRUPT,
    INVALID_CONFIG,
    MODEL_NOT_FOUND,
    SERVER_CONFIG,
    SERVER_ERROR,
    Family,
    Words,
)

FAMILY = Family(
    words=(
        Words(
            pattern=r"context (?:the )?overflows|loaded with context length|context length of only|greater than the context length|Reached context length|Cannot truncate prompt",
            mark=CONTEXT_LENGTH,
        ),
        Words(pattern=r"insufficient system resources|out of memory", mark=SERVER_CONFIG),
        Words(
            pattern=r"No models? loaded|Model (?:(?:is )?unloaded|does not exist|not found)|Failed to load model",
            mark=MODEL_NOT_FOUND,
        ),
        Words(pattern=r"rendering prompt|jinja", mark=HISTORY_CORRUPT),
        Words(pattern=r"does not support", mark=INVALID_CONFIG),
        Words(pattern=r"model has crashed|Channel Error", mark=SERVER_ERROR),
    ),
)
