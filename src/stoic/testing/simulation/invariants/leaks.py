"""Invariant 1: no byte of a withheld or tombstoned body appears by any automatic path anywhere else."""

import msgspec

from stoic.records import Row
from stoic.testing.simulation.hands import canaries
from stoic.testing.simulation.invariants.watching import Watching
from stoic.testing.simulation.ledger import Ledger, Sent, Taken
from stoic.testing.simulation.setting import hold

_SHARED = ("canary-page-", "canary-brief-")
"""Canaries of bodies that several threads may come upon, each by itself."""
_JUDGED = frozenset({"quarantine", "refusal"})
"""Rows that say that a provider refused what their step withholds."""


class Leaks(Watching):
    """Follows the canaries: each belongs to the thread it came to, and to nobody once it is withheld."""

    def __init__(self, ledger: Ledger) -> None:
        """Begin with no canary."""
        super().__init__(ledger)
        self._homes: dict[str, str] = {}
        self._withheld: set[str] = set()
        """Canaries that stand in one body only, and that body is withheld."""
        self._pages: dict[tuple[str, int, str], set[str]] = {}
        """Canaries of pages that were refused, by thread, generation and fingerprint."""

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
        for row in step.rows:
            self._see_row(row)
        judged = any(row.kind in _JUDGED for row in step.rows)
        key = (thread, self.ledger.generation_of(thread), self.ledger.fingerprints.get(thread, ""))
        by_seq = {row.seq: row for row in taken.before} | {row.seq: row for row in step.rows}
        for change in step.views:
            if change.quarantine is None:
                continue
            for canary in canaries(msgspec.json.encode(by_seq[change.seq].content).decode()):
                if not canary.startswith(_SHARED):
                    self._withheld.add(canary)
                elif judged and canary.startswith("canary-page-") and by_seq[change.seq].kind == "result":
                    self._pages.setdefault(key, set()).add(canary)

    def ended(self) -> None:
        """No line of the program's own log holds anything that came from outside."""
        lines = [line for line in self.ledger.log_lines if canaries(line)]
        hold(not lines, 1, lambda: f"logged: {lines}")

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
            home = self._homes.setdefault(canary, thread)
            hold(home == thread, 1, lambda canary=canary, home=home: f"{what} of {thread} holds {canary} of {home}")
