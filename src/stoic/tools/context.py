"""What the runtime itself puts into a tool's parameters: the operation's id, or a look at the thread, the log and its spill."""

from typing import TYPE_CHECKING, NewType

from stoic.credentials import Credentials
from stoic.ports import Store
from stoic.records import Record
from stoic.tools.shells import Shells
from stoic.tools.spilling import Spill

if TYPE_CHECKING:
    from stoic.tools.desk import TaskDesk

OperationId = NewType("OperationId", str)
"""Annotate a parameter with it and the tool gets its operation's id there, to use as an idempotency key: a promise that it may run again."""
OperationName = NewType("OperationName", str)
"""Annotate a parameter with it and the tool gets the same id there, for a log line or a look-up; it promises nothing."""


class ToolContext(Record, frozen=True):
    """Annotate a tool's parameter with it and the runtime puts it there; models do not see the parameter."""

    thread: str
    store: Store
    spill: Spill
    shells: Shells | None = None
    credentials: Credentials = Credentials()
    """What no process that a tool starts may find in its environment."""
    tasks: "TaskDesk | None" = None
    """None: no tasks can be started here."""
    model: str | None = None
    """The model that a person has switched the thread to; None: its agent's own."""
    tools: list[str] | None = None
    """The tools of the thread's mode, where that has not all of the agent's."""
    asked_at_ms: int = 0
    """When the model asked for the call: what a wait is counted from, also after a restart."""
    now_ms: int = 0
