"""Names: every provider of ours has its table, and where the name says only "compatible", the answer may say whose it is."""

import pytest

from stoic.core.classify import classify, report_from
from stoic.core.classify.error_objects import in_body
from stoic.core.classify.naming import named_by
from stoic.core.classify.providers import family, family_behind, table_name
from stoic.models.providers import PROVIDERS

TABLES = {
    "anthropic": "anthropic",
    "openai": "openai",
    "openai-chat": "openai_chat",
    "gemini": "gemini",
    "openrouter": "openrouter",
    "deepseek": "deepseek",
    "xai": "xai",
    "mistral": "mistral",
    "moonshot": "moonshot",
    "moonshot-cn": "moonshot",
    "zhipu": "zhipu",
    "zai": "zhipu",
    "dashscope": "dashscope",
    "dashscope-intl": "dashscope",
    "minimax": "minimax",
    "minimax-cn": "minimax",
    "groq": "groq",
    "together": "together",
    "fireworks": "fireworks",
    "azure": "azure",
    "azure-responses": "azure",
    "cerebras": "cerebras",
    "perplexity": "perplexity",
    "cohere": "cohere",
    "nvidia": "compatible",
    "deepinfra": "compatible",
    "sambanova": "compatible",
    "siliconflow": "compatible",
    "volcengine": "volcengine",
    "hunyuan": "hunyuan",
    "baidu": "baidu",
    "huggingface": "huggingface",
    "github": "github",
    "ollama": "ollama",
    "vllm": "vllm",
    "sglang": "sglang",
    "llamacpp": "llamacpp",
    "lmstudio": "lmstudio",
    "litellm": "litellm",
}


def verdict(status, body, provider="openai-chat", **exchange):
    return classify(report_from({"provider": provider, "status": status, "body": body, **exchange}))


def error(message, **fields):
    return {"error": {"message": message, **fields}}


def test_every_provider_of_the_product_is_in_the_table_below():
    assert TABLES.keys() == PROVIDERS.keys()


@pytest.mark.parametrize("name", PROVIDERS)
def test_name_resolves_to_its_family(name):
    assert table_name(name) == TABLES[name]
    assert family(name).words or family(name).codes


def test_what_is_known_of_a_compatible_server_and_of_the_provider_behind_it_counts_together():
    own = family("openai-chat")
    for table in ("zhipu", "litellm", "fireworks", "cohere"):
        behind, named = family_behind("openai-chat", table), family(table)
        assert behind.codes.items() >= named.codes.items()
        assert behind.codes.keys() >= own.codes.keys()
        assert behind.words == (*named.words, *own.words)
        assert behind.finishes.items() >= named.finishes.items()
        assert behind.finishes.keys() >= own.finishes.keys()
        assert (behind.statuses, behind.open, behind.zone_hours) == (named.statuses, named.open, named.zone_hours)


CONFUSED = "Authentication Fails"
"""DeepSeek's words for a wrong key; under a 400 they count only where the answer is DeepSeek's."""

