"""The bytes of Gemini requests."""

import json

import pytest
from tests.wire.apis import IMAGE, PIXEL, TOOL

from stoic.errors import UsageError
from stoic.records import AssistantMessage, CallView, TextPart, ThinkingPart, ToolMessage, UserMessage
from stoic.wire import gemini
from stoic.wire.gemini import UNSIGNED_CALL, GeminiRenderer

MODEL = "gemini-3-pro"
OWN = {"provider": "p", "model": MODEL}
OURS = GeminiRenderer(**OWN)
HI = UserMessage(text="hi")


def contents(*view, renderer=OURS):
    return [json.loads(fragment) for fragment in renderer.fragments(view)]


def test_head_has_a_fixed_order_and_contents_last():
    opened = gemini.head("m", "be brief", [TOOL], {"safetySettings": [], "generationConfig": {"temperature": 0}})
    assert opened == (
        b'{"generationConfig":{"temperature":0},"safetySettings":[],'
        b'"systemInstruction":{"parts":[{"text":"be brief"}]},'
        b'"tools":[{"functionDeclarations":[{"name":"pay","description":"Pay.","parametersJsonSchema":{"type":"object",'
        b'"properties":{"amount":{"type":"integer"}},"required":["amount"]}}]}],"contents":['
    )
    assert OURS.head("m", " ", [], {}) == b'{"contents":['


@pytest.mark.parametrize("name", ["contents", "tools", "systemInstruction", "cachedContent"])
def test_parameter_the_runtime_sets_itself_is_a_usage_error(name):
    with pytest.raises(UsageError, match=f"'{name}' is set by the runtime itself"):
        gemini.head("m", "", [], {name: 1})


def test_inputs_and_results_between_replies_are_one_content_with_responses_first():
    calls = [CallView(id="c1", name="pay", arguments='{"amount": 1}'), CallView(id="c2", name="look", arguments="")]
    results = [
        ToolMessage(call_id="c1", name="pay", text="paid"),
        ToolMessage(call_id="c2", name="look", text="no", error=True),
    ]
    _, reply, second = contents(HI, AssistantMessage(calls=calls), *results, HI, UserMessage(text=" "))
    assert [part["functionCall"] for part in reply["parts"]] == [
        {"name": "pay", "args": {"amount": 1}},
        {"name": "look", "args": {}},
    ]
    assert second["parts"] == [
        {"functionResponse": {"name": "pay", "response": {"output": "paid"}}},
        {"functionResponse": {"name": "look", "response": {"error": "no"}}},
        {"text": "hi"},
        {"text": "(empty)"},
    ]


def test_name_of_a_call_and_its_response_stay_the_same_and_begin_with_a_letter():
    call = CallView(id="c1", name="7-up!", arguments="{}")
    reply, user = contents(AssistantMessage(calls=[call]), ToolMessage(call_id="c1", name="7-up!", text="x"))
    assert reply["parts"][0]["functionCall"]["name"] == "_7-up_"
    assert user["parts"][0]["functionResponse"]["name"] == "_7-up_"


def test_neutral_content_stands_where_the_conversation_has_none():
    neutral = {"role": "user", "parts": [{"text": "(continue)"}]}
    assert contents() == [neutral]
    assert contents(AssistantMessage(text="a"), AssistantMessage(text="b"), HI)[1] == neutral


def reply_with_signatures(**maker):
    call = CallView(id="c1", name="pay", arguments="{}", signature="on call")
    pieces = [
        ThinkingPart(text="thought", **maker),
        TextPart(text="said", signature="on text"),
        call,
        CallView(id="c2", name="pay", arguments="{}"),
        ThinkingPart(text="", signature="on nothing", **maker),
        ThinkingPart(text="", **maker),
    ]
    return AssistantMessage(text="said", calls=[call], pieces=pieces, **maker)


def test_thoughts_and_signatures_go_back_to_their_maker_in_their_place():
    call = {"functionCall": {"name": "pay", "args": {}}}
    assert contents(reply_with_signatures(**OWN))[0]["parts"] == [
        {"text": "thought", "thought": True},
        {"text": "said", "thoughtSignature": "on text"},
        {**call, "thoughtSignature": "on call"},
        call,
        {"text": "", "thoughtSignature": "on nothing"},
    ]


def test_foreign_signatures_are_left_out_and_the_first_call_says_so():
    call = {"functionCall": {"name": "pay", "args": {}}}
    for maker in ({"provider": "p", "model": "gemini-2.5-pro"}, {"provider": "q", "model": MODEL}):
        parts = contents(reply_with_signatures(**maker))[0]["parts"]
        assert parts == [{"text": "said"}, {**call, "thoughtSignature": UNSIGNED_CALL}, call]


@pytest.mark.parametrize(
    ("model", "demands"),
    [
        ("gemini-2.5-pro", False),
        ("gemini-1.5-flash", False),
        ("gemma-3-27b", False),
        ("gemini-flash-latest", True),
        ("gemini-12-pro", True),
    ],
)
def test_older_models_get_no_stand_in_for_a_signature_and_current_ones_by_any_name_do(model, demands):
    renderer = GeminiRenderer(provider="p", model=model)
    assert (UNSIGNED_CALL in str(contents(reply_with_signatures(**OWN), renderer=renderer))) is demands


def test_reply_that_says_nothing_visible_has_a_fixed_word():
    assert contents(AssistantMessage(text=" "))[0]["parts"] == [{"text": "(empty)"}]


def test_images_of_results_follow_all_responses_and_those_of_inputs_stand_before_their_text():
    image = {"inlineData": {"mimeType": "image/png", "data": PIXEL}}
    calls = [CallView(id="c1", name="look", arguments="{}"), CallView(id="c2", name="pay", arguments="{}")]
    results = [
        ToolMessage(call_id="c1", name="look", text="", images=[IMAGE]),
        ToolMessage(call_id="c2", name="pay", text="x"),
    ]
    inputs = [UserMessage(text="see", images=[IMAGE]), UserMessage(text="", images=[IMAGE])]
    parts = contents(AssistantMessage(calls=calls), *results, *inputs)[1]["parts"]
    assert parts[0]["functionResponse"]["response"] == {"output": "(1 image(s) of this result follow)"}
    assert parts[2:] == [{"text": "Images of the result of look:"}, image, image, {"text": "see"}, image]


ENDPOINTS = [
    ("http://h/v1beta", "gemini-3-pro", "http://h/v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse"),
    ("http://h/v1beta/", "tunedModels/a b", "http://h/v1beta/tunedModels/a%20b:streamGenerateContent?alt=sse"),
    ("http://h/m:streamGenerateContent?alt=sse", "x", "http://h/m:streamGenerateContent?alt=sse"),
]


@pytest.mark.parametrize(("base", "model", "url"), ENDPOINTS)
def test_endpoint_names_the_model(base, model, url):
    assert gemini.endpoint(base, model) == url


def test_server_without_keys_gets_no_key_header():
    assert gemini.auth_headers(None) == {}
    assert gemini.auth_headers("k") == {"x-goog-api-key": "k"}
