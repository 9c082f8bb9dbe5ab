"""Fireworks: https://docs.fireworks.ai/guides/inference-error-codes; its 412 means a suspended account."""

from stoic.core.classify.families.grammar import CONTEXT, HISTORY
from stoic.core.classify.rules import (
    BAD_SCHEMA,
    CONTEXT_LENGTH,
    INVALID_REQUEST,
    MODEL_NOT_FOUND,
    OVERLOADED,
    QUOTA,
    RATE_LIMIT,
    Family,
    Words,
)

FAMILY = Family(
    statuses={412: QUOTA},
    words=(
        Words(pattern=r"account .{0,60}suspended|spending limit|past invoices", mark=QUOTA),
        Words(pattern=r"max_tokens .{0,40}must have stream|max_tokens.{0,40}too (?:large|high)", mark=INVALID_REQUEST),
        Words(
            pattern=r"prompt is too long|exceeds the max(?:imum)? (?:number of )?tokens|longer than the model's",
            mark=CONTEXT_LENGTH,
        ),
        *CONTEXT,
        *HISTORY,
        Words(pattern=r"Model not found|not deployed", mark=MODEL_NOT_FOUND),
        Words(
            pattern=r"JSON Schema not supported|(?:tool|function|response).{0,30}schema",
            mark=BAD_SCHEMA,
            statuses=(400, 422),
        ),
        Words(pattern=r"overloaded|at capacity", mark=OVERLOADED),
        Words(pattern=r"rate limit", mark=RATE_LIMIT, statuses=(429,)),
    ),
)
