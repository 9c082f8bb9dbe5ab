"""Recorded exchanges: what is malformed, and what becomes of what is not."""

from typing import Any

import pytest

from stoic.core.classify import classify, report_from
from stoic.errors import UsageError
from stoic.records import TextPart

MALFORMED = {
    "nothing": ({"provider": "x"}, "has none of status, body, sse and exception: nothing to explain"),
    "status-text": ({"status": "429"}, "status must be an HTTP status number, not '429'"),
    "status-flag": ({"status": True}, "status must be an HTTP status number, not True"),
    "status-range": ({"status": 7}, "status must be an HTTP status number, not 7"),
    "provider": ({"provider": 7, "status": 429}, "provider must be text, not 7"),
    "api": ({"api": [], "status": 429}, "api must be text, not list"),
    "headers": ({"status": 429, "headers": ["a"]}, "headers must be an object, not list"),
    "header": ({"status": 429, "headers": {"a": {}}}, "headers.a must be text, not dict"),
    "transport": ({"status": 429, "transport": 1}, "transport must be text, not 1"),
    "sse": ({"sse": {"event": "x"}}, "sse must be a list of events, not dict"),
    "sse-event": ({"sse": [{"data": 1}, "x"]}, "sse event 2 must be an object, not 'x'"),
    "sse-in-body": ({"transport": "sse", "body": "x"}, "sse must be a list of events, not 'x'"),
    "end-of-no-stream": ({"status": 429, "end": 5}, "end must be clean or cut, not 5"),
    "end": ({"sse": [], "end": "maybe"}, "end must be clean or cut, not 'maybe'"),
    "exception": ({"exception": "ReadError"}, "exception must be an object with a type"),
    "exception-type": ({"exception": {"message": "x"}}, "exception must be an object with a type"),
    "exception-message": ({"exception": {"type": "X", "message": 5}}, "exception.message must be text, not 5"),
    "exception-cause": (
        {"exception": {"type": "X", "cause": {}}},
        "exception.cause must be text or a list of texts, not dict",
    ),
    "exception-begun": (
        {"exception": {"type": "X", "after_first_byte": "yes"}},
        "exception.after_first_byte must be true or false, not 'yes'",
    ),
    "status-below": ({"status": 99}, "status must be an HTTP status number, not 99"),
    "status-above": ({"status": 1000}, "status must be an HTTP status number, not 1000"),
    "exception-type-list": ({"exception": {"type": ["X"]}}, "exception must be an object with a type"),
    "header-long": ({"status": 429, "headers": {"a" * 121: {}}}, f"headers.{'a' * 119}… must be text, not dict"),
    "now-list": ({"status": 429, "now": []}, "now must be an ISO 8601 time, not list"),
    "shown-whole": ({"status": 429, "now": "x" * 38}, f"now must be an ISO 8601 time, not '{'x' * 38}'"),
    "shown-in-part": ({"status": 429, "now": "x" * 39}, f"now must be an ISO 8601 time, not '{'x' * 38}…"),
    "now": ({"status": 429, "now": "yesterday"}, "now must be an ISO 8601 time, not 'yesterday'"),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_exchange_says_which_field_is_wrong(name):
    exchange, message = MALFORMED[name]
    with pytest.raises(UsageError) as raised:
        report_from(exchange)
    assert str(raised.value) == message


def test_every_field_of_an_exchange_has_its_place_in_the_report():
    body = report_from(
        {"status": 999, "api": "chat", "model": "m", "body": '{"a": 1}', "end": "cut", "now": "1970-01-02"}
    )
    assert (body.status, body.api, body.model, body.body) == (999, "chat", "m", {"a": 1})
    assert (body.stream, body.end, body.parts, body.received_at) == (False, None, None, 86_400_000)
    assert report_from({"status": 100}).status == 100


def test_every_field_of_a_stream_has_its_place_in_the_report():
    choice: dict[str, Any] = {"delta": {"content": "hi"}, "finish_reason": None}
    chunk = {"choices": [choice], "id": "c1", "model": "m"}
    sse = [{"comment": "alive"}, {"event": "e", "data": chunk}, {"data": "[DONE]", "id": "7"}]
    stream = report_from({"sse": sse, "transport": "sse", "body": [{"data": "other"}], "end": "cut"})
    assert (stream.stream, stream.body, stream.end) == (True, None, "cut")
    assert stream.events == [{"comment": "alive"}, {"event": "e", "data": chunk}, {"event": None, "data": "[DONE]"}]
    assert (stream.parts, stream.finish, stream.ended, stream.end_unconfirmed) == (
        [TextPart(text="hi")],
        None,
        False,
        True,
    )
    assert stream.served_model == "m"
    choice["finish_reason"] = "stop"
    ended = report_from({"transport": "sse", "body": sse})
    assert (ended.end, ended.finish, ended.ended, ended.end_unconfirmed) == ("clean", "stop", True, False)


def test_exchange_without_a_provider_is_judged_by_shape():
    report = report_from({"status": 429})
    assert report.provider == "unknown"
    assert classify(report).name == "rate_limit"


def test_header_names_are_folded_and_numbers_become_text():
    report = report_from({"status": 429, "headers": {"Retry-After": 7}})
    assert report.headers == {"retry-after": "7"}
    assert classify(report).retry_after_ms == 7000


def test_several_values_of_a_header_are_joined_and_an_absent_one_is_empty():
    report = report_from({"status": 429, "headers": {"Via": ["a", "b"], "Server": None}})
    assert report.headers == {"via": "a, b", "server": ""}


def test_moment_may_be_epoch_milliseconds():
    assert report_from({"status": 429, "now": 1796011200000}).received_at == 1796011200000


def test_event_data_may_be_json_text():
    events = [{"event": None, "data": '{"choices": [{"delta": {"content": "hi"}, "finish_reason": "stop"}]}'}]
    assert classify(report_from({"provider": "x", "status": 200, "sse": events})).name == "ok"
    assert (
        classify(report_from({"provider": "x", "status": 200, "sse": [{"data": "{broken"}]})).name == "truncated_stream"
    )


def test_causes_may_be_a_list_or_one_text():
    one = report_from({"exception": {"type": "E", "cause": "socket.gaierror"}})
    several = report_from({"exception": {"type": "E", "cause": ["a.B: c", "", None, "socket.gaierror"]}})
    assert one.exception is not None
    assert one.exception.cause == ["socket.gaierror"]
    assert several.exception is not None
    assert several.exception.cause == ["a.B: c", "socket.gaierror"]
    assert classify(several).name == "network"


@pytest.mark.parametrize(
    ("exchange", "request_id"),
    [
        ({"status": 500, "headers": {"request-id": "req_1"}}, "req_1"),
        ({"status": 500, "body": {"type": "error", "error": {"type": "api_error"}, "request_id": "req_2"}}, "req_2"),
        (
            {
                "status": 200,
                "sse": [
                    {"event": "error", "data": {"type": "error", "error": {"type": "api_error"}, "request_id": "req_3"}}
                ],
            },
            "req_3",
        ),
        ({"status": 400, "body": {"error": {"code": "x", "request_id": "req_4"}}}, "req_4"),
        (
            {"status": 200, "body": {"id": "c1", "choices": [{"message": {"content": "hi"}, "finish_reason": "stop"}]}},
            "c1",
        ),
        ({"status": 500}, None),
    ],
)
def test_verdict_carries_the_providers_request_id(exchange, request_id):
    assert classify(report_from(exchange)).request_id == request_id
