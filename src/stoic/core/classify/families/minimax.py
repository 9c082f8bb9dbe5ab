"""MiniMax: numbers in `base_resp` or at the end of a text, https://platform.minimax.io/docs/api-reference/errorcode."""

import re

from stoic.core.classify.rules import (
    AUTH,
    BAD_SCHEMA,
    CONTEXT_LENGTH,
    HISTORY_CORRUPT,
    INVALID_REQUEST,
    PERMISSION,
    QUOTA,
    QUOTA_TIME,
    RATE_LIMIT,
    SERVER_ERROR,
    TIMEOUT,
    ErrorObject,
    Family,
    Finding,
    Mark,
    Words,
    refused,
    soft,
)

_NUMBERED: dict[str, Mark] = {
    "1000": SERVER_ERROR,
    "1001": TIMEOUT,
    "1002": RATE_LIMIT,
    "1004": AUTH,
    "1008": QUOTA,
    "1013": SERVER_ERROR,
    "1024": SERVER_ERROR,
    "1026": refused("sensitive", where="prompt"),
    "1027": refused("sensitive", where="completion"),
    "1033": SERVER_ERROR,
    "1039": RATE_LIMIT,
    "1041": RATE_LIMIT,
    "1042": INVALID_REQUEST,
    "2013": soft(INVALID_REQUEST),
    "2045": RATE_LIMIT,
    "2049": AUTH,
    "2056": QUOTA_TIME,
    "2061": PERMISSION,
}


def _reads_number(error: ErrorObject) -> Finding | None:
    """Read the number that ends a text, as in `input new_sensitive (1026)`; compatible endpoints have no other code."""
    matched = re.search(r"\((\d{4})\)\s*$", error.message)
    number = matched[1] if matched else ""
    mark = _NUMBERED.get(number)
    if mark is None or not mark.firm:
        return None
    return Finding(mark=mark, field=error.message_field, value=number)


FAMILY = Family(
    codes=_NUMBERED,
    words=(
        Words(pattern=r"context window exceeds|token limit exceed|context length", mark=CONTEXT_LENGTH),
        Words(
            pattern=r"tool (?:call )?(?:result|id)|function arguments json|chat content is empty|role .{0,30}(?:order|alternate)",
            mark=HISTORY_CORRUPT,
        ),
        Words(pattern=r"function name or parameters|invalid (?:function|tool)", mark=BAD_SCHEMA),
        Words(pattern=r"new_sensitive", mark=refused("sensitive")),
        Words(pattern=r"insufficient balance", mark=QUOTA),
        Words(pattern=r"usage limit", mark=QUOTA_TIME),
        Words(pattern=r"rate limit", mark=RATE_LIMIT),
        Words(pattern=r"invalid params", mark=INVALID_REQUEST),
    ),
    read=_reads_number,
    finishes={"content_filter": refused("sensitive", where="completion")},
)
