"""What the SQLite store writes; each function runs inside one savepoint of the writer's transaction."""

import apsw
import msgspec

from stoic.errors import RejectedStepError
from stoic.records import Health, InboxEntry, Lease, Operation, Owner, Record, Step, ThreadRecord, ViewChange
from stoic.store import reads, rules, spending, tasks, verdicts
from stoic.store.connection import Connection, Values
from stoic.store.encoding import (
    INBOX_COLUMNS,
    OPERATION_COLUMNS,
    OWNER_COLUMNS,
    ROW_COLUMNS,
    entry_from,
    operation_values,
    owner_from,
    to_json,
)
from stoic.store.owners import IsAlive, is_dead

# The column names are constants of this package, never anybody's input.
_STATE = """
SELECT epoch, owner, last_seq, accepted_upto, generation, tombstone_seq, phase, parked, wake_at_ms
FROM threads WHERE id = ?
"""
_SET_STATE = """
UPDATE threads SET
  owner = ?, last_seq = ?, accepted_upto = ?, generation = ?, tombstone_seq = ?, phase = ?, parked = ?, wake_at_ms = ?
WHERE id = ?
"""
_SET_GUARD = "UPDATE threads SET guard = ? WHERE id = ?"
_SET_LEASE = "UPDATE threads SET epoch = ?, owner = ? WHERE id = ?"
_RENEW = "UPDATE owners SET heartbeat_at = max(heartbeat_at, ?) WHERE id = ?"
_RELEASE = "UPDATE threads SET owner = NULL WHERE id = ? AND epoch = ? AND owner = ?"
_FACTS = "SELECT kind, generation, turn, accepted, quarantine FROM rows WHERE thread = ? AND seq = ?"
_INSERT_ROW = f"INSERT INTO rows ({ROW_COLUMNS}) VALUES ({','.join('?' * 16)})"  # noqa: S608
_SET_VIEW = "UPDATE rows SET view = ?, quarantine = ? WHERE thread = ? AND seq = ?"
_ACCEPT = """
UPDATE rows SET accepted = 1
WHERE thread = ? AND seq > ? AND seq <= ? AND visible = 1 AND accepted = 0 AND quarantine IS NOT 'excluded'
"""
_PUT_OPERATION = f"""
INSERT INTO operations ({OPERATION_COLUMNS}) VALUES ({",".join("?" * 13)})
ON CONFLICT (id) DO UPDATE SET
  turn = excluded.turn, round = excluded.round, "index" = excluded."index", tool = excluded.tool,
  effect = excluded.effect, arguments_key = excluded.arguments_key, state = excluded.state,
  started_at = excluded.started_at, ended_at = excluded.ended_at, status = excluded.status, runs = excluded.runs
WHERE thread = excluded.thread
"""  # noqa: S608
_TAKE = "UPDATE inbox SET taken = 1 WHERE id = ? AND thread = ? AND taken = 0"
_ENTRY = f"SELECT {INBOX_COLUMNS} FROM inbox WHERE id = ?"  # noqa: S608
_INSERT_ENTRY = "INSERT INTO inbox (id, thread, kind, content, created_at) VALUES (?, ?, ?, ?, ?) RETURNING position"
_INSERT_THREAD = """
INSERT INTO threads (id, kind, scope, created_at, title, meta) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING
"""
_DELETE_THREAD = "DELETE FROM threads WHERE id = ?"
_OWNER = f"SELECT {OWNER_COLUMNS} FROM owners WHERE id = ?"  # noqa: S608
_REGISTER = f"""
INSERT INTO owners ({OWNER_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET heartbeat_at = max(heartbeat_at, excluded.heartbeat_at)
WHERE host = excluded.host AND boot_id = excluded.boot_id AND pid = excluded.pid AND started_at = excluded.started_at
"""  # noqa: S608


_PUT_HEALTH = """
INSERT INTO health (route, state, until_ms, record) VALUES (?, ?, ?, ?)
ON CONFLICT (route) DO UPDATE SET state = excluded.state, until_ms = excluded.until_ms, record = excluded.record
"""


