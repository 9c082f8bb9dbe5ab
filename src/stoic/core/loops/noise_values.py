"""Masks in a result what changes without meaning anything: fields by their names, texts by their words."""

from functools import lru_cache
from itertools import chain, compress, groupby, islice
from operator import itemgetter

import msgspec
from msgspec.structs import replace

from stoic.core.loops.noise_fields import field_noise, is_http_date, is_timing
from stoic.core.loops.noise_texts import mask_texts
from stoic.core.loops.noises import DURATIONS, NOISES, TIMES
from stoic.core.loops.observation import Nature
from stoic.core.loops.shapes import is_array, is_object
from stoic.core.loops.words import REMEMBERED_CHARACTERS
from stoic.foreign_json import LEVELS, read_foreign
from stoic.records import Json

_REMEMBERED_FIELDS = 1000
_DEPTH = 50
"""Text that is JSON is read as such where no more objects and arrays than this are around it."""
_EXACT = 2.0**63
_sorted = msgspec.json.Encoder(order="sorted").encode
_first = itemgetter(slice(1))
_OPENING = frozenset("{[")
_TEXTS: set[type] = {str}
_CONTAINERS: set[type] = {dict, list}
_PLAIN: set[type] = {int, bool, type(None)}
"""What stays as it is."""
_FLOATS: set[type] = {float}
_NULL = type(None)
_SCALARS: frozenset[type] = frozenset({str, int, float})
_KINDS = (1 << len(NOISES)) - 1
_TIMING, _DATE = _KINDS + 1, 2 * (_KINDS + 1)
"""Marks of a field's name beside the kinds of noise: an object of durations, perhaps the date of an answer."""

_Column = tuple[list[Json], str | int | None, list[str]]
"""Objects, a field of theirs and its values; with None an array and its values."""


class MaskedResult(msgspec.Struct, frozen=True):
    """A result without its noise."""

    source: str | bytes
    """The result as it came; a value as JSON."""
    data: bytes
    """The text, or canonical JSON: what means the same is the same."""
    noise: int
    """Which kinds of noise it held, as bits of `noises.NOISES`."""
    is_text: bool = False


def mask(result: Json, kind: Nature, *, failed: bool) -> MaskedResult:
    """Mask a raw result; JSON written as text is masked by its fields, any other text by its words.

    Args:
        result: What the tool returned: text or any JSON value.
        kind: The call's nature.
        failed: Whether the tool reported an error.
    """
    if failed and kind.traced:
        kind = replace(kind, traced=False)
    source = result if isinstance(result, str) else _written(result)
    value = _opened(source)
    if value is None and isinstance(source, str):
        return _masked_text(source, kind, failed=failed)
    values = _Values(kind, failed=failed)
    root: Json = value if type(value) in _CONTAINERS else [value]
    values.look(root, depth=int(root is value))
    if isinstance(source, str) and values.depth > LEVELS and _parsed(source) is None:
        return _masked_text(source, kind, failed=failed)
    values.mask_texts()
    return MaskedResult(source, _sorted(root if root is value else root[0]), values.noise)


def _masked_text(text: str, kind: Nature, *, failed: bool) -> MaskedResult:
    noisy = mask_texts([text], kind, failed=failed)
    written = noisy.written or noisy.texts[0].encode("utf-8", "surrogatepass")
    return MaskedResult(text, written, noisy.noise, is_text=True)


def _written(value: Json) -> str | bytes:
    """Return a value as JSON; one with lone surrogates, which JSON cannot hold, as Python writes it."""
    try:
        return msgspec.json.encode(value)
    except UnicodeError:
        return repr(value)


def _opened(source: str | bytes) -> Json:
    """Return the object or array that a text is, or None, or what a value was; how deep it is shows when it is looked at."""
    if isinstance(source, bytes):
        return msgspec.json.decode(source)
    if not source.startswith(("{", "[")):
        return None
    try:
        return msgspec.json.decode(source)
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return None


def _parsed(text: str) -> Json:
    """Return the object or array that a text is, or None; one that is nested too deep is text."""
    if not text.startswith(("{", "[")):
        return None
    try:
        return read_foreign(text)
    except msgspec.DecodeError:
        return None


