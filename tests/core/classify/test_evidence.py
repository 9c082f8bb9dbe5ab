"""What a verdict rests on: the field that decided, where it stands, and the order in which fields count."""

from typing import Any

import pytest

from stoic.core.classify import classify, report_from


def verdict(provider="openai", status: int | None = 400, **exchange):
    return classify(report_from({"provider": provider, "status": status, **exchange}))


def error(message="", **fields):
    return {"error": {"message": message, **fields}}


def shown(found):
    return [(one.field, one.value, one.decided) for one in found.evidence]


def chunk(content, finish=None):
    return {"event": None, "data": {"choices": [{"index": 0, "delta": {"content": content}, "finish_reason": finish}]}}


DONE = {"event": None, "data": "[DONE]"}
OVERLOADED = error("x", code="overloaded")
BODY_OK = {"choices": [{"message": {"content": "a"}, "finish_reason": "stop"}]}
AMAZON = {"X-Amzn-ErrorType": "ThrottlingException:http://internal.amazon.com/coral/"}

# name: (exchange, the evidence)
EVIDENCE: dict[str, tuple[dict[str, Any], tuple[str, str]]] = {
    "code": ({"status": 401, "body": error("x", code="invalid_api_key")}, ("body.error.code", "invalid_api_key")),
    "event": (
        {"status": 200, "sse": [chunk("a"), {"event": None, "data": OVERLOADED}]},
        ("events[1].data.error.code", "overloaded"),
    ),
    "amazon's header": ({"provider": "bedrock", "status": 429, "headers": AMAZON}, ("headers.x-amzn-errortype", "ThrottlingException")),
    "amazon's header beside a body": (
        {"provider": "bedrock", "status": 400, "headers": AMAZON, "body": {"message": "x"}},
        ("headers.x-amzn-errortype", "ThrottlingException"),
    ),
    "error that says nothing": ({"status": 200, "sse": [{"event": "error", "data": "x"}]}, ("events[0].data", "")),
    "status of no answer": ({"status": 301, "body": BODY_OK}, ("status", "301")),
    "first status that is no success": ({"status": 300, "body": BODY_OK}, ("status", "300")),
    "status before an answer": ({"status": 199, "body": BODY_OK}, ("status", "199")),
    "half an object": ({"status": 200, "body": '{"choices": ['}, ("body", "")),
    "half a list": ({"status": 200, "body": '[{"candidates":'}, ("body", "")),
    "no reply": ({"status": 200, "body": {"hello": 1}}, ("body", "")),
    "unfinished body": ({"status": 200, "body": {"choices": [{"message": {"content": "a"}, "finish_reason": None}]}}, ("body", "")),
    "cut": ({"status": 200, "sse": [chunk("a")], "end": "cut"}, ("end", "cut")),
    "clean end": ({"status": 200, "sse": [chunk("a")]}, ("end", "clean")),
    "finish": (
        {"status": 200, "sse": [chunk("a", "length"), DONE]},
        ("events[0].data.choices[0].finish_reason", "length"),
    ),
    "reply without a reason": ({"status": 200, "body": {"choices": [{"message": {"content": ""}}]}}, ("body", "")),
    "text under a status": (
        {"provider": "deepseek", "status": 402, "body": error("Insufficient Balance")},
        ("status", "402"),
    ),
    "text that a code repeats": (
        {"provider": "deepseek", "status": 200, "sse": [{"event": None, "data": error("Rate limit reached", code="rate_limit_exceeded")}]},
        ("events[0].data.error.code", "rate_limit_exceeded"),
    ),
    "code of a refusal": ({"body": error("no", code="content_policy_violation")}, ("body.error.code", "content_policy_violation")),
    "parameter": ({"body": error("x", param="tools[0].name")}, ("body.error.param", "tools[0].name")),
    "a gateway's limit": (
        {"provider": "openrouter", "status": 403, "body": error("x", metadata={"limit_source": "openrouter_credits"})},
        ("body.error.metadata.limit_source", "openrouter_credits"),
    ),
    "a gateway's moderation": (
        {"provider": "openrouter", "status": 403, "body": error("x", metadata={"reasons": ["Hate"]})},
        ("body.error.metadata.reasons", "hate"),
    ),
    "code behind a gateway": (
        {"provider": "openrouter", "body": error("x", metadata={"raw": {"error": {"code": "prompt_too_long"}}})},
        ("body.error.metadata.raw.error.code", "prompt_too_long"),
    ),
    "text behind a gateway": (
        {
            "provider": "openrouter",
            "body": error("x", metadata={"raw": {"error": {"message": "body: prompt is too long"}}, "provider_name": "Anthropic"}),
        },
        ("body.error.metadata.raw.error.message", "prompt is too long"),
    ),
    "text as a whole behind a gateway": (
        {"provider": "openrouter", "body": error("x", metadata={"raw": "prompt is too long", "provider_name": "Anthropic"})},
        ("body.error.metadata.raw", "prompt is too long"),
    ),
    "filter in an error": (
        {"provider": "zhipu", "body": error("x", contentFilter=[{"role": "user"}])},
        ("body.error.contentFilter", "user"),
    ),
    "filter beside an error": (
        {"provider": "zhipu", "body": {"contentFilter": [{"role": "user"}], **error("x")}},
        ("body.contentFilter", "user"),
    ),
    "failed check": (
        {"provider": "xai", "status": 403, "body": {"error": "Content violates usage guidelines."}},
        ("body.error", ""),
    ),
    "words of a refusal, even a single one": ({"provider": "minimax", "body": error("new_sensitive")}, ("body.error.message", "")),
}  # fmt: skip


