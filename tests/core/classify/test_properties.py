"""What holds for every input: no exception, no retry of what is unknown, no word from one provider at another."""

import re
from importlib import import_module

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stoic.core.classify import classify, report_from
from stoic.core.classify.providers import _NAMES, family, table_name
from stoic.core.classify.rules import ErrorObject, Family
from stoic.core.failures import DEFAULT_AXIS
from stoic.errors import UsageError
from stoic.records import CallPart, ExceptionFact, Report, TextPart

WORDS = st.sampled_from(
    [
        "error",
        "errors",
        "code",
        "message",
        "type",
        "status",
        "details",
        "reason",
        "metadata",
        "raw",
        "provider_name",
        "innererror",
        "choices",
        "delta",
        "content",
        "finish_reason",
        "candidates",
        "parts",
        "promptFeedback",
        "blockReason",
        "response",
        "output",
        "stopReason",
        "messageStop",
        "contentBlockDelta",
        "data",
        "event",
        "done",
        "done_reason",
        "base_resp",
        "status_code",
        "refusal",
        "stop_reason",
        "stop_details",
        "category",
        "tool_calls",
        "function",
        "arguments",
        "name",
        "index",
        "usage",
        "text",
        "content_filter_results",
        "filtered",
        "violations",
        "quotaId",
        "retryDelay",
        "retry_after",
        "resets_at",
        "detail",
        "success",
        "body",
        "contentFilter",
        "safetyRatings",
        "functionCall",
        "args",
        "safety_decision",
        "decision",
        "trace",
        "guardrail",
        "inputAssessment",
        "outputAssessments",
        "delta",
        "item",
        "summary",
        "pending_safety_checks",
        "incomplete_details",
        "limit_source",
        "reasons",
        "contentPolicy",
        "filters",
        "action",
        "response.completed",
        "response.failed",
        "message_start",
        "message_delta",
        "message_stop",
        "error",
        "content_block_start",
        "content_block_delta",
        "tool_use",
        "input_json_delta",
        "partial_json",
        "stop",
        "length",
        "refusal",
        "content_filter",
        "STOP",
        "SAFETY",
        "guardrail_intervened",
        "rate_limit_exceeded",
        "insufficient_quota",
        "invalid_request_error",
        "function_call",
        "message-end",
        "stream-end",
        "finish",
        "fallback",
        "trigger",
        "toolUse",
        "contentBlockStart",
        "start",
        "input_sensitive",
    ]
)
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=12), WORDS)
JSON = st.recursive(
    SCALARS, lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.one_of(WORDS, st.text(max_size=4)), inner, max_size=6)),
    max_leaves=25,
)  # fmt: skip
EVENTS = st.lists(
    st.one_of(
        st.fixed_dictionaries({"event": st.one_of(st.none(), WORDS), "data": JSON}),
        st.fixed_dictionaries({"comment": st.text(max_size=4)}),
    ),
    max_size=6,
)
PROVIDERS = st.sampled_from([*_NAMES, "client", "unheard-of", ""])
HEADERS = st.dictionaries(
    st.sampled_from(["retry-after", "retry-after-ms", "date", "x-ratelimit-reset-tokens", "x-ratelimit-remaining-tokens", "x-amzn-errortype"]),
    st.one_of(st.text(max_size=20), st.sampled_from(["0", "1e400", "nan", "1m30s", "2026-11-30T04:00:00Z", "99999999999999"])),
)  # fmt: skip
EXCEPTIONS = st.one_of(
    st.none(),
    st.builds(
        ExceptionFact,
        type=st.one_of(st.text(max_size=12), st.sampled_from(["openai.APIStatusError", "httpx.ReadError", "TypeError", "ClientError"])),
        message=st.one_of(st.text(max_size=30), st.just("Error code: 429 - {'error': {'code': 'x'}}"), st.just("Error code: 429 - {'error'")),
        cause=st.lists(st.text(max_size=20), max_size=2),
        fields=st.dictionaries(st.sampled_from(["status_code", "body", "code", "error_type"]), JSON, max_size=3),
        after_first_byte=st.booleans(),
    ),
)  # fmt: skip
STATUSES = st.one_of(st.none(), st.integers(100, 999), st.sampled_from([200, 400, 403, 429, 500, 529]))
PARTS = st.one_of(
    st.none(),
    st.lists(
        st.one_of(
            st.builds(TextPart, text=st.text(max_size=4)),
            st.builds(CallPart, name=st.text(max_size=2), arguments=st.text(max_size=6), whole=st.booleans()),
        ),
        max_size=3,
    ),
)
REPORTS = st.builds(
    Report, provider=PROVIDERS, status=STATUSES, headers=HEADERS, body=JSON, stream=st.booleans(), events=EVENTS,
    end=st.sampled_from([None, "clean", "cut"]), exception=EXCEPTIONS, parts=PARTS, finish=st.one_of(st.none(), WORDS),
    ended=st.booleans(), end_unconfirmed=st.booleans(), received_at=st.one_of(st.none(), st.integers(0, 2**41)),
)  # fmt: skip


