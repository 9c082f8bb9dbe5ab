"""A thread with a journal in a real file, and tools called in it as the runtime calls them."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from stoic.core.arguments import arguments_key
from stoic.core.commands import CallResult, PlannedCall
from stoic.records import CallPart, Lease, Operation, Owner, Row, Step, ThreadRecord, ViewChange
from stoic.runtime.execution import Execution
from stoic.store.sqlite import SqliteStore
from stoic.testing import FakeClock
from stoic.tools.context import ToolContext
from stoic.tools.declaration import Tool
from stoic.tools.spilling import Spill

Story = Callable[["Journal"], Awaitable[None]]


def operation(identity: str, state: Any = "returned", *, runs: int = 1, status: str | None = None) -> Operation:
    thread, turn, number, index = identity.rsplit(".", 3)
    return Operation(
        id=identity, thread=thread, turn=int(turn), round=int(number), index=int(index), tool="x", effect="write",
        arguments_key=arguments_key("x", {}), state=state, runs=runs, status=status, started_at=1,
    )  # fmt: skip


class Journal:
    """One thread under a lease."""

    def __init__(self, folder: Path, store: SqliteStore, lease: Lease, shown_characters: int) -> None:
        self.store = store
        self.spill = Spill(folder / "spill", shown_characters=shown_characters)
        self.context = ToolContext(thread=lease.thread, store=store, spill=self.spill)
        self._lease = lease
        self._rows = 0

    async def add(self, *operations: Operation) -> None:
        await self.store.append(self._lease, Step(operations=list(operations)))

    async def result(self, operation: str, text: str) -> int:
        """Store a result row and return its seq."""
        self._rows += 1
        row = Row(
            id=f"r{self._rows}", thread=self._lease.thread, seq=self._rows, generation=1, segment="s", turn=1, round=1,
            role="tool", kind="result", created_at=1, visible=True,
            content={"call": 0, "operation": operation, "tool": "x", "text": text},
        )  # fmt: skip
        await self.store.append(self._lease, Step(rows=[row]))
        return self._rows

    async def quarantine(self, seq: int) -> None:
        change = ViewChange(seq=seq, quarantine="placeholder", view={"text": "withheld"})
        await self.store.append(self._lease, Step(views=[change]))

    async def call(self, tool: Tool, arguments: str, identity: str = "t.1.9.0") -> CallResult:
        """Run one call as a turn does."""
        execution = Execution({tool.name: tool}, FakeClock(auto=True), self.context)
        planned = replace(operation(identity), tool=tool.name, effect=tool.effect)
        execution.start(PlannedCall(operation=planned, call=CallPart(name=tool.name, arguments=arguments)))
        (result,) = await execution.next()
        return result


async def journal(folder: Path, story: Story, *, shown_characters: int = 1000) -> None:
    store = SqliteStore(folder / "log.db")
    await store.open()
    await store.register(Owner(id="o", host="h", boot_id="b", pid=1, started_at=1))
    await store.create_thread(ThreadRecord(id="t", created_at=1))
    lease = await store.acquire("t", "o", 1)
    try:
        await story(Journal(folder, store, lease, shown_characters))
    finally:
        await store.close()
