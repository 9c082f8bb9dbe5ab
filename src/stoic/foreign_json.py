"""Reads JSON that strangers wrote: a provider, a model, a file. What nobody means is no JSON, so that nothing behind it breaks."""

from collections.abc import Iterable
from typing import cast

import msgspec

from stoic.records import Json

LEVELS = 100
"""Deeper nesting is refused: what reads, compares or stores a value must not run out of stack, wherever it is called from."""
_CONTAINERS: set[type] = {dict, list}


def read_foreign(text: str | bytes) -> Json:
    """Return the JSON value that a text is.

    Raises:
        msgspec.DecodeError: it is none; not even one with single surrogates, or nested more than `LEVELS` deep
    """
    try:
        value = msgspec.json.decode(text)
    except RecursionError:
        raise msgspec.DecodeError(f"it is nested more than {LEVELS} levels deep") from None
    except UnicodeError as error:
        raise msgspec.DecodeError(str(error)) from None
    if _openings(text) > LEVELS and is_too_deep(value):
        raise msgspec.DecodeError(f"it is nested more than {LEVELS} levels deep")
    return value


def is_too_deep(value: Json) -> bool:
    """Tell whether a JSON value is nested more than `LEVELS` deep."""
    level = [value] if type(value) in _CONTAINERS else []
    for _ in range(LEVELS):
        level = [inner for outer in level for inner in _inside(outer) if type(inner) in _CONTAINERS]
        if not level:
            return False
    return True


def _inside(container: Json) -> Iterable[Json]:
    return cast("dict[str, Json]", container).values() if isinstance(container, dict) else container


def _openings(text: str | bytes) -> int:
    """Return how deep a text can be nested at most."""
    return text.count("[") + text.count("{") if isinstance(text, str) else text.count(b"[") + text.count(b"{")
