"""Records to columns and back; JSON is encoded before a step is queued and decoded many rows at a time."""

from collections.abc import Callable
from operator import attrgetter

import msgspec
from msgspec import structs

from stoic.errors import StoreError
from stoic.records import Health, InboxEntry, Json, Operation, Owner, Row, ThreadRecord
from stoic.store.connection import Values

ROW_COLUMNS = (
    "id, thread, seq, generation, segment, turn, round, role, kind, created_at, visible, quarantine, accepted,"
    " content, view, meta"
)
ROW_OBJECTS = """
'[' || group_concat(concat(
  '{"id":"', id, '","thread":', ?, ',"seq":', seq, ',"generation":', generation,
  ',"segment":', json_quote(segment), ',"turn":', turn, ',"round":', round, ',"role":"', role,
  '","kind":', json_quote(kind), ',"content":', content, ',"created_at":', created_at, ',"view":' || view,
  iif(visible, ',"visible":true', ''), ',"quarantine":"' || quarantine || '"', iif(accepted, ',"accepted":true', ''),
  ',"meta":' || meta, '}'
)) || ']'
"""
"""Rows as one JSON array, so that a whole thread is read in one step: a fifth of the time of column by column.

The fields stand in the record's own order, which decodes fastest; `concat` takes NULL as nothing. `id` and `role` are
words of ours, which need no quoting.
"""
ROW_BYTES = (
    "seq, id, generation, segment, turn, round, role, kind, created_at, visible, quarantine, accepted,"
    " CAST(content AS BLOB), CAST(view AS BLOB), CAST(meta AS BLOB)"
)
"""The same rows column by column, for when one of them spoils the whole array."""
THREAD_COLUMNS = (
    "id, kind, scope, created_at, last_seq, epoch, owner, title, meta, phase, parked, wake_at_ms, tombstone_seq"
)
OPERATION_COLUMNS = (
    'id, thread, turn, round, "index", tool, effect, arguments_key, state, started_at, ended_at, status, runs'
)
INBOX_COLUMNS = "id, thread, kind, content, created_at, position"
OWNER_COLUMNS = "id, host, boot_id, pid, started_at, heartbeat_at"

DAMAGED = "damaged"
"""The kind of a row that stands for one that cannot be read."""

_BY_SEQ = attrgetter("seq")
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode
_decode_rows = msgspec.json.Decoder(list[Row]).decode
_decode_object = msgspec.json.Decoder(dict[str, Json]).decode
_decode_health = msgspec.json.Decoder(Health).decode


class DamagedValueError(Exception):
    """A stored value is none of ours; the text says which, and what is wrong with it."""


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
    """Build rows by seq from the value of ROW_OBJECTS; no rows are NULL."""
    if objects is None:
        return []
    rows = _decode_rows(objects)
    rows.sort(key=_BY_SEQ)  # the index gives them in order; an aggregate does not promise it
    return rows


def row_from_bytes(thread: str, values: Values) -> Row:
    """Build one row from the values of ROW_BYTES, or what stands for it if a value is no JSON."""
    seq, row_id, generation, segment, turn, round_, role, kind, created_at, visible, quarantine, accepted, *json = (
        values
    )
    row = Row(
        id=row_id,
        thread=thread,
        seq=seq,
        generation=generation,
        segment=segment,
        turn=turn,
        round=round_,
        role=role,
        kind=kind,
        content=None,
        created_at=created_at,
        visible=bool(visible),
        quarantine=quarantine,
        accepted=bool(accepted),
    )
    content, view, meta = json
    what = "content"
    try:
        row = structs.replace(row, content=_decode(content))
        what = "view"
        row = structs.replace(row, view=None if view is None else _decode(view))
        what = "meta"
        row = structs.replace(row, meta=_decode_object(meta) if meta is not None else {})
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return stand_in(row, f"its {what}: {error}")
    return row


def stand_in(row: Row, misfit: str) -> Row:
    """Return the row that stands for a damaged one, and tells what is wrong: no model sees it."""
    content = {"kind": row.kind, "misfit": misfit}
    return structs.replace(
        row, role="system", kind=DAMAGED, content=content, view=None, visible=False, quarantine=None, meta={}
    )


def thread_json(thread: str) -> str:
    """Return a thread's id as ROW_OBJECTS takes it, its first binding."""
    return _encode(thread).decode()


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
    thread_id, kind, scope, created_at, last_seq, epoch, owner, title, meta, *progress = values
    phase, parked, wake_at_ms, tombstone_seq = progress
    place = f"thread {thread_id}"
    return ThreadRecord(
        id=thread_id,
        kind=kind,
        scope=scope,
        created_at=created_at,
        last_seq=last_seq,
        epoch=epoch,
        owner=owner,
        title=title,
        meta=json_from(meta, "meta", place, _decode_object) if meta else {},
        phase=phase,
        parked=json_from(parked, "parked", place) if parked else None,
        wake_at_ms=wake_at_ms,
        is_stopped=tombstone_seq > 0,
    )


def entry_from(values: Values) -> InboxEntry:
    """Build an inbox entry from values of INBOX_COLUMNS."""
    entry_id, thread, kind, content, created_at, position = values
    return InboxEntry(
        id=entry_id,
        thread=thread,
        kind=kind,
        content=json_from(content, "content", f"thread {thread}, inbox entry {entry_id} ({kind})"),
        created_at=created_at,
        position=position,
    )


def guard_from(thread: str, state: str | None) -> Json:
    """Return the loop detector's state as it was stored; whoever reads it begins anew with one that is none."""
    return None if state is None else json_from(state, "guard", f"thread {thread}")


def json_from(text: str, what: str, place: str, decode: Callable[[str], Json] = _decode) -> Json:
    """Return a stored value. Raises DamagedValueError, which says what it is and where it stands, if it is none."""
    try:
        return decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        raise DamagedValueError(f"{place}, its {what}: {error}") from error


def health_from(values: Values) -> Health:
    """Build a route's health from its record."""
    (record,) = values
    return _decode_health(record)  # pyright: ignore[reportArgumentType] - text


def owner_from(values: Values) -> Owner:
    """Build an owner from values of OWNER_COLUMNS."""
    owner_id, host, boot_id, pid, started_at, heartbeat_at = values
    return Owner(id=owner_id, host=host, boot_id=boot_id, pid=pid, started_at=started_at, heartbeat_at=heartbeat_at)
