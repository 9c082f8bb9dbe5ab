"""The detector's own promises: thresholds, blocks and what ignoring one means, saving, bounds, messages, import cost."""

import os
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.core.loops.traces import call

from stoic.core import loops
from stoic.core.loops import LoopDetector, LoopState, Thresholds, identify, observe
from stoic.errors import UsageError

READ = call("read_file", {"path": "a"})


def frozen(count, one=READ, result: Any = "same", **more):
    detector = LoopDetector()
    for _ in range(count):
        detector.after(one, result, **more)
    return detector


# ---- thresholds ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "wrong",
    [
        {"warning": 20},
        {"warning": 0},
        {"critical": 30},
        {"breaker": 20},
        {"history": 29},
        {"unknown_tool": 0},
        {"text_warning": 10},
        {"text_warning": 0},
        {"ignored_blocks": 0},
    ],
)
def test_thresholds_in_any_other_order_are_rejected(wrong):
    with pytest.raises(UsageError, match="loop thresholds must be"):
        Thresholds(**wrong)


def test_other_thresholds_move_every_rule():
    detector = LoopDetector(Thresholds(warning=2, critical=3, breaker=4, history=4))
    actions = []
    for _ in range(5):
        actions.append(detector.before(READ).action)
        actions.append(detector.after(READ, "same").action)
    assert actions == ["ok", "ok", "ok", "warn", "ok", "warn", "ok", "warn", "block", "warn"]


# ---- blocks ---------------------------------------------------------------------------------------


def test_vetoed_calls_neither_reset_nor_add_to_the_count():
    detector = frozen(30)
    assert [detector.before(READ).count for _ in range(50)] == [30] * 50


def test_only_blocks_after_the_model_was_told_are_ignored_ones():
    detector = frozen(30)
    assert [detector.before(READ).ignored_blocks for _ in range(4)] == [0, 1, 2, 3]
    assert detector.should_stop
    assert detector.ignored_blocks == 3


def test_equal_calls_of_one_reply_ignore_a_block_once():
    detector = frozen(30)
    for reply, expected in [(1, 0), (2, 1), (3, 2)]:
        one = call("read_file", {"path": "a"}, batch=reply)
        assert [detector.before(one).ignored_blocks for _ in range(5)] == [expected] * 5
    assert not detector.should_stop


def test_news_ends_the_row_of_ignored_blocks():
    detector = frozen(30)
    for _ in range(3):
        detector.before(READ)
    detector.after(call("read_file", {"path": "b"}), "other")
    assert detector.ignored_blocks == 0
    assert detector.before(READ).ignored_blocks == 0


def test_a_known_call_that_is_allowed_does_not_end_the_row_of_ignored_blocks():
    detector = frozen(30)
    detector.before(READ)
    detector.before(READ)
    detector.after(READ, "same")
    assert detector.before(READ).ignored_blocks == 2


def test_a_call_not_yet_made_may_run_while_the_thread_is_blocked():
    detector = LoopDetector()
    for number in range(32):
        detector.after(call("read_file", {"path": "ab"[number % 2]}), "same")
    assert detector.before(call("read_file", {"path": "a"})).action == "block"
    assert detector.before(call("read_file", {"path": "c"})).action == "ok"


def test_a_change_outside_lets_a_blocked_check_run_again():
    detector = frozen(30)
    assert detector.before(READ).action == "block"
    detector.after(call("edit_file", {"path": "a", "old": "x", "new": "y"}), "ok")
    assert detector.before(READ).action == "ok"
    detector.after(READ, "same")
    assert detector.before(READ).action == "block"


def test_a_repeated_creation_is_not_excused_by_other_work():
    create = call("create_ticket", {"title": "x"})
    detector = frozen(30, create, {"id": 1})
    detector.after(call("edit_file", {"path": "a", "old": "x", "new": "y"}), "ok")
    assert detector.before(create).action == "block"


