"""Cloudflare Workers AI: https://developers.cloudflare.com/workers-ai/platform/errors/."""

from stoic.core.classify.families.grammar import CONTEXT
from stoic.core.classify.rules import CONTEXT_LENGTH, OVERLOADED, QUOTA_DAY, Family, Words, codes

FAMILY = Family(
    codes=codes(
        auth="10000 9109",
        model_not_found="5007 3042",
        permission="5016 5018 3023 3041",
        overloaded="3040",
        invalid_config="3039",
        timeout="3007 3046",
        context_length="5021 3006",
        server_error="3008 3043",
    ),
    words=(
        Words(pattern=r"daily free allocation", mark=QUOTA_DAY),
        *CONTEXT,
        Words(pattern=r"exceeded this model context window", mark=CONTEXT_LENGTH),
        Words(pattern=r"Capacity temporarily exceeded", mark=OVERLOADED),
    ),
)
