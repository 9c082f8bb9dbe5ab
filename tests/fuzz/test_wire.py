"""The wire takes any bytes in any chunks: it always has a report, the same for the same bytes, and never without a bound."""

import asyncio
import tracemalloc
from itertools import pairwise

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fuzz.hostile import PLACES, broken_bytes, broken_values, hostile_texts, written
from tests.fuzz.volume import ending, examples
from tests.fuzz.wire import EVENTS, SEEDS, SMALL, WORDS, asked, received, stream_of
from tests.wire.apis import APIS, DECODERS

from stoic.core.classify import classify
from stoic.records import CallPart, Report, TextPart
from stoic.testing import FakeClock
from stoic.wire.answers import Answer, AnswerTooLargeError
from stoic.wire.growing_object import GrowingObject
from stoic.wire.text import is_json_object, mend
from stoic.wire.transport import HttpProvider, HttpSettings

STATUSES = st.sampled_from([200, 200, 200, 302, 400, 429, 529])
KINDS = st.sampled_from([b"text/event-stream", b"text/event-stream", b"application/json", b"text/plain"])
SETTINGS = st.sampled_from([HttpSettings(), SMALL])
CUTS = st.lists(PLACES, max_size=12)


def check_same(api, data, cuts, **how):
    """Check that an answer gives one report however it is split, which can be judged and stored."""
    whole, heard = received(api, data, **how)
    split, heard_again = received(api, data, cuts, **how)
    # As text: a report may hold NaN, which equals nothing.
    assert repr(split) == repr(whole)
    assert heard_again == heard
    assert classify(whole).name
    assert msgspec.json.decode(msgspec.json.encode(whole), type=Report).parts == whole.parts


@pytest.mark.parametrize("api", APIS)
def test_any_bytes_in_any_chunks_give_one_report_and_one_text(api):
    @examples(150)
    @given(broken_bytes(SEEDS[api]), CUTS, STATUSES, KINDS, SETTINGS)
    def check(data, cuts, status, kind, settings):
        with ending():
            check_same(api, data, cuts, status=status, kind=kind, settings=settings)

    check()


@pytest.mark.parametrize("api", APIS)
def test_any_bytes_one_at_a_time_give_the_report_of_all_at_once(api):
    @examples(20)
    @given(broken_bytes(SEEDS[api], [b"\r", b"\n\n", b"\xef\xbb\xbf", b":", b"\xff"]), STATUSES, KINDS, SETTINGS)
    def check(data, status, kind, settings):
        with ending():
            check_same(api, data, range(len(data)), status=status, kind=kind, settings=settings)

    check()


@pytest.mark.parametrize("api", APIS)
def test_events_of_any_shape_give_a_report(api):
    @examples(150)
    @given(broken_values(EVENTS[api], WORDS[api]), CUTS, st.booleans())
    def check(events, cuts, whole):
        with ending():
            known = [event for event in events if isinstance(event, dict)] if isinstance(events, list) else []
            data = written(events) if whole else stream_of(event for event in known if "comment" not in event)
            check_same(api, data, cuts, kind=b"application/json" if whole else b"text/event-stream")

    check()


def test_answers_of_any_bytes_over_http_are_reported():
    """Also what is no HTTP at all."""
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
    chunked = head + b"transfer-encoding: chunked\r\n\r\n"
    raw = [head + b"\r\n" + data for data in SEEDS["messages"][:6]]
    raw += [chunked + b"%x\r\n%b\r\n0\r\n\r\n" % (len(data), data) for data in SEEDS["messages"][:6]]

    @examples(40)
    @given(
        broken_bytes(
            raw, [b"\r\n", b"0\r\n\r\n", b"\x00", b"transfer-encoding: chunked\r\n", b"-1\r\n", b"x" * 200_000]
        ),
        CUTS,
    )
    def check(data, cuts):
        report = asyncio.run(answered(data, cuts))
        assert classify(report).name
        assert report.ended or report.exception or report.end == "clean" or report.body is not None

    check()


async def answered(data, cuts):
    """Return the report of a request that is answered with these bytes and then closed."""

    async def serve(reader, writer):
        bounds = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
        try:
            await reader.readuntil(b"\r\n\r\n")
            for begin, end in pairwise(bounds):
                writer.write(data[begin:end])
                await asyncio.get_running_loop().run_in_executor(None, int)
        finally:
            writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        clock = FakeClock()
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1/messages"
        request = msgspec.structs.replace(asked("messages"), url=url, deadline_ms=clock.now_ms() + 30_000)
        wire = HttpProvider(clock, DECODERS)
        report = await wire.send(request, lambda kind, text: None)
        await wire.close()
    return report


