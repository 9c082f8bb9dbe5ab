"""Anthropic: https://platform.claude.com/docs/en/api/errors and the types of anthropic-sdk-python 2.14."""

from stoic.core.classify.rules import (
    AUTH,
    BAD_SCHEMA,
    CONTEXT_LENGTH,
    HISTORY_CORRUPT,
    IMAGE_TOO_LARGE,
    INVALID_REQUEST,
    PERMISSION,
    QUOTA,
    QUOTA_CONFIG,
    QUOTA_TIME,
    SIGNATURE_INVALID,
    Family,
    Words,
    refused,
)

_N = r"[\d,]+"

MODEL_WORDS: tuple[Words, ...] = (
    Words(
        pattern=r"Output blocked by content filtering policy",
        mark=refused("copyright_or_output_filter", where="completion"),
    ),
    Words(pattern=rf"exceed context limit: (?P<input>{_N}) \+ {_N} > (?P<limit>{_N})", mark=CONTEXT_LENGTH),
    Words(
        pattern=r"prompt is too long|exceed context limit|input is too long|Request exceeds the maximum size",
        mark=CONTEXT_LENGTH,
    ),
    Words(pattern=rf"max_tokens: {_N} > (?P<most>{_N})", mark=INVALID_REQUEST),
    Words(
        pattern=r"`?(?:signature|data)`? in `?(?:redacted_)?thinking`?|thinking\.signature: Field required|thinking.{0,60}cannot be modified|Expected `?thinking`? or `?redacted_thinking`?|must start with a thinking block",
        mark=SIGNATURE_INVALID,
    ),
    Words(
        pattern=r"`?tool_use`? ids? (?:were found without|must be unique)|tool_use must have a single result|unexpected `?tool_use_id`?|`?tool_result`? blocks? .{0,60}(?:immediately after|corresponding)|tool_use\.id: String should match",
        mark=HISTORY_CORRUPT,
    ),
    Words(
        pattern=r"must be non-empty|must have non-empty content|must contain non-whitespace|cannot end with trailing whitespace|roles? must alternate|must use the .user. role|must end with a user message|does not support assistant message prefill|at least one message is required",
        mark=HISTORY_CORRUPT,
    ),
    Words(
        pattern=r"tools\.\d+\.|output_(?:config\.)?format\.schema|JSON schema is invalid|input_schema|Tool names must be unique",
        mark=BAD_SCHEMA,
    ),
    Words(
        pattern=r"image exceeds|image dimensions exceed|many-image requests|image was too large", mark=IMAGE_TOO_LARGE
    ),
)
"""What the models' own service says, also where another cloud serves them."""

FAMILY = Family(
    words=(
        *MODEL_WORDS,
        Words(pattern=r"credit balance is too low", mark=QUOTA),
        Words(
            pattern=r"reached your specified (?:\w+ )?API usage limits|monthly spend limit|Extra usage is required",
            mark=QUOTA_CONFIG,
        ),
        Words(pattern=r"usage limit reached|hit your (?:\w+ )?limit", mark=QUOTA_TIME),
        Words(
            pattern=r"only authorized for use with|organization has been disabled|not allowed for this organization",
            mark=PERMISSION,
        ),
        Words(pattern=r"OAuth (?:token|authentication)|invalid x-api-key", mark=AUTH),
    ),
)
