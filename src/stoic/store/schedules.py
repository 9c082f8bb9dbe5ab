"""What the SQLite store keeps of schedules: when each is due next, moved on in the transaction that enters its prompt."""

from stoic.errors import StoreError
from stoic.records import InboxEntry, Schedule
from stoic.store import rules
from stoic.store.connection import Connection
from stoic.store.encoding import to_json
from stoic.store.writes import put

_COLUMNS = "id, thread, expression, cron, zone, prompt, created_at, next_due_at, last_fired_at, paused"
# The column names are constants of this module, never anybody's input.
_PUT = f"""
INSERT INTO schedules ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET next_due_at = excluded.next_due_at, paused = excluded.paused
"""  # noqa: S608
_ALL = f"SELECT {_COLUMNS} FROM schedules ORDER BY position"  # noqa: S608
_DELETE = "DELETE FROM schedules WHERE id = ?"
_ENDED = "SELECT tombstone_seq > 0 FROM threads WHERE id = ?"
_MOVE_ON = "UPDATE schedules SET next_due_at = ? WHERE id = ? AND next_due_at = ? AND paused = 0"
_PAUSE = "UPDATE schedules SET paused = 1 WHERE id = ?"
_WAITS = "SELECT 1 FROM inbox WHERE id = ? OR (thread = ? AND taken = 0 AND substr(id, 1, ?) = ?)"
_FIRED = "UPDATE schedules SET last_fired_at = ? WHERE id = ?"


def put_schedule(connection: Connection, schedule: Schedule) -> None:
    """Store a schedule, or what may change of a known one. Raises NoSuchThreadError, StoreError."""
    values = tuple(getattr(schedule, field) for field in Schedule.__struct_fields__)
    check_thread(schedule, ended=_has_ended(connection, schedule.thread))
    to_json(schedule, f"schedule {schedule.id}")
    connection.execute(_PUT, values)


def schedules(connection: Connection) -> list[Schedule]:
    """Return all schedules, the oldest first."""
    return [
        Schedule(**dict(zip(Schedule.__struct_fields__, (*values, paused == 1), strict=True)))
        for *values, paused in connection.execute(_ALL)
    ]


def delete_schedule(connection: Connection, schedule: str) -> bool:
    """Delete a schedule; False: there is none."""
    connection.execute(_DELETE, (schedule,))
    return connection.changes() > 0


def fire_schedule(connection: Connection, schedule: Schedule, entry: InboxEntry, next_due_at: int) -> bool:
    """Move a schedule on and enter its prompt; False: nothing was entered. Raises StoreError."""
    rules.check_entry(schedule.thread, entry)
    connection.execute(_MOVE_ON, (next_due_at, schedule.id, schedule.next_due_at))
    if not connection.changes():
        return False
    if _has_ended(connection, schedule.thread):
        connection.execute(_PAUSE, (schedule.id,))
        return False
    prefix = entries_of(schedule.id)
    if connection.execute(_WAITS, (entry.id, schedule.thread, len(prefix), prefix)).fetchone() is not None:
        return False
    put(connection, entry)
    connection.execute(_FIRED, (entry.created_at, schedule.id))
    return True


def entries_of(schedule: str) -> str:
    """Return what the ids of a schedule's inbox entries begin with."""
    return f"schedule:{schedule}:"


def check_thread(schedule: Schedule, *, ended: bool | None) -> None:
    """Raise an error unless a schedule's thread can have it; `ended`: whether that ended by refusal, None: there is none."""
    if ended is None:
        raise rules.no_such_thread(schedule.thread)
    if ended and not schedule.paused:
        raise StoreError(
            f"thread {schedule.thread} ended by refusal and never runs again; schedule a prompt for another thread"
        )


def _has_ended(connection: Connection, thread: str) -> bool | None:
    found = connection.execute(_ENDED, (thread,)).fetchone()
    return None if found is None else found[0] == 1
