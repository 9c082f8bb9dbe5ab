"""Writes tool arguments in one canonical form, so that equal calls give equal text whatever their spelling."""

from typing import cast

import msgspec

from stoic.records import Json

_write = msgspec.json.Encoder(order="sorted").encode
_DEPTH = 100
_EXACT = 2.0**63
_FINAL = frozenset({str, int, bool})
"""Values that are written as they are; most arguments are an object of such, which need no copy."""


def canonical(arguments: Json) -> str:
    """Write a JSON value so that values that mean the same give the same text.

    Keys are sorted, spacing is dropped, `1.0` becomes `1`, and an object's null members are left out (absent = null).
    Nulls inside arrays stay, since they hold a place. Below 100 levels of nesting only keys are sorted.

    Args:
        arguments: A JSON value: what a model wrote as a tool call's arguments, already parsed.

    Returns:
        JSON text.
    """
    plain = arguments
    if type(arguments) is not dict or not _FINAL.issuperset(map(type, cast("dict[str, Json]", arguments).values())):
        plain = _plain(arguments, _DEPTH)
    try:
        return _write(plain).decode()
    except UnicodeError:  # a single surrogate, which no UTF-8 can hold
        import json  # noqa: PLC0415 - almost never needed, and importing the core stays cheap

        return json.dumps(plain, sort_keys=True, separators=(",", ":"))


def _plain(value: Json, depth: int) -> Json:
    if isinstance(value, float):
        return int(value) if abs(value) < _EXACT and value.is_integer() else value
    if depth and isinstance(value, dict):
        members = cast("dict[str, Json]", value)
        return {key: _plain(member, depth - 1) for key, member in members.items() if member is not None}
    if depth and isinstance(value, list | tuple):
        return [_plain(item, depth - 1) for item in cast("list[Json]", value)]
    return value
