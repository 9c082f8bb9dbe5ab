"""Every case of the case file: the right verdict, at the right call, by the right rule."""

import pytest
from tests.core.loops.traces import CASES, call, steps, strongest

from stoic.core.loops import LoopDetector


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_case_gets_an_acceptable_verdict_where_it_is_expected(case):
    action, rule, position = strongest(case)
    expect = case["expect"]
    assert action in expect["acceptable"]
    if action == expect["verdict"] != "none":
        first, last = expect["at_call_range"]
        assert rule == expect["rule"]
        assert first <= position <= last


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_case_gets_the_same_verdicts_when_saved_and_loaded_between_all_entries(case):
    living = [verdicts for _, verdicts in steps(LoopDetector(), case)]
    detector = LoopDetector()
    loaded = []
    for _, verdicts in steps(detector, case):
        loaded.append(verdicts)
        detector.state = LoopDetector.load(detector.dump()).state
    assert loaded == living


def test_frozen_pair_of_calls_is_blocked_at_call_33():
    detector = LoopDetector()
    pair = [call("job_status", {"job": "a"}), call("list_files", {"path": "."})]
    for number in range(1, 33):
        one = pair[number % 2]
        assert detector.before(one).action == "ok"
        detector.after(one, "same")
    verdict = detector.before(pair[1])
    assert (verdict.action, verdict.rule, verdict.count) == ("block", "global_breaker", 30)


def test_poll_with_changing_results_runs_200_times_without_a_word():
    detector = LoopDetector()
    poll = call("job_status", {"job": "a"})
    for number in range(200):
        assert detector.before(poll).action == "ok"
        assert detector.after(poll, f"{number % 7} done").action == "ok"
