"""Searches an error's text for the texts its provider is known to use: a look for fixed words before each exact pattern."""

import re
from collections.abc import Iterator
from functools import cache, lru_cache

from stoic.core.classify.fields import holds_one
from stoic.core.classify.rules import Family, Words
from stoic.core.failures import FailureClass

_CAPITALS = re.compile(r"\(\?P|\\.|[A-Z]")
_ATOM = re.compile(r"(\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|.)([*+?]\??|\{[\d,]+\}\??)?", re.DOTALL)
"""One piece of a pattern, and how often it may stand; what opens a group counts as pieces of it."""


def matches(family: Family, message: str, status: int | None) -> Iterator[tuple[Words, re.Match[str]]]:
    """Yield the rows of a family whose text stands in a message, in their order, each with where it stands.

    Args:
        family: What is known of the provider.
        message: The text in lower case.
        status: The status of the error, which rows may ask for; None fits every row.
    """
    for row in [row for fixed, row in _looks(family, status) if fixed in message]:
        matched = _compiled(row.pattern).search(message)
        if matched:
            yield row, matched


def may_refuse(family: Family, message: str, status: int | None) -> bool:
    """Return whether a text that means a refusal may stand in a message; the arguments are those of `matches`."""
    return holds_one(_refusing_looks(family, status), message)


@lru_cache(maxsize=256)  # a family is asked about a few statuses
def _looks(family: Family, status: int | None) -> list[tuple[str, Words]]:
    """Return the fixed texts of the rows that fit a status, in the rows' order, each with its row."""
    fitting = [row for row in family.words if status is None or not row.statuses or status in row.statuses]
    return [(fixed, row) for row in fitting for fixed in fixed_texts(row.pattern)]


@lru_cache(maxsize=256)
def _refusing_looks(family: Family, status: int | None) -> list[str]:
    return [fixed for fixed, row in _looks(family, status) if row.mark.failure is FailureClass.REFUSAL]


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """Return a row's pattern for a text in lower case, compiled when the first text comes that may hold it."""
    return re.compile(_lowered(pattern), re.DOTALL)


def _lowered(pattern: str) -> str:
    """Return a pattern for a text in lower case: one that ignores case is searched four times slower."""
    return _CAPITALS.sub(lambda found: found[0] if len(found[0]) > 1 else found[0].lower(), pattern)


@cache
def fixed_texts(pattern: str) -> tuple[str, ...]:
    """Return texts in lower case of which one stands in whatever a row's pattern finds: each branch's longest.

    Most rows are ruled out by looking for these, ten times faster than by the pattern. Groups are passed over, so that a
    branch without a fixed text outside them has the empty one, which stands in every text.
    """
    branches, depth = [[""]], 0
    for atom, repeated in _ATOM.findall(_lowered(pattern)):
        depth += (atom[0] == "(") - (atom == ")")
        if atom == "|" and not depth:
            branches.append([""])
        elif depth or repeated or not _is_fixed(atom):
            branches[-1].append("")
        else:
            branches[-1][-1] += atom[-1]
    return tuple(max(texts, key=len) for texts in branches)


def _is_fixed(atom: str) -> bool:
    """Return whether a piece of a pattern stands for one character: itself, or the one after a backslash."""
    return atom not in ".^$)" if len(atom) == 1 else atom[0] == "\\" and not atom[1].isalnum()
