"""What the SQLite store keeps of tasks: deliveries to their owners, briefs that were refused, and which threads have work."""

from stoic.errors import RejectedStepError
from stoic.records import Delivery, InboxEntry, Operation, RefusedBytes, Row, StoredDelivery, ThreadRecord, Work
from stoic.store.connection import Connection, Values
from stoic.store.encoding import OPERATION_COLUMNS, THREAD_COLUMNS, json_from, operation_from, thread_from, to_json

_COLUMNS = "id, task, turn, owner, status, receipt, created_at, reached"
# `phase <> 'idle'` lets SQLite see that the partial index holds all there is: idle threads cost nothing.
# The column names are constants of this package, never anybody's input.
_INSERT = f"INSERT INTO deliveries ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING"  # noqa: S608
_DELIVERIES = f"SELECT {_COLUMNS} FROM deliveries"  # noqa: S608
_EXISTS = "SELECT 1 FROM threads WHERE id = ?"
_WORK = f"""
WITH due (id) AS (
  SELECT id FROM threads WHERE phase <> 'idle' AND phase = 'open'
  UNION SELECT id FROM threads WHERE phase <> 'idle' AND phase = 'parked' AND wake_at_ms <= ?
  UNION SELECT thread FROM inbox WHERE taken = 0
)
SELECT coalesce((SELECT max(position) FROM inbox WHERE thread = threads.id AND taken = 0), 0), {THREAD_COLUMNS}
FROM due JOIN threads USING (id) ORDER BY created_at, id
"""  # noqa: S608
_NEXT_WAKE = "SELECT min(wake_at_ms) FROM threads WHERE phase <> 'idle' AND phase = 'parked' AND wake_at_ms > ?"
_TASKS = f"SELECT {THREAD_COLUMNS} FROM threads WHERE kind <> 'repair' AND (kind = 'task' OR scope = 'worker')"  # noqa: S608
_PARKED = f"SELECT {THREAD_COLUMNS} FROM threads WHERE phase <> 'idle' AND phase = 'parked' ORDER BY created_at, id"  # noqa: S608
_TOMBSTONES = """
SELECT content ->> '$.provider', content ->> '$.model', content ->> '$.category', created_at, content ->> '$.brief'
FROM rows WHERE kind = 'refusal_stop' AND content ->> '$.root' = ? AND content ->> '$.brief' = ? ORDER BY created_at
"""


_UNKNOWN_OF_KIN = f"""
SELECT {OPERATION_COLUMNS} FROM operations
WHERE state = 'unknown' AND (thread = ? OR thread IN (SELECT id FROM threads WHERE meta ->> '$.owner' = ?))
ORDER BY position
"""  # noqa: S608


def deliver(connection: Connection, delivery: Delivery, outcome: Row) -> InboxEntry | None:
    """Store a delivery with the row of its outcome; return the entry that its owner gets, None: there is nobody to get it."""
    created_at = outcome.created_at
    reached = delivery.owner is not None and connection.execute(_EXISTS, (delivery.owner,)).fetchone() is not None
    receipt = to_json(delivery.receipt, f"the receipt of task {delivery.task}")
    known = (delivery.id, delivery.task, delivery.turn, delivery.owner, delivery.status, receipt, created_at, reached)
    connection.execute(_INSERT, known)
    if not connection.changes():
        raise delivered_twice(delivery)
    return entry_of(delivery, outcome) if reached else None


def entry_of(delivery: Delivery, outcome: Row) -> InboxEntry:
    """Return the event by which a task's owner hears of its end; a task of the same id made anew has other ones."""
    return InboxEntry(
        id=f"delivery:{delivery.id}:{outcome.id}",
        thread=str(delivery.owner),
        kind="event",
        content=delivery.entry,
        created_at=outcome.created_at,
    )


def delivered_twice(delivery: Delivery) -> RejectedStepError:
    """Make the error for a second delivery of one end."""
    return RejectedStepError(f"thread {delivery.task}: the end of turn {delivery.turn} was delivered already")


def deliveries(connection: Connection, task: str | None, owner: str | None) -> list[StoredDelivery]:
    """Return what was delivered of a task, to an owner, or at all, the newest first."""
    conditions = [name for name, value in (("task = ?", task), ("owner = ?", owner)) if value is not None]
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    bindings = tuple(value for value in (task, owner) if value is not None)
    found = connection.execute(f"{_DELIVERIES}{where} ORDER BY position DESC", bindings)
    return [_delivery_from(values) for values in found]


def work(connection: Connection, now_ms: int) -> list[Work]:
    """Return the threads that there may be something to do on: open, due, or with unread entries."""
    found = connection.execute(_WORK, (now_ms,))
    return [Work(thread=thread_from(values[1:]), newest_entry=values[0]) for values in found]


def next_wake_ms(connection: Connection, now_ms: int) -> int | None:
    """Return when the next parked turn is to be looked at by the clock; None: none is."""
    return connection.execute(_NEXT_WAKE, (now_ms,)).fetchall()[0][0]


def tasks(connection: Connection, owner: str | None, root: str | None, limit: int) -> list[ThreadRecord]:
    """Return threads that count as tasks, of an owner, under a root, or all, the newest first."""
    conditions = [
        name
        for name, value in ((" AND meta ->> '$.owner' = ?", owner), (" AND meta ->> '$.root' = ?", root))
        if value is not None
    ]
    bindings = (*(value for value in (owner, root) if value is not None), limit)
    query = f"{_TASKS}{''.join(conditions)} ORDER BY created_at DESC, id DESC LIMIT ?"
    return [thread_from(values) for values in connection.execute(query, bindings)]


def parked(connection: Connection) -> list[ThreadRecord]:
    """Return the threads whose turn is parked, the oldest first."""
    return [thread_from(values) for values in connection.execute(_PARKED)]


def refused_briefs(connection: Connection, root: str, brief: str) -> list[RefusedBytes]:
    """Return who has refused an equal brief under a root, the oldest first."""
    found = connection.execute(_TOMBSTONES, (root, brief))
    return [
        RefusedBytes(hash=brief_hash, provider=provider, model=model, category=category, refused_at_ms=created_at)
        for provider, model, category, created_at, brief_hash in found
    ]


def unknown_of_kin(connection: Connection, thread: str, owner: str | None) -> list[Operation]:
    """Return the operations of a thread's owner and of its own tasks whose effect is unknown, the oldest first."""
    return [operation_from(values) for values in connection.execute(_UNKNOWN_OF_KIN, (owner, thread))]


def _delivery_from(values: Values) -> StoredDelivery:
    delivery_id, task, turn, owner, status, receipt, created_at, reached = values
    told = json_from(receipt, "receipt", f"delivery {delivery_id}")
    return StoredDelivery(
        delivery=Delivery(id=delivery_id, task=task, turn=turn, owner=owner, status=status, receipt=told),
        created_at=created_at,
        reached=reached == 1,
    )
