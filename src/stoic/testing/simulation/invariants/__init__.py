"""The invariants of SPEC §16, each watched by one class of this folder; they know nothing of how the runtime works."""

from stoic.testing.simulation.invariants.effects import HalfCalls, Repetitions
from stoic.testing.simulation.invariants.endings import Endings, Notices, Tombstones
from stoic.testing.simulation.invariants.leaks import Leaks
from stoic.testing.simulation.invariants.logs import AcceptedRows, Prefixes, StaleWriters
from stoic.testing.simulation.invariants.refusals import OtherProviders, Probes, RefusedAgain
from stoic.testing.simulation.invariants.requests import Bounds, Extensions, RetryBudget
from stoic.testing.simulation.invariants.routes import Bindings, Skips
from stoic.testing.simulation.invariants.shown import Shown
from stoic.testing.simulation.ledger import Ledger, Watcher


def watchers(ledger: Ledger) -> list[Watcher]:
    """Return what watches all invariants of a run, by their numbers."""
    return [
        Leaks(ledger),  # 1
        Probes(ledger),  # 2
        RefusedAgain(ledger),  # 3
        OtherProviders(ledger),  # 4
        Endings(ledger),  # 5
        Tombstones(ledger),  # 6
        Repetitions(ledger),  # 7
        HalfCalls(ledger),  # 8
        Extensions(ledger),  # 9
        AcceptedRows(ledger),  # 10
        Bindings(ledger),  # 11
        Shown(ledger),  # 12
        Notices(ledger),  # 13
        Prefixes(ledger),  # 14
        RetryBudget(ledger),  # 15
        Skips(ledger),  # 16
        Bounds(ledger),  # 17
        StaleWriters(ledger),  # 18
    ]
