"""Tells fast which of many short texts a flat text may hold: a look at the words that it has rules most of them out."""

from __future__ import annotations

import re
from functools import cache
from itertools import chain
from typing import Generic, TypeVar

from stoic.core.loops.flat_texts import folded, starts_of, starts_of_word, words_of

_T = TypeVar("_T")


class Needles(Generic[_T]):
    """Texts of which each stands for something that a flat text can only hold together with it."""

    def __init__(self) -> None:
        self._all: dict[tuple[str, str], list[_T]] = {}
        """By each as it is and as `repeated_lines` would write it, what it stands for."""
        self._by_start: dict[bytes, list[tuple[str, _T]]] = {}
        """Each as it is and what it stands for, by how its first word starts."""
        self._anyhow: list[tuple[str, _T]] = []
        """Those that no start of a word tells."""
        self._starts: frozenset[bytes] = frozenset()

    def add(self, text: str, meaning: _T, *, starts_word: bool, lines: tuple[str, ...] = ()) -> None:
        """Add a text and what it stands for.

        Args:
            text: What may be held.
            meaning: What it stands for.
            starts_word: Whether it only counts where a word starts, if it begins with a letter, and one of fewer than four
                letters only as a whole word.
            lines: What the line of it starts with: one of these; the text itself, unless given.
        """
        for line in lines or (text,):
            self._all.setdefault((text, folded(line)), []).append(meaning)
        words = words_of(text.encode("ascii"))
        if words and (starts_word or not text[0].isalnum()):
            ends = text.encode("ascii").endswith(words[0])
            for start in starts_of_word(words[0]) if ends else starts_of(words[:1]):
                self._by_start.setdefault(start, []).append((text, meaning))
        else:
            self._anyhow.append((text, meaning))
        self._starts = frozenset(self._by_start)

    def held(self, flat: str, starts: set[bytes] | None = None, once: str | None = None) -> list[_T]:
        """Return what those stand for that a flat text holds, in no order.

        Args:
            flat: The text.
            starts: How its words start; None: not known.
            once: With no starts, each of its lines once, from `repeated_lines`; None: not known.
        """
        if starts is None:
            held = [
                meanings
                for (text, line), meanings in self._all.items()
                if (once is None or line in once) and text in flat
            ]
            return list(chain.from_iterable(held))
        found: list[_T] = []
        for text, one in self._anyhow:
            if text in flat:
                found.append(one)  # for a few, a list of their own costs more
        for start in self._starts & starts:
            found += [one for text, one in self._by_start[start] if text in flat]
        return found


@cache
def beside(sign: str, needles: tuple[str, ...]) -> re.Pattern[str]:
    """Compile a search for texts that hold a sign; it looks only where the sign is, which is found fast."""
    halves = [needle.partition(sign) for needle in needles]
    ways = [
        f"(?<={re.escape(before + sign)}){re.escape(after)}" if before else re.escape(after)
        for before, _, after in halves
    ]
    return re.compile(f"{re.escape(sign)}(?:{'|'.join(ways)})")


def places(flat: str, needle: str) -> list[int]:
    """Return where a text holds another one."""
    found: list[int] = []
    place = flat.find(needle)
    while place >= 0:
        found.append(place)
        place = flat.find(needle, place + 1)
    return found