class TakeOver(Record, frozen=True):
    """How a store judges the holder of a lease."""

    is_alive: IsAlive
    timeout_ms: int


def append(connection: Connection, lease: Lease, step: Step, rows: list[Values]) -> None:
    """Store one step; `rows` are the step's, encoded. Raises StaleWriterError, RejectedStepError, StoreError."""
    thread = lease.thread
    state = _state(connection, thread)
    after = rules.advance(state, lease, step, lambda seq: _facts(connection, thread, seq))
    if rows:
        _insert_rows(connection, thread, rows)
    for change in step.views:
        _change_view(connection, thread, change)
    if step.accept_upto:
        connection.execute(_ACCEPT, (thread, state.accepted_upto, step.accept_upto))
    for operation in step.operations:
        _put_operation(connection, operation)
    for health in step.health:
        put_health(connection, health.onto(reads.health_of(connection, health.route)))
    _store_beside(connection, thread, step)
    for delivery in step.deliveries:
        entry = tasks.deliver(connection, delivery, step.rows[-1])
        if entry is not None:
            put(connection, entry)
    _take(connection, thread, step.inbox_taken)
    if after != state:
        connection.execute(
            _SET_STATE,
            (
                after.owner,
                after.last_seq,
                after.accepted_upto,
                after.generation,
                after.tombstone_seq,
                after.phase,
                None if after.parked is None else to_json(after.parked, f"what thread {thread} waits for"),
                after.wake_at_ms,
                thread,
            ),
        )


def acquire(
    connection: Connection, thread: str, owner: str, now_ms: int, *, entry: InboxEntry | None, rule: TakeOver
) -> Lease | Owner:
    """Take the lease, or return the living owner who holds it; the entry is inserted either way. Raises StoreError."""
    state = _state(connection, thread)
    _owner(connection, owner)
    if entry is not None:
        rules.check_entry(thread, entry)
        put(connection, entry)
    if state.owner is not None:
        holder = _owner(connection, state.owner)
        if holder.id == owner or not is_dead(holder, now_ms, rule.is_alive, rule.timeout_ms):
            return holder
    connection.execute(_SET_LEASE, (state.epoch + 1, owner, thread))
    # Taking a lease is a sign of life: else an owner that was idle for long could lose it before its next heartbeat.
    connection.execute(_RENEW, (now_ms, owner))
    return Lease(thread=thread, owner=owner, epoch=state.epoch + 1, last_seq=state.last_seq)


def holder(connection: Connection, thread: str, now_ms: int, *, rule: TakeOver) -> Owner | None:
    """Return the living owner who holds the lease; writes nothing. Raises StoreError."""
    state = _state(connection, thread)
    found = None if state.owner is None else _owner(connection, state.owner)
    return None if found is None or is_dead(found, now_ms, rule.is_alive, rule.timeout_ms) else found


def put_health(connection: Connection, health: Health) -> None:
    """Insert or replace a route's health."""
    record = to_json(health, f"the health of {health.route}")
    connection.execute(_PUT_HEALTH, (health.route, health.state, health.until_ms, record))


def claim_trial(connection: Connection, trial: Health, now_ms: int) -> bool:
    """Store the taken trial unless another one runs."""
    known = reads.health_of(connection, trial.route)
    if known is None or not rules.trial_is_free(known, now_ms):
        return False
    put_health(connection, rules.with_trial(known, trial))
    return True


def release(connection: Connection, lease: Lease) -> None:
    """Free the lease if it is still this one."""
    connection.execute(_RELEASE, (lease.thread, lease.epoch, lease.owner))


def put(connection: Connection, entry: InboxEntry) -> InboxEntry:
    """Insert an entry; one that is there already stays as it is. Raises StoreError."""
    _state(connection, entry.thread)
    content = to_json(entry.content, f"inbox entry {entry.id}")
    values = (entry.id, entry.thread, entry.kind, content, entry.created_at)
    known = connection.execute(_ENTRY, (entry.id,)).fetchone()
    if known is None:
        (position,) = connection.execute(_INSERT_ENTRY, values).fetchall()[0]
        return entry_from((*values, position))
    stored = entry_from(known)
    if not rules.is_same_entry(stored, entry_from((*values, 0))):
        raise rules.entry_conflict(entry.id)
    return stored


