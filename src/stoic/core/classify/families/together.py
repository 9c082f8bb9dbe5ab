"""Together: https://docs.together.ai/docs/error-codes; its 403 means an overflow of the context."""

from stoic.core.classify.families.grammar import CONTEXT, HISTORY
from stoic.core.classify.rules import (
    AUTH,
    BAD_SCHEMA,
    CONTEXT_LENGTH,
    MODEL_NOT_FOUND,
    OVERLOADED,
    QUOTA,
    QUOTA_CONFIG,
    RATE_LIMIT,
    Family,
    Words,
    soft,
)

_N = r"[\d,]+"

FAMILY = Family(
    codes={"creditlimit": soft(QUOTA_CONFIG)},  # the cap the account set for itself, unless the text says more
    words=(
        Words(
            pattern=rf"`?inputs`? tokens \+ `?max_new_tokens`? must be <= (?P<limit>{_N})\. Given: (?P<input>{_N})",
            mark=CONTEXT_LENGTH,
        ),
        Words(pattern=r"must be less than the context length|Input token count", mark=CONTEXT_LENGTH),
        *CONTEXT,
        *HISTORY,
        Words(pattern=r"spending limit", mark=QUOTA_CONFIG),
        Words(pattern=r"credit limit|insufficient credits|requires payment|add a (?:credit card|payment)", mark=QUOTA),
        Words(pattern=r"overloaded|at capacity", mark=OVERLOADED),
        Words(
            pattern=r"Unable to access (?:non-serverless )?model|model .{0,60}(?:does not exist|not available|not found)",
            mark=MODEL_NOT_FOUND,
        ),
        Words(pattern=r"Invalid API key|API key .{0,30}(?:missing|invalid)", mark=AUTH),
        Words(pattern=r"Invalid (?:tool|function|JSON) schema", mark=BAD_SCHEMA),
        Words(pattern=r"rate limit", mark=RATE_LIMIT, statuses=(429,)),
    ),
)
