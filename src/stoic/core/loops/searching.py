"""Finds and masks noise in texts; fast, since most kinds are ruled out by words that a text does not hold."""

from __future__ import annotations

import re
from functools import cache
from itertools import chain, compress
from typing import TYPE_CHECKING

import msgspec

from stoic.core.loops.words import pattern

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

BARRIER = "\n\0 \0\n"
"""Stands between texts that are masked as one; no expression of `noise_expressions` matches across it."""

_FLAT = bytes.maketrans(bytes(range(65, 91)) + b"123456789", bytes(range(97, 123)) + b"0" * 9)
_ALIKE = {"\xa0": " ", "\u202f": " ", "µ": "u", "\u03bc": "u"}
"""Blanks that stand before units, and the two signs for micro."""
_LETTERS = bytes(byte if chr(byte).islower() else 32 for byte in range(128)) + bytes(128)
_HEX = "abcdef"
"""No needle consists of these alone."""
_SEPARATORS = " \t\r\n\f\v\x1c\x1d\x1e\x1f\"':=<>"
_NEAR = 48
"""More characters than a label has together with what may stand between it and its value, separators left out."""
_SMALL = 8000
_SPARSE = 100
"""Where fewer than one in so many characters is a digit it pays to look before each."""
_BEFORE = 50
_NAMES = r"(?:[a-z]{3},? {0,2}){0,2}"
"""Of a day and a month, before the digits of a date."""
_Which = tuple[int, str]
"""A kind of noise, by its place, and one of its words."""


class Noise(msgspec.Struct, frozen=True):
    """One kind of noise in texts: what the first group of its expression matches is masked."""

    bits: int
    """Which noise it is, as a bit of `noises.NOISES`."""
    value: str
    """An expression, searched in flat texts that begin with a line's end."""
    words: tuple[str, ...] = ()
    """What stands before the value: one of these, at the start of a word."""
    between: str = ""
    """An expression of what parts the word from the value."""
    needles: tuple[str, ...] = ()
    """One of these is in every flat text with a match; the words, unless given."""
    near: bool = False
    """Whether a value starts with a digit, but for names of days and months before it."""
    never_after: tuple[str, ...] = ()
    """What must not stand before the words."""
    after: tuple[str, ...] = ()
    """Words of which one must end in the 40 characters before a match, on its line."""
    unlike: str = ""
    """An expression of what is not masked, matched against the text itself."""
    lead: int = 0
    """How many characters before a match are masked together with all of it, instead of the first group."""
    cased: bool = False
    """Whether the text itself is searched, not its flat form."""
    mirrored: bool = False
    """Whether words and expression are written backwards, since the words stand after the value."""


class Noises:
    """Kinds of noise that are masked one after the other; those that cannot occur in a text cost next to nothing."""

    def __init__(self, noises: Iterable[Noise]) -> None:
        self._noises = tuple(noises)
        self._searches: dict[_Which, re.Pattern[str]] = {}
        self._leads: dict[_Which, re.Pattern[str]] = {}
        self._anywhere = _Needles()
        self._near = _Needles()
        """What must stand shortly before a digit."""
        for place, noise in enumerate(self._noises):
            wanted = self._near if noise.near else self._anywhere
            for word in noise.words or ("",):
                for needle in noise.needles or (word[::-1] if noise.mirrored else word,):
                    wanted.add(needle, (place, word))

    def mask(self, masked: Masked) -> None:
        """Mask the noise in a text."""
        found: dict[int, list[re.Pattern[str]]] = {}
        for one in self._held(masked):
            search = self._searches.get(one)
            if search is None:
                search = self._searches[one] = _search(self._noises[one[0]], one[1])
            found.setdefault(one[0], []).append(search)
        for place in sorted(found):
            masked.apply(self._noises[place], found[place])

    def _held(self, masked: Masked) -> list[_Which]:
        """Return what kinds of noise a text may hold, each with one of its words."""
        held = self._anywhere.held(masked)
        if not masked.digits:
            return held
        if masked.words is not None or len(masked.flat) <= _SMALL:
            return held + self._near.held(masked)
        before = masked.before_digits()
        return held + [one for one in self._near.within(before) if self._lead(one).search(before)]

    def _lead(self, which: _Which) -> re.Pattern[str]:
        """Return a search for what stands before a digit where there is such noise."""
        lead = self._leads.get(which)
        if lead is None:
            lead = self._leads[which] = re.compile(_head(self._noises[which[0]], which[1]) + _NAMES + r"(?=\0)")
        return lead


