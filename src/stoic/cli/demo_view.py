"""How the demonstration shows a turn where there is no terminal: plain lines, none wider than 80 columns."""

import io
from typing import IO

from stoic.cli.cleaning import shortened
from stoic.cli.screen import Style
from stoic.cli.views import PlainView
from stoic.events import Happening

_WIDEST_CELLS = 79


class NarrowView:
    """Shows what `PlainView` shows, each line cut to the width of a page; everything goes to one stream."""

    def __init__(self, stream: IO[str], style: Style) -> None:
        """Take the stream and its style."""
        self._stream = stream
        self._lines = io.StringIO()
        self._plain = PlainView(self._lines, self._lines, style)

    def show(self, event: Happening) -> None:
        """Show one event."""
        self._plain.show(event)
        self._pass_on()

    def say(self, text: str) -> None:
        """Say it among the activity."""
        self._plain.say(text)
        self._pass_on()

    def _pass_on(self) -> None:
        for line in self._lines.getvalue().splitlines():
            self._stream.write(shortened(line, _WIDEST_CELLS) + "\n")
        self._stream.flush()
        self._lines.seek(0)
        self._lines.truncate()