@pytest.mark.parametrize("name", EVIDENCE)
def test_field_that_decided_is_named(name):
    exchange, expected = EVIDENCE[name]
    assert shown(verdict(**exchange))[0] == (*expected, "class")


def test_category_has_evidence_of_its_own_and_only_its_own():
    filters = {"violence": {"filtered": True}, "hate": {"filtered": True}, "sexual": {"filtered": False}}
    body = {
        "choices": [{"message": {"content": ""}, "finish_reason": "content_filter", "content_filter_results": filters}]
    }
    found = verdict("azure", 200, body=body)
    assert (found.name, found.category) == ("refusal", "hate")
    assert shown(found)[1:] == [("body.choices[0].content_filter_results.hate", "hate", "category")]


def test_filter_is_no_evidence_for_a_category_that_the_refusal_names_itself():
    choice = {
        "message": {"content": ""},
        "finish_reason": "prohibited_content",
        "content_filter_results": {"hate": {"filtered": True}},
    }
    found = verdict(status=200, body={"choices": [choice]})
    assert found.category == "prohibited_content"
    assert len(found.evidence) == 1


@pytest.mark.parametrize(
    "name", ["x-request-id", "request-id", "x-amzn-requestid", "apim-request-id", "x-goog-request-id", "cf-ray"]
)
def test_request_id_is_that_of_the_providers_own_header(name):
    assert verdict(status=500, headers={name: "r-1"}).request_id == "r-1"


@pytest.mark.parametrize("key", ["request_id", "requestId"])
def test_request_id_may_stand_in_the_body(key):
    assert verdict(status=500, body={key: "r-1", **error("x")}).request_id == "r-1"
    assert verdict(status=500, body=error("x", **{key: "r-2"})).request_id == "r-2"


def test_exception_after_the_end_says_nothing_even_if_it_carries_an_error():
    late = {"type": "openai.APIStatusError", "message": "Error code: 500 - {'error': {'code': 'server_error'}}"}
    assert verdict(status=200, sse=[chunk("a", "stop"), DONE], exception=late).name == "ok"
    assert verdict(status=200, sse=[chunk("a")], exception=late).name == "server_error"


def test_cancelled_request_is_cancelled_whatever_its_exception_carries():
    stopped = {"type": "asyncio.CancelledError", "message": "Error code: 429 - {'error': {'code': 'x'}}"}
    assert verdict(status=None, exception=stopped).name == "cancelled"


def test_code_of_a_limit_outweighs_a_timeouts_status():
    assert verdict(status=504, body=error("x", code="rate_limit_exceeded")).name == "rate_limit"
    assert verdict(status=504, body=error("x", code="server_error")).name == "timeout"


def test_text_known_under_one_status_says_nothing_under_another():
    assert verdict("deepseek", 429, body=error("you send too quickly")).evidence[0].field == "status"
    assert verdict("deepseek", 500, body=error("you send too quickly")).name == "server_error"
    unnumbered = [{"event": None, "data": error("you send too quickly")}]
    assert verdict("deepseek", 200, sse=unnumbered).name == "rate_limit"


def overflow(taken):
    said = f"This model's maximum context length is 8000 tokens. However, you requested 9000 tokens ({taken} in the messages)."
    return verdict(body=error(said, code="context_length_exceeded"))


def test_overflow_that_a_smaller_output_mends_says_how_small():
    found = overflow(7000)
    assert (found.recovers_with, found.limit_tokens) == ("request_change", 1000)
    assert shown(found) == [("body.error.code", "context_length_exceeded", "class")]


def test_overflow_that_leaves_no_room_for_any_output_needs_a_smaller_context():
    found = overflow(8000)
    assert (found.recovers_with, found.limit_tokens) == ("compaction", None)


def test_overflow_without_numbers_rests_on_its_code():
    found = verdict(body=error("exceeds the context window", code="context_length_exceeded"))
    assert shown(found) == [("body.error.code", "context_length_exceeded", "class")]


def test_category_of_the_code_outweighs_that_of_a_filter():
    filters = {"violence": {"filtered": True}}
    named = verdict(body=error("x", code="sensitive_content_detected", content_filter_results=filters))
    unnamed = verdict(body=error("x", code="content_filter", content_filter_results=filters))
    assert (named.category, unnamed.category) == ("sensitive", "violence")


def test_filter_that_blocked_names_category_and_side():
    def listed(blocked, side):
        entry = {"blocked": blocked, "source_type": side, "content_filter_results": {"hate": {"filtered": True}}}
        return verdict("azure", body=error("x", code="content_filter", content_filters=[entry]))

    assert (listed(True, "prompt").category, listed(True, "prompt").where) == ("hate", "prompt")
    assert (listed(True, "completion").category, listed(True, "completion").where) == ("hate", "completion")
    assert listed(False, "completion").category is None
    assert listed(False, "completion").where == "prompt"


@pytest.mark.parametrize("half", ['{"choices": [', '[{"candidates":', '  {"error'])
def test_body_that_is_half_json_was_cut(half):
    assert verdict(status=200, body=half).name == "truncated_stream"
    assert verdict(status=200, body=f"- {half}").name == "unknown"
