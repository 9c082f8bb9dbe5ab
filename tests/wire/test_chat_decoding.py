"""Chat Completions answers, as sloppy as servers send them."""

import json
from typing import Any

import pytest

from stoic.ports import Request
from stoic.records import CallPart, TextPart, ThinkingPart, Usage
from stoic.wire.chat_decoding import ChatDecoder
from stoic.wire.sse import SseEvent

REQUEST = Request(url="", headers={}, body=b"", provider="p", api="chat", model="m", deadline_ms=0)


def decode(*events) -> tuple[Any, list[tuple[str, str]]]:
    """Feed events (values, or bytes as they are) and return what was decoded and heard."""
    heard = []
    decoder = ChatDecoder(REQUEST, lambda kind, text: heard.append((kind, text)))
    for event in events:
        data = event if isinstance(event, bytes) else json.dumps(event).encode()
        decoder.event(SseEvent(data=data))
    return decoder.result(), heard


def delta(finish=None, **fields):
    return {"id": "c1", "model": "m2", "choices": [{"index": 0, "delta": fields, "finish_reason": finish}]}


def tool(index, call_id, name, arguments):
    function = {"name": name, "arguments": arguments}
    return {"index": index, "id": call_id, "type": "function", "function": function}


def test_usual_stream_keeps_only_the_events_that_say_more_than_text():
    end, usage = delta("stop"), {"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 2}}
    decoded, heard = decode(
        delta(role="assistant", content=""), delta(content="He"), delta(content="y"), end, usage, b"[DONE]"
    )
    assert decoded.parts == [TextPart(text="Hey")]
    assert heard == [("text", "He"), ("text", "y")]
    assert decoded.events == [{"event": None, "data": value} for value in (end, usage, "[DONE]")]
    assert (decoded.finish, decoded.ended, decoded.end_unconfirmed) == ("stop", True, False)
    assert (decoded.served_model, decoded.request_id) == ("m2", "c1")
    assert decoded.usage == Usage(input_tokens=9, output_tokens=2)


def test_done_alone_ends_the_text_unconfirmed_and_confirms_no_call():
    decoded, _ = decode(delta(content="x", tool_calls=[tool(0, "a", "pay", '{"n":1}')]), b"[DONE]")
    assert (decoded.ended, decoded.end_unconfirmed, decoded.finish) == (False, True, None)
    assert not decoded.parts[1].whole


def test_finish_reason_without_done_is_a_confirmed_end():
    decoded, _ = decode(delta(content="x"), delta("stop"))
    assert (decoded.ended, decoded.end_unconfirmed) == (True, False)


WHOLE = [
    ('{"a":1}', "tool_calls", True),
    ('{"a":1}', "stop", True),
    ('{"a":1}', "length", True),
    ('{"a":1}', None, False),
    ('{"a":1', "tool_calls", True),
    ("{'a': x}", "stop", True),
    ('{"a":1', "length", False),
    ('{"a":1', "some_new_reason", False),
    ("[1]", "length", False),
    ('{"a":NaN}', "length", False),
    ("", "tool_calls", True),
    ("", "stop", True),
    ("", "length", False),
    ("", "content_filter", False),
    ("", "error", False),
    ("", "some_new_reason", False),
    ("", None, False),
]


@pytest.mark.parametrize(("arguments", "finish", "whole"), WHOLE)
def test_call_is_whole_only_if_nothing_of_it_can_be_missing(arguments, finish, whole):
    events = [delta(tool_calls=[tool(0, "a", "pay", arguments)])] + ([delta(finish)] if finish else [])
    decoded, _ = decode(*events)
    assert decoded.parts == [CallPart(name="pay", arguments=arguments, provider_id="a", whole=whole)]


def test_call_without_a_name_is_never_whole():
    decoded, _ = decode(delta("tool_calls", tool_calls=[tool(0, "a", "", "{}")]))
    assert not decoded.parts[0].whole


def piece(arguments, index=0, call_id=None, name=None):
    return {"index": index, "id": call_id, "function": {"name": name, "arguments": arguments}}


def without_index(call):
    return {key: value for key, value in call.items() if key != "index"}


SHAPES = {
    "pieces by index": [
        [tool(0, "a", "pay", ""), tool(1, "b", "ask", "")],
        [piece('{"n":', 1), piece('{"m":')],
        [piece("2}"), piece("1}", 1)],
    ],
    "whole in one chunk": [[tool(0, "a", "pay", '{"m":2}'), tool(1, "b", "ask", '{"n":1}')]],
    "no index, whole": [[without_index(tool(0, "a", "pay", '{"m":2}')), without_index(tool(0, "b", "ask", '{"n":1}'))]],
    "no index, pieces follow": [
        [without_index(tool(0, "a", "pay", '{"m"'))],
        [without_index(piece(":2}"))],
        [without_index(tool(0, "b", "ask", '{"n":1'))],
        [without_index(piece("}"))],
    ],
    "all numbered 0": [[tool(0, "a", "pay", '{"m":2}')], [tool(0, "b", "ask", '{"n":1}')]],
    "name repeated": [
        [tool(0, "a", "pay", '{"m"')],
        [tool(0, "a", "pay", ":2}")],
        [tool(1, "b", "ask", '{"n"')],
        [tool(1, "b", "ask", ":1}")],
    ],
    "name in pieces": [
        [tool(0, "a", "p", ""), tool(1, "b", "as", "")],
        [piece("", 0, None, "ay"), piece("", 1, "", "k")],
        [piece('{"m":2}'), piece('{"n":1}', 1)],
    ],
    "arguments as object": [[tool(0, "a", "pay", {"m": 2}), tool(1, "b", "ask", {"n": 1})]],
}


@pytest.mark.parametrize("chunks", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("finish", ["tool_calls", "stop"])
def test_calls_are_assembled_however_the_server_numbers_them(chunks, finish):
    decoded, heard = decode(*(delta(tool_calls=calls) for calls in chunks), delta(finish))
    assert decoded.parts == [
        CallPart(name="pay", arguments='{"m":2}', provider_id="a"),
        CallPart(name="ask", arguments='{"n":1}', provider_id="b"),
    ]
    assert [kind for kind, _ in heard] == ["call", "call"]


def test_calls_without_index_and_id_are_told_apart_by_their_names():
    calls = [{"function": {"name": "pay", "arguments": "{}"}}, {"function": {"name": "ask", "arguments": "{}"}}]
    decoded, _ = decode(delta("stop", tool_calls=calls))
    assert [part.name for part in decoded.parts] == ["pay", "ask"]


TEXTS = {
    "reasoning_content": ([delta(reasoning_content="hm"), delta(content="x")], "hm", "x"),
    "reasoning": ([delta(reasoning="hm", content=""), delta(content="x", reasoning=None)], "hm", "x"),
    "parts": ([delta(content=[{"type": "text", "text": "a"}, {"type": "text", "text": "b"}])], "", "ab"),
    "nested thinking": (
        [delta(content=[{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]), delta(content="x")],
        "hm",
        "x",
    ),
    "null fields": ([delta(content=None, tool_calls=None, role=None, refusal=None), delta(content="x")], "", "x"),
    "split surrogate pair": ([b'{"choices":[{"delta":{"content":"\\ud83d"}}]}', delta(content="\ude00")], "", "😀"),
    "finish with text": ([delta(content="a"), delta("stop", content="b")], "", "ab"),
    "other choices": (
        [{"choices": [{"index": 1, "delta": {"content": "no"}}]}, delta(content="x")],
        "",
        "x",
    ),
    "message instead of delta": ([{"choices": [{"message": {"content": "x"}, "finish_reason": "stop"}]}], "", "x"),
}


@pytest.mark.parametrize(("events", "thinking", "text"), TEXTS.values(), ids=TEXTS)
def test_text_and_thinking_are_found_in_every_known_shape(events, thinking, text):
    decoded, _ = decode(*events)
    expected = [ThinkingPart(text=thinking, provider="p", model="m")] if thinking else []
    assert decoded.parts == [*expected, TextPart(text=text)]


NOTABLE = [
    delta(refusal="no"),
    delta("content_filter", content=""),
    {"error": {"code": 502, "message": "gone"}},
    {"choices": [], "error": {"code": 503}},
    {**delta(content="x"), "error": {"code": 502}},
    {"choices": [], "prompt_filter_results": [{"prompt_index": 0}]},
    {"choices": [{"index": 0, "delta": {"content": "x"}, "content_filter_results": {"hate": {"filtered": True}}}]},
    {"choices": [{"index": 0, "delta": {"audio": {"data": ""}}}]},
    {"type": "message_start", "message": {}},
    {"choices": "no list"},
    {"choices": [7]},
    {"choices": [{"delta": {"content": 7, "tool_calls": [{"function": 7}, 7]}, "finish_reason": 7}]},
    [1, 2],
    "text",
    None,
]


@pytest.mark.parametrize("event", NOTABLE, ids=lambda event: json.dumps(event)[:40])
def test_event_that_says_more_is_kept_as_it_came(event):
    decoded, _ = decode(delta(content="a"), event)
    assert decoded.events == [{"event": None, "data": event}]


BROKEN = [(b'{"choices": [', '{"choices": ['), (b"\xff\xfe", "\ufffd\ufffd"), (b"", ""), (b'{"a": NaN', '{"a": NaN')]


@pytest.mark.parametrize(("data", "kept"), BROKEN)
def test_event_that_is_no_json_is_kept_as_text(data, kept):
    decoded, _ = decode(data)
    assert decoded.events == [{"event": None, "data": kept}]
    assert not decoded.ended


def test_json_nested_without_end_is_kept_as_text():
    deep = b"[" * 100_000
    assert decode(deep)[0].events == [{"event": None, "data": deep.decode()}]


def test_named_event_is_kept_with_its_name():
    decoder = ChatDecoder(REQUEST, lambda kind, text: None)
    decoder.event(SseEvent("error", b'{"message":"no"}'))
    assert decoder.result().events == [{"event": "error", "data": {"message": "no"}}]


def test_keep_alive_comments_are_kept_but_not_without_bound():
    decoder = ChatDecoder(REQUEST, lambda kind, text: None)
    for _ in range(1000):
        decoder.event(SseEvent(comment="keep-alive"))
    assert decoder.result().events == [{"comment": "keep-alive"}] * 16


USAGES = [
    ({"prompt_tokens": 9, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 5}}, (9, 2, 5)),
    ({"prompt_tokens": 9, "completion_tokens": 2, "prompt_cache_hit_tokens": 4}, (9, 2, 4)),
    ({"prompt_tokens": None, "completion_tokens": "2", "prompt_tokens_details": None}, (0, 0, 0)),
    ({"prompt_tokens": 9, "completion_tokens": -1}, (9, 0, 0)),
]


@pytest.mark.parametrize(("usage", "expected"), USAGES)
def test_usage_is_read_from_wherever_it_stands(usage, expected):
    for event in ({"choices": [], "usage": usage}, {**delta(content="x"), "usage": usage}):
        found = decode(event)[0].usage
        assert (found.input_tokens, found.output_tokens, found.cache_read_tokens) == expected


def test_last_usage_counts_when_every_chunk_has_one():
    chunks = [{**delta(content="x"), "usage": {"prompt_tokens": 9, "completion_tokens": n}} for n in (1, 2, 3)]
    assert decode(*chunks)[0].usage.output_tokens == 3


BODIES = [
    ({"choices": [{"message": {"content": "x"}, "finish_reason": "stop"}]}, True, False),
    ({"choices": [{"message": {"content": "x"}, "finish_reason": None}]}, False, True),
    ({"error": {"message": "no"}}, False, False),
    ({"choices": []}, False, False),
    ("text", False, False),
]


@pytest.mark.parametrize(("body", "ended", "unconfirmed"), BODIES)
def test_whole_body_without_finish_reason_is_an_unconfirmed_end(body, ended, unconfirmed):
    decoder = ChatDecoder(REQUEST, lambda kind, text: None)
    decoder.body(body)
    decoded = decoder.result()
    assert (decoded.ended, decoded.end_unconfirmed) == (ended, unconfirmed)


@pytest.mark.parametrize("events", [[], [{"error": {"code": 502}}], [{"type": "message_start"}, b"[DONE]"]])
def test_answer_without_any_choice_assembles_nothing(events):
    assert decode(*events)[0].parts is None


def test_choice_without_content_assembles_an_empty_reply():
    assert decode(delta("stop"))[0].parts == []
