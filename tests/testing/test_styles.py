"""The script language in the style of every API: what is written is what the wire and the classifier understand."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.wire.apis import APIS, body_of, send

from stoic.core.classify import classify
from stoic.records import CallPart, TextPart, UserMessage
from stoic.testing import ScriptedProvider

MODELS = {"chat": "gpt-5", "messages": "claude-opus-5-5", "responses": "gpt-5", "generate": "gemini-3-pro"}


def ask(provider, api, *, text="hi", deltas: list[Any] | None = None):
    module, model = APIS[api].module, MODELS[api]
    base_url = provider.base_url
    url = module.endpoint(base_url, model) if api == "generate" else module.endpoint(base_url)
    body = body_of(APIS[api].make_renderer("scripted", model), model, [UserMessage(text=text)])
    return send(url, module.auth_headers("sk-secret"), body, api=api, model=model, deltas=deltas)


MEANINGS = [
    (["text:x"], "ok", True),
    (["thinking:hm", "text:x", 'tool:pay({"amount": 1})'], "ok", True),
    (["tool:pay({})"], "ok", True),
    (["text:x", "eof"], "truncated_stream", False),
    (["text:x", "cut"], "network", False),
    (["text:x", "reset"], "network", False),
    (["text:x", "done"], {"chat": "ok"}, False),
    (['half_tool:pay({"am', "eof"], "truncated_stream", False),
    (['half_tool:pay({"am', "cut"], "network", False),
    (['half_tool:pay({"am'], "malformed_tool_call", True),
    (["text:x", "finish:length"], "output_limit", True),
    (["text:x", "finish:content_filter"], "refusal", True),
    (["text:x", "refusal:I cannot help with that."], "refusal", True),
    (["refusal:I cannot help with that."], "refusal", True),
    (["thinking:hm"], "empty_response", True),
    ([], "empty_response", True),
    (["text:x", "finish:never_heard_of"], "unknown", True),
]


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize(("words", "meant", "ended"), MEANINGS)
def test_words_mean_the_same_in_the_style_of_every_api(api, words, meant, ended):
    with ScriptedProvider([{"words": words}]) as provider:
        report = ask(provider, api)
    expected = meant if isinstance(meant, str) else meant.get(api, "truncated_stream")
    assert classify(report).name == expected
    assert report.ended == ended
    assert report.provider == "scripted"
    if not ended:
        assert not [part for part in report.parts or [] if isinstance(part, CallPart) and part.whole]


@pytest.mark.parametrize("api", APIS)
def test_refusal_tells_nothing_as_text(api):
    with ScriptedProvider([["refusal:I cannot help with that."]]) as provider:
        report = ask(provider, api)
    assert not [part for part in report.parts or [] if isinstance(part, TextPart)]


@pytest.mark.parametrize("api", APIS)
def test_usage_model_and_request_id_arrive(api):
    with ScriptedProvider([["text:x", "model:served-one"]]) as provider:
        report = ask(provider, api)
    assert report.served_model == "served-one"
    assert report.usage.input_tokens > 1
    assert report.usage.output_tokens >= 1
    assert report.request_id in {"req_scripted000001", "scripted000001"}


@pytest.mark.parametrize("api", APIS)
def test_model_names_a_route_in_every_api(api):
    script = [{"words": ["text:other"], "route": "other"}, {"words": ["text:mine"], "route": MODELS[api]}]
    with ScriptedProvider(script) as provider:
        report = ask(provider, api)
        assert provider.requests[0].route == MODELS[api]
    assert report.parts == [TextPart(text="mine")]


@pytest.mark.parametrize("api", APIS)
def test_gates_stand_between_the_pieces_of_one_text(api):
    deltas: list[Any] = []
    with ScriptedProvider([["text:be", "gate:open", "text:fore", "gate:open", 'tool:pay({"amount": 1})']]) as provider:
        provider.open_gate("open")
        report = ask(provider, api, deltas=deltas)
    assert [part.text for part in report.parts or [] if isinstance(part, TextPart)] == ["before"]
    assert deltas[:2] == [("text", "be"), ("text", "fore")]


EMPTY = {
    "chat": {"messages": [{"role": "user", "content": ""}]},
    "messages": {"messages": [{"role": "user", "content": [{"type": "text", "text": ""}]}]},
    "responses": {"input": [{"role": "user", "content": [{"type": "input_text", "text": ""}]}]},
    "generate": {"contents": [{"role": "user", "parts": [{"text": ""}]}]},
}


@pytest.mark.parametrize("api", APIS)
def test_rule_about_an_empty_text_block_knows_every_api(api):
    style = APIS[api].style
    assert style.has_empty_text(EMPTY[api])
    for other in APIS:
        assert other == api or not style.has_empty_text(EMPTY[other]) or {api, other} == {"chat", "messages"}
    assert not style.has_empty_text(None)


@pytest.mark.parametrize("api", APIS)
def test_body_that_is_no_object_is_refused_in_the_style_of_the_api(api):
    module, model = APIS[api].module, MODELS[api]
    with ScriptedProvider([["text:ok"]]) as provider:
        url = module.endpoint(provider.base_url, model) if api == "generate" else module.endpoint(provider.base_url)
        for body in (b"[]", b"{}", b'{"model":"m","max_tokens":1}'):
            report = send(url, {}, body, api=api, model=model)
            assert report.status == 400
            assert classify(report).name == "invalid_request"
        assert provider.unplayed == ["reply 1"]


def test_call_of_a_name_that_no_tool_can_have_is_refused_by_a_chat_server():
    call = {"id": "c1", "type": "function", "function": {"name": "functions.pay", "arguments": "{}"}}
    asked = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": None, "tool_calls": [call]}]
    fault = APIS["chat"].style.find_fault({"model": "m", "messages": asked})
    assert "'functions.pay' does not match pattern" in fault


def test_path_of_no_api_is_not_found():
    with ScriptedProvider([["text:ok"]]) as provider:
        report = send(provider.base_url + "/embeddings", {}, b"{}", api="chat", model="m")
    assert report.status == 404
    assert "…/messages" in report.body["error"]["message"]


FULL = ["thinking:hm", "text:Paying now.", 'tool:pay({"amount": 1})', "tool:look({})"]


@pytest.mark.parametrize("api", APIS)
@given(cut_at_byte=st.integers(0, 4000))
@settings(deadline=None, max_examples=40)
def test_answer_cut_anywhere_is_never_taken_for_a_whole_one(api, cut_at_byte):
    with ScriptedProvider([{"words": FULL, "cut_at_byte": cut_at_byte}, {"words": FULL}]) as provider:
        report, whole = ask(provider, api), ask(provider, api)
    if report.ended:
        # Only bytes after the end of the reply are missing.
        assert [type(part) for part in report.parts] == [type(part) for part in whole.parts]
    else:
        assert classify(report).name in {"network", "truncated_stream"}
        calls = [part for part in report.parts or [] if isinstance(part, CallPart) and part.whole]
        assert all(call.arguments.replace(" ", "") in {'{"amount":1}', "{}"} for call in calls)
