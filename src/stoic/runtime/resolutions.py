"""A person's decision about an operation whose effect is unknown: durable, fenced, and asked of nobody twice (SPEC §10)."""

from typing import Literal

from msgspec.structs import replace

from stoic.core.history import EFFECTS, History
from stoic.errors import UsageError
from stoic.ports import HeldLeaseError, Outside
from stoic.records import Lease, Operation, Row, Step
from stoic.tools.ends import Ends

Decision = Literal["done", "not_done"]
RESOLUTION_KIND = "resolution"


async def resolve(
    outside: Outside, owner: str, operation: str, decision: Decision, ends: Ends | None = None
) -> Operation:
    """Store what a person says became of an operation; from then on an equal call may run again.

    The decision is a row (`resolution`, not for models) and the journal entry's `status`, in one transaction under the
    thread's lease. An operation that still stands as running although nobody holds its thread is lost, so unknown.

    Args:
        outside: the log and the time
        owner: who takes the lease; registered with the store
        operation: its id
        decision: whether it took effect
        ends: where the ends of calls are written down; None: nowhere

    Raises:
        UsageError: there is no such operation, it has no effect, its end is known, or its thread is at work
        StoreError: the log cannot be read or written
    """
    ends = ends or Ends()
    known = _decidable(await _find(outside, operation), ends)
    try:
        lease = await outside.store.acquire(known.thread, owner, outside.clock.now_ms())
    except HeldLeaseError as error:
        raise UsageError(
            f"thread {known.thread!r} is at work in process {error.owner.pid} of {error.owner.host}; nothing was stored, "
            "wait until its turn has ended or stop it"
        ) from None
    released = False
    try:
        # It may have ended between the first look and the lease.
        known = _decidable(await _find(outside, operation), ends, held=True)
        decided = replace(known, state="unknown", status=decision)
        row = await _row(outside, lease, known, decision)
        await outside.store.append(lease, Step(rows=[row], operations=[decided], release=True))
        released = True
    finally:
        if not released:
            await outside.store.release(lease)
    return decided


async def _find(outside: Outside, operation: str) -> Operation:
    found = next((each for each in await outside.store.operations() if each.id == operation), None)
    if found is None:
        raise UsageError(
            f"there is no operation {operation!r}; `stoic operations list --unknown` shows those to decide about"
        )
    return found


def _decidable(operation: Operation, ends: Ends, *, held: bool = False) -> Operation:
    """Return the operation if its end is unknown, or may be for all that the journal tells before the lease is held."""
    nothing = "there is nothing to decide"
    if operation.effect not in EFFECTS:
        raise UsageError(f"operation {operation.id!r} of {operation.tool} has no effect: {nothing}")
    if operation.state == "running" and ends.find([operation]):
        raise UsageError(
            f"operation {operation.id!r} is not unknown: how its call ended is written down, though its thread has not "
            f"stored it yet; resume thread {operation.thread!r}, {nothing}"
        )
    if operation.state in {"unknown", "running"}:
        return operation
    known_ends = {"returned": "it returned", "raised": "it raised or was not run", "intended": "it has not started"}
    meanwhile = " meanwhile" if held else ""
    raise UsageError(f"operation {operation.id!r} is not unknown: {known_ends[operation.state]}{meanwhile}; {nothing}")


async def _row(outside: Outside, lease: Lease, operation: Operation, decision: Decision) -> Row:
    history = History(lease.thread)
    for row in (await outside.store.load(lease.thread)).rows:
        history.fold(row)
    return Row(
        id=outside.ids.new(),
        thread=lease.thread,
        seq=lease.last_seq + 1,
        generation=history.generation,
        segment=history.segment,
        turn=history.turn.number if history.turn else operation.turn,
        round=history.turn.round if history.turn else operation.round,
        role="system",
        kind=RESOLUTION_KIND,
        content={
            "operation": operation.id,
            "tool": operation.tool,
            "decision": decision,
            "state": operation.state,
            "status": operation.status,
        },
        created_at=outside.clock.now_ms(),
    )
