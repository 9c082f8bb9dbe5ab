"""What each API shape's reader takes from a whole body and from a stream: parts, counts, names, finish, signs."""

from typing import Any

import pytest

from stoic.core.classify import classify, report_from
from stoic.records import CallPart, Part, TextPart, ThinkingPart, Usage


def events(*data, names=()):
    return [{"event": name, "data": one} for one, name in zip(data, [*names, *[None] * len(data)], strict=False)]


SAID: list[Part] = [
    ThinkingPart(text="hm"),
    TextPart(text="hi"),
    CallPart(name="f", arguments='{"a":1}', provider_id="t"),
]
UNNAMED: list[Part] = [*SAID[:2], CallPart(name="f", arguments='{"a":1}')]
COUNTS = Usage(input_tokens=1, output_tokens=2, cache_read_tokens=3)
FUNCTION = {"name": "f", "arguments": '{"a":1}'}
CHAT_USAGE = {"prompt_tokens": 1, "completion_tokens": 2, "cached_tokens": 3}
MESSAGES_USAGE = {"input_tokens": 1, "output_tokens": 2, "cache_read_input_tokens": 3, "cache_creation_input_tokens": 4}
CONVERSE_USAGE = {"inputTokens": 1, "outputTokens": 2, "cacheReadInputTokens": 3}
TOOL = {"toolUse": {"name": "f", "toolUseId": "t", "input": {"a": 1}}}
RESPONSE = {
    "object": "response", "id": "r", "model": "m", "status": "completed",
    "usage": {"input_tokens": 1, "output_tokens": 2, "cached_tokens": 3},
    "output": [
        {"type": "reasoning", "summary": [{"text": "h"}, {"text": "m"}]},
        {"type": "message", "content": [{"type": "output_text", "text": "hi"}]},
        {"type": "function_call", "name": "f", "arguments": '{"a":1}', "call_id": "t"},
    ],
}  # fmt: skip
GEMINI = {
    "responseId": "r", "modelVersion": "m",
    "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 2, "cachedContentTokenCount": 3},
    "candidates": [{
        "content": {"parts": [
            {"text": "hm", "thought": True}, {"text": "hi"}, {"functionCall": {"name": "f", "args": {"a": 1}}},
        ]},
        "finishReason": "STOP",
    }],
}  # fmt: skip

