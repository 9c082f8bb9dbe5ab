"""Records to columns and back; JSON is encoded before a step is queued and decoded many rows at a time."""

import msgspec

from stoic.errors import StoreError
from stoic.records import Health, InboxEntry, Json, Operation, Owner, Row, ThreadRecord
from stoic.store.connection import Values

ROW_COLUMNS = (
    "id, thread, seq, generation, segment, turn, round, role, kind, created_at, visible, quarantine, accepted,"
    " content, view, meta"
)
ROW_OBJECTS = """
'[' || group_concat(
  format(
    '{"id":%s,"thread":%s,"seq":%d,"generation":%d,"segment":%s,"turn":%d,"round":%d,"role":%s,"kind":%s'
    || ',"created_at":%d,"content":%s%s%s%s%s%s}',
    json_quote(id), json_quote(thread), seq, generation, json_quote(segment), turn, round, json_quote(role),
    json_quote(kind), created_at, content, iif(visible, ',"visible":true', ''), iif(accepted, ',"accepted":true', ''),
    iif(quarantine IS NULL, '', ',"quarantine":"' || quarantine || '"'),
    iif(view IS NULL, '', ',"view":' || view), iif(meta IS NULL, '', ',"meta":' || meta)
  ), ',' ORDER BY seq
) || ']'
"""
"""Rows as one JSON array, so that a whole thread is read in one step: a third of the time of column by column."""
THREAD_COLUMNS = "id, kind, scope, created_at, last_seq, epoch, owner, title, meta"
OPERATION_COLUMNS = (
    'id, thread, turn, round, "index", tool, effect, arguments_key, state, started_at, ended_at, status, runs'
)
INBOX_COLUMNS = "id, thread, kind, content, created_at, position"
OWNER_COLUMNS = "id, host, boot_id, pid, started_at, heartbeat_at"

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode
_decode_rows = msgspec.json.Decoder(list[Row]).decode
_decode_health = msgspec.json.Decoder(Health).decode


def to_json(value: Json, what: str) -> str:
    """Encode a value as JSON text.

    Args:
        value: The value.
        what: Names it in the error.

    Raises:
        StoreError: The value is nothing JSON can hold.
    """
    try:
        return _encode(value).decode()
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise StoreError(f"{what} holds something that JSON cannot hold: {error}; nothing was stored") from error


def row_values(row: Row) -> Values:
    """Return a row as the values of ROW_COLUMNS."""
    return (
        row.id,
        row.thread,
        row.seq,
        row.generation,
        row.segment,
        row.turn,
        row.round,
        row.role,
        row.kind,
        row.created_at,
        row.visible,
        row.quarantine,
        row.accepted,
        to_json(row.content, f"row {row.id}"),
        None if row.view is None else to_json(row.view, f"the view of row {row.id}"),
        to_json(row.meta, f"the meta of row {row.id}") if row.meta else None,
    )


def rows_from(objects: str | None) -> list[Row]:
    """Build rows from the value of ROW_OBJECTS; no rows are NULL."""
    return [] if objects is None else _decode_rows(objects)


def operation_values(operation: Operation) -> Values:
    """Return a journal entry as the values of OPERATION_COLUMNS."""
    return (
        operation.id,
        operation.thread,
        operation.turn,
        operation.round,
        operation.index,
        operation.tool,
        operation.effect,
        operation.arguments_key,
        operation.state,
        operation.started_at,
        operation.ended_at,
        operation.status,
        operation.runs,
    )


def operation_from(values: Values) -> Operation:
    """Build a journal entry from values of OPERATION_COLUMNS, which are its fields in their order."""
    return Operation(**dict(zip(Operation.__struct_fields__, values, strict=True)))


def thread_from(values: Values) -> ThreadRecord:
    """Build a thread from values of THREAD_COLUMNS."""
    thread_id, kind, scope, created_at, last_seq, epoch, owner, title, meta = values
    return ThreadRecord(
        id=thread_id,
        kind=kind,
        scope=scope,
        created_at=created_at,
        last_seq=last_seq,
        epoch=epoch,
        owner=owner,
        title=title,
        meta=_decode(meta) if meta else {},
    )


def entry_from(values: Values) -> InboxEntry:
    """Build an inbox entry from values of INBOX_COLUMNS."""
    entry_id, thread, kind, content, created_at, position = values
    return InboxEntry(
        id=entry_id, thread=thread, kind=kind, content=_decode(content), created_at=created_at, position=position
    )


def health_from(values: Values) -> Health:
    """Build a route's health from its record."""
    (record,) = values
    return _decode_health(record)  # pyright: ignore[reportArgumentType] - text


def owner_from(values: Values) -> Owner:
    """Build an owner from values of OWNER_COLUMNS."""
    owner_id, host, boot_id, pid, started_at, heartbeat_at = values
    return Owner(id=owner_id, host=host, boot_id=boot_id, pid=pid, started_at=started_at, heartbeat_at=heartbeat_at)
