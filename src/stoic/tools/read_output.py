"""Built-in `read_output`: the rest of a result that was too long to show, as far as a model may still read it."""

from collections.abc import Awaitable, Callable

import msgspec

from stoic.core.arguments import arguments_of
from stoic.core.loops.shapes import is_object
from stoic.core.rows import kind_of, turn_of
from stoic.records import Row
from stoic.tools.context import ToolContext
from stoic.tools.declaration import Tool
from stoic.tools.lines import LIMIT_LINES, read_page

NAME = "read_output"
IsReadable = Callable[[ToolContext, str], Awaitable[bool]]
"""Tells whether models may read the result of an operation of the context's thread."""


async def row_is_readable(context: ToolContext, operation: str) -> bool:
    """Tell whether the thread's log has a result of the operation, and neither it nor any page that was read of it is withheld."""
    rows = (await context.store.load(context.thread)).rows
    results = [row for row in rows if kind_of(row) == "result"]
    withheld = [row for row in results if not row.visible or row.quarantine is not None]
    closed = {row.content["operation"] for row in withheld} | _pages_in(withheld, rows)
    return operation not in closed and any(row.content["operation"] == operation for row in results)


def _pages_in(withheld: list[Row], rows: list[Row]) -> set[str]:
    """Return the operations of whose output a withheld result is a page."""
    replies = {(row.turn, row.round): row for row in rows if row.kind == "reply"}
    found: set[str] = set()
    for row in withheld:
        if row.content["tool"] == NAME:
            parts = replies[turn_of(row), row.round].content["parts"]
            call = [part for part in parts if part["type"] == "call"][row.content["call"]]
            found |= _operation_of(call["arguments"])
    return found


def _operation_of(arguments: str) -> set[str]:
    """Return the operation that a call of this tool asked for; none if its arguments did not fit, and it did not run."""
    try:
        said = arguments_of(arguments)
    except msgspec.DecodeError:
        return set()
    operation = said.get("operation") if is_object(said) else None
    return {operation} if isinstance(operation, str) else set()


def read_output_tool(is_readable: IsReadable = row_is_readable) -> Tool:
    """Return the `read_output` tool.

    Args:
        is_readable: asked before each reading; whatever it denies is as if it had never been kept
    """

    async def read_output(
        operation: str, context: ToolContext, first_line: int = 1, limit_lines: int = LIMIT_LINES
    ) -> str:
        """Read the whole output of an earlier call whose result was too long and says so.

        Args:
            operation: the invocation id in that result
            context: given by the runtime
            first_line: the line to begin with, counted from 1
            limit_lines: how many lines at the most
        """
        path = context.spill.path(context.thread, operation)
        if path is None or not await is_readable(context, operation) or not path.is_file():
            raise LookupError("no output of such an operation can be read here; use the invocation id of a cut result")
        with path.open("rb") as file:
            return read_page(file, operation, first_line, limit_lines)

    return Tool(read_output, name=NAME, effect="read")