# Of each exchange: its parts, counts, finish, and the model and id that it names.
REPLIES: dict[str, tuple[dict[str, Any], list[Part], Usage, str | None, tuple[str | None, str | None]]] = {
    "chat": (
        {"body": {"id": "r", "model": "m", "usage": CHAT_USAGE, "choices": [{
            "message": {"reasoning_content": "hm", "content": "hi", "tool_calls": [{"id": "t", "function": FUNCTION}]},
            "finish_reason": "tool_calls",
        }]}},
        [SAID[1], SAID[0], SAID[2]], COUNTS, "tool_calls", ("m", "r"),
    ),
    "chat stream": (
        {"sse": events(
            {"id": "r", "model": "m", "choices": [{"delta": {"thinking": "h"}}]},
            {"choices": [{"delta": {"reasoning": "m", "thinking": "odd"}}]},
            {"choices": [{"delta": {"content": [{"text": "hi"}, "odd"]}}]},
            {"choices": [{"delta": {"tool_calls": [{"index": 0, "id": "t", "function": {"name": "f", "arguments": '{"a"'}}]}}]},
            {"choices": [{"delta": {"tool_calls": [{"index": 0, "function": {"arguments": ":1}"}}, "odd"][:1]}, "finish_reason": "tool_calls"}]},
            {"choices": [], "usage": CHAT_USAGE},
        )},
        SAID, COUNTS, "tool_calls", ("m", "r"),
    ),
    "messages": (
        {"body": {"type": "message", "id": "r", "model": "m", "usage": MESSAGES_USAGE, "stop_reason": "tool_use", "content": [
            {"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "hi"},
            {"type": "tool_use", "id": "t", "name": "f", "input": {"a": 1}},
        ]}},
        SAID, Usage(input_tokens=1, output_tokens=2, cache_read_tokens=3, cache_write_tokens=4), "tool_use", ("m", "r"),
    ),
    "messages stream": (
        {"sse": events(
            {"type": "message_start", "message": {"id": "r", "model": "m", "usage": {**MESSAGES_USAGE, "output_tokens": 9}}},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": "h"}},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "m"}},
            {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": "h"}},
            {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "i"}},
            {"type": "content_block_start", "index": 2, "content_block": {"type": "tool_use", "id": "t", "name": "f", "input": {}}},
            {"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": '{"a":1}'}},
            {"type": "content_block_delta", "index": 7, "delta": {"type": "input_json_delta", "partial_json": "odd"}},
            {"type": "content_block_stop", "index": 2},
            {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 2}},
            {"type": "message_stop"},
        )},
        SAID, Usage(input_tokens=1, output_tokens=2, cache_read_tokens=3, cache_write_tokens=4), "tool_use", ("m", "r"),
    ),
    "responses": ({"body": RESPONSE}, SAID, COUNTS, "completed", ("m", "r")),
    "responses stream": (
        {"sse": events(
            {"type": "response.created", "response": {"id": "q", "model": "n"}},
            {"type": "response.output_text.delta", "delta": "odd"},
            {"type": "response.completed", "response": RESPONSE},
        )},
        SAID, COUNTS, "completed", ("m", "r"),
    ),
    "responses pieces": (
        {"sse": events(
            {"type": "response.created", "response": {"id": "r", "model": "m"}},
            {"type": "response.reasoning_summary_text.delta", "delta": "h"},
            {"type": "response.reasoning_text.delta", "delta": "m"},
            {"type": "response.output_text.delta", "delta": "hi"},
            {"type": "response.output_item.added", "output_index": 2, "item": {"type": "function_call", "name": "f", "call_id": "t"}},
            {"type": "response.function_call_arguments.delta", "output_index": 2, "delta": '{"a"'},
            {"type": "response.output_item.done", "output_index": 2, "item": {"type": "function_call", "name": "f", "call_id": "t", "arguments": '{"a":1}'}},
            {"type": "response.incomplete", "response": {"incomplete_details": {"reason": "max_output_tokens"}}},
        )},
        SAID, Usage(), "max_output_tokens", ("m", "r"),
    ),
    "converse": (
        {"body": {"usage": CONVERSE_USAGE, "stopReason": "tool_use", "output": {"message": {"content": [
            {"reasoningContent": {"reasoningText": {"text": "hm"}}}, {"text": "hi"}, TOOL,
        ]}}}},
        SAID, COUNTS, "tool_use", (None, None),
    ),
    "converse stream": (
        {"sse": events(
            {"delta": {"reasoningContent": {"text": "hm"}}, "contentBlockIndex": 0},
            {"delta": {"text": "hi"}, "contentBlockIndex": 1},
            {"start": {"toolUse": {"name": "f", "toolUseId": "t"}}, "contentBlockIndex": 2},
            {"delta": {"toolUse": {"input": '{"a"'}}, "contentBlockIndex": 2},
            {"delta": {"toolUse": {"input": ":1}"}}, "contentBlockIndex": 2},
            {"stopReason": "tool_use"},
            names=["contentBlockDelta", "contentBlockDelta", "contentBlockStart", "contentBlockDelta", "contentBlockDelta", "messageStop"],
        )},
        SAID, Usage(), "tool_use", (None, None),
    ),
    "generate": ({"body": GEMINI}, UNNAMED, COUNTS, "STOP", ("m", "r")),
    "generate stream": ({"sse": events(GEMINI)}, UNNAMED, COUNTS, "STOP", ("m", "r")),
    "ndjson": (
        {"body": {
            "model": "m", "message": {"thinking": "hm", "content": "hi", "tool_calls": [{"function": {"name": "f", "arguments": {"a": 1}}}]},
            "done": True, "done_reason": "stop", "prompt_eval_count": 1, "eval_count": 2,
        }},
        [TextPart(text="hi"), ThinkingPart(text="hm"), UNNAMED[2]], Usage(input_tokens=1, output_tokens=2), "stop", ("m", None),
    ),
    "ndjson stream": (
        {"sse": events({"model": "m", "response": "h", "done": False}, {"response": "i", "done": True, "prompt_eval_count": 1, "eval_count": 2})},
        [TextPart(text="hi")], Usage(input_tokens=1, output_tokens=2), "stop", ("m", None),
    ),
    "cohere": (
        {"body": {"finish_reason": "COMPLETE", "usage": {"input_tokens": 1, "output_tokens": 2}, "message": {
            "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "hi"}],
            "tool_calls": [{"id": "t", "function": FUNCTION}],
        }}},
        SAID, Usage(input_tokens=1, output_tokens=2), "COMPLETE", (None, None),
    ),
    "cohere's first": ({"sse": events({"event_type": "text-generation", "text": "hi"}, {"event_type": "stream-end", "finish_reason": "COMPLETE"})}, [TextPart(text="hi")], Usage(), "COMPLETE", (None, None)),
    "cohere's second": (
        {"sse": events(
            {"type": "message-start"}, {"type": "content-delta", "delta": {"message": {"content": {"text": "hi"}}}},
            {"type": "message-end", "delta": {"finish_reason": "COMPLETE"}},
        )},
        [TextPart(text="hi")], Usage(), "COMPLETE", (None, None),
    ),
    "baidu": ({"body": {"result": "hi", "is_end": True}}, [TextPart(text="hi")], Usage(), None, (None, None)),
    "baidu stream": ({"sse": events({"result": "h", "is_end": False}, {"result": "i", "is_end": True})}, [TextPart(text="hi")], Usage(), None, (None, None)),
    "dashscope": ({"body": {"output": {"text": "hi", "finish_reason": "stop"}}}, [TextPart(text="hi")], Usage(), "stop", (None, None)),
    "dashscope's choices": (
        {"body": {"output": {"choices": [{"message": {"content": "hi"}, "finish_reason": "stop"}]}}},
        [TextPart(text="hi")], Usage(), "stop", (None, None),
    ),
    "titan": ({"body": {"results": [{"outputText": "hi", "completionReason": "FINISH"}, {"outputText": "odd"}]}}, [TextPart(text="hi")], Usage(), "FINISH", (None, None)),
    "generated text": ({"body": {"generated_text": "hi"}}, [TextPart(text="hi")], Usage(), None, (None, None)),
}  # fmt: skip


