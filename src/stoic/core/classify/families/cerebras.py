"""Cerebras: https://inference-docs.cerebras.ai/support/error."""

from stoic.core.classify.families.grammar import CONTEXT, HISTORY
from stoic.core.classify.rules import BAD_SCHEMA, CONTEXT_LENGTH, OVERLOADED, RATE_LIMIT, Family, Words, codes

FAMILY = Family(
    codes=codes(
        # Its "quota" is a window of a minute, an hour or a day.
        rate_limit="request_quota_exceeded token_quota_exceeded tokens_per_minute_exceeded requests_per_minute_exceeded",
    ),
    words=(
        *CONTEXT,
        Words(pattern=r"reduce the length of the messages|Current length is", mark=CONTEXT_LENGTH),
        *HISTORY,
        Words(pattern=r"high traffic|too busy", mark=OVERLOADED),
        Words(pattern=r"(?:JSON|tool|function|response).{0,30}schema|Tools with", mark=BAD_SCHEMA, statuses=(400, 422)),
        Words(pattern=r"per minute|rate limit", mark=RATE_LIMIT, statuses=(429,)),
    ),
)
