"""What one OpenAI Responses answer says, whole or broken off anywhere."""

import json
from typing import Any

import pytest

from stoic.ports import Request
from stoic.records import CallPart, TextPart, ThinkingPart, Usage
from stoic.wire.responses_decoding import ResponsesDecoder
from stoic.wire.sse import SseEvent

REQUEST = Request(url="http://h", headers={}, body=b"{}", provider="p", api="responses", model="m", deadline_ms=0)
MAKER = {"provider": "p", "model": "m"}
CREATED: Any = {"type": "response.created", "response": {"id": "resp_1", "model": "m-1", "status": "in_progress"}}


def happened(kind, **fields):
    return {"type": f"response.{kind}", **fields}


def item(index, kind, **fields):
    return happened(f"output_item.{kind}", output_index=index, item=fields)


def ended(status, output=(), **fields):
    return happened(status, response={"id": "resp_1", "status": status, "output": list(output), **fields})


def feed(*values, deltas=None):
    heard = [] if deltas is None else deltas
    decoder = ResponsesDecoder(REQUEST, lambda kind, text: heard.append((kind, text)))
    for value in values:
        data = value if isinstance(value, bytes) else json.dumps(value).encode()
        decoder.event(SseEvent(None if isinstance(value, bytes) else value.get("type"), data))
    return decoder.result()


CALL: Any = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "pay"}
BEGUN = item(0, "added", **CALL, arguments="", status="in_progress")
HALF = happened("function_call_arguments.delta", output_index=0, item_id="fc_1", delta='{"amount": 1')
REST = happened("function_call_arguments.delta", output_index=0, item_id="fc_1", delta="}")
DONE = item(0, "done", **CALL, arguments='{"amount": 1}', status="completed")
REASONING: Any = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [{"type": "summary_text", "text": "one"}, {"type": "summary_text", "text": "two"}],
    "encrypted_content": "sealed",
}
MESSAGE: Any = {
    "type": "message",
    "id": "msg_1",
    "status": "completed",
    "content": [{"type": "output_text", "text": "Hello"}],
    "phase": "final_answer",
}


def test_streamed_reply_is_assembled_and_whole_items_have_the_last_word():
    deltas: list[Any] = []
    usage = {
        "input_tokens": 100,
        "output_tokens": 30,
        "input_tokens_details": {"cached_tokens": 64, "cache_write_tokens": 8},
    }
    result = feed(
        CREATED,
        happened("in_progress", response={}),
        item(0, "added", type="reasoning", id="rs_1", summary=[]),
        happened("reasoning_summary_text.delta", item_id="rs_1", output_index=0, summary_index=0, delta="one"),
        happened("reasoning_summary_text.delta", item_id="rs_1", output_index=0, summary_index=1, delta="two"),
        item(0, "done", **REASONING),
        item(1, "added", type="message", id="msg_1", content=[], status="in_progress"),
        happened("content_part.added", output_index=1, part={"type": "output_text", "text": ""}),
        happened("output_text.delta", output_index=1, item_id="msg_1", delta="Hel"),
        happened("output_text.delta", output_index=1, item_id="msg_1", delta="lo"),
        happened("output_text.done", output_index=1, text="Hello"),
        item(1, "done", **MESSAGE),
        item(2, "added", **CALL, arguments=""),
        happened("function_call_arguments.delta", output_index=2, delta='{"amount": 1}'),
        item(2, "done", **CALL, arguments='{"amount": 1}', status="completed"),
        ended("completed", usage=usage, model="m-1"),
        deltas=deltas,
    )
    assert result.parts == [
        ThinkingPart(text="one", id="rs_1", signature="sealed", **MAKER),
        ThinkingPart(text="two", id="rs_1", **MAKER),
        TextPart(text="Hello", phase="final_answer"),
        CallPart(name="pay", arguments='{"amount": 1}', provider_id="c1"),
    ]
    assert (result.finish, result.ended, result.served_model, result.request_id) == ("completed", True, "m-1", "resp_1")
    assert result.usage == Usage(input_tokens=100, output_tokens=30, cache_read_tokens=64, cache_write_tokens=8)
    assert deltas == [("thinking", "one"), ("thinking", "two"), ("text", "Hel"), ("text", "lo"), ("call", "pay")]
    assert [event["event"] for event in result.events] == ["response.created", "response.completed"]


def test_reasoning_without_summary_is_kept_for_its_seal():
    (part,) = feed(item(0, "done", type="reasoning", id="rs_1", summary=[], encrypted_content="sealed")).parts or []
    assert part == ThinkingPart(text="", id="rs_1", signature="sealed", **MAKER)
    assert feed(item(0, "done", type="reasoning", id="rs_1", summary=[])).parts == []


def test_whole_answer_is_its_own_end():
    deltas: list[Any] = []
    decoder = ResponsesDecoder(REQUEST, lambda kind, text: deltas.append((kind, text)))
    call = {**CALL, "arguments": "{}", "status": "completed"}
    decoder.body({"object": "response", "id": "r", "status": "completed", "output": [REASONING, MESSAGE, call]})
    result = decoder.result()
    assert [type(part).__name__ for part in result.parts or []] == ["ThinkingPart"] * 2 + ["TextPart", "CallPart"]
    assert (result.finish, result.ended) == ("completed", True)
    assert deltas == [("thinking", "one"), ("thinking", "two"), ("text", "Hello"), ("call", "pay")]


