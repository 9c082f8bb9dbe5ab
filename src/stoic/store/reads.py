"""What the SQLite store reads; each function sees one consistent state of the database."""

import msgspec

from stoic.ports import Loaded
from stoic.records import Health, InboxEntry, Operation, Owner, Row, ThreadRecord
from stoic.store import rules
from stoic.store.connection import Connection
from stoic.store.encoding import (
    INBOX_COLUMNS,
    OPERATION_COLUMNS,
    OWNER_COLUMNS,
    ROW_BYTES,
    ROW_OBJECTS,
    THREAD_COLUMNS,
    entry_from,
    guard_from,
    health_from,
    operation_from,
    owner_from,
    row_from_bytes,
    rows_from,
    thread_from,
    thread_json,
)

# The column names are constants of this package, never anybody's input.
_THREAD = f"SELECT {THREAD_COLUMNS} FROM threads WHERE id = ?"  # noqa: S608
_GUARD = "SELECT guard FROM threads WHERE id = ?"
_THREADS = f"SELECT {THREAD_COLUMNS} FROM threads WHERE substr(id, 1, ?) = ? ORDER BY created_at DESC, id DESC LIMIT ?"  # noqa: S608
_ROWS = f"SELECT {ROW_OBJECTS} FROM rows WHERE thread = ? AND seq > ?"  # noqa: S608
_BYTES = f"SELECT {ROW_BYTES} FROM rows WHERE thread = ? AND seq > ? ORDER BY seq"  # noqa: S608
_INBOX = f"SELECT {INBOX_COLUMNS} FROM inbox WHERE thread = ? AND taken = 0 ORDER BY position"  # noqa: S608
_CALLS = f"""
SELECT {INBOX_COLUMNS} FROM inbox
WHERE taken = 0 AND kind IN ('cancel', 'event') AND EXISTS (SELECT 1 FROM threads WHERE id = inbox.thread AND owner = ?)
ORDER BY position
"""  # noqa: S608
_OWNERS = f"SELECT {OWNER_COLUMNS} FROM owners ORDER BY heartbeat_at DESC, id"  # noqa: S608
_OPERATIONS = f"SELECT {OPERATION_COLUMNS} FROM operations"  # noqa: S608
_OPEN = f"{_OPERATIONS} WHERE thread = ? AND state IN {rules.OPEN_STATES} ORDER BY position"


def thread(connection: Connection, thread_id: str) -> ThreadRecord:
    """Return one thread. Raises StoreError if there is none of that id."""
    values = connection.execute(_THREAD, (thread_id,)).fetchone()
    if values is None:
        raise rules.no_such_thread(thread_id)
    return thread_from(values)


def threads(connection: Connection, *, limit: int, prefix: str) -> list[ThreadRecord]:
    """Return threads by prefix of their id, the newest first."""
    found = connection.execute(_THREADS, (len(prefix), prefix, limit))
    return [thread_from(values) for values in found]


def load(connection: Connection, thread_id: str, after_seq: int) -> Loaded:
    """Read a thread as of one moment. Raises StoreError if there is none of that id."""
    connection.execute("BEGIN")
    try:
        record = thread(connection, thread_id)
        found_rows = _rows(connection, thread_id, after_seq)
        open_operations = [operation_from(found) for found in connection.execute(_OPEN, (thread_id,))]
        entries = inbox(connection, thread_id)
        guard = connection.execute(_GUARD, (thread_id,)).fetchall()[0][0]
    finally:
        connection.execute("COMMIT")
    state = guard_from(thread_id, guard)
    return Loaded(thread=record, rows=found_rows, operations=open_operations, inbox=entries, guard=state)


def _rows(connection: Connection, thread_id: str, after_seq: int) -> list[Row]:
    """Return rows by seq; one that is no JSON is stood in for."""
    try:
        found = connection.execute(_ROWS, (thread_json(thread_id), thread_id, after_seq)).fetchall()
        return rows_from(found[0][0])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return [row_from_bytes(thread_id, each) for each in connection.execute(_BYTES, (thread_id, after_seq))]


def owners(connection: Connection) -> list[Owner]:
    """Return every owner that was ever registered, the newest heartbeat first."""
    return [owner_from(values) for values in connection.execute(_OWNERS)]


def health(connection: Connection) -> list[Health]:
    """Return what is known of every route, by route."""
    return [health_from(values) for values in connection.execute("SELECT record FROM health ORDER BY route")]


def health_of(connection: Connection, route: str) -> Health | None:
    """Return what is known of one route."""
    values = connection.execute("SELECT record FROM health WHERE route = ?", (route,)).fetchone()
    return None if values is None else health_from(values)


def inbox(connection: Connection, thread_id: str) -> list[InboxEntry]:
    """Return the entries that wait, in order of arrival."""
    return [entry_from(values) for values in connection.execute(_INBOX, (thread_id,))]


def calls(connection: Connection, owner: str) -> list[InboxEntry]:
    """Return the waiting cancels and events of the threads whose lease the owner holds, in order of arrival."""
    return [entry_from(values) for values in connection.execute(_CALLS, (owner,))]


def operations(connection: Connection, thread_id: str | None, states: tuple[str, ...]) -> list[Operation]:
    """Return journal entries, the newest first."""
    conditions: list[str] = []
    if thread_id is not None:
        conditions.append("thread = ?")
    if states:
        conditions.append(f"state IN ({','.join('?' * len(states))})")
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    bindings = (*(() if thread_id is None else (thread_id,)), *states)
    found = connection.execute(f"{_OPERATIONS}{where} ORDER BY position DESC", bindings)
    return [operation_from(values) for values in found]
