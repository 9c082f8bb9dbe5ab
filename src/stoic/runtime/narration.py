"""What stored rows mean to a subscriber: the events of one committed step."""

from collections.abc import Iterator
from typing import Literal

from stoic.events import (
    AttemptFailed,
    Compacted,
    FallbackUsed,
    Happening,
    Nudged,
    PermissionAsked,
    Retrying,
    RoundEnded,
    RoundRolledBack,
    ToolEnded,
    TurnStarted,
)
from stoic.records import Operation, Row


def narrate(rows: list[Row], operations: list[Operation]) -> Iterator[Happening]:
    """Yield the events of a step, in the order of its rows; the outcome is told by whoever drives the turn."""
    by_id = {operation.id: operation for operation in operations}
    for row in rows:
        match row.kind:
            case "message":
                yield TurnStarted(thread=row.thread, turn=row.turn)
            case "reply":
                yield _round_ended(row)
            case "attempt":
                yield from _attempt(row)
            case "nudge":
                yield Nudged(round=row.round, reason=row.content["reason"])
            case "fallback":
                yield _fallback(row)
            case "compaction":
                yield Compacted(generation=row.generation)
            case "result":
                yield _tool_ended(row, by_id.get(row.content["operation"]))
            case "question":
                yield PermissionAsked(questions=row.content["questions"])
            case _:
                pass


def _round_ended(row: Row) -> RoundEnded:
    parts, usage = row.content["parts"], row.meta.get("usage", {})
    return RoundEnded(
        round=row.round,
        text="".join(part["text"] for part in parts if part["type"] == "text"),
        calls=sum(part["type"] == "call" for part in parts),
        input_tokens=usage.get("input_tokens", 0),
        output_tokens=usage.get("output_tokens", 0),
        cache_read_tokens=usage.get("cache_read_tokens", 0),
        served_model=row.meta.get("served_model"),
    )


def _attempt(row: Row) -> Iterator[Happening]:
    content = row.content
    attempt = content["attempt"]
    yield AttemptFailed(
        round=row.round,
        attempt=attempt,
        failure_class=content["class"],
        recovers_with=content["recovers_with"],
        status=content.get("status"),
        evidence=content.get("evidence", []),
        detail=content.get("detail"),
    )
    yield RoundRolledBack(round=row.round, attempt=attempt)
    at_ms = content.get("retry_at_ms")
    if at_ms is not None:
        yield Retrying(round=row.round, attempt=attempt + 1, at_ms=at_ms, delay_ms=content["delay_ms"])


def _fallback(row: Row) -> FallbackUsed:
    content = row.content
    return FallbackUsed(
        from_model=f"{content['from']['provider']}:{content['from']['model']}",
        to_model=f"{content['to']['provider']}:{content['to']['model']}",
        failure_class=content["class"],
        skipped=content["skipped"],
        until_ms=content.get("until_ms"),
    )


def _tool_ended(row: Row, operation: Operation | None) -> ToolEnded:
    content = row.content
    state: Literal["returned", "raised", "unknown", "not_run"] = "not_run"
    if operation is not None and operation.state in {"returned", "raised", "unknown"}:
        ran = operation.state != "raised" or operation.runs > 0
        state = operation.state if ran else "not_run"  # pyright: ignore[reportAssignmentType] - one of the three above
    return ToolEnded(
        operation=content["operation"],
        tool=content["tool"],
        state=state,
        failure=content.get("failure"),
        text=content["text"],
    )
