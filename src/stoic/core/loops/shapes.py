"""Looks at JSON values with types: what is an object, what is an array."""

from typing import TypeGuard

from stoic.records import Json


def is_object(value: Json) -> TypeGuard[dict[str, Json]]:
    """Tell whether a value is a JSON object."""
    return isinstance(value, dict)


def is_array(value: Json) -> TypeGuard[list[Json]]:
    """Tell whether a value is a JSON array."""
    return isinstance(value, (list, tuple))