@settings(max_examples=400, deadline=None)
@given(REPORTS)
def test_any_report_gets_a_verdict_that_makes_sense(report):
    verdict = classify(report)
    if verdict.failure is None:
        assert verdict.recovers_with is None
        assert verdict.retry_after_ms is None
        assert (report.status or 200) < 400
        return
    assert verdict.evidence
    assert verdict.name != "unknown" or verdict.recovers_with == "never"
    assert verdict.retry_after_ms is None or (verdict.recovers_with == "time" and verdict.retry_after_ms >= 0)
    assert (verdict.name == "refusal") == (verdict.where is not None) == (verdict.scope is not None)
    assert verdict.failure in DEFAULT_AXIS


@settings(max_examples=200, deadline=None)
@given(
    st.dictionaries(
        st.sampled_from(
            ["provider", "api", "status", "headers", "body", "sse", "end", "exception", "now", "transport"]
        ),
        JSON,
    )
)
def test_any_exchange_is_explained_or_refused_in_one_line(exchange):
    try:
        report = report_from(exchange)
    except UsageError as error:
        line = str(error)
    else:
        line = classify(report).name
    assert line
    assert "\n" not in line


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=40), st.text(max_size=40))
def test_text_of_a_reply_never_decides(text, more):
    """Whatever the model says, a reply that ended normally is judged by its fields alone."""
    body = {
        "choices": [{"message": {"content": f"{text}x{more} rate limit insufficient_quota"}, "finish_reason": "stop"}]
    }
    assert classify(report_from({"provider": "openai", "status": 200, "body": body})).name == "ok"


@pytest.mark.parametrize("status", [200, 400, 401, 403, 413, 429, 500])
def test_no_providers_words_count_for_an_unknown_provider(status):
    plain = classify(report_from({"provider": "unheard-of", "status": status, "body": {"error": {"message": "x"}}}))
    for name in _NAMES:
        for row in family(name).words:
            words = re.sub(r"[\\^$.|?*+(){}\[\]]", " ", row.pattern)
            verdict = classify(
                report_from({"provider": "unheard-of", "status": status, "body": {"error": {"message": words}}})
            )
            assert (verdict.name, verdict.recovers_with) == (plain.name, plain.recovers_with)


def test_every_provider_table_loads_and_its_patterns_compile():
    for name in _NAMES:
        table = import_module(f"stoic.core.classify.families.{name}").FAMILY
        assert isinstance(table, Family)
        assert table is family(name)
        assert table.words or table.codes
        assert all(re.compile(row.pattern, re.IGNORECASE | re.DOTALL) for row in table.words)
        if table.read:
            assert table.read(ErrorObject(path="body", data={}, codes=[])) is None
        if table.open:
            assert table.open(ErrorObject(path="body", data={}, codes=[])) == []


@pytest.mark.parametrize(
    ("given_name", "table"),
    [("Azure-OpenAI", "azure"), ("google", "gemini"), ("vertex_ai", "vertex"), ("llama.cpp", "llamacpp"), ("litellm-proxy", "litellm"), ("Z.AI", "zhipu"), ("openai-compatible", None), ("", None)],
)  # fmt: skip
def test_provider_names_are_told_from_each_other(given_name, table):
    assert table_name(given_name) == table
