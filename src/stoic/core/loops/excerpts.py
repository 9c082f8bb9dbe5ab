"""Takes from a text the lines on which something with a digit may be labelled, and puts them back."""

from itertools import accumulate, pairwise

from stoic.core.loops.searching import Searched

_GAP = "\n\0 \0\n"
"""Stands between lines that are not neighbours; no expression of `noise_expressions` matches across it."""
_BETWEEN = b" \t\r\f\v\x1c\x1d\x1e\x1f\"'<>:=?"
_BLANK = b" \t\r\f\v\x1c\x1d\x1e\x1f?"
_OPENING = tuple(
    start.encode()
    for start in (
        *("0", "is", "for", "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"),
        *("mon", "tue", "wed", "thu", "fri", "sat", "sun"),
    )
)
"""How a value with a digit, or a separator that ends in a word, starts in a flat text."""
_FIRST = frozenset(start[:1] for start in _OPENING)
_VERDICTS = frozenset((b"", b"ok", b"fail"))
"""What may stand alone on the line above a line that goes on with it; above an empty line, too."""
_WORTHWHILE_LINES = 20


class Excerpt:
    """The lines of a text that matter for expressions whose matches hold a digit; the whole text when most do.

    Those are the lines with a digit; before one, when only a separator precedes its first digit, two lines that are
    not blank (`time`, `:`, `5`); and after one that a digit ends, the next line (`5`, `ms`).
    """

    def __init__(self, seen: Searched) -> None:
        self._groups: list[str] = []
        self.seen = seen
        """What to search and mask."""
        lines = seen.flat.split(b"\n")
        if len(lines) < _WORTHWHILE_LINES or seen.foreign or b"\0" in seen.flat:
            return
        if 2 * sum([b"0" in line for line in lines]) > len(lines):
            return
        chosen = _chosen(lines)
        ends = list(accumulate([len(line) + 1 for line in lines], initial=0))
        self._groups = [seen.text[ends[start] : ends[end]] for start, end in pairwise(_turns(chosen))]
        self.seen = Searched(_GAP.join(self._groups[1::2]))

    def restored(self) -> str:
        """Return the whole text with what was masked in the excerpt."""
        if not self._groups:
            return self.seen.text
        parts = self._groups
        if len(parts) > 1:
            parts[1::2] = self.seen.text.split(_GAP)
        return "".join(parts)


def _turns(chosen: bytearray) -> list[int]:
    """Return where lines left out and lines chosen take turns; those left out are first, and may be none."""
    turns = [0]
    while turns[-1] < len(chosen):
        end = chosen.find(len(turns) % 2, turns[-1])
        turns.append(len(chosen) if end < 0 else end)
    return turns


def _chosen(lines: list[bytes]) -> bytearray:
    """Mark the lines that matter with 1."""
    chosen = bytearray(len(lines))
    for place, line in enumerate(lines):
        if b"0" in line:
            chosen[place] = 1
            if line.endswith(b"0") and place + 1 < len(lines):
                chosen[place + 1] = 1
            start = line.lstrip(_BETWEEN)
            if (start[:1] in _FIRST and start.startswith(_OPENING)) or _continues(lines, place):
                _choose_before(lines, place, chosen)
    return chosen


def _continues(lines: list[bytes], place: int) -> bool:
    """Tell whether a line may go on with what a test runner's lone `ok` or `FAIL` above it begins."""
    return place > 0 and lines[place - 1].strip(_BLANK) in _VERDICTS


def _choose_before(lines: list[bytes], place: int, chosen: bytearray) -> None:
    """Mark the two lines before one that are not blank, and the blank ones between."""
    left = 2
    while left and place > 0:
        place -= 1
        chosen[place] = 1
        left -= bool(lines[place].strip(_BLANK))