def test_output_at_the_end_replaces_what_the_deltas_said():
    said = happened("output_text.delta", output_index=0, delta="Hel")
    assert feed(said, ended("completed", [MESSAGE])).parts == [TextPart(text="Hello", phase="final_answer")]


def test_item_that_comes_only_whole_is_told_once():
    deltas: list[Any] = []
    feed(item(0, "done", **MESSAGE), DONE | {"output_index": 1}, ended("completed", [MESSAGE, CALL]), deltas=deltas)
    assert deltas == [("text", "Hello"), ("call", "pay")]


WHOLENESS = [
    ([BEGUN], False),
    ([BEGUN, HALF], False),
    ([BEGUN, HALF, REST], False),
    ([BEGUN, HALF, REST, DONE], True),
    ([BEGUN, item(0, "done", **CALL, arguments='{"amount": 1', status="incomplete")], False),
    ([BEGUN, HALF, ended("incomplete", incomplete_details={"reason": "max_output_tokens"})], False),
    ([BEGUN, HALF, ended("incomplete", [{**CALL, "arguments": '{"am', "status": "incomplete"}])], False),
    ([BEGUN, HALF, REST, ended("completed")], True),
    ([BEGUN, ended("completed", [{**CALL, "arguments": "{}"}])], True),
]


@pytest.mark.parametrize(("events", "whole"), WHOLENESS)
def test_call_is_whole_only_when_nothing_of_it_can_be_missing(events, whole):
    result = feed(CREATED, *events)
    assert [part.whole for part in result.parts or [] if isinstance(part, CallPart)] == [whole]


ENDS = [
    (ended("completed"), "completed"),
    (ended("incomplete", incomplete_details={"reason": "content_filter"}), "content_filter"),
    (ended("failed", error={"code": "server_error", "message": "x"}), "failed"),
    (happened("incomplete", response={}), "incomplete"),
]


@pytest.mark.parametrize(("event", "finish"), ENDS)
def test_each_end_of_the_protocol_is_one_and_is_kept(event, finish):
    result = feed(CREATED, event)
    assert (result.finish, result.ended) == (finish, True)
    assert result.events[-1]["data"] == event


def test_stream_without_its_own_end_has_not_ended():
    assert not feed(CREATED, BEGUN, HALF, REST, DONE).ended


def test_refusals_and_unknown_items_and_events_are_kept_as_they_came():
    refusal = {"type": "message", "content": [{"type": "refusal", "refusal": "no"}], "status": "completed"}
    strange = [
        happened("refusal.delta", output_index=0, delta="no"),
        happened("content_part.added", output_index=0, part={"type": "refusal", "refusal": ""}),
        item(0, "done", **refusal),
        item(1, "done", type="web_search_call", id="ws_1", status="completed"),
        {"type": "error", "code": "server_error", "message": "x"},
    ]
    result = feed(*strange, b"no json")
    assert [event["data"] for event in result.events] == [*strange, "no json"]
    assert result.parts == []


def test_answer_of_another_shape_is_not_assembled():
    assert feed({"choices": [{"delta": {"content": "x"}}]}, {"type": "error", "code": "x"}).parts is None
    decoder = ResponsesDecoder(REQUEST, lambda kind, text: None)
    decoder.body({"error": {"message": "x"}})
    assert (decoder.result().parts, decoder.ended) == (None, False)


def test_response_sent_whole_inside_a_stream_is_read():
    result = feed({"object": "response", "status": "completed", "output": [MESSAGE]})
    assert (result.ended, result.parts) == (True, [TextPart(text="Hello", phase="final_answer")])


def test_items_are_told_apart_by_id_where_they_have_no_place():
    first = happened("output_text.delta", item_id="a", delta="one")
    second = happened("output_text.delta", item_id="b", delta="two")
    assert feed(first, second).parts == [TextPart(text="one"), TextPart(text="two")]


def test_arguments_without_a_beginning_are_a_call_without_a_name_and_never_whole():
    (part,) = feed(HALF, REST, ended("completed")).parts or []
    assert part == CallPart(name="", arguments='{"amount": 1}', whole=False)


def test_pieces_that_say_nothing_and_items_of_other_kinds_are_no_parts():
    deltas: list[Any] = []
    search = {"type": "web_search_call", "id": "ws_1", "status": "completed"}
    silent = happened("output_text.delta", output_index=0, delta="")
    assert feed(silent, deltas=deltas).parts == []
    assert feed(ended("completed", [search]), deltas=deltas).parts == []
    assert deltas == []


def test_signs_of_life_are_kept_only_up_to_a_bound():
    decoder = ResponsesDecoder(REQUEST, lambda kind, text: None)
    for _ in range(20):
        decoder.event(SseEvent(comment="alive"))
        decoder.event(SseEvent("keepalive", b'{"type":"keepalive"}'))
    assert len(decoder.result().events) == 16
