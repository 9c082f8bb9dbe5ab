"""The log in one SQLite file, for any number of processes of one machine."""

import asyncio
import contextlib
import functools
import queue
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import apsw

from stoic.errors import StoreError
from stoic.ports import HeldLeaseError, Loaded, Shapes
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
    Spending,
    Spent,
    Step,
    StoredDelivery,
    StoredNotice,
    ThreadRecord,
    Work,
)
from stoic.store import memories, reads, schedules, spending, tasks, verdicts, writes
from stoic.store.changes import ChangeFeed, ChangeListener
from stoic.store.connection import Connection
from stoic.store.encoding import row_values
from stoic.store.opening import BUSY_TIMEOUT_MS, connect, connect_reader, create_file, migrate
from stoic.store.owners import OWNER_TIMEOUT_MS, IsAlive, process_is_alive
from stoic.store.soundness import Soundness
from stoic.store.sqlite_errors import UNREADABLE, damage_error, store_error
from stoic.store.writer import Writer

Result = TypeVar("Result")

_READERS = 2
_RETURN_SECONDS = 1.0
"""How often a lease is given back again that the disk did not take back."""


class SqliteStore:
    """Implements the Store port. Writes go through one thread, reads through a few; none blocks the event loop.

    Cancelling a caller takes nothing back: what was submitted is stored whole or not at all.
    """

    def __init__(
        self,
        path: Path | str,
        *,
        is_alive: IsAlive = process_is_alive,
        owner_timeout_ms: int = OWNER_TIMEOUT_MS,
        busy_timeout_ms: int = BUSY_TIMEOUT_MS,
        shapes: Shapes | None = None,
    ) -> None:
        """Name the file; `open` opens it.

        Args:
            path: The database file; created if missing, with its folder.
            is_alive: Tells whether an owner's process lives.
            owner_timeout_ms: After this long without heartbeat an owner that cannot be seen from here is dead.
            busy_timeout_ms: How long to wait for another process's transaction.
            shapes: What JSON it holds: a value of another shape is told as damage, and none is entered; None: any.
        """
        self._path = Path(path).absolute()
        self._take_over = writes.TakeOver(is_alive=is_alive, timeout_ms=owner_timeout_ms)
        self._busy_timeout_ms = busy_timeout_ms
        self._sound = Soundness(self._path, shapes)
        self._opening = asyncio.Lock()
        self._open: _OpenFile | None = None
        self._returns: set[asyncio.Task[None]] = set()
        """Leases on their way back that nobody waits for."""

    async def open(self) -> None:
        """Open and migrate. Raises SchemaTooNewError, StoreError."""
        async with self._opening:
            if self._open is None:
                self._open = await asyncio.to_thread(_OpenFile.open, self._path, self._busy_timeout_ms)

    async def close(self) -> None:
        """Finish what was accepted for writing, then close; closing twice is harmless."""
        opened, self._open = self._open, None
        if opened is not None:
            await asyncio.to_thread(opened.close)

    async def register(self, owner: Owner) -> None:
        """Make an owner known, or renew its heartbeat. Raises StoreError if its id is another process's."""
        await self._write(lambda connection: writes.register(connection, owner))

    async def owners(self) -> list[Owner]:
        """Return every owner that was ever registered, the newest heartbeat first."""
        return await self._read(reads.owners)

    async def create_thread(self, thread: ThreadRecord, *, enter: InboxEntry | None = None) -> ThreadRecord:
        """Create the thread if it is new, with the inbox entry that it begins with; return it as it stands. Raises StoreError."""
        self._sound.check_new(thread, enter)
        return await self._write(lambda connection: writes.create_thread(connection, thread, enter))

    async def threads(self, *, limit: int = 100, prefix: str = "") -> list[ThreadRecord]:
        """Return threads whose id begins with the prefix, the newest first."""
        sound = self._sound.threads
        return await self._read(lambda connection: sound(reads.threads(connection, limit=limit, prefix=prefix)))

    async def thread(self, thread: str) -> ThreadRecord:
        """Return a thread as it stands, without its rows. Raises NoSuchThreadError, StoreError."""
        sound = self._sound.threads
        return await self._read(lambda connection: sound([reads.thread(connection, thread)])[0])

    async def delete_thread(self, thread: str, now_ms: int) -> None:
        """Delete a thread with all that belongs to it. Raises HeldLeaseError, StoreError."""
        rule = self._take_over
        holder = await self._write(lambda connection: writes.delete_thread(connection, thread, now_ms, rule=rule))
        if holder is not None:
            raise HeldLeaseError(holder)

    async def put(self, entry: InboxEntry) -> InboxEntry:
        """Insert an inbox entry, once however often it is put. Raises StoreError."""
        self._sound.check_new(None, entry)
        return await self._write(lambda connection: writes.put(connection, entry))

    async def acquire(self, thread: str, owner: str, now_ms: int, *, enter: InboxEntry | None = None) -> Lease:
        """Take the thread's lease with a new epoch. Raises HeldLeaseError (`enter` is stored), StoreError."""
        self._sound.check_new(None, enter)
        rule = self._take_over
        taking = asyncio.ensure_future(
            self._write(lambda connection: writes.acquire(connection, thread, owner, now_ms, entry=enter, rule=rule))
        )
        try:
            taken = await asyncio.shield(taking)
        except asyncio.CancelledError:
            taking.add_done_callback(self._give_back_taken)
            raise
        if isinstance(taken, Owner):
            raise HeldLeaseError(taken)
        return taken

    async def release(self, lease: Lease) -> None:
        """Give the lease back if it is still this holder's; otherwise do nothing.

        Raises:
            StoreError: the disk does not take it back now; it is given back as soon as it does
        """
        try:
            await self._write(lambda connection: writes.release(connection, lease))
        except StoreError:
            self._give_back(lease)
            raise

    async def holder(self, thread: str, now_ms: int) -> Owner | None:
        """Return the living owner who holds the thread's lease; None: nobody does. Raises StoreError."""
        rule = self._take_over
        return await self._read(lambda connection: writes.holder(connection, thread, now_ms, rule=rule))

    async def load(self, thread: str, *, after_seq: int = 0) -> Loaded:
        """Read a consistent snapshot. Raises NoSuchThreadError, DamagedRowsError, StoreError."""
        sound = self._sound.loaded
        return await self._read(lambda connection: sound(reads.load(connection, thread, after_seq)))

    async def append(self, lease: Lease, step: Step) -> None:
        """Store one step whole. Raises StaleWriterError, RejectedStepError, StoreError."""
        rows = [row_values(row) for row in step.rows]
        await self._write(lambda connection: writes.append(connection, lease, step, rows))

    async def operations(self, thread: str | None = None, *, states: tuple[str, ...] = ()) -> list[Operation]:
        """Return journal entries, the newest first."""
        return await self._read(lambda connection: reads.operations(connection, thread, states))

    async def inbox(self, thread: str) -> list[InboxEntry]:
        """Return the entries not yet taken, in order of arrival."""
        sound = self._sound.entries
        return await self._read(lambda connection: sound(reads.inbox(connection, thread)))

    async def calls(self, owner: str) -> list[InboxEntry]:
        """Return the `cancel` and `event` entries not yet taken of threads whose lease the owner holds, in order."""
        sound = self._sound.entries
        return await self._read(lambda connection: sound(reads.calls(connection, owner)))

    async def health(self) -> list[Health]:
        """Return what is known of every route's health, by route."""
        return await self._read(reads.health)

    async def claim_trial(self, trial: Health, now_ms: int) -> bool:
        """Store a route's state with its one trial taken; False if somebody else has it."""
        return await self._write(lambda connection: writes.claim_trial(connection, trial, now_ms))

    async def put_health(self, health: Health) -> None:
        """Store what a person decided of a route."""
        await self._write(lambda connection: writes.put_health(connection, health))

    async def work(self, now_ms: int) -> list[Work]:
        """Return the threads that there may be something to do on, the oldest first."""
        return await self._read(lambda connection: self._sound_work(tasks.work(connection, now_ms)))

    async def next_wake_ms(self, now_ms: int) -> int | None:
        """Return when the next parked turn is due by the clock; None: none is."""
        return await self._read(lambda connection: tasks.next_wake_ms(connection, now_ms))

    async def parked(self) -> list[ThreadRecord]:
        """Return the threads whose turn is parked, the oldest first."""
        sound = self._sound.threads
        return await self._read(lambda connection: sound(tasks.parked(connection)))

    async def tasks(
        self, *, owner: str | None = None, root: str | None = None, limit: int = 1000
    ) -> list[ThreadRecord]:
        """Return threads that count as tasks, of an owner, under a root, or all, the newest first."""
        sound = self._sound.threads
        return await self._read(lambda connection: sound(tasks.tasks(connection, owner, root, limit)))

    async def deliveries(self, *, task: str | None = None, owner: str | None = None) -> list[StoredDelivery]:
        """Return what was delivered of a task, to an owner, or at all, the newest first."""
        sound = self._sound.deliveries
        return await self._read(lambda connection: sound(tasks.deliveries(connection, task, owner)))

    async def refused_briefs(self, root: str, brief: str) -> list[RefusedBytes]:
        """Return who has refused an equal brief under a root, the oldest first."""
        return await self._read(lambda connection: tasks.refused_briefs(connection, root, brief))

    async def unknown_of_kin(self, thread: str, owner: str | None) -> list[Operation]:
        """Return the operations of a thread's owner and of its own tasks whose effect is unknown, the oldest first."""
        return await self._read(lambda connection: tasks.unknown_of_kin(connection, thread, owner))

    async def spent(self, *, root: str | None = None, since_ms: int = 0) -> Spent:
        """Return what was taken by a thread and the tasks below it, or by all, on the days from that one on."""
        return await self._read(lambda connection: spending.spent(connection, root, since_ms))

    async def spending(self, *, root: str | None = None, since_ms: int = 0) -> list[Spending]:
        """Return the same day by day and thread by thread, the newest day first."""
        return await self._read(lambda connection: spending.spending(connection, root, since_ms))

    async def refused_since(self, since_ms: int) -> list[RefusedBytes]:
        """Return the requests that were refused after that time, of all threads."""
        return await self._read(lambda connection: verdicts.refused_since(connection, since_ms))

    async def put_notice(self, notice: Notice, *, folds: Sequence[StoredNotice] = ()) -> bool:
        """Store a notice unless its key is known, and fold others into it; False: nothing changed."""
        return await self._write(lambda connection: verdicts.put_notice(connection, notice, folds))

    async def notices(self, *, states: tuple[str, ...] = (), limit: int = 1000) -> list[StoredNotice]:
        """Return notices, the newest first, in any or the named states."""
        return await self._read(lambda connection: verdicts.notices(connection, states, limit))

    async def settle_notice(
        self, known: StoredNotice, now: StoredNotice, *, budget: NoticeBudget | None = None
    ) -> bool:
        """Change a notice's delivery from what the caller knows of it; False: somebody was faster, or the budget is used."""
        return await self._write(lambda connection: verdicts.settle_notice(connection, known, now, budget))

    async def notices_used(self, since_ms: int) -> int:
        """Return how many normal notices were sent since then, or whose sending has begun; no digests."""
        return await self._read(lambda connection: verdicts.notices_used(connection, since_ms))

    async def remember(self, memory: Memory) -> bool:
        """Store a memory; False: its id is known, or its thread ended by refusal. Raises StoreError."""
        return await self._write(lambda connection: memories.remember(connection, memory))

    async def recall(self, scope: str | None, query: str, limit: int) -> list[Memory]:
        """Return the memories that hold any of the query's words, the best match first."""
        return await self._read(lambda connection: memories.recall(connection, scope, query, limit))

    async def memories(self, scope: str | None, limit: int) -> list[Memory]:
        """Return the memories, the newest first, also those that are not recalled any more."""
        return await self._read(lambda connection: memories.memories(connection, scope, limit))

    async def forget(self, scope: str | None, memory: str) -> bool:
        """Delete a memory; False: there is none."""
        return await self._write(lambda connection: memories.forget(connection, scope, memory))

    async def put_schedule(self, schedule: Schedule) -> None:
        """Store a schedule, or what may change of a known one. Raises StoreError."""
        await self._write(lambda connection: schedules.put_schedule(connection, schedule))

    async def schedules(self) -> list[Schedule]:
        """Return all schedules, the oldest first."""
        return await self._read(schedules.schedules)

    async def delete_schedule(self, schedule: str) -> bool:
        """Delete a schedule; False: there is none."""
        return await self._write(lambda connection: schedules.delete_schedule(connection, schedule))

    async def fire_schedule(self, schedule: Schedule, entry: InboxEntry, next_due_at: int) -> bool:
        """Move a schedule on and enter its prompt; False: nothing was entered."""
        return await self._write(lambda connection: schedules.fire_schedule(connection, schedule, entry, next_due_at))

    def _sound_work(self, found: list[Work]) -> list[Work]:
        self._sound.threads([each.thread for each in found])
        return found

    def changes(self) -> ChangeListener:
        """Yield whenever anybody may have written since this call; ends when the store is closed."""
        return self._opened().feed.listen()

    def _give_back_taken(self, taking: "asyncio.Future[Lease | Owner]") -> None:
        """Give back what was taken for a caller who has left meanwhile."""
        if not taking.cancelled() and taking.exception() is None and isinstance(taken := taking.result(), Lease):
            self._give_back(taken)

    def _give_back(self, lease: Lease) -> None:
        """Give a lease back that nobody wants: its owner lives, so that everybody would wait for it, this process too."""
        task = asyncio.ensure_future(self._keep_releasing(lease))
        self._returns.add(task)
        task.add_done_callback(self._returns.discard)

    async def _keep_releasing(self, lease: Lease) -> None:
        while self._open is not None:
            with contextlib.suppress(StoreError):
                await self._write(lambda connection: writes.release(connection, lease))
                return
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_RETURN_SECONDS):
                    await asyncio.Event().wait()

    async def _write(self, work: Callable[[Connection], Result]) -> Result:
        try:
            return await self._opened().writer.submit(work)
        except UNREADABLE as error:
            raise damage_error(str(self._path), error) from error

    async def _read(self, work: Callable[[Connection], Result]) -> Result:
        opened = self._opened()
        return await asyncio.get_running_loop().run_in_executor(opened.readers, opened.read, work)

    def _opened(self) -> "_OpenFile":
        if self._open is None:
            raise StoreError(f"{self._path}: the store is not open")
        return self._open


