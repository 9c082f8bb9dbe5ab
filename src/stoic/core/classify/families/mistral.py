"""Mistral: flat errors with a type and a number."""

from stoic.core.classify.families.grammar import CONTEXT, HISTORY, MAX_TOKENS
from stoic.core.classify.rules import (
    BAD_SCHEMA,
    CONTEXT_LENGTH,
    HISTORY_CORRUPT,
    IMAGE_TOO_LARGE,
    MODEL_NOT_FOUND,
    OVERLOADED,
    RATE_LIMIT,
    Family,
    Words,
    codes,
    refused,
)

FAMILY = Family(
    codes=codes(
        rate_limit="1300",
        context_length="3051",
        overloaded="3505",
        history_corrupt="3230 3280",
        model_not_found="1500",
        soft_server_error="1100 3700 3701 internal_server_proxy_error",
        bad_schema="invalid_function_schema",
    ),
    words=(
        Words(pattern=r"too large for model", mark=CONTEXT_LENGTH),
        *MAX_TOKENS,
        *CONTEXT,
        Words(
            pattern=r"Tool call id was|Expected last role|Unexpected role|Not the same number of function calls|must have either content or tool_calls",
            mark=HISTORY_CORRUPT,
        ),
        *HISTORY,
        Words(pattern=r"Invalid (?:tool|function|JSON) schema|tools?\.\d+\.function", mark=BAD_SCHEMA),
        Words(pattern=r"image.{0,60}(?:too large|exceeds)", mark=IMAGE_TOO_LARGE),
        Words(pattern=r"Invalid model", mark=MODEL_NOT_FOUND),
        Words(pattern=r"capacity exceeded|high demand|overloaded", mark=OVERLOADED),
        Words(pattern=r"rate limit", mark=RATE_LIMIT, statuses=(429,)),
        Words(pattern=r"blocked by guardrail", mark=refused("guardrail")),
    ),
)
