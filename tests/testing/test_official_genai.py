"""The official `google-genai` client understands the scripted provider, and means what our wire means."""

import base64
import json
from typing import Any

import pytest
from google import genai
from google.genai import errors, types
from tests.wire.apis import PIXEL, SCHEMA, body_of, conversation, send

from stoic.records import CallPart, TextPart, ThinkingPart
from stoic.testing import ScriptedProvider
from stoic.wire import gemini
from stoic.wire.gemini import GeminiRenderer

MODEL = "gemini-3-pro"
SIGNATURE = base64.b64encode(b"proof").decode()
RENDERER = GeminiRenderer(provider="scripted", model=MODEL)
PROOF = ThinkingPart(text="hm", provider="scripted", model=MODEL)


def client(provider) -> Any:
    options = types.HttpOptions(base_url=provider.base_url.removesuffix("/v1"), api_version="v1beta")
    return genai.Client(api_key="sk-secret", http_options=options, vertexai=False)


def ask(provider, body, deltas=None):
    url = gemini.endpoint(provider.base_url.removesuffix("/v1") + "/v1beta", MODEL)
    return send(url, gemini.auth_headers("sk-secret"), body, api="generate", model=MODEL, deltas=deltas)


def test_official_client_reads_streamed_thoughts_text_and_calls():
    script = [["thinking:let me see", "text:Paying", "text: now.", 'tool:pay({"amount": 1})', "tool:look()"]]
    with ScriptedProvider(script) as provider, client(provider) as official:
        chunks = list(official.models.generate_content_stream(model=MODEL, contents="hi"))
    parts = [part for chunk in chunks for part in chunk.candidates[0].content.parts]
    assert "".join(part.text for part in parts if part.thought) == "let me see"
    assert "".join(part.text for part in parts if part.text and not part.thought) == "Paying now."
    calls = [part for part in parts if part.function_call]
    assert [(part.function_call.name, part.function_call.args) for part in calls] == [
        ("pay", {"amount": 1}),
        ("look", {}),
    ]
    assert [bool(part.thought_signature) for part in calls] == [True, False]
    assert chunks[-1].candidates[0].finish_reason == types.FinishReason.STOP
    assert {chunk.model_version for chunk in chunks} == {MODEL}


def test_official_client_reads_answers_that_are_no_streams():
    script = [["text:Hello"], ['tool:pay({"amount": 1})'], ["refusal:No."], ["text:cut off", "finish:length"]]
    script.append(["thinking:hm", "text:a", "text:b"])
    with ScriptedProvider(script) as provider, client(provider) as official:
        answers = [official.models.generate_content(model=MODEL, contents="hi") for _ in script]
    finishes = [answer.candidates[0].finish_reason.value for answer in answers]
    assert finishes == ["STOP", "STOP", "SAFETY", "MAX_TOKENS", "STOP"]
    assert (answers[0].text, answers[3].text) == ("Hello", "cut off")
    assert answers[1].function_calls[0].args == {"amount": 1}
    thought, text, seal = answers[4].candidates[0].content.parts
    assert (thought.text, thought.thought, text.text, bool(seal.thought_signature)) == ("hm", True, "ab", True)


def test_what_we_read_is_what_the_official_client_reads():
    script = {"default": ["thinking:hm hm hm hm hm", "text:Paying.", 'tool:pay({"amount": 1})', "tool:pay()"]}
    deltas: list[Any] = []
    with ScriptedProvider(script) as provider, client(provider) as official:
        report = ask(provider, body_of(RENDERER, MODEL, conversation(PROOF, signature=SIGNATURE)), deltas)
        answer = official.models.generate_content(model=MODEL, contents="hi")
    thought, text, *calls = answer.candidates[0].content.parts[:4]
    assert report.parts == [
        ThinkingPart(text=thought.text, provider="scripted", model=MODEL),
        TextPart(text=text.text),
        *(
            CallPart(
                name=part.function_call.name,
                arguments=json.dumps(part.function_call.args, separators=(",", ":")),
                # The two ask in requests of different number, which is in signatures.
                signature=None if place else "c2lnbmVk0001",
            )
            for place, part in enumerate(calls)
        ),
    ]
    assert (report.finish, report.ended, report.served_model) == ("STOP", True, answer.model_version)
    assert report.usage.output_tokens == answer.usage_metadata.candidates_token_count
    heard = {kind: "".join(piece for told, piece in deltas if told == kind) for kind, _ in deltas}
    assert heard == {"thinking": "hm hm hm hm hm", "text": "Paying.", "call": "paypay"}


