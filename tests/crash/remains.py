"""What must be left of a life after a power cut, and whether it is."""

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

import apsw
import msgspec
from tests.crash.lives import DATABASE, Kept, Witness

from stoic.core.history import History
from stoic.records import Record
from stoic.store.sqlite import SqliteStore
from stoic.testing.simulation.invariants.logs import find_fault
from stoic.testing.simulation.models import VENDORS

_ROWS = "SELECT rowid, id, thread, seq, turn, round, kind, content FROM rows ORDER BY rowid"
_THREADS = "SELECT id, last_seq, epoch FROM threads"


class Known(Record, frozen=True):
    """What is known to be stored: acknowledged, or found after an earlier cut."""

    rows: frozenset[str] = frozenset()
    entries: frozenset[str] = frozenset()
    epochs: dict[str, int] = {}
    """By thread: the highest one that a lease was given under."""
    marks: list[int] = []
    """In the order in which they were left."""

    def grown(self, witness: Witness, moment: int) -> "Known":
        """Return what is known at a moment of a life that began with this."""
        told = [each.step for each in witness.steps if each.moment is not None and each.moment <= moment]
        epochs = dict(self.epochs)
        for when, lease in witness.leases:
            if when <= moment:
                epochs[lease.thread] = max(lease.epoch, epochs.get(lease.thread, 0))
        return Known(
            rows=self.rows | {row.id for step in told for row in step.rows},
            entries=self.entries | {entry for when, entry in witness.entries if when <= moment},
            epochs=epochs,
            marks=self.marks + [mark for when, mark in witness.marks if when <= moment],
        )


def check(folder: Path, known: Known, steps: list[Kept]) -> Known:
    """Check a folder in which the power was cut, and return what is found in it.

    Args:
        folder: what is left
        known: what must be there
        steps: everything that anybody tried to store in the last life

    Raises:
        AssertionError: something is lost, half, doubled, or cannot be read
        StoreError: the database cannot be opened
    """
    if not (folder / DATABASE).exists():
        assert known == Known(), "the database is lost, though something was acknowledged"
        return known
    asyncio.run(read_log(folder / DATABASE))
    connection = apsw.Connection(str(folder / DATABASE))
    try:
        return _Found(connection).check(known, steps)
    finally:
        connection.close()


_BUSY = "SELECT id, phase, owner FROM threads WHERE phase <> 'idle' OR owner = ?"


def check_rest(folder: Path, owner: str) -> None:
    """Check a database on which nothing is left to do: every turn has ended, every task was delivered once, its owner heard once.

    Args:
        folder: where it is
        owner: the process that lives; leases that a dead one holds on idle threads are in nobody's way
    """
    connection = apsw.Connection(str(folder / DATABASE))
    try:
        found = _Found(connection)
        busy = connection.execute(_BUSY, (owner,)).fetchall()
        tasks = [task for (task,) in connection.execute("SELECT id FROM threads WHERE kind = 'task'")]
        reached = connection.execute("SELECT task, status, reached FROM deliveries").fetchall()
    finally:
        connection.close()
    assert busy == [], f"threads are stuck: {busy}"
    assert set(found.inbox.values()) == {1}, "somebody was not heard"
    assert set(found.operations.values()) <= {"returned", "raised", "unknown"}
    wrong = set(reached) ^ {(task, "delivered", 1) for task in tasks}
    assert not wrong, f"not each task was delivered once: {wrong}"
    assert len(reached) == len(tasks)
    assert found.heard() == Counter(tasks)
    opened = Counter((thread, turn) for _, _, thread, _, turn, *_ in found.rows)
    ended = Counter((thread, turn) for _, _, thread, _, turn, _, kind, _ in found.rows if kind == "outcome")
    assert opened.keys() == ended.keys(), "a turn has no end"


async def read_log(path: Path) -> None:
    """Open the log as a runtime does, fold every thread and render what a model sees of it."""
    store = SqliteStore(path)
    await store.open()
    try:
        for thread in await store.threads(limit=1 << 30):
            loaded = await store.load(thread.id)
            history = History(thread.id)
            for row in loaded.rows:
                history.fold(row)
            for operation in loaded.operations:
                history.fold_operation(operation)
            for vendor in VENDORS if loaded.rows else ():
                fault = find_fault(loaded.rows, vendor)
                assert fault is None, f"{thread.id} for {vendor.api}: {fault}"
    finally:
        await store.close()


