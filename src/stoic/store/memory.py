"""The log in memory, with the same rules as on disk: no threads, no clock, the same answers every time."""

import weakref
from collections.abc import Sequence
from typing import TypeVar

import msgspec
from msgspec import structs

from stoic.errors import RejectedStepError, StoreError
from stoic.ports import HeldLeaseError, Loaded
from stoic.records import (
    Health,
    InboxEntry,
    Json,
    Lease,
    Notice,
    NoticeBudget,
    Operation,
    Owner,
    Record,
    RefusedBytes,
    Row,
    Step,
    StoredNotice,
    ThreadRecord,
)
from stoic.store import rules
from stoic.store.changes import ChangeFeed, ChangeListener
from stoic.store.encoding import to_json
from stoic.store.owners import OWNER_TIMEOUT_MS, IsAlive, heartbeat_only, is_dead

Copied = TypeVar("Copied", bound=Record)


class MemoryThread:
    """One thread of the database."""

    def __init__(self, record: ThreadRecord) -> None:
        self.record = record
        self.state = rules.ThreadState()
        self.guard: Json = None
        self.rows: list[Row] = []
        """The row of seq n stands at n - 1."""

    def facts(self, seq: int) -> rules.RowFacts | None:
        """Return what the rules need of a row; None: there is none of that seq."""
        return rules.facts_of(self.rows[seq - 1]) if 0 < seq <= len(self.rows) else None

    def as_it_stands(self) -> ThreadRecord:
        """Return the record with the thread's present state."""
        state = self.state
        return structs.replace(self.record, last_seq=state.last_seq, epoch=state.epoch, owner=state.owner)


class MemoryDatabase:
    """What several stores share: the counterpart of a database file. Nothing in it is shared with its callers."""

    def __init__(self) -> None:
        self.threads: dict[str, MemoryThread] = {}
        self.owners: dict[str, Owner] = {}
        self.operations: dict[str, Operation] = {}
        """In order of their first appearance."""
        self.entries: dict[str, InboxEntry] = {}
        """Every entry ever put, in order of arrival, those of deleted threads apart."""
        self.last_position = 0
        """Of the entry put last; never given again."""
        self.waiting: dict[str, dict[str, InboxEntry]] = {}
        """Per thread, those not yet taken."""
        self.row_ids: set[str] = set()
        self.health: dict[str, Health] = {}
        self.notices: dict[str, StoredNotice] = {}
        """By key, in order of arrival."""
        self.refused: dict[tuple[str, str, str], RefusedBytes] = {}
        self.feed = ChangeFeed()


