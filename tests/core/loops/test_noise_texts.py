"""What is remembered of a text's shape changes nothing, whatever digits the next text of that shape has."""

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.core.loops.test_searching import LABELS, MARKS, PIECES, TEXTS, VALUES

from stoic.core.loops.noise_texts import _shape, mask_texts
from stoic.core.loops.observation import Nature
from stoic.core.loops.searching import BARRIER

EVERYTHING = Nature(effect="exec", doing="run", creates=True, clock=True)
WRAPPED = [
    "<<<x_ab12>>>\na\n<<<x_ab12>>>",
    "</x-ab12>",
    "\x1b[1m",
    "\r\n",
    "</x id='ab12'>",
    "\n## b",
    "\u0663",
    "\uff17s",
]
DIGITS = st.lists(st.text("0123456789", min_size=8, max_size=8), min_size=2, max_size=5)


def with_digits(text, digits):
    """Write other digits in the place of a text's digits; they are used again and again."""
    turn = iter(digits * (1 + len(text) // len(digits)))
    return re.sub("[0-9]", lambda _: next(turn), text)


def masked(texts, *, failed):
    """Return what is left of texts, and which noise they held."""
    found = mask_texts(texts, EVERYTHING, failed=failed)
    assert found.written is None or found.written == found.texts[0].encode("utf-8", "surrogatepass")
    return found.texts, found.noise


def masked_as_the_first_of_its_shape(texts, *, failed):
    _shape.cache_clear()
    return masked(texts, failed=failed)


@example([["time: 1770000000"]], ["17700000", "55500000"])
@example([["at 0x7fabcd"]], ["07", "17"])
@example([["01ARZ3NDEKTSV4RRFFQ69G5FAV"]], ["01345", "91345", "78345"])
@settings(max_examples=600, deadline=None)
@given(
    st.lists(
        st.lists(TEXTS | st.lists(PIECES | st.sampled_from(WRAPPED), max_size=8).map("".join), min_size=1, max_size=3),
        min_size=1,
        max_size=2,
    ),
    DIGITS,
)
def test_texts_that_differ_in_digits_are_masked_as_each_alone(results, digits):
    steps = [[with_digits(one, each) for one in texts] for each in digits for texts in results]
    for failed in (False, True):
        alone = [masked_as_the_first_of_its_shape(texts, failed=failed) for texts in steps]
        _shape.cache_clear()
        assert [masked(texts, failed=failed) for texts in steps] == alone


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(LABELS), st.sampled_from(MARKS), st.sampled_from(VALUES), DIGITS)
def test_a_value_after_a_label_is_masked_the_same_each_time(label, mark, value, digits):
    texts = [with_digits(f"{label}{mark}{value}", one) for one in digits]
    alone = [masked_as_the_first_of_its_shape([one], failed=True) for one in texts]
    _shape.cache_clear()
    assert [masked([one], failed=True) for one in texts] == alone


@pytest.mark.parametrize("times", [1, 2, 3])
def test_texts_are_not_taken_for_one_that_holds_a_barrier(times):
    for _ in range(times):
        assert masked(["a", "##b1c2d3##\nx\n##b1c2d3##"], failed=False)[0] == ["a", "##?##\nx\n##?##"]
    one = f"a{BARRIER}##b1c2d3##\nx\n##b1c2d3##"
    for _ in range(times):
        assert masked([one], failed=False)[0] == [one]


def test_a_moment_of_our_time_is_told_from_a_number_of_the_same_shape():
    texts = ["time: 1770000000", "time: 5550000000"] * 3
    assert [masked([one], failed=False)[0][0] for one in texts] == ["time: ?", "time: 5550000000"] * 3
