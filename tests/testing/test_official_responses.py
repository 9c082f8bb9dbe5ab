"""The official `openai` client understands the scripted provider's Responses API, and means what our wire means."""

from typing import Any

import openai
import pytest
from openai import OpenAI
from tests.wire.apis import PIXEL, SCHEMA, body_of, conversation, send

from stoic.records import CallPart, TextPart, ThinkingPart
from stoic.testing import ScriptedProvider
from stoic.wire import responses
from stoic.wire.responses import ResponsesRenderer

MODEL = "gpt-5"
ASK: Any = [{"role": "user", "content": "hi"}]
RENDERER = ResponsesRenderer(provider="scripted", model=MODEL)
PROOF = ThinkingPart(text="hm", id="rs_1", signature="sealed", provider="scripted", model=MODEL)


def client(provider) -> Any:
    return OpenAI(base_url=provider.base_url, api_key="sk-secret", max_retries=0)


def ask(provider, body, deltas=None):
    url = responses.endpoint(provider.base_url)
    return send(url, responses.auth_headers("sk-secret"), body, api="responses", model=MODEL, deltas=deltas)


def test_official_client_assembles_streamed_reasoning_text_and_calls():
    script = [["thinking:let me see", "text:Paying", "text: now.", 'tool:pay({"amount": 1})', "tool:look({})"]]
    with (
        ScriptedProvider(script) as provider,
        client(provider) as official,
        official.responses.stream(model=MODEL, input=ASK) as stream,
    ):
        kinds = [event.type for event in stream]
        response = stream.get_final_response()
    assert [item.type for item in response.output] == ["reasoning", "message", "function_call", "function_call"]
    assert response.output[0].summary[0].text == "let me see"
    assert response.output[0].encrypted_content
    assert response.output_text == "Paying now."
    assert [item.arguments for item in response.output[2:]] == ['{"amount": 1}', "{}"]
    assert (kinds[0], kinds[-1]) == ("response.created", "response.completed")
    assert (response.status, response.model) == ("completed", MODEL)
    assert response.usage.total_tokens == response.usage.input_tokens + response.usage.output_tokens


def test_official_client_reads_answers_that_are_no_streams():
    script = [["text:Hello"], ['tool:pay({"amount": 1})'], ["refusal:No."], ["text:cut off", "finish:length"]]
    with ScriptedProvider(script) as provider, client(provider) as official:
        answers = [official.responses.create(model=MODEL, input=ASK) for _ in script]
    assert [answer.status for answer in answers] == ["completed", "completed", "completed", "incomplete"]
    assert [answer.output_text for answer in answers] == ["Hello", "", "", "cut off"]
    assert answers[1].output[0].name == "pay"
    assert answers[2].output[0].content[0].refusal == "No."
    assert answers[3].incomplete_details.reason == "max_output_tokens"


def test_what_we_read_is_what_the_official_client_reads():
    script = {"default": ["thinking:hm hm hm hm hm", "text:Paying.", 'tool:pay({"amount": 1})', "tool:pay({})"]}
    deltas: list[Any] = []
    with ScriptedProvider(script) as provider, client(provider) as official:
        report = ask(provider, body_of(RENDERER, MODEL, conversation(PROOF)), deltas)
        with official.responses.stream(model=MODEL, input=ASK) as stream:
            response = stream.get_final_response()
    reasoning, message, *calls = response.output
    # The two ask in requests of different number, which is in ids.
    assert report.parts == [
        ThinkingPart(
            text=reasoning.summary[0].text,
            signature=reasoning.encrypted_content.removesuffix("20") + "10",
            id="rs_1_0",
            provider="scripted",
            model=MODEL,
        ),
        TextPart(text=message.content[0].text),
        *(
            CallPart(name=call.name, arguments=call.arguments, provider_id=f"call_1_{n}")
            for n, call in enumerate(calls, 2)
        ),
    ]
    assert (report.finish, report.ended, report.served_model) == (response.status, True, response.model)
    assert report.usage.output_tokens == response.usage.output_tokens
    heard = {kind: "".join(piece for told, piece in deltas if told == kind) for kind, _ in deltas}
    assert heard == {"thinking": "hm hm hm hm hm", "text": "Paying.", "call": "paypay"}


def test_our_request_means_what_the_official_clients_means():
    image: Any = {"type": "input_image", "image_url": f"data:image/png;base64,{PIXEL}", "detail": "auto"}
    theirs: Any = [
        {"type": "message", "role": "user", "content": [image, {"type": "input_text", "text": "What is this?"}]},
        {
            "type": "reasoning",
            "id": "rs_1",
            "summary": [{"type": "summary_text", "text": "hm"}],
            "encrypted_content": "sealed",
        },
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Paying."}]},
        {"type": "function_call", "call_id": "c1", "name": "pay", "arguments": '{"amount": 1}'},
        {"type": "function_call", "call_id": "c2", "name": "look", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "no money é\u2028"},
        {"type": "function_call_output", "call_id": "c2", "output": [image, {"type": "input_text", "text": "seen"}]},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Done."}]},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "first input"}]},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "second input"}]},
    ]
    empty = {"type": "object", "properties": {}}
    tools: Any = [
        {"type": "function", "name": "pay", "description": "Pay.", "parameters": SCHEMA, "strict": False},
        {"type": "function", "name": "look", "description": "Look.", "parameters": empty, "strict": False},
    ]
    with ScriptedProvider({"default": ["text:done"]}) as provider, client(provider) as official:
        report = ask(provider, body_of(RENDERER, MODEL, conversation(PROOF), max_output_tokens=99))
        parameters: Any = {"max_output_tokens": 99, "stream": True, "store": False}
        include: Any = ["reasoning.encrypted_content"]
        for _ in official.responses.create(
            model=MODEL, instructions="Be brief.", input=theirs, tools=tools, include=include, **parameters
        ):
            pass
        ours, official_one = provider.requests
    assert report.parts == [TextPart(text="done")]
    assert ours.json == official_one.json
    assert ours.path == official_one.path
    for name in ("authorization", "content-type"):
        assert ours.headers[name] == official_one.headers[name]


CALLING: Any = {"type": "function_call", "call_id": "c1", "name": "pay", "arguments": "{}"}
RESULT: Any = {"type": "function_call_output", "call_id": "c1", "output": "x"}
REASONING: Any = {"type": "reasoning", "id": "rs_1", "summary": []}
REFUSED = [
    ([*ASK, CALLING], "No tool output found for function call c1"),
    ([*ASK, RESULT], "No tool call found for function call output"),
    ([*ASK, CALLING, RESULT, RESULT], "No tool call found for function call output"),
    ([*ASK, REASONING, *ASK], "without its required following item"),
    ([*ASK, {**CALLING, "name": "a.b"}, RESULT], "does not match pattern"),
    ([{"role": "user", "content": ""}], "non-empty"),
    ([], "input"),
]


@pytest.mark.parametrize(("conversation", "message"), REFUSED)
def test_malformed_conversation_is_answered_with_400_before_the_script(conversation, message):
    with ScriptedProvider([["text:ok"]]) as provider, client(provider) as official:
        with pytest.raises(openai.BadRequestError, match=message):
            official.responses.create(model=MODEL, input=conversation)
        official.responses.create(model=MODEL, input=[*ASK, REASONING, CALLING, RESULT])
        assert [request.answered_by for request in provider.requests] == ["check", "reply 1"]
