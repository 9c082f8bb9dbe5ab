"""The Chat Completions API under OpenAI's name: OpenAI itself, or whatever server the base URL leads to."""

from stoic.core.classify.families import compatible, openai
from stoic.core.classify.rules import Family

FAMILY = Family(
    codes=openai.FAMILY.codes,
    words=(*openai.FAMILY.words, *compatible.FAMILY.words),
    finishes=compatible.FAMILY.finishes,
    read=openai.FAMILY.read,
    compatible=True,
)
