"""Finds and masks noise in texts; fast, since most kinds are ruled out by words that a text does not hold."""

from __future__ import annotations

import re
from functools import cache, reduce
from itertools import chain
from typing import TYPE_CHECKING

import msgspec

from stoic.core.loops.flat_texts import SMALL, flat_bytes, folded, repeated_lines, starts_of, starts_of_word, words_of
from stoic.core.loops.labels import Labels
from stoic.core.loops.needles import Needles, beside, places
from stoic.core.loops.words import pattern

if TYPE_CHECKING:
    from collections.abc import Iterable

BARRIER = "\n\0 \0\n"
"""Stands between texts that are masked as one; no expression of `noise_expressions` matches across it."""

_ENDS = ("(?![a-z])", r"\b")
"""Expressions of what ends a value: it does so, too, where what follows is masked."""
_DENSE = 6
"""Where more than one in so many characters is a digit it pays to look at the words rather than around digits."""
_BEFORE = 50
_APART = bytes([byte if byte in b"abcdefghijklmnopqrstuvwxyz0_" else 32 for byte in range(256)])
"""Keeps what words are made of."""
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_BETWEEN = ("is", "at", "id", "for", "time", *MONTHS, *WEEKDAYS, *[f"{day}," for day in WEEKDAYS])
"""The words that may stand between a label and the first digit of its value."""
_JOINED = ("edat", "sentat", "processid")
"""How labels end that are written as one word with one of these."""


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
    lines: tuple[str, ...] = ()
    """One of these starts a line with a match; the needles tell it, unless given."""
    initial: bool = False
    """Whether a needle that begins with a letter, like a word, counts only where a word starts."""
    near: bool = False
    """Whether a value starts with a digit, but for names of days and months before it."""
    wordy: bool = False
    """Whether any letters may stand between a word and a near value, not only some words."""
    never_after: tuple[str, ...] = ()
    """What must not stand before the words."""
    after: tuple[str, ...] = ()
    """Words of which one must end in the 40 characters before a match, on its line."""
    unlike: str = ""
    """An expression of what is not masked, matched against the text itself; nothing else tells digits from each other."""
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
        self._ways = [(place, word) for place, noise in enumerate(self._noises) for word in noise.words or ("",)]
        """A kind of noise, by its place, and one of its words."""
        self._searches: dict[int, re.Pattern[str]] = {}
        self._leads: dict[int, re.Pattern[str]] = {}
        self._needles = Needles[int]()
        """What stands for each way of noise, by its place."""
        self._before: list[tuple[str, int]] = []
        """The same, those that stand before digits."""
        self._after: list[tuple[str, int]] = []
        self._anywhere: list[tuple[str, int]] = []
        self._beside: dict[str, list[tuple[str, int]]] = {"-": [], "/": []}
        """Those with a sign that is seldom in texts."""
        for way, (place, word) in enumerate(self._ways):
            noise = self._noises[place]
            for needle in noise.needles or (word[::-1] if noise.mirrored else word,):
                self._needles.add(needle, way, starts_word=noise.initial or bool(word), lines=noise.lines)
                label, digit, _ = needle.partition("0")
                if noise.near or (digit and label[-2:-1].isalpha()):
                    self._before.append((label, way))
                elif noise.mirrored or (digit and needle[1:].isalpha()):
                    self._after.append((needle, way))
                else:
                    signs = [sign for sign in self._beside if sign in needle]
                    (self._beside[signs[0]] if signs else self._anywhere).append((needle, way))
        wordy = [word for place, word in self._ways if self._noises[place].wordy]
        after = [needle for needle, _ in self._after]
        self._labels = Labels([*_JOINED, *[label for label, _ in self._before]], _BETWEEN, wordy, after)

    def mask(self, masked: Masked) -> None:
        """Mask the noise in a text."""
        found: dict[int, list[re.Pattern[str]]] = {}
        for way in sorted(set(self._held(masked))):
            found.setdefault(self._ways[way][0], []).append(self._searches.get(way) or self._search(way))
        for place, searches in found.items():
            masked.apply(self._noises[place], searches)

    def _held(self, masked: Masked) -> list[int]:
        """Return what ways of noise a text may hold."""
        flat = masked.flat
        if not masked.is_varied:
            return self._needles.held(flat, masked.words, masked.once)
        before = self._labels.before_digits(flat)
        near = [way for label, way in self._before if label in before and self._lead(way).search(before)]
        others = self._anywhere + self._after if self._labels.may_follow(flat) else self._anywhere
        for sign, needles in self._beside.items():
            if needles and beside(sign, tuple([needle for needle, _ in needles])).search(flat):
                others = others + needles
        return near + [way for needle, way in others if needle in flat]

    def _search(self, way: int) -> re.Pattern[str]:
        """Compile the search for a way of noise at its first use."""
        place, word = self._ways[way]
        search = self._searches[way] = _search(self._noises[place], word)
        return search

    def _lead(self, way: int) -> re.Pattern[str]:
        """Return a search for a way of noise in parts of a text, where what stands before and after it may be masked first."""
        lead = self._leads.get(way)
        if lead is None:
            place, word = self._ways[way]
            noise = self._noises[place]
            value = reduce(lambda value, end: value.replace(end, ""), _ENDS, noise.value)
            lead = self._leads[way] = re.compile(_began(word) + noise.between + value)
        return lead


