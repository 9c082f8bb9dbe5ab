"""The bytes of Anthropic Messages requests."""

import json

import pytest
from tests.wire.apis import IMAGE, PIXEL, TOOL

from stoic.errors import UsageError
from stoic.records import AssistantMessage, CallView, Piece, TextPart, ThinkingPart, ToolMessage, UserMessage
from stoic.wire import messages
from stoic.wire.messages import MARKER, MessagesRenderer, without_markers

OURS = MessagesRenderer(provider="p", model="m")
HI = UserMessage(text="hi")
MARK = {"type": "ephemeral"}


def rendered(*view, newest=False):
    return [json.loads(fragment) for fragment in OURS.fragments(view, newest=newest)]


def blocks(reply):
    return rendered(reply)[0]["content"]


def test_head_has_a_fixed_order_and_messages_last():
    opened = messages.head("m", "be brief", [TOOL], {"stop_sequences": ["x"], "max_tokens": 10})
    assert opened == (
        b'{"model":"m","max_tokens":10,"stop_sequences":["x"],"stream":true,'
        b'"tools":[{"name":"pay","description":"Pay.","input_schema":{"type":"object","properties":'
        b'{"amount":{"type":"integer"}},"required":["amount"]}}],'
        b'"system":[{"type":"text","text":"be brief", "cache_control":{"type":"ephemeral"}}],"messages":['
    )
    assert opened == messages.head("m", "be brief", [TOOL], {"max_tokens": 10, "stop_sequences": ["x"]})


def test_without_system_prompt_the_last_tool_carries_the_breakpoint():
    body = json.loads(OURS.head("m", " ", [TOOL, TOOL], {}) + messages.TAIL)
    assert "system" not in body
    assert ["cache_control" in tool for tool in body["tools"]] == [False, True]
    assert MARKER not in messages.head("m", "", [], {})


@pytest.mark.parametrize("name", ["stream", "messages", "system", "tools"])
def test_parameter_the_runtime_sets_itself_is_a_usage_error(name):
    with pytest.raises(UsageError, match=f"'{name}' is set by the runtime itself"):
        messages.head("m", "", [], {name: 1})


FAMILIES = [
    ("claude-opus-5-5", 128_000),
    ("anthropic.claude-opus-4-20250514-v1:0", 32_000),
    ("claude-opus-4@20250514", 32_000),
    ("claude-opus-4-1", 32_000),
    ("claude-opus-4-5-20251101", 64_000),
    ("claude-opus-4-8", 128_000),
    ("claude-sonnet-4-5", 64_000),
    ("claude-sonnet-4-6", 128_000),
    ("claude-haiku-4-5", 64_000),
    ("claude-3-7-sonnet-latest", 64_000),
    ("claude-3-5-haiku-latest", 8192),
    ("claude-3-haiku-20240307", 4096),
    ("somebody-elses", 8192),
]


@pytest.mark.parametrize(("model", "limit_tokens"), FAMILIES)
def test_max_tokens_is_what_the_models_family_can_say(model, limit_tokens):
    body = json.loads(messages.head(model, "", [], {}) + messages.TAIL)
    assert body["max_tokens"] == limit_tokens


def test_inputs_and_results_between_replies_are_one_user_message_with_results_first():
    calls = [CallView(id="c1", name="pay", arguments="{}"), CallView(id="c2", name="pay", arguments="{}")]
    results = [ToolMessage(call_id=call.id, name="pay", text=call.id, error=call.id == "c2") for call in calls]
    first, reply, second = rendered(HI, AssistantMessage(calls=calls), *results, HI, UserMessage(text="more"))
    assert first == {"role": "user", "content": [{"type": "text", "text": "hi"}]}
    assert [block["id"] for block in reply["content"]] == ["c1", "c2"]
    assert second["content"] == [
        {"type": "tool_result", "tool_use_id": "c1", "content": "c1"},
        {"type": "tool_result", "tool_use_id": "c2", "content": "c2", "is_error": True},
        {"type": "text", "text": "hi"},
        {"type": "text", "text": "more"},
    ]


def test_neutral_user_message_stands_where_the_conversation_has_none():
    neutral = {"role": "user", "content": [{"type": "text", "text": "(continue)"}]}
    assert rendered() == [neutral]
    assert rendered(AssistantMessage(text="a"), AssistantMessage(text="b"), HI)[1] == neutral


