"""Invariants 11 and 16: a fallback never changes the binding, and a skip never moves a clock."""

from stoic.testing.simulation.invariants.watching import Watching
from stoic.testing.simulation.ledger import Ledger, Taken
from stoic.testing.simulation.setting import hold


class Bindings(Watching):
    """11: only a person changes the binding: each turn begins at the model that was bound before it."""

    def __init__(self, ledger: Ledger) -> None:
        """Begin with nothing bound."""
        super().__init__(ledger)
        self._bound: dict[str, str] = {}
        """What each thread's turns began at last."""
        self._begun: set[tuple[str, int]] = set()

    def stepped(self, taken: Taken) -> None:
        """Look at the first row of each turn that names a provider."""
        thread = taken.lease.thread
        for row in taken.step.rows:
            if row.kind == "switch" and "model" in row.content:
                hold(
                    self._is_asked(row.content, thread), 11, lambda row=row: f"{thread}: nobody asked for {row.content}"
                )
                self._bound[thread] = row.content["model"]
            if row.kind not in {"attempt", "reply", "fallback"} or (thread, row.turn) in self._begun:
                continue
            self._begun.add((thread, row.turn))
            source = (
                row.content["from"] if row.kind == "fallback" else row.content if row.kind == "attempt" else row.meta
            )
            first = f"{source['provider']}:{source['provider']}-1"
            bound = self._bound.setdefault(thread, first)
            hold(
                first == bound,
                11,
                lambda first=first, bound=bound: f"a turn of {thread} begins at {first}, not {bound}",
            )

    def _is_asked(self, content: dict[str, object], thread: str) -> bool:
        return any(
            entry.kind == "switch" and entry.thread == thread and entry.content.get("model") == content["model"]
            for entry in self.ledger.put.values()
        )


class Skips(Watching):
    """16: a skip copies what is known and moves no clock: only an attempt that was made changes a time."""

    def __init__(self, ledger: Ledger) -> None:
        """Begin with no refusal."""
        super().__init__(ledger)
        self._cards: dict[tuple[str, str, str], tuple[int, int | None]] = {}
        """Count and time, by thread, the segment where it began, and provider."""

    def stepped(self, taken: Taken) -> None:
        """Look at the times that the step changes."""
        step, thread = taken.step, taken.lease.thread
        has_attempt = any(row.kind == "attempt" for row in step.rows)
        for health in step.health:
            known = self.ledger.health.get(health.route)
            after = health.onto(known)
            later = after.failed_at_ms > (known.failed_at_ms if known else 0)
            hold(has_attempt or not later, 16, lambda after=after: f"{thread} moves {after.route} without an attempt")
        for row in step.rows:
            if row.kind not in {"refusal", "fallback"} or "refused_at" not in row.content:
                continue
            content = row.content
            key = (thread, content["segment"], content["provider"])
            now = (content["refusals"], content["refused_at"])
            if content["skipped"]:
                known_card = self._cards.get(key, now)
                hold(
                    now == known_card,
                    16,
                    lambda now=now, known=known_card: f"{thread} skips and makes {known} to {now}",
                )
            self._cards[key] = now