class _Found:
    """The content of a database."""

    def __init__(self, connection: apsw.Connection) -> None:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
        self.rows: list[tuple[Any, ...]] = connection.execute(_ROWS).fetchall()
        self.threads: list[tuple[Any, ...]] = connection.execute(_THREADS).fetchall()
        self.operations: dict[str, str] = dict(connection.execute("SELECT id, state FROM operations"))
        self.inbox: dict[str, int] = dict(connection.execute("SELECT id, taken FROM inbox"))
        self.deliveries = [each for (each,) in connection.execute("SELECT id FROM deliveries")]
        self.ids = frozenset(row[1] for row in self.rows)

    def check(self, known: Known, steps: list[Kept]) -> Known:
        epochs = {thread: epoch for thread, _, epoch in self.threads}
        assert known.rows <= self.ids, f"{len(known.rows - self.ids)} acknowledged rows are lost"
        assert known.entries <= self.inbox.keys(), f"{known.entries - self.inbox.keys()} were acknowledged and are lost"
        back = {thread: epoch for thread, epoch in known.epochs.items() if epochs.get(thread, 0) < epoch}
        assert not back, f"the epochs of acknowledged leases {back} went back"
        # Rows are inserted one after the other, whatever their thread: what is left is a beginning of that.
        assert [row[0] for row in self.rows] == list(range(1, len(self.rows) + 1)), "the log has a hole"
        for kept in steps:
            self._check_is_whole(kept)
        self._check_threads()
        self._check_deliveries()
        self._check_marks(known.marks)
        return Known(rows=self.ids, entries=frozenset(self.inbox), epochs={**known.epochs, **epochs}, marks=known.marks)

    def _check_is_whole(self, kept: Kept) -> None:
        """A step is there with everything that belongs to it, or not at all."""
        step, ids = kept.step, [row.id for row in kept.step.rows]
        there = [each in self.ids for each in ids]
        assert all(there) or not any(there), f"half of the rows {ids} of {kept.thread} are there"
        if ids and all(there):
            missing = [each.id for each in step.operations if each.id not in self.operations]
            missing += [each.id for each in step.deliveries if each.id not in self.deliveries]
            assert not missing, f"{kept.thread}: rows {ids} are there without {missing}"
            unread = [each for each in step.inbox_taken if self.inbox.get(each) != 1]
            assert not unread, f"{kept.thread}: rows {ids} are there, and the inbox still holds {unread}"

    def _check_threads(self) -> None:
        last = {thread: seq for thread, seq, _ in self.threads}
        seqs: dict[str, list[int]] = {thread: [] for thread in last}
        for _, _, thread, seq, *_ in self.rows:
            seqs[thread].append(seq)
        for thread, found in seqs.items():
            assert found == list(range(1, last[thread] + 1)), f"{thread} has the rows {found} and counts {last[thread]}"
        ended = Counter((thread, turn) for _, _, thread, _, turn, _, kind, _ in self.rows if kind == "outcome")
        assert set(ended.values()) <= {1}, f"turns have several outcomes: {ended}"

    def _check_deliveries(self) -> None:
        """A task's end is delivered once: one delivery, one entry for its owner, which becomes one row at the most."""
        assert len(self.deliveries) == len(set(self.deliveries))
        ends = [f"{thread}.{turn}" for _, _, thread, _, turn, _, kind, _ in self.rows if kind == "outcome"]
        assert set(self.deliveries) <= set(ends), f"{set(self.deliveries) - set(ends)} are deliveries without an end"
        told = Counter(entry.rpartition(":")[0] for entry in self.inbox if entry.startswith("delivery:"))
        assert told == Counter(f"delivery:{each}" for each in self.deliveries), f"{told} for {self.deliveries}"
        assert set(self.heard().values()) <= {1}, f"owners heard of tasks more than once: {self.heard()}"

    def heard(self) -> Counter[str]:
        """Return how often the owners of tasks heard of each."""
        events = [msgspec.json.decode(content) for *_, kind, content in self.rows if kind == "event"]
        return Counter(event["task_thread"] for event in events)

    def _check_marks(self, marks: list[int]) -> None:
        """What was done outside was stored as begun before, and done once."""
        assert len(marks) == len(set(marks)), "a write was repeated"
        operations = {
            msgspec.json.decode(part["arguments"])["n"]: f"{thread}.{turn}.{number}.{index}"
            for _, _, thread, _, turn, number, kind, content in self.rows
            if kind == "reply"
            for index, part in enumerate(msgspec.json.decode(content)["parts"])
            if part["type"] == "call" and part["name"] == "mark"
        }
        for mark in marks:
            state = self.operations.get(operations.get(mark, ""))
            assert state not in {None, "intended"}, f"mark {mark} was left, and its call is {state}"
