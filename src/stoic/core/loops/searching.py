"""Finds fast where an expression may match: it is tried only where the literal words of its matches stand."""

import re
from functools import cache
from typing import Literal

import msgspec

from stoic.core.loops.words import pattern

_ASCII = bytes(range(128))
_FLAT = bytes.maketrans(bytes(range(65, 91)) + b"123456789", bytes(range(97, 123)) + b"0" * 9)
"""Small letters for capitals, and `0` for every digit."""
_MARKS = bytes(byte for byte in _ASCII if not chr(byte).islower() and byte != ord("\n"))
_LETTERS = bytes.maketrans(_MARKS, b" " * len(_MARKS))
"""Blanks for all that is neither a small letter nor a line's end."""
_EXOTIC = "[\\d\u017f\u0131\u0130\u212a]"
"""Digits of other scripts, and the letters that equal an ASCII letter when case is ignored."""
_MERGED = tuple(
    label.encode()
    for label in [
        "checked",
        "started",
        "generated",
        "fetched",
        "received",
        "sent",
        "elapsed",
        "duration",
        "latency",
        "uptime",
        "csrf",
        "process",
    ]
)
"""Words after which another may follow without a mark between them, such as in `elapsedMs`."""
_SEAM = 40
"""More letters than the words of all literals have."""


class Hint(msgspec.Struct, frozen=True):
    """Where a match may start: a superset of the places where one does, as literals of the flat text.

    A flat text is equally long, in small ASCII letters, with `0` for every digit and `?` for what is not ASCII.
    """

    literals: tuple[str, ...]
    where: Literal["word", "line", "bare", "expression"] = "word"
    """`word`: matches start with a literal at the start of a word; `line`: with an expression at the start of a line; `bare`: with a literal; `expression`: with an expression."""
    words: frozenset[bytes] = frozenset()
    """Runs of letters of which a text with a match holds one; empty: any."""
    needles: tuple[bytes, ...] = ()
    """Texts of which a flat text with a match holds one; empty: any."""
    offset: int = 0
    """Where a match starts, seen from its literal."""
    reach: int = 0
    """How many characters before its literal a match may start instead."""
    starts: str = ""
    """With a reach: an expression of how such a match starts."""
    back: str = ""
    """With a reach: an expression of all that stands between such a start and the literal, written backwards."""
    digit: bool = True
    """Whether every match holds a digit."""


def labels(*literals: str) -> Hint:
    """Say that every match starts with one of some literals, at the start of a word, and holds a digit."""
    return Hint(literals, words=frozenset(literal.encode().translate(_LETTERS).split()[0] for literal in literals))


def texts(*literals: str) -> Hint:
    """Say that every match starts with one of some literals, and need not hold a digit."""
    return Hint(literals, "bare", needles=tuple(literal.encode() for literal in literals), digit=False)


