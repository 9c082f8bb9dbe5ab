"""Errors beyond the case files: other codes, other words, other places, and look-alikes."""

import pytest

from stoic.core.classify import classify, report_from


def error(message="", kind=None, code=None, **more):
    return {"error": {"message": message, "type": kind, "param": None, "code": code, **more}}


def anthropic(message, kind="invalid_request_error", **details):
    return {"type": "error", "error": {"type": kind, "message": message, **({"details": details} if details else {})}}


def google(status, message="", *details):
    return {"error": {"code": 0, "message": message, "status": status, "details": list(details)}}


# (provider, status, body, class, axis)
ERRORS = {
    # OpenAI
    "openai-spend-limit": ("openai", 429, error("x", "insufficient_quota", "project_spend_limit_exceeded"), "quota", "config"),
    "openai-credit-gone": ("openai", 429, error("x", "insufficient_quota", "credit_balance_exhausted"), "quota", "credential"),
    "openai-billing-inactive": ("openai", 429, error("x", None, "billing_not_active"), "quota", "credential"),
    "openai-deactivated": ("openai", 401, error("x", "invalid_request_error", "account_deactivated"), "auth", "credential"),
    "openai-missing-scopes": (
        "openai", 401, error("You have insufficient permissions for this operation. Missing scopes: model.request"),
        "permission", "config",
    ),
    "openai-verify-organisation": (
        "openai", 403, error("Your organization must be verified to use the model `o9`.", "invalid_request_error"),
        "permission", "config",
    ),
    "openai-tier": (
        "openai", 400, error("Invalid service_tier argument", "invalid_request_error", None, param="service_tier"),
        "invalid_request", "request_change",
    ),
    "openai-reasoning-item": (
        "openai", 400, error("Item 'rs_1' of type 'reasoning' was provided without its required following item."),
        "history_corrupt", "request_change",
    ),
    "openai-no-tool-output": (
        "openai", 400, error("No tool output found for function call call_1.", "invalid_request_error"),
        "history_corrupt", "request_change",
    ),
    "openai-call-id-too-long": (
        "openai", 400,
        error("Invalid 'messages[2].tool_calls[0].id': string too long.", "invalid_request_error", "string_above_max_length"),
        "history_corrupt", "request_change",
    ),
    "openai-too-many-tools": (
        "openai", 400, {"error": {"message": "Invalid 'tools': array too long.", "param": "tools", "code": "array_above_max_length"}},
        "bad_schema", "request_change",
    ),
    "openai-strict-output": (
        "openai", 400, error("Invalid schema for response_format 'x': extra keys", "invalid_request_error"),
        "bad_schema", "request_change",
    ),
    "openai-flex": ("openai", 429, error("x", None, "flex_unavailable"), "overloaded", "time"),
    "openai-conflict": ("openai", 409, error("try again"), "server_error", "time"),
    "openai-split-fits": (
        "openai", 400,
        error("This model's maximum context length is 8192 tokens. However, you requested 10000 tokens (6000 in the messages, 4000 in the completion)."),
        "context_length", "request_change",
    ),
    "openai-codex-usage": (
        "openai", 429, {"error": {"type": "usage_limit_reached", "message": "The usage limit has been reached", "resets_in_seconds": 3600}},
        "quota", "time",
    ),
    "openai-residency": ("openai", 400, error("x", None, "data_residency_mismatch"), "permission", "config"),
    # Azure
    "azure-demand": ("azure-openai", 429, error("The system is currently experiencing high demand.", None, "429"), "overloaded", "time"),
    "azure-limited": ("azure", 429, error("Requests to the X Operation have been limited.", None, "RateLimitReached"), "rate_limit", "time"),
    "azure-rbac": ("azure", 401, error("The principal `x` lacks the required data action.", None, "PermissionDenied"), "permission", "config"),
    "azure-operation": ("azure", 400, error("The chatCompletion operation does not work with the model", None, "OperationNotSupported"), "model_not_found", "config"),
    # GitHub
    "github-rate": ("github", 429, error("Rate limit of 15 per 60s exceeded for UserByModelByMinute. Please wait 42 seconds before retrying.", None, "RateLimitReached"), "rate_limit", "time"),
    "github-body": ("github", 413, error("Request body too large for gpt-x model. Max size: 8000 tokens.", None, "tokens_limit_reached"), "context_length", "compaction"),
    # Anthropic
    "anthropic-contract": ("anthropic", 429, anthropic("x", "rate_limit_error", error_code="contract_spend_limit_reached"), "quota", "config"),
    "anthropic-linked-billing": ("anthropic", 402, anthropic("x", "billing_error", error_code="linked_organization_billing_unavailable"), "quota", "credential"),
    "anthropic-cmek-off": ("anthropic", 403, anthropic("x", "permission_error", error_code="cmek_key_disabled"), "permission", "config"),
    "anthropic-cmek-read": ("anthropic", 500, anthropic("x", "api_error", error_code="cmek_context_unavailable"), "server_error", "time"),
    "anthropic-workspace-limit": ("anthropic", 400, anthropic("You have reached your specified workspace API usage limits."), "quota", "config"),
    "anthropic-unknown-detail": ("anthropic", 429, anthropic("x", "rate_limit_error", error_code="brand_new"), "rate_limit", "time"),
    "anthropic-result-first": ("anthropic", 400, anthropic("messages.0.content.1: unexpected `tool_use_id` found in `tool_result` blocks: toolu_1."), "history_corrupt", "request_change"),
    "anthropic-prefill": ("anthropic", 400, anthropic("This model does not support assistant message prefill."), "history_corrupt", "request_change"),
    "anthropic-roles": ("anthropic", 400, anthropic('messages: roles must alternate between "user" and "assistant"'), "history_corrupt", "request_change"),
    "anthropic-thinking-changed": ("anthropic", 400, anthropic("messages.3.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified."), "signature_invalid", "request_change"),
    "anthropic-thinking-first": ("anthropic", 400, anthropic("messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`."), "signature_invalid", "request_change"),
    "anthropic-many-images": ("anthropic", 400, anthropic("messages.0.content.9: At least one of the image dimensions exceed max allowed size for many-image requests: 2000 pixels"), "image_too_large", "request_change"),
    "anthropic-bad-beta": ("anthropic", 400, anthropic("Unexpected value(s) `x` for the `anthropic-beta` header"), "invalid_request", "request_change"),
    "anthropic-disabled": ("anthropic", 400, anthropic("This organization has been disabled."), "permission", "config"),
    # Gemini, Vertex
    "gemini-prepay": ("gemini", 402, google("RESOURCE_EXHAUSTED", "Your prepayment credits are depleted."), "quota", "credential"),
    "gemini-capacity": ("gemini", 429, google("RESOURCE_EXHAUSTED", "x", {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "MODEL_CAPACITY_EXHAUSTED"}), "overloaded", "time"),
    "gemini-limit-zero": ("gemini", 429, google("RESOURCE_EXHAUSTED", "Quota exceeded for metric: x, limit: 0, model: y. Please retry in 20s."), "quota", "config"),
    "gemini-both-windows": (
        "gemini", 429,
        google("RESOURCE_EXHAUSTED", "", {"violations": [{"quotaId": "RequestsPerMinute"}, {"quotaId": "RequestsPerDay"}]}, {"retryDelay": "9s"}),
        "quota", "time",
    ),
    "gemini-turns": ("gemini", 400, google("INVALID_ARGUMENT", "Please ensure that function call turn comes immediately after a user turn or after a function response turn."), "history_corrupt", "request_change"),
    "gemini-response-schema": ("gemini", 400, google("INVALID_ARGUMENT", "* GenerateContentRequest.tools[0].function_declarations[0].parameters.properties: should be non-empty for OBJECT type"), "bad_schema", "request_change"),
    "gemini-interactions-quota": ("gemini", 429, {"error": {"code": "quota_exceeded", "message": "x"}}, "rate_limit", "time"),
    "gemini-leaked": ("google", 403, google("PERMISSION_DENIED", "Your API key was reported as leaked. Please use another API key."), "auth", "credential"),
    "gemini-list-body": ("gemini", 503, [google("UNAVAILABLE", "x")], "overloaded", "time"),
    "gemini-cancelled": ("gemini", 499, google("CANCELLED", "The operation was cancelled."), "cancelled", "never"),
    "vertex-claude": ("vertex", 400, anthropic("prompt is too long: 210000 tokens > 200000 maximum"), "context_length", "compaction"),
    "vertex-billing": ("vertex", 403, google("PERMISSION_DENIED", "x", {"reason": "BILLING_DISABLED"}), "quota", "credential"),
    # Bedrock
    "bedrock-model-error": ("bedrock", 424, {"__type": "com.amazon.coral.service#ModelErrorException", "message": "x"}, "server_error", "time"),
    "bedrock-claude-long": ("bedrock", 400, {"__type": "ValidationException", "message": "prompt is too long: 208310 tokens > 200000 maximum"}, "context_length", "compaction"),
    "bedrock-throughput": ("bedrock", 400, {"__type": "ValidationException", "message": "Invocation of model ID x with on-demand throughput isn't supported."}, "model_not_found", "config"),
    "bedrock-marketplace": ("bedrock", 403, {"__type": "MPAgreementBeingCreated", "message": "x"}, "permission", "time"),
    "bedrock-unsigned": ("bedrock", 403, {"__type": "InvalidSignatureException", "message": "x"}, "auth", "credential"),
    "bedrock-daily": ("bedrock", 429, {"__type": "ThrottlingException", "message": "Too many tokens per day, please wait before trying again."}, "quota", "time"),
    "bedrock-plain": ("bedrock", 400, {"__type": "ValidationException", "message": "1 validation error detected"}, "invalid_request", "request_change"),
    # gateways
    "openrouter-inner-quota": (
        "openrouter", 429,
        {"error": {"code": 429, "message": "Provider returned error", "metadata": {"provider_name": "OpenAI", "raw": '{"error": {"code": "insufficient_quota", "message": "x"}}'}}},
        "quota", "credential",
    ),
    "openrouter-inner-context": (
        "openrouter", 400,
        {"error": {"code": 400, "message": "Provider returned error", "metadata": {"provider_name": "Anthropic", "raw": '{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 9 tokens > 8 maximum"}}'}}},
        "context_length", "compaction",
    ),
    "openrouter-budget-date": (
        "openrouter", 403,
        {"error": {"code": 403, "message": "Budget limit exceeded", "metadata": {"limit_source": "openrouter_workspace_budget", "resets_at": "2026-12-01T00:00:00Z"}}},
        "quota", "time",
    ),
    "openrouter-typed": ("openrouter", 500, {"error": {"code": 500, "message": "x", "metadata": {"error_type": "provider_overloaded"}}}, "overloaded", "time"),
    "openrouter-529": ("openrouter", 529, {"error": {"code": 529, "message": "x"}}, "overloaded", "time"),
    "openrouter-afford": ("openrouter", 402, {"error": {"code": 402, "message": "This request requires more credits, or fewer max_tokens."}}, "quota", "credential"),
    "litellm-inner-quota": ("litellm", 429, error("litellm.RateLimitError: RateLimitError: OpenAIException - You exceeded your current quota, please check your plan and billing details.", "throttling_error", "429"), "quota", "credential"),
    "litellm-inner-json": ("litellm-proxy", 503, error('litellm.ServiceUnavailableError: AnthropicException - {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}', None, "503"), "overloaded", "time"),
    "litellm-500-inside": ("litellm-proxy", 500, error("litellm.APIConnectionError: DeepseekException - Insufficient Balance", None, "500"), "quota", "credential"),
    "litellm-key-model": ("litellm-proxy", 401, error("key not allowed to access model. This key can only access models=['a']", "key_model_access_denied", "401"), "permission", "config"),
    # others
    "deepseek-roles": ("deepseek", 400, error("deepseek-reasoner does not support successive user or assistant messages", "invalid_request_error", "invalid_request_error"), "history_corrupt", "request_change"),
    "deepseek-max": ("deepseek", 400, error("Invalid max_tokens value, the valid range of max_tokens is [1, 8192]", "invalid_request_error", "invalid_request_error"), "invalid_request", "request_change"),
    "deepseek-model": ("deepseek", 400, error("Model Not Exist", "invalid_request_error", "invalid_request_error"), "model_not_found", "config"),
    "dashscope-arrears": ("dashscope", 400, {"code": "Arrearage", "message": "Access denied, please make sure your account is in good standing.", "request_id": "r"}, "quota", "credential"),
    "dashscope-burst": ("qwen", 429, {"code": "Throttling.BurstRate", "message": "x"}, "rate_limit", "time"),
    "dashscope-unbought": ("dashscope", 403, {"code": "AccessDenied.Unpurchased", "message": "x"}, "permission", "config"),
    "zhipu-daily": ("zhipu", 429, {"error": {"code": "1304", "message": "该 API 已达今日调用次数限额"}}, "quota", "time"),
    "zhipu-busy": ("z.ai", 429, {"error": {"code": "1305", "message": "该模型当前访问量过大"}}, "overloaded", "time"),
    "zhipu-plan": ("zhipu", 429, {"error": {"code": "1309", "message": "套餐已到期"}}, "quota", "credential"),
    "zhipu-tools": ("zhipu", 400, {"error": {"code": "1210", "message": "tools[0].function.parameters 参数有误"}}, "bad_schema", "request_change"),
    "moonshot-length": ("kimi", 400, error("Input token length too long", "invalid_request_error"), "context_length", "compaction"),
    "moonshot-period": ("moonshot", 429, error("You've reached your usage limit for this period.", "rate_limit_reached_error"), "quota", "time"),
    "moonshot-busy": ("moonshot", 429, error("We're receiving too many requests at the moment.", "rate_limit_reached_error"), "overloaded", "time"),
    "minimax-200-balance": ("minimax", 200, {"choices": None, "base_resp": {"status_code": 1008, "status_msg": "insufficient balance"}}, "quota", "credential"),
    "minimax-context": ("minimax", 400, anthropic("invalid params, context window exceeds limit (2013)"), "context_length", "compaction"),
    "minimax-pairs": ("minimax", 400, anthropic("invalid params, tool call result does not follow tool call (2013)"), "history_corrupt", "request_change"),
    "minimax-window": ("minimax", 429, anthropic("usage limit exceeded (2056)", "rate_limit_error"), "quota", "time"),
    "minimax-500-rate": ("minimax", 500, anthropic("rate limit exceeded (1002)", "api_error"), "rate_limit", "time"),
    "baidu-200-qps": ("baidu", 200, {"error_code": 18, "error_msg": "Open api qps request limit reached"}, "rate_limit", "time"),
    "baidu-token": ("baidu", 200, {"error_code": 110, "error_msg": "Access token invalid or no longer valid"}, "auth", "credential"),
    "baidu-v2": ("qianfan", 429, {"error": {"code": "tpm_rate_limit_exceeded", "message": "x"}}, "rate_limit", "time"),
    "volcengine-overdue": ("volcengine", 403, error("x", "Forbidden", "AccountOverdueError"), "quota", "credential"),
    "volcengine-dotted": ("ark", 429, error("x", "TooManyRequests", "RateLimitExceeded.EndpointRPMExceeded"), "rate_limit", "time"),
    "volcengine-notopen": ("doubao", 404, error("x", "NotFound", "ModelNotOpen"), "model_not_found", "config"),
    "groq-day": ("groq", 429, error("Rate limit reached for model `m` on tokens per day (TPD): Limit 100000, Used 99900, Requested 500. Please try again in 5m45.6s.", "tokens", "rate_limit_exceeded"), "rate_limit", "time"),
    "groq-flex": ("groq", 498, error("x", None, "capacity_exceeded"), "overloaded", "time"),
    "groq-json": ("groq", 400, error("Failed to generate JSON.", "invalid_request_error", "json_validate_failed"), "malformed_tool_call", "request_change"),
    "xai-blocked-key": ("xai", 403, {"code": "The caller does not have permission to execute the specified operation", "error": "Your API key is currently blocked."}, "auth", "credential"),
    "xai-new-team": ("grok", 403, {"code": "The caller does not have permission to execute the specified operation", "error": "Your newly created team doesn't have any credits or licenses yet."}, "quota", "credential"),
    "xai-rate": ("xai", 429, {"code": "Some resource has been exhausted", "error": "Too many requests for team t."}, "rate_limit", "time"),
    "xai-model": ("xai", 404, {"code": "Some requested entity was not found", "error": "The model grok-9 does not exist or your team does not have access."}, "model_not_found", "config"),
    "mistral-tier": ("mistral", 429, {"object": "error", "message": "Service tier capacity exceeded for this model.", "type": "service_tier_capacity_exceeded", "code": "3505"}, "overloaded", "time"),
    "mistral-order": ("mistral", 400, {"object": "error", "message": "Unexpected role 'user' after role 'tool'", "type": "invalid_request_message_order", "code": "3230"}, "history_corrupt", "request_change"),
    "mistral-model": ("mistral", 400, {"object": "error", "message": "Invalid model: x", "type": "invalid_model", "code": "1500"}, "model_not_found", "config"),
    "mistral-422": ("mistral", 422, {"detail": [{"type": "missing", "loc": ["body", "model"], "msg": "Field required"}]}, "invalid_request", "request_change"),
    "cohere-month": ("cohere", 429, {"message": "You are using a Trial key, which is limited to 1000 API calls / month."}, "quota", "credential"),
    "cerebras-window": ("cerebras", 429, {"message": "Requests per minute limit exceeded", "type": "too_many_requests_error", "param": "quota", "code": "request_quota_exceeded"}, "rate_limit", "time"),
    "cerebras-queue": ("cerebras", 429, {"message": "We're experiencing high traffic right now!", "type": "too_many_requests_error", "code": "queue_exceeded"}, "overloaded", "time"),
    "cloudflare-capacity": ("cloudflare", 429, {"success": False, "errors": [{"code": 3040, "message": "Capacity temporarily exceeded"}], "result": None}, "overloaded", "time"),
    "cloudflare-auth": ("cloudflare", 401, {"success": False, "errors": [{"code": 10000, "message": "Authentication error"}]}, "auth", "credential"),
    "tgi-overloaded": ("tgi", 429, {"error": "Model is overloaded", "error_type": "overloaded"}, "overloaded", "time"),
    "tgi-budget": ("huggingface", 422, {"error": "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 4000 `inputs` tokens and 1000 `max_new_tokens`", "error_type": "validation"}, "context_length", "request_change"),
    "hf-credits": ("huggingface", 402, {"error": "You have exceeded your monthly included credits"}, "quota", "credential"),
    "ollama-tools": ("ollama", 400, {"error": "registry.ollama.ai/library/m does not support tools"}, "invalid_request", "config"),
    "ollama-tool-parse": ("ollama", 500, {"error": "error parsing tool call: raw='{\"a\":', err=unexpected end of JSON input"}, "malformed_tool_call", "request_change"),
    "ollama-cuda": ("ollama", 500, {"error": "llama runner process has terminated: cudaMalloc failed: out of memory"}, "server_error", "config"),
    "vllm-lower-max": ("vllm", 400, {"object": "error", "message": "'max_tokens' or 'max_completion_tokens' is too large: 4096. This model's maximum context length is 8192 tokens and your request has 7000 input tokens (4096 > 8192 - 7000).", "type": "BadRequestError", "code": 400}, "context_length", "request_change"),
    "vllm-prompt": ("vllm", 400, {"object": "error", "message": "The decoder prompt (length 9000) is longer than the maximum model length of 8192.", "type": "BadRequestError", "code": 400}, "context_length", "compaction"),
    "vllm-dead": ("vllm", 500, {"object": "error", "message": "EngineCore encountered an issue.", "type": "InternalServerError", "code": 500}, "server_error", "time"),
    "sglang-budget": ("sglang", 400, {"object": "error", "message": "Requested token count exceeds the model's maximum context length of 4096 tokens. You requested a total of 5000 tokens: 3500 tokens from the input messages and 1500 tokens for the completion.", "code": 400}, "context_length", "request_change"),
    "llamacpp-jinja": ("llama.cpp", 500, error("tools param requires --jinja flag", "server_error", 500), "invalid_request", "config"),
    "llamacpp-old-context": ("llamacpp", 400, error("the request exceeds the available context size. try increasing the context size", "invalid_request_error", 400), "context_length", "compaction"),
    "lmstudio-context": ("lm-studio", 400, {"error": "Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens."}, "context_length", "compaction"),
    "together-model": ("together", 404, error("Unable to access model x", "invalid_request_error", "model_not_available"), "model_not_found", "config"),
    "perplexity-quota-401": ("perplexity", 401, error("You exceeded your current quota", "insufficient_quota", 401), "quota", "credential"),
    "perplexity-message": ("perplexity", 400, error("Last message must have role `user`.", "invalid_message", 400), "history_corrupt", "request_change"),
    "spark-window": ("spark", 200, {"error": {"code": "11202", "message": "x"}}, "rate_limit", "time"),
    "tencent-limit": ("hunyuan", 200, {"Response": {"Error": {"Code": "RequestLimitExceeded", "Message": "x"}, "RequestId": "r"}}, "rate_limit", "time"),
    "tencent-answer": ("hunyuan", 200, {"Response": {"RequestId": "r"}}, "unknown", "never"),
    # unknown providers: shape and status only
    "unknown-code": ("somewhere", 400, error("x", "invalid_request_error", "context_length_exceeded"), "context_length", "compaction"),
    "unknown-shape-anthropic": ("my-gateway", 529, anthropic("x", "overloaded_error"), "overloaded", "time"),
    "unknown-plain-429": ("my-gateway", 429, "slow down please", "rate_limit", "time"),
    "unknown-envoy": ("my-gateway", 503, "upstream connect error or disconnect/reset before headers", "overloaded", "time"),
    "unknown-fastapi": ("my-gateway", 403, {"detail": "Not authenticated"}, "permission", "config"),
    "unknown-524": ("cdn", 524, "<!DOCTYPE html><title>524: A timeout occurred</title>", "timeout", "time"),
    "unknown-redirect": ("cdn", 302, "", "unknown", "never"),
    "page-404": ("openai", 404, "<html><body>nginx</body></html>", "model_not_found", "config"),
    "json-as-text": ("openai", 429, '{"error": {"code": "insufficient_quota", "message": "x"}}', "quota", "credential"),
    "error-in-error": ("unknown", 500, {"error": {"message": '{"error": {"code": "insufficient_quota", "message": "x"}}'}}, "quota", "credential"),
    # look-alikes: words of one provider mean nothing from another, echoes mean nothing at all
    "foreign-words": ("deepseek", 400, error("Output blocked by content filtering policy", "invalid_request_error"), "invalid_request", "request_change"),
    "foreign-balance": ("my-gateway", 400, error("Insufficient Balance", "invalid_request_error"), "invalid_request", "request_change"),
    "odd-escapes": ("openai", 400, error("{'error': {'message': '\\d \\400 1or 2', 'code': 'model_not_found'}}"), "model_not_found", "config"),
    "fastapi-too-long": ("my-gateway", 422, {"detail": [{"type": "string_too_long", "loc": ["body"], "msg": "x"}]}, "invalid_request", "request_change"),
    "name-says-overloaded": ("xai", 404, {"code": "Some requested entity was not found", "error": "The model overloaded-1 does not exist."}, "model_not_found", "config"),
    "echoed-error": ("openai", 400, error('Invalid value: the message {"error": {"code": "insufficient_quota"}} is not allowed', "invalid_request_error"), "invalid_request", "request_change"),
    "echoed-rate-limit": ("openai", 400, error("Unknown parameter: 'rate limit exceeded, try again in 20s'.", "invalid_request_error", "unknown_parameter"), "invalid_request", "request_change"),
    "403-with-retry-words": ("openai", 403, error("Country, region, or territory not supported. Try again in 30 seconds.", "request_forbidden", "unsupported_country_region_territory"), "permission", "config"),
    "unknown-code-no-status": ("openai", 200, {"error": {"code": "brand_new_code", "message": "x"}}, "unknown", "never"),
}  # fmt: skip