class _OpenFile:
    """The connections and threads of one open database."""

    def __init__(self, path: Path, connection: Connection, busy_timeout_ms: int) -> None:
        self._path = path
        self._busy_timeout_ms = busy_timeout_ms
        self._idle: queue.SimpleQueue[Connection] = queue.SimpleQueue()
        self._watch = connect_reader(path, busy_timeout_ms=0)
        self._watch_lock = threading.Lock()
        self._last_version = 0
        self._is_closed = False
        self.readers = ThreadPoolExecutor(_READERS, thread_name_prefix=f"stoic-reader {path}")
        self.feed = ChangeFeed(self._data_version)
        self.writer = Writer(
            connection,
            path=str(path),
            store_error=functools.partial(store_error, str(path)),
            on_commit=self.feed.announce,
        )
        self.writer.start()

    @classmethod
    def open(cls, path: Path, busy_timeout_ms: int) -> "_OpenFile":
        """Open the file, migrated. Raises StoreError."""
        create_file(path)
        try:
            connection = connect(path, busy_timeout_ms=busy_timeout_ms)
            try:
                migrate(connection, path)
                return cls(path, connection, busy_timeout_ms)
            except (apsw.Error, StoreError):
                connection.close()
                raise
        except apsw.Error as error:
            raise store_error(str(path), error) from error

    def close(self) -> None:
        """End the threads, the writer last written first; then close every connection."""
        self.feed.close()
        self.writer.close()
        self.readers.shutdown()
        with self._watch_lock:
            self._is_closed = True
            self._watch.close()
        while not self._idle.empty():
            self._idle.get().close()

    def read(self, work: Callable[[Connection], Result]) -> Result:
        """Run the work on a reading connection of its own. Raises StoreError."""
        try:
            connection = self._connection()
            try:
                return work(connection)
            finally:
                self._idle.put(connection)
        except UNREADABLE as error:
            raise damage_error(str(self._path), error) from error
        except apsw.Error as error:
            raise store_error(str(self._path), error) from error

    def _connection(self) -> Connection:
        try:
            return self._idle.get_nowait()
        except queue.Empty:
            return connect_reader(self._path, busy_timeout_ms=self._busy_timeout_ms)

    def _data_version(self) -> int:
        """Ask whether another connection wrote: a few microseconds in memory, never a wait."""
        with self._watch_lock:
            if self._is_closed:
                return self._last_version
            try:
                self._last_version = self._watch.pragma("data_version")
            except apsw.Error:
                # Somebody is at work on the file, or it cannot be read: whoever looks for changes finds out.
                self._last_version -= 1
            return self._last_version
