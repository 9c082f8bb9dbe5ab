"""Azure OpenAI: https://learn.microsoft.com/azure/ai-foundry/openai/ and its content filter's error format."""

from stoic.core.classify.families.openai import SERVICE_WORDS, reads_param
from stoic.core.classify.rules import (
    AUTH,
    MODEL_NOT_FOUND,
    OVERLOADED,
    PERMISSION,
    QUOTA_CONFIG,
    QUOTA_TIME,
    RATE_LIMIT,
    REFUSED,
    UNKNOWN,
    Family,
    Words,
    codes,
    refused,
    soft,
)

FAMILY = Family(
    codes={
        **codes(
            model_not_found="operationnotsupported",  # the deployed model cannot do it
            permission="authorizationfailed publicnetworkaccessdisabled",
            quota_config="insufficientquota subscriptionnotfound",
        ),
        "invalidprompt": soft(UNKNOWN),
    },
    words=(
        *SERVICE_WORDS,
        Words(pattern=r"content management policy|content filter(?:ing)? polic", mark=REFUSED, statuses=(400,)),
        Words(pattern=r"temporarily blocked.{0,120}(?:polic|behavior|abus)", mark=refused(scope="account")),
        Words(pattern=r"out of call volume quota", mark=QUOTA_TIME),  # API Management before the service
        Words(pattern=r"high demand|temporarily unable to process", mark=OVERLOADED),
        Words(
            pattern=r"exceeded (?:the )?(?:\w+ ){0,2}rate limit|have been limited|rate limit is exceeded",
            mark=RATE_LIMIT,
        ),
        Words(pattern=r"invalid subscription key|missing subscription key|token is expired", mark=AUTH),
        Words(
            pattern=r"Virtual Network|firewall rules|public access is disabled|lacks the required data action",
            mark=PERMISSION,
        ),
        Words(pattern=r"API deployment for this resource does not exist", mark=MODEL_NOT_FOUND),
        Words(pattern=r"free (?:account|tier|trial) .{0,60}(?:exceeded|used up|expired)", mark=QUOTA_CONFIG),
    ),
    read=reads_param,
)
