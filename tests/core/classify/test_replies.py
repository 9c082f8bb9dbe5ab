"""Replies without an error: whole, cut, empty, refused, or with a call that must not run."""

import pytest

from stoic.core.classify import classify, report_from
from stoic.records import CallPart, Report, TextPart, ThinkingPart

CHAT, RESPONSES, MESSAGES = "chat", "responses", "messages"


def chunk(delta=None, finish=None, **more):
    return {
        "event": None,
        "data": {
            "id": "c1",
            "model": "m",
            "choices": [{"index": 0, "delta": delta or {}, "finish_reason": finish, **more}],
        },
    }


def call(arguments, name="f", **more):
    return {"tool_calls": [{"index": 0, "id": "call_1", "function": {"name": name, "arguments": arguments}, **more}]}


def data(**fields):
    return {"event": fields.get("type"), "data": fields}


DONE = {"event": None, "data": "[DONE]"}
BLOCK = {"type": "content_block_start", "index": 0}


def anthropic(*events, stop="end_turn", end=True):
    start = data(
        type="message_start", message={"id": "m", "content": [], "usage": {"input_tokens": 3, "output_tokens": 1}}
    )
    last = [
        data(type="message_delta", delta={"stop_reason": stop}, usage={"output_tokens": 4}),
        data(type="message_stop"),
    ]
    return [start, *events, *(last if end else [])]


TEXT_BLOCK = (
    data(**BLOCK, content_block={"type": "text", "text": ""}),
    data(type="content_block_delta", index=0, delta={"type": "text_delta", "text": "hi"}),
    data(type="content_block_stop", index=0),
)
TOOL_START = data(**BLOCK, content_block={"type": "tool_use", "id": "t", "name": "f", "input": {}})
TOOL_PIECE = data(type="content_block_delta", index=0, delta={"type": "input_json_delta", "partial_json": '{"a": 1}'})

