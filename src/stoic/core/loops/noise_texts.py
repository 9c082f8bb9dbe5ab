"""Masks in texts what changes without meaning anything: labelled times, durations, process ids, request ids, nonces."""

from bisect import bisect_left
from functools import cache, lru_cache, reduce
from itertools import chain, islice

import msgspec

from stoic.core.loops.flat_texts import starts_of, words_of
from stoic.core.loops.noise_expressions import (
    CLOCK_TIMES,
    CREATED_IDS,
    FAILED,
    LABELLED,
    NAMED,
    STAMPED,
    WITH_REQUEST_IDS,
)
from stoic.core.loops.noises import FILES, NONCES
from stoic.core.loops.observation import Nature
from stoic.core.loops.searching import BARRIER, Masked, Noises
from stoic.core.loops.words import pattern

_MASKED_CHARACTERS = 100_000
"""Of a longer text only this much at the start and at the end is searched for noise; all of it is hashed."""
_ENVELOPES = 16
_ESCAPE = r"\x1b\[[0-9;?]*[A-Za-z]"
_TOKEN = r"(?=[A-Za-z]{0,40}\d)[0-9A-Za-z]{6,64}"  # noqa: S105  # the shape of a nonce, no secret

_ENVELOPE = r"</+[\w-]+\s+(\w+)=[\"']([^\"'<>]{4,})[\"']\s*>"
"""A closing tag with an attribute: markup never has one, only a host's envelope with a nonce does."""
_NONCE_TAG = rf"</([A-Za-z][A-Za-z_-]{{0,40}}[-_])({_TOKEN})\s*>"
_START = "\0\n"
"""Stands before all texts, as the end of a barrier does before each other one."""
_FENCE_MARKS = r"[<\[{=#*~-]"
_FENCED = rf"\0\n{_FENCE_MARKS}{{2}}"
_FENCE = rf"{_FENCE_MARKS}{{2,20}}[A-Za-z _:-]{{0,60}}?(?<![0-9A-Za-z])({_TOKEN})\s?[>\]}}=#*~-]{{2,}}"
"""A line that only marks where foreign content starts or ends, under a name made up for this once."""

_CUT = r"\b(?:too (?:large|long|big)|truncated|exceed(?:s|ed))\b"
_KEPT = r"\b(?:saved|written|stored|spilled|dumped|see)\b"
_FULL = r"\bfull (?:text|output|result|log)\b"
_PATH = r"(?:[A-Za-z]:)?[/\\][^\s'\"<>()]+"
"""A host's stub says on one line that the output was cut and where all of it is kept, in a file of this call alone."""
_STUB_CHARACTERS = 600
"""No stub is longer; a line may be."""
_STUB_WORDS = ("too ", "truncated", "exceed", "full ")
"""What `_CUT` and `_FULL` match starts with one of these."""
_STUB_STARTS = frozenset(starts_of([word.strip().encode("ascii") for word in _STUB_WORDS]))
"""So do these start, of which one starts a word where there is a stub."""


class MaskedTexts(msgspec.Struct, frozen=True):
    """Texts without their noise."""

    texts: list[str]
    noise: int
    """Which kinds of noise they held, as bits of `noises.NOISES`."""


def mask_texts(texts: list[str], kind: Nature, *, failed: bool) -> MaskedTexts:
    """Mask the noise in texts, each for itself; many cost little more than one that is as long as all.

    Args:
        texts: What a tool returned, or the texts within it.
        kind: The call's nature; ids are noise where it creates, moments where it reads the clock.
        failed: Whether the tool reported an error; ids and dates of the occurrence are noise then.
    """
    if not texts:
        return MaskedTexts([], 0)
    most = 2 * _MASKED_CHARACTERS
    if max(map(len, texts)) <= most:
        return _masked(texts, kind, failed=failed)
    ends = [(one[:_MASKED_CHARACTERS], one[-_MASKED_CHARACTERS:]) if len(one) > most else (one,) for one in texts]
    found = _masked(list(chain.from_iterable(ends)), kind, failed=failed)
    parts = iter(found.texts)
    whole = [
        next(parts) + one[_MASKED_CHARACTERS:-_MASKED_CHARACTERS] + next(parts) if len(one) > most else next(parts)
        for one in texts
    ]
    return MaskedTexts(whole, found.noise)


