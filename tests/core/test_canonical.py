"""Canonical arguments: equal calls give equal text."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stoic.core.canonical import canonical

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


def shuffled(value, order):
    if isinstance(value, dict):
        keys = sorted(value, reverse=order)
        return {key: shuffled(value[key], order) for key in keys}
    if isinstance(value, list):
        return [shuffled(item, order) for item in value]
    return value


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        ({"a": {"x": 1, "y": [{"p": 1, "q": 2}]}}, {"a": {"y": [{"q": 2, "p": 1}], "x": 1}}),
        ({"n": 1.0}, {"n": 1}),
        ({"n": -0.0}, {"n": 0}),
        ({"n": 1e3}, {"n": 1000}),
        ({"a": 1, "b": None}, {"a": 1}),
        ({"a": {"b": None}}, {"a": {}}),
        ([1.0, (2,)], [1, [2.0]]),
    ],
)
def test_calls_that_mean_the_same_are_written_the_same(one, other):
    assert canonical(one) == canonical(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": 1}, {"a": "1"}),
        ({"a": 1}, {"a": True}),
        ({"a": 0}, {"a": False}),
        ({"a": [1, 2]}, {"a": [2, 1]}),
        ({"a": [None]}, {"a": []}),
        ({"a": 1.5}, {"a": 1}),
        ({"a": " x"}, {"a": "x"}),
        ({"a": {}}, {}),
        ({"filter": {"id": 1}}, {"filter": {"id": 2}}),
        (None, {}),
    ],
)
def test_calls_that_mean_different_things_are_written_differently(one, other):
    assert canonical(one) != canonical(other)


@given(JSON)
def test_key_order_never_matters(value):
    assert canonical(shuffled(value, order=False)) == canonical(shuffled(value, order=True))


@given(JSON)
def test_canonical_text_is_json_and_canonical_itself(value):
    text = canonical(value)
    assert canonical(msgspec.json.decode(text)) == text


def test_large_floats_stay_what_they_are():
    assert canonical(1e300) == msgspec.json.encode(1e300).decode()
    assert canonical(2.0**53) == str(2**53)


def test_deep_nesting_is_written_not_refused():
    value = 1.0
    for _ in range(400):
        value = {"b": value, "a": None}
    assert canonical(value).startswith('{"b":{"b":')


def test_single_surrogate_is_written_as_json_escapes_it():
    assert canonical({"b": "\ud800", "a": None}) == '{"b":"\\ud800"}'
    assert canonical([1.0, "\udfff"]) == '[1,"\\udfff"]'
