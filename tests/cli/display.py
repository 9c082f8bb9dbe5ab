"""What a terminal shows after the bytes written to it: enough of one to tell what is on the screen and what is not."""

import codecs
import re

from rich.cells import cell_len

_SEQUENCE = re.compile(r"\x1b\[(\??[0-9;]*)([A-Za-z])")
_MODES = re.compile(r"\?[0-9]+[hl]")


class Display:
    """A screen with scrollback: wraps like xterm (a full row only when one more character comes)."""

    def __init__(self, columns: int, rows: int) -> None:
        self.columns = columns
        self.rows = rows
        self.lines: list[list[str]] = [[]]
        """All lines, those that scrolled off included; a wide character is followed by an empty cell."""
        self.unknown: list[str] = []
        """Escape sequences this terminal does not know."""
        self.prompts = 0
        """How often a line editor began to listen: it turns bracketed paste on."""
        self.questions = 0
        """Questions for the cursor's position that wait for an answer."""
        self._row = 0
        self._column = 0
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest = ""

    def feed(self, data: bytes) -> None:
        text = self._rest + self._decoder.decode(data)
        self._rest = ""
        position = 0
        while position < len(text):
            character = text[position]
            if character == "\x1b":
                found = _SEQUENCE.match(text, position)
                if not found and len(text) - position < 16:
                    self._rest = text[position:]
                    return
                position = found.end() if found else position + 1
                self._command(found[1], found[2]) if found else self.unknown.append(character)
                continue
            self._put(character)
            position += 1

    def text(self) -> str:
        return "\n".join("".join(line).rstrip() for line in self.lines)

    def position(self) -> str:
        """Return where the cursor is, as a terminal says it: row and column of the screen, counted from 1."""
        return f"\x1b[{self._row - self._top() + 1};{self._column + 1}R"

    def _top(self) -> int:
        return max(0, len(self.lines) - self.rows)

    def _command(self, argument: str, name: str) -> None:
        if name == "A":
            self._row = max(self._top(), self._row - int(argument or 1))
        elif name in "CD":
            step = int(argument or 1) * (1 if name == "C" else -1)
            self._column = min(max(self._column + step, 0), self.columns - 1)
        elif name == "n" and argument == "6":
            self.questions += 1
        elif _MODES.fullmatch(argument + name):
            self.prompts += argument + name == "?2004h"
        elif name == "J" and argument in {"", "0"}:
            del self.lines[self._row + 1 :]
            del self.lines[self._row][self._column :]
        elif name != "m":
            self.unknown.append(f"{argument}{name}")

    def _put(self, character: str) -> None:
        if character == "\r":
            self._column = 0
        elif character == "\b":
            self._column = max(self._column - 1, 0)
        elif character == "\n":
            self._next_line()
        elif character >= " ":
            width = cell_len(character)
            if self._column + width > self.columns:
                self._next_line()
                self._column = 0
            line = self.lines[self._row]
            line += [" "] * (self._column - len(line))
            line[self._column : self._column + width] = [character, *[""] * (width - 1)]
            self._column += width
        else:
            self.unknown.append(character)

    def _next_line(self) -> None:
        self._row += 1
        if self._row == len(self.lines):
            self.lines.append([])
