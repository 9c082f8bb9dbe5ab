"""Invariants 7 and 8: no write happens twice without proof, and no call runs that did not arrive whole."""

from collections import Counter

from stoic.testing.simulation.hands import HARMLESS, REPEATABLE
from stoic.testing.simulation.invariants.watching import Watching
from stoic.testing.simulation.ledger import Ledger, Ran
from stoic.testing.simulation.models import VOID
from stoic.testing.simulation.setting import hold


class Repetitions(Watching):
    """7: an operation runs once, unless `not_done` was recorded; an equal one does not run while its effect is unknown."""

    def __init__(self, ledger: Ledger) -> None:
        """Begin with no run."""
        super().__init__(ledger)
        self._runs: Counter[str] = Counter()

    def ran(self, ran: Ran) -> None:
        """This run is the first, or there is proof that the one before did nothing."""
        operation = ran.operation
        if ran.tool not in REPEATABLE:
            self._runs[operation] += 1
            proofs = self.ledger.not_done.count(operation)
            times = self._runs[operation]
            hold(times <= 1 + proofs, 7, lambda: f"{operation} runs for the {times}th time with {proofs} proofs")
        if not ran.is_stale:
            hold(
                ran.tool in HARMLESS or ran.twin is None,
                7,
                lambda: f"{operation} runs while the effect of its equal {ran.twin} is unknown",
            )
            hold(not ran.is_again, 7, lambda: f"{operation} of {ran.tool} runs again though it had ended")


class HalfCalls(Watching):
    """8: no call of a half, cut, refused or failed reply runs."""

    def ran(self, ran: Ran) -> None:
        """It has its arguments, and its reply was whole."""
        hold(not ran.argument.startswith(VOID), 8, lambda: f"{ran.operation} runs with {ran.argument}")
        hold(ran.tool != "wipe", 8, lambda: f"{ran.operation} runs without its arguments")
