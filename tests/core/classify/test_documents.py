"""Which shape an answer is read as, and what of it a live attempt has read already."""

import pytest

from stoic.core.classify import classify, report_from
from stoic.records import Part, Report, TextPart

CHOICE = {"message": {"content": "hi"}, "finish_reason": "stop"}
CHUNK = {"choices": [{"delta": {"content": "hi"}, "finish_reason": "stop"}]}
HALF = {"choices": [{"delta": {"content": "hi"}, "finish_reason": None}]}
TEXT: list[Part] = [TextPart(text="hi")]


def events(*data):
    return [{"event": None, "data": one} for one in data]


# name: (report, class)
LIVE = {
    "body where a stream was asked for": (Report(provider="x", status=200, stream=True, body={"choices": [CHOICE]}), "ok"),
    "nothing where a stream was asked for": (Report(provider="x", status=200, stream=True), "truncated_stream"),
    "nothing": (Report(provider="x", status=200), "unknown"),
    "body that is still text": (
        Report(provider="x", status=200, body='{"choices": [{"message": {"content": "hi"}, "finish_reason": "stop"}]}'), "ok"
    ),
    "body that is still text, of no shape": (Report(provider="x", status=200, body='{"hello": 1}'), "unknown"),
    "body that is half of its text": (Report(provider="x", status=200, body='{"hello": 1'), "truncated_stream"),
    "empty list": (Report(provider="x", status=200, body=[]), "unknown"),
    "list of no objects": (Report(provider="x", status=200, body=[7, "x"]), "unknown"),
    "events that are still text": (
        Report(provider="x", status=200, events=events('{"choices": [{"delta": {"content": "hi"}, "finish_reason": "stop"}]}')), "ok"
    ),
    "events": (Report(provider="x", status=200, events=events(HALF)), "truncated_stream"),
    "finish alone": (Report(provider="x", status=200, parts=TEXT, ended=True, finish="length"), "output_limit"),
    "no finish": (Report(provider="x", status=200, parts=TEXT, ended=True), "ok"),
    "finish of the events": (
        Report(provider="x", status=200, parts=TEXT, ended=True, finish="length", events=events(CHUNK)), "ok"
    ),
    "parts without an end": (Report(provider="x", status=200, parts=TEXT, events=events(CHUNK)), "truncated_stream"),
    "parts and the protocol's word for the end": (
        Report(provider="x", status=200, parts=TEXT, events=events(HALF, "[DONE]")), "ok"
    ),
    "parts and its word told by the wire": (
        Report(provider="x", status=200, parts=TEXT, end_unconfirmed=True, events=events(HALF)), "ok"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LIVE)
def test_live_report_is_read_with_what_its_wire_assembled(name):
    report, expected = LIVE[name]
    assert classify(report).name == expected


def test_finish_that_the_wire_assembled_is_evidence_of_its_own():
    found = classify(Report(provider="x", status=200, parts=TEXT, ended=True, finish="length"))
    assert [(one.field, one.value) for one in found.evidence] == [("finish", "length")]


# name: (exchange, field of the evidence, side of the refusal)
REFUSED = {
    "list": (
        {"body": [{"candidates": [{"content": {"parts": [{"text": "a"}]}}]}, {"candidates": [{"finishReason": "SAFETY"}]}]},
        "body[1].candidates[0].finishReason", "completion",
    ),
    "guardrail beside a reply": (
        {"body": {"amazon-bedrock-guardrailAction": "INTERVENED", "choices": [CHOICE]}},
        "body.amazon-bedrock-guardrailAction", "completion",
    ),
    "guardrail beside an empty reply": (
        {"body": {"amazon-bedrock-guardrailAction": "INTERVENED", "choices": []}},
        "body.amazon-bedrock-guardrailAction", "completion",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_evidence_names_the_document(name):
    exchange, field, where = REFUSED[name]
    found = classify(report_from({"provider": "x", "status": 200, **exchange}))
    assert (found.name, found.where, found.evidence[0].field) == ("refusal", where, field)
    assert found.evidence[0].value in ("SAFETY", "INTERVENED")


@pytest.mark.parametrize(
    "exchange",
    [
        {"body": {"stopReason": "odd", "choices": [CHOICE]}},
        {"body": {"amazon-bedrock-guardrailAction": "NONE", "choices": [CHOICE]}},
        {"sse": [
            {"event": "contentBlockDelta", "data": {"type": "delta", "delta": {"text": "hi"}}},
            {"event": "messageStop", "data": {"type": "stop", "stopReason": "end_turn"}},
        ]},
    ],
)  # fmt: skip
def test_shape_is_known_by_what_it_alone_has(exchange):
    assert classify(report_from({"provider": "x", "status": 200, **exchange})).name == "ok"
