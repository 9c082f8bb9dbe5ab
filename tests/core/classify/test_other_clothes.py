"""The same cases in other clothes: as text, with other header names, as an SDK's exception, or cut anywhere."""

import json
from pathlib import Path

import pytest

from stoic.core.classify import classify, report_from

HERE = Path(__file__).parent
FILES = (
    HERE.parents[1] / "cases" / "failures_wire.json",
    HERE.parents[1] / "cases" / "refusals_wire.json",
    HERE / "own_failures.json",
    HERE / "own_refusals.json",
)
CASES = {case["id"]: case for file in FILES for case in json.loads(file.read_text(encoding="utf-8"))}
BODIES = [one for one, case in CASES.items() if isinstance(case.get("body"), dict)]
BARE_ERRORS = [one for one in BODIES if (CASES[one]["status"] or 0) >= 400 and not CASES[one].get("headers")]
STREAMS = [one for one, case in CASES.items() if len(case.get("sse") or []) > 1]


def verdict_of(exchange):
    return classify(report_from(exchange))


@pytest.mark.parametrize("case_id", BODIES)
def test_body_means_the_same_as_text_and_with_shouted_header_names(case_id):
    case = CASES[case_id]
    headers = {name.upper(): value for name, value in case.get("headers", {}).items()}
    assert verdict_of({**case, "body": json.dumps(case["body"]), "headers": headers}) == verdict_of(case)


@pytest.mark.parametrize("case_id", BARE_ERRORS)
def test_error_means_the_same_inside_the_text_of_an_sdks_exception(case_id):
    case = CASES[case_id]
    message = f"Error code: {case['status']} - {case['body']!r}"
    exception = {"type": "openai.APIStatusError", "message": message, "status_code": case["status"]}
    plain, raised = (
        verdict_of(one)
        for one in (case, {"provider": case["provider"], "exception": exception, "now": case.get("now")})
    )
    assert (raised.name, raised.recovers_with, raised.retry_after_ms, raised.category, raised.scope) == (
        plain.name,
        plain.recovers_with,
        plain.retry_after_ms,
        plain.category,
        plain.scope,
    )


@pytest.mark.parametrize("case_id", BARE_ERRORS)
def test_error_of_a_provider_unknown_to_us_is_never_ok(case_id):
    assert verdict_of({**CASES[case_id], "provider": "nobody"}).failure is not None


@pytest.mark.parametrize("case_id", STREAMS)
def test_stream_cut_before_its_last_two_events_is_never_ok(case_id):
    events = CASES[case_id]["sse"]
    # A usage chunk and `[DONE]` may follow the protocol's own end.
    whole = verdict_of(CASES[case_id])
    for kept in range(len(events) if whole.failure else len(events) - 2):
        assert verdict_of({**CASES[case_id], "sse": events[:kept], "end": "cut"}).failure is not None, kept
