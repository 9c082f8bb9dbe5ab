"""xAI: `code` is prose and `error` a string, https://docs.x.ai/docs/key-information/debugging."""

import re

from stoic.core.classify.families.grammar import HISTORY
from stoic.core.classify.fields import fold
from stoic.core.classify.rules import (
    AUTH,
    BAD_SCHEMA,
    CONTEXT_LENGTH,
    HISTORY_CORRUPT,
    IMAGE_TOO_LARGE,
    MODEL_NOT_FOUND,
    OVERLOADED,
    PERMISSION,
    QUOTA,
    RATE_LIMIT,
    SERVER_ERROR,
    TIMEOUT,
    ErrorObject,
    Family,
    Finding,
    Words,
    refused,
    soft,
)


def _reads_check(error: ErrorObject) -> Finding | None:
    """Read which safety check failed; its name stands in the text behind a fixed sentence."""
    if not re.search(r"Content violates usage guidelines", error.message, re.IGNORECASE):
        return None
    check = re.search(r"SAFETY_CHECK_TYPE_([A-Z_]+)", error.message)
    category = check[1].lower() if check else None
    return Finding(mark=refused(category), field=error.message_field, value="")


FAMILY = Family(
    codes={
        fold("Some resource has been exhausted"): soft(RATE_LIMIT),
        fold("The service is currently unavailable"): soft(OVERLOADED),
        fold("The caller does not have permission to execute the specified operation"): soft(PERMISSION),
        fold("Some requested entity was not found"): soft(MODEL_NOT_FOUND),
        fold("The request does not have valid authentication credentials for the operation"): AUTH,
        fold("Deadline expired before operation could complete"): TIMEOUT,
        fold("The operation was aborted"): soft(SERVER_ERROR),
    },
    words=(
        Words(pattern=r"model .{0,80}(?:does not exist|not found)", mark=MODEL_NOT_FOUND),
        Words(
            pattern=r"used all available credits|run out of credits|doesn.t have any credits|monthly spending limit|purchase more credits",
            mark=QUOTA,
        ),
        Words(
            pattern=r"Incorrect API key|API key is (?:currently )?(?:blocked|disabled|invalid|expired)|Invalid or expired",
            mark=AUTH,
        ),
        Words(
            pattern=r"maximum prompt length is|exceeds? the (?:model'?s )?(?:maximum )?(?:context|prompt) (?:length|window)",
            mark=CONTEXT_LENGTH,
        ),
        Words(pattern=r"at capacity|high demand|overloaded", mark=OVERLOADED),
        *HISTORY,
        Words(
            pattern=r"must have at least one content element|content cannot be empty|empty (?:message|content)",
            mark=HISTORY_CORRUPT,
        ),
        Words(pattern=r"(?:tool|function).{0,40}schema|Invalid JSON schema", mark=BAD_SCHEMA),
        Words(pattern=r"image.{0,60}(?:too large|exceeds)", mark=IMAGE_TOO_LARGE),
        Words(pattern=r"rate limit|Too many requests", mark=RATE_LIMIT, statuses=(429,)),
    ),
    read=_reads_check,
)