class MemoryStore:
    """Implements the Store port on a MemoryDatabase; several stores on one database are like several processes."""

    def __init__(
        self,
        shared: MemoryDatabase | None = None,
        *,
        is_alive: IsAlive = heartbeat_only,
        owner_timeout_ms: int = OWNER_TIMEOUT_MS,
    ) -> None:
        """Connect to a database; without one, to a new one of its own.

        Args:
            shared: The database.
            is_alive: Tells whether an owner's process lives.
            owner_timeout_ms: After this long without heartbeat an owner that cannot be seen from here is dead.
        """
        self._shared = MemoryDatabase() if shared is None else shared
        self._is_alive = is_alive
        self._owner_timeout_ms = owner_timeout_ms
        self._is_open = False
        self._listeners: weakref.WeakSet[ChangeListener] = weakref.WeakSet()

    async def open(self) -> None:
        """Open; there is nothing to migrate."""
        self._is_open = True

    async def close(self) -> None:
        """Close this store; the database lives on. Closing twice is harmless."""
        self._is_open = False
        for listener in self._listeners:
            listener.end()

    async def register(self, owner: Owner) -> None:
        """Make an owner known, or renew its heartbeat. Raises StoreError if its id is another process's."""
        database = self._database()
        known = database.owners.get(owner.id, owner)
        heartbeat_at = max(known.heartbeat_at, owner.heartbeat_at)
        renewed = structs.replace(owner, heartbeat_at=heartbeat_at)
        if structs.replace(known, heartbeat_at=heartbeat_at) != renewed:
            raise rules.other_process(owner.id)
        database.owners[owner.id] = renewed
        database.feed.announce()

    async def create_thread(self, thread: ThreadRecord) -> ThreadRecord:
        """Create the thread if it is new; return it as it stands."""
        database = self._database()
        if thread.id not in database.threads:
            database.threads[thread.id] = MemoryThread(_copy(thread, f"the meta of thread {thread.id}"))
            database.feed.announce()
        return _copy(database.threads[thread.id].as_it_stands(), thread.id)

    async def threads(self, *, limit: int = 100, prefix: str = "") -> list[ThreadRecord]:
        """Return threads whose id begins with the prefix, the newest first."""
        found = [thread.as_it_stands() for thread in self._database().threads.values()]
        found = [record for record in found if record.id.startswith(prefix)]
        found.sort(key=lambda record: (record.created_at, record.id), reverse=True)
        return _copies(found[:limit], ThreadRecord)

    async def delete_thread(self, thread: str, now_ms: int) -> None:
        """Delete a thread with all that belongs to it. Raises HeldLeaseError, StoreError."""
        database, found = self._database(), self._thread(thread)
        holder = await self.holder(thread, now_ms)
        if holder is not None:
            raise HeldLeaseError(holder)
        del database.threads[thread]
        database.row_ids.difference_update(row.id for row in found.rows)
        database.operations = {key: each for key, each in database.operations.items() if each.thread != thread}
        database.entries = {key: each for key, each in database.entries.items() if each.thread != thread}
        database.waiting.pop(thread, None)
        database.feed.announce()

    async def put(self, entry: InboxEntry) -> InboxEntry:
        """Insert an inbox entry, once however often it is put. Raises StoreError."""
        return _copy(self._put(entry), entry.id)

    async def acquire(self, thread: str, owner: str, now_ms: int, *, enter: InboxEntry | None = None) -> Lease:
        """Take the thread's lease with a new epoch. Raises HeldLeaseError (`enter` is stored), StoreError."""
        database, found = self._database(), self._thread(thread)
        if owner not in database.owners:
            raise rules.unknown_owner(owner)
        if enter is not None:
            rules.check_entry(thread, enter)
            self._put(enter)
        if found.state.owner is not None:
            holder = database.owners[found.state.owner]
            if holder.id == owner or not is_dead(holder, now_ms, self._is_alive, self._owner_timeout_ms):
                raise HeldLeaseError(holder)
        # Taking a lease is a sign of life: else an owner that was idle for long could lose it before its next heartbeat.
        taker = database.owners[owner]
        database.owners[owner] = structs.replace(taker, heartbeat_at=max(taker.heartbeat_at, now_ms))
        found.state = structs.replace(found.state, epoch=found.state.epoch + 1, owner=owner)
        database.feed.announce()
        return Lease(thread=thread, owner=owner, epoch=found.state.epoch, last_seq=found.state.last_seq)

    async def release(self, lease: Lease) -> None:
        """Give the lease back if it is still this holder's; otherwise do nothing."""
        found = self._database().threads.get(lease.thread)
        if found and found.state.epoch == lease.epoch and found.state.owner == lease.owner:
            found.state = structs.replace(found.state, owner=None)
            self._shared.feed.announce()

    async def holder(self, thread: str, now_ms: int) -> Owner | None:
        """Return the living owner who holds the thread's lease; None: nobody does. Raises StoreError."""
        owner = self._thread(thread).state.owner
        found = None if owner is None else self._shared.owners[owner]
        return None if found is None or is_dead(found, now_ms, self._is_alive, self._owner_timeout_ms) else found

    async def load(self, thread: str, *, after_seq: int = 0) -> Loaded:
        """Read a consistent snapshot. Raises StoreError if there is no such thread."""
        found = self._thread(thread)
        return Loaded(
            thread=_copy(found.as_it_stands(), thread),
            rows=_copies(found.rows[max(after_seq, 0) :], Row),
            operations=[
                operation
                for operation in self._shared.operations.values()
                if operation.thread == thread and operation.state in rules.OPEN_STATES
            ],
            inbox=await self.inbox(thread),
            guard=msgspec.json.decode(msgspec.json.encode(found.guard)),
        )

    async def append(self, lease: Lease, step: Step) -> None:
        """Store one step whole. Raises StaleWriterError, RejectedStepError, StoreError."""
        # What a change of health does is not in its JSON; it is immutable all the way down.
        copy = structs.replace(_copy(step, f"a row of thread {lease.thread}"), health=step.health)
        found = self._thread(lease.thread)
        after = rules.advance(found.state, lease, copy, found.facts)
        self._check_tables(lease.thread, copy)
        self._store(found, copy)
        found.state = after
        self._shared.feed.announce()

    async def operations(self, thread: str | None = None, *, states: tuple[str, ...] = ()) -> list[Operation]:
        """Return journal entries, the newest first."""
        return [
            operation
            for operation in reversed(self._database().operations.values())
            if thread in (None, operation.thread) and (not states or operation.state in states)
        ]

    async def inbox(self, thread: str) -> list[InboxEntry]:
        """Return the entries not yet taken, in order of arrival."""
        return _copies(list(self._database().waiting.get(thread, {}).values()), InboxEntry)

    async def calls(self, owner: str) -> list[InboxEntry]:
        """Return the `cancel` and `event` entries not yet taken of threads whose lease the owner holds, in order."""
        database = self._database()
        found = [
            entry
            for thread, entries in database.waiting.items()
            if database.threads[thread].state.owner == owner
            for entry in entries.values()
            if entry.kind in {"cancel", "event"}
        ]
        return _copies(sorted(found, key=lambda entry: entry.position), InboxEntry)

    async def health(self) -> list[Health]:
        """Return what is known of every route's health, by route."""
        found = self._database().health
        return [found[route] for route in sorted(found)]

    async def claim_trial(self, trial: Health, now_ms: int) -> bool:
        """Store a route's state with its one trial taken; False if somebody else has it."""
        known = self._database().health.get(trial.route)
        if known is None or not rules.trial_is_free(known, now_ms):
            return False
        await self.put_health(rules.with_trial(known, trial))
        return True

    async def put_health(self, health: Health) -> None:
        """Store what a person decided of a route."""
        database = self._database()
        database.health[health.route] = health
        database.feed.announce()

    async def refused_since(self, since_ms: int) -> list[RefusedBytes]:
        """Return the requests that were refused after that time, of all threads."""
        return [each for each in self._database().refused.values() if each.refused_at_ms > since_ms]

    async def put_notice(self, notice: Notice, *, folds: Sequence[StoredNotice] = ()) -> bool:
        """Store a notice unless its key is known, and fold others into it; False: nothing changed."""
        notices = self._database().notices
        if notice.key in notices or not all(self._is_known(each) for each in folds):
            return False
        notices[notice.key] = StoredNotice(notice=notice)
        for each in folds:
            notices[each.notice.key] = structs.replace(
                each, state="folded", settled_at=notice.created_at, retry_at=None
            )
        self._shared.feed.announce()
        return True

    async def notices(self, *, states: tuple[str, ...] = (), limit: int = 1000) -> list[StoredNotice]:
        """Return notices, the newest first, in any or the named states."""
        found = [each for each in self._database().notices.values() if not states or each.state in states]
        return _copies(found[::-1][:limit], StoredNotice)

    async def settle_notice(
        self, known: StoredNotice, now: StoredNotice, *, budget: NoticeBudget | None = None
    ) -> bool:
        """Change a notice's delivery from what the caller knows of it; False: somebody was faster, or the budget is used."""
        if budget is not None and await self.notices_used(budget.since_ms) >= budget.most:
            return False
        if not self._is_known(known):
            return False
        notices = self._shared.notices
        notices[known.notice.key] = structs.replace(now, notice=notices[known.notice.key].notice)
        self._shared.feed.announce()
        return True

    async def notices_used(self, since_ms: int) -> int:
        """Return how many normal notices were sent since then, or whose sending has begun; no digests."""
        counted = [
            each
            for each in self._database().notices.values()
            if each.notice.priority == "normal" and each.notice.kind != "digest"
        ]
        sent = sum(each.state == "sent" and (each.settled_at or 0) >= since_ms for each in counted)
        return sent + sum(each.state == "due" and each.attempts > 0 for each in counted)

    def changes(self) -> ChangeListener:
        """Yield whenever anybody may have written since this call; ends when the store is closed."""
        listener = self._database().feed.listen()
        self._listeners.add(listener)
        return listener

    def _is_known(self, known: StoredNotice) -> bool:
        """Tell whether a notice's delivery stands as the caller knows it."""
        stored = self._database().notices.get(known.notice.key)
        return stored is not None and (stored.state, stored.attempts) == (known.state, known.attempts)

    def _database(self) -> MemoryDatabase:
        if not self._is_open:
            raise StoreError("the store is not open")
        return self._shared

    def _thread(self, thread: str) -> MemoryThread:
        found = self._database().threads.get(thread)
        if found is None:
            raise rules.no_such_thread(thread)
        return found

    def _put(self, entry: InboxEntry) -> InboxEntry:
        self._thread(entry.thread)
        database = self._shared
        position = database.last_position + 1
        copy = _copy(structs.replace(entry, position=position), f"inbox entry {entry.id}")
        known = database.entries.setdefault(entry.id, copy)
        if known is copy:
            database.last_position = position
            database.waiting.setdefault(entry.thread, {})[entry.id] = copy
            database.feed.announce()
        elif not rules.is_same_entry(known, copy):
            raise rules.entry_conflict(entry.id)
        return known

    def _check_tables(self, thread: str, step: Step) -> None:
        """Check what the rules leave to the tables, before anything is stored."""
        database = self._shared
        ids = [row.id for row in step.rows]
        if len(set(ids)) < len(ids) or not database.row_ids.isdisjoint(ids):
            raise RejectedStepError(f"thread {thread}: a row of the step cannot be stored: its id is in use")
        for operation in step.operations:
            if database.operations.get(operation.id, operation).thread != thread:
                raise rules.foreign_operation(thread, operation.id)
        waiting = database.waiting.get(thread, {})
        for entry in step.inbox_taken:
            if entry not in waiting:
                raise rules.entry_not_waiting(thread, entry)

    def _store(self, thread: MemoryThread, step: Step) -> None:
        """Carry out a checked step."""
        database, rows = self._shared, thread.rows
        rows.extend(step.rows)
        database.row_ids.update(row.id for row in step.rows)
        for change in step.views:
            row = rows[change.seq - 1]
            rows[change.seq - 1] = structs.replace(row, view=change.view, quarantine=change.quarantine)
        for index in range(thread.state.accepted_upto, step.accept_upto):
            row = rows[index]
            if row.visible and not row.accepted and row.quarantine != "excluded":
                rows[index] = structs.replace(row, accepted=True)
        for operation in step.operations:
            database.operations[operation.id] = operation
        for health in step.health:
            database.health[health.route] = health.onto(database.health.get(health.route))
        for notice in step.notices:
            database.notices.setdefault(notice.key, StoredNotice(notice=notice))
        for refused in step.refused:
            key = (refused.hash, refused.provider, refused.model)
            known = database.refused.get(key, refused)
            database.refused[key] = structs.replace(
                refused, refused_at_ms=max(known.refused_at_ms, refused.refused_at_ms)
            )
        if step.guard is not None:
            thread.guard = step.guard
        for entry in step.inbox_taken:
            del database.waiting[thread.record.id][entry]


def _copy(record: Copied, what: str) -> Copied:
    """Return the record as JSON would bring it back. Raises StoreError if it holds what JSON cannot hold."""
    text = to_json(record, what)
    try:
        return msgspec.json.decode(text, type=type(record))
    except msgspec.ValidationError as error:
        raise StoreError(f"{what} has a field of the wrong type: {error}; nothing was stored") from error


def _copies(records: list[Copied], kind: type[Copied]) -> list[Copied]:
    return [msgspec.json.decode(text, type=kind) for text in map(msgspec.json.encode, records)]
