"""What the task tools need of the runtime: starting, telling, watching and stopping tasks (SPEC §12)."""

from collections.abc import Sequence
from typing import Literal, Protocol

from stoic.core.receipt import Evidence
from stoic.records import Receipt, Record


class TaskSpec(Record, frozen=True):
    """How a task differs from its owner; None: it does not."""

    model: str | None = None
    """`PROVIDER:NAME`"""
    tools: list[str] | None = None
    """Names out of the owner's tools."""
    workspace: str | None = None
    """An existing folder, within the owner's."""
    max_rounds: int | None = None
    """Bounds of one turn, like the two after it."""
    max_cost_usd: float | None = None
    max_seconds: float | None = None


class TaskStatus(Record, frozen=True):
    """Where a task stands; never a byte of what it read or wrote on the way to a refusal."""

    task: str
    state: Literal["waiting", "running", "parked", "ended"]
    """`waiting`: for somebody to run it."""
    owner: str | None = None
    depth: int = 1
    turns: int = 0
    waits_for: str | None = None
    """Of a parked one: `permission`, `task`, `time` or `event`."""
    until_ms: int | None = None
    outcome: str | None = None
    """Of the newest ended turn, like the rest."""
    reason: str | None = None
    failure_class: str | None = None
    delivery: str | None = None
    text: str = ""
    refusal: Receipt | None = None
    """The facts of the refusal that ended it."""
    note: str = ""


class Stopped(Record, frozen=True):
    """What a stop found."""

    task: str
    state: str
    stopped: bool
    """Whether the stop ended the turn; False: it had ended by itself, or goes on until somebody runs it."""
    refused: bool
    evidence: Evidence
    note: str = ""


class TaskDesk(Protocol):
    """The tasks of a database, for the tools of one of its threads."""

    async def start(
        self, brief: str, *, owner: str | None = None, task: str | None = None, spec: TaskSpec | None = None
    ) -> TaskStatus:
        """Start a task; a known `task` is not started again. Raises UsageError."""
        ...

    async def message(self, task: str, text: str, *, entry: str | None = None, owner: str | None = None) -> int | None:
        """Tell a task something; return the number of the turn that answers, None: it has not begun. Raises UsageError."""
        ...

    async def status(self, task: str, *, owner: str | None = None) -> TaskStatus:
        """Tell where a task stands. Raises UsageError: there is none of that id, or it is not the owner's."""
        ...

    async def stop(self, task: str, *, owner: str | None = None) -> Stopped:
        """Stop a task's running turn and tell what it was at. Raises UsageError."""
        ...

    async def of(self, owner: str) -> Sequence[TaskStatus]:
        """Return the tasks of an owner, the oldest first."""
        ...
