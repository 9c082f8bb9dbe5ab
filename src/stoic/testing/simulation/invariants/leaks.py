"""Invariant 1: no byte of a withheld or tombstoned body appears by any automatic path anywhere else."""

import msgspec

from stoic.records import Row, ViewChange
from stoic.testing.simulation.hands import canaries
from stoic.testing.simulation.invariants.watching import Watching
from stoic.testing.simulation.ledger import Ledger, Sent, Taken
from stoic.testing.simulation.setting import hold

_SHARED = ("canary-page-", "canary-brief-")
"""Canaries of bodies that several threads may come upon, each by itself."""
_CALLED = "canary-call-"
"""Begins canaries of arguments: a model wrote them, so they are accepted, and an owner who stops a task reads of them."""
_JUDGED = frozenset({"quarantine", "refusal"})
"""Rows that say that a provider refused what their step withholds."""


class Leaks(Watching):
    """Follows the canaries: each belongs to the thread it came to, and to nobody once it is withheld."""

    def __init__(self, ledger: Ledger) -> None:
        """Begin with no canary."""
        super().__init__(ledger)
        self._homes: dict[str, set[str]] = {}
        self._withheld: set[str] = set()
        """Canaries that stand in one body only, and that body is withheld."""
        self._pages: dict[tuple[str, int, str], set[str]] = {}
        """Canaries of pages that were refused, by thread, generation and fingerprint."""
        self._stopped: dict[str, int] = {}
        """The turn that was refused, of each task that has a tombstone."""

    def sent(self, sent: Sent) -> None:
        """A request holds nothing withheld, and nothing of another thread."""
        if sent.is_stale:
            return
        found = canaries(sent.body.decode())
        leaked = found & self._withheld
        hold(not leaked, 1, lambda: f"{sent.id} of {sent.thread} holds {leaked}, which is withheld")
        self._check_home(found, sent.thread, sent.id)
        pages = found & self._pages.get((sent.thread, sent.generation, sent.fingerprint), set())
        if pages:  # what was accepted before it was refused stays where it is
            pages -= self._accepted_pages(sent.thread, sent.generation)
        hold(not pages, 1, lambda: f"{sent.id} of {sent.thread} holds {pages}, whose body was refused in this segment")

    def stepped(self, taken: Taken) -> None:
        """What a step stores for others or for later holds nothing of that kind; what it withholds is remembered."""
        step, thread = taken.step, taken.lease.thread
        for what in (*step.notices, *step.deliveries):
            found = canaries(msgspec.json.encode(what).decode())
            hold(not found, 1, lambda what=what, found=found: f"{type(what).__name__} of {thread} holds {found}")
        by_seq = {row.seq: row for row in taken.before} | {row.seq: row for row in step.rows}
        for change in step.views:
            if change.quarantine is not None:
                self._note_withheld(by_seq[change.seq], change, is_judged=any(row.kind in _JUDGED for row in step.rows))
        for row in step.rows:
            if row.kind == "refusal_stop":
                self._stopped[thread] = row.turn
            elif row.kind == "outcome" and row.content.get("refused"):
                self._note_exhausted(row)
        withheld_now = {change.seq for change in step.views}
        for row in step.rows:
            if row.seq not in withheld_now:
                self._see_row(row)

    def ended(self) -> None:
        """No line of the program's own log holds anything from outside, nor what people are told of a refused task."""
        lines = [line for line in self.ledger.log_lines if canaries(line)]
        hold(not lines, 1, lambda: f"logged: {lines}")
        told = [(task, said) for task, said in self.ledger.reports if canaries(said)]
        hold(not told, 1, lambda: f"told of refused tasks: {told}")

    def _note_withheld(self, row: Row, change: ViewChange, *, is_judged: bool) -> None:
        thread = row.thread
        shown = canaries(msgspec.json.encode(change.view).decode())
        hold(not shown, 1, lambda: f"row {row.seq} of {thread} is withheld, and its view holds {shown}")
        found = canaries(msgspec.json.encode(row.content).decode())
        self._withheld |= {canary for canary in found if not canary.startswith((*_SHARED, _CALLED))}
        if is_judged and row.kind == "result":
            key = (thread, self.ledger.generation_of(thread), self.ledger.fingerprints.get(thread, ""))
            pages = {canary for canary in found if canary.startswith("canary-page-")}
            self._pages.setdefault(key, set()).update(pages)

    def _note_exhausted(self, outcome: Row) -> None:
        """What was refused in a chat leaves the view with the turn's end, whether its step says so or not."""
        thread = outcome.thread
        if not thread.startswith("chat") or thread in self.ledger.tasks:
            return
        for row in self.ledger.rows[thread]:
            kind, turn = row.meta.get("kind", row.kind), row.meta.get("turn", row.turn)
            is_refused = row.visible and not row.accepted and row.generation == outcome.generation
            if is_refused and (kind in {"result", "event"} or (kind == "message" and turn == outcome.turn)):
                found = canaries(msgspec.json.encode(row.content).decode())
                self._withheld |= {canary for canary in found if not canary.startswith((*_SHARED, _CALLED))}

    def _accepted_pages(self, thread: str, generation: int) -> set[str]:
        rows = [row for row in self.ledger.rows[thread] if row.accepted and row.generation == generation]
        seen = [row.content for row in rows if row.kind in {"result", "kept"} and row.quarantine is None]
        return canaries(msgspec.json.encode(seen).decode())

    def _see_row(self, row: Row) -> None:
        found = canaries(msgspec.json.encode(row.content).decode() + msgspec.json.encode(row.view).decode())
        self._check_home(found, row.thread, f"row {row.seq}, {row.kind}")
        leaked = found & self._withheld
        hold(not leaked, 1, lambda: f"row {row.seq} of {row.thread} ({row.kind}) holds {leaked}, which is withheld")

    def _check_home(self, found: set[str], thread: str, what: str) -> None:
        for canary in found:
            if canary.startswith(_SHARED):
                continue
            homes = self._homes.setdefault(canary, {thread})
            if canary.startswith(_CALLED) and self._may_tell(canary, thread):
                homes.add(thread)
            hold(thread in homes, 1, lambda canary=canary, homes=homes: f"{what} of {thread} holds {canary} of {homes}")

    def _may_tell(self, canary: str, thread: str) -> bool:
        """Tell whether a thread may read what a call of its task was given: it stopped a turn of it that was not refused."""
        task, turn, _ = canary.removeprefix(_CALLED).rsplit("-", 2)
        return self.ledger.owners.get(task) == thread and self._stopped.get(task) != int(turn)
