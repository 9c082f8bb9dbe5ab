"""Built-in `operation_status`: what the journal knows of an operation, as enumerated facts and nothing else (SPEC §10)."""

from typing import Literal

import msgspec

from stoic.records import Operation, Record
from stoic.tools.context import ToolContext
from stoic.tools.declaration import Tool

End = Literal["returned", "raised", "unknown", "none_yet", "not_run"]


class OperationFacts(Record, frozen=True, omit_defaults=False):
    """Facts of one operation; no field can hold a byte of its arguments or its result."""

    found: bool
    """Whether the thread's journal has an operation of that id."""
    started: bool = False
    ended: bool = False
    end: End = "none_yet"
    """How the call ended; `returned` says that the function returned, not that the outside operation succeeded."""
    status: Literal["done", "not_done", "unknown", "not_asked"] = "not_asked"
    """What the tool's own `status` function, or a person, said of it last."""


def operation_status_tool() -> Tool:
    """Return the `operation_status` tool."""

    async def operation_status(id: str, context: ToolContext) -> str:  # noqa: A002 - the parameter's name in SPEC §10
        """Say what the runtime's own journal knows of an operation: whether it started and ended, and how.

        "returned" means that the function returned; whether the outside operation took effect is told by "status" only.

        Args:
            id: the operation's id, as a [runtime] note or a withheld result names it
            context: given by the runtime
        """
        journal = await context.store.operations(context.thread)
        return msgspec.json.encode(facts_of(next((each for each in journal if each.id == id), None))).decode()

    return Tool(operation_status, effect="read")


def facts_of(operation: Operation | None) -> OperationFacts:
    """Return the facts of an operation; None: the journal has none of that id."""
    if operation is None:
        return OperationFacts(found=False)
    started = operation.runs > 0
    match operation.state:
        case "intended" | "running":
            end: End = "none_yet"
        case "raised" if not started:
            end = "not_run"
        case state:
            end = state
    status = operation.status
    return OperationFacts(
        found=True,
        started=started,
        ended=end != "none_yet",
        end=end,
        status=status if status in {"done", "not_done", "unknown"} else "not_asked",  # pyright: ignore[reportArgumentType] - one of the three
    )
