"""What the runtime itself puts into a tool's parameters: the operation's id, or a look at the thread, the log and its spill."""

from typing import NewType

from stoic.ports import Store
from stoic.records import Record
from stoic.tools.spilling import Spill

OperationId = NewType("OperationId", str)
"""Annotate a parameter with it and the tool gets its operation's id there, to use as an idempotency key."""


class ToolContext(Record, frozen=True):
    """Annotate a tool's parameter with it and the runtime puts it there; models do not see the parameter."""

    thread: str
    store: Store
    spill: Spill
