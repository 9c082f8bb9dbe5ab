"""What one Gemini answer says, whole or broken off anywhere."""

import json
from typing import Any

from stoic.ports import Request
from stoic.records import CallPart, TextPart, ThinkingPart, Usage
from stoic.wire.gemini_decoding import GeminiDecoder
from stoic.wire.sse import SseEvent

REQUEST = Request(url="http://h", headers={}, body=b"{}", provider="p", api="generate", model="m", deadline_ms=0)
MAKER = {"provider": "p", "model": "m"}


def chunk(*parts, **candidate):
    content = {"content": {"role": "model", "parts": list(parts)}} if parts else {}
    return {"candidates": [{**content, "index": 0, **candidate}], "modelVersion": "m-1", "responseId": "r1"}


def feed(*values, deltas=None):
    heard = [] if deltas is None else deltas
    decoder = GeminiDecoder(REQUEST, lambda kind, text: heard.append((kind, text)))
    for value in values:
        data = value if isinstance(value, bytes) else json.dumps(value).encode()
        decoder.event(SseEvent(None, data))
    return decoder.result()


def test_streamed_reply_is_assembled_with_its_signatures_in_their_place():
    deltas: list[Any] = []
    usage = {
        "promptTokenCount": 100,
        "toolUsePromptTokenCount": 5,
        "cachedContentTokenCount": 64,
        "candidatesTokenCount": 10,
        "thoughtsTokenCount": 20,
    }
    call = {"functionCall": {"name": "pay", "args": {"amount": 1}}, "thoughtSignature": "s1"}
    result = feed(
        chunk({"text": "hm ", "thought": True}),
        chunk({"text": "ok", "thought": True}),
        chunk({"text": "Hel"}),
        chunk({"text": ""}),
        chunk({"text": "lo"}, safetyRatings=[{"category": "X", "probability": "LOW"}]),
        chunk({"text": "!", "thoughtSignature": "s0"}),
        chunk({"text": "?"}),
        chunk(call, {"functionCall": {"name": "look", "id": "c2"}}),
        chunk({"text": "", "thoughtSignature": "s2"}, finishReason="STOP") | {"usageMetadata": usage},
        deltas=deltas,
    )
    assert result.parts == [
        ThinkingPart(text="hm ok", **MAKER),
        TextPart(text="Hello"),
        TextPart(text="!", signature="s0"),
        TextPart(text="?"),
        CallPart(name="pay", arguments='{"amount":1}', signature="s1"),
        CallPart(name="look", arguments="", provider_id="c2"),
        ThinkingPart(text="", signature="s2", **MAKER),
    ]
    assert (result.finish, result.ended, result.served_model, result.request_id) == ("STOP", True, "m-1", "r1")
    assert result.usage == Usage(input_tokens=105, output_tokens=30, cache_read_tokens=64)
    assert "".join(text for kind, text in deltas if kind == "text") == "Hello!?"
    assert [text for kind, text in deltas if kind == "call"] == ["pay", "look"]
    first, called, last = [event["data"]["candidates"][0]["content"]["parts"][0] for event in result.events]
    assert (first, called, last["thoughtSignature"]) == ({"text": "hm ", "thought": True}, call, "s2")


def test_stream_without_a_finish_reason_has_not_ended():
    result = feed(chunk({"text": "x"}), chunk({"functionCall": {"name": "pay", "args": {}}}))
    assert (result.ended, result.finish) == (False, None)


def test_blocked_prompt_is_an_end_and_is_kept():
    blocked = {"promptFeedback": {"blockReason": "SAFETY"}, "modelVersion": "m-1"}
    result = feed(blocked)
    assert (result.ended, result.finish, result.parts) == (True, None, [])
    assert result.events == [{"event": None, "data": blocked}]


def test_call_that_goes_on_is_not_whole():
    (part,) = feed(chunk({"functionCall": {"name": "pay", "willContinue": True}}, finishReason="STOP")).parts or []
    assert part == CallPart(name="pay", arguments="", whole=False)


def test_whole_answer_is_its_own_end_also_as_a_list_of_chunks():
    for body in (chunk({"text": "ab"}, finishReason="STOP"), [chunk({"text": "a"}), chunk({"text": "b"})]):
        decoder = GeminiDecoder(REQUEST, lambda kind, text: None)
        decoder.body(body)
        assert decoder.result().parts == [TextPart(text="ab")]
        assert decoder.ended


def test_answer_of_another_shape_is_not_assembled():
    assert feed({"choices": [{"delta": {"content": "x"}}]}, {"error": {"code": 503}}, b"no json").parts is None
    for body in ({"error": {"code": 400}}, "text", None):
        decoder = GeminiDecoder(REQUEST, lambda kind, text: None)
        decoder.body(body)
        assert (decoder.result().parts, decoder.ended) == (None, False)


def test_whatever_says_more_than_text_is_kept_as_it_came():
    strange = [
        chunk({"text": "x"}, safetyRatings=[{"category": "X", "blocked": True}]),
        chunk({"inlineData": {"mimeType": "image/png", "data": "x"}}),
        chunk({"text": "x"}, groundingMetadata={"q": 1}),
        chunk({"text": "x"}) | {"promptFeedback": {"safetyRatings": []}},
        {"candidates": "x"},
        {"candidates": [chunk({"text": "x"}), chunk({"text": "y"})]},
        {"usageMetadata": {}},
        {"error": {"code": 503, "status": "UNAVAILABLE"}},
    ]
    assert [event["data"] for event in feed(*strange).events] == strange


def test_split_surrogates_of_a_text_are_joined():
    assert feed(chunk({"text": "\ud83d"}), chunk({"text": "\ude00"})).parts == [TextPart(text="😀")]


def test_comments_are_kept_only_up_to_a_bound():
    decoder = GeminiDecoder(REQUEST, lambda kind, text: None)
    for _ in range(20):
        decoder.event(SseEvent(comment="alive"))
    assert len(decoder.result().events) == 16
