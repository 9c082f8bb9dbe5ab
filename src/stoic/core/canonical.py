"""Writes tool arguments in one canonical form, so that equal calls give equal text whatever their spelling."""

import msgspec

from stoic.records import Json

_DEPTH = 100
_EXACT = 2.0**63


def canonical(arguments: Json) -> str:
    """Write a JSON value so that values that mean the same give the same text.

    Keys are sorted, spacing is dropped, `1.0` becomes `1`, and an object's null members are left out (absent = null).
    Nulls inside arrays stay, since they hold a place. Below 100 levels of nesting only keys are sorted.

    Args:
        arguments: A JSON value: what a model wrote as a tool call's arguments, already parsed.

    Returns:
        JSON text.
    """
    return msgspec.json.encode(_plain(arguments, _DEPTH), order="sorted").decode()


def _plain(value: Json, depth: int) -> Json:
    if isinstance(value, float):
        return int(value) if abs(value) < _EXACT and value.is_integer() else value
    if depth == 0 or not isinstance(value, dict | list | tuple):
        return value
    # Plain loops, not comprehensions: on Python 3.11 each comprehension would be a second frame per level.
    if isinstance(value, dict):
        members: dict[str, Json] = {}
        for key, member in value.items():  # pyright: ignore[reportUnknownVariableType]  # JSON is typed Any
            if member is not None:
                members[str(key)] = _plain(member, depth - 1)  # pyright: ignore[reportUnknownArgumentType]
        return members
    items: list[Json] = []
    for item in value:  # pyright: ignore[reportUnknownVariableType]  # likewise
        items.append(_plain(item, depth - 1))  # noqa: PERF401  # see above
    return items
