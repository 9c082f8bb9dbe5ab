"""Words to write down traces with: entries, events and what a right detector may say of them."""

from collections.abc import Callable, Iterable
from typing import Any

Trace = dict[str, Any]

QUIET = ("none",)
HINT = ("none", "warn")
WARN = ("warn",)
LOOP = ("warn", "block")
BLOCK = ("block",)

BREAKER = "global_breaker"
POLL = "poll_no_progress"


def entry(tool: str, args: dict[str, Any] | None = None, result: object = "ok", **more: object) -> dict[str, Any]:
    return {"tool": tool, "args": args or {}, "result": result, **more}


def failed(tool: str, args: dict[str, Any] | None = None, result: object = "failed", **more: object) -> dict[str, Any]:
    return entry(tool, args, result, error=True, **more)


def event(kind: str, **more: object) -> dict[str, Any]:
    return {"event": kind, **more}


def said(text: str) -> dict[str, Any]:
    return event("assistant", text=text)


def trace(
    name: str,
    calls: Iterable[dict[str, Any]],
    acceptable: tuple[str, ...],
    *,
    within: tuple[int, int] | None = None,
    rule: str | None = None,
    tools: dict[str, Any] | None = None,
) -> Trace:
    """Return one trace with what is right.

    Args:
        name: Unique among all traces.
        calls: Entries and events in order.
        acceptable: Verdicts of which one must be the strongest.
        within: First and last position (from 1) at which the strongest of the acceptable must show.
        rule: The rule that must have said it.
        tools: Policies by tool name.
    """
    expect = {"acceptable": acceptable, "within": within, "rule": rule}
    return {"id": name, "calls": list(calls), "tools": tools or {}, "expect": expect}


def repeated(make: Callable[[int], dict[str, Any]], count: int) -> list[dict[str, Any]]:
    """Return `count` entries, each made from its number (from 0)."""
    return [make(number) for number in range(count)]


def rounds(count: int, *makes: Callable[[int], dict[str, Any]]) -> list[dict[str, Any]]:
    """Return `count` rounds of one entry per maker."""
    return [make(number) for number in range(count) for make in makes]


def digits(number: int, length: int = 8) -> str:
    """Return `length` hexadecimal digits that look random and are fixed by the number."""
    value = number + 1
    text = ""
    while len(text) < length:
        value = (value * 6364136223846793005 + 1442695040888963407) % 2**64
        text += f"{value >> 16:012x}"[-12:]
    return text[:length]


def uuid(number: int) -> str:
    """Return a version 4 UUID fixed by the number."""
    text = digits(number, 32)
    return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-a{text[17:20]}-{text[20:]}"


def ulid(number: int) -> str:
    """Return a ULID fixed by the number."""
    alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
    tail = "".join(alphabet[int(pair, 16) % 32] for pair in digits(number, 16))
    return f"01JQ8Z{number:04d}{tail}"
