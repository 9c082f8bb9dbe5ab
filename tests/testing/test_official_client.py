"""The official `openai` client understands the scripted provider, and means what our wire means."""

import asyncio
import json
from typing import Any

import openai
import pytest
from openai import OpenAI

from stoic.ports import Request
from stoic.records import AssistantMessage, CallPart, CallView, TextPart, ToolMessage, ToolSchema, UserMessage
from stoic.testing import FakeClock, ScriptedProvider
from stoic.wire import chat
from stoic.wire.chat_decoding import ChatDecoder
from stoic.wire.rendering import join
from stoic.wire.transport import HttpProvider

ASK = [{"role": "user", "content": "hi"}]
SCHEMA = {"type": "object", "properties": {"amount": {"type": "integer"}}, "required": ["amount"]}
TOOLS = [{"type": "function", "function": {"name": "pay", "description": "Pay.", "parameters": SCHEMA}}]


def client(provider) -> Any:
    return OpenAI(base_url=provider.base_url, api_key="sk-secret", max_retries=0)


def test_official_client_reads_a_streamed_text_with_usage():
    with ScriptedProvider([["text:Hello wonderful world"]]) as provider, client(provider) as openai_client:
        options = {"include_usage": True}
        stream = openai_client.chat.completions.create(model="m", messages=ASK, stream=True, stream_options=options)
        chunks = list(stream)
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices) == "Hello wonderful world"
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1] == "stop"
    assert {chunk.model for chunk in chunks} == {"m"}
    assert chunks[-1].usage.total_tokens == chunks[-1].usage.prompt_tokens + chunks[-1].usage.completion_tokens


def test_official_client_assembles_streamed_tool_calls():
    script = [['tool:pay({"amount": 1})', 'tool:pay({"amount": 22})']]
    with (
        ScriptedProvider(script) as provider,
        client(provider) as openai_client,
        openai_client.chat.completions.stream(model="m", messages=ASK, tools=TOOLS) as stream,
    ):
        completion = stream.get_final_completion()
    choice = completion.choices[0]
    assert choice.finish_reason == "tool_calls"
    assert [call.function.arguments for call in choice.message.tool_calls] == ['{"amount": 1}', '{"amount": 22}']


def test_official_client_reads_answers_that_are_no_streams():
    script = [["text:Hello"], ['tool:pay({"amount": 1})'], ["refusal:No."], ["text:cut off", "finish:length"]]
    with ScriptedProvider(script) as provider, client(provider) as openai_client:
        answers = [openai_client.chat.completions.create(model="m", messages=ASK).choices[0] for _ in script]
    assert [answer.finish_reason for answer in answers] == ["stop", "tool_calls", "stop", "length"]
    assert [answer.message.content for answer in answers] == ["Hello", None, "", "cut off"]
    assert answers[1].message.tool_calls[0].function.name == "pay"
    assert answers[2].message.refusal == "No."


def test_official_client_raises_its_own_error_for_a_scripted_one():
    body = {"error": {"message": "slow down", "type": "requests", "param": None, "code": "rate_limit_exceeded"}}
    with (
        ScriptedProvider([{"status": 429, "body": body}]) as provider,
        client(provider) as openai_client,
        pytest.raises(openai.RateLimitError) as raised,
    ):
        openai_client.chat.completions.create(model="m", messages=ASK)
    assert raised.value.code == "rate_limit_exceeded"


DANGLING = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "pay", "arguments": "{}"}}],
}
RESULT = {"role": "tool", "tool_call_id": "c1", "content": "done"}
REFUSED = [
    ([*ASK, DANGLING], "did not have response messages: c1"),
    ([*ASK, DANGLING, *ASK], "did not have response messages: c1"),
    ([*ASK, RESULT], "must be a response to a preceding message"),
    ([*ASK, DANGLING, RESULT, RESULT], "must be a response to a preceding message"),
    ([{"role": "user", "content": ""}], "non-empty"),
    ([{"role": "user", "content": [{"type": "text", "text": ""}]}], "non-empty"),
    ([*ASK, {"role": "assistant", "content": None}], "non-empty"),
    ([], "messages"),
]