def test_thinking_goes_back_to_its_maker_only_and_in_its_place():
    own = {"provider": "p", "model": "m"}
    pieces: list[Piece] = [
        ThinkingPart(text="one", signature="s1", **own),
        TextPart(text="said"),
        ThinkingPart(text="", redacted="opaque", **own),
        ThinkingPart(text="unsigned", **own),
        ThinkingPart(text="foreign model", signature="s2", provider="p", model="other"),
        ThinkingPart(text="foreign provider", signature="s3", provider="other", model="m"),
    ]
    call = CallView(id="c1", name="pay", arguments='{"amount": 1}')
    assert blocks(AssistantMessage(text="said", calls=[call], pieces=[*pieces, call])) == [
        {"type": "thinking", "thinking": "one", "signature": "s1"},
        {"type": "text", "text": "said"},
        {"type": "redacted_thinking", "data": "opaque"},
        {"type": "thinking", "thinking": "unsigned"},
        {"type": "tool_use", "id": "c1", "name": "pay", "input": {"amount": 1}},
    ]


def test_reply_without_pieces_is_thinking_then_text_then_calls():
    thinking = ThinkingPart(text="t", signature="s", provider="p", model="m")
    call = CallView(id="c1", name="pay", arguments="")
    reply = AssistantMessage(text="x", calls=[call], thinking=[thinking])
    assert [block["type"] for block in blocks(reply)] == ["thinking", "text", "tool_use"]


def test_reply_that_says_nothing_visible_has_a_fixed_word():
    thinking = ThinkingPart(text="t", signature="s", provider="p", model="m")
    shown = blocks(AssistantMessage(text=" ", thinking=[thinking], pieces=[thinking, TextPart(text=" ")]))
    assert shown[1:] == [{"type": "text", "text": "(empty)"}]


ARGUMENTS = [
    ('{"a" : 1.50, "b": [ 1 , 2 ], "c": "x, \\" y"}', b'{"a":1.50,"b":[1,2],"c":"x, \\" y"}'),
    ('{"big": 123456789012345678901234567890}', b'{"big":123456789012345678901234567890}'),
    ("", b"{}"),
    ('{"a": ', b'{"unreadable_arguments":"{\\"a\\": "}'),
]


@pytest.mark.parametrize(("written", "sent"), ARGUMENTS)
def test_arguments_are_an_object_with_the_models_own_digits(written, sent):
    fragment = OURS.fragments([AssistantMessage(calls=[CallView(id="c", name="pay", arguments=written)])])[0]
    assert b'"input":' + sent in fragment


def test_images_stand_before_the_text_of_inputs_and_results():
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}
    call = CallView(id="c1", name="pay", arguments="{}")
    result = ToolMessage(call_id="c1", name="pay", text="", images=[IMAGE])
    inputs = [UserMessage(text="look", images=[IMAGE]), UserMessage(text="", images=[IMAGE])]
    user = rendered(AssistantMessage(calls=[call]), result, *inputs)[1]
    assert user["content"][0]["content"] == [image]
    assert user["content"][1:] == [image, {"type": "text", "text": "look"}, image]


def test_empty_and_broken_text_becomes_something_servers_take():
    assert rendered(UserMessage(text=" "), UserMessage(text="a\udce9"))[0]["content"] == [
        {"type": "text", "text": "(empty)"},
        {"type": "text", "text": "a\ufffd"},
    ]


@pytest.mark.parametrize(("results", "marked"), [(1, [0]), (18, [17]), (19, [17, 18]), (45, [17, 36, 44])])
def test_breakpoints_stand_close_enough_for_the_server_to_find_the_request_before(results, marked):
    calls = [CallView(id=f"c{n}", name="pay", arguments="{}") for n in range(results)]
    reply = AssistantMessage(text="x", pieces=[TextPart(text="x")])
    told = [ToolMessage(call_id=call.id, name="pay", text="x") for call in calls]
    user = rendered(reply, *told, newest=True)[1]["content"]
    assert [place for place, block in enumerate(user) if block.get("cache_control") == MARK] == marked


def test_text_that_looks_like_a_breakpoint_stays_when_breakpoints_are_taken_out():
    text = f"{MARKER.decode()} and more"
    fragments = OURS.fragments([UserMessage(text=text)], newest=True)
    assert b",".join(fragments).count(MARKER) == 1
    plain = json.loads(without_markers(b",".join(fragments)))
    assert plain["content"] == [{"type": "text", "text": text}]


BASES = [
    "http://h",
    "http://h/",
    "http://h/v1",
    "http://h/v1/",
    "http://h/v1/messages",
    "http://h/v1/messages/",
]


@pytest.mark.parametrize("base", BASES)
def test_endpoint_is_found_from_any_form_of_base_url(base):
    assert messages.endpoint(base) == "http://h/v1/messages"


def test_headers_name_the_version_and_the_key_if_there_is_one():
    assert messages.auth_headers(None) == {"anthropic-version": "2023-06-01"}
    assert messages.auth_headers("k") == {"anthropic-version": "2023-06-01", "x-api-key": "k"}
