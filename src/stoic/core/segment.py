"""Segments: which rows share one request prefix, told by a fingerprint of what shapes it (SPEC §2)."""

import hashlib

import msgspec

from stoic.records import Json, ToolSchema


def fingerprint(
    *, provider: str, api: str, model: str, mode: str, system: str, tools: list[ToolSchema], parameters: dict[str, Json]
) -> str:
    """Return a short hash of everything that shapes a request's prefix.

    The order of the tools counts, since it is part of the bytes; the order of the parameters does not.
    """
    parts = [provider, api, model, mode, system, tools, sorted(parameters.items())]
    return hashlib.blake2b(msgspec.json.encode(parts), digest_size=12).hexdigest()


def segment_id(thread: str, generation: int, number: int) -> str:
    """Return `"{thread}.{generation}#{number}"`."""
    return f"{thread}.{generation}#{number}"
