"""What each provider's table knows: for every code and every text of it an answer that only this row explains."""

import json
from pathlib import Path

import pytest

from stoic.core.classify import classify, report_from
from stoic.core.classify.providers import _NAMES

FOLDER = Path(__file__).parent / "known_errors"
KNOWN = [
    pytest.param(table, case, id=f"{table}-{number}")
    for table in _NAMES
    for number, case in enumerate(json.loads((FOLDER / f"{table}.json").read_text(encoding="utf-8")))
]


@pytest.mark.parametrize(("table", "case"), KNOWN)
def test_a_known_error_of_a_provider_means_what_it_says(table, case):
    expected = dict(case["expect"])
    verdict = classify(report_from({"provider": table, **case}))
    assert verdict.name == expected.pop("class"), verdict.evidence
    if "retry_after_s" in expected:
        assert verdict.retry_after_ms == round(1000 * expected.pop("retry_after_s"))
    assert {name: getattr(verdict, name) for name in expected} == expected
