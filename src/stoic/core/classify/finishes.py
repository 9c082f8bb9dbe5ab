"""What the finish and stop reasons of the common APIs mean; an unknown one is `unknown`, never a success."""

from stoic.core.classify.rules import (
    CANCELLED,
    CONTEXT_LENGTH,
    MALFORMED_TOOL_CALL,
    OUTPUT_LIMIT,
    SERVER_ERROR,
    SIGNATURE_INVALID,
    TIMEOUT,
    Mark,
    refused,
)

NORMAL = frozenset(
    [
        "stop",
        "end_turn",
        "stop_sequence",
        "eos",
        "eos_token",
        "complete",
        "completed",
        "finished",
        "tool_calls",
        "tool_call",
        "tool_use",
        "function_call",
        "pause_turn",
        "finish",
        "stop_token",
        "load",
        "unload",
    ]
)
"""Reasons of a reply that ended as it should."""

TOOL = frozenset({"tool_calls", "tool_call", "tool_use", "function_call"})
"""Reasons that promise a tool call."""

RESAMPLED = frozenset({"recitation", "image_recitation", "no_image", "image_other"})
"""The provider threw away this sample; that is no verdict on the request."""

FINISHES: dict[str, Mark] = {
    **dict.fromkeys(
        ("length", "max_tokens", "max_output_tokens", "max_length", "model_length", "max_messages", "error_limit"),
        OUTPUT_LIMIT,
    ),
    "model_context_window_exceeded": CONTEXT_LENGTH,
    **dict.fromkeys(("error", "failed", "abort", "server_error"), SERVER_ERROR),
    **dict.fromkeys(("timeout", "time_limit"), TIMEOUT),
    **dict.fromkeys(("cancelled", "canceled", "user_cancel"), CANCELLED),
    **dict.fromkeys(
        (
            "malformed_function_call",
            "malformed_tool_use",
            "malformed_tool_call",
            "malformed_model_output",
            "malformed_response",
            "unexpected_tool_call",
            "too_many_tool_calls",
        ),
        MALFORMED_TOOL_CALL,
    ),
    "missing_thought_signature": SIGNATURE_INVALID,
    "refusal": refused(),  # where: by whether anything was said
    **dict.fromkeys(("content_filter", "content_filtered"), refused(where="completion")),
    "safety": refused(where="completion"),
    "prohibited_content": refused("prohibited_content", where="completion"),
    "spii": refused("pii", where="completion"),
    "blocklist": refused("blocklist", where="completion"),
    "model_armor": refused("guardrail", where="completion"),
    "escalation": refused(where="prompt"),  # Gemini 3: a rule about the request
    **dict.fromkeys(
        ("image_safety", "image_prohibited_content"), refused("image", where="completion", scope="completion_sample")
    ),
    "error_toxic": refused(where="completion"),  # Cohere v1
    "guardrail_intervened": refused("guardrail"),
    "sensitive": refused("sensitive", where="completion"),
}
"""By lower-case reason; those of `NORMAL` and unknown ones are not here."""


def plain(reason: str | None) -> str:
    """Return a finish reason in lower case, without what a gateway appends (`content_filter: SAFETY`)."""
    return (reason or "").partition(":")[0].strip().lower()
