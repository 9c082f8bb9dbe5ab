"""Odd shapes: nothing of them raises, and none of them is a success that it is not."""

import pytest

from stoic.core.classify import classify, report_from
from stoic.core.classify.fields import number, word
from stoic.records import Report


def verdict(provider="x", status=200, **exchange):
    return classify(report_from({"provider": provider, "status": status, **exchange}))


def event(data, name=None):
    return {"event": name, "data": data}


@pytest.mark.parametrize(("value", "expected"), [(True, ""), (7, "7"), ("a", "a"), (None, ""), (1.5, "")])
def test_word_is_text_or_a_whole_number(value, expected):
    assert word(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [("7", 7), (True, None), ("x", None), ([], None), ("1e999", None), ("nan", None), (10**400, None)],
)
def test_number_is_finite_or_nothing(value, expected):
    assert number(value) == expected


def test_error_event_of_plain_text_is_an_error_and_unknown():
    events = [event("upstream failed", "error")]
    assert verdict(sse=events).name == "unknown"
    assert verdict("ollama", sse=[event("unauthorized", "error")]).name == "auth"


def test_errors_nested_too_deeply_are_left_to_the_status():
    body = {"message": "x"}
    for _ in range(9):
        body = {"error": body}
    assert verdict(status=503, body=body).name == "overloaded"


def test_error_inside_a_detail_counts():
    body = {"detail": {"error": {"code": "insufficient_quota", "message": "x"}}}
    assert verdict(status=400, body=body).name == "quota"


def test_code_beside_the_error_object_counts_last():
    assert verdict(body={"error": {"message": "x"}, "code": "insufficient_quota"}).name == "quota"
    assert (
        verdict(body={"error": {"message": "x", "code": "invalid_api_key"}, "code": "insufficient_quota"}).name
        == "auth"
    )


def test_inner_error_of_azure_is_the_most_specific():
    inner = {"code": "invalid_api_key", "innererror": {"code": "DeploymentNotFound"}}
    found = verdict("azure", 400, body={"error": {"code": "BadRequest", "message": "x", "innererror": inner}})
    assert found.name == "model_not_found"
    only_deep = {"innererror": {"code": "DeploymentNotFound"}}
    assert (
        verdict("azure", 400, body={"error": {"code": "BadRequest", "innererror": only_deep}}).name == "model_not_found"
    )


def test_flat_error_says_what_it_is():
    flat = {"object": "error", "message": "x", "type": "rate_limited", "code": "1300"}
    assert verdict("mistral", body=flat).name == "rate_limit"
    assert verdict(sse=[event({"type": "error", "code": "server_error", "message": "x"})]).name == "server_error"
    assert (
        verdict("gemini", sse=[event({"event_type": "error", "error": {"code": "not_found", "message": "x"}})]).name
        == "model_not_found"
    )


def test_long_prose_is_shortened_in_evidence():
    body = {"error": {"message": "x", "code": "word " * 99}}
    assert len(verdict(body=body).evidence[0].value) == 120
    message = "Allowance used up. " + "x" * 300 + " resets on 2026-12-01."
    error = {"message": message, "code": "insufficient_quota"}
    found = classify(report_from({"status": 429, "body": {"error": error}, "now": "2026-11-30T04:00:00Z"}))
    assert found.retry_after_ms == 72_000_000
    assert all(len(one.value) <= 120 for one in found.evidence)


def test_flat_error_needs_a_message_and_no_answer():
    assert verdict(body={"code": "insufficient_quota", "message": "x"}).name == "quota"
    assert verdict(body={"code": "insufficient_quota"}).name == "unknown"
    assert (
        verdict(body={"code": "insufficient_quota", "message": "x", "result": "hi", "finish_reason": "stop"}).name
        == "ok"
    )


def test_quota_violation_of_an_unnamed_window_leaves_the_status_word():
    details = [{"violations": [{"quotaId": "Something"}, {"quotaId": "OtherPerMinute"}]}]
    assert (
        verdict("gemini", 429, body={"error": {"status": "RESOURCE_EXHAUSTED", "details": details}}).name
        == "rate_limit"
    )
    nothing = [{"violations": [{"quotaId": "GenerateRequestsPerDay", "quotaValue": "0"}]}]
    found = verdict("gemini", 429, body={"error": {"status": "RESOURCE_EXHAUSTED", "details": nothing}})
    assert (found.name, found.recovers_with) == ("quota", "config")


def test_unblocked_ratings_and_filters_name_no_category():
    ratings = [
        {"category": "HARM_CATEGORY_HARASSMENT", "blocked": False},
        {"category": "HARM_CATEGORY_HATE_SPEECH", "blocked": True},
    ]
    assert (
        verdict("gemini", body={"candidates": [{"finishReason": "SAFETY", "safetyRatings": ratings}]}).category
        == "hate_speech"
    )
    filters = [{"blocked": False}, {"blocked": True, "content_filter_results": {}}]
    body = {"error": {"code": "content_filter", "message": "x", "content_filters": filters}}
    found = verdict("azure", 400, body=body)
    assert (found.name, found.category, found.where) == ("refusal", None, "prompt")


