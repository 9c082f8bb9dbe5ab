"""What JSON of each kind the log holds, as far as anybody reads it: a stored value of another shape is damage, told by name.

A field that only people are shown as it stands is not listed; neither are fields that the shape leaves open, such as an
event's payload. What a newer version may add is no damage.
"""

from typing import Annotated

import msgspec
from msgspec import ValidationError, convert

from stoic.core.budget import Use
from stoic.record import Record
from stoic.records import (
    ImagePart,
    InboxEntry,
    Json,
    Outcome,
    Parked,
    Part,
    Question,
    Receipt,
    Row,
    StoredDelivery,
    ThreadRecord,
    Usage,
)

_Number = Annotated[int, msgspec.Meta(ge=0)]


class _Open(Record, frozen=True, gc=False):
    """Facts that nobody has to understand."""


class _Said(Record, frozen=True, gc=False):
    """What a model or a person is shown of a row."""

    text: str
    images: list[ImagePart] = []


class _Event(_Said, frozen=True, gc=False, kw_only=True):
    kind: str


class _Nudge(_Said, frozen=True, gc=False, kw_only=True):
    reason: str


class _Known(_Said, frozen=True, gc=False, kw_only=True):
    operations: list[str]


class _Result(_Said, frozen=True, gc=False, kw_only=True):
    operation: str
    tool: str
    call: _Number
    failure: str | None = None


class _Reply(Record, frozen=True):
    parts: list[Part]


class _Evidence(Record, frozen=True, gc=False):
    field: str
    value: Json


class _Change(Record, frozen=True, gc=False):
    kind: str
    max_tokens: int | None = None
    images: int = 0


class _Attempt(Record, frozen=True, rename={"class_": "class"}):
    attempt: int
    class_: str
    recovers_with: str
    provider: str
    model: str
    evidence: list[_Evidence]
    retry_at_ms: int | None = None
    delay_ms: int = 0
    status: int | None = None
    detail: str | None = None
    usage: Usage | None = None
    cost_usd: float | None = None
    change: _Change | None = None


class _Route(Record, frozen=True, gc=False):
    provider: str
    model: str


class _Fallback(Record, frozen=True, rename={"from_": "from", "class_": "class"}):
    from_: _Route
    to: _Route
    class_: str
    skipped: bool
    rule: str | None = None


class _Questions(Record, frozen=True):
    questions: list[Question]


class _Answer(Record, frozen=True):
    operation: str
    answer: str
    tool: str | None = None
    session: str | None = None
    by: str | None = None
    reason: str | None = None


class _Switch(Record, frozen=True, gc=False):
    model: str | None = None
    mode: str | None = None


class _Grant(Record, frozen=True, gc=False):
    calls: int
    turn: int | None = None


class _NotCompacted(Record, frozen=True):
    why: str
    message: str
    provider: str
    usage: Usage | None = None
    cost_usd: float | None = None


class _Refusal(Record, frozen=True):
    """The card of a refusal; an unreadable count or time has a meaning of its own: frozen."""

    provider: str
    model: str
    rule: str
    skipped: bool
    category: str | None = None
    bodies: list[str] = []


class _Tombstone(Record, frozen=True, gc=False):
    provider: str
    model: str
    round: int
    category: str | None = None
    brief: str | None = None
    root: str | None = None


class _Quarantine(Record, frozen=True):
    provider: str
    model: str
    step: int
    rows: list[int]
    bodies: list[str]
    category: str | None = None


class _Resolution(Record, frozen=True, gc=False):
    operation: str
    tool: str
    decision: str


class _Status(Record, frozen=True, gc=False):
    operation: str
    tool: str
    answer: str
    late: bool = False
    trouble: str | None = None


class _OfKin(Record, frozen=True, gc=False, rename={"for_": "for"}):
    operation: str
    for_: str


class _Rows(Record, frozen=True):
    rows: list[int]


class _Operations(Record, frozen=True):
    operations: list[str]


