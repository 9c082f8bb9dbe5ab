"""Invariants 10, 14 and 18: accepted rows never change, any prefix renders, and stale writers cannot append."""

from collections import Counter

import msgspec

from stoic.core.replay import gate, messages
from stoic.errors import UnsendableError
from stoic.records import Row, UserMessage
from stoic.runtime.transcript import Transcript
from stoic.testing.simulation.invariants.watching import Watching
from stoic.testing.simulation.ledger import Ledger, Sent, Taken
from stoic.testing.simulation.models import THOUGHT, VENDORS, Vendor
from stoic.testing.simulation.setting import Violation, hold

_RESTS = frozenset({"outcome", "parked"})
_ONE_IN = 3


class AcceptedRows(Watching):
    """10: accepted rows never change; what is withheld is of the current increment, and a person's words only once."""

    def stepped(self, taken: Taken) -> None:
        """Look at the rows that the step changes, as they were."""
        thread = taken.lease.thread
        for row in taken.before:
            hold(not row.accepted, 10, lambda row=row: f"row {row.seq} of {thread} was accepted, and its view changes")
            generation = self.ledger.generation_of(thread)
            hold(
                row.generation == generation, 10, lambda row=row: f"row {row.seq} of {thread} is of an older generation"
            )


class Prefixes(Watching):
    """14: any prefix of any log renders to a request that a strict server takes, whatever its API."""

    def __init__(self, ledger: Ledger) -> None:
        """Begin with the first vendor."""
        super().__init__(ledger)
        self._count = 0

    def sent(self, sent: Sent) -> None:
        """What somebody else thought is not in it."""
        for vendor in VENDORS:
            is_foreign = vendor.name != sent.provider and f"{THOUGHT} {vendor.name}".encode() in sent.body
            hold(
                not is_foreign, 14, lambda vendor=vendor: f"{sent.id} to {sent.provider} holds {THOUGHT} {vendor.name}"
            )

    def stepped(self, taken: Taken) -> None:
        """Render the thread as it stands now; the APIs take turns.

        Where nothing was withheld and the turn goes on, one step in three is rendered: it is the dearest thing a step
        costs here, and other seeds meet the steps that are left out in this one.
        """
        step = taken.step
        for row in step.rows:
            if row.kind == "outcome":
                self._check_results(row)
        kept_back = [notice.key for notice in step.notices if notice.kind == "gate_violation"]
        hold(not kept_back, 14, lambda: f"the gate kept a request back: {kept_back}")
        if not step.views and not any(row.visible for row in step.rows):
            return
        self._count += 1
        if step.views or self._count % _ONE_IN == 0 or any(row.kind in _RESTS for row in step.rows):
            self._render(taken.lease.thread, VENDORS[self._count % len(VENDORS)])

    def ended(self) -> None:
        """Render every thread for every API."""
        for thread, rows in self.ledger.rows.items():
            for vendor in VENDORS if rows else ():
                self._render(thread, vendor)

    def _render(self, thread: str, vendor: Vendor) -> None:
        rows = self.ledger.rows[thread]
        try:
            fault = find_fault(rows, vendor)
        except UnsendableError as error:
            raise Violation(14, f"{len(rows)} rows of {thread} do not render: {error}") from error
        hold(fault is None, 14, lambda: f"{len(rows)} rows of {thread} for {vendor.api}: {fault}")

    def _check_results(self, outcome: Row) -> None:
        """Each call of a turn that has ended has one result."""
        called, answered = Counter[tuple[int, int]](), Counter[tuple[int, int]]()
        for row in reversed(self.ledger.rows[outcome.thread]):
            if row.turn != outcome.turn:
                break
            if row.kind == "reply":
                calls = [part for part in row.content["parts"] if part["type"] == "call"]
                called.update((row.round, index) for index in range(len(calls)))
            elif row.kind == "result":
                answered[row.round, row.content["call"]] += 1
        hold(
            called == answered,
            14,
            lambda: f"turn {outcome.turn} of {outcome.thread} has calls {dict(called)} and results {dict(answered)}",
        )


def find_fault(rows: list[Row], vendor: Vendor) -> str | None:
    """Render rows with a next message behind them, as the runtime does; return what a strict server says against it."""
    generation = rows[-1].generation
    seen = [row for row in rows if row.generation == generation]
    gate([*messages(seen), UserMessage(text="next")])
    transcript = Transcript(vendor.renderer)
    for row in [*seen, msgspec.structs.replace(_NEXT, generation=generation)]:
        transcript.fold(row)
    body = transcript.body(vendor.renderer.head("m", "", [], {}))
    asked = msgspec.json.decode(body)
    return vendor.style.find_fault({**asked, "model": "m"} if vendor.api == "gemini" else asked)


class StaleWriters(Watching):
    """18: no step takes effect under a lease that is over."""

    def stepped(self, taken: Taken) -> None:
        """Compare the step's lease with the newest."""
        lease = taken.lease
        hold(
            not taken.is_stale,
            18,
            lambda: f"{lease.owner} appends to {lease.thread} at epoch {lease.epoch}, which is over",
        )


_NEXT = Row(
    id="next",
    thread="next",
    seq=0,
    generation=1,
    segment="",
    turn=0,
    round=0,
    role="user",
    kind="message",
    content={"text": "next"},
    created_at=0,
    visible=True,
)
