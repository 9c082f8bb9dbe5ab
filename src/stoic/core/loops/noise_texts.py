"""Masks in texts what changes without meaning anything: labelled times, durations, process ids, request ids, nonces."""

from functools import cache, lru_cache, reduce
from itertools import chain, islice

import msgspec

from stoic.core.loops.noise_expressions import (
    CLOCK_TIMES,
    CREATED_IDS,
    FAILED,
    LABELLED,
    NAMED,
    STAMPED,
    WITH_REQUEST_IDS,
)
from stoic.core.loops.noises import NONCES
from stoic.core.loops.observation import Nature
from stoic.core.loops.searching import BARRIER, Masked, Noises, without
from stoic.core.loops.stubs import mask_stubs
from stoic.core.loops.words import pattern

_MASKED_CHARACTERS = 100_000
"""Of a longer text only this much at the start and at the end is searched for noise; all of it is hashed."""
_REMEMBERED_CHARACTERS = 400
"""What is noise in a text up to this length is remembered for the next ones with the same shape."""
_AGAIN = 2
"""It is worked out when such a text comes again: most never do."""
_SHAPE = bytes.maketrans(b"123456789", b"0" * 9)
_ENVELOPES = 16
_ESCAPE = r"\x1b\[[0-9;?]*[A-Za-z]"
_TOKEN = r"(?=[A-Za-z]{0,40}\d)[0-9A-Za-z]{6,64}"  # noqa: S105  # the shape of a nonce, no secret

_ENVELOPE = r"</+[\w-]+\s+(\w+)=[\"']([^\"'<>]{4,})[\"']\s*>"
"""A closing tag with an attribute: markup never has one, only a host's envelope with a nonce does."""
_NONCE_TAG = rf"</([A-Za-z][A-Za-z_-]{{0,40}}[-_])({_TOKEN})\s*>"
_MARKED_TAG = r"</(?![A-Za-z]++>)(?:/*[\w-]++\s|[A-Za-z]{1,41}[-_])"
"""The start of one of these two, with a space after a name or a hyphen or the like within: few tags of markup have them.

The look ahead rules out at once what nearly all closing tags are.
"""
_START = "\0\n"
"""Stands before all texts, as the end of a barrier does before each other one."""
_FENCE_MARKS = r"[<\[{=#*~-]"
_FENCED = rf"\0\n{_FENCE_MARKS}{{2}}"
_FENCE = rf"{_FENCE_MARKS}{{2,20}}[A-Za-z _:-]{{0,60}}?(?<![0-9A-Za-z])({_TOKEN})\s?[>\]}}=#*~-]{{2,}}"
"""A line that only marks where foreign content starts or ends, under a name made up for this once."""


class MaskedTexts(msgspec.Struct, frozen=True):
    """Texts without their noise."""

    texts: list[str]
    noise: int
    """Which kinds of noise they held, as bits of `noises.NOISES`."""
    written: bytes | None = None
    """The only text in UTF-8, where that is known: of a long one without noise in it."""


class _Shape(msgspec.Struct):
    """What is noise in texts that differ in digits alone; tools often say the same but for numbers."""

    seen: int = 0
    noise: int = 0
    passes: list[list[tuple[int, int]]] | None = None
    """What is masked, one after the other; None: not known, or other digits may change it."""


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
    noises, many = _noises_of(kind, failed), len(texts) > 1
    if len(joined) <= _REMEMBERED_CHARACTERS:
        shape = _known(joined, noises, many=many)
        if shape.passes is not None:
            text = reduce(without, shape.passes, joined)
            return MaskedTexts(_parted(text, many=many) if shape.passes else bare, shape.noise)
    noise = 0
    if _is_wrapped(joined, many=many):
        clean = [
            (pattern(_ESCAPE).sub("", one) if "\x1b" in one else one).replace("\r\n", "\n").strip() for one in bare
        ]
        bare = [_unfenced(one) for one in clean]
        joined = _START + BARRIER.join(bare)
        noise = 0 if bare == clean else NONCES
    found = _search(joined, noises)
    if found.noise:
        return MaskedTexts(_parted(found.text, many=many), noise | found.noise)
    is_long = not many and len(joined) > _REMEMBERED_CHARACTERS
    return MaskedTexts(bare, noise, found.written[len(_START) :] if is_long else None)


def _known(joined: str, noises: Noises, *, many: bool) -> _Shape:
    """Return what is known of a text's shape."""
    written = joined.encode("utf-8", "surrogatepass").translate(_SHAPE)
    shape = _shape(written, many, noises)
    shape.seen += 1
    if shape.seen == _AGAIN:
        text = written.decode("utf-8", "surrogatepass")
        found = None if _is_wrapped(text, many=many) else _search(text, noises)
        if found and found.is_told_by_shape:
            shape.noise, shape.passes = found.noise, found.passes
    return shape


@lru_cache(maxsize=256)
def _shape(written: bytes, many: bool, noises: Noises) -> _Shape:  # noqa: ARG001, FBT001  # a cache's key
    return _Shape()


def _search(joined: str, noises: Noises) -> Masked:
    masked = Masked(joined)
    mask_stubs(masked)
    noises.mask(masked)
    return masked


def _parted(joined: str, *, many: bool) -> list[str]:
    """Return the texts that were joined."""
    bare = joined[len(_START) :]
    return bare.split(BARRIER) if many else [bare]


def _is_wrapped(joined: str, *, many: bool) -> bool:
    """Tell whether one of some texts may have signs for a terminal, or a host's envelope or fence around it."""
    if "\x1b" in joined or "\r" in joined or ("<" in joined and pattern("<(?=/)").search(joined)):
        return True
    fenced = pattern(_FENCED)
    return (fenced.search(joined) if many else fenced.match(joined)) is not None


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
    if pattern(_MARKED_TAG).search(before):
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
