"""Cohere: https://docs.cohere.com/errors-reference; a message and nothing else."""

from stoic.core.classify.rules import (
    AUTH,
    BAD_SCHEMA,
    CONTEXT_LENGTH,
    HISTORY_CORRUPT,
    INVALID_REQUEST,
    MODEL_NOT_FOUND,
    QUOTA,
    QUOTA_CONFIG,
    RATE_LIMIT,
    Family,
    Words,
    refused,
)

FAMILY = Family(
    statuses={498: refused("blocklist")},  # a deny-listed token in the request or the answer
    words=(
        Words(
            pattern=r"max tokens must be less than or equal to (?P<most>\d+)|max_tokens must be", mark=INVALID_REQUEST
        ),
        Words(pattern=r"too many tokens|total number of tokens|reduce the (?:prompt|input)", mark=CONTEXT_LENGTH),
        Words(pattern=r"API calls ?/ ?month|trial .{0,60}month", mark=QUOTA),
        Words(pattern=r"API calls ?/ ?minute|rate limit|per minute request limit", mark=RATE_LIMIT, statuses=(429,)),
        Words(pattern=r"invalid api token|no api key supplied|API key has expired", mark=AUTH),
        Words(pattern=r"Maximum billing reached", mark=QUOTA_CONFIG),  # what a person set in the dashboard
        Words(
            pattern=r"add (?:or update )?(?:a |your )?payment method|update your payment method|billing",
            mark=QUOTA,
            statuses=(402, 429),
        ),
        Words(pattern=r"model .{0,60}(?:not found|was removed|deprecated)", mark=MODEL_NOT_FOUND),
        Words(
            pattern=r"tool[_ ]call[_ ]id|tool[_ ]results|duplicate tool ids|tool call must be|at least 1 token long|elements in history|empty in a turn|must be the first in the list|role in chat_history|tool_calls? must|tool result.{0,40}must|at least one (?:message|token)",
            mark=HISTORY_CORRUPT,
        ),
        Words(
            pattern=r"tool names can|tool must have|schema must be|not found in properties|property \S+ must have|invalid tool|parameter_definitions|json ?schema",
            mark=BAD_SCHEMA,
        ),
    ),
)
