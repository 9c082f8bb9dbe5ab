"""The SQLite store inside a simulation: the simulated world stands still while the real file is read or written."""

import asyncio
import threading
from collections.abc import AsyncIterator, Coroutine, Sequence
from pathlib import Path
from typing import Any, TypeVar

from stoic.ports import Loaded
from stoic.records import (
    Health,
    InboxEntry,
    Lease,
    Memory,
    Notice,
    NoticeBudget,
    Operation,
    Owner,
    RefusedBytes,
    Schedule,
    Step,
    StoredDelivery,
    StoredNotice,
    ThreadRecord,
    Work,
)
from stoic.store.owners import IsAlive
from stoic.store.sqlite import SqliteStore

T = TypeVar("T")


class BlockingSqliteStore:
    """Implements the Store port over a real file in another thread's loop, which it waits for on the spot."""

    def __init__(self, path: Path, is_alive: IsAlive) -> None:
        self._store = SqliteStore(path, is_alive=is_alive)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def _do(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def open(self) -> None:
        if not self._thread.is_alive():
            self._thread.start()
        self._do(self._store.open())

    async def close(self) -> None:
        self._do(self._store.close())
        self._do(self._loop.shutdown_default_executor())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def register(self, owner: Owner) -> None:
        self._do(self._store.register(owner))

    async def create_thread(self, thread: ThreadRecord) -> ThreadRecord:
        return self._do(self._store.create_thread(thread))

    async def threads(self, *, limit: int = 100, prefix: str = "") -> list[ThreadRecord]:
        return self._do(self._store.threads(limit=limit, prefix=prefix))

    async def put(self, entry: InboxEntry) -> InboxEntry:
        return self._do(self._store.put(entry))

    async def acquire(self, thread: str, owner: str, now_ms: int, *, enter: InboxEntry | None = None) -> Lease:
        return self._do(self._store.acquire(thread, owner, now_ms, enter=enter))

    async def release(self, lease: Lease) -> None:
        self._do(self._store.release(lease))

    async def holder(self, thread: str, now_ms: int) -> Owner | None:
        return self._do(self._store.holder(thread, now_ms))

    async def load(self, thread: str, *, after_seq: int = 0) -> Loaded:
        return self._do(self._store.load(thread, after_seq=after_seq))

    async def append(self, lease: Lease, step: Step) -> None:
        self._do(self._store.append(lease, step))

    async def operations(self, thread: str | None = None, *, states: tuple[str, ...] = ()) -> list[Operation]:
        return self._do(self._store.operations(thread, states=states))

    async def inbox(self, thread: str) -> list[InboxEntry]:
        return self._do(self._store.inbox(thread))

    async def delete_thread(self, thread: str, now_ms: int) -> None:
        self._do(self._store.delete_thread(thread, now_ms))

    async def health(self) -> list[Health]:
        return self._do(self._store.health())

    async def claim_trial(self, trial: Health, now_ms: int) -> bool:
        return self._do(self._store.claim_trial(trial, now_ms))

    async def put_health(self, health: Health) -> None:
        self._do(self._store.put_health(health))

    async def work(self, now_ms: int) -> list[Work]:
        return self._do(self._store.work(now_ms))

    async def next_wake_ms(self, now_ms: int) -> int | None:
        return self._do(self._store.next_wake_ms(now_ms))

    async def parked(self) -> list[ThreadRecord]:
        return self._do(self._store.parked())

    async def tasks(
        self, *, owner: str | None = None, root: str | None = None, limit: int = 1000
    ) -> list[ThreadRecord]:
        return self._do(self._store.tasks(owner=owner, root=root, limit=limit))

    async def deliveries(self, *, task: str | None = None, owner: str | None = None) -> list[StoredDelivery]:
        return self._do(self._store.deliveries(task=task, owner=owner))

    async def refused_briefs(self, root: str, brief: str) -> list[RefusedBytes]:
        return self._do(self._store.refused_briefs(root, brief))

    async def remember(self, memory: Memory) -> bool:
        return self._do(self._store.remember(memory))

    async def recall(self, scope: str | None, query: str, limit: int) -> list[Memory]:
        return self._do(self._store.recall(scope, query, limit))

    async def memories(self, scope: str | None, limit: int) -> list[Memory]:
        return self._do(self._store.memories(scope, limit))

    async def forget(self, scope: str | None, memory: str) -> bool:
        return self._do(self._store.forget(scope, memory))

    async def put_schedule(self, schedule: Schedule) -> None:
        return self._do(self._store.put_schedule(schedule))

    async def schedules(self) -> list[Schedule]:
        return self._do(self._store.schedules())

    async def delete_schedule(self, schedule: str) -> bool:
        return self._do(self._store.delete_schedule(schedule))

    async def fire_schedule(self, schedule: Schedule, entry: InboxEntry, next_due_at: int) -> bool:
        return self._do(self._store.fire_schedule(schedule, entry, next_due_at))

    async def unknown_of_kin(self, thread: str, owner: str | None) -> list[Operation]:
        return self._do(self._store.unknown_of_kin(thread, owner))

    async def refused_since(self, since_ms: int) -> list[RefusedBytes]:
        return self._do(self._store.refused_since(since_ms))

    async def put_notice(self, notice: Notice, *, folds: Sequence[StoredNotice] = ()) -> bool:
        return self._do(self._store.put_notice(notice, folds=folds))

    async def notices(self, *, states: tuple[str, ...] = (), limit: int = 1000) -> list[StoredNotice]:
        return self._do(self._store.notices(states=states, limit=limit))

    async def notices_used(self, since_ms: int) -> int:
        return self._do(self._store.notices_used(since_ms))

    async def settle_notice(
        self, known: StoredNotice, now: StoredNotice, *, budget: NoticeBudget | None = None
    ) -> bool:
        return self._do(self._store.settle_notice(known, now, budget=budget))

    async def calls(self, owner: str) -> list[InboxEntry]:
        return self._do(self._store.calls(owner))

    def changes(self) -> AsyncIterator[None]:
        return self._store.changes()