class _Meta(Record, frozen=True):
    """The facts beside a row of any kind."""

    entry: str | None = None
    entries: list[str] = []
    fingerprint: str | None = None
    shape: dict[str, str] = {}
    provider: str | None = None
    model: str | None = None
    served_model: str | None = None
    usage: Usage = Usage()
    cost_usd: float | None = None
    cut: bool = False
    loop: str | None = None
    rule: str | None = None
    cause: str | None = None
    form: str | None = None
    row: str | None = None
    replaces: int | None = None
    kind: str | None = None
    turn: int | None = None
    of: int | None = None


class _Copied(Record, frozen=True, gc=False):
    """What a kept copy says of its original."""

    kind: str
    turn: int


class _ThreadFacts(Record, frozen=True, gc=False):
    """What the runtime reads of the facts that a thread was made with."""

    agent: str | None = None
    owner: str | None = None
    root: str | None = None
    brief: str | None = None
    depth: int = 0


_CONTENTS: dict[str, type[Record]] = {
    "message": _Said,
    "event": _Event,
    "grant": _Grant,
    "wake": _Open,
    "woken": _Open,
    "fresh": _Open,
    "switch": _Switch,
    "nudge": _Nudge,
    "known": _Known,
    "reply": _Reply,
    "result": _Result,
    "attempt": _Attempt,
    "fallback": _Fallback,
    "question": _Questions,
    "answer": _Answer,
    "parked": Parked,
    "outcome": Outcome,
    "compaction": _Said,
    "compaction_failed": _NotCompacted,
    "refusal": _Refusal,
    "refusal_stop": _Tombstone,
    "quarantine": _Quarantine,
    "budget": Use,
    "resolution": _Resolution,
    "status": _Status,
    "kin_status": _OfKin,
    "reveal": _Rows,
    "let_through": _Operations,
}
"""By kind of row; of a kind this version does not know nothing is read."""
_ENTRIES = {kind: _CONTENTS[kind] for kind in ("message", "event", "answer", "switch", "grant", "reveal")}
"""By kind of inbox entry; of the others nothing is read."""


def misfit_of_row(row: Row) -> str | None:
    """Return where the JSON of a row is of another shape than its kind has; None: nowhere."""
    kind, what = row.kind, "meta"
    try:
        if row.meta:
            convert(row.meta, _Meta)
        if kind == "kept":
            kind = convert(row.meta, _Copied).kind
        what = "content"
        if kind in _CONTENTS:
            convert(row.content, _CONTENTS[kind])
        what = "view"
        if row.view is not None:
            convert(row.view, _Said)
    except ValidationError as error:
        return _told(what, error)
    return None


def misfit_of_entry(entry: InboxEntry) -> str | None:
    """Return where the content of an inbox entry is of another shape than its kind has; None: nowhere."""
    return _misfit(entry.content, _ENTRIES[entry.kind], "content") if entry.kind in _ENTRIES else None


def misfit_of_thread(thread: ThreadRecord) -> str | None:
    """Return where a thread's facts, or what its turn waits for, are of another shape than is read; None: nowhere."""
    waits = None if thread.parked is None else _misfit(thread.parked, Parked, "parked")
    return _misfit(thread.meta, _ThreadFacts, "meta") or waits


def misfit_of_delivery(stored: StoredDelivery) -> str | None:
    """Return where what a task's owner is told is of another shape than a receipt has; None: nowhere."""
    return _misfit(stored.delivery.receipt, Receipt, "receipt")


def _misfit(value: Json, shape: type[Record], what: str) -> str | None:
    try:
        convert(value, shape)
    except ValidationError as error:
        return _told(what, error)
    return None


def _told(what: str, error: ValidationError) -> str:
    """Return what is wrong, without the value: it may be what no model may read."""
    text = str(error)
    if text.startswith("Invalid value"):  # the only words that repeat it; it always stands within an object
        text = f"Invalid value - at {text.rpartition(' - at ')[2]}"
    return f"its {what}: {text}"
