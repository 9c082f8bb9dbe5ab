"""Moonshot (Kimi): https://platform.kimi.ai/docs/api/errors and Kimi Code's error reference."""

from stoic.core.classify.families.grammar import HISTORY
from stoic.core.classify.rules import (
    AUTH,
    BAD_SCHEMA,
    CONTEXT_LENGTH,
    HISTORY_CORRUPT,
    MODEL_NOT_FOUND,
    OVERLOADED,
    PERMISSION,
    QUOTA,
    QUOTA_TIME,
    RATE_LIMIT,
    Family,
    Words,
    refused,
)

FAMILY = Family(
    words=(
        Words(pattern=r"considered high risk", mark=refused("high_risk")),
        Words(pattern=r"Access terminated", mark=refused(scope="account")),
        Words(pattern=r"exceeded model token limit|token length too long", mark=CONTEXT_LENGTH),
        *HISTORY,
        Words(
            pattern=r"must not be empty|reasoning_content is missing|tool_call_id",
            mark=HISTORY_CORRUPT,
            statuses=(400,),
        ),
        Words(pattern=r"moonshot flavored json schema|function name is invalid|tools\.function", mark=BAD_SCHEMA),
        Words(pattern=r"usage limit for this (?:period|billing cycle|week)", mark=QUOTA_TIME),
        Words(
            pattern=r"suspended|insufficient balance|exceeded your current token quota|exceeded_current_quota|membership benefits",
            mark=QUOTA,
        ),
        Words(pattern=r"currently overloaded|receiving too many requests", mark=OVERLOADED),
        Words(
            pattern=r"request reached (?:max|organization|user|TPM|TPD) |reached (?:max )?(?:organization|user) |max RPM",
            mark=RATE_LIMIT,
        ),
        Words(pattern=r"only available for Coding Agents", mark=PERMISSION),
        Words(pattern=r"Invalid Authentication|API Key appears to be invalid", mark=AUTH),
        Words(pattern=r"Not found the model|model .{0,60}(?:not found|permission denied)", mark=MODEL_NOT_FOUND),
    ),
)