class _Values:
    """Masks one JSON value in place and remembers which kinds of noise it held.

    It goes down level by level, and looks at the values of one field in equal objects together: large results are mostly
    long rows of such.
    """

    def __init__(self, kind: Nature, *, failed: bool) -> None:
        self.noise = 0
        self._kind = kind
        self._failed = failed
        self._marks = _marks(kind)
        self._texts: list[_Column] = []
        self._below: list[Json] = []
        """The objects and arrays one level deeper."""
        self.depth = 0
        """How deep the objects and arrays are that are looked at."""

    def look(self, root: Json, depth: int) -> None:
        """Mask all but the texts in an object or array, and gather these."""
        self._below.append(root)
        self.depth = depth
        while self._below:
            level, self._below = self._below, []
            if len(level) == 1 and is_object(level[0]):
                self._object(level[0])
            else:
                self._level(level)
            self.depth += 1

    def mask_texts(self) -> None:
        """Mask the texts that were gathered."""
        texts: list[str] = list(chain.from_iterable([column for _, _, column in self._texts]))
        noisy = mask_texts(texts, self._kind, failed=self._failed)
        if noisy.texts != texts:
            masked = iter(noisy.texts)
            for holders, key, column in self._texts:
                _put(holders, key, list(islice(masked, len(column))))
        self.noise |= noisy.noise

    def _object(self, one: dict[str, Json]) -> None:
        """Look at an object that no other one on its level is like; what is done for many costs more."""
        for key, value in list(one.items()):
            mark = self._mark(key)
            if not ((mark or value is None) and self._is_done(mark, one, key)):
                self._value(one, key, value)

    def _level(self, level: list[Json]) -> None:
        objects: list[dict[str, Json]] = [one for one in level if type(one) is dict]
        if len(objects) < len(level):
            arrays: list[list[Json]] = [one for one in level if type(one) is list]
            for one in arrays:
                self._column(one, None, one, set(map(type, one)))
        equal: dict[tuple[str, ...], list[dict[str, Json]]] = {}
        for keys, row in groupby(objects, tuple):
            equal.setdefault(keys, []).extend(row)
        for keys, row in equal.items():
            if len(row) == 1:
                self._object(row[0])
            else:
                for key in keys:
                    self._field(row, key)

    def _mark(self, key: str) -> int:
        """Return the mark of a field's name."""
        mark = self._marks.get(key)
        if mark is None:
            mark = _mark(key, self._kind)
            if len(self._marks) < _REMEMBERED_FIELDS and len(key) <= REMEMBERED_CHARACTERS:
                self._marks[key] = mark
        return mark

    def _field(self, objects: list[dict[str, Json]], key: str) -> None:
        """Look at one field of objects that have the same fields."""
        mark = self._mark(key)
        values = list(map(itemgetter(key), objects))
        kinds: set[type] = set(map(type, values))
        if mark & _KINDS and kinds <= _SCALARS:
            self.noise |= mark & _KINDS
            _put(objects, key, ["?"] * len(objects))
            return
        if mark or _NULL in kinds:
            objects = [one for one in objects if not self._is_done(mark, one, key)]
            values = [one[key] for one in objects]
            kinds = set(map(type, values))
        self._column(objects, key, values, kinds)

    def _column(self, holders: list[Json], key: str | None, values: list[Json], kinds: set[type]) -> None:
        """Look at an array's values, or those of one field of objects; both are of some types."""
        if kinds == _TEXTS and (self.depth > _DEPTH or not _may_open(values)):
            self._texts.append((holders, key, values))
        elif kinds <= _CONTAINERS:
            self._below += values
        elif not kinds <= _PLAIN:
            places = (
                compress(range(len(values)), map(float.is_integer, values)) if kinds == _FLOATS else range(len(values))
            )
            for place in places:
                if key is None:
                    self._value(holders, place, values[place])
                else:
                    self._value(holders[place], key, values[place])

    def _value(self, holder: Json, key: str | int, value: Json) -> None:
        """Look at one value among others of other types."""
        if isinstance(value, str):
            inner = _parsed(value) if self.depth <= _DEPTH else None
            if inner is None:
                self._texts.append(([holder], key, [value]))
            else:
                holder[key] = inner
                self._below.append(inner)
        elif isinstance(value, float):
            if value.is_integer() and abs(value) < _EXACT:
                holder[key] = int(value)
        elif is_object(value) or is_array(value):
            self._below.append(value)

    def _is_done(self, mark: int, one: dict[str, Json], key: str) -> bool:
        """Mask a field that is noise, drop one that is null, and tell whether it was either."""
        value = one[key]
        if value is None:
            del one[key]  # absent means the same
        elif mark & _KINDS and type(value) in _SCALARS:
            self.noise |= mark & _KINDS
            one[key] = "?"
        elif mark & _TIMING and is_object(value):
            self.noise |= DURATIONS
            one[key] = sorted(value)
        elif mark & _DATE and isinstance(value, str) and is_http_date(value):
            self.noise |= TIMES
            one[key] = "?"
        else:
            return False
        return True


@lru_cache(maxsize=32)
def _marks(kind: Nature) -> dict[str, int]:  # noqa: ARG001  # a cache's key
    """Return the marks of fields seen before in results of such calls."""
    return {}


def _mark(key: str, kind: Nature) -> int:
    """Return what a field's name says: which noise its value is, and what else its value may be."""
    mark = field_noise(key, kind)
    if key.lower() == "date":
        mark |= _DATE
    return mark | _TIMING if is_timing(key) else mark


def _may_open(texts: list[str]) -> bool:
    """Tell whether one of some texts starts like an object or array; most hold no such sign at all."""
    joined = "".join(texts)
    return ("{" in joined or "[" in joined) and not _OPENING.isdisjoint(map(_first, texts))


def _put(holders: list[Json], key: str | int | None, values: list[str]) -> None:
    """Put a column's values in the place of those that it had."""
    if key is None:
        holders[:] = values
    else:
        for holder, value in zip(holders, values, strict=True):
            holder[key] = value