@pytest.mark.parametrize("name", REPLIES)
def test_reply_is_read_whole(name):
    exchange, parts, usage, finish, (model, request_id) = REPLIES[name]
    report = report_from({"provider": "x", "status": 200, **exchange})
    assert report.parts == parts
    assert (report.usage, report.finish, report.served_model, report.ended) == (usage, finish, model, True)
    found = classify(report)
    assert (found.name, found.request_id) == ("output_limit" if finish == "max_output_tokens" else "ok", request_id)


def choice(**fields):
    return {"choices": [{"message": {"content": "hi"}, "finish_reason": "stop", **fields}]}


FILTERED = {"custom_blocklists": {"filtered": True}}
CHECK = {"type": "computer_call", "pending_safety_checks": [{"code": "c"}, {"code": "d"}]}

# name: (body or events, field and value of the evidence, category, side)
SIGNS: dict[str, tuple[dict[str, Any], tuple[str, str], str | None, str]] = {
    **{
        f"a gateway's word: {word}": (
            {"body": choice(native_finish_reason=word.upper())},
            ("body.choices[0].native_finish_reason", word.upper()), category, "completion",
        )
        for word, category in {
            "refusal": None, "safety": None, "prohibited_content": "prohibited_content", "blocklist": "blocklist",
            "spii": "pii", "content_filter": None, "content_filtered": None, "guardrail_intervened": "guardrail",
            "sensitive": "sensitive",
        }.items()
    },
    "a gateway's word for an empty reply": (
        {"body": {"choices": [{"message": {}, "native_finish_reason": "safety"}]}},
        ("body.choices[0].native_finish_reason", "safety"), None, "completion",
    ),
    "input": ({"body": {**choice(), "input_sensitive": True}}, ("body.input_sensitive", "true"), "sensitive", "prompt"),
    "output": ({"body": {**choice(), "output_sensitive": True}}, ("body.output_sensitive", "true"), "sensitive", "completion"),
    "a message's": ({"body": choice(message={"refusal": "no"})}, ("body.choices[0].message.refusal", ""), None, "completion"),
    "a response's": (
        {"body": {"object": "response", "status": "completed", "output": [{"type": "message", "content": [{}, {"type": "refusal"}]}]}},
        ("body.output[0].content[1].refusal", ""), None, "completion",
    ),
    "a response's piece": (
        {"sse": events({"type": "response.refusal.done"}, {"type": "response.completed", "response": {}})},
        ("events[0].data.refusal", ""), None, "mid_stream",
    ),
    "a response's check": (
        {"body": {"object": "response", "status": "completed", "output": [CHECK]}},
        ("body.output[0].pending_safety_checks[0].code", "c"), "c", "completion",
    ),
    "a response's check in a stream": (
        {"sse": events({"type": "response.output_item.done", "item": CHECK}, {"type": "response.completed", "response": {}})},
        ("events[0].data.item.pending_safety_checks[0].code", "c"), "c", "mid_stream",
    ),
    "a block": (
        {"body": {"promptFeedback": {"blockReason": "SAFETY", "safetyRatings": [{"category": "HARM_CATEGORY_HATE", "blocked": True}]}}},
        ("body.promptFeedback.blockReason", "SAFETY"), "hate", "prompt",
    ),
    **{
        f"a block: {word}": ({"body": {"promptFeedback": {"blockReason": word}}}, ("body.promptFeedback.blockReason", word), category, "prompt")
        for word, category in {
            "OTHER": None, "BLOCK_REASON_UNSPECIFIED": None, "BLOCKED_REASON_UNSPECIFIED": None, "BLOCKLIST": "blocklist",
            "PROHIBITED_CONTENT": "prohibited_content", "IMAGE_SAFETY": "image", "JAILBREAK": "jailbreak",
            "MODEL_ARMOR": "guardrail", "SPII": "pii",
        }.items()
    },
    "a fallback": (
        {"body": {"type": "message", "stop_reason": "end_turn", "content": [{"type": "text", "text": "hi"}, {"type": "fallback", "trigger": {"type": "refusal", "category": "Cyber"}}]}},
        ("body.content[1].trigger.type", "refusal"), "cyber", "prompt",
    ),
    "a cleared history": ({"body": {"result": "hi", "need_clear_history": True}}, ("body.need_clear_history", "true"), "sensitive", "prompt"),
    **{
        f"a guardrail's {policy} {listed}": (
            {"body": {
                "output": {"message": {"content": [{"text": "Sorry"}]}}, "stopReason": "guardrail_intervened",
                "trace": {"guardrail": {"outputAssessments": {"g": [{}, {policy: {listed: [{"type": "HATE", "action": "BLOCKED"}]}}]}}},
            }},
            (f"body.trace.guardrail.outputAssessments.{policy}.{listed}", "guardrail_intervened"), category, "completion",
        )
        for policy, listed, category in (
            ("contentPolicy", "filters", "hate"), ("topicPolicy", "topics", "guardrail"), ("wordPolicy", "customWords", "blocklist"),
            ("wordPolicy", "managedWordLists", "blocklist"), ("sensitiveInformationPolicy", "piiEntities", "pii"),
            ("sensitiveInformationPolicy", "regexes", "pii"), ("contextualGroundingPolicy", "filters", "guardrail"),
        )
    },
    "a guardrail's in a stream": (
        {"sse": events(
            {"contentBlockDelta": {"delta": {"text": "Sorry"}}}, {"messageStop": {"stopReason": "guardrail_intervened"}},
            {"metadata": {"trace": {"guardrail": {"inputAssessment": {"g": {"contentPolicy": {"filters": [{"type": "HATE", "action": "BLOCKED"}]}}}}}}},
        )},
        ("events[2].data.trace.guardrail.inputAssessment.contentPolicy.filters", "guardrail_intervened"), "hate", "mid_stream",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SIGNS)
def test_sign_of_a_refusal_is_found_in_its_shape(name):
    exchange, evidence, category, where = SIGNS[name]
    found = classify(report_from({"provider": "x", "status": 200, **exchange}))
    assert (found.name, found.category, found.where) == ("refusal", category, where)
    assert (found.evidence[0].field, found.evidence[0].value) == evidence


def test_filters_of_a_chat_name_category_and_side():
    filtered = {
        **choice(finish_reason="content_filter"),
        "prompt_filter_results": ["odd", {"content_filter_results": FILTERED}],
    }
    found = classify(report_from({"provider": "x", "status": 200, "body": filtered}))
    assert (found.category, found.where) == ("blocklist", "prompt")
    assert found.evidence[1].field == "body.prompt_filter_results[1].custom_blocklists"


@pytest.mark.parametrize("kind", ["image_url", "output_audio"])
def test_picture_or_sound_alone_is_a_reply(kind):
    def name(*blocks):
        body = choice(message={"content": [{"type": one} for one in blocks]})
        return classify(report_from({"provider": "x", "status": 200, "body": body})).name

    assert (name(kind), name(kind, "odd"), name("odd")) == ("ok", "ok", "empty_response")


ODD: tuple[Any, ...] = (7, "odd", ["odd"], [[7]], {"odd": ["odd"]}, None, True)


def changed(value, odd):
    """Yield a value once with each of the values in it replaced."""
    yield odd
    for key, one in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        for other in changed(one, odd):
            copy = value.copy()
            copy[key] = other
            yield copy


@pytest.mark.parametrize("name", [*REPLIES, *SIGNS])
def test_value_of_a_wrong_kind_is_absent_wherever_it_stands(name):
    exchange = {**REPLIES, **SIGNS}[name][0]
    for odd in ODD:
        if "body" in exchange:
            told = [{"body": body} for body in changed(exchange["body"], odd)]
        else:
            told = [
                {"sse": [*exchange["sse"][:at], {**one, "data": data}, *exchange["sse"][at + 1 :]]}
                for at, one in enumerate(exchange["sse"])
                for data in changed(one["data"], odd)
            ]
        for one in told:
            report = report_from({"provider": "x", "status": 200, **one})
            found = classify(report)
            said = [report.finish, report.served_model, found.request_id, found.category, found.where]
            for part in report.parts or []:
                said += (
                    [part.name, part.arguments, part.provider_id]
                    if isinstance(part, CallPart)
                    else [getattr(part, "text", "")]
                )
            assert all(isinstance(text, str | None) for text in said), one


FINISHES = {
    "chat": ({"choices": [{"message": {"content": "hi"}, "finish_reason": "odd"}]}, "body.choices[0].finish_reason"),
    "messages": ({"type": "message", "content": [], "stop_reason": "odd"}, "body.stop_reason"),
    "responses": ({"object": "response", "status": "odd"}, "body.status"),
    "responses' reason": (
        {"object": "response", "status": "incomplete", "incomplete_details": {"reason": "odd"}}, "body.incomplete_details.reason",
    ),
    "converse": ({"output": {"message": {"content": []}}, "stopReason": "odd"}, "body.stopReason"),
    "generate": ({"candidates": [{"finishReason": "odd"}]}, "body.candidates[0].finishReason"),
    "ndjson": ({"response": "hi", "done": True, "done_reason": "odd"}, "body.done_reason"),
    "cohere": ({"text": "hi", "finish_reason": "odd"}, "body.finish_reason"),
    "dashscope": ({"output": {"text": "hi", "finish_reason": "odd"}}, "body.output.finish_reason"),
    "dashscope's choices": ({"output": {"choices": [{"finish_reason": "odd"}]}}, "body.output.choices[0].finish_reason"),
    "titan": ({"results": [{"outputText": "hi", "completionReason": "odd"}]}, "body.results[0].completionReason"),
}  # fmt: skip
FINISHES_OF_EVENTS = {
    "messages": ({"type": "message_delta", "delta": {"stop_reason": "odd"}}, {"type": "message_stop"}, "events[0].data.delta.stop_reason"),
    "converse": ({"contentBlockDelta": {}}, {"messageStop": {"stopReason": "odd"}}, "events[1].data.messageStop.stopReason"),
    "cohere": ({"type": "message-start"}, {"type": "message-end", "delta": {"finish_reason": "odd"}}, "events[1].data.delta.finish_reason"),
    "responses": ({"type": "response.created"}, {"type": "response.cancelled"}, "events[1].data.type"),
}  # fmt: skip


@pytest.mark.parametrize("name", FINISHES)
def test_evidence_names_the_finish_of_a_body(name):
    body, field = FINISHES[name]
    assert classify(report_from({"provider": "x", "status": 200, "body": body})).evidence[0].field == field


@pytest.mark.parametrize("name", FINISHES_OF_EVENTS)
def test_evidence_names_the_finish_of_a_stream(name):
    *data, field = FINISHES_OF_EVENTS[name]
    assert classify(report_from({"provider": "x", "status": 200, "sse": events(*data)})).evidence[0].field == field


def test_calls_of_one_reply_are_kept_apart_until_it_breaks_off():
    def calls(*data):
        report = report_from({"provider": "x", "status": 200, "sse": events(*data)})
        return [
            (part.name, part.arguments, part.provider_id, part.whole)
            for part in report.parts or []
            if isinstance(part, CallPart)
        ]

    expected = [("f", "{1", "t", False), ("g", "2", "u", False)]
    for key in ("output_index", "item_id"):
        begun = [
            {"type": "response.output_item.added", key: at, "item": {"type": kind, "name": name, "call_id": id_}}
            for at, kind, name, id_ in (
                (1, "message", "x", "x"),
                (1, "function_call", "f", "t"),
                (2, "function_call", "g", "u"),
            )
        ]
        pieces = [
            {"type": "response.function_call_arguments.delta", key: at, "delta": one}
            for at, one in ((1, "{"), (2, "2"), (1, "1"))
        ]
        assert calls(*begun, *pieces) == expected
    chat = [
        {"index": at, "id": id_, "function": {"name": name, "arguments": one}}
        for at, id_, name, one in ((1, "t", "f", "{"), (2, "u", "g", "2"), (1, "", "", "1"))
    ]
    assert calls(*[{"choices": [{"delta": {"tool_calls": [one]}}]} for one in chat]) == expected
    assert calls({"choices": [{"delta": {"tool_calls": [{"function": one["function"]} for one in chat[:2]]}}]}) == [
        ("f", "{", "", False), ("g", "2", "", False),
    ]  # fmt: skip


CALLED = [("f", "{}"), ("g", "{}")]
SEVERAL = {
    "generate": {"candidates": [{"content": {"parts": [{"functionCall": {"name": name, "args": {}}} for name, _ in CALLED]}, "finishReason": "STOP"}]},
    "responses": {"object": "response", "status": "completed", "output": [{"type": "function_call", "name": name, "arguments": "{}"} for name, _ in CALLED]},
    "ndjson": {"message": {"tool_calls": [{"function": {"name": name, "arguments": {}}} for name, _ in CALLED]}, "done": True},
    "cohere": {"finish_reason": "TOOL_CALL", "message": {"tool_calls": [{"function": {"name": name, "arguments": {}}} for name, _ in CALLED]}},
    "chat's old and new": {"choices": [{"message": {"function_call": {"name": "f", "arguments": "{}"}, "tool_calls": [{"function": {"name": "g", "arguments": "{}"}}]}, "finish_reason": "tool_calls"}]},
}  # fmt: skip


@pytest.mark.parametrize("name", SEVERAL)
def test_several_calls_of_a_body_stay_several(name):
    report = report_from({"provider": "x", "status": 200, "body": SEVERAL[name]})
    assert [(part.name, part.arguments) for part in report.parts or [] if isinstance(part, CallPart)] == CALLED


def test_scope_of_a_sign_is_what_it_is_about():
    def found(body):
        one = classify(report_from({"provider": "x", "status": 200, "body": body}))
        return one.scope, one.category, one.where, one.evidence[0].field

    fallback = {"type": "fallback", "trigger": {"type": "refusal"}}
    assert found({"type": "message", "content": [fallback], "stop_reason": "end_turn"}) == (
        "model", None, "prompt", "body.content[0].trigger.type",
    )  # fmt: skip
    check = {"type": "computer_call", "pending_safety_checks": [{"code": "Odd_Code"}]}
    assert found({"object": "response", "status": "completed", "output": [check]}) == (
        "agent_action", "odd_code", "completion", "body.output[0].pending_safety_checks[0].code",
    )  # fmt: skip
    unnamed = {"type": "computer_call", "pending_safety_checks": [{}]}
    assert found({"object": "response", "status": "completed", "output": [unnamed]})[1] is None
    decision = {"functionCall": {"name": "f", "args": {"safety_decision": {"decision": "require_confirmation"}}}}
    assert found({"candidates": [{"content": {"parts": [{"text": "a"}, decision]}, "finishReason": "STOP"}]}) == (
        "agent_action", None, "completion", "body.candidates[0].content.parts[1].functionCall.args.safety_decision.decision",
    )  # fmt: skip


def test_rating_that_blocked_outweighs_a_high_one():
    ratings = [
        {"category": "HARM_CATEGORY_HATE", "probability": "HIGH"},
        {"category": "HARM_CATEGORY_HARASSMENT", "blocked": True},
    ]
    body = {"candidates": [{"finishReason": "SAFETY", "safetyRatings": ratings}]}
    found = classify(report_from({"provider": "x", "status": 200, "body": body}))
    assert [one.field for one in found.evidence[1:]] == ["body.candidates[0].safetyRatings[1].category"]
    assert found.category == "harassment"


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("completed", "empty_response"),
        ("incomplete", "unknown"),
        ("failed", "server_error"),
        ("cancelled", "cancelled"),
    ],
)
def test_end_of_a_response_without_a_status_is_its_finish(kind, expected):
    sse = events({"type": f"response.{kind}"})
    assert classify(report_from({"provider": "x", "status": 200, "sse": sse})).name == expected
