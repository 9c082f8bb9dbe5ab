"""Statuses and codes of the common API shapes, one code for each thing that codes can mean."""

import pytest

from stoic.core.classify import classify, report_from
from stoic.core.classify.shared_codes import by_status

CODES = {
    "invalid_api_key": ("auth", "credential"),
    "unsupported_region": ("permission", "config"),
    "forbidden": ("permission", "config"),
    "unknown_model": ("model_not_found", "config"),
    "not_found": ("model_not_found", "config"),
    "insufficient_quota": ("quota", "credential"),
    "budget_exceeded": ("quota", "config"),
    "context_length_exceeded": ("context_length", "compaction"),
    "string_above_max_length": ("context_length", "compaction"),
    "too_many_requests": ("rate_limit", "time"),
    "overloaded": ("overloaded", "time"),
    "unavailable": ("overloaded", "time"),
    "internal_error": ("server_error", "time"),
    "request_timeout": ("timeout", "time"),
    "invalid_tool_schema": ("bad_schema", "request_change"),
    "image_too_large": ("image_too_large", "request_change"),
    "invalid_message": ("history_corrupt", "request_change"),
    "invalid_encrypted_content": ("signature_invalid", "request_change"),
    "tool_use_failed": ("malformed_tool_call", "request_change"),
    "max_output_tokens": ("output_limit", "request_change"),
    "canceled": ("cancelled", "never"),
    "invalid_value": ("invalid_request", "request_change"),
    "unimplemented": ("invalid_request", "config"),
    "bad_request": ("invalid_request", "request_change"),
    "api_error": ("server_error", "time"),
}
REFUSALS = {
    "content_filter": (None, "request_bytes"),
    "content_policy": ("moderation", "request_bytes"),
    "image_content_policy_violation": ("image", "request_bytes"),
    "guardrail": ("guardrail", "request_bytes"),
    "sensitive_content_detected": ("sensitive", "request_bytes"),
    "organization_on_hold": (None, "account"),
}
STATUSES = {
    "auth": [401],
    "quota": [402],
    "permission": [403, 407, 451, 511],
    "model_not_found": [404],
    "invalid_request": [400, 405, 406, 410, 422, 428, 501],
    "timeout": [408, 504, 522, 524, 598, 599],
    "server_error": [409, 421, 424, 500, 502, 520, 530, 597],
    "context_length": [413],
    "overloaded": [425, 498, 503, 529],
    "rate_limit": [429],
    "cancelled": [460, 499],
}


def verdict(code):
    event = {"event": "error", "data": {"error": {"message": "x", "code": code}}}
    return classify(report_from({"provider": "x", "sse": [event]}))


@pytest.mark.parametrize("code", CODES)
def test_code_alone_has_its_class_and_recovery(code):
    assert (verdict(code).name, verdict(code).recovers_with) == CODES[code]


@pytest.mark.parametrize("code", REFUSALS)
def test_code_of_a_refusal_has_its_category_and_scope(code):
    assert (verdict(code).name, verdict(code).category, verdict(code).scope) == ("refusal", *REFUSALS[code])


@pytest.mark.parametrize(
    ("status", "expected"), [(status, name) for name, listed in STATUSES.items() for status in listed]
)
def test_status_alone_has_its_class(status, expected):
    mark = by_status(status, page=False)
    assert mark is not None
    assert (mark.failure, mark.axis) == (expected, "config" if status in (405, 501) else None)


def test_status_of_no_failure_means_nothing():
    assert [by_status(status, page=False) for status in (100, 200, 399, 600, 999)] == [None] * 5


def test_status_on_a_page_is_its_proxys():
    found = [by_status(status, page=page) for page in (True, False) for status in (503, 504)]
    assert [mark and mark.failure for mark in found] == ["server_error", "timeout", "overloaded", "timeout"]
