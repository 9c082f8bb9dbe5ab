"""The bytes of Chat Completions requests."""

import json
from itertools import chain, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stoic.errors import UsageError
from stoic.records import AssistantMessage, CallView, ImagePart, ThinkingPart, ToolMessage, ToolSchema, UserMessage
from stoic.testing.chat_style import find_fault
from stoic.wire import chat
from stoic.wire.rendering import join

TOOL = ToolSchema(name="pay", description="Pay.", parameters={"type": "object", "properties": {"z": {}, "a": {}}})
TEXT = st.text(st.characters(codec=None), max_size=20)
CALLS = st.lists(st.builds(CallView, id=st.uuids().map(str), name=st.just("pay"), arguments=TEXT), max_size=3)


@st.composite
def rounds(draw):
    """One input and what followed: calls with their results, or a text."""
    calls = draw(CALLS)
    results = [ToolMessage(call_id=call.id, name=call.name, text=draw(TEXT)) for call in calls]
    return [UserMessage(text=draw(TEXT)), AssistantMessage(text=draw(TEXT), calls=calls), *results]


@given(
    conversation=st.lists(rounds(), min_size=1, max_size=4).map(lambda groups: [*chain.from_iterable(groups)]),
    system=TEXT,
)
def test_each_request_begins_with_the_bytes_of_the_one_before(conversation, system):
    opened = chat.head("m", system, [TOOL], {"temperature": 0})
    fragments = [chat.fragment(message) for message in conversation]
    bodies = [join(opened, fragments[:count], chat.TAIL) for count in range(1, len(fragments) + 1)]
    for before, after in pairwise(bodies):
        assert before.endswith(chat.TAIL)
        assert after.startswith(before.removesuffix(chat.TAIL) + b",")
    assert find_fault(json.loads(bodies[-1])) is None


def test_head_has_a_fixed_order_and_messages_last():
    opened = chat.head("m", "be brief", [TOOL], {"temperature": 0.5, "max_tokens": 10})
    assert opened == (
        b'{"model":"m","max_tokens":10,"temperature":0.5,"stream":true,"stream_options":{"include_usage":true},'
        b'"tools":[{"type":"function","function":{"name":"pay","description":"Pay.",'
        b'"parameters":{"type":"object","properties":{"z":{},"a":{}}}}}],'
        b'"messages":[{"role":"system","content":"be brief"},'
    )
    assert opened == chat.head("m", "be brief", [TOOL], {"max_tokens": 10, "temperature": 0.5})


def test_without_system_prompt_and_tools_neither_key_nor_message_is_sent():
    body = join(chat.head("m", " ", [], {}), [chat.fragment(UserMessage(text="hi"))], chat.TAIL)
    assert json.loads(body) == {
        "model": "m",
        "stream": True,
        "stream_options": {"include_usage": True},
        "messages": [{"role": "user", "content": "hi"}],
    }


@pytest.mark.parametrize("name", ["stream", "messages", "n"])
def test_parameter_the_runtime_sets_itself_is_a_usage_error(name):
    with pytest.raises(UsageError, match=f"'{name}' is set by the runtime itself"):
        chat.head("m", "", [], {name: 1})


def call(arguments):
    return CallView(id="c1", name="pay", arguments=arguments)


MESSAGES = [
    (UserMessage(text=""), {"role": "user", "content": "(empty)"}),
    (UserMessage(text="a\udce9b"), {"role": "user", "content": "a\ufffdb"}),
    (AssistantMessage(text="x"), {"role": "assistant", "content": "x"}),
    (AssistantMessage(text="  "), {"role": "assistant", "content": "(empty)"}),
    (AssistantMessage(text="x", thinking=[ThinkingPart(text="hm")]), {"role": "assistant", "content": "x"}),
    (ToolMessage(call_id="c1", name="pay", text="\n"), {"role": "tool", "tool_call_id": "c1", "content": "(empty)"}),
    (ToolMessage(call_id="c1", name="p", text="n", error=True), {"role": "tool", "tool_call_id": "c1", "content": "n"}),
]


