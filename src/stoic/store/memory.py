"""The log in memory, with the same rules as on disk: no threads, no clock, the same answers every time."""

import weakref
from collections.abc import Sequence
from typing import TypeVar

import msgspec
from msgspec import structs

from stoic.errors import RejectedStepError, StoreError
from stoic.ports import HeldLeaseError, Loaded
from stoic.records import (
    DAY_MS,
    Health,
    InboxEntry,
    Json,
    Lease,
    Memory,
    Notice,
    NoticeBudget,
    Operation,
    Owner,
    Record,
    RefusedBytes,
    Row,
    Schedule,
    Spending,
    Spent,
    Step,
    StoredDelivery,
    StoredNotice,
    ThreadRecord,
    Work,
)
from stoic.store import rules
from stoic.store.changes import ChangeFeed, ChangeListener
from stoic.store.encoding import to_json
from stoic.store.memories import searched_text
from stoic.store.owners import OWNER_TIMEOUT_MS, IsAlive, heartbeat_only, is_dead
from stoic.store.schedules import check_thread, entries_of
from stoic.store.tasks import delivered_twice, entry_of
from stoic.store.wording import matches, terms_of

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
        return structs.replace(
            self.record,
            last_seq=state.last_seq,
            epoch=state.epoch,
            owner=state.owner,
            phase=state.phase,
            parked=state.parked,
            wake_at_ms=state.wake_at_ms,
            is_stopped=state.tombstone_seq > 0,
        )


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
        self.memories: dict[str, Memory] = {}
        """By id, in order of arrival."""
        self.memories_left = 0
        """How many have outlived their thread."""
        self.schedules: dict[str, Schedule] = {}
        """Likewise."""
        self.deliveries: dict[str, StoredDelivery] = {}
        """Likewise."""
        self.spending: dict[tuple[int, str], Spent] = {}
        """By day and thread at the top."""
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

    async def owners(self) -> list[Owner]:
        """Return every owner that was ever registered, the newest heartbeat first."""
        return sorted(self._database().owners.values(), key=lambda each: (-each.heartbeat_at, each.id))

    async def create_thread(self, thread: ThreadRecord, *, enter: InboxEntry | None = None) -> ThreadRecord:
        """Create the thread if it is new, with the inbox entry that it begins with; return it as it stands. Raises StoreError."""
        database = self._database()
        if thread.id not in database.threads:
            database.threads[thread.id] = MemoryThread(_copy(thread, f"the meta of thread {thread.id}"))
            try:
                if enter is not None:
                    rules.check_entry(thread.id, enter)
                    self._put(enter)
            except StoreError:
                del database.threads[thread.id]
                raise
            database.feed.announce()
        return _copy(database.threads[thread.id].as_it_stands(), thread.id)

    async def threads(self, *, limit: int = 100, prefix: str = "") -> list[ThreadRecord]:
        """Return threads whose id begins with the prefix, the newest first."""
        found = [thread.as_it_stands() for thread in self._database().threads.values()]
        found = [record for record in found if record.id.startswith(prefix)]
        found.sort(key=lambda record: (record.created_at, record.id), reverse=True)
        return _copies(found[:limit], ThreadRecord)

    async def thread(self, thread: str) -> ThreadRecord:
        """Return a thread as it stands, without its rows. Raises NoSuchThreadError, StoreError."""
        return _copy(self._thread(thread).as_it_stands(), thread)

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
        database.deliveries = {key: each for key, each in database.deliveries.items() if each.delivery.task != thread}
        database.schedules = {key: each for key, each in database.schedules.items() if each.thread != thread}
        self._leave_spending(thread)
        self._leave_memories(thread, ended=found.state.tombstone_seq > 0)
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
        self._spend(found, copy)
        found.state = after
        self._shared.feed.announce()

    def _spend(self, thread: MemoryThread, step: Step) -> None:
        if step.spent is not None:
            at_ms = step.rows[0].created_at
            key = (at_ms - at_ms % DAY_MS, thread.record.meta.get("root", thread.record.id))
            self._shared.spending[key] = self._shared.spending.get(key, Spent()) + step.spent

    def _leave_spending(self, thread: str) -> None:
        """A deleted thread does not make a day cheaper."""
        found = self._shared.spending
        for key in [each for each in found if each[1] == thread]:
            left = (key[0], "")
            found[left] = found.get(left, Spent()) + found.pop(key)

    async def spent(self, *, root: str | None = None, since_ms: int = 0) -> Spent:
        """Return what was taken by a thread and the tasks below it, or by all, on the days from that one on."""
        total = Spent()
        for each in await self.spending(root=root, since_ms=since_ms):
            total += each.spent
        return total

    async def spending(self, *, root: str | None = None, since_ms: int = 0) -> list[Spending]:
        """Return the same day by day and thread by thread, the newest day first."""
        since = since_ms - since_ms % DAY_MS
        found = [
            Spending(day_ms=day_ms, root=owner, spent=spent)
            for (day_ms, owner), spent in self._database().spending.items()
            if day_ms >= since and root in (None, owner)
        ]
        return sorted(found, key=lambda each: (-each.day_ms, -each.spent.cost_usd, -each.spent.tokens, each.root))

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

    async def work(self, now_ms: int) -> list[Work]:
        """Return the threads that there may be something to do on, the oldest first."""
        found: list[Work] = []
        for thread in self._database().threads.values():
            state, entries = thread.state, self._shared.waiting.get(thread.record.id, {})
            is_due = state.phase == "parked" and state.wake_at_ms is not None and state.wake_at_ms <= now_ms
            if state.phase == "open" or is_due or entries:
                newest = max((entry.position for entry in entries.values()), default=0)
                found.append(Work(thread=thread.as_it_stands(), newest_entry=newest))
        found.sort(key=lambda each: (each.thread.created_at, each.thread.id))
        return _copies(found, Work)

    async def next_wake_ms(self, now_ms: int) -> int | None:
        """Return when the next parked turn is due by the clock; None: none is."""
        times = [thread.state.wake_at_ms for thread in self._database().threads.values()]
        return min((each for each in times if each is not None and each > now_ms), default=None)

    async def parked(self) -> list[ThreadRecord]:
        """Return the threads whose turn is parked, the oldest first."""
        found = [each.as_it_stands() for each in self._database().threads.values() if each.state.phase == "parked"]
        return _copies(sorted(found, key=lambda each: (each.created_at, each.id)), ThreadRecord)

    async def tasks(
        self, *, owner: str | None = None, root: str | None = None, limit: int = 1000
    ) -> list[ThreadRecord]:
        """Return threads that count as tasks, of an owner, under a root, or all, the newest first."""
        return [
            each
            for each in await self.threads(limit=len(self._database().threads))
            if each.kind != "repair"
            and (each.kind == "task" or each.scope == "worker")
            and owner in (None, each.meta.get("owner"))
            and root in (None, each.meta.get("root"))
        ][:limit]

    async def deliveries(self, *, task: str | None = None, owner: str | None = None) -> list[StoredDelivery]:
        """Return what was delivered of a task, to an owner, or at all, the newest first."""
        found = [
            each
            for each in reversed(self._database().deliveries.values())
            if task in (None, each.delivery.task) and owner in (None, each.delivery.owner)
        ]
        return _copies(found, StoredDelivery)

    async def refused_briefs(self, root: str, brief: str) -> list[RefusedBytes]:
        """Return who has refused an equal brief under a root, the oldest first."""
        stops = [
            row
            for thread in self._database().threads.values()
            for row in thread.rows
            if row.kind == rules.TOMBSTONE_KIND
            and row.content.get("root") == root
            and row.content.get("brief") == brief
        ]
        return [
            RefusedBytes(
                hash=brief,
                provider=row.content["provider"],
                model=row.content["model"],
                category=row.content.get("category"),
                refused_at_ms=row.created_at,
            )
            for row in sorted(stops, key=lambda row: row.created_at)
        ]

    async def unknown_of_kin(self, thread: str, owner: str | None) -> list[Operation]:
        """Return the operations of a thread's owner and of its own tasks whose effect is unknown, the oldest first."""
        kin = {each.id for each in await self.tasks(owner=thread)} | {owner}
        return [each for each in self._shared.operations.values() if each.state == "unknown" and each.thread in kin]

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

    async def remember(self, memory: Memory) -> bool:
        """Store a memory; False: its id is known, or its thread ended by refusal. Raises StoreError."""
        memories = self._database().memories
        copy = _copy(memory, f"memory {memory.id}")
        if memory.id in memories or self._has_ended(memory.thread):
            return False
        memories[memory.id] = copy
        self._shared.feed.announce()
        return True

    async def recall(self, scope: str | None, query: str, limit: int) -> list[Memory]:
        """Return the memories that hold any of the query's words, the best match first: the one with most of them."""
        terms, known = terms_of(query), self._database().memories
        found = [each for each in await self.memories(scope, len(known)) if not self._has_ended(each.thread)]
        if not terms:
            return found[:limit]
        ranked = [(matches(terms, searched_text(each)), each) for each in found]
        ranked.sort(key=lambda ranking: -ranking[0])
        return [each for count, each in ranked if count][:limit]

    async def memories(self, scope: str | None, limit: int) -> list[Memory]:
        """Return the memories, the newest first, also those that are not recalled any more."""
        found = [each for each in self._database().memories.values() if scope in (None, each.scope)]
        return _copies(found[::-1][:limit], Memory)

    async def forget(self, scope: str | None, memory: str) -> bool:
        """Delete a memory; False: there is none."""
        memories = self._database().memories
        if memory not in memories or scope not in (None, memories[memory].scope):
            return False
        del memories[memory]
        self._shared.feed.announce()
        return True

    async def put_schedule(self, schedule: Schedule) -> None:
        """Store a schedule, or what may change of a known one. Raises StoreError."""
        schedules = self._database().schedules
        check_thread(schedule, ended=self._has_ended(schedule.thread))
        copy = _copy(schedule, f"schedule {schedule.id}")
        known = schedules.get(schedule.id, copy)
        schedules[schedule.id] = structs.replace(known, next_due_at=copy.next_due_at, paused=copy.paused)
        self._shared.feed.announce()

    async def schedules(self) -> list[Schedule]:
        """Return all schedules, the oldest first."""
        return _copies(list(self._database().schedules.values()), Schedule)

    async def delete_schedule(self, schedule: str) -> bool:
        """Delete a schedule; False: there is none."""
        found = self._database().schedules.pop(schedule, None)
        self._shared.feed.announce()
        return found is not None

    async def fire_schedule(self, schedule: Schedule, entry: InboxEntry, next_due_at: int) -> bool:
        """Move a schedule on and enter its prompt; False: nothing was entered."""
        rules.check_entry(schedule.thread, entry)
        database = self._database()
        known = database.schedules.get(schedule.id)
        if known is None or known.paused or known.next_due_at != schedule.next_due_at:
            return False
        ended = self._has_ended(schedule.thread) is True
        waits = entry.id in database.entries or any(
            each.startswith(entries_of(schedule.id)) for each in database.waiting.get(schedule.thread, {})
        )
        enters = not ended and not waits
        if enters:
            self._put(entry)
        database.schedules[schedule.id] = structs.replace(
            known,
            next_due_at=next_due_at,
            last_fired_at=entry.created_at if enters else known.last_fired_at,
            paused=ended,
        )
        database.feed.announce()
        return enters

    def changes(self) -> ChangeListener:
        """Yield whenever anybody may have written since this call; ends when the store is closed."""
        listener = self._database().feed.listen()
        self._listeners.add(listener)
        return listener

    def _leave_memories(self, thread: str, *, ended: bool) -> None:
        """Let a deleted thread's memories stay under other ids, unless it ended by refusal."""
        database = self._shared
        left = dict[str, Memory]()
        for each in database.memories.values():
            if each.thread != thread:
                left[each.id] = each
            elif not ended:
                database.memories_left += 1
                kept = structs.replace(each, id=f"kept:{database.memories_left}", thread="")
                left[kept.id] = kept
        database.memories = left

    def _has_ended(self, thread: str) -> bool | None:
        """Tell whether a thread ended by refusal; None: there is none."""
        found = self._database().threads.get(thread)
        return None if found is None else found.state.tombstone_seq > 0

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
        for delivery in step.deliveries:
            if delivery.id in database.deliveries:
                raise delivered_twice(delivery)
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
        self._deliver(step)
        if step.guard is not None:
            thread.guard = step.guard
        for entry in step.inbox_taken:
            del database.waiting[thread.record.id][entry]

    def _deliver(self, step: Step) -> None:
        """Store what tasks deliver, and enter it where their owners read it."""
        database = self._shared
        for delivery in step.deliveries:
            outcome, reached = step.rows[-1], delivery.owner in database.threads
            kept = structs.replace(delivery, entry=None)
            database.deliveries[delivery.id] = StoredDelivery(
                delivery=kept, created_at=outcome.created_at, reached=reached
            )
            if reached:
                self._put(entry_of(delivery, outcome))


def _copy(record: Copied, what: str) -> Copied:
    """Return the record as JSON would bring it back. Raises StoreError if it holds what JSON cannot hold."""
    text = to_json(record, what)
    try:
        return msgspec.json.decode(text, type=type(record))
    except msgspec.ValidationError as error:
        raise StoreError(f"{what} has a field of the wrong type: {error}; nothing was stored") from error


def _copies(records: list[Copied], kind: type[Copied]) -> list[Copied]:
    return [msgspec.json.decode(text, type=kind) for text in map(msgspec.json.encode, records)]