@pytest.mark.parametrize("name", ERRORS)
def test_error_has_its_class_and_recovery(name):
    provider, status, body, expected_class, expected_axis = ERRORS[name]
    exchange = {"provider": provider, "status": status, "headers": {}, "body": body, "now": "2026-11-30T04:00:00Z"}
    verdict = classify(report_from(exchange))
    assert (verdict.name, verdict.recovers_with) == (expected_class, expected_axis), verdict.evidence
    assert verdict.evidence, "every verdict names the field that decided"


@pytest.mark.parametrize(
    ("name", "limit_tokens"),
    [
        ("openai-split-fits", 2192),
        ("vllm-lower-max", 1192),
        ("sglang-budget", 596),
        ("tgi-budget", 96),
        ("deepseek-max", 8192),
        ("openai-tier", None),
    ],
)
def test_stated_numbers_tell_the_largest_max_tokens(name, limit_tokens):
    provider, status, body, *_ = ERRORS[name]
    assert classify(report_from({"provider": provider, "status": status, "body": body})).limit_tokens == limit_tokens


@pytest.mark.parametrize(
    ("provider", "message", "expected_class"),
    [
        ("anthropic", "max_tokens: 1 > ,", "invalid_request"),
        ("anthropic", f"max_tokens: 1 > {'9' * 16}", "invalid_request"),
        ("openai", "This model's maximum context length is , tokens and your request has 5 input tokens", "context_length"),
        ("openai", "Limit 5, Requested ,", "invalid_request"),
        ("openai", f"Limit 5, Requested {'9' * 16}", "invalid_request"),
    ],
)  # fmt: skip
def test_a_number_that_cannot_be_one_counts_for_nothing(provider, message, expected_class):
    verdict = classify(report_from({"provider": provider, "status": 400, "body": error(message)}))
    assert (verdict.name, verdict.limit_tokens) == (expected_class, None)


def test_the_longest_number_that_can_be_one_is_read():
    body = error(f"max_tokens: 1 > {'9' * 15}")
    assert classify(report_from({"provider": "anthropic", "status": 400, "body": body})).limit_tokens == 10**15 - 1
