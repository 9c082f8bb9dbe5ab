"""Masks the files' names in a host's stubs, which say that the output was cut and where all of it is kept."""

from bisect import bisect_left
from itertools import repeat
from operator import itemgetter

from stoic.core.loops.flat_texts import SMALL, starts_of, words_of
from stoic.core.loops.noises import FILES
from stoic.core.loops.searching import Masked
from stoic.core.loops.words import pattern

_CUT = r"\b(?:too (?:large|long|big)|truncated|exceed(?:s|ed))\b"
_KEPT = r"\b(?:saved|written|stored|spilled|dumped|see)\b"
_FULL = r"\bfull (?:text|output|result|log)\b"
_PATH = r"(?:[A-Za-z]:)?[/\\][^\s'\"<>()]+"
"""A host's stub says on one line that the output was cut and where all of it is kept, in a file of this call alone."""
_RARE = 80
"""Where fewer than one in so many characters at the start of a large text is a slash it pays to look before each."""
_last = itemgetter(-1)
_STUB_CHARACTERS = 600
"""No stub is longer; a line may be."""
_STUB_WORDS = ("too ", "truncated", "exceed", "full ")
"""What `_CUT` and `_FULL` match starts with one of these."""
_STUB_STARTS = frozenset(starts_of([word.strip().encode("ascii") for word in _STUB_WORDS]))
"""So do these start, of which one starts a word where there is a stub."""


def mask_stubs(masked: Masked) -> None:
    """Mask the files' names in the stubs of a text."""
    if masked.words is not None and masked.words.isdisjoint(_STUB_STARTS):
        return
    spans = _stubs(masked)
    if masked.words is not None:
        for _, end in spans:  # where a name that goes on was cut, a word may start
            masked.words |= starts_of(words_of(masked.flat[end : end + _STUB_CHARACTERS].encode("ascii")))
    masked.mask(spans, FILES)


def _stubs(masked: Masked) -> list[tuple[int, int]]:
    """Return where in a text the stubs name the files that hold the whole of it."""
    flat, spans = masked.flat, list[tuple[int, int]]()
    if masked.is_varied and not _may_stand_in(flat):
        return spans
    places = sorted([place for word in _STUB_WORDS for place in masked.places(word)])
    while places:
        limit = places[0] + _STUB_CHARACTERS
        end = flat.find("\n", places[0], limit)
        end = limit if end < 0 else end
        line = places[: bisect_left(places, end)]
        places = places[len(line) :]
        spans += [found.span() for found in pattern(_PATH).finditer(masked.text, _kept(flat, line, end), end)]
    return spans


def _may_stand_in(flat: str) -> bool:
    """Tell whether a large text may hold a stub: on a line its words are before a slash, which is found fast."""
    if (flat.count("/", 0, SMALL) + flat.count("\\", 0, SMALL)) * _RARE > SMALL:
        return True
    before = flat.replace("\\", "/").split("/")[:-1]
    told = "\0".join(map(_last, map(str.rpartition, before, repeat("\n"))))
    return any(word in told for word in _STUB_WORDS)


def _kept(flat: str, places: list[int], end: int) -> int:
    """Return where on a line that begins like a stub the name of a file may follow; its end when it is no stub."""
    cut = next((one for place in places if (one := pattern(_CUT).match(flat, place, end))), None)
    kept = pattern(_KEPT).search(flat, cut.end(), end) if cut else None
    kept = kept or next((one for place in places if (one := pattern(_FULL).match(flat, place, end))), None)
    return kept.end() if kept else end
