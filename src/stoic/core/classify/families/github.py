"""GitHub Models and Copilot: they serve several makers' models under codes of their own."""

from stoic.core.classify.families.openai import SERVICE_WORDS
from stoic.core.classify.rules import AUTH, CONTEXT_LENGTH, PERMISSION, RATE_LIMIT, Family, Words, codes

FAMILY = Family(
    codes=codes(
        soft_rate_limit="user_global_rate_limited user_model_rate_limited",
        permission="no_access model_not_enabled",
    ),
    words=(
        *SERVICE_WORDS,
        Words(pattern=r"Request body too large|prompt token count of [\d,]+ exceeds", mark=CONTEXT_LENGTH),
        Words(pattern=r"Rate limit of .{0,40} exceeded", mark=RATE_LIMIT),
        Words(pattern=r"Bad credentials|token expired|AuthenticateToken", mark=AUTH),
        Words(pattern=r"Access to this endpoint is forbidden|models permission is required", mark=PERMISSION),
    ),
)
