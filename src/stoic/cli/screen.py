"""A terminal as this program uses it: styled lines, streamed text, and a mark back to which everything can be erased."""

import os
import shutil
from collections.abc import Callable, Mapping
from typing import IO

from rich.cells import cell_len

from stoic.cli.cleaning import folded, shortened

_STYLES = {"dim": "2", "bold": "1", "red": "31", "yellow": "33", "green": "32", "cyan": "36"}
_NARROWEST = 20

Size = Callable[[], os.terminal_size]


class Style:
    """Colours a text for one stream, or leaves it as it is."""

    def __init__(self, stream: IO[str], environment: Mapping[str, str]) -> None:
        """Decide once: colour only on a terminal that is not dumb, and never with NO_COLOR (https://no-color.org)."""
        self.enabled = stream.isatty() and not environment.get("NO_COLOR") and environment.get("TERM") != "dumb"

    def __call__(self, text: str, style: str) -> str:
        """Return the text in one of the styles, `plain` or any other word leaving it as it is."""
        code = _STYLES.get(style)
        return f"\x1b[{code}m{text}\x1b[0m" if self.enabled and code and text else text


class Screen:
    """Keeps count of the rows written since a mark; whatever is written between must come through here."""

    def __init__(self, stream: IO[str], environment: Mapping[str, str], size: Size = shutil.get_terminal_size) -> None:
        """Take a stream that is a terminal.

        Args:
            stream: where to write
            environment: `NO_COLOR` and `TERM` are read from it
            size: tells columns and lines of the terminal
        """
        self.style = Style(stream, environment)
        self._stream = stream
        self._size = size
        self._can_erase = environment.get("TERM") != "dumb"
        self._column = 0
        self._rows = 0
        self._marked_size: os.terminal_size | None = None

    def text(self, text: str, style: str = "plain") -> None:
        """Write streamed text, cleaned by the caller."""
        self._count(text)
        self._stream.write(self.style(text, style))
        self._stream.flush()

    def line(self, text: str, style: str = "plain") -> None:
        """Write one line of its own, cut to the terminal's width."""
        self.end_line()
        self.text(shortened(text, max(_NARROWEST, self._size().columns) - 1), style)
        self.end_line()

    def block(self, text: str, style: str = "plain") -> None:
        """Write lines of their own, whole: the terminal wraps them."""
        self.end_line()
        self.text(text, style)
        self.end_line()

    def paragraph(self, text: str, style: str = "plain") -> None:
        """Write lines of their own, folded at words: for what a person reads, not for what is judged to the letter."""
        self.block("\n".join(self.fold(text)), style)

    def fold(self, text: str) -> list[str]:
        """Return a text as lines that fit the terminal."""
        columns = max(_NARROWEST, self._size().columns) - 1
        return [folded_line for line in text.split("\n") for folded_line in folded(line, columns)]

    def end_line(self) -> None:
        """Go to the beginning of a line unless already there."""
        if self._column:
            self.text("\n")

    def entered(self) -> None:
        """Note that a person pressed Enter: the terminal itself went to the next line."""
        self._column = 0
        self._rows += 1

    def mark(self) -> None:
        """Remember this place, at the beginning of a line."""
        self.end_line()
        self._rows = 0
        self._marked_size = self._size()

    def erase(self) -> bool:
        """Erase everything since the mark; False: nothing was erased, for it is no longer on the screen or has moved."""
        size = self._size()
        if not self._can_erase or size != self._marked_size or self._rows >= size.lines:
            return False
        up = f"\x1b[{self._rows}A" if self._rows else ""
        self._stream.write(f"\r{up}\x1b[J")
        self._stream.flush()
        self._column = self._rows = 0
        return True

    def is_at_mark(self) -> bool:
        """Tell whether nothing was written since the mark."""
        return self._rows == 0 and self._column == 0

    def _count(self, text: str) -> None:
        """Follow the cursor as terminals move it: a full row wraps only when one more character comes."""
        columns = self._size().columns
        for character in text:
            if character == "\n":
                self._rows += 1
                self._column = 0
                continue
            width = cell_len(character)
            if self._column + width > columns:
                self._rows += 1
                self._column = 0
            self._column += width