def create_thread(connection: Connection, thread: ThreadRecord, entry: InboxEntry | None = None) -> ThreadRecord:
    """Insert the thread if it is new, with the entry that it begins with; return it as it stands. Raises StoreError."""
    meta = to_json(thread.meta, f"the meta of thread {thread.id}") if thread.meta else None
    values = (thread.id, thread.kind, thread.scope, thread.created_at, thread.title, meta)
    connection.execute(_INSERT_THREAD, values)
    if connection.changes() and entry is not None:
        rules.check_entry(thread.id, entry)
        put(connection, entry)
    return reads.thread(connection, thread.id)


def delete_thread(connection: Connection, thread: str, now_ms: int, *, rule: TakeOver) -> Owner | None:
    """Delete a thread, its rows, journal and inbox by the schema's trigger; return the living owner who prevents it."""
    found = holder(connection, thread, now_ms, rule=rule)
    if found is None:
        connection.execute(_DELETE_THREAD, (thread,))
    return found


def register(connection: Connection, owner: Owner) -> None:
    """Insert the owner or renew its heartbeat. Raises StoreError if the id is another process's."""
    values = (owner.id, owner.host, owner.boot_id, owner.pid, owner.started_at, owner.heartbeat_at)
    connection.execute(_REGISTER, values)
    if not connection.changes():
        raise rules.other_process(owner.id)


def _state(connection: Connection, thread: str) -> rules.ThreadState:
    values = connection.execute(_STATE, (thread,)).fetchone()
    if values is None:
        raise rules.no_such_thread(thread)
    epoch, owner, last_seq, accepted_upto, generation, tombstone_seq, phase, parked, wake_at_ms = values
    return rules.ThreadState(
        epoch=epoch,
        owner=owner,
        last_seq=last_seq,
        accepted_upto=accepted_upto,
        generation=generation,
        tombstone_seq=tombstone_seq,
        phase=phase,
        parked=None if parked is None else msgspec.json.decode(parked),
        wake_at_ms=wake_at_ms,
    )


def _owner(connection: Connection, owner: str) -> Owner:
    values = connection.execute(_OWNER, (owner,)).fetchone()
    if values is None:
        raise rules.unknown_owner(owner)
    return owner_from(values)


def _facts(connection: Connection, thread: str, seq: int) -> rules.RowFacts | None:
    values = connection.execute(_FACTS, (thread, seq)).fetchone()
    if values is None:
        return None
    kind, generation, turn, accepted, quarantine = values
    return rules.RowFacts(kind=kind, generation=generation, turn=turn, accepted=accepted == 1, quarantine=quarantine)


def _store_beside(connection: Connection, thread: str, step: Step) -> None:
    """Store what a step says to people, remembers of refusals and loops, and has taken."""
    verdicts.store(connection, step)
    if step.guard is not None:
        connection.execute(_SET_GUARD, (to_json(step.guard, f"the loop state of thread {thread}"), thread))
    if step.spent is not None:
        spending.add(connection, thread, step.rows[0].created_at, step.spent)


def _insert_rows(connection: Connection, thread: str, rows: list[Values]) -> None:
    try:
        connection.executemany(_INSERT_ROW, rows)
    except apsw.ConstraintError as error:
        raise RejectedStepError(f"thread {thread}: a row of the step cannot be stored: {error}") from error


def _take(connection: Connection, thread: str, entries: list[str]) -> None:
    for entry in entries:
        connection.execute(_TAKE, (entry, thread))
        if not connection.changes():
            raise rules.entry_not_waiting(thread, entry)


def _change_view(connection: Connection, thread: str, change: ViewChange) -> None:
    view = None if change.view is None else to_json(change.view, f"the view of seq {change.seq}")
    connection.execute(_SET_VIEW, (view, change.quarantine, thread, change.seq))


def _put_operation(connection: Connection, operation: Operation) -> None:
    connection.execute(_PUT_OPERATION, operation_values(operation))
    if not connection.changes():
        raise rules.foreign_operation(operation.thread, operation.id)