def test_unknown_pieces_of_each_protocol_are_passed_over():
    gemini = [
        event({"responseId": "g"}),
        event(
            {
                "candidates": [
                    {"content": {"parts": [{}, {"thoughtSignature": "s"}, {"text": "hi"}]}, "finishReason": "STOP"}
                ]
            }
        ),
    ]
    assert verdict(sse=gemini).name == "ok"
    responses = [
        event({"type": "response.created", "response": {"id": "r", "model": "m"}}),
        event({"type": "response.new_thing"}),
        event({"type": "response.output_item.added", "item": {"type": "message"}}),
        event({"type": "response.output_item.done", "item": {"type": "message"}}),
        event({"type": "response.refusal.delta", "delta": "a"}),
        event({"type": "response.refusal.done", "refusal": "a"}),
        event({"type": "response.completed", "response": {"status": "completed", "output": [{}]}}),
    ]
    assert verdict(sse=responses).name == "refusal"
    messages = [
        event({"type": "message_start", "message": {"content": []}}),
        event({"type": "content_block_start", "index": 0, "content_block": {}}),
        event({"type": "content_block_delta", "index": 0, "delta": {"type": "new_delta"}}),
        event({"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": "{}"}}),
        event({"type": "content_block_stop", "index": 0}),
        event({"type": "message_delta", "delta": {"stop_reason": "end_turn"}}),
        event({"type": "message_stop"}),
    ]
    assert verdict(sse=messages).name == "empty_response"
    converse = [
        event({"metadata": {}}),
        event({"contentBlockStart": {"start": {}}}),
        event({"contentBlockDelta": {"delta": {}}}),
        event({"other": 1}),
    ]
    assert verdict(sse=converse).name == "truncated_stream"
    assert verdict(body={"output": {"message": {"content": [{}]}}, "stopReason": "end_turn"}).name == "empty_response"
    cohere = [
        event({"type": "message-start"}),
        event({"x": 1}),
        event({"type": "message-end", "delta": {"finish_reason": "COMPLETE"}}),
    ]
    assert verdict(sse=cohere).name == "empty_response"


def test_empty_object_is_judged_by_its_status():
    assert verdict(status=400, body={}).name == "invalid_request"
    assert verdict(status=200, body={}).name == "unknown"


def test_request_id_the_wire_found_is_kept():
    assert classify(Report(provider="x", status=500, request_id="req_9")).request_id == "req_9"


def test_choice_without_an_error_is_no_error():
    body = {"choices": [{"error": None, "message": {"content": "hi"}, "finish_reason": "stop"}]}
    assert verdict(body=body).name == "ok"


def test_numbers_of_another_kind_do_not_make_a_context_overflow():
    fits = "Limit 30000, Requested 30000"
    assert verdict("openai", 429, body={"error": {"message": fits, "code": "rate_limit_exceeded"}}).name == "rate_limit"


def test_gateway_whose_inner_error_says_nothing_is_judged_itself():
    raw = {
        "error": {"code": 429, "message": "Provider returned error", "metadata": {"provider_name": "X", "raw": "busy"}}
    }
    assert verdict("openrouter", 429, body=raw).name == "rate_limit"
    said = {"error": {"message": "litellm.RateLimitError: FooException - nothing known", "code": "429"}}
    assert verdict("litellm", 429, body=said).name == "rate_limit"
    wrapped = {"error": {"message": '{"error": {"message": "nothing known"}}', "code": "insufficient_quota"}}
    assert verdict("x", 429, body=wrapped).name == "quota"


def test_python_literal_that_is_broken_is_left_to_the_status():
    exception = {"type": "openai.RateLimitError", "message": "Error code: 429 - {'error': {'code': 'insuff"}
    assert classify(report_from({"exception": exception})).name == "rate_limit"


def test_disk_full_is_this_machines_setting():
    exception = {"type": "OSError", "message": "[Errno 28] No space left on device"}
    found = classify(report_from({"exception": exception}))
    assert (found.name, found.recovers_with) == ("network", "config")


def test_structure_is_the_evidence_where_a_text_only_repeats_it():
    body = {"error": {"message": "Rate limit exceeded", "type": "rate_limited", "code": "1300"}}
    assert verdict("mistral", 429, body=body).evidence[0].field == "body.error.code"
    assert verdict("deepseek", 402, body={"error": {"message": "Insufficient Balance"}}).evidence[0].field == "status"
    assert (
        verdict("deepseek", 400, body={"error": {"message": "Insufficient Balance"}}).evidence[0].field
        == "body.error.message"
    )
