"""Hugging Face's inference router and its server TGI: `error` is a string, `error_type` a word."""

from stoic.core.classify.families.grammar import CONTEXT
from stoic.core.classify.rules import (
    AUTH,
    CONTEXT_LENGTH,
    HISTORY_CORRUPT,
    MODEL_NOT_FOUND,
    OVERLOADED,
    QUOTA,
    SERVER_CONFIG,
    Family,
    Words,
    codes,
)

_N = r"[\d,]+"

FAMILY = Family(
    codes=codes(
        soft_server_error="generation incomplete_generation unhealthy",
        malformed_tool_call="tool_error",
    ),
    words=(
        Words(
            pattern=rf"`inputs` tokens \+ `max_new_tokens` must be <= (?P<limit>{_N})\. Given: (?P<input>{_N})",
            mark=CONTEXT_LENGTH,
        ),
        Words(pattern=r"`inputs` must have less than", mark=CONTEXT_LENGTH),
        *CONTEXT,
        Words(pattern=r"currently loading|Model is overloaded|Model too busy", mark=OVERLOADED),
        Words(pattern=r"monthly included credits|exceeded your .{0,40}credits", mark=QUOTA),
        Words(pattern=r"Template error|roles must alternate", mark=HISTORY_CORRUPT),
        Words(pattern=r"out of memory", mark=SERVER_CONFIG),
        Words(pattern=r"Invalid (?:username or password|credentials)|token seems invalid", mark=AUTH),
        Words(
            pattern=r"is not supported by any provider|Model .{0,80}does not exist|not supported (?:by|for) provider",
            mark=MODEL_NOT_FOUND,
        ),
    ),
)