# (status, body, headers, class, axis): what only the table of the provider behind can know
SHOWN = {
    "openrouter by its metadata": (402, error("x", code=402, metadata={"limit_source": "openrouter_in_flight_budget"}), {}, "rate_limit", "time"),
    "openrouter by a bare number": (403, error("Key limit exceeded (total limit)", code=403), {}, "quota", "config"),
    "zhipu by a number as text": (400, error("x", code="1261"), {}, "context_length", "compaction"),
    "mistral by a flat error": (400, {"object": "error", "message": "x", "type": "y", "code": "3051"}, {}, "context_length", "compaction"),
    "vllm by a flat error": (400, {"object": "error", "message": "default chat template is no longer allowed", "type": "BadRequestError", "code": 400}, {}, "invalid_request", "config"),
    "vllm by a class": (400, error("default chat template is no longer allowed", type="BadRequestError", code=400), {}, "invalid_request", "config"),
    "xai by a sentence for a code": (429, {"code": "Some resource has been exhausted", "error": "used all available credits"}, {}, "quota", "credential"),
    "deepseek by a type for a code": (400, error("Model Not Exist", type="invalid_request_error", code="invalid_request_error"), {}, "model_not_found", "config"),
    "dashscope by its code": (400, {"code": "Arrearage", "message": "x"}, {}, "quota", "credential"),
    "dashscope by its prefix": (400, error("<400> InternalError.Algo: Range of input length should be [1, 9]"), {}, "context_length", "compaction"),
    "litellm by a status as text": (400, error("Invalid model name passed in", type="None", code="400"), {}, "model_not_found", "config"),
    "litellm by its prefix": (400, error("litellm.Timeout: x"), {}, "timeout", "time"),
    "azure by a status as text": (403, error("Out of call volume quota. It will be replenished in 02:10:05.", code="403"), {}, "quota", "time"),
    "new-api by its type": (403, error("额度不足", type="new_api_error", code="x"), {}, "quota", "credential"),
    "together by its type": (402, error("x", type="credit_limit"), {}, "quota", "config"),
    "minimax by its place": (200, {"base_resp": {"status_code": 1008, "status_msg": "x"}}, {}, "quota", "credential"),
    "spark by its place": (200, {"header": {"code": 10907, "message": "x"}}, {}, "context_length", "compaction"),
    "spark by its session": (200, {"code": 11201, "message": "x", "sid": "s"}, {}, "quota", "time"),
    "volcengine by its code": (429, error("x", type="TooManyRequests", code="SetLimitExceeded"), {}, "quota", "config"),
    "deepseek by its header": (400, error(CONFUSED), {"x-ds-trace-id": "t"}, "auth", "credential"),
    "groq by its header": (400, error("Organization has been restricted"), {"x-groq-region": "r"}, "permission", "config"),
    "deepseek by its finish": (200, {"choices": [{"message": {"content": "a"}, "finish_reason": "insufficient_system_resource"}]}, {}, "overloaded", "time"),
}  # fmt: skip


@pytest.mark.parametrize("provider", ["openai-chat", "siliconflow"])
@pytest.mark.parametrize("case", SHOWN)
def test_answer_that_shows_whose_it_is_means_what_it_means_there(case, provider):
    status, body, headers, failure, axis = SHOWN[case]
    found = verdict(status, body, provider, headers=headers)
    assert (found.name, found.recovers_with) == (failure, axis)


