"""The short cut says nothing that the tables would not say."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stoic.core.classify import classify
from stoic.core.classify.judge import judge
from stoic.core.classify.plain import is_plain
from stoic.records import CallPart, ExceptionFact, Report, TextPart, ThinkingPart

PARTS = st.lists(
    st.one_of(
        st.builds(TextPart, text=st.sampled_from(["", "  ", "hello", "I cannot help with that."])),
        st.builds(ThinkingPart, text=st.sampled_from(["", "hm"])),
        st.builds(
            CallPart,
            name=st.sampled_from(["", "look"]),
            arguments=st.sampled_from(["", "{}", "[]", '{"a":', '{"a":1}', '"x"', "\ud800"]),
            whole=st.booleans(),
        ),
    ),
    max_size=3,
)
DELTAS = st.fixed_dictionaries(
    {},
    optional={
        "content": st.sampled_from([None, "", "x"]),
        "refusal": st.sampled_from([None, "", "no"]),
        "role": st.just("assistant"),
        "odd": st.just(1),
    },
)
CHOICES = st.fixed_dictionaries(
    {"index": st.just(0), "delta": DELTAS, "finish_reason": st.sampled_from([None, "stop", "content_filter"])},
    optional={"content_filter_results": st.just({"hate": {"filtered": True}}), "logprobs": st.none()},
)
DATA = st.one_of(
    st.just("[DONE]"),
    st.none(),
    st.fixed_dictionaries(
        {"choices": st.lists(CHOICES, max_size=2)},
        optional={
            "usage": st.just({"prompt_tokens": 1}),
            "error": st.sampled_from([None, {"message": "x", "code": 500}]),
            "model": st.just("m"),
        },
    ),
)
REPORTS = st.builds(
    Report,
    provider=st.sampled_from(["openai-chat", "openrouter", "azure", "zhipu", "dashscope", "nobody"]),
    api=st.sampled_from(["chat", "messages", None]),
    model=st.just("m"),
    status=st.sampled_from([200, 200, 200, 500, None]),
    headers=st.sampled_from([{}, {}, {"x-amzn-errortype": "ThrottlingException"}]),
    body=st.sampled_from([None, None, {"error": "x"}]),
    stream=st.just(True),
    end=st.sampled_from(["clean", "cut"]),
    events=st.lists(DATA.map(lambda data: {"event": None, "data": data}), max_size=3),
    exception=st.sampled_from([None, None, ExceptionFact(type="httpcore2.ReadError", message="reset")]),
    parts=st.one_of(st.none(), PARTS),
    finish=st.sampled_from(["stop", "tool_calls", "length", "content_filter", None, "odd"]),
    ended=st.booleans(),
    request_id=st.sampled_from([None, "r1"]),
)


@given(REPORTS)
def test_a_report_called_plain_is_no_failure_by_the_tables_either(report: Report):
    if is_plain(report):
        verdict = judge(report)
        assert verdict.failure is None
        assert msgspec.structs.replace(verdict, request_id=report.request_id) == classify(report)


CHUNK = {"choices": [{"index": 0, "delta": {"content": ""}, "finish_reason": "stop"}], "model": "m"}
PLAIN = Report(
    provider="openai-chat",
    api="chat",
    status=200,
    stream=True,
    end="clean",
    events=[{"event": None, "data": CHUNK}, {"event": None, "data": "[DONE]"}],
    parts=[ThinkingPart(text="hm"), TextPart(text="hello"), CallPart(name="look", arguments="{}")],
    finish="stop",
    ended=True,
)


def with_data(data: object) -> dict[str, object]:
    return {"events": [{"event": None, "data": data}]}


WHOLE_CHUNK = {
    **dict.fromkeys(["id", "object", "created", "model", "usage", "system_fingerprint", "service_tier"]),
    "choices": [{
        **dict.fromkeys(["index", "finish_reason", "logprobs"]),
        "delta": dict.fromkeys(["role", "content", "tool_calls", "refusal"]),
    }],
}  # fmt: skip


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"finish": "tool_calls"},
        {"parts": [TextPart(text="hello")]},
        {"parts": [TextPart(text="hello"), TextPart(text=" ")]},
        {"parts": [CallPart(name="look", arguments="{}")]},
        with_data(WHOLE_CHUNK),
        with_data({"choices": []}),
    ],
)
def test_an_ordinary_reply_is_plain(change: dict[str, object]):
    assert is_plain(msgspec.structs.replace(PLAIN, **change))


@pytest.mark.parametrize(
    "change",
    [
        {"finish": "length"},
        {"ended": False},
        {"status": 500},
        {"body": "x"},
        {"exception": ExceptionFact(type="httpcore2.ReadError", message="reset")},
        {"headers": {"x-amzn-errortype": "ThrottlingException"}},
        {"events": [*PLAIN.events, {"event": None, "data": {"error": "x"}}]},
        {"api": "messages"},
        {"parts": []},
        {"parts": None},
        {"parts": [TextPart(text=" ")]},
        {"parts": [ThinkingPart(text="hm")]},
        {"parts": [CallPart(name="", arguments="{}")]},
        {"parts": [CallPart(name="look", arguments='{"a')]},
        {"parts": [CallPart(name="look", arguments="[]")]},
        {"parts": [CallPart(name="look", arguments="{}", whole=False)]},
        with_data(None),
        with_data({"choices": [], "error": None}),
        with_data({"choices": None}),
        with_data({"choices": ["odd"]}),
        with_data({"choices": CHUNK["choices"] * 2}),
        with_data({"choices": [{"index": 0, "delta": None}]}),
        with_data({"choices": [{"index": 0, "delta": {"refusal": "no"}}]}),
    ],
)
def test_whatever_is_not_ordinary_is_left_to_the_tables(change: dict[str, object]):
    assert not is_plain(msgspec.structs.replace(PLAIN, **change))