class Searched:
    """A text and what is known of it: its flat form, its words, and where literals stand in it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._flat: bytes | None = flatten(text)
        self._digits = b"0" in self._flat
        self._places: dict[tuple[str, str], list[int]] = {}
        self._words: set[bytes] = set()
        self.foreign = not text.isascii() and _exotic(text)
        """Whether the flat form misses something that an expression may match; then every place is tried."""

    @property
    def flat(self) -> bytes:
        """The flat form of the text as it is now."""
        if self._flat is None:
            self._flat = flatten(self.text)
        return self._flat

    def mask(self, expression: str, hint: Hint | None) -> bool:
        """Replace in every match what follows its first group by `?`, and tell whether there was one.

        Does exactly what `re.sub` would do with the expression; the hint makes it fast.
        """
        if hint is not None and not self.foreign:
            return self._mask_places(expression, hint)
        text, count = pattern(expression).subn(r"\g<1>?", self.text)
        if count:
            self.replace(text)
        return count > 0

    def places(self, hint: Hint) -> list[int]:
        """Return where a match may start, in order."""
        if not self.may_match(hint):
            return []
        found = [place + hint.offset for literal in hint.literals for place in self._at(literal, hint)]
        if hint.reach:
            found = self._starts(found, hint)
        return sorted(found)

    def may_match(self, hint: Hint | None) -> bool:
        """Tell whether a match is possible at all, as far as that can be told without a search."""
        if hint is None or self.foreign:
            return True
        if hint.digit and not self._digits:
            return False
        if hint.words and self._known_words().isdisjoint(hint.words):
            return False
        flat = self.flat
        for one in hint.needles:
            if one in flat:
                return True
        return not hint.needles

    def replace(self, text: str) -> None:
        """Take the text after parts of it were replaced by `?`."""
        self.text, self._flat = text, None
        self._places.clear()
        self._words.clear()

    def _mask_places(self, expression: str, hint: Hint) -> bool:
        places = self.places(hint)
        if not places:
            return False
        text, last = self.text, 0
        match = pattern(expression).match
        kept: list[str] = []
        for place in places:
            if place >= last and (found := match(text, place)):
                start, end = found.end(1), found.end()
                kept.append(text[last:start])
                last = end
                if self._words and (text[start - 1 : start].isalpha() or text[end : end + 1].isalpha()):
                    self._learn_seam(text, start, end)
        if kept:
            self.text, self._flat = "?".join([*kept, text[last:]]), None
            self._places.clear()
        return bool(kept)

    def _at(self, literal: str, hint: Hint) -> list[int]:
        """Return where a literal stands; at once when it does not."""
        if hint.words and hint.where == "word" and not self._known_words().issuperset(_wording(literal)):
            return []
        found = self._places.get((literal, hint.where))
        if found is None:
            flat = self.flat
            found = [one.start() for one in _finder(literal, hint.where).finditer(flat)]
            if hint.where == "line":
                found = [place + 1 for place in found]
                if _finder(literal, "expression").match(flat):
                    found.insert(0, 0)
            self._places[literal, hint.where] = found
        return found

    def _starts(self, literals: list[int], hint: Hint) -> list[int]:
        """Return where before some literals a match may start."""
        flat = self.flat
        known: dict[bytes, list[int]] = {}  # the lines of a log have much the same before a literal
        found: set[int] = set()
        for place in literals:
            window = flat[max(0, place - hint.reach) : place]
            if window not in known:
                known[window] = _steps_back(window, hint)
            found.update([place - step for step in known[window]])
        return list(found)

    def _known_words(self) -> set[bytes]:
        """Return the runs of letters of the text, and perhaps some that it held before."""
        if not self._words:
            self._learn(self.flat)
        return self._words

    def _learn(self, flat: bytes) -> None:
        lines = set(flat.translate(_LETTERS).split(b"\n"))  # lines of a log differ in digits only
        words = set(b" ".join(lines).split())
        joined = b" " + b" ".join(words)
        self._words |= words
        self._words.update([label for label in _MERGED if b" " + label in joined])
        self._words.add(b"")

    def _learn_seam(self, text: str, start: int, end: int) -> None:
        """Note the words that end or begin where a part of the text becomes a mark."""
        self._learn(flatten(text[max(0, start - _SEAM) : start] + "?" + text[end : end + _SEAM]))


def flatten(text: str) -> bytes:
    """Return a text, equally long, in small ASCII letters, with `0` for every digit and `?` for what is not ASCII."""
    return text.encode("ascii", "replace").translate(_FLAT)


def _steps_back(window: bytes, hint: Hint) -> list[int]:
    """Return how far before the end of a window a match may start."""
    near = hint.reach
    if hint.back:
        behind = _finder(hint.back, "expression").match(window[::-1])
        near = behind.end() if behind else 0
    steps = [len(window) - one.start() for one in _finder(hint.starts, "expression").finditer(window)]
    return [step for step in steps if step <= near]


@cache
def _finder(literal: str, where: str) -> re.Pattern[bytes]:
    """Compile a search that starts with a literal, which is found fast; what must precede it is asked behind it."""
    if where == "expression":
        return re.compile(literal.encode())
    if where == "line":
        return re.compile(b"\n" + literal.encode())
    escaped = re.escape(literal).encode()
    return re.compile(escaped + (b"(?<![a-z0_]" + escaped + b")" if where == "word" else b""))


@cache
def _wording(literal: str) -> frozenset[bytes]:
    """Return the runs of letters of a literal."""
    return frozenset(literal.encode().translate(_LETTERS).split())


def _exotic(text: str) -> bool:
    strange = text.encode("utf-8", "surrogatepass").translate(None, _ASCII).decode("utf-8", "surrogatepass")
    return pattern(_EXOTIC).search(strange) is not None
