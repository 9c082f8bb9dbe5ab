"""Amazon Bedrock: https://docs.aws.amazon.com/bedrock/latest/userguide/troubleshooting-api-error-codes.html."""

from stoic.core.classify.families import anthropic
from stoic.core.classify.rules import (
    AUTH,
    BAD_SCHEMA,
    CONTEXT_LENGTH,
    HISTORY_CORRUPT,
    IMAGE_TOO_LARGE,
    INVALID_CONFIG,
    INVALID_REQUEST,
    MODEL_NOT_FOUND,
    OVERLOADED,
    PERMISSION,
    PERMISSION_TIME,
    QUOTA_DAY,
    REFUSED,
    Family,
    Words,
    codes,
    refused,
)

FAMILY = Family(
    codes=codes(
        permission_time="mpagreementbeingcreated",  # the marketplace subscription is still being processed
    ),
    words=(
        Words(pattern=r"The generated \w+ .{0,20}been blocked", mark=refused(where="completion")),
        Words(pattern=r"blocked by our content filters|content filter policy", mark=REFUSED),
        Words(pattern=r"too many tokens per day|daily (?:token|request)", mark=QUOTA_DAY),
        Words(
            pattern=r"maximum tokens you requested exceeds? the model limit of (?P<most>[\d,]+)", mark=INVALID_REQUEST
        ),
        Words(pattern=r"too many connections|model is (?:currently )?(?:overloaded|not ready)", mark=OVERLOADED),
        Words(
            pattern=r"maximum context length|too many (?:input )?tokens\. Max|exceeds? the maximum (?:number of )?(?:input )?tokens|number of input tokens exceeds",
            mark=CONTEXT_LENGTH,
        ),
        Words(
            pattern=r"toolResult|tool result blocks cannot|toolUse.{0,60}(?:without|must|missing)|conversation must (?:start|end|alternate)|blank text|text field .{0,100}(?:blank|empty)|content field .{0,60}is empty",
            mark=HISTORY_CORRUPT,
        ),
        Words(pattern=r"toolConfig\.|toolSpec|inputSchema", mark=BAD_SCHEMA),
        Words(pattern=r"image.{0,60}(?:exceeds|too large|size)", mark=IMAGE_TOO_LARGE),
        Words(
            pattern=r"model identifier is invalid|model ID .{0,80}(?:invalid|not (?:found|supported))|end of its life|on-demand throughput isn.t supported|Could not resolve the foundation model",
            mark=MODEL_NOT_FOUND,
        ),
        Words(pattern=r"agreement is being|subscription .{0,60}(?:is being|still being)", mark=PERMISSION_TIME),
        Words(
            pattern=r"don.t have access to the model|not authorized to perform|use case details have not been submitted|model access is denied",
            mark=PERMISSION,
        ),
        Words(pattern=r"security token|signature .{0,40}(?:match|expired)|Bearer Token has expired", mark=AUTH),
        Words(
            pattern=r"doesn.t support (?:tool use|system|the model)|does not support (?:tool use|streaming)",
            mark=INVALID_CONFIG,
        ),
        *anthropic.MODEL_WORDS,
    ),
)
