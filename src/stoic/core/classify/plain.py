"""Recognises the common case without the tables: a complete, ordinary Chat Completions reply over a live wire.

Only a short cut: whatever is not wholly known here goes to `judge`, and for what is, `judge` says the same.
"""

from typing import TypeGuard

import msgspec

from stoic.foreign_json import read_foreign
from stoic.records import CallPart, Json, Part, Report, TextPart

_FINISHES = frozenset({"stop", "tool_calls"})
_CHUNK = frozenset({"id", "object", "created", "model", "choices", "usage", "system_fingerprint", "service_tier"})
_CHOICE = frozenset({"index", "delta", "finish_reason", "logprobs"})
_DELTA = frozenset({"role", "content", "tool_calls", "refusal"})


def is_plain(report: Report) -> bool:
    """Tell whether a report is certainly a complete reply that is neither a refusal nor a failure."""
    return (
        report.api == "chat"
        and report.status == 200  # noqa: PLR2004 - the one status of an ordinary reply
        and report.ended
        and report.finish in _FINISHES
        and report.exception is None
        and report.body is None
        and "x-amzn-errortype" not in report.headers
        and _says_something(report.parts or [])
        and all(_is_ordinary(event.get("data")) for event in report.events)
    )


def _says_something(parts: list[Part]) -> bool:
    said = False
    for part in parts:
        if isinstance(part, CallPart):
            if not (part.whole and part.name and _is_object(part.arguments)):
                return False
            said = True
        elif isinstance(part, TextPart):
            said = said or bool(part.text.strip())
    return said


def _is_object(arguments: str) -> bool:
    try:
        return isinstance(read_foreign(arguments), dict)
    except msgspec.DecodeError:
        return False


def _is_ordinary(data: Json) -> bool:
    if data == "[DONE]":
        return True
    if not _is_object_of(data, _CHUNK):
        return False
    choices = data.get("choices")
    return isinstance(choices, list) and len(choices) <= 1 and all(map(_is_ordinary_choice, choices))  # pyright: ignore[reportUnknownArgumentType] - JSON


def _is_ordinary_choice(choice: Json) -> bool:
    if not _is_object_of(choice, _CHOICE):
        return False
    delta = choice.get("delta")
    return _is_object_of(delta, _DELTA) and not delta.get("refusal")


def _is_object_of(value: Json, keys: frozenset[str]) -> TypeGuard[dict[str, Json]]:
    return isinstance(value, dict) and value.keys() <= keys
