"""Reads JSON values whose shape is not known: a wrong type is an absent value, never an exception."""

import re
from collections.abc import Iterable
from typing import Any

import msgspec

from stoic.foreign_json import read_foreign
from stoic.records import Json

_BLANKS = " \t\r\n"
_SHORT_WORD = re.compile(r"[A-Za-z0-9._:/#-]{1,64}")


def mapping(value: Json) -> dict[str, Any]:
    """Return the value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}  # pyright: ignore[reportUnknownVariableType] -- JSON's keys are texts


def items(value: Json) -> list[Any]:
    """Return the value if it is an array, else an empty one."""
    return value if isinstance(value, list) else []  # pyright: ignore[reportUnknownVariableType] -- elements are JSON


def text(value: Json) -> str:
    """Return the value if it is a string, else an empty one."""
    return value if isinstance(value, str) else ""


def word(value: Json) -> str:
    """Return a code-like value as text: a string or a whole number; anything else is empty."""
    if isinstance(value, bool):
        return ""
    return value if isinstance(value, str) else str(value) if isinstance(value, int) else ""


def number(value: Json) -> float | None:
    """Return a number, also one written as a string; None if it is none or not finite."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    if isinstance(value, str) and value[:1].isalpha():  # words are common, and an exception is slow
        return None
    try:
        found = float(value)
    except (ValueError, OverflowError):
        return None
    return found if abs(found) < 1e15 else None  # noqa: PLR2004 -- beyond any time or count; also stops infinity and NaN


def at(value: Json, *path: str) -> Json:
    """Return what stands at a path of object keys, or None."""
    for key in path:
        value = mapping(value).get(key)
    return value


def holds_one(pieces: Iterable[str], value: str) -> bool:
    """Return whether one of the pieces stands in a text: a cheap look before an exact pattern."""
    for piece in pieces:  # noqa: SIM110 -- `any` of a generator takes three times as long
        if piece in value:
            return True
    return False


def shortened(value: str) -> str:
    """Return a value as evidence shows it: one line, at most 120 characters."""
    line = " ".join(value.split())
    return line if len(line) <= 120 else line[:119] + "…"  # noqa: PLR2004 -- the number of the sentence above


def code_like(value: str) -> str:
    """Return the value if it looks like a code, else an empty string: what is content does not become evidence."""
    return value if _SHORT_WORD.fullmatch(value) else ""


def fold(code: str) -> str:
    """Return a code without case and separators: `RateLimitError`, `rate_limit_error` → `ratelimiterror`."""
    joined = code.replace("_", "")  # most codes have no other separator
    return (joined if joined.isalnum() else "".join(filter(str.isalnum, code))).lower()


def filtered_names(value: Json) -> list[str]:
    """Return the names of an object's entries that say `filtered: true` or `blocked: true`, by name as Azure sends them."""
    return [
        name
        for name, entry in (sorted(mapping(value).items()) if value else ())
        if mapping(entry).get("filtered") is True or mapping(entry).get("blocked") is True
    ]


def decoded(value: Json) -> Json:
    """Return the value of a text that is JSON, else the value itself; servers keep a connection alive with blanks before it."""
    if isinstance(value, str) and value.lstrip(_BLANKS)[:1] in ("{", "[") and value != "[DONE]":
        try:
            return read_foreign(value.encode(errors="replace"))
        except msgspec.DecodeError:
            return value
    return value
