"""What the SQLite store keeps beside the log: notices to people, and the requests that were refused."""

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from stoic.records import Notice, NoticeBudget, RefusedBytes, Step, StoredNotice
from stoic.store.connection import Connection, Values
from stoic.store.encoding import to_json

_NOTICE_COLUMNS = "id, key, thread, kind, priority, text, actions, created_at"
_STATE_COLUMNS = "state, attempts, settled_at, retry_at, error, delivered"
_COUNTED = "priority = 'normal' AND kind <> 'digest'"
# The column names are constants of this module, never anybody's input.
_INSERT_NOTICE = f"INSERT INTO notices ({_NOTICE_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO NOTHING"  # noqa: S608
_NOTICES = f"SELECT {_NOTICE_COLUMNS}, {_STATE_COLUMNS} FROM notices"  # noqa: S608
_IS_SO = "SELECT 1 FROM notices WHERE id = ? AND state = ? AND attempts = ?"
_SETTLE = """
UPDATE notices SET state = ?, attempts = ?, settled_at = ?, retry_at = ?, error = ?, delivered = ?
WHERE id = ? AND state = ? AND attempts = ?
"""
_USED = f"""
SELECT
  (SELECT count(*) FROM notices WHERE state = 'sent' AND settled_at >= ? AND {_COUNTED})
  + (SELECT count(*) FROM notices WHERE state = 'due' AND attempts > 0 AND {_COUNTED})
"""  # noqa: S608
_REMEMBER = """
INSERT INTO refused_bytes (hash, provider, model, refused_at_ms, scope, "where", category) VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (hash, provider, model) DO UPDATE SET
  refused_at_ms = max(refused_at_ms, excluded.refused_at_ms), scope = excluded.scope, "where" = excluded."where",
  category = excluded.category
"""
_REFUSED = """
SELECT hash, provider, model, refused_at_ms, scope, "where", category FROM refused_bytes WHERE refused_at_ms > ?
"""


def store(connection: Connection, step: Step) -> None:
    """Store what a step says to people and remembers of refusals."""
    for notice in step.notices:
        put_notice(connection, notice)
    for refused in step.refused:
        remember(connection, refused)


def put_notice(connection: Connection, notice: Notice, folds: Sequence[StoredNotice] = ()) -> bool:
    """Store a notice unless its key is known, and fold others into it.

    False, and nothing changed: the key is known, or one of the others is not as the caller knows it.
    """
    for each in folds:
        if connection.execute(_IS_SO, (each.notice.id, each.state, each.attempts)).fetchone() is None:
            return False
    actions = to_json(notice.actions, f"the actions of notice {notice.key}")
    known = (notice.id, notice.key, notice.thread, notice.kind, notice.priority, notice.text, actions)
    connection.execute(_INSERT_NOTICE, (*known, notice.created_at))
    if not connection.changes():
        return False
    for each in folds:
        settle_notice(connection, each, replace(each, state="folded", settled_at=notice.created_at, retry_at=None))
    return True


def notices(connection: Connection, states: tuple[str, ...], limit: int) -> list[StoredNotice]:
    """Return notices in any or the named states, the newest first."""
    where = f" WHERE state IN ({','.join('?' * len(states))})" if states else ""
    found = connection.execute(f"{_NOTICES}{where} ORDER BY position DESC LIMIT ?", (*states, limit))
    return [_notice_from(values) for values in found]


def settle_notice(
    connection: Connection, known: StoredNotice, now: StoredNotice, budget: NoticeBudget | None = None
) -> bool:
    """Change a notice's delivery from what the caller knows of it; False: somebody was faster, or the budget is used."""
    if budget is not None and notices_used(connection, budget.since_ms) >= budget.most:
        return False
    delivered = to_json(now.delivered, f"the channels of notice {known.notice.key}")
    changed = (now.state, now.attempts, now.settled_at, now.retry_at, now.error, delivered)
    connection.execute(_SETTLE, (*changed, known.notice.id, known.state, known.attempts))
    return connection.changes() == 1


def notices_used(connection: Connection, since_ms: int) -> int:
    """Return how many normal notices were sent since then, or whose sending has begun; no digests."""
    return connection.execute(_USED, (since_ms,)).fetchall()[0][0]


def remember(connection: Connection, refused: RefusedBytes) -> None:
    """Store that these bytes were refused; the newest time counts."""
    connection.execute(_REMEMBER, tuple(getattr(refused, field) for field in RefusedBytes.__struct_fields__))


def refused_since(connection: Connection, since_ms: int) -> list[RefusedBytes]:
    """Return the requests refused after that time."""
    found = connection.execute(_REFUSED, (since_ms,))
    return [RefusedBytes(**dict(zip(RefusedBytes.__struct_fields__, values, strict=True))) for values in found]


def _notice_from(values: Values) -> StoredNotice:
    notice_id, key, thread, kind, priority, text, actions, created_at, *delivery = values
    state, attempts, settled_at, retry_at, error, delivered = delivery
    return StoredNotice(
        notice=Notice(
            id=notice_id,
            key=key,
            thread=thread,
            kind=kind,
            priority=priority,
            text=text,
            actions=msgspec.json.decode(actions, type=list[str]),
            created_at=created_at,
        ),
        state=state,
        attempts=attempts,
        settled_at=settled_at,
        retry_at=retry_at,
        error=error,
        delivered=msgspec.json.decode(delivered, type=list[str]),
    )