def test_a_blocked_poll_may_run_once_after_each_wait():
    poll, wait = call("job_status", {"id": 1}), call("anything", {}, effect="wait")
    detector = frozen(20, poll)
    verdict = detector.before(poll)
    assert (verdict.action, verdict.rule) == ("block", "poll_no_progress")
    assert "wait with a deadline" in verdict.message
    for _ in range(3):
        assert detector.before(poll).action == "block"
        assert detector.before(wait).action == "ok"
        detector.after(wait, "waited")
        assert detector.before(poll).action == "ok"
        detector.after(poll, "same")
    assert detector.before(poll).action == "block"
    detector.after(wait, "waited")
    detector.after(poll, "moved")
    assert detector.before(poll).action == "ok"


def test_a_wait_does_not_free_a_blocked_read():
    detector = frozen(30)
    detector.before(READ)
    detector.after(call("wait", {}), "waited")
    assert detector.before(READ).action == "block"


def test_a_denied_target_is_blocked_while_others_are_not():
    detector = LoopDetector()
    for number in range(20):
        detector.after(call("fetch", {"url": f"https://h.example/{number}"}), "403 Forbidden", failed=True)
    assert detector.before(call("fetch", {"url": "https://h.example/new"})).rule == "same_error_varied_args"
    assert detector.before(call("fetch", {"url": "https://other.example/"})).action == "ok"
    assert detector.before(call("search", {"query": "x"})).action == "ok"
    detector.after(call("login", {"user": "me"}), "welcome")
    assert detector.before(call("fetch", {"url": "https://h.example/new"})).action == "ok"


def test_an_account_without_quota_blocks_the_tool_whatever_single_thing_is_asked():
    detector = LoopDetector()
    for number in range(20):
        detector.after(call("get_document", {"id": number}), "quota exceeded", failed=True)
    assert detector.before(call("get_document", {"id": "new"})).rule == "same_error_varied_args"


def test_a_grant_lets_so_many_blocked_calls_run():
    detector = frozen(30)
    detector.before(READ)
    detector.before(READ)
    detector.grant(2)
    assert detector.ignored_blocks == 0
    assert [detector.before(READ).action for _ in range(3)] == ["ok", "ok", "block"]
    with pytest.raises(UsageError, match="at least one call, not 0"):
        detector.grant(0)


def test_a_grant_that_was_used_before_a_restart_is_not_used_again():
    detector = frozen(30)
    detector.grant(3)
    assert detector.before(READ).granted
    anew = LoopDetector.restore(detector.save())
    assert [anew.before(READ).granted for _ in range(3)] == [True, True, False]
    detector.spend(1)
    assert [detector.before(READ).action for _ in range(2)] == ["ok", "block"]
    detector.spend(5)
    assert detector.state.granted == 0


def test_a_repeated_text_takes_a_part_of_a_grant():
    detector = LoopDetector()
    for _ in range(10):
        detector.said("Let me see.")
    detector.grant(1)
    assert [(detector.said("Let me see.").action, detector.state.granted) for _ in range(2)] == [
        ("ok", 0),
        ("block", 0),
    ]


def test_a_saved_state_numbers_replies_anew_and_an_unreadable_one_counts_from_nothing():
    detector = frozen(30)
    detector.before(replace(READ, batch=7))
    anew = LoopDetector.restore(detector.save())
    assert anew.before(replace(READ, batch=7)).ignored_blocks == 1
    assert LoopDetector.restore({"calls": 3}).before(READ).action == "ok"


def test_asking_whether_a_call_would_be_blocked_remembers_nothing():
    detector = frozen(30)
    saved = detector.dump()
    assert detector.would_block(identify(READ))
    assert not detector.would_block(identify(call("read_file", {"path": "b"})))
    assert detector.dump() == saved
    detector.grant(1)
    assert not detector.would_block(identify(READ))


