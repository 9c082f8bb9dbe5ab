"""What each source of a verdict adds: headers beside a body, several errors, statuses, known texts, filters."""

from typing import Any

import pytest

from stoic.core.classify import classify, report_from
from stoic.records import Report


def verdict(provider="x", status: int | None = 400, **exchange):
    return classify(report_from({"provider": provider, "status": status, **exchange}))


def error(message="", **fields):
    return {"error": {"message": message, **fields}}


def event(data, name=None):
    return {"event": name, "data": data}


PAGE = "<html><body>Service Unavailable</body></html>"
OPENED = {"event": None, "data": {"choices": [{"delta": {"content": "a"}, "finish_reason": "stop"}]}}
NEW = {"x-amzn-errortype": "BrandNewException"}
OVERFLOW = "maximum context length is"
SEVERAL = [error("x"), error("x", code="invalid_api_key")]

# name: (exchange, class)
CLASSES: dict[str, tuple[dict[str, Any], str]] = {
    "amazon's new exception under a status": ({"status": 503, "headers": NEW}, "overloaded"),
    "amazon's new exception beside a code": ({"headers": NEW, "body": error("x", code="invalid_api_key")}, "auth"),
    "amazon's new exception beside two errors": ({"status": 200, "headers": NEW, "body": SEVERAL}, "auth"),
    "first status of a success": ({"status": 200, "body": OPENED["data"]}, "ok"),
    "last status of a success": ({"status": 299, "body": OPENED["data"]}, "ok"),
    "no status": ({"status": None, "sse": [OPENED]}, "ok"),
    "a proxy's page": ({"status": 503, "body": PAGE}, "server_error"),
    "a proxy's page with amazon's new exception": ({"status": 503, "headers": NEW, "body": PAGE}, "server_error"),
    "a module of an SDK": (
        {"status": None, "exception": {"type": "google.genai.errors.ClientError", "message": "429 RESOURCE_EXHAUSTED. {'error': {'code': 429, 'message': 'Quota exceeded: GenerateRequestsPerDay', 'status': 'RESOURCE_EXHAUSTED'}}"}},
        "quota",
    ),
    "the first of two codes that a text may overrule": (
        {"status": 200, "sse": [event(error("x", code="not_found", type="server_error"))]}, "model_not_found"
    ),
    "a code that only begins like a policy's": ({"body": error("x", code="cache_policy_mismatch")}, "invalid_request"),
    "a text after one whose numbers fit": (
        {"provider": "openai", "body": error(f"Limit 9, Requested 3. {OVERFLOW}")}, "context_length"
    ),
    **{
        f"a text that says more than the code {code}": (
            {"provider": "deepseek", "status": status, "body": error("Insufficient Balance", code=code)}, "quota"
        )
        for code, status in (
            ("service_unavailable", 503), ("not_found", 404), ("forbidden", 403), ("server_error", 500),
            ("too_many_requests", 429), ("invalid_value", 400), ("string_above_max_length", 400),
        )
    },
    **{
        f"a code that says it all, {code}": (
            {"provider": "deepseek", "status": status, "body": error("Insufficient Balance", code=code)}, expected
        )
        for code, status, expected in (("overloaded", 503, "overloaded"), ("unknown_model", 404, "model_not_found"))
    },
    "a limit of one digit": ({"provider": "openai", "status": 429, "body": error("Limit 8, Requested 9")}, "context_length"),
    "a limit too long for a number": (
        {"provider": "openai", "status": 429, "body": error("Limit 9999999999999999, Requested 5")}, "rate_limit"
    ),
    "a text that ends with what is read": ({"provider": "openai", "body": error(" " * 3975 + OVERFLOW)}, "context_length"),
    "a text that ends behind it": ({"provider": "openai", "body": error(" " * 3976 + OVERFLOW)}, "invalid_request"),
    "a gateway's own text that is an error": (
        {"provider": "openrouter", "status": 429, "body": error('{"error": {"code": "insufficient_quota"}}', metadata={"raw": "busy", "provider_name": "X"})},
        "quota",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CLASSES)
def test_every_source_of_a_verdict_counts(name):
    exchange, expected = CLASSES[name]
    assert verdict(**exchange).name == expected


def test_live_body_that_is_still_text_is_read_as_json():
    assert classify(Report(provider="x", status=400, body='{"error": {"code": "insufficient_quota"}}')).name == "quota"


@pytest.mark.parametrize(
    ("exchange", "request_id"),
    [
        ({"body": {"request_id": "r-1", **error("x", code="content_filter")}}, "r-1"),
        ({"body": {"request_id": 7, "requestId": 7, **error("x")}}, None),
        ({"status": 200, "sse": [event({"request_id": "r-1"}), event({"request_id": "r-2"}), OPENED]}, "r-1"),
    ],
)
def test_request_id_is_the_first_text_of_that_name(exchange, request_id):
    assert verdict(**exchange).request_id == request_id


def refused(message="x", provider="azure", code="content_filter", **fields):
    found = verdict(provider, body=error(message, code=code, **fields))
    assert found.name == "refusal"
    return found.category, found.where


def acted(side, *names):
    return {
        "blocked": True,
        "source_type": side,
        "content_filter_results": {name: {"filtered": True} for name in names},
    }


def test_first_filter_that_names_a_side_counts():
    both = [acted("prompt"), acted("completion", "hate")]
    assert refused(content_filters=both) == ("hate", "prompt")
    assert refused(content_filters=["odd", acted(["odd"]), *reversed(both)]) == ("hate", "completion")


def test_side_of_a_filter_outweighs_a_text_that_names_none():
    flagged = "flagged as potentially violating"
    assert refused(flagged, content_filters=[acted("completion", "hate")]) == ("hate", "completion")


def test_text_names_the_category_that_a_code_leaves_open():
    assert refused("safety_violations=[sexual]", "openai", "moderation_blocked") == ("sexual", "prompt")
    assert refused("safety_violations=[Sexual]", "openai", "content_filter") == ("sexual", "prompt")
    assert refused("safety_violations=[]", "openai", "content_filter") == (None, "prompt")


def test_code_of_a_refusal_that_is_prose_is_no_evidence():
    found = verdict(body=error("x", code="Content Filter"))
    assert [(one.field, one.value) for one in found.evidence] == [("body.error.code", "")]


def test_refusal_with_an_exception_is_one_of_the_prompt_before_the_first_byte():
    def where(late):
        exception = {
            "type": "openai.BadRequestError",
            "message": "Error code: 400 - {'error': {'code': 'content_filter'}}",
            "after_first_byte": late,
        }
        return verdict(status=None, exception=exception).where

    assert (where(late=False), where(late=True)) == ("prompt", "mid_stream")


def test_refusal_after_output_that_is_no_text_is_one_of_the_completion():
    body = {"type": "message", "content": [{"type": "server_tool_use", "name": "web"}], "stop_reason": "refusal"}
    assert verdict(status=200, body=body).where == "completion"
    assert verdict(status=200, body={**body, "content": []}).where == "prompt"
