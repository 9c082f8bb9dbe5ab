"""Traces of the same kinds as the open cases, in other words, get the right verdict at the right call."""

import pytest
from tests.core.loops.traces import strongest
from tests.core.loops.variants.collection import TRACES


def test_every_trace_has_its_own_name():
    names = [one["id"] for one in TRACES]
    assert len(set(names)) == len(names) >= 200


@pytest.mark.parametrize("trace", TRACES, ids=[one["id"] for one in TRACES])
def test_variant_gets_an_acceptable_verdict_where_it_is_expected(trace):
    action, rule, position = strongest(trace)
    expect = trace["expect"]
    assert action in expect["acceptable"]
    if action == expect["acceptable"][-1] and expect["within"]:
        first, last = expect["within"]
        assert first <= position <= last
        assert rule == expect["rule"] or not expect["rule"]
