"""Values of unknown shape: what each helper takes for itself, and where it ends."""

import pytest

from stoic.core.classify.fields import code_like, decoded, filtered_names, fold, number, shortened


@pytest.mark.parametrize(
    ("value", "expected"),
    [("-7", -7), (" 7 ", 7), ("a7", None), ("7a", None), ("", None), (1e15, None), (-1e15, None), (1e15 - 1, 1e15 - 1)],
)
def test_number_is_below_any_that_is_none(value, expected):
    assert number(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [("a" * 120, "a" * 120), ("a" * 121, "a" * 119 + "…"), (" a\n\tb ", "a b")],
)
def test_evidence_is_one_line_of_at_most_120_characters(value, expected):
    assert shortened(value) == expected


@pytest.mark.parametrize("value", ["a", "a" * 64, "a.b:c/d#e-f_g", "7"])
def test_code_is_shown(value):
    assert code_like(value) == value


@pytest.mark.parametrize("value", ["", "a" * 65, "two words", "word\n", "é"])
def test_what_is_no_code_is_not_shown(value):
    assert code_like(value) == ""


@pytest.mark.parametrize("code", ["rate_limit", "RateLimit", "rate-limit", "Rate.Limit", "rate limit", "ratelimit_"])
def test_code_is_the_same_however_its_words_are_joined(code):
    assert fold(code) == "ratelimit"
    assert fold("E-1_a") == "e1a"


def test_filters_that_acted_are_listed_by_name():
    results = {
        "b": {"filtered": True},
        "a": {"blocked": True},
        "c": {"filtered": "yes"},
        "d": "odd",
        "e": {"blocked": 1},
    }
    assert filtered_names(results) == ["a", "b"]
    assert filtered_names(["odd"]) == filtered_names(None) == []


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (' \r\n\t{"a": 1}', {"a": 1}),
        ("[1] ", [1]),
        ('["\ud800"]', ["?"]),
        ("7", "7"),
        ('"a"', '"a"'),
        ("{", "{"),
        ("[DONE]", "[DONE]"),
        ("", ""),
        (7, 7),
    ],
)
def test_text_that_is_an_object_or_a_list_is_read(value, expected):
    assert decoded(value) == expected
