"""The official `anthropic` client understands the scripted provider, and means what our wire means."""

import json
from typing import Any

import anthropic
import pytest
from tests.wire.apis import PIXEL, SCHEMA, body_of, conversation, send

from stoic.records import CallPart, TextPart, ThinkingPart
from stoic.testing import ScriptedProvider
from stoic.wire import messages
from stoic.wire.messages import MessagesRenderer

MODEL = "claude-sonnet-5-5"
ASK: Any = [{"role": "user", "content": "hi"}]
RENDERER = MessagesRenderer(provider="scripted", model=MODEL)
PROOF = ThinkingPart(text="hm", signature="sig", provider="scripted", model=MODEL)


def client(provider) -> Any:
    base_url = provider.base_url.removesuffix("/v1")
    # The client itself would ask for a newer version of the API, which takes no sampling parameters.
    headers = {"anthropic-version": "2023-06-01"}
    return anthropic.Anthropic(base_url=base_url, api_key="sk-secret", max_retries=0, default_headers=headers)


def ask(provider, body, deltas=None):
    headers = messages.auth_headers("sk-secret")
    return send(messages.endpoint(provider.base_url), headers, body, api="messages", model=MODEL, deltas=deltas)


def test_official_client_reads_streamed_thinking_text_and_calls():
    script = [["thinking:let me see", "text:Paying", "text: now.", 'tool:pay({"amount": 1})', "tool:look()"]]
    with (
        ScriptedProvider(script) as provider,
        client(provider) as official,
        official.messages.stream(model=MODEL, max_tokens=99, messages=ASK) as stream,
    ):
        message = stream.get_final_message()
    assert [block.type for block in message.content] == ["thinking", "text", "tool_use", "tool_use"]
    assert message.content[0].thinking == "let me see"
    assert message.content[0].signature
    assert message.content[1].text == "Paying now."
    assert [block.input for block in message.content[2:]] == [{"amount": 1}, {}]
    assert (message.stop_reason, message.model) == ("tool_use", MODEL)
    assert message.usage.output_tokens > 1


def test_official_client_reads_answers_that_are_no_streams():
    script = [["text:Hello"], ['tool:pay({"amount": 1})'], ["refusal:No."], ["text:cut off", "finish:length"]]
    script.append(["thinking:hm", "text:a", "delay:1ms", "text:b", "half_tool:pay({"])
    with ScriptedProvider(script) as provider, client(provider) as official:
        answers = [official.messages.create(model=MODEL, max_tokens=99, messages=ASK) for _ in script]
    assert [answer.stop_reason for answer in answers] == ["end_turn", "tool_use", "refusal", "max_tokens", "tool_use"]
    kinds = [[block.type for block in answer.content] for answer in answers]
    assert kinds == [["text"], ["tool_use"], [], ["text"], ["thinking", "text", "tool_use"]]
    assert (answers[4].content[1].text, answers[4].content[2].input) == ("ab", {})
    assert answers[0]._request_id == "req_scripted000001"
    assert answers[2].stop_details.explanation == "No."


def test_what_we_read_is_what_the_official_client_reads():
    script = {"default": ["thinking:hm hm hm hm hm", "text:Paying.", 'tool:pay({"amount": 1})', "tool:pay()"]}
    deltas: list[Any] = []
    with ScriptedProvider(script) as provider, client(provider) as official:
        report = ask(provider, body_of(RENDERER, MODEL, conversation(PROOF)), deltas)
        with official.messages.stream(model=MODEL, max_tokens=99, messages=ASK) as stream:
            message = stream.get_final_message()
    thinking, text, *calls = message.content
    # The two ask in requests of different number, which is in signatures and ids.
    signature = thinking.signature.removesuffix("20") + "10"
    assert report.parts == [
        ThinkingPart(text=thinking.thinking, signature=signature, provider="scripted", model=MODEL),
        TextPart(text=text.text),
        *(
            CallPart(name=call.name, arguments=json.dumps(call.input) if call.input else "", provider_id=f"toolu_1_{n}")
            for n, call in enumerate(calls, 2)
        ),
    ]
    assert (report.finish, report.ended, report.served_model) == (message.stop_reason, True, message.model)
    assert report.usage.output_tokens == message.usage.output_tokens
    assert report.request_id == "req_scripted000001"
    heard = {kind: "".join(piece for told, piece in deltas if told == kind) for kind, _ in deltas}
    assert heard == {"thinking": "hm hm hm hm hm", "text": "Paying.", "call": "paypay"}


