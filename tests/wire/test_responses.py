"""The bytes of OpenAI Responses requests."""

import json

import pytest
from tests.wire.apis import IMAGE, PIXEL, TOOL

from stoic.errors import UsageError
from stoic.records import AssistantMessage, CallView, TextPart, ThinkingPart, ToolMessage, UserMessage
from stoic.wire import responses
from stoic.wire.responses import ResponsesRenderer

OURS = ResponsesRenderer(provider="p", model="m")
OWN = {"provider": "p", "model": "m"}


def items(*view):
    return [json.loads(fragment) for fragment in OURS.fragments(view)]


def test_head_has_a_fixed_order_and_input_last():
    opened = responses.head("gpt-5", "be brief", [TOOL], {"reasoning": {"effort": "low"}, "max_output_tokens": 10})
    assert opened == (
        b'{"model":"gpt-5","include":["reasoning.encrypted_content"],"max_output_tokens":10,'
        b'"reasoning":{"effort":"low"},"stream":true,"store":false,"instructions":"be brief",'
        b'"tools":[{"type":"function","name":"pay","description":"Pay.","parameters":{"type":"object","properties":'
        b'{"amount":{"type":"integer"}},"required":["amount"]},"strict":false}],"input":['
    )
    assert OURS.head("m", " ", [], {}) == b'{"model":"m","stream":true,"store":false,"input":['


MODELS = [
    ("gpt-5", True),
    ("gpt-5.3-codex", True),
    ("openai/gpt-5-mini", True),
    ("o4-mini", True),
    ("codex-mini-latest", True),
    ("gpt-5-chat-latest", False),
    ("gpt-4o", False),
    ("gpt-4.1-mini", False),
    ("llama-3", False),
]


@pytest.mark.parametrize(("model", "asked"), MODELS)
def test_only_reasoning_models_are_asked_for_encrypted_reasoning(model, asked):
    assert (b"reasoning.encrypted_content" in responses.head(model, "", [], {})) == asked


def test_include_parameter_replaces_the_default():
    assert b'"include":[]' in responses.head("gpt-5", "", [], {"include": []})


@pytest.mark.parametrize("name", ["stream", "store", "input", "instructions", "previous_response_id"])
def test_parameter_the_runtime_sets_itself_is_a_usage_error(name):
    with pytest.raises(UsageError, match=f"'{name}' is set by the runtime itself"):
        responses.head("m", "", [], {name: 1})


def test_reasoning_goes_back_to_its_maker_only_and_before_what_it_led_to():
    pieces = [
        ThinkingPart(text="one", id="rs_1", signature="sealed", **OWN),
        ThinkingPart(text="two", id="rs_1", **OWN),
        ThinkingPart(text="foreign", id="rs_9", signature="x", provider="p", model="other"),
        TextPart(text="said", phase="commentary"),
        ThinkingPart(text="", id="rs_2", signature="sealed too", **OWN),
        CallView(id="c1", name="pay", arguments='{"amount": 1}'),
        ThinkingPart(text="no id", **OWN),
        ThinkingPart(text="nothing follows", id="rs_3", **OWN),
    ]
    assert items(AssistantMessage(text="said", pieces=pieces, provider="p", model="m")) == [
        {
            "type": "reasoning",
            "id": "rs_1",
            "summary": [{"type": "summary_text", "text": "one"}, {"type": "summary_text", "text": "two"}],
            "encrypted_content": "sealed",
        },
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "said"}],
            "phase": "commentary",
        },
        {"type": "reasoning", "id": "rs_2", "summary": [], "encrypted_content": "sealed too"},
        {"type": "function_call", "call_id": "c1", "name": "pay", "arguments": '{"amount": 1}'},
    ]


def test_phase_of_somebody_elses_text_is_left_out():
    (item,) = items(
        AssistantMessage(text="x", pieces=[TextPart(text="x", phase="final_answer")], provider="q", model="m")
    )
    assert item == {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "x"}]}


def test_reply_that_says_nothing_visible_has_a_fixed_word():
    (item,) = items(AssistantMessage(text=" "))
    assert item["content"] == [{"type": "output_text", "text": "(empty)"}]


def test_results_and_inputs_are_items_with_their_images():
    image = {"type": "input_image", "image_url": f"data:image/png;base64,{PIXEL}", "detail": "auto"}
    view = [
        ToolMessage(call_id="c1", name="pay", text=" "),
        ToolMessage(call_id="c2", name="pay", text="", images=[IMAGE]),
        UserMessage(text="look", images=[IMAGE]),
        UserMessage(text=" "),
    ]
    assert items(*view) == [
        {"type": "function_call_output", "call_id": "c1", "output": "(empty)"},
        {"type": "function_call_output", "call_id": "c2", "output": [image]},
        {"type": "message", "role": "user", "content": [image, {"type": "input_text", "text": "look"}]},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "(empty)"}]},
    ]


@pytest.mark.parametrize("base", ["http://h/v1", "http://h/v1/", "http://h/v1/responses", "http://h/v1/responses/"])
def test_endpoint_is_found_from_any_form_of_base_url(base):
    assert responses.endpoint(base) == "http://h/v1/responses"


def test_server_without_keys_gets_no_authorisation_header():
    assert responses.auth_headers(None) == {}
    assert responses.auth_headers("k") == {"authorization": "Bearer k"}
