"""OpenRouter: https://openrouter.ai/docs/api/reference/errors-and-debugging; it passes on other providers' errors."""

from stoic.core.classify.error_objects import in_body
from stoic.core.classify.families.grammar import CONTEXT
from stoic.core.classify.fields import at, decoded, items, mapping, text
from stoic.core.classify.rules import (
    BAD_SCHEMA,
    CONTEXT_LENGTH,
    HISTORY_CORRUPT,
    MODEL_NOT_FOUND,
    OVERLOADED,
    QUOTA,
    QUOTA_CONFIG,
    RATE_LIMIT,
    SERVER_ERROR,
    ErrorObject,
    Family,
    Finding,
    Mark,
    Words,
    codes,
    refused,
)

_LIMIT_SOURCES: dict[str, Mark] = {
    "openrouter_in_flight_budget": RATE_LIMIT,  # lifts as soon as running requests end
    "openrouter_credits": QUOTA,
    "openrouter_guardrail_budget": QUOTA_CONFIG,
    "openrouter_workspace_budget": QUOTA_CONFIG,
    "openrouter_key_limit": QUOTA_CONFIG,
}


def _reads_metadata(error: ErrorObject) -> Finding | None:
    """Read what `metadata` says: why moderation flagged the input, or whose limit was reached."""
    metadata = mapping(error.data.get("metadata"))
    source = text(metadata.get("limit_source"))
    if source in _LIMIT_SOURCES:
        return Finding(mark=_LIMIT_SOURCES[source], field=f"{error.path}.metadata.limit_source", value=source)
    reasons = items(metadata.get("reasons"))
    if reasons or "flagged_input" in metadata:
        category = text(reasons[0]).lower() if reasons else ""
        return Finding(mark=refused(category or "moderation"), field=f"{error.path}.metadata.reasons", value=category)
    return None


def _opened(error: ErrorObject) -> list[tuple[ErrorObject, str]]:
    """Return the error of the provider behind, which `metadata.raw` holds as JSON or as prose."""
    raw = decoded(at(error.data, "metadata", "raw"))
    provider = text(at(error.data, "metadata", "provider_name"))

    def below(field: str) -> str:
        return f"{error.path}.metadata.raw{field.removeprefix('body')}"

    return [
        (
            ErrorObject(
                path=below(inner.path),
                data=inner.data,
                codes=[(below(field), value) for field, value in inner.codes],
                message=inner.message,
                message_field=below(inner.message_field),
                status=inner.status,
            ),
            provider,
        )
        for inner in in_body(raw, error.status or 400)
    ]


FAMILY = Family(
    codes=codes(
        context_length="string_too_long",
        server_error="server unmapped",
        invalid_request="invalid_prompt",
        quota_config="token_limit_exceeded",
        soft_server_error="provider_error",
    ),
    words=(
        Words(
            pattern=r"Request blocked|prompt injection|blocked by (?:a )?guardrail",
            mark=refused("guardrail"),
            statuses=(403,),
        ),
        Words(
            pattern=r"flagged by|requires moderation|was flagged|content policy",
            mark=refused("moderation"),
            statuses=(403,),
        ),
        Words(pattern=r"Key limit exceeded|budget limit exceeded", mark=QUOTA_CONFIG),
        Words(pattern=r"Insufficient credits|requires more credits|never purchased credits", mark=QUOTA),
        Words(pattern=r"free-models-per-day", mark=QUOTA_CONFIG),
        *CONTEXT,
        Words(pattern=r"context length", mark=CONTEXT_LENGTH, statuses=(400, 413)),
        Words(pattern=r"No endpoints found|not a valid model|No allowed providers|data policy", mark=MODEL_NOT_FOUND),
        Words(pattern=r"tool_calls?.{0,60}(?:must|missing|without)|roles must alternate", mark=HISTORY_CORRUPT),
        Words(pattern=r"(?:tool|function|response).{0,30}schema", mark=BAD_SCHEMA, statuses=(400,)),
        Words(pattern=r"temporarily rate-limited upstream|Rate limit exceeded", mark=RATE_LIMIT, statuses=(429,)),
        Words(pattern=r"overloaded|at capacity", mark=OVERLOADED, statuses=(429, 502, 503)),
        Words(pattern=r"Provider disconnected", mark=SERVER_ERROR),
    ),
    read=_reads_metadata,
    open=_opened,
)
