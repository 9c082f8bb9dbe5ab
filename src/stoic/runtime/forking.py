"""A fork: a new thread that begins with another one's log, and with what was refused in it (SPEC §8)."""

from msgspec.structs import replace

from stoic.core import notes
from stoic.core.history import History
from stoic.core.rows import shown_content
from stoic.core.segment import segment_id
from stoic.errors import EndedByRefusalError, NoSuchThreadError, UsageError
from stoic.records import Row, Step, ThreadRecord
from stoic.runtime.engine import Engine


async def fork(engine: Engine, source: str, target: str) -> None:
    """Copy a thread's rows into a new thread, views and refusals included.

    The journal stays with the original, and so does the body of what no model may read any more.

    Raises:
        UsageError: the target exists, or the source has an open turn or ended by refusal
        StoreError: there is no such source, or the log cannot be written
    """
    store = engine.store
    loaded = await store.load(source)
    history = History(source)
    for row in loaded.rows:
        history.fold(row)
    if history.tombstone is not None:
        raise EndedByRefusalError(f"thread {source}: {notes.START_ANEW}")
    if history.open_turn is not None:
        raise UsageError(f"thread {source} has an open turn; let it end (stoic resume) or cancel it, then fork")
    if await _exists(engine, target):
        raise UsageError(f"thread {target} exists already; fork into a new id")
    record = loaded.thread
    await store.create_thread(
        ThreadRecord(
            id=target,
            kind=record.kind,
            scope=record.scope,
            created_at=engine.clock.now_ms(),
            title=record.title,
            meta=record.meta | {"forked_from": source},
        )
    )
    lease = await store.acquire(target, engine.owner.id, engine.clock.now_ms())
    rows = [_copied(row, engine.ids.new(), target) for row in loaded.rows]
    accepted = max((row.seq for row in rows if row.accepted), default=0)
    released = False
    try:
        await store.append(lease, Step(rows=rows, accept_upto=accepted, guard=loaded.guard, release=True))
        released = True
    finally:
        if not released:
            await store.release(lease)


async def _exists(engine: Engine, thread: str) -> bool:
    try:
        await engine.store.thread(thread)
    except NoSuchThreadError:
        return False
    return True


def _copied(row: Row, row_id: str, thread: str) -> Row:
    number = int(row.segment.rpartition("#")[2])
    meta = {name: value for name, value in row.meta.items() if name != "entry"}
    segment = segment_id(thread, row.generation, number)
    return replace(row, id=row_id, thread=thread, segment=segment, content=shown_content(row), meta=meta)
