"""Cohere: https://docs.cohere.com/errors-reference; a message and nothing else."""

from stoic.core.classify.rules import (
    AUTH,
    BAD_SCHEMA,
    CONTEXT_LENGTH,
    HISTORY_CORRUPT,
    INVALID_REQUEST,
    MODEL_NOT_FOUND,
    OUTPUT_LIMIT,
    QUOTA,
    RATE_LIMIT,
    Family,
    Words,
    refused,
)

FAMILY = Family(
    statuses={498: refused("blocklist")},  # a deny-listed token in the request or the answer
    words=(
        Words(pattern=r"too many tokens|total number of tokens|reduce the (?:prompt|input)", mark=CONTEXT_LENGTH),
        Words(pattern=r"API calls ?/ ?month|trial .{0,60}(?:monthly|month)", mark=QUOTA),
        Words(pattern=r"API calls ?/ ?minute|rate limit|too many requests", mark=RATE_LIMIT, statuses=(429,)),
        Words(pattern=r"invalid api token|no api key supplied", mark=AUTH),
        Words(pattern=r"add (?:or update )?(?:a |your )?payment method|billing", mark=QUOTA, statuses=(402, 429)),
        Words(pattern=r"model .{0,60}(?:not found|was removed|deprecated)", mark=MODEL_NOT_FOUND),
        Words(pattern=r"max_tokens must be", mark=INVALID_REQUEST),
        Words(
            pattern=r"tool[_ ]call[_ ]id|tool results?.{0,40}must|tool_calls? must|at least one (?:message|token)",
            mark=HISTORY_CORRUPT,
        ),
        Words(pattern=r"invalid tool|parameter_definitions|json ?schema", mark=BAD_SCHEMA),
    ),
    finishes={"error_limit": OUTPUT_LIMIT},
)
