"""Tells fast which of many short texts a flat text may hold: a look at the words that it has rules most of them out."""

from __future__ import annotations

from functools import cache
from operator import itemgetter
from typing import Generic, TypeVar

_T = TypeVar("_T")

SMALL = 8000
"""In a text that is no longer it pays to look at each word."""
_SPARSE = 100
"""In a longer one where fewer than one in so many characters is a digit it pays more to look around these."""
_START = 3
"""So many letters tell a word from most others."""
_start = itemgetter(slice(_START))
_LETTERS = bytes([byte if chr(byte) in "abcdefghijklmnopqrstuvwxy" else 32 for byte in range(256)])
"""Without `z`, in which a moment may end: see `_HIDING`."""
_HIDING = frozenset((b"gmt", b"utc"))
"""Ends of a moment. When one is masked, a word starts after it, though letters stood before; so it does after a digit."""
_HEX = bytes.maketrans(b"abcdef", b"000000")
_BARRIER = b"\n\0 \0\n"
"""`searching.BARRIER`, which here parts nothing but makes more lines."""
_WORDS = bytes([byte if chr(byte) in "0ghijklmnopqrstuvwxyz" else 32 for byte in range(256)])


class Words:
    """What words a large flat text has, as far as a look tells that is short beside what it saves."""

    def __init__(self, flat: bytes, digits: int) -> None:
        self.is_sparse = digits * _SPARSE <= len(flat)
        self.folded = ""
        """Each line, or word, of a text full of digits once."""
        self.has_lines = False
        if not self.is_sparse:
            self._fold(flat)

    def may_hold(self, text: str) -> bool:
        """Tell whether the text may hold another one."""
        return self.is_sparse or (_folded(text) if self.has_lines else _longest_word(text)) in self.folded

    def _fold(self, flat: bytes) -> None:
        """Write digits and the letters of hexadecimal numbers with one sign: so most lines of a log are equal."""
        folded = flat.translate(_HEX)
        if _BARRIER in folded[:SMALL]:
            folded = folded.replace(_BARRIER, b"\n")
        sample = folded[:SMALL].split(b"\n")
        self.has_lines = len(sample) > 2 * len(set(sample))
        parts = folded.split(b"\n") if self.has_lines else folded.translate(_WORDS).split()
        self.folded = b"\n".join([b"", *set(parts)]).decode("ascii")


class Needles(Generic[_T]):
    """Texts of which each stands for something that a flat text can only hold together with it."""

    def __init__(self) -> None:
        self._all: list[tuple[str, _T]] = []
        self._by_start: dict[bytes, list[tuple[str, _T]]] = {}
        self._anyhow: list[tuple[str, _T]] = []
        """Those that no start of a word tells."""
        self._starts: frozenset[bytes] = frozenset()

    def add(self, text: str, meaning: _T, *, starts_word: bool) -> None:
        """Add a text and what it stands for.

        Args:
            text: It holds no `z` among the first letters of a word.
            meaning: What it stands for.
            starts_word: Whether it only counts where a word starts, if it begins with a letter.
        """
        self._all.append((text, meaning))
        start = start_of(text) if starts_word or not text[0].isalpha() else b""
        (self._by_start.setdefault(start, []) if start else self._anyhow).append((text, meaning))
        self._starts = frozenset(self._by_start)

    def held(self, flat: str, starts: set[bytes] | None, words: Words | None = None) -> list[_T]:
        """Return what those stand for that a flat text holds, in no order.

        Args:
            flat: The text.
            starts: How its words start; None: not known.
            words: What else is known of them.
        """
        if starts is None:
            return [one for text, one in self._all if (words is None or words.may_hold(text)) and text in flat]
        found: list[_T] = []
        for text, one in self._anyhow:
            if text in flat:
                found.append(one)  # for few a list of its own costs more
        for start in self._starts & starts:
            found += [one for text, one in self._by_start[start] if text in flat]
        return found


def word_starts(flat: bytes) -> set[bytes] | None:
    """Return how the words of a flat text start; None when one may start within what looks like a word."""
    starts = set(map(_start, flat.translate(_LETTERS).split()))
    return starts if starts.isdisjoint(_HIDING) and not (b"at" in starts and b"at 0x" in flat) else None


def start_of(needle: str) -> bytes:
    """Return how the first word within a needle starts; empty where that cannot be told."""
    word = needle.encode("ascii").translate(_LETTERS).split()[:1]
    is_short = not word or (len(word[0]) < _START and needle.endswith(word[0].decode("ascii")))
    return b"" if is_short else word[0][:_START]  # a short one may go on in the text


@cache
def _folded(needle: str) -> str:
    return needle.encode("ascii").translate(_HEX).decode("ascii")


@cache
def _longest_word(needle: str) -> str:
    return max(_folded(needle).encode("ascii").translate(_WORDS).decode("ascii").split(), key=len, default="")
