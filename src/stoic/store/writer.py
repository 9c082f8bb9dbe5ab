"""The writer thread: group commit, with a savepoint per item so that one bad item fails alone."""

import asyncio
import queue
import sys
import threading
from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar

import apsw

from stoic.errors import StoreError
from stoic.store.changes import call_in_loop
from stoic.store.connection import Connection

Result = TypeVar("Result")

BATCH_LIMIT = 1_000
"""Items in one transaction at most, so that other processes get their turn."""


class MakeError(Protocol):
    """Says in one line what an error of SQLite means."""

    def __call__(self, error: apsw.Error, *, at_commit: bool = False) -> StoreError:
        """Return the error to raise; `at_commit`: whether everything had been written when it happened."""
        ...


class Job(Generic[Result]):
    """One item: what to do in its savepoint, and who waits for the result."""

    __slots__ = ("error", "future", "loop", "result", "work")

    def __init__(self, work: Callable[[Connection], Result], loop: asyncio.AbstractEventLoop) -> None:
        self.work = work
        self.loop = loop
        self.future: asyncio.Future[Result] = loop.create_future()
        self.result: Result | None = None
        self.error: BaseException | None = None


class Writer:
    """Owns the write connection; every job ends: with its result, its own error, or the writer's death."""

    def __init__(
        self,
        connection: Connection,
        *,
        path: str,
        store_error: MakeError,
        on_commit: Callable[[], None],
    ) -> None:
        """Take over the connection; `start` begins.

        Args:
            connection: Used by the writer's thread alone from `start` on.
            path: Names the database in errors.
            store_error: Says in one line what an error of SQLite means.
            on_commit: Called in the writer's thread after each commit, before its callers are told.
        """
        self._connection = connection
        self._path = path
        self._store_error = store_error
        self._on_commit = on_commit
        self._queue: queue.SimpleQueue[Job[Any] | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._closing = False
        self._batch: list[Job[Any]] = []
        # A daemon: a program that forgot to close the store can still exit; a transaction is whole or not at all.
        self._thread = threading.Thread(target=self._run, name=f"stoic-writer {path}", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    async def submit(self, work: Callable[[Connection], Result]) -> Result:
        """Run the work in the next transaction and return its result once that is on disk.

        Cancelling the caller takes nothing back: the work is done whole or not at all, and nobody learns which.

        Raises:
            StoreError: SQLite failed, or the writer has ended; it is not stored, and the text says whether it can come back.
        """
        job = Job(work, asyncio.get_running_loop())
        with self._lock:
            if self._closing:
                raise self._ended_error(None)
            self._queue.put(job)
        return await job.future

    def close(self) -> None:
        """Finish what was submitted, close the connection and return when that is done."""
        with self._lock:
            if not self._closing:
                self._closing = True
                self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        try:
            while self._take():
                committed = self._commit()
                try:
                    if committed:
                        self._on_commit()  # before its callers go on: what they listen for next is newer
                finally:
                    self._deliver()  # the truth, whatever became of the listeners
        finally:
            self._end(sys.exception())

    def _take(self) -> bool:
        """Fill the batch with what is queued, waiting for the first item; False: the end was asked for."""
        job = self._queue.get()
        while job is not None:
            self._batch.append(job)
            if len(self._batch) >= BATCH_LIMIT or self._queue.empty():
                return True
            job = self._queue.get()
        if not self._batch:
            return False
        self._queue.put(None)  # this batch first, then the end
        return True

    def _commit(self) -> bool:
        """Run the batch in one transaction; False: it failed as a whole."""
        connection, at_commit = self._connection, False
        try:
            connection.execute("BEGIN IMMEDIATE")
            for job in self._batch:
                self._run_job(job)
            at_commit = True
            connection.execute("COMMIT")
        except apsw.Error as error:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            for job in self._batch:
                job.error = self._store_error(error, at_commit=at_commit)
            return False
        return True

    def _run_job(self, job: Job[Any]) -> None:
        connection = self._connection
        connection.execute("SAVEPOINT item")
        try:
            job.result = job.work(connection)
        except Exception as error:  # the writer is a task loop: the error goes to the job's own caller
            if not connection.in_transaction:  # SQLite gave up the whole transaction, as on a full disk
                raise
            connection.execute("ROLLBACK TO item")
            job.error = self._store_error(error) if isinstance(error, apsw.Error) else error
        connection.execute("RELEASE item")

    def _deliver(self) -> None:
        batch, self._batch = self._batch, []
        by_loop: dict[asyncio.AbstractEventLoop, list[Job[Any]]] = {}
        for job in batch:
            by_loop.setdefault(job.loop, []).append(job)
        for loop, jobs in by_loop.items():
            call_in_loop(loop, _resolve, jobs)

    def _end(self, cause: BaseException | None) -> None:
        with self._lock:
            self._closing = True
            while not self._queue.empty():
                job = self._queue.get()
                if job is not None:
                    self._batch.append(job)
        for job in self._batch:
            job.error = self._ended_error(cause)
        self._deliver()
        self._connection.close()

    def _ended_error(self, cause: BaseException | None) -> StoreError:
        because = f" because of {cause!r}" if cause else ""
        error = StoreError(f"{self._path}: the writer has ended{because}; nothing was stored, open the store again")
        error.__cause__ = cause
        return error


def _resolve(jobs: list[Job[Any]]) -> None:
    """Wake the callers of one loop."""
    for job in jobs:
        if job.future.done():  # its caller was cancelled
            continue
        if job.error is None:
            job.future.set_result(job.result)
        else:
            job.future.set_exception(job.error)
