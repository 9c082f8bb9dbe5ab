"""What one Anthropic Messages answer says, whole or broken off anywhere."""

import json
from typing import Any

import pytest

from stoic.ports import Request
from stoic.records import AssistantMessage, CallPart, TextPart, ThinkingPart, Usage
from stoic.wire.messages import MessagesRenderer
from stoic.wire.messages_decoding import MessagesDecoder
from stoic.wire.sse import SseEvent

REQUEST = Request(url="http://h", headers={}, body=b"{}", provider="p", api="messages", model="m", deadline_ms=0)
USAGE = {"input_tokens": 5, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 20, "output_tokens": 1}
START: Any = {"type": "message_start", "message": {"id": "msg_1", "model": "m-1", "content": [], "usage": USAGE}}
STOP: Any = {"type": "message_stop"}


def begun(index, **block):
    return {"type": "content_block_start", "index": index, "content_block": block}


def delta(index, **said):
    return {"type": "content_block_delta", "index": index, "delta": said}


def closed(index):
    return {"type": "content_block_stop", "index": index}


def ended(reason, **usage):
    return {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": usage}


def feed(*values, deltas=None):
    heard = [] if deltas is None else deltas
    decoder = MessagesDecoder(REQUEST, lambda kind, text: heard.append((kind, text)))
    for value in values:
        data = value if isinstance(value, bytes) else json.dumps(value).encode()
        decoder.event(SseEvent(None if isinstance(value, bytes) else value.get("type"), data))
    return decoder.result()


CALLING = begun(0, type="tool_use", id="t1", name="pay", input={})
HALF = delta(0, type="input_json_delta", partial_json='{"amount": 1')
REST = delta(0, type="input_json_delta", partial_json="}")


def test_streamed_reply_is_assembled_with_all_kinds_of_blocks():
    deltas: list[Any] = []
    result = feed(
        START,
        {"type": "ping"},
        begun(0, type="thinking", thinking="", signature=""),
        delta(0, type="thinking_delta", thinking="hm "),
        delta(0, type="thinking_delta", thinking="ok"),
        delta(0, type="signature_delta", signature="s1"),
        closed(0),
        begun(1, type="redacted_thinking", data="opaque"),
        closed(1),
        begun(2, type="text", text=""),
        delta(2, type="text_delta", text="Hel\ud83d"),
        delta(2, type="text_delta", text="\ude00o"),
        closed(2),
        begun(3, type="tool_use", id="t1", name="pay", input={}),
        delta(3, type="input_json_delta", partial_json='{"amount": 1}'),
        closed(3),
        begun(4, type="tool_use", id="t2", name="look", input={}),
        closed(4),
        ended("tool_use", output_tokens=30),
        STOP,
        deltas=deltas,
    )
    maker = {"provider": "p", "model": "m"}
    assert result.parts == [
        ThinkingPart(text="hm ok", signature="s1", **maker),
        ThinkingPart(text="", redacted="opaque", **maker),
        TextPart(text="Hel😀o"),
        CallPart(name="pay", arguments='{"amount": 1}', provider_id="t1"),
        CallPart(name="look", arguments="", provider_id="t2"),
    ]
    assert (result.finish, result.ended, result.served_model, result.request_id) == ("tool_use", True, "m-1", "msg_1")
    assert result.usage == Usage(input_tokens=125, output_tokens=30, cache_read_tokens=100, cache_write_tokens=20)
    assert [kind for kind, _ in deltas] == ["thinking", "thinking", "text", "text", "call", "call"]
    assert [event["event"] for event in result.events] == ["message_start", "ping", "message_delta", "message_stop"]


def test_thinking_that_is_not_shown_is_kept_for_its_signature():
    signed = delta(0, type="signature_delta", signature="s1")
    result = feed(START, begun(0, type="thinking", thinking="", signature=""), signed, closed(0))
    part = ThinkingPart(text="", signature="s1", provider="p", model="m")
    assert result.parts == [part]
    sent = MessagesRenderer(provider="p", model="m").fragments([AssistantMessage(text="x", thinking=[part])])[0]
    assert json.loads(sent)["content"][0] == {"type": "thinking", "thinking": "", "signature": "s1"}


def test_whole_answer_is_its_own_end():
    decoder = MessagesDecoder(REQUEST, lambda kind, text: None)
    content = [{"type": "text", "text": "hi"}, {"type": "tool_use", "id": "t1", "name": "pay", "input": {"amount": 1}}]
    decoder.body({"type": "message", "id": "m1", "model": "x", "content": content, "stop_reason": "tool_use"})
    result = decoder.result()
    assert result.parts == [TextPart(text="hi"), CallPart(name="pay", arguments='{"amount":1}', provider_id="t1")]
    assert (result.finish, result.ended) == ("tool_use", True)


WHOLENESS = [
    ([CALLING], False),
    ([CALLING, HALF], False),
    ([CALLING, HALF, REST], False),
    ([CALLING, HALF, REST, closed(0)], True),
    ([CALLING, closed(0)], True),
    ([CALLING, HALF, closed(0), ended("max_tokens"), STOP], False),
    ([CALLING, closed(0), ended("max_tokens"), STOP], False),
    ([CALLING, HALF, REST, closed(0), ended("max_tokens"), STOP], True),
    ([CALLING, HALF, REST, ended("tool_use"), STOP], True),
    ([begun(0, type="tool_use", id="t1", name="", input={}), closed(0), STOP], False),
]


@pytest.mark.parametrize(("events", "whole"), WHOLENESS)
def test_call_is_whole_only_when_nothing_of_it_can_be_missing(events, whole):
    result = feed(START, *events)
    assert result.parts is not None
    assert [part.whole for part in result.parts if isinstance(part, CallPart)] == [whole]


def test_stream_without_its_own_end_has_not_ended():
    assert not feed(START, begun(0, type="text", text=""), delta(0, type="text_delta", text="x")).ended
    assert not feed(START, ended("end_turn")).ended


def test_what_is_said_without_a_block_start_is_kept():
    result = feed(delta(0, type="text_delta", text="x"), delta(1, type="thinking_delta", thinking="y"))
    assert result.parts == [TextPart(text="x"), ThinkingPart(text="y", provider="p", model="m")]


def test_arguments_given_at_the_start_of_a_block_are_the_call():
    result = feed(begun(0, type="tool_use", id="t", name="pay", input={"amount": 1}), closed(0), STOP)
    assert result.parts == [CallPart(name="pay", arguments='{"amount":1}', provider_id="t")]


def test_unknown_blocks_deltas_and_events_are_kept_as_they_came():
    strange = [
        begun(0, type="server_tool_use", id="s", name="web_search", input={}),
        delta(0, type="input_json_delta", partial_json="{}"),
        delta(7, type="citations_delta", citation={"cited_text": "x"}),
        {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}},
    ]
    result = feed(START, *strange, b"no json", b"[1]")
    assert [event["data"] for event in result.events[1:]] == [*strange, "no json", [1]]
    assert result.parts == []


