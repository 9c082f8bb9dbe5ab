"""What `stoic up` shows: lines of what happened, each with its time of day (UTC), and on a terminal one live line below them that never mixes with them."""

import shutil
from collections.abc import Callable, Mapping
from typing import IO

from stoic.cli.cleaning import shortened
from stoic.cli.screen import Screen, Style
from stoic.cli.wording import Line
from stoic.moments import date_of


class Board:
    """Writes lines as they come; a terminal also keeps the newest status in sight, a pipe gets plain lines only."""

    def __init__(
        self,
        stream: IO[str],
        environment: Mapping[str, str],
        on_lost: Callable[[], None],
        now_ms: Callable[[], int],
    ) -> None:
        """Take the stream.

        Args:
            stream: where to
            environment: `NO_COLOR` and `TERM` are read from it
            on_lost: called when the output cannot be written any more
            now_ms: the time in epoch milliseconds
        """
        self._stream = stream
        self._style = Style(stream, environment)
        self._on_lost = on_lost
        self._now_ms = now_ms
        self._status = ""
        self._is_lost = False
        is_live = stream.isatty() and environment.get("TERM") != "dumb"
        self._screen = Screen(stream, environment) if is_live else None
        if self._screen is not None:
            self._screen.mark()

    @property
    def is_live(self) -> bool:
        """Whether a status line is shown."""
        return self._screen is not None

    def say(self, line: Line) -> None:
        """Write one line with its time, above the status."""
        stamped = Line(text=f"{date_of(self._now_ms()):%H:%M:%S} {line.text}", style=line.style)
        self._write(lambda: self._say(stamped))

    def show_status(self, text: str) -> None:
        """Replace the status; equal text draws nothing."""
        if self._screen is not None and text != self._status:
            self._status = text
            self._write(self._redraw)

    def end(self) -> None:
        """Take the status away."""
        self._status = ""
        if self._screen is not None:
            self._write(self._redraw)

    def _say(self, line: Line) -> None:
        if self._screen is None:
            self._stream.write(self._style(line.text, line.style) + "\n")
            self._stream.flush()
            return
        self._screen.erase()
        self._screen.paragraph(line.text, line.style)
        self._screen.mark()
        self._redraw()

    def _redraw(self) -> None:
        screen = self._screen
        if screen is None:
            return
        if not screen.erase():  # the terminal has another size: what stands there stays
            screen.mark()
        if self._status:
            screen.text(shortened(self._status, max(1, shutil.get_terminal_size().columns - 1)), "dim")

    def _write(self, write: Callable[[], None]) -> None:
        """Write unless the output is gone: then work ends, since nobody would know of it."""
        if self._is_lost:
            return
        try:
            write()
        except OSError:
            self._is_lost = True
            self._on_lost()
