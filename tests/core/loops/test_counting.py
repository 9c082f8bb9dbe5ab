"""The counters one by one: what adds to each, what excuses a run, and what starts it over."""

from tests.core.loops.traces import call

from stoic.core.loops import LoopDetector, Thresholds

READ = call("read_file", {"path": "a"})
EDIT = call("edit_file", {"path": "a", "old": "x", "new": "y"})
POLL = call("job_status", {"id": 1})
WAIT = call("anything", {}, effect="wait")


def after_runs(one, times, result="same", **more):
    detector = LoopDetector()
    for _ in range(times):
        detector.after(one, result, **more)
    return detector


def rules(detector, calls, result="same"):
    return [detector.after(one, result).rule for one in calls]


def test_a_known_call_starts_the_row_of_unknown_tools_over():
    unknown = call("no_such_tool", known=False)
    detector = after_runs(unknown, 9)
    detector.after(READ, "x")
    for _ in range(9):
        detector.after(unknown, "?")
    assert detector.before(unknown).action == "ok"
    detector.after(unknown, "?")
    assert detector.before(unknown).rule == "unknown_tool"


def test_a_run_excused_by_a_change_does_not_add_to_equal_outcomes():
    detector = after_runs(READ, 29)
    detector.after(EDIT, "ok")
    detector.after(READ, "same")
    assert detector.before(READ).action == "ok"
    detector.after(READ, "same")
    assert detector.before(READ).count == 30


def test_a_run_excused_by_compaction_does_not_add_to_equal_outcomes():
    detector = after_runs(READ, 29)
    detector.event("compaction")
    detector.after(READ, "same")
    assert detector.before(READ).action == "ok"


def test_an_excused_poll_is_not_warned_about_again():
    detector = after_runs(POLL, 9)
    assert detector.after(POLL, "same").rule == "poll_no_progress"
    detector.after(EDIT, "ok")
    assert detector.after(POLL, "same").action == "ok"


def test_the_first_standstill_after_news_elsewhere_is_warned_about_when_it_is_the_tenth():
    detector = after_runs(POLL, 9)
    detector.after(READ, "x")
    verdict = detector.after(POLL, "same")
    assert (verdict.rule, verdict.count) == ("poll_no_progress", 10)


def test_only_a_look_that_shows_something_else_than_before_frees_what_moves_things():
    click = call("click", {"on": "next"})
    detector = after_runs(click, 30)
    assert detector.before(click).action == "block"
    detector.after(READ, "x")
    assert detector.before(click).action == "block"
    detector.after(READ, "y")
    assert detector.before(click).action == "ok"


def test_a_poll_that_ran_after_a_wait_may_run_after_the_next_without_being_refused_between():
    detector = after_runs(POLL, 20)
    assert detector.before(POLL).action == "block"
    for _ in range(2):
        detector.after(WAIT, "waited")
        assert detector.before(POLL).action == "ok"
        detector.after(POLL, "same")


def test_a_poll_that_moved_is_no_longer_freed_by_waits():
    detector = after_runs(POLL, 20)
    detector.before(POLL)
    detector.after(WAIT, "waited")
    detector.after(POLL, "moved")
    for _ in range(19):
        detector.after(POLL, "moved")
    detector.after(WAIT, "waited")
    assert detector.before(POLL).action == "block"


def test_paging_that_changed_nothing_is_named_as_noise():
    detector = LoopDetector()
    for number in range(30):
        detector.after(call("read_file", {"path": "a", "limit": number}), "same")
    verdict = detector.before(call("read_file", {"path": "a", "limit": 99}))
    assert verdict.noise == ["paging or limit arguments"]


def test_a_standstill_counts_for_the_thread_from_the_polls_own_limit_on():
    poll = call("job_status", {"id": 1}, frozen_limit=3)
    detector = after_runs(poll, 2)
    assert detector.state.without_news == 0
    detector.after(poll, "same")
    assert detector.state.without_news == 1


def test_the_same_calls_in_turn_are_different_calls_once_each():
    pair = [call("read_file", {"path": path}) for path in "ab"]
    assert rules(LoopDetector(), pair * 5) == [None] * 10


def test_a_change_between_starts_the_count_of_equal_answers_anew_for_known_calls_only():
    detector = LoopDetector()
    for number in range(9):
        detector.after(call("read_file", {"path": f"f{number}"}), "same")
    detector.after(EDIT, "ok")
    assert detector.after(call("read_file", {"path": "f0"}), "same").action == "ok"


def test_commands_that_change_something_do_not_stagnate_whatever_they_print():
    calls = [call("bash", {"command": f"mv a{number} b{number}"}) for number in range(12)]
    assert rules(LoopDetector(), calls, "done") == [None] * 12


def test_silent_commands_stagnate_when_they_only_look():
    looking = [call("bash", {"command": f"grep x{number} a"}) for number in range(10)]
    working = [call("bash", {"command": f"./step {number}"}) for number in range(10)]
    assert rules(LoopDetector(), looking, "") == [None] * 9 + ["stagnation"]
    assert rules(LoopDetector(), working, "") == [None] * 10