def test_our_request_means_what_the_official_clients_means():
    image: Any = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}
    theirs: Any = [
        {"role": "user", "content": [image, {"type": "text", "text": "What is this?"}]},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "sig"},
                {"type": "text", "text": "Paying."},
                {"type": "tool_use", "id": "c1", "name": "pay", "input": {"amount": 1}},
                {"type": "tool_use", "id": "c2", "name": "look", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": "no money é\u2028", "is_error": True},
                {"type": "tool_result", "tool_use_id": "c2", "content": [image, {"type": "text", "text": "seen"}]},
            ],
        },
        {"role": "assistant", "content": [{"type": "text", "text": "Done."}]},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "first input"},
                {"type": "text", "text": "second input", "cache_control": {"type": "ephemeral"}},
            ],
        },
    ]
    tools: Any = [
        {"name": "pay", "description": "Pay.", "input_schema": SCHEMA},
        {"name": "look", "description": "Look.", "input_schema": {"type": "object", "properties": {}}},
    ]
    system: Any = [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}]
    with ScriptedProvider({"default": ["text:done"]}) as provider, client(provider) as official:
        report = ask(provider, body_of(RENDERER, MODEL, conversation(PROOF), max_tokens=99))
        parameters: Any = {"max_tokens": 99, "stream": True}
        for _ in official.messages.create(model=MODEL, messages=theirs, tools=tools, system=system, **parameters):
            pass
        ours, official_one = provider.requests
    assert report.parts == [TextPart(text="done")]
    assert ours.json == official_one.json
    assert ours.path == official_one.path
    assert ours.headers["x-api-key"]
    for name in ("anthropic-version", "content-type"):
        assert ours.headers[name] == official_one.headers[name]


CALLING: Any = {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "pay", "input": {}}]}
RESULT: Any = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "x"}]}
MARKED: Any = {"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}
REFUSED = [
    ([*ASK, CALLING], "without `tool_result` blocks immediately after: c1"),
    ([*ASK, CALLING, *ASK], "without `tool_result` blocks immediately after: c1"),
    ([RESULT], "unexpected `tool_use_id` found"),
    ([*ASK, CALLING, RESULT, RESULT], "roles must alternate"),
    ([{"role": "assistant", "content": "x"}], "first message must use"),
    ([{"role": "user", "content": " "}], "text content blocks must be non-empty"),
    ([*ASK, {**CALLING, "content": [{**CALLING["content"][0], "name": "a.b"}]}, RESULT], "should match pattern"),
    ([{"role": "user", "content": []}], "must have non-empty content"),
    ([{"role": "user", "content": [MARKED] * 5}], "maximum of 4 blocks"),
    ([], "at least one message"),
]


@pytest.mark.parametrize(("conversation", "message"), REFUSED)
def test_malformed_conversation_is_answered_with_400_before_the_script(conversation, message):
    with ScriptedProvider([["text:ok"]]) as provider, client(provider) as official:
        with pytest.raises(anthropic.BadRequestError, match=message):
            official.messages.create(model=MODEL, max_tokens=9, messages=conversation)
        official.messages.create(model=MODEL, max_tokens=9, messages=[*ASK, CALLING, RESULT])
        assert [request.answered_by for request in provider.requests] == ["check", "reply 1"]


def test_request_without_max_tokens_is_refused_and_ours_has_it():
    with ScriptedProvider([["text:ok"]]) as provider:
        report = ask(provider, b'{"model":"m","messages":[{"role":"user","content":"x"}]}')
        assert report.body["error"]["message"] == "max_tokens: Field required"
        assert ask(provider, body_of(RENDERER, MODEL, conversation(PROOF))).ended
        assert provider.requests[-1].json["max_tokens"] == 128_000