def test_our_request_means_what_the_official_clients_means():
    image = types.Part.from_bytes(data=base64.b64decode(PIXEL), mime_type="image/png")
    calling = types.Part(
        function_call=types.FunctionCall(name="pay", args={"amount": 1}), thought_signature=base64.b64decode(SIGNATURE)
    )
    results = [
        types.Part.from_function_response(name="pay", response={"error": "no money é\u2028"}),
        types.Part.from_function_response(name="look", response={"output": "seen\n(1 image(s) of this result follow)"}),
        types.Part(text="Images of the result of look:"),
        image,
    ]
    said = [
        types.Part(text="hm", thought=True),
        types.Part(text="Paying."),
        calling,
        types.Part.from_function_call(name="look", args={}),
    ]
    theirs = [
        types.Content(role="user", parts=[image, types.Part(text="What is this?")]),
        types.Content(role="model", parts=said),
        types.Content(role="user", parts=results),
        types.Content(role="model", parts=[types.Part(text="Done.")]),
        types.Content(role="user", parts=[types.Part(text="first input"), types.Part(text="second input")]),
    ]
    tools = [
        types.FunctionDeclaration(name="pay", description="Pay.", parameters_json_schema=SCHEMA),
        types.FunctionDeclaration(
            name="look", description="Look.", parameters_json_schema={"type": "object", "properties": {}}
        ),
    ]
    config = types.GenerateContentConfig(
        system_instruction=[types.Part(text="Be brief.")],
        temperature=0.5,
        tools=[types.Tool(function_declarations=tools)],
        automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
    )
    with ScriptedProvider({"default": ["text:done"]}) as provider, client(provider) as official:
        view = conversation(PROOF, signature=SIGNATURE)
        report = ask(provider, body_of(RENDERER, MODEL, view, generationConfig={"temperature": 0.5}))
        list(official.models.generate_content_stream(model=MODEL, contents=theirs, config=config))
        ours, official_one = provider.requests
    assert report.parts == [TextPart(text="done")]
    # Both spellings of a name are one in the API, and a system instruction's role is ignored.
    spelled = official_one.body.replace(b"mime_type", b"mimeType").replace(
        b"parameters_json_schema", b"parametersJsonSchema"
    )
    meant = json.loads(spelled)
    assert meant["systemInstruction"].pop("role") == "user"
    assert ours.json == meant
    assert ours.path == official_one.path
    for name in ("x-goog-api-key", "content-type"):
        assert ours.headers[name] == official_one.headers[name]


def said_by_model(*parts: Any) -> Any:
    return {"role": "model", "parts": [*parts]}


def said_by_user(*parts: Any) -> Any:
    return {"role": "user", "parts": [*parts]}


ASK = said_by_user({"text": "hi"})
CALL = {"function_call": {"name": "pay", "args": {}}, "thought_signature": SIGNATURE}
UNSIGNED = {"function_call": {"name": "pay", "args": {}}}
RESULT = {"function_response": {"name": "pay", "response": {"output": "x"}}}
WRONG = {"function_response": {"name": "look", "response": {"output": "x"}}}
REFUSED = [
    ([ASK, said_by_model(CALL)], "number of function response parts"),
    ([ASK, said_by_model(CALL), ASK], "number of function response parts"),
    ([said_by_user(RESULT)], "number of function response parts"),
    ([ASK, said_by_model(CALL), said_by_user(WRONG)], "immediately after a function call turn"),
    ([ASK, said_by_model(UNSIGNED), said_by_user(RESULT)], "missing a thought_signature"),
    (
        [ASK, said_by_model({**CALL, "function_call": {"name": "a!", "args": {}}}), said_by_user(WRONG)],
        "Invalid function name",
    ),
    ([ASK, ASK], "alternate"),
    ([said_by_model({"text": "x"})], "alternate"),
    ([said_by_user({"text": ""})], "must not be empty"),
    ([{"role": "system", "parts": [{"text": "x"}]}], "valid role"),
]


@pytest.mark.parametrize(("contents", "message"), REFUSED)
def test_malformed_conversation_is_answered_with_400_before_the_script(contents, message):
    with ScriptedProvider([["text:ok"]]) as provider, client(provider) as official:
        with pytest.raises(errors.ClientError, match=message):
            official.models.generate_content(model=MODEL, contents=contents)
        official.models.generate_content(model=MODEL, contents=[ASK, said_by_model(CALL), said_by_user(RESULT)])
        assert [request.answered_by for request in provider.requests] == ["check", "reply 1"]
