"""What every watcher begins with: it sees everything, and minds nothing until it says otherwise."""

from stoic.testing.simulation.ledger import Ledger, Ran, Sent, Taken


class Watching:
    """A watcher that minds nothing."""

    def __init__(self, ledger: Ledger) -> None:
        """Take the ledger to look things up in."""
        self.ledger = ledger

    def sent(self, sent: Sent) -> None:
        """Look at a request as a provider gets it."""

    def ran(self, ran: Ran) -> None:
        """Look at a real execution of a tool as it begins."""

    def stepped(self, taken: Taken) -> None:
        """Look at a step that has taken effect."""

    def ended(self) -> None:
        """Look at the whole when every thread is at rest."""
