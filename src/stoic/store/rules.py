"""What a step may do to a thread: the rules every store enforces, written once (SPEC §4, §8, §9)."""

from collections.abc import Callable
from typing import Literal

from msgspec import structs

from stoic.errors import NoSuchThreadError, RejectedStepError, StaleWriterError, StoreError
from stoic.records import Health, InboxEntry, Json, Lease, Operation, Record, Row, Step, ViewChange

TOMBSTONE_KIND = "refusal_stop"
"""The row behind which nothing may be shown to a model and nothing may run (SPEC §4, §12)."""

HUMAN_KINDS = frozenset({"message", "input"})
"""Rows that hold a person's own words."""

OPEN_STATES = ("intended", "running", "unknown")
"""Operations a thread still has to do with."""

OPENING_KINDS = frozenset({"message", "event", "wake", "grant"})
"""Rows that begin a turn."""
LEAVES_PHASE = frozenset({"switch", "reveal"})
"""Rows that come into the log without beginning, waking or ending a turn."""

Phase = Literal["idle", "open", "parked"]


class ThreadState(Record, frozen=True):
    """What of a thread the rules need to know: the lease, and facts folded from its rows."""

    epoch: int = 0
    owner: str | None = None
    last_seq: int = 0
    accepted_upto: int = 0
    """The highest `accept_upto` so far."""
    generation: int = 0
    """The highest generation of its rows."""
    tombstone_seq: int = 0
    """The seq of its tombstone; 0: it has none."""
    phase: Phase = "idle"
    parked: Json = None
    wake_at_ms: int | None = None


class RowFacts(Record, frozen=True):
    """What of a row the rules need to know."""

    kind: str
    generation: int
    turn: int
    accepted: bool
    quarantine: str | None


FindRow = Callable[[int], RowFacts | None]
"""Looks up a stored row of the thread by seq."""


def advance(state: ThreadState, lease: Lease, step: Step, find_row: FindRow) -> ThreadState:
    """Check a step against the thread and return the thread's state after it.

    The caller checks what needs its tables: row ids, entries of the inbox, owners of operations.

    Raises:
        StaleWriterError: The lease is no longer this writer's.
        RejectedStepError: The step breaks a rule of the log.
    """
    check_lease(state, lease)
    phase, parked = _phase_after(state, step.rows)
    after = ThreadState(
        epoch=state.epoch,
        owner=None if step.release else state.owner,
        last_seq=state.last_seq + len(step.rows),
        accepted_upto=step.accept_upto or state.accepted_upto,
        generation=max(state.generation, *(row.generation for row in step.rows)) if step.rows else state.generation,
        tombstone_seq=state.tombstone_seq or _tombstone_in(step.rows),
        phase=phase,
        parked=parked,
        wake_at_ms=None if parked is None else parked.get("until_ms"),
    )
    if step.rows:
        _check_rows(state, lease, step.rows)
    for operation in step.operations:
        _check_operation(lease, operation)
    if step.accept_upto:
        _check_acceptance(state, after, lease, step)
    if after.tombstone_seq:
        _check_behind_tombstone(state, after, lease, step)
    if step.views:
        _check_views(after, lease, step, find_row)
    if len(step.inbox_taken) > 1 and len(set(step.inbox_taken)) < len(step.inbox_taken):
        raise RejectedStepError(f"thread {lease.thread}: the step takes one inbox entry twice")
    return after


def check_lease(state: ThreadState, lease: Lease) -> None:
    """Raise StaleWriterError unless the lease is the thread's present one."""
    if state.epoch != lease.epoch or state.owner != lease.owner:
        holder = f"owner {state.owner}" if state.owner else "nobody"
        raise StaleWriterError(
            f"thread {lease.thread}: epoch {lease.epoch} of owner {lease.owner} is over, the lease is at epoch"
            f" {state.epoch} with {holder}; nothing was stored, stop working on this thread"
        )


def check_entry(thread: str, entry: InboxEntry) -> None:
    """Raise StoreError when the entry is meant for another thread than the one it is entered with."""
    if entry.thread != thread:
        raise StoreError(f"inbox entry {entry.id} is for thread {entry.thread}, not for {thread}; nothing was stored")


def is_same_entry(known: InboxEntry, entry: InboxEntry) -> bool:
    """Tell whether an entry put again under its id is the one that is known: then putting it twice is harmless."""
    return known.thread == entry.thread and known.kind == entry.kind and known.content == entry.content


def trial_is_free(known: Health, now_ms: int) -> bool:
    """Tell whether a route's one trial may be taken."""
    return known.trial_until_ms is None or now_ms >= known.trial_until_ms


def with_trial(known: Health, trial: Health) -> Health:
    """Return a route's stored state with its trial taken; what others have counted meanwhile stays."""
    return structs.replace(
        known,
        state=trial.state,
        trial_until_ms=trial.trial_until_ms,
        trial_holder=trial.trial_holder,
        tried_at_ms=trial.tried_at_ms,
    )


