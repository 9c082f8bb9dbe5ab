"""Perplexity: OpenAI's shape with types of its own."""

from stoic.core.classify.families.grammar import CONTEXT, HISTORY
from stoic.core.classify.rules import AUTH, HISTORY_CORRUPT, MODEL_NOT_FOUND, QUOTA, Family, Words

FAMILY = Family(
    words=(
        *CONTEXT,
        *HISTORY,
        Words(pattern=r"Last message must have role|should be alternating|should alternate", mark=HISTORY_CORRUPT),
        Words(pattern=r"exceeded your current quota|insufficient (?:credits|balance)", mark=QUOTA),
        Words(pattern=r"Invalid model", mark=MODEL_NOT_FOUND),
        Words(pattern=r"Invalid API key", mark=AUTH),
    ),
)