STREAMS = {
    "chat-text": ([chunk({"content": "hi"}), chunk(finish="stop"), DONE], "ok"),
    "chat-text-no-done": ([chunk({"content": "hi"}), chunk(finish="stop")], "ok"),
    "chat-done-alone": ([chunk({"content": "hi"}), DONE], "ok"),
    "chat-done-alone-with-call": ([chunk(call('{"a": 1}')), DONE], "truncated_stream"),
    "chat-done-alone-empty": ([chunk({"role": "assistant"}), DONE], "truncated_stream"),
    "chat-only-done": ([DONE], "truncated_stream"),
    "chat-call": ([chunk(call('{"a"')), chunk(call(": 1}")), chunk(finish="tool_calls"), DONE], "ok"),
    "chat-call-without-arguments": ([chunk(call("")), chunk(finish="tool_calls")], "ok"),
    "chat-call-unnamed": ([chunk(call("{}", name="")), chunk(finish="tool_calls")], "malformed_tool_call"),
    "chat-call-glued": ([chunk(call('{"a": 1}{"a": 1}')), chunk(finish="tool_calls")], "malformed_tool_call"),
    "chat-call-no-object": ([chunk(call("[1]")), chunk(finish="stop")], "malformed_tool_call"),
    "chat-call-cut-by-length": ([chunk(call('{"a": ')), chunk(finish="length")], "output_limit"),
    "chat-promised-no-call": ([chunk({"content": "calling"}), chunk(finish="tool_calls")], "malformed_tool_call"),
    "chat-thinking-alone": ([chunk({"reasoning_content": "hm"}), chunk(finish="stop")], "empty_response"),
    "chat-blank": ([chunk({"content": " \n"}), chunk(finish="stop")], "empty_response"),
    "chat-new-finish": ([chunk({"content": "hi"}), chunk(finish="brand_new")], "unknown"),
    "chat-gateway-filter": ([chunk({"content": "hi"}), chunk(finish="content_filter: SAFETY")], "refusal"),
    "chat-native-safety": ([chunk({"content": "hi"}), chunk(finish="stop", native_finish_reason="SAFETY")], "refusal"),
    "chat-error-in-choice": ([chunk({"content": "hi"}, error={"code": 502, "message": "x"})], "server_error"),
    "chat-empty-choices-then-text": ([{"event": None, "data": {"choices": [], "prompt_filter_results": []}}, chunk({"content": "hi"}, "stop")], "ok"),
    "chat-error-null": ([{"event": None, "data": {"error": None, "choices": [{"delta": {"content": "hi"}, "finish_reason": "stop"}]}}], "ok"),
    "chat-old-function-call": ([chunk({"function_call": {"name": "f", "arguments": "{}"}}), chunk(finish="function_call")], "ok"),
    "messages-text": (anthropic(*TEXT_BLOCK), "ok"),
    "messages-call": (anthropic(TOOL_START, TOOL_PIECE, stop="tool_use"), "ok"),
    "messages-call-no-arguments": (anthropic(TOOL_START, stop="tool_use"), "ok"),
    "messages-no-stop-event": (anthropic(*TEXT_BLOCK, end=False), "truncated_stream"),
    "messages-window-full": (anthropic(*TEXT_BLOCK, stop="model_context_window_exceeded"), "context_length"),
    "messages-ping-only": ([data(type="ping")], "truncated_stream"),
    "messages-redacted-only": (anthropic(data(**BLOCK, content_block={"type": "redacted_thinking"})), "empty_response"),
    "messages-thinking-only": (anthropic(data(**BLOCK, content_block={"type": "thinking"}), data(type="content_block_delta", index=0, delta={"type": "thinking_delta", "thinking": "x"})), "empty_response"),
    "messages-server-tool": (anthropic(data(**BLOCK, content_block={"type": "server_tool_use", "name": "web"})), "ok"),
    "messages-pause": (anthropic(*TEXT_BLOCK, stop="pause_turn"), "ok"),
    "responses-text": ([data(type="response.output_text.delta", delta="hi"), data(type="response.completed", response={"status": "completed", "output": []})], "ok"),
    "responses-call": (
        [
            data(type="response.output_item.added", output_index=0, item={"type": "function_call", "name": "f", "call_id": "c"}),
            data(type="response.function_call_arguments.delta", output_index=0, delta='{"a": 1}'),
            data(type="response.output_item.done", output_index=0, item={"type": "function_call", "name": "f", "call_id": "c", "arguments": '{"a": 1}'}),
            data(type="response.completed", response={"status": "completed"}),
        ],
        "ok",
    ),
    "responses-refusal": ([data(type="response.refusal.delta", delta="I can't"), data(type="response.completed", response={"status": "completed"})], "refusal"),
    "responses-thinking": ([data(type="response.reasoning_summary_text.delta", delta="hm"), data(type="response.completed", response={"status": "completed"})], "empty_response"),
    "responses-failed-silent": ([data(type="response.failed", response={"status": "failed", "error": None})], "server_error"),
    "responses-cancelled": ([data(type="response.cancelled", response={"status": "cancelled"})], "cancelled"),
    "responses-image": ([data(type="response.output_item.done", output_index=0, item={"type": "image_generation_call"}), data(type="response.completed", response={"status": "completed"})], "ok"),
    "gemini-text": ([data(candidates=[{"content": {"parts": [{"text": "hi"}]}}]), data(candidates=[{"finishReason": "STOP"}])], "ok"),
    "gemini-no-finish": ([data(candidates=[{"content": {"parts": [{"text": "hi"}]}}])], "truncated_stream"),
    "gemini-blocked": ([data(promptFeedback={"blockReason": "PROHIBITED_CONTENT"})], "refusal"),
    "gemini-image": ([data(candidates=[{"content": {"parts": [{"inlineData": {}}]}, "finishReason": "STOP"}])], "ok"),
    "gemini-thought": ([data(candidates=[{"content": {"parts": [{"text": "hm", "thought": True}]}, "finishReason": "STOP"}])], "empty_response"),
    "gemini-thought-gone": ([data(candidates=[{"finishReason": "MISSING_THOUGHT_SIGNATURE"}])], "signature_invalid"),
    "gemini-recitation-partial": ([data(candidates=[{"content": {"parts": [{"text": "hi"}]}, "finishReason": "RECITATION"}])], "unknown"),
    "converse-text": ([data(contentBlockDelta={"delta": {"text": "hi"}}), data(messageStop={"stopReason": "end_turn"})], "ok"),
    "converse-named-events": ([{"event": "contentBlockDelta", "data": {"delta": {"text": "hi"}}}, {"event": "messageStop", "data": {"stopReason": "end_turn"}}], "ok"),
    "converse-cut": ([data(contentBlockDelta={"delta": {"text": "hi"}})], "truncated_stream"),
    "converse-call": ([data(contentBlockStart={"start": {"toolUse": {"name": "f", "toolUseId": "t"}}, "contentBlockIndex": 0}), data(contentBlockDelta={"delta": {"toolUse": {"input": "{}"}}, "contentBlockIndex": 0}), data(messageStop={"stopReason": "tool_use"})], "ok"),
    "converse-orphan-arguments": ([data(contentBlockDelta={"delta": {"toolUse": {"input": "{}"}}}), data(messageStop={"stopReason": "end_turn"})], "empty_response"),
    "converse-thinking": ([data(contentBlockDelta={"delta": {"reasoningContent": {"text": "hm"}}}), data(messageStop={"stopReason": "end_turn"})], "empty_response"),
    "converse-throttled": ([data(contentBlockDelta={"delta": {"text": "hi"}}), data(throttlingException={"message": "x"})], "rate_limit"),
    "ollama-text": ([data(message={"content": "hi"}, done=False), data(message={"content": ""}, done=True, done_reason="stop")], "ok"),
    "ollama-call": ([data(message={"content": "", "tool_calls": [{"function": {"name": "f", "arguments": {"a": 1}}}]}, done=True)], "ok"),
    "ollama-thinking": ([data(message={"content": "", "thinking": "hm"}, done=True)], "empty_response"),
    "ollama-length": ([data(response="hi", done=True, done_reason="length")], "output_limit"),
    "ollama-cut": ([data(message={"content": "hi"}, done=False)], "truncated_stream"),
    "cohere-v2": ([data(type="content-delta", delta={"message": {"content": {"text": "hi"}}}), data(type="message-end", delta={"finish_reason": "COMPLETE"})], "ok"),
    "cohere-v1": ([{"event": None, "data": {"event_type": "text-generation", "text": "hi"}}, {"event": None, "data": {"event_type": "stream-end", "finish_reason": "COMPLETE"}}], "ok"),
    "cohere-cut": ([data(type="content-delta", delta={"message": {"content": {"text": "hi"}}})], "truncated_stream"),
    "dashscope-native": ([data(output={"finish_reason": "null", "text": "hi"}), data(output={"finish_reason": "stop", "text": ""})], "ok"),
    "unknown-shape": ([data(token="hi")], "truncated_stream"),
}  # fmt: skip