def denied(detector, number, host="h.example", error="403 Forbidden"):
    return detector.after(call("fetch", {"url": f"https://{host}/{number}"}), error, failed=True)


def test_the_same_denied_call_again_is_no_other_call_denied():
    detector = LoopDetector()
    assert "same_error_varied_args" not in [denied(detector, 1).rule for _ in range(24)]
    assert max(place.count for place in detector.state.places.values()) == 1


def test_a_success_or_another_denial_starts_the_row_of_denials_over():
    detector = LoopDetector()
    for number in range(9):
        denied(detector, number)
    detector.after(call("fetch", {"url": "https://h.example/ok"}), "page")
    assert denied(detector, 10).action == "ok"
    for number in range(11, 19):
        denied(detector, number)
    assert denied(detector, 20, error="access denied by policy").action == "ok"


def test_a_failure_of_another_kind_leaves_the_row_of_denials():
    detector = LoopDetector()
    for number in range(9):
        denied(detector, number)
    detector.after(call("fetch", {"url": "https://h.example/x"}), "timed out", failed=True)
    verdict = denied(detector, 10)
    assert (verdict.rule, verdict.count) == ("same_error_varied_args", 10)


def test_a_success_of_the_tool_starts_the_row_of_missing_quota_over():
    detector = LoopDetector()
    for number in range(19):
        detector.after(call("get_document", {"id": number}), "quota exceeded", failed=True)
    detector.after(call("get_document", {"id": "free"}), "text")
    detector.after(call("get_document", {"id": 99}), "quota exceeded", failed=True)
    assert detector.before(call("get_document", {"id": 100})).action == "ok"


def test_a_change_outside_starts_the_row_of_denials_over():
    detector = LoopDetector()
    for number in range(9):
        denied(detector, number)
    detector.after(EDIT, "ok")
    assert denied(detector, 10).action == "ok"


def test_missing_quota_of_one_host_says_nothing_of_another():
    fetching, commands = LoopDetector(), LoopDetector()
    for number in range(20):
        denied(fetching, number, error="quota exceeded")
        command = call("bash", {"command": f"curl https://h.example/{number}"})
        commands.after(command, "401 Unauthorized", failed=True)
    assert fetching.before(call("fetch", {"url": "https://h.example/new"})).action == "block"
    assert fetching.before(call("fetch", {"url": "https://other.example/"})).action == "ok"
    assert commands.before(call("bash", {"command": "curl https://h.example/new"})).action == "block"
    assert commands.before(call("bash", {"command": "curl https://other.example/"})).action == "ok"


def test_missing_quota_of_a_named_host_says_nothing_of_another():
    detector = LoopDetector()
    for number in range(20):
        detector.after(call("query", {"host": "a", "sql": f"select {number}"}), "quota exceeded", failed=True)
    assert detector.before(call("query", {"host": "a", "sql": "select x"})).action == "block"
    assert detector.before(call("query", {"host": "b", "sql": "select x"})).action == "ok"


def test_missing_quota_concerns_the_whole_tool_and_a_denial_the_one_thing_that_was_asked_for():
    for error, action in [("quota exceeded", "block"), ("403 Forbidden", "ok")]:
        detector = LoopDetector()
        for number in range(20):
            detector.after(call("get_document", {"id": number}), error, failed=True)
        assert detector.before(call("get_document", {"id": "new"})).action == action


def test_only_what_asks_stagnates_when_it_fails_alike():
    def failing(tool, key, value):
        detector = LoopDetector()
        calls = [call(tool, {key: value.format(number)}) for number in range(10)]
        return detector, [detector.after(one, "error: x", failed=True).rule for one in calls]

    assert failing("edit_file", "old", "text {}")[1] == [None] * 10
    assert failing("bash", "command", "mv a{0} b{0}")[1] == [None] * 10
    assert failing("bash", "command", "./step {}")[1] == [None] * 9 + ["stagnation"]
    assert failing("read_file", "path", "f{}")[1] == [None] * 9 + ["stagnation"]


LOWEST = Thresholds(warning=1, critical=2, breaker=3)


def test_at_the_lowest_thresholds_a_first_failure_that_is_no_denial_is_not_warned_about():
    detector = LoopDetector(LOWEST)
    assert detector.after(call("foo", known=False), "no such tool", failed=True).rule is None


def test_at_the_lowest_thresholds_the_same_denied_call_again_is_no_other_call_denied():
    detector = LoopDetector(LOWEST)
    denied_call = call("foo", known=False)
    rules_told = [detector.after(denied_call, "forbidden", failed=True).rule for _ in range(2)]
    assert rules_told == ["same_error_varied_args", "no_new_information"]


def test_only_a_command_that_may_change_something_frees_a_blocked_check():
    detector = after_runs(READ, 30)
    detector.after(call("bash", {"command": "cat b"}), "text")
    assert detector.before(READ).action == "block"
    detector.after(call("bash", {"command": "./fix"}), "fixed")
    assert detector.before(READ).action == "ok"