def no_such_thread(thread: str) -> NoSuchThreadError:
    """Make the error for an unknown thread."""
    return NoSuchThreadError(f"there is no thread {thread}; `stoic threads` lists those there are")


def unknown_owner(owner: str) -> StoreError:
    """Make the error for an owner that was not registered."""
    return StoreError(f"owner {owner} is not registered; register it before it takes a lease")


def other_process(owner: str) -> StoreError:
    """Make the error for an owner id that two processes use."""
    return StoreError(f"owner id {owner} belongs to another process; use a new id for each process")


def entry_conflict(entry: str) -> StoreError:
    """Make the error for an inbox entry whose id is in use for something else."""
    return StoreError(f"inbox entry {entry} exists with another content; use a new id for each entry")


def entry_not_waiting(thread: str, entry: str) -> RejectedStepError:
    """Make the error for taking an entry that is taken already, or not this thread's."""
    return RejectedStepError(
        f"thread {thread}: inbox entry {entry} is not waiting here; it is taken or another thread's"
    )


def foreign_operation(thread: str, operation: str) -> RejectedStepError:
    """Make the error for a journal entry that belongs to another thread."""
    return RejectedStepError(f"thread {thread}: operation {operation} belongs to another thread")


def _tombstone_in(rows: list[Row]) -> int:
    return next((row.seq for row in rows if row.kind == TOMBSTONE_KIND), 0)


def _phase_after(state: ThreadState, rows: list[Row]) -> tuple[Phase, Json]:
    """Return whether a turn is open after the rows, and what it waits for."""
    phase, parked = state.phase, state.parked
    for row in rows:
        if row.kind == "outcome":
            phase, parked = "idle", None
        elif row.kind == "parked":
            phase, parked = "parked", row.content
        elif row.kind not in LEAVES_PHASE and (phase != "idle" or row.kind in OPENING_KINDS):
            phase, parked = "open", None
    return phase, parked


def _check_rows(state: ThreadState, lease: Lease, rows: list[Row]) -> None:
    expected = state.last_seq
    for row in rows:
        expected += 1
        if row.seq != expected:
            raise RejectedStepError(
                f"thread {lease.thread}: row {row.id} has seq {row.seq}, the next one is {expected}"
            )
        if row.thread != lease.thread:
            raise RejectedStepError(f"thread {lease.thread}: row {row.id} belongs to thread {row.thread}")


def _check_operation(lease: Lease, operation: Operation) -> None:
    if operation.thread != lease.thread:
        raise foreign_operation(lease.thread, operation.id)


def _check_acceptance(state: ThreadState, after: ThreadState, lease: Lease, step: Step) -> None:
    if not state.accepted_upto <= step.accept_upto <= after.last_seq:
        raise RejectedStepError(
            f"thread {lease.thread}: cannot accept up to seq {step.accept_upto}; it is accepted up to"
            f" {state.accepted_upto} and ends at {after.last_seq}"
        )


def _check_behind_tombstone(state: ThreadState, after: ThreadState, lease: Lease, step: Step) -> None:
    shown = any(row.visible and row.seq > after.tombstone_seq for row in step.rows)
    runs = any(operation.state in ("intended", "running") for operation in step.operations)
    changes_view = state.tombstone_seq and (step.views or step.accept_upto)
    if shown or runs or changes_view:
        raise RejectedStepError(
            f"thread {lease.thread}: it ended by refusal at seq {after.tombstone_seq}; behind that nothing may run"
            " and nothing may be shown to a model"
        )


def _check_views(after: ThreadState, lease: Lease, step: Step, find_row: FindRow) -> None:
    new_rows = {row.seq: facts_of(row) for row in step.rows}
    ended_turns = {row.turn for row in step.rows if row.kind == "outcome"}
    for change in step.views:
        facts = new_rows.get(change.seq) or find_row(change.seq)
        reason = _objection(facts, change, after.generation, ended_turns)
        if reason:
            raise RejectedStepError(f"thread {lease.thread}: the view of seq {change.seq} cannot change: {reason}")


def _objection(facts: RowFacts | None, change: ViewChange, generation: int, ended_turns: set[int]) -> str | None:
    if facts is None:
        return "there is no such row"
    if facts.accepted:
        return "the row is accepted"
    if facts.generation < generation:
        return f"the row is of generation {facts.generation}, the thread is in {generation}"
    if change.quarantine is None:
        # A repair, such as a note in an image's place: the row stays readable.
        if change.view is None:
            return "a change that is no quarantine says what is shown instead"
        return None if facts.quarantine is None else "the row is quarantined, and is not shown again"
    if facts.kind in HUMAN_KINDS and facts.turn > max(ended_turns, default=0):
        return "it holds a human's words, which leave the view only with the outcome of their turn or of a later one"
    if facts.quarantine == "excluded" and change.quarantine != "excluded":
        return "the row has left the view for good"
    return None


def facts_of(row: Row) -> RowFacts:
    """Return what the rules need of a row."""
    return RowFacts(
        kind=row.kind,
        generation=row.generation,
        turn=row.turn,
        accepted=row.accepted,
        quarantine=row.quarantine,
    )