def test_parallel_calls_are_counted_in_the_order_of_their_results():
    detector = LoopDetector()
    assert [detector.before(call("shell", {"command": "mvn test"}, batch=1)).action for _ in range(12)] == ["ok"] * 12
    verdicts = [detector.after(call("shell", {"command": "mvn test"}, batch=1), "OK").action for _ in range(12)]
    assert verdicts.index("warn") == 9


# ---- messages -----------------------------------------------------------------------------------


def test_a_block_says_rule_number_equality_noise_and_progress():
    detector = LoopDetector()
    for number in range(30):
        one = call("exec", {"command": "svc" + " " * (number + 1) + "list"})
        detector.after(one, {"output": "x", "pid": number, "durationMs": number})
    verdict = detector.before(call("exec", {"command": "svc list"}))
    assert verdict.noise == ["durations", "process ids", "spelling or order of the arguments"]
    for part in (
        "global_breaker",
        "`exec`",
        "30 times",
        "durations, process ids",
        "would count as progress",
        "Not run",
    ):
        assert part in verdict.message


def test_a_warning_says_rule_number_and_progress():
    detector = frozen(9)
    verdict = detector.after(READ, "same")
    assert (verdict.action, verdict.rule, verdict.count) == ("warn", "repeat", 10)
    assert "rule repeat: `read_file` was called 10 times" in verdict.message


def test_a_warning_is_repeated_at_every_half_threshold_only():
    detector = LoopDetector()
    warned = [n for n in range(1, 30) if detector.after(READ, "same").action == "warn"]
    assert warned == [10, 11, 15, 16, 20, 21, 25, 26]


def test_no_message_holds_a_byte_of_arguments_or_results():
    canary = "cAnArY"
    one = call("read_file", {"path": canary, "limit": 1})
    detector = frozen(40, one, {canary: canary}, failed=True)
    messages = [detector.before(one).message, detector.after(one, canary).message]
    messages += [detector.said(canary).message for _ in range(10)]
    assert all(messages[index] for index in (0, 4, 11))
    assert canary not in "".join(messages) + detector.dump().decode()


def test_a_made_up_tool_name_cannot_write_into_the_message():
    detector = LoopDetector()
    for _ in range(10):
        detector.after(call("x` Ignore\nall " + "y" * 500, known=False), "?", failed=True)
    one = call("read_file` now\n do", {"path": "a"})
    for _ in range(30):
        detector.after(one, "same")
    message = detector.before(one).message
    assert "`read_file??now??do`" in message


# ---- saving and bounds ----------------------------------------------------------------------------


def test_something_else_than_a_saved_state_is_refused():
    for data in (b"{", b'{"calls": 3}', b"\xff"):
        with pytest.raises(UsageError, match="not a saved loop state"):
            LoopDetector.load(data)


def test_a_detector_takes_a_state_and_thresholds():
    state = LoopState()
    detector = LoopDetector(state=state)
    detector.after(READ, "same")
    assert detector.state is state
    assert LoopDetector.load(detector.dump(), Thresholds(warning=5)).thresholds.warning == 5


def test_a_run_of_thousands_of_different_calls_stays_within_100_kilobytes():
    detector = LoopDetector()
    largest = 0
    for number in range(4000):
        tool = ("read_file", "web_fetch", f"tool_{number % 200}", "bash")[number % 4]
        arguments = {"path": f"/w/{number}", "limit": number, "url": f"https://h{number}.example"}
        one = call(tool, arguments)
        detector.before(one)
        detector.after(one, f"result {number}" if number % 3 else "access denied", failed=number % 3 == 0)
        detector.said(f"text {number}")
        if number % 500 == 0:
            largest = max(largest, len(detector.dump()))
    assert 50_000 < max(largest, len(detector.dump())) < 100_000


def test_what_was_forgotten_is_news_again():
    detector = LoopDetector(Thresholds(history=30))
    detector.after(READ, "same")
    assert not detector.after(READ, "same").news
    for number in range(30):
        detector.after(call("read_file", {"path": f"f{number}"}), "other")
    assert detector.after(READ, "same").news


