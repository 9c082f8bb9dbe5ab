"""A person's look at bodies that no model may read is itself recorded before anything is shown (SPEC §9)."""

from stoic.core.history import History
from stoic.core.opening import reveal_row
from stoic.ports import HeldLeaseError, Outside
from stoic.records import InboxEntry, Step
from stoic.runtime.runner import stamped


async def record_reveal(outside: Outside, owner: str, thread: str, rows: list[int]) -> None:
    """Store that a person looks at these rows' bodies: a row of the log, or an entry of the inbox while a turn runs.

    Args:
        outside: the log and the time
        owner: who takes the lease; registered with the store
        thread: its id
        rows: by seq

    Raises:
        StoreError: there is no such thread, or the log cannot be read or written
    """
    store, now_ms = outside.store, outside.clock.now_ms()
    entry = InboxEntry(id=outside.ids.new(), thread=thread, kind="reveal", content={"rows": rows}, created_at=now_ms)
    try:
        lease = await store.acquire(thread, owner, now_ms, enter=entry)
    except HeldLeaseError:
        return  # whoever holds it, or comes after it, takes the entry
    released = False
    try:
        history = History(thread)
        for row in (await store.load(thread)).rows:
            history.fold(row)
        row = stamped(reveal_row(history, entry), outside.ids.new(), thread, history.last_seq + 1, now_ms)
        await store.append(lease, Step(rows=[row], inbox_taken=[entry.id], release=True))
        released = True
    finally:
        if not released:
            await store.release(lease)
