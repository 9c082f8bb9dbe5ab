"""Finds what may tell noise beside the digits of a text, fast: what has no such label beside it is hardly looked at."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_BLANKS = " \t\r\n\f\v\x1c\x1d\x1e\x1f"
_SEPARATORS = _BLANKS.replace("\n", "") + "\"':=<>/"
"""What may stand between a label and its value on the same line, many in a row."""
_LABEL = 48
"""More characters than a label has together with the words between it and its value."""
_VALUE = 60
"""More characters than there must be of a value to tell it, from its first digit on."""


class Labels:
    """What may stand beside digits.

    Args:
        before: What may stand right before digits, but for separators.
        between: The words that may stand between these and the digits, too.
        wordy: What may stand right before digits, where the word may go on.
        after: What may stand after digits and a unit.
    """

    def __init__(
        self, before: Iterable[str], between: Iterable[str], wordy: Iterable[str], after: Iterable[str]
    ) -> None:
        labels = {label.rstrip(_SEPARATORS)[::-1]: "" for label in before}
        words = {word[::-1]: "(?![a-z0])" for word in between}
        self._before = {**words, **labels}
        """What may be found in mirrored texts, with an expression of what follows it there."""
        self._wordy = [label[::-1] for label in wordy]
        self._after = "|".join(map(re.escape, after))

    @cached_property
    def _mirrored(self) -> re.Pattern[str]:
        """A search through mirrored texts; labels with the same last letter are tried together."""
        rest: dict[str, list[str]] = {}
        for label, follows in sorted(self._before.items(), reverse=True):
            rest.setdefault(label[0], []).append(re.escape(label[1:]) + follows)
        labels = "|".join([f"{re.escape(last)}(?:{'|'.join(others)})" for last, others in rest.items()])
        separators = f"[{re.escape(_SEPARATORS)}]*+"
        return re.compile(
            rf"0(?!0){separators}(?:\n[{_BLANKS}]*+[:=]{separators})?(?:{labels}|[a-z0_]{{0,20}}?(?:{'|'.join(self._wordy)}))"
        )

    @cached_property
    def _following(self) -> re.Pattern[str]:
        after = f"(?:{self._after})"
        unit = rf"[a-z]{{0,12}}+ {after}"
        ways = [rf"(?<=[dhmnsu])(?:{unit}|(?<=0s))", rf"(?<=[{_BLANKS}])[dhmnsu]{unit}", f"(?<= ){after}"]
        return re.compile(f"0[^0](?:{'|'.join(ways)})")

    def before_digits(self, flat: str) -> str:
        """Return those parts of a flat text where digits have a label, each with zero bytes around it."""
        size = len(flat)
        found = [one.span() for one in self._mirrored.finditer(flat[::-1])]
        parts = [flat[max(0, size - end - _LABEL) : size - start + _VALUE] for start, end in found]
        return "\0".join(["", *parts, ""])

    def may_follow(self, flat: str) -> bool:
        """Tell whether one of those that stand after digits is in a flat text, or a number of seconds."""
        return self._following.search(flat) is not None