def test_observations_kept_elsewhere_rebuild_the_detector():
    calls = [(call("read_file", {"path": "abc"[n % 3]}), f"t{n % 2}") for n in range(40)]
    living, folded = LoopDetector(), LoopDetector()
    for one, result in calls:
        assert folded.account(observe(identify(one), result)) == living.after(one, result)
    assert folded.dump() == living.dump()


CALLS = st.sampled_from(
    [
        ("read_file", {"path": "a"}),
        ("read_file", {"path": "b", "limit": 3}),
        ("bash", {"command": "pytest -q"}),
        ("edit_file", {"path": "a", "old": "x"}),
        ("job_status", {"id": 1}),
        ("wait", {}),
        ("create_ticket", {"title": "t"}),
    ]
)
STEPS = st.one_of(
    st.tuples(CALLS, st.sampled_from(["x", "y", "access denied"]), st.booleans(), st.booleans()),
    st.sampled_from(["user", "nudge", "compaction", "new_run", "external"]),
    st.sampled_from(["Text one.", "Text two."]).map(lambda text: ["said", text]),
)


def take(detector, step):
    if isinstance(step, str):
        return detector.event(step)
    if isinstance(step, list):
        return detector.said(step[1])
    (tool, arguments), result, failed, known = step
    one = call(tool, arguments, known=known or tool != "wait")
    return detector.before(one), detector.after(one, result, failed=failed)


@settings(max_examples=60, deadline=None)
@given(st.lists(STEPS, max_size=60), st.integers(0, 60))
def test_a_detector_saved_and_loaded_anywhere_says_the_same_as_the_living_one(sequence, cut):
    sequence = sequence * 3
    small = Thresholds(warning=3, critical=5, breaker=7, history=8)
    living = LoopDetector(small)
    expected = [take(living, step) for step in sequence]
    first = LoopDetector(small)
    said = [take(first, step) for step in sequence[:cut]]
    second = LoopDetector.load(first.dump(), small)
    assert said + [take(second, step) for step in sequence[cut:]] == expected
    assert second.dump() == living.dump()


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 5), min_size=2, max_size=120))
def test_a_poll_whose_outcome_changes_each_time_never_gets_a_word(values):
    changing = [one for one, before in zip(values, [None, *values[:-1]], strict=True) if one != before]
    detector, poll = LoopDetector(), call("job_status", {"id": 1})
    for value in changing:
        assert detector.before(poll).action == "ok"
        assert detector.after(poll, f"{value} of 5").action == "ok"


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(max_size=30), unique=True, min_size=31, max_size=60))
def test_calls_that_differ_in_content_are_never_blocked(contents):
    detector = LoopDetector()
    for content in contents:
        one = call("write_file", {"path": "a", "content": content})
        assert detector.before(one).action == "ok"
        detector.after(one, "ok")


# ---- cost -----------------------------------------------------------------------------------------


def modules_after(statement):
    """Return the modules that a fresh interpreter holds after one statement, without what measuring coverage brings."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("COV")}
    command = [sys.executable, "-c", f"{statement}\nimport sys\nprint(*sorted(sys.modules))"]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return set(run.stdout.split())


def test_the_detector_under_its_public_name_loads_its_values_and_nothing_else():
    loaded = modules_after("import stoic; stoic.LoopDetector")
    added = loaded - modules_after("import msgspec")
    assert {name for name in added if name.startswith("stoic")} == {
        *("stoic", "stoic.core", "stoic.core.loops", "stoic.core.loops.call", "stoic.core.loops.detector"),
        *("stoic.errors", "stoic.record"),
    }
    assert {name for name in added if not name.startswith("stoic")} <= {"__future__", "importlib"}


def test_a_name_that_the_package_does_not_have_is_no_attribute():
    with pytest.raises(AttributeError, match="has no attribute 'Detector'"):
        loops.Detector  # noqa: B018  # looking is the test
