"""The LiteLLM proxy: its own codes, and the errors of the providers behind it, which it names in the text."""

import re

from stoic.core.classify.error_objects import in_message
from stoic.core.classify.rules import (
    AUTH,
    CONTEXT_LENGTH,
    INVALID_REQUEST,
    MODEL_NOT_FOUND,
    OVERLOADED,
    PERMISSION,
    QUOTA_CONFIG,
    RATE_LIMIT,
    SERVER_ERROR,
    TIMEOUT,
    ErrorObject,
    Family,
    Words,
    codes,
    refused,
)

_BEHIND = re.compile(
    r"(?:litellm\.\w+: )*(?:\w+: )?(?P<provider>\w+?)(?:_chat)?(?:Exception|Error)(?: \w+Error)? - (?P<text>.*)",
    re.DOTALL,
)
_PROVIDERS = {"Vertex_ai_beta": "vertex", "AnthropicVertex": "vertex"}


def _opened(error: ErrorObject) -> list[tuple[ErrorObject, str]]:
    """Return the error behind `litellm.BadRequestError: AnthropicException - …`, under the provider it names."""
    matched = _BEHIND.match(error.message)
    if not matched:
        return []
    provider = _PROVIDERS.get(matched["provider"], matched["provider"])
    prose = ErrorObject(
        path=error.path,
        data={},
        codes=[],
        message=matched["text"],
        message_field=error.message_field,
        status=error.status,
    )
    inside = list(in_message(matched["text"], error.message_field, error.status))
    return [(inner, provider) for inner in [*inside, prose]]


FAMILY = Family(
    codes=codes(
        quota_config="exceededbudget",
        soft_rate_limit="max_parallel_request_limit_reached",
    ),
    words=(
        Words(pattern=r"ContextWindowExceededError", mark=CONTEXT_LENGTH),
        Words(pattern=r"ContentPolicyViolationError", mark=refused("moderation")),
        Words(
            pattern=r"Violated .{0,60}(?:policy|guardrail)|guardrail.{0,40}(?:blocked|violat|intervened|raised an exception)|Content blocked|Blocked entity detected",
            mark=refused("guardrail"),
        ),
        Words(
            pattern=r"Budget has been exceeded|BudgetExceeded|ExceededBudget|Crossed budget|exceeded budget for",
            mark=QUOTA_CONFIG,
        ),
        Words(
            pattern=r"No deployments available|All deployments .{0,40}cooldown|no healthy deployment", mark=OVERLOADED
        ),
        Words(
            pattern=r"Max parallel request limit|Crossed TPM|rate limit .{0,20}(?:exceeded|reached)|litellm\.RateLimitError",
            mark=RATE_LIMIT,
        ),
        Words(
            pattern=r"Invalid model name|model group .{0,60}not found|no such model|LLM Provider NOT provided",
            mark=MODEL_NOT_FOUND,
        ),
        Words(
            pattern=r"not allowed to access model|can only access models|not allowed to call this route",
            mark=PERMISSION,
        ),
        Words(
            pattern=r"Authentication Error|Invalid proxy server token|No api key passed|ExpiredToken|litellm\.AuthenticationError",
            mark=AUTH,
        ),
        Words(pattern=r"litellm\.Timeout|APITimeoutError", mark=TIMEOUT),
        Words(
            pattern=r"litellm\.(?:InternalServerError|APIConnectionError|APIError|BadGatewayError)", mark=SERVER_ERROR
        ),
        Words(pattern=r"litellm\.ServiceUnavailableError", mark=OVERLOADED),
        Words(pattern=r"litellm\.NotFoundError", mark=MODEL_NOT_FOUND),
        Words(pattern=r"UnsupportedParamsError", mark=INVALID_REQUEST),
    ),
    open=_opened,
)
