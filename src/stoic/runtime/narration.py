"""What stored rows mean to a subscriber: the events of one committed step."""

from collections.abc import Callable, Iterable, Iterator
from typing import Literal

from msgspec.structs import replace

from stoic.core.history import History, TurnState
from stoic.core.notes import WITHHELD_RESULT
from stoic.core.quarantine import body_hash
from stoic.events import (
    AttemptFailed,
    BudgetNear,
    Compacted,
    CompactionFailed,
    EventTaken,
    FallbackUsed,
    FreshStarted,
    Happening,
    Nudged,
    PermissionAsked,
    Quarantined,
    Refused,
    RequestChanged,
    Retrying,
    RoundEnded,
    RoundRolledBack,
    ToolEnded,
    TurnStarted,
)
from stoic.records import Operation, Row


def narrate(rows: list[Row], operations: list[Operation], history: History) -> Iterator[Happening]:
    """Yield the events of a step, in the order of its rows; the outcome is told by whoever drives the turn.

    Args:
        rows: those of the step
        operations: likewise
        history: where the thread stood before the step
    """
    turn = history.turn
    by_id = {operation.id: operation for operation in operations}
    for row in rows:
        if row.kind == "event":
            yield from _event(row, turn)
        elif row.kind == "result":
            told = _result(row, rows, by_id, turn)
            yield replace(told, text=WITHHELD_RESULT) if _came_again(row, history) else told
        elif row.kind in _TELLERS:
            yield from _TELLERS[row.kind](row)


def _came_again(row: Row, history: History) -> bool:
    """Tell whether a result brings a body that was withheld in this segment before; it will be withheld before it is sent."""
    return history.has_withheld and history.withheld_by(body_hash(row)) is not None


def _quarantined(row: Row) -> Quarantined:
    content = row.content
    return Quarantined(
        round=row.round,
        step=content["step"],
        rows=content["rows"],
        provider=content["provider"],
        model=content["model"],
        category=content["category"],
    )


def _refused(row: Row) -> Refused:
    content = row.content
    return Refused(
        round=row.round,
        provider=content["provider"],
        model=content["model"],
        refusals=content["refusals"],
        skipped=content["skipped"],
        rule=content["rule"],
        category=content["category"],
    )


def _not_compacted(row: Row) -> CompactionFailed:
    content = row.content
    return CompactionFailed(why=content["why"], cause=content["cause"], message=content["message"])


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
    yield RoundRolledBack(round=row.round, attempt=attempt, discarded_calls=content.get("discarded", []))
    at_ms = content.get("retry_at_ms")
    if at_ms is not None:
        yield Retrying(round=row.round, attempt=attempt + 1, at_ms=at_ms, delay_ms=content["delay_ms"])
    if "change" in content:
        yield RequestChanged(round=row.round, **content["change"])


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


def _arguments(result: Row, rows: list[Row], turn: TurnState | None) -> str:
    """Return the arguments of a result's call, which is of a reply in the same step or of the open round."""
    index: int = result.content["call"]
    for row in rows:
        if row.kind == "reply":
            calls = [part for part in row.content["parts"] if part["type"] == "call"]
            return calls[index]["arguments"]
    calls = turn.calls if turn else []
    return calls[index].call.arguments if index < len(calls) else ""


def _event(row: Row, turn: TurnState | None) -> Iterator[Happening]:
    if "replaces" in row.meta:
        return
    if turn is None or turn.number != row.turn:
        yield TurnStarted(thread=row.thread, turn=row.turn)
    yield EventTaken(kind=row.content["kind"], row=row.id)


def _fallen_back(row: Row) -> Iterator[Happening]:
    yield _fallback(row)
    if "refusals" in row.content:
        yield _refused(row)


def _result(row: Row, rows: list[Row], by_id: dict[str, Operation], turn: TurnState | None) -> ToolEnded:
    ended = _tool_ended(row, by_id.get(row.content["operation"]))
    return ended if ended.state != "not_run" else replace(ended, arguments=_arguments(row, rows, turn))


def _opened(row: Row) -> TurnStarted:
    return TurnStarted(thread=row.thread, turn=row.turn)


_TELLERS: dict[str, Callable[[Row], Iterable[Happening]]] = {
    "message": lambda row: [_opened(row)],
    "grant": lambda row: [_opened(row)],
    "wake": lambda row: [_opened(row)],
    "reply": lambda row: [_round_ended(row)],
    "attempt": _attempt,
    "nudge": lambda row: [Nudged(round=row.round, reason=row.content["reason"])],
    "fallback": _fallen_back,
    "quarantine": lambda row: [_quarantined(row)],
    "refusal": lambda row: [_refused(row)],
    "compaction": lambda row: [Compacted(generation=row.generation, cause=row.meta["cause"])],
    "compaction_failed": lambda row: [_not_compacted(row)],
    "fresh": lambda row: [FreshStarted(generation=row.generation)],
    "budget": lambda row: [BudgetNear(**row.content)],
    "question": lambda row: [PermissionAsked(questions=row.content["questions"])],
}
"""What a row of each kind tells; an event and a result depend on more than the row, other kinds tell nothing."""
