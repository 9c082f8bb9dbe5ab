"""Passes the events of a turn to a view, and ends the turn as it stands when nobody can see them any more."""

import errno
import sys

from stoic.cli import exits
from stoic.cli.stopping import Stopper
from stoic.cli.views import View
from stoic.core.notes import denied
from stoic.events import Happening, ToolEnded

NOBODY_READS = frozenset({errno.EPIPE, errno.EIO})
"""A pipe that nobody reads, a terminal that is gone."""


class ViewEmit:
    """Gives each event to the view; an output that is gone ends the turn and is no failure of the network."""

    def __init__(self, view: View, stopper: Stopper) -> None:
        """Take the view and what ends the turn."""
        self._view = view
        self._stopper = stopper
        self.denied = False
        """Whether a call was denied by the rules of the run itself."""

    def __call__(self, event: Happening) -> None:
        """Show one event."""
        if isinstance(event, ToolEnded) and event.text == denied(event.tool, by_person=False):
            self.denied = True
        try:
            self._view.show(event)
        except OSError as error:
            if error.errno not in NOBODY_READS and self._stopper.code is None:
                print(f"stoic: the output cannot be written ({error.strerror})", file=sys.stderr)
            self._stopper.leave(exits.OUTPUT_LOST)