def _masked(texts: list[str], kind: Nature, *, failed: bool) -> MaskedTexts:
    """Mask texts of which none is too long, as one text with barriers."""
    bare = [one.strip() for one in texts]
    joined = _START + BARRIER.join(bare)
    if len(texts) > 1 and joined.count("\0") != len(texts) * BARRIER.count("\0") - 1:
        alone = [_masked([one], kind, failed=failed) for one in texts]
        return MaskedTexts([one.texts[0] for one in alone], reduce(lambda bits, one: bits | one.noise, alone, 0))
    noise = 0
    fenced = pattern(_FENCED).match if len(texts) == 1 else pattern(_FENCED).search
    if "\x1b" in joined or "\r" in joined or ("<" in joined and _closing(joined)) or fenced(joined):
        clean = [pattern(_ESCAPE).sub("", one).replace("\r\n", "\n").strip() for one in bare]
        bare = [_unfenced(one) for one in clean]
        joined = _START + BARRIER.join(bare)
        noise = 0 if bare == clean else NONCES
    masked = Masked(joined)
    if masked.words is None or not masked.words.isdisjoint(_STUB_STARTS):
        _mask_stubs(masked)
    _noises_of(kind, failed).mask(masked)
    if masked.noise:
        text = masked.text[len(_START) :]
        bare = text.split(BARRIER) if len(texts) > 1 else [text]
    return MaskedTexts(bare, noise | masked.noise)


@lru_cache(maxsize=256)
def _noises_of(kind: Nature, failed: bool) -> Noises:  # noqa: FBT001  # a cache's key
    """Return what is noise in the result of such a call."""
    stamped = failed or (kind.effect == "exec" and kind.doing != "read")
    return _noises(kind.traced, failed, stamped, kind.creates, kind.clock)


@cache
def _noises(traced: bool, failed: bool, stamped: bool, creates: bool, clock: bool) -> Noises:  # noqa: FBT001  # a cache's key
    """Return what is noise: request ids unless they are the data, and for some calls also ids and times."""
    groups = zip((failed, stamped, creates, clock), (FAILED, STAMPED, CREATED_IDS, CLOCK_TIMES), strict=True)
    others = chain.from_iterable([group for wanted, group in groups if wanted])
    return Noises([*(NAMED if traced else WITH_REQUEST_IDS), *LABELLED, *others])


def _unfenced(text: str) -> str:
    """Mask the nonces of a host's envelope around foreign content."""
    before = text
    for found in islice(pattern(_ENVELOPE).finditer(before), _ENVELOPES):
        text = text.replace(f'{found[1]}="{found[2]}"', f"{found[1]}=?")
    for found in islice(pattern(_NONCE_TAG).finditer(before), _ENVELOPES):
        text = text.replace(found[1] + found[2], f"{found[1]}?")
    first, _, rest = before.partition("\n")
    opened = pattern(_FENCE).fullmatch(first.strip()) if rest else None
    closed = pattern(_FENCE).fullmatch(rest.rpartition("\n")[2].strip()) if opened else None
    if opened and closed and opened[1] == closed[1]:
        text = text.replace(opened[1], "?")
    return text


def _closing(text: str) -> bool:
    """Tell whether a text has a closing tag; a search for an expression finds it faster than one for a text."""
    return pattern("</").search(text) is not None


def _mask_stubs(masked: Masked) -> None:
    """Mask the files' names in the stubs of a text."""
    spans = _stubs(masked)
    if masked.words is not None:
        for _, end in spans:  # where a name that goes on was cut, a word may start
            masked.words |= starts_of(words_of(masked.flat[end : end + _STUB_CHARACTERS].encode("ascii")))
    masked.mask(spans, FILES)


def _stubs(masked: Masked) -> list[tuple[int, int]]:
    """Return where in a text the stubs name the files that hold the whole of it."""
    flat, spans = masked.flat, list[tuple[int, int]]()
    places = sorted([place for word in _STUB_WORDS for place in masked.places(word)])
    while places:
        limit = places[0] + _STUB_CHARACTERS
        end = flat.find("\n", places[0], limit)
        end = limit if end < 0 else end
        line = places[: bisect_left(places, end)]
        places = places[len(line) :]
        spans += [found.span() for found in pattern(_PATH).finditer(masked.text, _kept(flat, line, end), end)]
    return spans


def _kept(flat: str, places: list[int], end: int) -> int:
    """Return where on a line that begins like a stub the name of a file may follow; its end when it is no stub."""
    cut = next((one for place in places if (one := pattern(_CUT).match(flat, place, end))), None)
    kept = pattern(_KEPT).search(flat, cut.end(), end) if cut else None
    kept = kept or next((one for place in places if (one := pattern(_FULL).match(flat, place, end))), None)
    return kept.end() if kept else end
