"""Groq: https://console.groq.com/docs/errors."""

from stoic.core.classify.families.grammar import CONTEXT, HISTORY, LARGER_THAN_LIMIT, MAX_TOKENS
from stoic.core.classify.rules import (
    AUTH,
    BAD_SCHEMA,
    CONTEXT_LENGTH,
    HISTORY_CORRUPT,
    IMAGE_TOO_LARGE,
    MALFORMED_TOOL_CALL,
    MODEL_NOT_FOUND,
    OVERLOADED,
    PERMISSION,
    Family,
    Words,
    codes,
)

FAMILY = Family(
    codes=codes(
        permission="blocked_api_access model_permission_blocked_org model_permission_blocked_project",
        overloaded="over_capacity",
    ),
    words=(
        *LARGER_THAN_LIMIT,
        *MAX_TOKENS,
        *CONTEXT,
        Words(pattern=r"reduce the length of the messages|reduce your message size", mark=CONTEXT_LENGTH),
        *HISTORY,
        Words(pattern=r"for 'role:\w+'.{0,120}(?:must|unsupported|required)", mark=HISTORY_CORRUPT),
        Words(
            pattern=r"failed_generation|Failed to (?:call a function|generate JSON|parse tool call)|Tool call validation failed",
            mark=MALFORMED_TOOL_CALL,
        ),
        Words(pattern=r"invalid JSON schema|Invalid schema", mark=BAD_SCHEMA),
        Words(pattern=r"image.{0,60}(?:too large|exceeds|too many pixels)", mark=IMAGE_TOO_LARGE),
        Words(pattern=r"decommissioned|does not exist or you do not have access", mark=MODEL_NOT_FOUND),
        Words(pattern=r"over capacity|high demand", mark=OVERLOADED),
        Words(pattern=r"Invalid API Key", mark=AUTH),
        Words(pattern=r"Organization has been restricted|terms acceptance", mark=PERMISSION),
    ),
)
