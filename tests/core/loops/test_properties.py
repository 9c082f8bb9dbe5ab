"""What holds for all calls: spelling never matters, news is never blocked, and what is known is blocked in the end."""

import json
from itertools import cycle, islice

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.core.loops.traces import call

from stoic.core.loops import LoopDetector, identify

NAMES = st.sampled_from(
    ["read_file", "search", "bash", "edit_file", "create_ticket", "send_message", "job_status", "process_next", "apply"]
)
EFFECTS = st.sampled_from([None, "read", "write", "send", "exec", "poll"])
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-9, 9)
    | st.sampled_from(["a b", "x", "src/a.py", "https://h.example/a", "403 forbidden", "pid 4", "took 3 s", ""]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "limit"]), inner, max_size=3)
    ),
    max_leaves=6,
)
OBJECTS = st.dictionaries(
    st.sampled_from(["path", "query", "id", "url", "host", "limit", "title", "command"]), VALUES, max_size=4
)
STEPS = st.lists(st.tuples(NAMES, EFFECTS, OBJECTS, OBJECTS, st.booleans()), min_size=1, max_size=4)


def told(verdict):
    return verdict.action, verdict.rule, verdict.count, verdict.key, verdict.outcome, verdict.news


def verdicts(steps):
    detector, found = LoopDetector(), []
    for name, effect, arguments, result, failed in steps:
        one = call(name, arguments, effect=effect)
        found += [told(detector.before(one)), told(detector.after(one, result, failed=failed))]
    return found


def turned(value):
    """Write every object the other way round."""
    if isinstance(value, dict):
        return {key: turned(value[key]) for key in reversed(value)}
    return [turned(item) for item in value] if isinstance(value, list) else value


@settings(max_examples=80, deadline=None)
@given(STEPS, st.integers(1, 12))
def test_key_order_of_arguments_and_results_never_changes_a_verdict(steps, times):
    other = [(name, effect, turned(one), turned(result), failed) for name, effect, one, result, failed in steps]
    assert verdicts(other * times) == verdicts(steps * times)


@settings(max_examples=80, deadline=None)
@given(STEPS, st.integers(1, 12), st.sampled_from([None, 1, 3, "\t"]))
def test_spacing_of_a_result_in_json_never_changes_a_verdict(steps, times, indent):
    def written(**spacing):
        return [(name, effect, one, json.dumps(result, **spacing), bad) for name, effect, one, result, bad in steps]

    assert verdicts(written(indent=indent) * times) == verdicts(written(separators=(",", ":")) * times)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(["ls", "-l", "'a  b'", "|", "&&", "x"]), min_size=1, max_size=6), st.integers(2, 5))
def test_spacing_of_a_command_never_changes_a_verdict(parts, blanks):
    def steps(gap):
        return [("bash", None, {"command": gap.join(parts)}, {"output": "same"}, False)] * 31

    assert verdicts(steps(" " * blanks)) == verdicts(steps(" "))


@settings(max_examples=120, deadline=None)
@given(st.lists(st.tuples(NAMES, EFFECTS, OBJECTS), min_size=1, max_size=3), st.booleans())
def test_outcomes_that_are_always_new_are_never_blocked(calls, failed):
    detector = LoopDetector()
    for number, (name, effect, arguments) in enumerate(islice(cycle(calls), 70)):
        one = call(name, arguments, effect=effect)
        assert detector.before(one).action == "ok"
        assert detector.after(one, "found " + "bdfg"[number % 4] * (1 + number // 4), failed=failed).news


def key(one):
    name, effect, arguments, _ = one
    return identify(call(name, arguments, effect=effect)).key


@settings(max_examples=120, deadline=None)
@given(
    st.lists(st.tuples(NAMES, EFFECTS, OBJECTS, st.booleans()), min_size=1, max_size=5, unique_by=key),
    st.lists(st.integers(0, 4), min_size=1, max_size=12),
)
def test_a_finite_set_of_known_calls_in_any_order_is_blocked_in_the_end(calls, order):
    detector, actions = LoopDetector(), []
    for place in islice(cycle(order), 400):
        name, effect, arguments, failed = calls[place % len(calls)]
        one = call(name, arguments, effect=effect)
        actions.append(detector.before(one).action)
        detector.after(one, f"result of call {'abcde'[place % len(calls)]}", failed=failed)
    assert "block" in actions


@settings(max_examples=60, deadline=None)
@given(STEPS, st.integers(0, 100))
def test_a_state_saved_and_loaded_is_equal_and_goes_on_equally(steps, cut):
    sequence = list(islice(cycle(steps), 100))
    living, other = LoopDetector(), LoopDetector()
    for number, (name, effect, arguments, result, failed) in enumerate(sequence):
        if number == cut:
            other = LoopDetector.load(other.dump())
            assert other.state == living.state
        one = call(name, arguments, effect=effect)
        assert other.before(one) == living.before(one)
        assert other.after(one, result, failed=failed) == living.after(one, result, failed=failed)