@pytest.mark.parametrize("name", STREAMS)
def test_stream_is_judged_by_its_protocols_own_end(name):
    events, expected = STREAMS[name]
    assert classify(report_from({"provider": "x", "status": 200, "sse": events})).name == expected


BODIES = {
    "chat": ({"choices": [{"message": {"content": "hi"}, "finish_reason": "stop"}]}, "ok"),
    "chat-no-finish": ({"choices": [{"message": {"content": "hi"}}]}, "ok"),
    "chat-null-finish": ({"choices": [{"message": {"content": "hi"}, "finish_reason": None}]}, "truncated_stream"),
    "chat-no-choices": ({"choices": []}, "empty_response"),
    "chat-parts": ({"choices": [{"message": {"content": [{"type": "text", "text": "hi"}]}, "finish_reason": "stop"}]}, "ok"),
    "chat-audio": ({"choices": [{"message": {"content": None, "audio": {"id": "a"}}, "finish_reason": "stop"}]}, "ok"),
    "chat-completion-text": ({"choices": [{"text": "hi", "finish_reason": "stop"}]}, "ok"),
    "chat-speaks-of-errors": ({"choices": [{"message": {"content": "Error 429: rate limit, try again in 20s. insufficient_quota"}, "finish_reason": "stop"}]}, "ok"),
    "chat-empty-error": ({"choices": [{"message": {"content": "hi"}, "finish_reason": "stop"}], "error": {}}, "ok"),
    "chat-base-resp-zero": ({"choices": [{"message": {"content": "hi"}, "finish_reason": "stop"}], "base_resp": {"status_code": 0, "status_msg": ""}}, "ok"),
    "chat-repetition": ({"choices": [{"message": {"content": "hi"}, "finish_reason": "insufficient_system_resource"}]}, "unknown"),
    "responses": ({"object": "response", "status": "completed", "output": [{"type": "message", "content": [{"type": "output_text", "text": "hi"}]}]}, "ok"),
    "responses-refusal": ({"object": "response", "status": "completed", "output": [{"type": "message", "content": [{"type": "refusal", "refusal": "no"}]}]}, "refusal"),
    "responses-reasoning": ({"object": "response", "status": "completed", "output": [{"type": "reasoning", "summary": []}]}, "empty_response"),
    "responses-call": ({"object": "response", "status": "completed", "output": [{"type": "function_call", "name": "f", "arguments": "{"}]}, "malformed_tool_call"),
    "responses-queued": ({"object": "response", "status": "queued", "output": []}, "unknown"),
    "messages": ({"type": "message", "content": [{"type": "text", "text": "hi"}], "stop_reason": "end_turn"}, "ok"),
    "messages-call": ({"type": "message", "content": [{"type": "tool_use", "name": "f", "input": {}}], "stop_reason": "tool_use"}, "ok"),
    "messages-fallback-overload": ({"type": "message", "content": [{"type": "fallback", "trigger": {"type": "overloaded"}}, {"type": "text", "text": "hi"}], "stop_reason": "end_turn"}, "ok"),
    "gemini-call": ({"candidates": [{"content": {"parts": [{"functionCall": {"name": "f", "args": {}}}]}, "finishReason": "STOP"}]}, "ok"),
    "gemini-list": ([{"candidates": [{"content": {"parts": [{"text": "h"}]}}]}, {"candidates": [{"content": {"parts": [{"text": "i"}]}, "finishReason": "STOP"}]}], "ok"),
    "gemini-nothing": ({"usageMetadata": {"promptTokenCount": 9}}, "empty_response"),
    "gemini-no-image": ({"candidates": [{"finishReason": "NO_IMAGE"}]}, "empty_response"),
    "converse": ({"output": {"message": {"content": [{"text": "hi"}]}}, "stopReason": "end_turn"}, "ok"),
    "converse-tool": ({"output": {"message": {"content": [{"toolUse": {"name": "f", "input": {"a": 1}}}]}}, "stopReason": "tool_use"}, "ok"),
    "converse-image": ({"output": {"message": {"content": [{"image": {}}]}}, "stopReason": "end_turn"}, "ok"),
    "converse-thinking": ({"output": {"message": {"content": [{"reasoningContent": {"reasoningText": {"text": "hm"}}}]}}, "stopReason": "end_turn"}, "empty_response"),
    "ollama": ({"message": {"content": "hi"}, "done": True}, "ok"),
    "cohere-v2": ({"id": "x", "finish_reason": "COMPLETE", "message": {"content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "hi"}]}}, "ok"),
    "cohere-v2-call": ({"id": "x", "finish_reason": "TOOL_CALL", "message": {"tool_calls": [{"function": {"name": "f", "arguments": "{}"}}]}}, "ok"),
    "baidu": ({"result": "hi", "is_end": True, "need_clear_history": False}, "ok"),
    "dashscope-native": ({"output": {"choices": [{"message": {"content": "hi"}, "finish_reason": "stop"}]}}, "ok"),
    "titan": ({"results": [{"outputText": "hi", "completionReason": "FINISH"}]}, "ok"),
    "tgi": ({"generated_text": "hi"}, "ok"),
    "not-a-reply": ({"status": "healthy"}, "unknown"),
    "captive-portal": ("<html><body>Sign in to the network</body></html>", "unknown"),
    "number": (7, "unknown"),
}  # fmt: skip


@pytest.mark.parametrize("name", BODIES)
def test_body_is_judged_by_what_it_holds(name):
    body, expected = BODIES[name]
    assert classify(report_from({"provider": "x", "status": 200, "body": body})).name == expected


def guardrail(trace, **more):
    return {
        "output": {"message": {"content": [{"text": "Sorry."}]}},
        "stopReason": "guardrail_intervened",
        "trace": {"guardrail": trace},
        **more,
    }


def chat_filter(**choice):
    return {"choices": [{"message": {"content": None}, "finish_reason": "content_filter", **choice}]}


# (provider, status, body) → (category, where, scope)
REFUSALS = {
    "openai-misalignment": (("openai", 200, {"object": "response", "status": "failed", "output": [], "error": {"code": "misalignment_policy_violation", "message": "x"}}), ("misalignment", "prompt", "agent_action")),
    "openai-failed-after-output": (("openai", 200, {"object": "response", "status": "failed", "output": [{"type": "message", "content": [{"text": "hi"}]}], "error": {"code": "chem_policy", "message": "x"}}), ("chem", "completion", "request_bytes")),
    "openai-computer-check": (("openai", 200, {"object": "response", "status": "completed", "output": [{"type": "computer_call", "pending_safety_checks": [{"code": "malicious_instructions", "message": "secret"}]}]}), ("malicious_instructions", "completion", "agent_action")),
    "openai-image-policy": (("openai", 400, {"error": {"code": "image_content_policy_violation", "message": "x"}}), ("image", "prompt", "request_bytes")),
    "openai-moderation": (("openai", 400, {"error": {"code": "moderation_blocked", "message": "x"}}), ("moderation", "prompt", "request_bytes")),
    "openai-terminated": (("openai", 403, {"error": {"message": "Your access was terminated due to violation of our policies.", "code": None}}), (None, "prompt", "account")),
    "anthropic-on-hold": (("anthropic", 403, {"type": "error", "error": {"type": "permission_error", "message": "x", "details": {"error_code": "organization_on_hold"}}}), (None, "prompt", "account")),
    "azure-blocked-resource": (("azure", 403, {"error": {"code": "403", "message": "Your resource has been temporarily blocked because we detected behavior that may violate our content policy."}}), (None, "prompt", "account")),
    "azure-new-format": (("azure", 400, {"error": {"code": "content_filter", "message": "x", "content_filters": [{"blocked": True, "source_type": "completion", "content_filter_results": {"hate": {"filtered": True}}}]}}), ("hate", "completion", "request_bytes")),
    "azure-blocklist": (("azure", 400, {"error": {"code": "content_filter", "message": "x", "innererror": {"code": "ResponsibleAIPolicyViolation", "content_filter_result": {"custom_blocklists": {"filtered": True}}}}}), ("blocklist", "prompt", "request_bytes")),
    "azure-prompt-side": (("azure", 200, {**chat_filter(), "prompt_filter_results": [{"content_filter_results": {"sexual": {"filtered": True}}}]}), ("sexual", "prompt", "request_bytes")),
    "gemini-armor": (("vertex", 200, {"promptFeedback": {"blockReason": "MODEL_ARMOR"}}), ("guardrail", "prompt", "request_bytes")),
    "gemini-new-reason": (("gemini", 200, {"promptFeedback": {"blockReason": "Brand_New"}}), ("brand_new", "prompt", "request_bytes")),
    "gemini-prohibited": (("gemini", 200, {"candidates": [{"finishReason": "PROHIBITED_CONTENT"}]}), ("prohibited_content", "completion", "request_bytes")),
    "gemini-confirmation": (("gemini", 200, {"candidates": [{"content": {"parts": [{"functionCall": {"name": "click", "args": {"safety_decision": {"decision": "require_confirmation"}}}}]}, "finishReason": "STOP"}]}), (None, "completion", "agent_action")),
    "bedrock-output-topic": (("bedrock", 200, guardrail({"outputAssessments": {"g": [{"topicPolicy": {"topics": [{"name": "secret topic", "type": "DENY", "action": "BLOCKED"}]}}]}})), ("guardrail", "completion", "request_bytes")),
    "bedrock-word": (("bedrock", 200, guardrail({"inputAssessment": {"g": {"wordPolicy": {"customWords": [{"match": "w", "action": "BLOCKED"}]}}}})), ("blocklist", "prompt", "request_bytes")),
    "bedrock-no-trace-input": (("bedrock", 200, guardrail({}, usage={"outputTokens": 0})), ("guardrail", "prompt", "request_bytes")),
    "bedrock-no-trace-output": (("bedrock", 200, guardrail({}, usage={"outputTokens": 5})), ("guardrail", "completion", "request_bytes")),
    "bedrock-invoke": (("bedrock", 200, {"type": "message", "content": [{"type": "text", "text": "Sorry"}], "stop_reason": "end_turn", "amazon-bedrock-guardrailAction": "INTERVENED"}), ("guardrail", "completion", "request_bytes")),
    "openrouter-guardrail": (("openrouter", 403, {"error": {"code": 403, "message": "Request blocked: prompt injection patterns detected"}}), ("guardrail", "prompt", "request_bytes")),
    "openrouter-typed": (("openrouter", 400, {"error": {"code": 400, "message": "x", "metadata": {"error_type": "content_policy_violation"}}}), ("moderation", "prompt", "request_bytes")),
    "openrouter-flagged-only": (("openrouter", 403, {"error": {"code": 403, "message": "x", "metadata": {"flagged_input": "secret"}}}), ("moderation", "prompt", "request_bytes")),
    "litellm-policy": (("litellm", 400, {"error": {"message": "litellm.ContentPolicyViolationError: AzureException - The response was filtered", "code": "400"}}), ("moderation", "prompt", "request_bytes")),
    "litellm-guardrail": (("litellm", 400, {"error": {"message": "{'error': 'Violated guardrail policy', 'x': 1}", "code": "400"}}), ("guardrail", "prompt", "request_bytes")),
    "dashscope-output": (("dashscope", 400, {"error": {"code": "data_inspection_failed", "message": "Output data may contain inappropriate content."}}), ("sensitive", "completion", "request_bytes")),
    "dashscope-native": (("dashscope", 400, {"code": "DataInspectionFailed", "message": "Input data may contain inappropriate content."}), ("sensitive", "prompt", "request_bytes")),
    "zhipu-role": (("zhipu", 400, {"error": {"code": "1301", "message": "x"}, "contentFilter": [{"level": 1, "role": "user"}]}), ("sensitive", "prompt", "request_bytes")),
    "zhipu-role-inside": (("zhipu", 400, {"error": {"code": "1301", "message": "x", "contentFilter": [{"level": 1, "role": "assistant"}]}}), ("sensitive", "completion", "request_bytes")),
    "zhipu-banned": (("zhipu", 429, {"error": {"code": "1121", "message": "账户存违规行为"}}), (None, "prompt", "account")),
    "moonshot-platform": (("moonshot", 400, {"error": {"type": "content_filter", "message": "The request was rejected because it was considered high risk"}}), ("high_risk", "prompt", "request_bytes")),
    "moonshot-terminated": (("kimi", 403, {"error": {"type": "permission_denied_error", "message": "Access terminated"}}), (None, "prompt", "account")),
    "minimax-flag": (("minimax", 200, {"choices": [{"message": {"content": ""}, "finish_reason": "stop"}], "input_sensitive": True, "base_resp": {"status_code": 0}}), ("sensitive", "prompt", "request_bytes")),
    "minimax-1027": (("minimax", 200, {"base_resp": {"status_code": 1027, "status_msg": "output new_sensitive"}}), ("sensitive", "completion", "request_bytes")),
    "volcengine-output": (("volcengine", 400, {"error": {"code": "OutputTextSensitiveContentDetected.PolicyViolation", "message": "x"}}), ("sensitive", "completion", "request_bytes")),
    "volcengine-input": (("ark", 400, {"error": {"code": "InputTextRiskDetection", "message": "x"}}), ("sensitive", "prompt", "request_bytes")),
    "xai-csam": (("xai", 403, {"code": "x", "error": "Content violates usage guidelines. Failed check: SAFETY_CHECK_TYPE_CSAM"}), ("csam", "prompt", "request_bytes")),
    "xai-no-check": (("xai", 403, {"code": "x", "error": "Content violates usage guidelines."}), (None, "prompt", "request_bytes")),
    "cohere-498": (("cohere", 498, {"message": "x"}), ("blocklist", "prompt", "request_bytes")),
    "cohere-stream": (("cohere", 200, {"text": "some", "finish_reason": "ERROR_TOXIC"}), (None, "completion", "request_bytes")),
    "openai-image-violation": (("openai", 400, {"error": {"code": "moderation_blocked", "message": "Your request was rejected by the safety system. safety_violations=[Sexual]."}}), ("sexual", "prompt", "request_bytes")),
    "gemini-high-rating": (("gemini", 200, {"candidates": [{"finishReason": "SAFETY", "safetyRatings": [{"category": "HARM_CATEGORY_HARASSMENT", "probability": "LOW"}, {"category": "HARM_CATEGORY_SEXUALLY_EXPLICIT", "probability": "HIGH"}]}]}), ("sexually_explicit", "completion", "request_bytes")),
    "titan-filtered": (("bedrock", 200, {"results": [{"outputText": "Sorry", "completionReason": "CONTENT_FILTERED"}]}), (None, "completion", "request_bytes")),
    "stepfun-451": (("stepfun", 451, {"error": {"type": "censorship_blocked", "message": "x"}}), (None, "prompt", "request_bytes")),
    "fal-list": (("fal", 422, {"detail": [{"type": "content_policy_violation", "loc": ["body", "prompt"], "msg": "x"}]}), ("moderation", "prompt", "request_bytes")),
    "litellm-moderation": (("litellm", 400, {"error": {"message": "{'error': 'Violated OpenAI moderation policy'}", "code": "400"}}), ("guardrail", "prompt", "request_bytes")),
    "dashscope-copyright": (("dashscope", 400, {"code": "IPInfringementSuspect", "message": "x"}), ("copyright_or_output_filter", "prompt", "request_bytes")),
    "spark-output": (("spark", 200, {"error": {"code": 10014, "message": "x"}}), ("sensitive", "completion", "request_bytes")),
    "unknown-provider": (("my-gateway", 400, {"error": {"code": "content_filter", "message": "x"}}), (None, "prompt", "request_bytes")),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSALS)
def test_refusal_names_category_side_and_scope(name):
    (provider, status, body), expected = REFUSALS[name]
    verdict = classify(report_from({"provider": provider, "status": status, "body": body}))
    assert verdict.name == "refusal", verdict.evidence
    assert (verdict.category, verdict.where, verdict.scope) == expected
    assert "secret" not in str(verdict)
    assert not verdict.after_output, "what comes whole was not shown before its verdict"


def test_masking_guardrail_is_no_refusal():
    body = guardrail(
        {
            "outputAssessments": {
                "g": [{"sensitiveInformationPolicy": {"piiEntities": [{"type": "EMAIL", "action": "ANONYMIZED"}]}}]
            }
        }
    )
    assert classify(report_from({"provider": "bedrock", "status": 200, "body": body})).name == "ok"


def test_streamed_refusal_says_whether_anything_was_shown():
    def verdict(*deltas):
        return classify(report_from({"provider": "x", "status": 200, "sse": [*deltas, chunk(finish="content_filter")]}))

    assert verdict(chunk({"content": "Step one"})).after_output
    assert verdict(chunk(call('{"a'))).after_output
    assert not verdict(chunk({"role": "assistant"})).after_output
    assert verdict().where == "mid_stream"


def test_connection_that_breaks_is_network_and_one_that_ends_is_truncated():
    exchange = {"provider": "x", "status": 200, "sse": [chunk({"content": "hi"})]}
    assert classify(report_from({**exchange, "end": "cut"})).name == "network"
    assert classify(report_from({**exchange, "end": "clean"})).name == "truncated_stream"
    assert classify(report_from({**exchange, "sse": [chunk({"content": "hi"}, "stop")], "end": "cut"})).name == "ok"


def test_done_alone_is_flagged_as_an_unconfirmed_end():
    verdict = classify(report_from({"provider": "x", "status": 200, "sse": [chunk({"content": "hi"}), DONE]}))
    assert verdict.failure is None
    assert verdict.end_unconfirmed


def test_report_from_assembles_the_reply():
    report = report_from(
        {
            "provider": "x",
            "status": 200,
            "sse": [
                chunk({"reasoning": "a"}),
                chunk({"reasoning": "b"}),
                chunk({"content": "c"}),
                chunk({"content": "d"}),
                chunk(call('{"e"')),
                chunk(call(":1}", name="")),
                chunk(finish="tool_calls"),
            ],
        }
    )
    assert report.parts == [
        ThinkingPart(text="ab"),
        TextPart(text="cd"),
        CallPart(name="f", arguments='{"e":1}', provider_id="call_1"),
    ]
    assert (report.finish, report.ended, report.served_model) == ("tool_calls", True, "m")


def test_usage_of_a_stream_is_that_of_its_last_count():
    report = report_from({"provider": "anthropic", "status": 200, "sse": anthropic(*TEXT_BLOCK)})
    assert (report.usage.input_tokens, report.usage.output_tokens) == (3, 4)


# ---- live attempts: the wire assembled the reply and kept only the events that say more -------------


def live(**fields):
    return Report(provider="openai", api="chat", status=200, stream=True, **fields)


def test_live_reply_is_judged_by_what_the_wire_assembled():
    whole = live(parts=[TextPart(text="hi")], finish="stop", ended=True)
    assert classify(whole).name == "ok"
    assert classify(live(parts=[TextPart(text="hi")])).name == "truncated_stream"
    assert classify(live(parts=[], finish="stop", ended=True)).name == "empty_response"
    assert classify(live(parts=[TextPart(text="hi")], end="cut")).name == "network"
    assert classify(live(parts=[TextPart(text="hi")], end_unconfirmed=True)).end_unconfirmed


def test_live_call_that_is_not_whole_is_never_a_success():
    half = CallPart(name="f", arguments="{}", whole=False)
    assert classify(live(parts=[half], finish="tool_calls", ended=True)).name == "truncated_stream"


def test_live_refusal_is_read_from_the_events_kept():
    report = live(
        parts=[TextPart(text="Step")],
        ended=True,
        finish="stop",
        events=[chunk(finish="stop", native_finish_reason="refusal")],
    )
    verdict = classify(report)
    assert (verdict.name, verdict.where, verdict.after_output) == ("refusal", "mid_stream", True)


def test_live_error_answer_to_a_stream_request_is_no_stream():
    report = Report(
        provider="azure", status=400, stream=True, parts=[], body={"error": {"code": "content_filter", "message": "x"}}
    )
    assert classify(report).where == "prompt"


def test_stop_reason_without_the_protocols_end_is_no_end():
    block = data(type="content_block_start", index=0, content_block={"type": "text", "text": "a"})
    events = anthropic(block, stop="max_tokens")[:-1]
    assert events[-1] == data(type="message_delta", delta={"stop_reason": "max_tokens"}, usage={"output_tokens": 4})
    assert classify(report_from({"provider": "anthropic", "status": 200, "sse": events})).name == "truncated_stream"


def test_done_alone_ends_no_call_and_flags_no_stream_that_ended_by_itself():
    def of(*events):
        return classify(report_from({"provider": "x", "status": 200, "sse": [*events, DONE]}))

    assert of(chunk({"content": "a"}), chunk(call("{}"))).name == "truncated_stream"
    assert not of(chunk({"content": "a"}, "stop")).end_unconfirmed


def test_promised_call_may_be_other_output():
    message = {"content": None, "images": [{"type": "image_url"}]}
    body = {"choices": [{"message": message, "finish_reason": "tool_calls"}]}
    assert classify(report_from({"provider": "x", "status": 200, "body": body})).name == "ok"


def test_call_with_half_a_character_in_its_arguments_is_readable():
    body = {
        "choices": [
            {
                "message": {"tool_calls": [{"function": {"name": "f", "arguments": '{"a": "\ud800"}'}}]},
                "finish_reason": "tool_calls",
            }
        ]
    }
    assert classify(report_from({"provider": "x", "status": 200, "body": body})).name == "ok"
