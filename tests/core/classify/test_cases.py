"""The collected cases and our own of the same kinds: what each must be called, and what it recovers with."""

import json
from pathlib import Path

import pytest

from stoic.core.classify import classify, report_from

HERE = Path(__file__).parent
CASES = HERE.parents[1] / "cases"


def load(*files):
    return {case["id"]: case for file in files for case in json.loads(file.read_text(encoding="utf-8"))}


FAILURES = load(CASES / "failures_wire.json", HERE / "own_failures.json")
REFUSALS = load(CASES / "refusals_wire.json", HERE / "own_refusals.json")
ACCEPTED = {
    "refusal": {"refusal"},
    # Where a body shows only an empty, normal end, an empty response is as good as unknown (cases/README).
    "ambiguous": {"unknown", "refusal", "empty_response"},
}


@pytest.mark.parametrize("case_id", FAILURES)
def test_failure_case_has_its_class_recovery_and_wait(case_id):
    case = FAILURES[case_id]
    expected = case["expect"]
    verdict = classify(report_from(case))
    assert verdict.name in [expected["class"], *expected.get("also", [])], verdict.evidence
    if verdict.name == expected["class"] and verdict.name != "refusal":
        assert verdict.recovers_with == expected["recovers_with"]
        assert verdict.retry_after_ms == (
            None if expected["retry_after_s"] is None else round(expected["retry_after_s"] * 1000)
        )


@pytest.mark.parametrize("case_id", REFUSALS)
def test_refusal_case_is_told_from_its_look_alikes(case_id):
    case = REFUSALS[case_id]
    expected = case["expect"]
    verdict = classify(report_from(case))
    if expected["class"] == "not_refusal":
        assert verdict.name != "refusal"
        return
    assert verdict.name in ACCEPTED[expected["class"]]
    if expected["class"] == "refusal":
        category = None if expected["category"] == "unnamed" else expected["category"]
        assert (verdict.category, verdict.where, verdict.scope) == (category, expected["where"], case["scope"])
        assert verdict.recovers_with == "boundary"
        assert verdict.retry_after_ms is None


def test_no_ambiguous_case_is_ok_or_retried_by_time():
    ambiguous = [case for case in REFUSALS.values() if case["expect"]["class"] == "ambiguous"]
    verdicts = [classify(report_from(case)) for case in ambiguous]
    assert len(ambiguous) >= 5
    assert all(verdict.failure is not None and verdict.recovers_with != "time" for verdict in verdicts)


def contents_of(value):
    """Return the texts of a refusal's body that are content: explanations, answers, flagged input, prose."""
    if isinstance(value, dict):
        keys = ("explanation", "text", "message", "flagged_input", "refusal", "content", "delta", "error", "result")
        own = [one for key in keys if isinstance(one := value.get(key), str)]
        return own + [text for one in value.values() for text in contents_of(one)]
    return [text for one in value for text in contents_of(one)] if isinstance(value, list) else []


@pytest.mark.parametrize("case_id", [one for one, case in REFUSALS.items() if case["expect"]["class"] == "refusal"])
def test_no_content_of_a_refusal_is_evidence(case_id):
    case = REFUSALS[case_id]
    verdict = classify(report_from(case))
    shown = " ".join(f"{one.field} {one.value}" for one in verdict.evidence)
    texts = [text for text in contents_of(case["body"]) if len(text) > 3 and text != "content_filter"]
    assert not [text for text in texts if text in shown]


@pytest.mark.parametrize("case_id", [*FAILURES, *REFUSALS])
def test_every_failure_names_its_evidence(case_id):
    verdict = classify(report_from({**FAILURES, **REFUSALS}[case_id]))
    if verdict.failure is not None:
        assert verdict.evidence[0].decided == "class"
        assert verdict.evidence[0].field
    assert (verdict.failure is None) == (verdict.recovers_with is None)
