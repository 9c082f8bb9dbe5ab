"""An answer with a value of another type than its provider documents, wherever it stands: it is read as far as it goes."""

from copy import deepcopy
from functools import reduce

import pytest
from tests.core.classify.test_cases import FAILURES, REFUSALS

from stoic.core.classify import classify, report_from

VALUES = (None, True, 7, 1.5, "", "word", [], [7], [["word"]], {}, {"word": 7})


def places(value, at=()):
    """Yield the path to each value within a value."""
    yield at
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, member in members:
        yield from places(member, (*at, key))


def documents(case):
    """Yield the path to each document of an exchange: its body, or what its events hold."""
    if isinstance(case.get("body"), dict):
        yield ("body",)
    for number, event in enumerate(case.get("sse") or []):
        if isinstance(event.get("data"), dict):
            yield "sse", number, "data"


def sorted_out():
    """Return, by provider, exchanges with a path into each: one for all that have the same keys on their way."""
    found = {}
    for case in [*FAILURES.values(), *REFUSALS.values()]:
        for document in documents(case):
            for path in places(reduce(lambda value, key: value[key], document, case)):
                keys = tuple("*" if isinstance(key, int) else key for key in path)
                kind = reduce(lambda value, key: value[key], document, case).get("type")
                found.setdefault(case["provider"], {}).setdefault(
                    (document[0], kind if isinstance(kind, str) else "", keys), (case, (*document, *path))
                )
    return {provider: list(those.values()) for provider, those in found.items()}


SORTED_OUT = sorted_out()


@pytest.mark.parametrize("provider", SORTED_OUT)
def test_a_value_of_another_type_ends_in_a_verdict(provider):
    for case, (*way, last) in SORTED_OUT[provider]:
        for value in VALUES:
            changed = deepcopy(case)
            reduce(lambda holder, key: holder[key], way, changed)[last] = value
            verdict = classify(report_from(changed))
            assert isinstance(verdict.name, str), (case["id"], way, last, value)