def test_answer_of_another_shape_is_not_assembled():
    result = feed({"choices": [{"delta": {"content": "x"}}]}, {"type": "error", "error": {}})
    assert result.parts is None
    decoder = MessagesDecoder(REQUEST, lambda kind, text: None)
    decoder.body({"error": {"message": "x"}})
    decoder.body(["x"])
    assert (decoder.result().parts, decoder.ended) == (None, False)


def test_message_sent_whole_inside_a_stream_is_read():
    result = feed({"type": "message", "content": [{"type": "text", "text": "hi"}], "stop_reason": "end_turn"})
    assert (result.parts, result.ended, result.finish) == ([TextPart(text="hi")], True, "end_turn")


def test_pieces_that_say_nothing_and_ends_of_nothing_are_no_parts():
    deltas: list[Any] = []
    result = feed(begun(0, type="text", text=""), delta(0, type="text_delta", text=""), closed(5), deltas=deltas)
    assert (result.parts, deltas) == ([], [])


def test_signs_of_life_are_kept_only_up_to_a_bound():
    decoder = MessagesDecoder(REQUEST, lambda kind, text: None)
    for _ in range(20):
        decoder.event(SseEvent(comment="alive"))
        decoder.event(SseEvent("ping", b'{"type":"ping"}'))
    assert len(decoder.result().events) == 16


def test_counts_that_are_no_numbers_are_passed_over():
    result = feed(
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": None}}, STOP
    )
    assert result.usage == Usage()