@pytest.mark.parametrize(("messages", "message"), REFUSED)
def test_malformed_conversation_is_answered_with_400_before_the_script(messages, message):
    with ScriptedProvider([["text:ok"]]) as provider, client(provider) as openai_client:
        with pytest.raises(openai.BadRequestError, match=message):
            openai_client.chat.completions.create(model="m", messages=messages)
        openai_client.chat.completions.create(model="m", messages=[*ASK, DANGLING, RESULT])
        assert [request.answered_by for request in provider.requests] == ["check", "reply 1"]


def test_our_request_means_what_the_official_clients_means():
    conversation = [
        UserMessage(text="Pay 1, then say done."),
        AssistantMessage(text="Paying.", calls=[CallView(id="c1", name="pay", arguments='{"amount": 1}')]),
        ToolMessage(call_id="c1", name="pay", text="paid"),
        AssistantMessage(calls=[CallView(id="c2", name="pay", arguments='{"amount": 2}')]),
        ToolMessage(call_id="c2", name="pay", text="paid é\u2028"),
    ]
    theirs = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Pay 1, then say done."},
        {"role": "assistant", "content": "Paying.", "tool_calls": [_call("c1", '{"amount": 1}')]},
        {"role": "tool", "tool_call_id": "c1", "content": "paid"},
        {"role": "assistant", "content": None, "tool_calls": [_call("c2", '{"amount": 2}')]},
        {"role": "tool", "tool_call_id": "c2", "content": "paid é\u2028"},
    ]
    tool = ToolSchema(name="pay", description="Pay.", parameters=SCHEMA)
    opened = chat.head("m", "Be brief.", [tool], {"temperature": 0.5, "max_tokens": 100})
    body = join(opened, [chat.fragment(message) for message in conversation], chat.TAIL)
    with ScriptedProvider({"default": ["text:done"]}) as provider:
        report = asyncio.run(_send(provider, body))
        with client(provider) as openai_client:
            parameters = {"temperature": 0.5, "max_tokens": 100, "stream": True}
            stream = openai_client.chat.completions.create(
                model="m", messages=theirs, tools=TOOLS, stream_options={"include_usage": True}, **parameters
            )
            text = "".join(chunk.choices[0].delta.content or "" for chunk in stream if chunk.choices)
        ours, official = provider.requests
    assert (report.parts, text) == ([TextPart(text="done")], "done")
    assert ours.json == official.json
    assert ours.path == official.path
    for name in ("authorization", "content-type"):
        assert ours.headers[name] == official.headers[name]


def test_what_we_read_is_what_the_official_client_reads():
    script = {"default": ["thinking:hm", "text:Paying.", 'tool:pay({"amount": 1})', "tool:pay()"]}
    with ScriptedProvider(script) as provider:
        opened = chat.head("m", "", [], {})
        report = asyncio.run(_send(provider, join(opened, [chat.fragment(UserMessage(text="hi"))], chat.TAIL)))
        with (
            client(provider) as openai_client,
            openai_client.chat.completions.stream(
                model="m", messages=ASK, stream_options={"include_usage": True}
            ) as stream,
        ):
            completion = stream.get_final_completion()
    message = completion.choices[0].message
    assert report.parts is not None
    assert [part.text for part in report.parts if isinstance(part, TextPart)] == [message.content]
    ours = [(part.name, part.arguments) for part in report.parts if isinstance(part, CallPart)]
    assert ours == [(call.function.name, call.function.arguments) for call in message.tool_calls]
    assert report.finish == completion.choices[0].finish_reason
    assert report.usage.input_tokens == completion.usage.prompt_tokens
    assert report.usage.output_tokens == completion.usage.completion_tokens


def _call(call_id, arguments):
    return {"id": call_id, "type": "function", "function": {"name": "pay", "arguments": arguments}}


async def _send(provider, body):
    clock = FakeClock()
    wire = HttpProvider(clock, {chat.API: ChatDecoder})
    request = Request(
        url=chat.endpoint(provider.base_url),
        headers=chat.auth_headers("sk-secret"),
        body=body,
        provider="scripted",
        api=chat.API,
        model=json.loads(body)["model"],
        deadline_ms=clock.now_ms() + 30_000,
    )
    report = await wire.send(request, lambda kind, text: None)
    await wire.close()
    return report
