"""What holds for every input: no exception, no retry of what is unknown, no word from one provider at another."""

import json
import re
from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stoic.core.classify import classify, report_from
from stoic.core.classify.fields import mapping
from stoic.core.classify.providers import _NAMES, family, table_name
from stoic.core.classify.rules import ErrorObject, Family
from stoic.core.failures import DEFAULT_AXIS
from stoic.errors import UsageError
from stoic.records import CallPart, ExceptionFact, Report, TextPart
from stoic.wire.sse import SseParser

WORDS = st.sampled_from([
    "error", "errors", "code", "message", "type", "status", "details", "reason", "metadata", "raw", "provider_name",
    "innererror", "choices", "delta", "content", "finish_reason", "candidates", "parts", "promptFeedback",
    "blockReason", "response", "output", "stopReason", "messageStop", "contentBlockDelta", "data", "event", "done",
    "done_reason", "base_resp", "status_code", "refusal", "stop_reason", "stop_details", "category", "tool_calls",
    "function", "arguments", "name", "index", "usage", "text", "content_filter_results", "filtered", "violations",
    "quotaId", "retryDelay", "retry_after", "resets_at", "detail", "success", "body", "contentFilter",
    "safetyRatings", "functionCall", "args", "safety_decision", "decision", "trace", "guardrail", "inputAssessment",
    "outputAssessments", "item", "summary", "pending_safety_checks", "incomplete_details", "limit_source", "reasons",
    "contentPolicy", "filters", "action", "response.completed", "response.failed", "message_start", "message_delta",
    "message_stop", "content_block_start", "content_block_delta", "tool_use", "input_json_delta", "partial_json",
    "stop", "length", "content_filter", "STOP", "SAFETY", "guardrail_intervened", "rate_limit_exceeded",
    "insufficient_quota", "invalid_request_error", "function_call", "message-end", "stream-end", "finish", "fallback",
    "trigger", "toolUse", "contentBlockStart", "start", "input_sensitive",
])  # fmt: skip
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
    [("Azure-OpenAI", "azure"), ("google", "gemini"), ("vertex_ai", "vertex"), ("llama.cpp", "llamacpp"), ("litellm-proxy", "litellm"), ("Z.AI", "zhipu"), ("openai-compatible", "compatible"), ("openai-proxy", None), ("", None)],
)  # fmt: skip
def test_provider_names_are_told_from_each_other(given_name, table):
    assert table_name(given_name) == table


HERE = Path(__file__).parent
FILES = (
    HERE.parents[1] / "cases" / "failures_wire.json",
    HERE.parents[1] / "cases" / "refusals_wire.json",
    HERE / "own_failures.json",
    HERE / "own_refusals.json",
)
CASES = {case["id"]: case for file in FILES for case in json.loads(file.read_text(encoding="utf-8"))}
STREAMS = {one: case for one, case in CASES.items() if case.get("sse")}
WITH_HEADERS = {one: case for one, case in CASES.items() if case.get("headers")}
RANDOM = st.randoms(use_true_random=False)
PLAIN_VALUES = (None, True, 7, "a note", [], {}, {"note": "a"}, ["a"])


def among(cases):
    """Draw recorded exchanges, each with the source of chance that dresses it otherwise."""
    return given(st.sampled_from(list(cases)), RANDOM)


def verdict_of(exchange):
    return classify(report_from(exchange))


def changed(value, change):
    """Return a JSON value with a change made to each of its objects, the innermost first."""
    if isinstance(value, dict):
        return change({key: changed(one, change) for key, one in value.items()})
    return [changed(one, change) for one in value] if isinstance(value, list) else value


def dressed(case, change):
    """Return an exchange with a change made in what the provider sent, and to nothing that the recording adds."""
    told = {"body": changed(case.get("body"), change)}
    if case.get("sse"):
        told["sse"] = [
            {**event, "data": changed(event["data"], change)} if "data" in event else event for event in case["sse"]
        ]
    return {**case, **told}


def shuffled(chance):
    def change(value):
        keys = list(value)
        chance.shuffle(keys)
        return {key: value[key] for key in keys}

    return change


@settings(max_examples=1500, deadline=None)
@among(CASES)
def test_order_of_keys_never_changes_a_verdict(case_id, chance):
    case = CASES[case_id]
    assert verdict_of(dressed(case, shuffled(chance))) == verdict_of(case)