REFUSED = {
    "openrouter moderation": (403, error("x", code=403, metadata={"reasons": ["violence"], "flagged_input": "a"}), "violence"),
    "openrouter guardrail": (403, error("Request blocked", code=403, metadata={"guardrail": "pii"}), "guardrail"),
    "zhipu number": (400, error("x", code="1301"), "sensitive"),
    "dashscope code": (400, error("x", type="data_inspection_failed", code="data_inspection_failed"), "sensitive"),
    "deepseek sentence": (400, error("Content Exists Risk"), "sensitive"),
    "moonshot sentence": (400, error("The request was rejected because it was considered high risk"), "high_risk"),
    "minimax number": (500, error("input new_sensitive (1026)", type="api_error"), "sensitive"),
    "xai check": (403, {"code": "The caller does not have permission to execute the specified operation", "error": "Content violates usage guidelines. Failed check: SAFETY_CHECK_TYPE_BIO"}, "bio"),
    "volcengine dotted code": (400, error("x", type="BadRequest", code="SensitiveContentDetected.Violence"), "violence"),
    "volcengine risk code": (400, error("x", type="BadRequest", code="OutputTextRiskDetection"), "sensitive"),
    "new-api code": (400, error("x", code="sensitive_words_detected"), "sensitive"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_refusal_of_the_provider_behind_is_a_refusal(case):
    status, body, category = REFUSED[case]
    found = verdict(status, body)
    assert (found.name, found.category, found.recovers_with) == ("refusal", category, "boundary")


@pytest.mark.parametrize(
    "message", ["Input was flagged", "Blocked for safety", "violates our content policy", "内容违规"]
)
def test_forbidden_answer_that_may_be_a_refusal_is_never_a_permission(message):
    found = verdict(403, error(message))
    assert found.name in {"unknown", "refusal"}
    assert found.recovers_with in {"never", "boundary"}


def test_forbidden_answer_without_a_word_about_content_is_a_permission():
    assert verdict(403, error("This key may not use this endpoint")).name == "permission"
    assert (
        verdict(403, error("This model is not for you, see our policies", code="model_terms_required")).name
        == "permission"
    )


@pytest.mark.parametrize(
    "body",
    [
        error(CONFUSED),
        error(f"{CONFUSED}. Content Exists Risk is not the whole of it"),
        error(CONFUSED, type="invalid_request_error", code=None),
        error(CONFUSED, code=400, type="error"),
        error(CONFUSED, code=400, status="INVALID_ARGUMENT"),
        error(CONFUSED, code="1301", type="error"),
        error(CONFUSED, code="nobody_knows"),
        error(f"{CONFUSED} (1026)"),
        {"object": "error", "message": CONFUSED, "code": "words"},
        {"error": CONFUSED, "code": "word"},
    ],
)
def test_words_of_one_provider_do_not_count_where_the_answer_does_not_show_it(body):
    assert verdict(400, body).name == "invalid_request"


def test_words_of_openai_count_under_the_name_of_its_chat_api_alone():
    spoken = error("You have insufficient permissions for this operation.")
    assert verdict(401, spoken).name == "permission"
    assert verdict(401, spoken, "nvidia").name == "auth"


def named(body, **headers):
    (found,) = in_body(body, 400)
    return named_by(found, {name.replace("_", "-"): value for name, value in headers.items()})


@pytest.mark.parametrize(
    ("header", "table"),
    [("x_litellm_version", "litellm"), ("x_litellm_call_id", "litellm"), ("x_oneapi_request_id", "newapi"), ("x_groq_region", "groq"), ("x_ds_trace_id", "deepseek"), ("msh_request_id", "moonshot"), ("mistral_correlation_id", "mistral"), ("apim_request_id", "azure"), ("x_request_id", None)],
)  # fmt: skip
def test_header_of_its_own_names_a_provider(header, table):
    assert named(error("x"), **{header: "1"}) == table


WRITTEN = {
    "metadata with a provider": (error("x", type="y", metadata={"provider_name": "P"}), "openrouter"),
    "metadata with a limit": (error("x", type="y", metadata={"limit_source": "P"}), "openrouter"),
    "metadata with an input": (error("x", type="y", metadata={"flagged_input": "P"}), "openrouter"),
    "metadata with a guardrail": (error("x", type="y", metadata={"guardrail": "P"}), "openrouter"),
    "metadata of another kind": (error("x", type="y", metadata={"note": "P"}), None),
    "number alone": (error("x", code=400), "openrouter"),
    "number with a status": (error("x", code=400, status="INVALID_ARGUMENT"), None),
    "number with a type": (error("x", code=400, type="y"), None),
    "number with a class": (error("x", code=400, type="BadRequestError"), "vllm"),
    "number with half a class": (error("x", code=400, type="BadRequest"), None),
    "flat number": ({"object": "error", "message": "x", "code": 400}, "vllm"),
    "flat digits": ({"object": "error", "message": "x", "code": "1500"}, "mistral"),
    "flat word": ({"object": "error", "message": "x", "code": "quux"}, None),
    "sentence": ({"code": "Client specified an invalid argument", "error": "x"}, "xai"),
    "one word": ({"code": "quux", "error": "x"}, None),
    "no code": ({"error": "x"}, None),
    "new-api's type": (error("x", type="new_api_error"), "newapi"),
    "one-api's type": (error("x", type="one_api_error"), "newapi"),
    "together's type": (error("x", type="credit_limit"), "together"),
    "status as text": (error("x", code="400"), "azure"),
    "status as text with a type": (error("x", code="400", type=None), "litellm"),
    "digits": (error("x", code="1301"), "zhipu"),
    "digits with a type": (error("x", code="1301", type="y"), None),
    "type for a code": (error("x", code="invalid_request_error", type="invalid_request_error"), "deepseek"),
    "code for a type": (error("x", code="quux", type="invalid_request_error"), None),
    "code that everybody knows": (error("x", code="rate_limit_exceeded"), None),
    "vague code": (error("x", code="invalid_argument"), None),
    "code of one table": (error("x", code="limit_burst_rate"), "dashscope"),
    "code of one table, without case": (error("x", code="Arrearage"), "dashscope"),
    "code of several tables": (error("x", code="internal_error"), None),
    "last code of one table": (error("x", code="quux", type="do_request_failed"), "newapi"),
    "dotted code": (error("x", code="SensitiveContentDetected.SevereViolation"), "volcengine"),
    "risk": (error("x", code="OutputTextRiskDetection"), "volcengine"),
    "risk of another kind": (error("x", code="RiskDetectionOff"), None),
    "prefix": (error("litellm.Timeout: x"), "litellm"),
    "prefix in the middle": (error("x litellm.Timeout: x"), None),
    "number in front": (error("<400> x"), "dashscope"),
    "number behind": (error("output new_sensitive (1027)"), "minimax"),
    "another number behind": (error("output was fine (1027)"), None),
    "whole sentence": (error("Allocated quota exceeded, please increase your quota limit."), "dashscope"),
    "sentence inside another": (error("Content Exists Risk!"), None),
}  # fmt: skip


@pytest.mark.parametrize("case", WRITTEN)
def test_way_of_writing_an_error_names_a_provider_or_nobody(case):
    body, table = WRITTEN[case]
    assert named(body) == table


def test_no_code_names_a_provider_that_another_table_knows_as_well():
    tables = {name: family(name).codes for name in dict.fromkeys(TABLES.values())}
    for code in {code for codes in tables.values() for code in codes}:
        owner = named(error("x", type="y", code=code))
        others = [name for name, codes in tables.items() if code in codes and name != owner]
        if owner and not code.isdigit():
            assert set(others) <= {"anthropic", "openai", "openai_chat", "gemini", "cohere"}, code


def test_facts_of_the_provider_behind_come_before_those_of_openai():
    said = error("Rate limit reached", type="x", code="insufficient_quota")
    assert verdict(429, said).name == "quota"
    assert (
        verdict(429, {**said, "error": {**said["error"], "message": "<429> Rate limit reached"}}).name == "rate_limit"
    )
    assert verdict(400, error("x", param="tools[0].function")).name == "bad_schema"
    assert verdict(400, error("x", param="tools[0].function"), headers={"x-groq-region": "r"}).name == "bad_schema"


@pytest.mark.parametrize(
    ("said", "table"),
    [
        (error("input new_sensitive (1026)"), "minimax"),
        (error("refused: output new_sensitive (1027)"), "minimax"),
        (error("noinput new_sensitive (1026)"), None),
        (error("input new_sensitive (1026) (in part)"), None),
        (error("<400> x"), "dashscope"),
        (error("see <400> x"), None),
        (error("Content Exists Risk"), "deepseek"),
        (error("Content Exists Risk" + " " * 100), None),
        ({"object": "error", "message": "x"}, None),
        (error("x", code="1234", type=["x"]), None),
        (error("x", code=400, type="BadRequestError"), "vllm"),
        (error("x", code=400, type="BadRequestErrors"), None),
        (error("x", code="invalid_value", type="arrearage"), "dashscope"),
        (error("x", code="invalid_prompt", type="arrearage"), "dashscope"),
        (error("x", code="insufficient_quota", type="api_error"), None),
    ],
)
def test_answer_names_a_provider_only_by_what_nobody_else_writes(said, table):
    assert named_by(in_body(said, 400)[0], {}) == table