# ---- found by the above -------------------------------------------------------------------------


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("levels", [101, 600, 980, 100_000])
@pytest.mark.parametrize("kind", ["list", "object"])
def test_event_that_is_nested_too_deep_is_kept_as_text_and_breaks_nothing(api, levels, kind):
    nested = written(f"nest {levels} {kind}")
    events = b"data: " + nested + b"\n\n" + SEEDS[api][0]
    report, _ = received(api, events)
    assert report.events[0]["data"] == nested.decode()
    assert report.parts == received(api, SEEDS[api][0])[0].parts
    assert classify(report).name == "ok"


@pytest.mark.parametrize(
    "arguments", ['{"a":' * 1200 + "1" + "}" * 1200, "[" * 100_000, '{"a":' * 101 + "1" + "}" * 101]
)
@pytest.mark.parametrize("finish", ["tool_calls", "stop"])
def test_call_with_arguments_that_are_nested_too_deep_is_a_malformed_call(arguments, finish):
    call = CallPart(name="pay", arguments=arguments, whole=True)
    report = Report(provider="p", api="chat", status=200, stream=True, parts=[call], finish=finish, ended=True)
    assert classify(report).name == "malformed_tool_call"


def test_byte_order_mark_in_two_chunks_does_not_hide_a_stream():
    stream = b"\xef\xbb\xbf" + SEEDS["chat"][0]
    whole, _ = received("chat", stream, kind=b"text/plain")
    assert whole.stream
    for cut in (1, 2, 3):
        assert received("chat", stream, [cut], kind=b"text/plain")[0] == whole


