"""The looks that come before the exact patterns: none of them may rule out what its pattern would find."""

import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.core.classify.test_properties import JSON, WORDS

from stoic.core.classify import waits
from stoic.core.classify.documents import _SHAPES
from stoic.core.classify.fields import holds_one
from stoic.core.classify.known_texts import _lowered, fixed_texts
from stoic.core.classify.providers import _NAMES, family

PATTERNS = sorted({row.pattern for name in _NAMES for row in family(name).words})


@pytest.mark.parametrize("pattern", PATTERNS)
def test_whatever_a_known_text_finds_holds_one_of_its_fixed_texts(pattern):
    @settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(st.from_regex(re.compile(_lowered(pattern), re.DOTALL)))
    def holds(text):
        assert holds_one(fixed_texts(pattern), text)

    holds()


@pytest.mark.parametrize(
    ("pattern", "fixed"),
    [
        ("Quota exceeded", ("quota exceeded",)),
        ("one|three four|x", ("one", "three four", "x")),
        ("colou?red of", ("red of",)),
        ("a plural(?:s|es)? here", ("a plural",)),
        ("(?:a|b(?:c|d)) rest", (" rest",)),
        ("(?:a|b)", ("",)),
        ("|x", ("", "x")),
        (r"\bword\b", ("word",)),
        (r"tools\.\d+\.name", ("tools.",)),
        ("[a|b] of", (" of",)),
        (r"[]\]|] of", (" of",)),
        ("[^]|] of", (" of",)),
        (".{0,60}end", ("end",)),
        ("ab{2}cd", ("cd",)),
        ("ab+c?d*?ef", ("ef",)),
        ("^begin$", ("begin",)),
        (r"a\(b\|c", ("a(b|c",)),
        (r"(?P<Limit>\d+) tokens", (" tokens",)),
        (r"Limit(?<=\bLimit) of", ("limit",)),
        (r"Limit(?! no) of", ("limit",)),
        (r"\S\W名", ("名",)),
        ("zz.abcd.y", ("abcd",)),
        (r"(a)\1bc", ("bc",)),
    ],
)
def test_fixed_texts_of_a_pattern(pattern, fixed):
    assert fixed_texts(pattern) == fixed


def test_pattern_for_a_text_in_lower_case_keeps_what_is_no_letter_of_the_text():
    assert _lowered(r"A\SB\D(?P<most>C)") == r"a\Sb\D(?P<most>c)"


@pytest.mark.parametrize(("fixed", "pattern"), waits._IN_WORDS)
def test_whatever_a_wait_in_words_finds_holds_the_words_before_it(fixed, pattern):
    @settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(st.from_regex(pattern))
    def holds(text):
        assert holds_one(fixed, text)
        assert holds_one(waits._WAIT_WORDS, text)

    holds()


@settings(max_examples=100, deadline=None)
@given(st.dictionaries(st.one_of(WORDS, st.sampled_from(["object", "event_type", "results"])), JSON, max_size=4))
def test_whatever_document_a_shape_reads_has_one_of_its_keys(data):
    for shape in _SHAPES:
        assert not shape.reads(data) or not shape.KEYS.isdisjoint(data)