class Masked:
    """A text that begins with a line's end, and what of it has been masked."""

    def __init__(self, text: str) -> None:
        self.written = text.encode("utf-8", "surrogatepass")
        """The text in UTF-8, before anything is masked."""
        flat = flat_bytes(text, self.written)
        self.text = text
        self.flat = flat.decode("ascii")
        """The text as `flatten` returns it, but perhaps with what was masked last."""
        self.noise = 0
        """Which kinds of noise were found, as bits of `noises.NOISES`."""
        self.passes: list[list[tuple[int, int]]] = []
        """What was masked, one after the other, as `without` takes it."""
        self.is_told_by_shape = True
        """Whether the same would be masked if other digits stood in the text."""
        self._masked: list[tuple[int, int]] = []
        """What was masked last, while the flat text still has it."""
        is_large = len(flat) > SMALL
        self.once = repeated_lines(flat) if is_large else None
        """Of a large text each line once, if most occur more often."""
        is_dense = is_large and flat.count(b"0", 0, SMALL) * _DENSE > SMALL
        self.words = None if self.once is not None or (is_large and not is_dense) else starts_of(words_of(flat))
        """How the words start of a text that is small or full of digits."""
        self.is_varied = self.once is None and self.words is None

    def places(self, text: str) -> list[int]:
        """Return where the flat text held another one before anything was masked."""
        if self.once is not None and folded(text) not in self.once:
            return []
        return places(self.flat, text)

    def _may_hold(self, words: tuple[str, ...]) -> bool:
        """Tell whether the text may hold one of some words, where that can be told soon."""
        if self.words is not None:
            return not self.words.isdisjoint(_starts(words))
        return self.once is None or any(folded(word) in self.once for word in words)

    def apply(self, noise: Noise, searches: list[re.Pattern[str]]) -> None:
        """Mask one kind of noise, given the searches for its words that may occur."""
        if noise.after and not self._may_hold(noise.after):
            return
        if self._masked:
            self._settle()
        searched = self.text if noise.cased else self.flat[::-1] if noise.mirrored else self.flat
        found = list(searches[0].finditer(searched))
        if len(searches) > 1:
            found = _apart([*found, *[one for search in searches[1:] for one in search.finditer(searched)]])
        if found:
            self.mask(self._spans(noise, found), noise.bits)

    def mask(self, spans: list[tuple[int, int]], bits: int) -> None:
        """Mask parts of the text, given in order, as a kind of noise."""
        if spans:
            self._masked = spans
            self.passes.append(spans)
            self.text = without(self.text, spans)
            self.noise |= bits

    def _settle(self) -> None:
        self.flat = without(self.flat, self._masked)
        self._masked = []

    def _spans(self, noise: Noise, found: list[re.Match[str]]) -> list[tuple[int, int]]:
        """Return what is to be masked of matches, in order."""
        if noise.lead:
            return [(one.start() - noise.lead, one.end()) for one in found]
        if noise.after:
            found = _following(self.flat, found, noise.after)
        spans = [one.span(1) for one in found]
        if noise.mirrored:
            size = len(self.flat)
            return [(size - end, size - start) for start, end in reversed(spans)]
        if noise.unlike:
            self.is_told_by_shape = False
            unlike = pattern(noise.unlike).match
            return [span for span in spans if not unlike(self.text, *span)]
        return spans


def flatten(text: str) -> str:
    """Return a text, equally long, in small ASCII letters, with `0` for every digit and `?` for what is not ASCII."""
    return flat_bytes(text).decode("ascii")


def without(text: str, spans: list[tuple[int, int]]) -> str:
    """Return a text with a mark in the place of some parts, given in order."""
    kept: list[str] = []
    last = 0
    for start, end in spans:
        kept.append(text[last:start])
        last = end
    kept.append(text[last:])
    return "?".join(kept)


def _search(noise: Noise, word: str) -> re.Pattern[str]:
    """Compile a search for a kind of noise after one of its words."""
    return re.compile(_head(noise, word) + noise.value)


def _head(noise: Noise, word: str) -> str:
    """Return an expression of a word and what follows it; its letters are first, since they are found fast."""
    head = re.escape(word)
    return rf"{head}(?<!\w{head}){_never(noise.never_after, head)}{noise.between}" if word else noise.between


def _began(word: str) -> str:
    """Return an expression of a word, at the start of one or where one may start once something before it is masked.

    That may end with a digit, or as told by `words_of`.
    """
    return rf"{word}(?:(?<![a-y_]{word})|(?<=[a-f]{word})|(?<=gmt{word})|(?<=utc{word}))" if word else ""


def _never(before: tuple[str, ...], word: str) -> str:
    """Return an expression of what must not stand before a word that was just found; mostly its last letter tells."""
    if not before:
        return ""
    ends = "".join({one[-2] for one in before})
    return f"(?>(?<![{ends}] {word})|{''.join([f'(?<!{one}{word})' for one in before])})"


@cache
def _starts(words: tuple[str, ...]) -> frozenset[bytes]:
    return frozenset(chain.from_iterable([starts_of_word(word.encode("ascii")) for word in words]))


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


def _following(flat: str, found: list[re.Match[str]], words: tuple[str, ...]) -> list[re.Match[str]]:
    """Return the matches that stand on a line shortly after one of some words."""
    padded = " " * _BEFORE + flat
    before = [padded[place : place + _BEFORE] for place in [one.start() for one in found]]
    after = {one: _is_after(one, words) for one in set(before)}  # the lines of a log have much the same before a match
    if all(after.values()):
        return found
    return [one for one, text in zip(found, before, strict=True) if after[text]]


def _is_after(text: str, words: tuple[str, ...]) -> bool:
    """Tell whether one of some words stands near a text's end; a look at all its words rules most out sooner."""
    apart = text.encode("ascii").translate(_APART).decode("ascii").split()
    return not frozenset(words).isdisjoint(apart) and _ending(words).search(text) is not None