@pytest.mark.parametrize("kind", [b"text/event-stream", b"application/json"])
def test_answer_beyond_its_limit_leaves_the_same_report_however_it_was_split(kind):
    stream = b'data: {"choices":[{"delta":{"content":"x"}}]}\n\n' * 100
    settings = HttpSettings(answer_limit_bytes=2000)
    whole, heard = received("chat", stream, kind=kind, settings=settings)
    assert whole.exception
    assert whole.exception.type == "stoic.wire.answers.AnswerTooLargeError"
    assert whole.parts == [TextPart(text="x" * (2000 // 47))]
    for step in (1, 10, 1999, 2000, 2001):
        assert received("chat", stream, range(0, len(stream), step), kind=kind, settings=settings) == (whole, heard)


SURROGATES = {
    "chat": [
        {
            "id": "\ud800",
            "model": "\ud800",
            "choices": [
                {
                    "delta": {
                        "tool_calls": [
                            {"index": 0, "id": "\ud800", "function": {"name": "\ud800", "arguments": {"\ud800": "\udfff"}}}
                        ]
                    },
                    "finish_reason": "\ud800",
                }
            ],
        }
    ],
    "messages": [
        {"type": "message_start", "message": {"id": "\ud800", "model": "\ud800"}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "id": "\ud800", "name": "\ud800", "input": {"\ud800": 1}}},
        {"type": "content_block_start", "index": 1, "content_block": {"type": "thinking", "signature": "\ud800"}},
        {"type": "content_block_start", "index": 2, "content_block": {"type": "redacted_thinking", "data": "\ud800"}},
        {"type": "message_delta", "delta": {"stop_reason": "\ud800"}},
    ],
    "responses": [
        {"type": "response.created", "response": {"id": "\ud800", "model": "\ud800"}},
        {"type": "response.output_item.done", "output_index": 0, "item": {"type": "function_call", "name": "\ud800", "call_id": "\ud800", "arguments": "\ud800"}},
        {"type": "response.output_item.done", "output_index": 1, "item": {"type": "reasoning", "id": "\ud800", "encrypted_content": "\ud800"}},
        {"type": "response.output_item.done", "output_index": 2, "item": {"type": "message", "phase": "\ud800", "content": [{"text": "x"}]}},
        {"type": "response.incomplete", "response": {"incomplete_details": {"reason": "\ud800"}}},
    ],
    "generate": [
        {
            "modelVersion": "\ud800",
            "responseId": "\ud800",
            "candidates": [
                {
                    "content": {"parts": [{"functionCall": {"name": "\ud800", "id": "\ud800", "args": {"\ud800": 1}}, "thoughtSignature": "\ud800"}]},
                    "finishReason": "\ud800",
                }
            ],
        }
    ],
}  # fmt: skip


@pytest.mark.parametrize("api", APIS)
def test_single_surrogates_in_any_field_leave_a_report_that_can_be_stored(api):
    report, _ = received(api, stream_of({"data": event} for event in SURROGATES[api]))
    assert msgspec.json.decode(msgspec.json.encode(report), type=Report) == report
    assert (report.request_id, report.served_model, report.finish) == ("\ufffd", "\ufffd", "\ufffd")
    assert [part.name for part in report.parts or [] if isinstance(part, CallPart)] == ["\ufffd"]


COUNTS = {
    "chat": {"choices": [{"delta": {"content": "x"}}], "usage": {"prompt_tokens": 10**400, "completion_tokens": 2}},
    "messages": {"type": "message_start", "message": {"usage": {"input_tokens": 10**400, "output_tokens": 2}}},
    "responses": {"type": "response.completed", "response": {"usage": {"input_tokens": 2**53, "output_tokens": 2}}},
    "generate": {"candidates": [], "usageMetadata": {"promptTokenCount": 10**30, "candidatesTokenCount": 2}},
}


@pytest.mark.parametrize("api", APIS)
def test_token_counts_that_no_price_can_be_computed_from_count_nothing(api):
    report, _ = received(api, stream_of([{"data": COUNTS[api]}]))
    assert (report.usage.input_tokens, report.usage.output_tokens) == (0, 2)


def event(text):
    return b"data: " + text + b"\n\n"


ENDLESS = {
    "a line": ("chat", b"x"),
    "empty lines": ("chat", b"\n"),
    "lines without an event": ("chat", b"id: 1\n"),
    "comments": ("messages", b":\n\n"),
    "comments of one block": ("messages", b":\n"),
    "events without data": ("responses", b"event: a\n\n"),
    "numbers": ("chat", event(b"1")),
    "objects": ("messages", event(b"{}")),
    "empty arrays": ("generate", event(b"[" + b"[]," * 90 + b"1]")),
    "pings": ("messages", b'event: ping\ndata: {"type":"ping"}\n\n'),
    "text": ("chat", event(b'{"choices":[{"delta":{"content":"a"}}]}')),
    "text of another API": ("messages", event(b'{"type":"content_block_delta","delta":{"type":"text_delta","text":"a"}}')),
    "arguments": ("chat", event(b'{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"1"}}]}}]}')),
    "signatures": ("messages", event(b'{"type":"content_block_delta","delta":{"type":"signature_delta","signature":"a"}}')),
    "parts": ("generate", event(b'{"candidates":[{"content":{"parts":[' + b'{"text":"a"},{"text":"b","thought":true},' * 20 + b"{}]}}]}")),
    "items": ("responses", event(b'{"type":"response.output_item.added","item":{"type":"message","content":[' + b'{"text":"a"},' * 60 + b"{}]}}")),
    "counts": ("generate", event(b'{"candidates":[{}],"usageMetadata":{"a":[' + b"[]," * 90 + b"1]}}")),
}  # fmt: skip
KIBIBYTES = 1024
LIMITS = HttpSettings(
    error_body_limit_bytes=16 * KIBIBYTES,
    event_limit_bytes=128 * KIBIBYTES,
    answer_limit_bytes=1024 * KIBIBYTES,
    answer_memory_limit_bytes=2048 * KIBIBYTES,
)


def feed_on(answer, chunk):
    for _ in range(200):
        answer.feed(chunk)


@pytest.mark.parametrize("what", ENDLESS)
@pytest.mark.parametrize("status", [200, 500])
def test_endless_stream_is_given_up_before_it_takes_more_memory_than_it_may(what, status):
    api, piece = ENDLESS[what]
    chunk = piece * (16 * KIBIBYTES // len(piece))
    answer = Answer(DECODERS[api](asked(api), lambda kind, text: None), LIMITS)
    answer.begin(status, [(b"content-type", b"text/event-stream")])
    tracemalloc.start()
    try:
        with pytest.raises(AnswerTooLargeError):
            feed_on(answer, chunk)
        report = answer.report(asked(api), cut=True, exception=None, now_ms=0)
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert classify(report).name
    assert peak_bytes < LIMITS.answer_memory_limit_bytes + 4 * LIMITS.answer_limit_bytes


@pytest.mark.parametrize(
    "body", [b"[" + b"[]," * 200_000 + b"1]", b"[" * 300_000, b'{"a":' * 100_000, b"\xff" * 900_000]
)
@pytest.mark.parametrize("status", [200, 400])
def test_whole_body_of_many_values_is_given_up_before_it_is_read(body, status):
    tracemalloc.start()
    try:
        report, _ = received("chat", body, status=status, kind=b"application/json", settings=LIMITS)
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert not report.ended
    assert peak_bytes < LIMITS.answer_memory_limit_bytes + 5 * LIMITS.answer_limit_bytes
    assert len(report.body) <= LIMITS.answer_limit_bytes


def test_whole_body_of_many_values_says_that_it_would_take_too_much_memory():
    body = b"[" + b"[]," * 200_000 + b"1]"
    report, _ = received("chat", body, kind=b"application/json", settings=LIMITS)
    assert report.exception
    assert report.exception.type == "stoic.wire.answers.AnswerTooLargeError"
    assert report.exception.message == f"the answer would take more than {2048 * KIBIBYTES} bytes of memory"
    assert report.body == body[: 16 * KIBIBYTES].decode()
    assert classify(report).name == "unknown"


MANY = 20_000
"""So many events, of which each used to look at all before it: minutes instead of seconds."""


def calls(*each):
    return {"choices": [{"delta": {"tool_calls": [*each]}}]}


def many(what):
    """Return an API, and events that once took time in the square of their number."""
    match what:
        case "numbered calls":
            return "chat", [calls({"index": number, "function": {"name": "a"}}) for number in range(MANY)]
        case "calls told by their ids":
            return "chat", [calls({"id": f"c{number}", "function": {"name": "a"}}) for number in range(MANY)]
        case "other ids under one number":
            call = {"index": 0, "function": {"name": "a", "arguments": '{"a"' * 100}}
            return "chat", [calls({**call, "id": f"c{number}"}) for number in range(MANY)]
        case "a name in every piece":
            return "chat", [calls({"function": {"name": "a", "arguments": '"}' + "a" * 400}})] * MANY
        case "a name without end":
            return "chat", [
                calls({"index": 0, "function": {"name": "a" * 300 + str(number)}}) for number in range(MANY)
            ]
        case "a signature in pieces":
            begin = {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking"}}
            piece = {
                "type": "content_block_delta",
                "index": 0,
                "delta": {"type": "signature_delta", "signature": "a" * 1000},
            }
            return "messages", [begin, *[piece] * MANY]
        case "a text in pieces that are kept":
            choice = {"delta": {"content": "a" * 500}, "content_filter_results": {"hate": {"filtered": False}}}
            return "chat", [{"choices": [choice]}] * MANY
        case "refusals after other hints":
            native = {"choices": [{"delta": {}, "native_finish_reason": "refusal"}]}
            return "chat", [native] * MANY + [{"choices": [{"delta": {"refusal": "no"}}]}] * MANY
        case _:
            choice = {"finish_reason": "stop", "message": {"tool_calls": [{"index": 0, "function": {"name": "a"}}]}}
            answers = [{**choice, "message": {"tool_calls": [{"index": number}]}} for number in range(MANY)]
            return "messages", [{"output": {"choices": [each]}} for each in answers]


LONG = (
    "numbered calls", "calls told by their ids", "other ids under one number", "a name in every piece", "a name without end",
    "a signature in pieces", "a text in pieces that are kept", "refusals after other hints", "ends of replies that go on",
)  # fmt: skip


@pytest.mark.parametrize("what", LONG)
def test_many_events_take_time_in_proportion_to_their_number(what):
    api, events = many(what)
    stream = stream_of({"data": event} for event in events)
    with ending(cpu_seconds=20):
        report, _ = received(api, stream, range(0, len(stream), 65_536))
        assert classify(report).name
        if len(report.events) > MANY // 2:
            assert classify(msgspec.structs.replace(report, parts=None)).name


@examples(150)
@given(
    st.lists(
        st.sampled_from(
            ["{", "}", '"', "\\", '\\"', "[", "]", ":", ",", "1", '"a":', "{}", " ", "\u00a0", "\n", "\ud800"]
        )
        | hostile_texts(),
        max_size=12,
    )
)
def test_growing_text_is_an_object_exactly_when_the_whole_is_one(pieces):
    growing = GrowingObject()
    for number, piece in enumerate(pieces, 1):
        growing.pieces.append(piece)
        assert growing.is_object() == is_json_object(mend("".join(pieces[:number])))
    assert growing.text == mend("".join(pieces))
