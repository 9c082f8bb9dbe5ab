"""DeepSeek says most things in words only: https://api-docs.deepseek.com/quick_start/error_codes."""

from stoic.core.classify.families.grammar import CONTEXT, HISTORY, MAX_TOKENS
from stoic.core.classify.rules import (
    AUTH,
    BAD_SCHEMA,
    HISTORY_CORRUPT,
    MODEL_NOT_FOUND,
    OVERLOADED,
    QUOTA,
    RATE_LIMIT,
    Family,
    Words,
    refused,
)

FAMILY = Family(
    words=(
        Words(pattern=r"Content Exists Risk", mark=refused("sensitive")),
        Words(pattern=r"Insufficient Balance", mark=QUOTA),
        Words(
            pattern=r"reasoning_content.{0,80}(?:missing|required)|must be passed back|Missing .?reasoning_content|of deepseek-\S+ must be a user message",
            mark=HISTORY_CORRUPT,
        ),
        *MAX_TOKENS,
        *CONTEXT,
        *HISTORY,
        Words(pattern=r"Invalid schema|Invalid '?tool|function parameters", mark=BAD_SCHEMA, statuses=(400, 422)),
        Words(pattern=r"Model Not Exist", mark=MODEL_NOT_FOUND),
        Words(pattern=r"Authentication Fails|no such user|Authorization .{0,40}(?:invalid|missing)", mark=AUTH),
        Words(pattern=r"too busy|server overloaded|high traffic", mark=OVERLOADED),
        Words(pattern=r"Rate limit reached|too quickly", mark=RATE_LIMIT, statuses=(429,)),
    ),
    finishes={"insufficient_system_resource": OVERLOADED},
)
