"""Every recorded exchange that HTTP can carry arrives complete: status, headers, body or events, and how it ended."""

import asyncio
import json
from pathlib import Path

import pytest

from stoic.core.classify import classify, report_from
from stoic.testing import ScriptedProvider, load_cases

FOLDER = Path(__file__).parent.parent / "cases"
CASES = load_cases([FOLDER / "failures_wire.json", FOLDER / "refusals_wire.json"])
SERVED = {case_id: case for case_id, case in CASES.items() if case.get("exception") is None}


def send_all(make_provider, make_request, *script, provider="scripted"):
    """Return the reports of one request for each entry, and what the provider recorded."""

    async def run():
        async with ScriptedProvider(list(script), cases=CASES) as scripted:
            wire = make_provider()
            request = make_request(scripted.base_url, provider=provider)
            reports = [await wire.send(request, lambda kind, text: None) for _ in script]
            await wire.close()
            return reports, scripted.requests

    return asyncio.run(run())


def ordinary(event):
    """Whether an event says no more than one more piece of text or arguments (`Report.events`)."""
    data = event.get("data")
    choices = data.get("choices") if isinstance(data, dict) and not event["event"] else None
    if not choices or "error" in data or len(choices) != 1:
        return False
    choice = choices[0]
    told = set(choice["delta"]) <= {"role", "content", "tool_calls", "reasoning_content"} and choice["delta"]
    return bool(told) and not choice["finish_reason"]


@pytest.mark.parametrize("case_id", SERVED)
def test_recorded_exchange_arrives_complete(case_id, make_provider, make_request):
    case = SERVED[case_id]
    (report,), (recorded,) = send_all(make_provider, make_request, f"wire:{case_id}")
    assert recorded.answered_by == f"reply 1 wire:{case_id}"
    assert report.status == case["status"]
    assert report.headers.items() >= (case.get("headers") or {}).items()
    assert report.exception is None
    events = case.get("sse") or (case["body"] if case.get("transport") == "sse" else None)
    if events is None:
        assert (report.stream, report.body) == (False, case["body"])
    else:
        assert (report.stream, report.end, report.body) == (True, "clean", None)
        assert report.events == [event for event in events if not ordinary(event)]


@pytest.mark.parametrize("case_id", SERVED)
def test_recorded_exchange_means_live_what_it_must(case_id, make_provider, make_request):
    case, expect = SERVED[case_id], SERVED[case_id]["expect"]
    (report,), _ = send_all(make_provider, make_request, f"wire:{case_id}", provider=case["provider"])
    meant = classify(report).name
    if expect["class"] == "not_refusal":
        assert meant != "refusal"
    elif expect["class"] == "ambiguous":
        assert meant in {"unknown", "refusal", "empty_response"}
    else:
        assert meant in {expect["class"], *expect.get("also", [])}


OTHER_SHAPES = {"anthropic", "bedrock", "gemini", "google", "vertex", "cohere", "baidu", "cdn", "proxy"}
CHAT_SHAPED = {
    case_id: case
    for case_id, case in SERVED.items()
    if case["provider"] not in OTHER_SHAPES and not str(case.get("api")).startswith("responses")
}
ONLY_IN_WORDS = {
    "together-403-context": "config",
    "fireworks-412": "request_change",
    "ollama-500-memory": "time",
    "ollama-stream-eof": "never",
}
"""Failures that their provider states in words alone: where nothing shows whose server it is, the status decides."""


@pytest.mark.parametrize("case_id", CHAT_SHAPED)
def test_recorded_exchange_means_the_same_under_the_name_of_any_compatible_server(case_id, make_provider, make_request):
    (report,), _ = send_all(make_provider, make_request, f"wire:{case_id}", provider="openai-chat")
    meant, own = classify(report), classify(report_from(dict(SERVED[case_id])))
    assert (meant.name == "refusal", meant.recovers_with) == (
        own.name == "refusal",
        ONLY_IN_WORDS.get(case_id, own.recovers_with),
    )


def test_no_refusal_is_said_only_in_words_that_a_compatible_server_hides():
    assert len(CHAT_SHAPED) > 130
    assert all(SERVED[case_id]["expect"]["class"] != "refusal" for case_id in ONLY_IN_WORDS)


def test_both_case_files_are_read_whole():
    counts = [len(json.loads((FOLDER / name).read_bytes())) for name in ("failures_wire.json", "refusals_wire.json")]
    assert len(CASES) == sum(counts)
    assert len(SERVED) > 200


BROKEN = [
    ("exc-incomplete-chunk", "httpcore2.RemoteProtocolError", "h11.RemoteProtocolError: peer closed", True),
    ("exc-no-response", "httpcore2.RemoteProtocolError", None, False),
    ("exc-reset", "httpcore2.ReadError", "ConnectionResetError: [Errno ", True),
]


@pytest.mark.parametrize(("case_id", "kind", "cause", "begun"), BROKEN)
def test_broken_connection_is_reported_as_the_exception_it_was(
    case_id, kind, cause, begun, make_provider, make_request
):
    (report,), _ = send_all(make_provider, make_request, f"wire:{case_id}")
    assert report.exception is not None
    assert (report.exception.type, report.exception.after_first_byte) == (kind, begun)
    assert [one[: len(cause or "")] for one in report.exception.cause[:1]] == ([cause] if cause else [])
    assert not report.ended
