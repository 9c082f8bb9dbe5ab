"""Segments: which rows share one request prefix, told by a fingerprint of what shapes it (SPEC §2)."""

import hashlib
from collections.abc import Mapping

import msgspec

from stoic.records import Json, ToolSchema

COMPACT_AT_SHARE = 0.8
"""When an exchange took more than that of the model's context window, the next generation begins before the next round."""

Shape = Mapping[str, str]
"""What shapes a request's prefix, part by part: `model`, `api`, `mode`, `tools`, `prompt`, `parameters`."""


def shape_of(
    *, provider: str, api: str, model: str, mode: str, system: str, tools: list[ToolSchema], parameters: dict[str, Json]
) -> Shape:
    """Return everything that shapes a request's prefix: names as they are, what is longer as a hash.

    The order of the tools counts, since it is part of the bytes; the order of the parameters does not.
    """
    return {
        "model": f"{provider}:{model}",
        "api": api,
        "mode": mode,
        "tools": _hash(tools),
        "prompt": _hash(system),
        "parameters": _hash(sorted(parameters.items())),
    }


def fingerprint(shape: Shape) -> str:
    """Return a short hash of a shape: two turns with one fingerprint in one generation share a segment's refusals."""
    return _hash(list(shape.items()))


def changed_parts(before: Shape, after: Shape) -> list[str]:
    """Return the parts in which two shapes differ, in a fixed order; one that only one of them knows differs."""
    return [part for part in {**after, **before} if before.get(part) != after.get(part)]


def segment_id(thread: str, generation: int, number: int) -> str:
    """Return `"{thread}.{generation}#{number}"`."""
    return f"{thread}.{generation}#{number}"


def _hash(value: object) -> str:
    return hashlib.blake2b(msgspec.json.encode(value), digest_size=12).hexdigest()