@pytest.mark.parametrize(("message", "expected"), MESSAGES)
def test_message_is_rendered_as_servers_accept_it(message, expected):
    assert json.loads(chat.fragment(message)) == expected


ARGUMENTS = [
    ('{"a": 1}', '{"a": 1}'),
    ("", "{}"),
    ("  ", "{}"),
    ('{"a": 1', '{"unreadable_arguments":"{\\"a\\": 1"}'),
    ("[1]", '{"unreadable_arguments":"[1]"}'),
    ("\ud83d", '{"unreadable_arguments":"\ufffd"}'),
]


@pytest.mark.parametrize(("written", "sent"), ARGUMENTS)
def test_arguments_are_always_the_text_of_an_object(written, sent):
    message = json.loads(chat.fragment(AssistantMessage(calls=[call(written)])))
    assert message["content"] is None
    assert message["tool_calls"] == [{"id": "c1", "type": "function", "function": {"name": "pay", "arguments": sent}}]


NAMES = [("functions.pay", "functions_pay"), ("größe !", "gr__e__"), ("x" * 65, "x" * 64), ("", "unnamed")]


@pytest.mark.parametrize(("called", "sent"), NAMES)
def test_name_that_no_tool_can_have_is_made_one_that_servers_take(called, sent):
    view = CallView(id="c1", name=called, arguments="{}")
    message = json.loads(chat.fragment(AssistantMessage(calls=[view])))
    assert message["tool_calls"][0]["function"]["name"] == sent


IMAGE = ImagePart(media_type="image/png", data_base64="aW1hZ2U=")
SHOWN = {"type": "image_url", "image_url": {"url": "data:image/png;base64,aW1hZ2U="}}


def test_images_of_an_input_stand_before_its_text():
    inputs = [UserMessage(text="look", images=[IMAGE]), UserMessage(text=" ", images=[IMAGE])]
    assert [json.loads(fragment)["content"] for fragment in chat.fragments(inputs)] == [
        [SHOWN, {"type": "text", "text": "look"}],
        [SHOWN],
    ]


def test_images_of_results_follow_all_results_in_one_user_message():
    calls = [CallView(id=f"c{number}", name="look", arguments="{}") for number in (1, 2, 3)]
    results = [
        ToolMessage(call_id="c1", name="look", text="one", images=[IMAGE, IMAGE]),
        ToolMessage(call_id="c2", name="look", text="two"),
        ToolMessage(call_id="c3", name="look", text="", images=[IMAGE]),
    ]
    view = [UserMessage(text="hi"), AssistantMessage(calls=calls), *results, UserMessage(text="and?")]
    told = [json.loads(fragment) for fragment in chat.fragments(view, newest=True)]
    assert [message["role"] for message in told] == ["user", "assistant", "tool", "tool", "tool", "user", "user"]
    assert [message["content"] for message in told[2:5]] == [
        "one\n(2 image(s) of this result follow in the next user message)",
        "two",
        "(1 image(s) of this result follow in the next user message)",
    ]
    first = {"type": "text", "text": "Images of the result of look (c1):"}
    third = {"type": "text", "text": "Images of the result of look (c3):"}
    assert told[5]["content"] == [first, SHOWN, SHOWN, third, SHOWN]
    assert find_fault({"model": "m", "messages": told}) is None


@pytest.mark.parametrize(
    "base", ["http://h/v1", "http://h/v1/", "http://h/v1/chat/completions", "http://h/v1/chat/completions/"]
)
def test_endpoint_is_found_from_any_form_of_base_url(base):
    assert chat.endpoint(base) == "http://h/v1/chat/completions"


def test_server_without_keys_gets_no_authorisation_header():
    assert chat.auth_headers(None) == {}
    assert chat.auth_headers("k") == {"authorization": "Bearer k"}