def extended(chance):
    """Return a change that adds fields nobody has heard of to whatever object is not empty."""

    def change(value):
        extra = {f"x_{chance.randrange(99)}_note": chance.choice(PLAIN_VALUES) for _ in range(chance.randrange(3))}
        return {**extra, **value} if value and chance.random() < 0.5 else {**value, **extra} if value else value

    return change


@settings(max_examples=1500, deadline=None)
@among(CASES)
def test_unknown_fields_never_change_a_verdict(case_id, chance):
    case = CASES[case_id]
    assert verdict_of(dressed(case, extended(chance))) == verdict_of(case)


@settings(max_examples=500, deadline=None)
@among(WITH_HEADERS)
def test_case_of_header_names_and_foreign_headers_never_change_a_verdict(case_id, chance):
    case = WITH_HEADERS[case_id]
    headers = {
        "".join(chance.choice((letter.lower(), letter.upper())) for letter in name): value
        for name, value in case["headers"].items()
    }
    assert verdict_of({**case, "headers": {**headers, "X-Note": "a"}}) == verdict_of(case)


def written(value, chance):
    """Return a JSON value as text, spaced and escaped in one of the ways there are."""
    space = chance.choice(("", " ", "\n", "\r\n  "))
    return space + json.dumps(
        value,
        indent=chance.choice((None, 1, 4)),
        ensure_ascii=chance.random() < 0.5,
        separators=chance.choice(((",", ":"), (", ", ": "), (" , ", " : "))),
    )


def rewritten(case, chance):
    """Return an exchange whose JSON values are texts."""
    told = {}
    if isinstance(case.get("body"), dict | list) and case.get("transport") != "sse":
        told["body"] = written(case["body"], chance)
    if case.get("sse"):
        told["sse"] = [
            {**event, "data": written(event["data"], chance)} if isinstance(event.get("data"), dict) else event
            for event in case["sse"]
        ]
    return {**case, **told}


@settings(max_examples=1500, deadline=None)
@among(CASES)
def test_spacing_and_escapes_never_change_a_verdict(case_id, chance):
    case = CASES[case_id]
    assert verdict_of(rewritten(case, chance)) == verdict_of(case)


def sent(events, chance):
    """Return the bytes of a stream, its lines ended and its data broken into lines in one of the ways there are."""
    end = chance.choice(("\n", "\r\n"))
    lines = []
    for event in events:
        if "comment" in event:
            lines += [f":{event['comment']}", ""]
            continue
        data = event["data"] if isinstance(event["data"], str) else written(event["data"], chance)
        name = [f"event: {event['event']}"] if event.get("event") else []
        lines += [*name, *(f"data: {line}" for line in data.splitlines() or [""]), ""]
    return "".join(line + end for line in lines).encode()


def received(stream, chance):
    """Return the events of a stream that arrives in chunks of any size."""
    parser, events, start = SseParser(), [], 0
    while start < len(stream):
        size = chance.choice((1, 3, 50, 900))
        events += parser.feed(stream[start : start + size])
        start += size
    return [
        {"comment": event.comment} if event.comment is not None else {"event": event.name, "data": event.data.decode()}
        for event in (*events, *parser.finish())
    ]


@settings(max_examples=500, deadline=None)
@among(STREAMS)
def test_chunks_and_lines_of_a_stream_never_change_a_verdict(case_id, chance):
    case = STREAMS[case_id]
    again = {**case, "sse": received(sent(case["sse"], chance), chance)}
    assert verdict_of(again) == verdict_of(case)


def halved(events, chance):
    """Return chunks of a Chat Completions stream, the texts among them sent in two pieces."""
    found = []
    for event in events:
        choices = mapping(event.get("data")).get("choices") or [{}]
        delta = choices[0].get("delta") or {}
        content = delta.get("content")
        if not isinstance(content, str) or len(choices) > 1 or choices[0].get("finish_reason"):
            found.append(event)
            continue
        cut = chance.randrange(len(content) + 1)
        for piece in (content[:cut], content[cut:]):
            chunk = [{**choices[0], "delta": {**delta, "content": piece}}]
            found.append({**event, "data": {**event["data"], "choices": chunk}})
    return found


@settings(max_examples=500, deadline=None)
@among(STREAMS)
def test_size_of_a_texts_pieces_never_changes_what_failed(case_id, chance):
    case = STREAMS[case_id]
    again, whole = verdict_of({**case, "sse": halved(case["sse"], chance)}), verdict_of(case)
    assert [(one.name, one.recovers_with, one.category, one.where, one.after_output) for one in (again, whole)] == 2 * [
        (whole.name, whole.recovers_with, whole.category, whole.where, whole.after_output)
    ]
