"""llama.cpp's server."""

from stoic.core.classify.rules import (
    AUTH,
    BAD_SCHEMA,
    CONTEXT_LENGTH,
    HISTORY_CORRUPT,
    INVALID_CONFIG,
    MALFORMED_TOOL_CALL,
    OVERLOADED,
    SERVER_CONFIG,
    Family,
    Words,
)

FAMILY = Family(
    words=(
        Words(
            pattern=r"exceeds the available context size|context shift is disabled|Context size has been exceeded|input is too large to process|prompt is too long",
            mark=CONTEXT_LENGTH,
        ),
        Words(pattern=r"Loading model", mark=OVERLOADED),
        Words(pattern=r"Invalid API Key", mark=AUTH),
        Words(pattern=r"requires? --jinja|image input is not supported|mmproj|does not support", mark=INVALID_CONFIG),
        Words(pattern=r"Failed to parse (?:tool call|input)", mark=MALFORMED_TOOL_CALL),
        Words(pattern=r"parse grammar|JSON schema|unrecognized schema|Failed to parse tools", mark=BAD_SCHEMA),
        Words(pattern=r"roles must alternate|Jinja Exception", mark=HISTORY_CORRUPT),
        Words(pattern=r"out of memory|failed to allocate", mark=SERVER_CONFIG),
    ),
)
