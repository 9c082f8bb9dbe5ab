"""Masks in a text what changes without meaning anything: labelled times, durations, process ids, request ids, nonces."""

from functools import cache
from itertools import groupby, islice

from stoic.core.loops.excerpts import Excerpt
from stoic.core.loops.noise_expressions import (
    CLOCK_TIMES,
    CREATED_IDS,
    FAILED,
    LABELLED,
    NAMED,
    STAMPED,
    WITH_REQUEST_IDS,
    Noise,
)
from stoic.core.loops.noises import FILES, NONCES
from stoic.core.loops.observation import Nature
from stoic.core.loops.searching import Searched, texts
from stoic.core.loops.words import pattern

_MASKED_CHARACTERS = 100_000
"""Of a longer text only this much at the start and at the end is searched for noise; all of it is hashed."""
_ENVELOPES = 16
_ESCAPE = r"\x1b\[[0-9;?]*[A-Za-z]"
_TOKEN = r"(?=[A-Za-z]{0,40}\d)[0-9A-Za-z]{6,64}"  # noqa: S105  # the shape of a nonce, no secret

_ENVELOPE = r"</+[\w-]+\s+(\w+)=[\"']([^\"'<>]{4,})[\"']\s*>"
"""A closing tag with an attribute: markup never has one, only a host's envelope with a nonce does."""
_NONCE_TAG = rf"</([A-Za-z][A-Za-z_-]{{0,40}}[-_])({_TOKEN})\s*>"
_FENCE = rf"[<\[{{=#*~-]{{2,20}}[A-Za-z _:-]{{0,60}}?(?<![0-9A-Za-z])({_TOKEN})\s?[>\]}}=#*~-]{{2,}}"
"""A line that only marks where foreign content starts or ends, under a name made up for this once."""

_CUT = r"(?i)\b(?:too (?:large|long|big)|truncated|exceed(?:s|ed))\b"
_KEPT = r"(?i)\b(?:saved|written|stored|spilled|dumped|see)\b"
_FULL = r"(?i)\bfull (?:text|output|result|log)\b"
_PATH = r"(?:[A-Za-z]:)?[/\\][^\s'\"<>()]+"
"""A host's stub says on one line that the output was cut and where all of it is kept, in a file of this call alone."""
_STUB = texts("too ", "truncated", "exceed", "full ")
"""Where `_CUT` or `_FULL` may match."""
_STUB_START = r"(?i)\b(?:too|truncated|exceed|full) ?"


def mask_text(text: str, kind: Nature, *, failed: bool) -> tuple[str, int]:
    """Mask the noise in a text.

    Args:
        text: What a tool returned, or a text within it.
        kind: The call's nature; ids are noise where it creates, moments where it reads the clock.
        failed: Whether the tool reported an error; ids and dates of the occurrence are noise then.

    Returns:
        The text, and which kinds of noise it held, as bits of `noises.NOISES`.
    """
    if len(text) > 2 * _MASKED_CHARACTERS:
        head, noise = mask_text(text[:_MASKED_CHARACTERS], kind, failed=failed)
        tail, more = mask_text(text[-_MASKED_CHARACTERS:], kind, failed=failed)
        return head + text[_MASKED_CHARACTERS:-_MASKED_CHARACTERS] + tail, noise | more
    if "\x1b" in text:
        text = pattern(_ESCAPE).sub("", text)
    text, noise = _unfenced(text.replace("\r\n", "\n"))
    seen = Searched(text)
    if _shorten(seen):
        noise |= FILES
    noise |= _masked(seen, NAMED if kind.traced else WITH_REQUEST_IDS)
    excerpt = Excerpt(seen)
    noise |= _masked(excerpt.seen, LABELLED)
    text = excerpt.restored()
    stamped = failed or (kind.effect == "exec" and kind.doing != "read")
    others = _others(failed, stamped, kind.creates, kind.clock)
    if others:
        seen = Searched(text)
        noise |= _masked(seen, others)
        text = seen.text
    return text.strip(), noise


def _masked(seen: Searched, noises: tuple[Noise, ...]) -> int:
    """Mask noises in their order, and return which there were."""
    bits = 0
    for one in noises:
        if seen.may_match(one.hint) and seen.mask(one.expression, one.hint):
            bits |= one.bits
    return bits


@cache
def _others(*chosen: bool) -> tuple[Noise, ...]:
    """Return what is noise for some calls only: ids of errors, stamps of lines, ids of what it made, the time."""
    groups = zip(chosen, (FAILED, STAMPED, CREATED_IDS, CLOCK_TIMES), strict=True)
    return tuple(one for wanted, group in groups if wanted for one in group)


def _unfenced(text: str) -> tuple[str, int]:
    """Mask the nonces of a host's envelope around foreign content."""
    before = text
    for found in islice(pattern(_ENVELOPE).finditer(before), _ENVELOPES):
        text = text.replace(f'{found[1]}="{found[2]}"', f"{found[1]}=?")
    for found in islice(pattern(_NONCE_TAG).finditer(before), _ENVELOPES):
        text = text.replace(found[1] + found[2], f"{found[1]}?")
    whole = before.strip()
    first, _, rest = whole.partition("\n")
    opened = pattern(_FENCE).fullmatch(first.strip()) if rest else None
    closed = pattern(_FENCE).fullmatch(rest.rpartition("\n")[2].strip()) if opened else None
    if opened and closed and opened[1] == closed[1]:
        text = text.replace(opened[1], "?")
    return text, 0 if text == before else NONCES


def _shorten(seen: Searched) -> bool:
    """Mask in the stubs of a text the names of the files that hold the whole of it, and tell whether there were any."""
    text, last, pieces = seen.text, 0, list[str]()
    places = [one.start() for one in pattern(_STUB_START).finditer(text)] if seen.foreign else seen.places(_STUB)
    for start, line in groupby(places, lambda place: text.rfind("\n", 0, place) + 1):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        kept = _kept(text, list(line), end)
        rest, count = pattern(_PATH).subn("?", text[kept:end])
        if count:
            pieces += (text[last:kept], rest)
            last = end
    if pieces:
        seen.replace("".join([*pieces, text[last:]]))
    return bool(pieces)


def _kept(text: str, places: list[int], end: int) -> int:
    """Return where on a line that begins like a stub the name of a file may follow; its end when it is no stub."""
    cut = next((one for place in places if (one := pattern(_CUT).match(text, place, end))), None)
    kept = pattern(_KEPT).search(text, cut.end(), end) if cut else None
    kept = kept or next((one for place in places if (one := pattern(_FULL).match(text, place, end))), None)
    return kept.end() if kept else end
