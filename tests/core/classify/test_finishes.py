"""Each finish reason of the common APIs means the same, whoever says it."""

import pytest

from stoic.core.classify import classify, report_from

REASONS = {
    "ok": "stop end_turn stop_sequence eos eos_token complete completed finished pause_turn finish stop_token load unload",
    "malformed_tool_call": (
        "tool_calls tool_call tool_use function_call malformed_function_call malformed_tool_use malformed_tool_call "
        "malformed_model_output malformed_response unexpected_tool_call too_many_tool_calls"
    ),
    "unknown": "recitation image_recitation no_image image_other brand_new",
    "output_limit": "length max_tokens max_output_tokens max_length model_length max_messages error_limit",
    "context_length": "model_context_window_exceeded",
    "server_error": "error failed abort server_error",
    "timeout": "timeout time_limit",
    "cancelled": "cancelled canceled user_cancel",
    "signature_invalid": "missing_thought_signature",
}
"""By class, of a reply that says something and calls nothing."""
# Of each reason of a refusal: its category and side.
REFUSALS = {
    "refusal": (None, "completion"),
    "content_filter": (None, "completion"),
    "content_filtered": (None, "completion"),
    "safety": (None, "completion"),
    "prohibited_content": ("prohibited_content", "completion"),
    "spii": ("pii", "completion"),
    "blocklist": ("blocklist", "completion"),
    "model_armor": ("guardrail", "completion"),
    "escalation": (None, "prompt"),
    "image_safety": ("image", "completion"),
    "image_prohibited_content": ("image", "completion"),
    "error_toxic": (None, "completion"),
    "guardrail_intervened": ("guardrail", "completion"),
    "sensitive": ("sensitive", "completion"),
}


def verdict(reason, said="hi", **message):
    body = {"choices": [{"message": {"content": said, **message}, "finish_reason": reason}]}
    return classify(report_from({"provider": "x", "status": 200, "body": body}))


@pytest.mark.parametrize(
    ("reason", "expected"), [(one, name) for name, listed in REASONS.items() for one in listed.split()]
)
def test_reason_has_its_class_however_it_is_written(reason, expected):
    assert verdict(reason).name == expected
    assert verdict(f"{reason.upper()} : as a gateway says it").name == expected


@pytest.mark.parametrize("reason", REFUSALS)
def test_reason_of_a_refusal_names_its_category_and_side(reason):
    found = verdict(reason)
    assert (found.name, found.category, found.where) == ("refusal", *REFUSALS[reason])


@pytest.mark.parametrize("reason", ["content_filter", "safety", "sensitive", "model_armor", "escalation", "refusal"])
def test_side_of_a_reason_holds_for_a_reply_that_says_nothing(reason):
    assert verdict(reason, "").where == ("prompt" if reason in ("refusal", "escalation") else "completion")


@pytest.mark.parametrize("reason", ["recitation", "image_recitation", "no_image", "image_other"])
def test_sample_thrown_away_with_nothing_left_is_an_empty_response(reason):
    assert verdict(reason, "").name == "empty_response"


def test_blank_arguments_are_none():
    call = {"function": {"name": "f", "arguments": " \n"}}
    assert verdict("tool_calls", tool_calls=[call]).name == "ok"


def test_reason_that_is_prose_is_no_evidence():
    assert [(one.field, one.value) for one in verdict("It ran out").evidence] == [("body.choices[0].finish_reason", "")]
    body = {"promptFeedback": {"blockReason": "It asked for a bomb"}}
    found = classify(report_from({"provider": "x", "status": 200, "body": body}))
    assert [(one.field, one.value) for one in found.evidence] == [("body.promptFeedback.blockReason", "")]
