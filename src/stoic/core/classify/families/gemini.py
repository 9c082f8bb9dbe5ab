"""Google's Gemini API: https://ai.google.dev/gemini-api/docs/troubleshooting and google.rpc error details."""

import re

from stoic.core.classify.fields import items, mapping, text, word
from stoic.core.classify.rules import (
    AUTH,
    BAD_SCHEMA,
    CONTEXT_LENGTH,
    HISTORY_CORRUPT,
    IMAGE_TOO_LARGE,
    INVALID_REQUEST,
    MODEL_NOT_FOUND,
    OVERLOADED,
    PERMISSION,
    QUOTA,
    QUOTA_DAY,
    RATE_LIMIT,
    SIGNATURE_INVALID,
    ErrorObject,
    Family,
    Finding,
    Mark,
    Words,
    codes,
)
from stoic.core.failures import Axis

_NO_ALLOWANCE = Mark(failure=QUOTA.failure, axis=Axis.CONFIG, waits=False)
"""A limit of zero: the plan has no allowance for this model, whatever retry delay is stated."""


def reads_violations(error: ErrorObject) -> Finding | None:
    """Read google.rpc.QuotaFailure: which window is used up, and whether the allowance is nothing at all."""
    found: Finding | None = None
    for index, detail in enumerate(items(error.data.get("details"))):
        for violation in map(mapping, items(mapping(detail).get("violations"))):
            quota_id = text(violation.get("quotaId"))
            field = f"{error.path}.details[{index}].violations.quotaId"
            if word(violation.get("quotaValue")) == "0":
                return Finding(mark=_NO_ALLOWANCE, field=field, value=quota_id)
            if re.search(r"Per(?:Day|Month)", quota_id):  # its retryDelay is misleading: it resets at midnight Pacific
                return Finding(mark=QUOTA_DAY, field=field, value=quota_id)
            if re.search(r"Per(?:Minute|Second|Hour)", quota_id):
                found = Finding(mark=RATE_LIMIT, field=field, value=quota_id)
    return found


WORDS: tuple[Words, ...] = (
    Words(pattern=r"limit: 0\b", mark=_NO_ALLOWANCE, statuses=(429,)),
    Words(pattern=r"requests? per day|per_day|PerDay|daily (?:limit|quota)", mark=QUOTA_DAY, statuses=(429,)),
    Words(pattern=r"credits? (?:are |is |balance )?(?:depleted|exhausted)|prepay", mark=QUOTA, statuses=(402, 429)),
    Words(pattern=r"model is overloaded|high demand", mark=OVERLOADED),
    Words(pattern=r"API key (?:not valid|expired|not found)|pass a valid API key|reported as leaked", mark=AUTH),
    Words(pattern=r"location is not supported|free tier is not available|has not been used in project|only accessible to billed users", mark=PERMISSION),
    Words(pattern=r"enable billing|billing .{0,40}(?:disabled|not enabled|required)", mark=QUOTA),
    Words(pattern=r"exceeds the maximum number of (?:input )?tokens|only supports up to|request payload size exceeds", mark=CONTEXT_LENGTH),
    Words(pattern=r"max_?output_?tokens.{0,80}(?:range|must be|supported)", mark=INVALID_REQUEST),
    Words(pattern=r"thought[_ ]?signature", mark=SIGNATURE_INVALID),
    Words(pattern=r"function (?:response|call) (?:parts|turn)|single turn requests end with a user role|multiturn requests (?:alternate|end)|contents? (?:is not specified|are required)|at least one contents field is required|must (?:include at least one parts field|have a text parameter)|empty text parameter|\.parts must not be empty", mark=HISTORY_CORRUPT),
    Words(pattern=r"function_declarations|functionDeclaration|response_schema|responseSchema|Invalid (?:JSON )?schema|'tools\[\d+\]|specified schema produces", mark=BAD_SCHEMA),
    Words(pattern=r"image.{0,60}(?:too large|exceeds)", mark=IMAGE_TOO_LARGE),
    Words(pattern=r"is not found for API version|not supported for generateContent|Publisher Model .{0,200}not found", mark=MODEL_NOT_FOUND),
)  # fmt: skip

FAMILY = Family(
    codes=codes(
        soft_rate_limit="quota_exceeded",  # the Interactions API documents it as retryable
        permission="location_unsupported",
    ),
    words=WORDS,
    read=reads_violations,
)