class _Needles:
    """Texts of which each stands for something that a text can only hold together with it."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._runs: list[str] = []
        """The longest run of letters of each."""
        self._which: list[_Which] = []

    def add(self, text: str, which: _Which) -> None:
        """Add what stands for a kind of noise and one of its words."""
        self._texts.append(text)
        self._runs.append(_longest_run(text))
        self._which.append(which)

    def within(self, text: str) -> list[_Which]:
        """Return what those stand for that a text holds."""
        return list(compress(self._which, map(text.__contains__, self._texts)))

    def held(self, masked: Masked) -> list[_Which]:
        """Return what those stand for that the flat form of a text holds."""
        if masked.words is None:
            return self.within(masked.flat)
        known = compress(zip(self._texts, self._which, strict=True), map(masked.words.__contains__, self._runs))
        return [which for text, which in known if text in masked.flat]


class Masked:
    """A text that begins with a line's end, and what of it has been masked."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.flat = flatten(text)
        """The text as `flatten` returns it, but perhaps with what was masked last."""
        self.noise = 0
        """Which kinds of noise were found, as bits of `noises.NOISES`."""
        self._ends: list[int] = []
        """Where the parts that were masked last start and end, while the flat text still has them."""
        self.digits = self.flat.count("0")
        dense = len(text) > _SMALL and self.digits * _SPARSE > len(text)
        self.words = _words(self.flat) if dense else None
        """For a long text full of digits: a text that holds each of its words once."""

    def before_digits(self) -> str:
        """Return what stands before the digits, each time ended by a zero byte; of many separators only the first."""
        near: list[str] = []
        for piece in set(self.flat.split("0")):
            label = piece.rstrip(_SEPARATORS)
            near.append(label[-_NEAR:] + piece[len(label) : len(label) + _NEAR])
        return "\0".join([*near, ""])

    def held(self, texts: Iterable[str]) -> list[str]:
        """Return those of some texts that the flat text held before anything was masked."""
        words, flat = self.words, self.flat
        if words is None:
            return [text for text in texts if text in flat]
        return [text for text in texts if _longest_run(text) in words and text in flat]

    def apply(self, noise: Noise, searches: list[re.Pattern[str]]) -> None:
        """Mask one kind of noise, given the searches for its words that may occur."""
        if noise.after and len(self.flat) > _SMALL and not self.held(noise.after):
            return
        if self._ends:
            self._settle()
        searched = self.text if noise.cased else self.flat[::-1] if noise.mirrored else self.flat
        found = list(searches[0].finditer(searched))
        if len(searches) > 1:
            found = _apart([*found, *[one for search in searches[1:] for one in search.finditer(searched)]])
        if found:
            spans = self._spans(noise, found)
            if spans:
                self.mask(spans, noise.bits)

    def mask(self, spans: Sequence[tuple[int, int]], bits: int) -> None:
        """Mask parts of the text, given in order, as a kind of noise."""
        self._ends = [0, *chain.from_iterable(spans), len(self.text)]
        self.text = _without(self.text, self._ends)
        self.noise |= bits

    def _settle(self) -> None:
        self.flat = _without(self.flat, self._ends)
        self._ends = []

    def _spans(self, noise: Noise, found: list[re.Match[str]]) -> list[tuple[int, int]]:
        """Return what is to be masked of matches, in order."""
        if noise.lead:
            return [(one.start() - noise.lead, one.end()) for one in found]
        if noise.after:
            found = _following(self.flat, found, _ending(noise.after))
        spans = [one.span(1) for one in found]
        if noise.mirrored:
            size = len(self.flat)
            return [(size - end, size - start) for start, end in reversed(spans)]
        if noise.unlike:
            unlike = pattern(noise.unlike).match
            return [span for span in spans if not unlike(self.text, *span)]
        return spans


def flatten(text: str) -> str:
    """Return a text, equally long, in small ASCII letters, with `0` for every digit and `?` for what is not ASCII."""
    if not text.isascii():
        for one, other in _ALIKE.items():
            if one in text:
                text = text.replace(one, other)
    return text.encode("ascii", "replace").translate(_FLAT).decode("ascii")


def _words(flat: str) -> str:
    """Return a text that holds each word of a long one once, but for such as are parts of hexadecimal numbers."""
    sample = flat[:_SMALL].split("\n")
    if len(sample) > 2 * len(set(sample)):
        flat = "\n".join(set(flat.split("\n")))
    words = set(flat.encode("ascii").translate(_LETTERS, b"0").decode("ascii").split())
    return " ".join([word for word in words if word.strip(_HEX)])


def _without(text: str, ends: list[int]) -> str:
    return "?".join([text[start:end] for start, end in zip(ends[::2], ends[1::2], strict=True)])


@cache
def _longest_run(text: str) -> str:
    """Return the longest run of letters of a text."""
    return max(pattern(r"[a-z]*").findall(text), key=len)


def _search(noise: Noise, word: str) -> re.Pattern[str]:
    """Compile a search for a kind of noise after one of its words."""
    return re.compile(_head(noise, word) + noise.value)


def _head(noise: Noise, word: str) -> str:
    """Return an expression of a word and what follows it; its letters are first, since they are found fast."""
    head = re.escape(word)
    return rf"{head}(?<!\w{head}){_never(noise.never_after, head)}{noise.between}" if word else noise.between


def _never(before: tuple[str, ...], word: str) -> str:
    """Return an expression of what must not stand before a word that was just found; mostly its last letter tells."""
    if not before:
        return ""
    ends = "".join({one[-2] for one in before})
    return f"(?:(?<![{ends}] {word})|{''.join([f'(?<!{one}{word})' for one in before])})"


@cache
def _ending(words: tuple[str, ...]) -> re.Pattern[str]:
    """Compile a search for one of some words near the end of a text."""
    return re.compile(rf"\b(?:{'|'.join(words)})\b[^\n]{{0,40}}\Z")


def _apart(found: list[re.Match[str]]) -> list[re.Match[str]]:
    """Return matches in order; of those that overlap the first."""
    kept, last = list[re.Match[str]](), 0
    for one in sorted(found, key=lambda match: match.start()):
        if one.start() >= last:
            kept.append(one)
            last = one.end()
    return kept


def _following(flat: str, found: list[re.Match[str]], ending: re.Pattern[str]) -> list[re.Match[str]]:
    """Return the matches that stand shortly after what an expression finds at the end of a text."""
    known: dict[str, bool] = {}  # the lines of a log have much the same before a match
    kept: list[re.Match[str]] = []
    for one in found:
        before = flat[max(0, one.start() - _BEFORE) : one.start()]
        if before not in known:
            known[before] = ending.search(before) is not None
        if known[before]:
            kept.append(one)
    return kept
