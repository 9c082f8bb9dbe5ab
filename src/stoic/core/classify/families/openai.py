"""OpenAI: https://developers.openai.com/api/docs/guides/error-codes and the types of openai-python 3.57."""

import re

from stoic.core.classify.families.grammar import CONTEXT, HISTORY, LARGER_THAN_LIMIT, MAX_TOKENS
from stoic.core.classify.fields import text
from stoic.core.classify.rules import (
    AUTH,
    BAD_SCHEMA,
    CONTEXT_LENGTH,
    HISTORY_CORRUPT,
    IMAGE_TOO_LARGE,
    MODEL_NOT_FOUND,
    OVERLOADED,
    PERMISSION,
    QUOTA,
    REFUSED,
    UNKNOWN,
    ErrorObject,
    Family,
    Finding,
    Words,
    codes,
    refused,
    soft,
)

SERVICE_WORDS: tuple[Words, ...] = (
    *LARGER_THAN_LIMIT,
    *MAX_TOKENS,
    *CONTEXT,
    Words(
        pattern=r"input tokens exceed the configured limit|reduce the length of the messages",
        mark=CONTEXT_LENGTH,
    ),
    *HISTORY,
    Words(
        pattern=r"tool_calls\[\d+\]\.(?:id|function\.name)|input\[\d+\]\.(?:call_)?id'|Item '\w+' of type '\w+' was provided without its|Duplicate item found with id",
        mark=HISTORY_CORRUPT,
    ),
    Words(
        pattern=r"content'?: expected .{0,40}, (?:but )?got null|'content' is a required property|'?content'? .{0,40}is (?:null|required)",
        mark=HISTORY_CORRUPT,
    ),
    Words(pattern=r"Invalid schema for|is not a valid JSON schema|Invalid tool", mark=BAD_SCHEMA),
    Words(
        pattern=r"image.{0,60}(?:too large|exceeds?|larger than)|too many images",
        mark=IMAGE_TOO_LARGE,
        statuses=(400, 413),
    ),
    Words(
        pattern=r"flagged as potentially violating|violat\w+ (?:our|OpenAI'?s) usage polic|limited access to this content for safety",
        mark=REFUSED,
    ),
    Words(pattern=r"safety_violations=\[(?P<category>\w+)", mark=REFUSED),
    Words(pattern=r"rejected (?:as a result of|by) (?:our|the) safety system", mark=refused("moderation")),
)
"""What the models' own service says, at OpenAI and at Azure alike."""


def reads_param(error: ErrorObject) -> Finding | None:
    """Read which request parameter an error points at: one below `tools` is about a tool's declaration."""
    param = text(error.data.get("param"))
    if error.status in (400, None) and re.match(r"(?:tools|functions)\b", param):
        return Finding(mark=BAD_SCHEMA, field=f"{error.path}.param", value=param)
    return None


FAMILY = Family(
    codes={
        **codes(
            permission="missing_scope insufficient_scope", quota="access_suspended", quota_config="usage_not_included"
        ),
        "invalidprompt": soft(UNKNOWN),  # a policy verdict or a malformed prompt: only the text tells
    },
    words=(
        *SERVICE_WORDS,
        Words(pattern=r"access was terminated|violation of our policies", mark=refused(scope="account")),
        Words(
            pattern=r"insufficient permissions|Missing scopes|IP not authorized|not authorized .{0,20}IP|must be verified",
            mark=PERMISSION,
        ),
        Words(pattern=r"Incorrect API key|must be a member of an organization|Invalid Authentication", mark=AUTH),
        Words(pattern=r"exceeded your current quota|account is not active|billing (?:hard )?limit", mark=QUOTA),
        Words(pattern=r"does not exist or you do not have access|does not have access to model", mark=MODEL_NOT_FOUND),
        Words(
            pattern=r"currently overloaded|experiencing high (?:demand|load|traffic)",
            mark=OVERLOADED,
            statuses=(429, 500, 503),
        ),
    ),
    read=reads_param,
)
