"""Google's Vertex AI: Gemini's errors, and those of Anthropic's models it serves."""

from stoic.core.classify.families import anthropic, gemini
from stoic.core.classify.rules import Family

FAMILY = Family(
    codes=gemini.FAMILY.codes,
    words=(*gemini.WORDS, *anthropic.MODEL_WORDS),
    read=gemini.reads_violations,
)
