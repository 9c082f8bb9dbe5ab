"""JSON of strangers as values: tolerant where a strict reader would lose the whole event."""

import json
import re
from typing import cast

import msgspec

from stoic.foreign_json import is_too_deep, read_foreign
from stoic.records import Json

_SURROGATE = re.compile("[\ud800-\udfff]")


class _Object(msgspec.Struct, gc=False):
    """Any JSON object: its content is read, and nothing of it is built."""


_read_object = msgspec.json.Decoder(_Object).decode


def mend(text: str) -> str:
    """Join surrogate pairs that were split between pieces and replace single ones, so that the text is valid UTF-8."""
    if text.isascii() or not _SURROGATE.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def memory_bytes(data: bytes) -> int:
    """Estimate what a JSON text takes once it is read, without reading it: an empty array of two bytes takes 72.

    Characters inside texts count as well, so it is rather too much.
    """
    return len(data) + 64 * (data.count(b",") + data.count(b"[")) + 200 * data.count(b"{")


def read_json(data: bytes, *, mended: bool = True) -> Json:
    """Return the JSON value of the bytes, or their text when they are no JSON.

    Invalid UTF-8 becomes U+FFFD.

    Args:
        data: What came.
        mended: Whether single surrogates are replaced; otherwise they stay, since the other half may come later.
    """
    try:
        return read_foreign(data)
    except msgspec.DecodeError:
        text = data.decode("utf-8", "replace")
    try:
        value = json.loads(text)  # reads what msgspec does not: NaN, single surrogates
    except (ValueError, RecursionError):
        return text
    if is_too_deep(value):
        return text
    return mend_json(value) if mended else value


def mend_json(value: Json) -> Json:
    """Mend every text inside a JSON value."""
    if isinstance(value, str):
        return mend(value)
    if isinstance(value, list):
        return [mend_json(item) for item in cast("list[Json]", value)]
    if isinstance(value, dict):
        return {mend(key): mend_json(item) for key, item in cast("dict[str, Json]", value).items()}
    return value


def is_json_object(text: str) -> bool:
    """Tell whether the text is one whole JSON object, strictly."""
    try:
        _read_object(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return False
    return True
