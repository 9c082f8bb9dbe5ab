"""vLLM's OpenAI-compatible server."""

from stoic.core.classify.families.grammar import CONTEXT, HISTORY
from stoic.core.classify.rules import (
    BAD_SCHEMA,
    CONTEXT_LENGTH,
    HISTORY_CORRUPT,
    INVALID_CONFIG,
    INVALID_REQUEST,
    MODEL_NOT_FOUND,
    SERVER_CONFIG,
    SERVER_ERROR,
    Family,
    Words,
)

_N = r"[\d,]+"

FAMILY = Family(
    words=(
        Words(
            pattern=r"tool choice requires|tool-call-parser|default chat template is no longer allowed|does not support (?:tool|chat)",
            mark=INVALID_CONFIG,
        ),
        *CONTEXT,
        Words(
            pattern=rf"passed (?P<input>{_N}) input tokens and requested {_N} output tokens.{{0,80}}?context length is only (?P<limit>{_N})",
            mark=CONTEXT_LENGTH,
        ),
        Words(
            pattern=r"longer than the maximum model length|exceeds? (?:the )?max(?:imum)?[_ ]model[_ ]len",
            mark=CONTEXT_LENGTH,
        ),
        *HISTORY,
        Words(
            pattern=r"Conversation roles|TemplateError|jinja2|same number of function calls|Expected last role|Unexpected role|no previous assistant message with a tool call",
            mark=HISTORY_CORRUPT,
        ),
        Words(pattern=r"grammar|json ?schema", mark=BAD_SCHEMA, statuses=(400,)),
        Words(pattern=r"At most \d+ \w+\(?s?\)? may be provided", mark=INVALID_REQUEST),
        Words(pattern=r"model .{0,200}does not exist", mark=MODEL_NOT_FOUND),
        Words(pattern=r"out of memory", mark=SERVER_CONFIG),
        Words(pattern=r"EngineCore|EngineDead|engine .{0,20}dead", mark=SERVER_ERROR),
    ),
)
