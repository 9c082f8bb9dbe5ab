"""What the store tests share: two connections to one log, and rows to put into it."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from stoic.ports import Store
from stoic.records import InboxEntry, Lease, Operation, Owner, Row, Step, ThreadRecord
from stoic.store.memory import MemoryDatabase, MemoryStore
from stoic.store.sqlite import SqliteStore

THREAD = "thread-1"


class Log:
    """Two open stores on one log, like two processes, and a thread `thread-1` leased by owner `first`."""

    def __init__(self, store: Store, other: Store, lives: dict[str, bool | None]) -> None:
        self.store = store
        self.other = other
        self.lives = lives
        """What is_alive answers for each owner; missing: None."""
        self.lease: Lease | None = None

    async def begin(self) -> None:
        await self.store.register(self.owner("first"))
        await self.other.register(self.owner("second"))
        await self.store.create_thread(ThreadRecord(id=THREAD, created_at=1))
        self.lease = await self.store.acquire(THREAD, "first", 0)

    def owner(self, name: str, *, heartbeat_at: int = 0) -> Owner:
        return Owner(id=name, host="here", boot_id="boot", pid=7, started_at=1, heartbeat_at=heartbeat_at)

    def row(self, seq: int, **fields) -> Row:
        defaults: dict[str, Any] = {
            "id": f"{THREAD}-{seq}",
            "thread": THREAD,
            "seq": seq,
            "generation": 1,
            "segment": f"{THREAD}.1#1",
            "turn": 1,
            "round": 1,
            "role": "tool",
            "kind": "result",
            "content": {"text": f"text {seq}"},
            "created_at": 1_700_000_000_000,
            "visible": True,
        }
        return Row(**{**defaults, **fields})

    def operation(self, index: int, **fields) -> Operation:
        defaults: dict[str, Any] = {
            "id": f"{THREAD}.1.1.{index}",
            "thread": THREAD,
            "turn": 1,
            "round": 1,
            "index": index,
            "tool": "write_file",
            "effect": "write",
            "arguments_key": "k",
            "state": "intended",
        }
        return Operation(**{**defaults, **fields})

    def entry(self, name: str, **fields) -> InboxEntry:
        defaults: dict[str, Any] = {
            "id": name,
            "thread": THREAD,
            "kind": "message",
            "content": {"text": name},
            "created_at": 5,
        }
        return InboxEntry(**{**defaults, **fields})

    async def append(self, *rows: Row, **fields) -> None:
        assert self.lease is not None
        await self.store.append(self.lease, Step(rows=list(rows), **fields))

    async def rows(self) -> list[Row]:
        return (await self.other.load(THREAD)).rows


Story = Callable[[Log], Awaitable[None]]
Play = Callable[[Story], None]


@pytest.fixture(params=["memory", "sqlite"])
def play(request, tmp_path) -> Play:
    """Run a story on a begun log of each kind."""
    lives: dict[str, bool | None] = {}
    shared = MemoryDatabase()

    def connect() -> Store:
        if request.param == "memory":
            return MemoryStore(shared, is_alive=lambda owner: lives.get(owner.id))
        return SqliteStore(tmp_path / "log.db", is_alive=lambda owner: lives.get(owner.id))

    async def run(story: Story) -> None:
        log = Log(connect(), connect(), lives)
        await log.store.open()
        await log.other.open()
        try:
            await log.begin()
            await story(log)
        finally:
            await log.store.close()
            await log.other.close()

    return lambda story: asyncio.run(run(story))
