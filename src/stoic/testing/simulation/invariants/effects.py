"""Invariants 7 and 8: no write happens twice without proof, and no call runs that did not arrive whole."""

from collections import Counter

from stoic.testing.simulation.hands import HARMLESS, REPEATABLE
from stoic.testing.simulation.invariants.watching import Watching
from stoic.testing.simulation.ledger import Ledger, Ran, Taken
from stoic.testing.simulation.models import VOID
from stoic.testing.simulation.setting import hold

_EFFECTS = frozenset({"write", "send", "exec"})


class Repetitions(Watching):
    """7: an operation runs once, unless `not_done` was recorded; an equal one does not run while its effect is unknown."""

    def __init__(self, ledger: Ledger) -> None:
        """Begin with no run."""
        super().__init__(ledger)
        self._runs: Counter[str] = Counter()
        self._begun: set[str] = set()

    def ran(self, ran: Ran) -> None:
        """This run is the first, or there is proof that the one before did nothing."""
        operation = ran.operation
        self._begun.add(operation)
        if ran.tool not in REPEATABLE:
            self._runs[operation] += 1
            # What is recorded must have been said by somebody who looked.
            proofs = min(self.ledger.not_done.count(operation), self.ledger.said_not_done.count(operation))
            times = self._runs[operation]
            hold(times <= 1 + proofs, 7, lambda: f"{operation} runs for the {times}th time with {proofs} proofs")
        if not ran.is_stale:
            hold(
                ran.tool in HARMLESS or ran.twin is None,
                7,
                lambda: f"{operation} runs while the effect of its equal {ran.twin} is unknown",
            )
            hold(not ran.is_again, 7, lambda: f"{operation} of {ran.tool} runs again though it had ended")

    def stepped(self, taken: Taken) -> None:
        """Nobody calls a write failed or done of which nobody knows whether it took effect."""
        for operation in taken.step.operations:
            is_known = operation.state not in {"returned", "raised"} or operation.effect not in _EFFECTS
            hold(
                is_known or operation.id in self.ledger.clear or operation.id not in self._begun,
                7,
                lambda operation=operation: (
                    f"{operation.id} of {operation.tool} is {operation.state}, and nobody knows"
                ),
            )


class HalfCalls(Watching):
    """8: no call of a half, cut, refused or failed reply runs, and no such reply counts as one."""

    def stepped(self, taken: Taken) -> None:
        """A stored reply was whole."""
        for row in taken.step.rows:
            is_void = row.kind == "reply" and row.meta.get("request_id") in self.ledger.void
            hold(not is_void, 8, lambda row=row: f"{row.meta['request_id']} of {row.thread} was no reply")

    def ran(self, ran: Ran) -> None:
        """It has its arguments, and its reply was whole."""
        hold(not ran.argument.startswith(VOID), 8, lambda: f"{ran.operation} runs with {ran.argument}")
        hold(ran.tool != "wipe", 8, lambda: f"{ran.operation} runs without its arguments")
