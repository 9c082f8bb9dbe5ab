"""Makes text from models and tools harmless on a terminal: it shows characters and commands nothing."""

import re
import shlex

import msgspec
from rich.cells import cell_len

from stoic.cli.sequences import without_sequences

_CONTROLS = [*range(0x20), *range(0x7F, 0xA0)]
_OVERRIDES = [*range(0x202A, 0x202F), *range(0x2066, 0x206A)]
# Marks that reorder what stands around them could make a command look like another (Unicode TR 36, 2.2).
_REORDERING = [0x061C, 0x200E, 0x200F, *_OVERRIDES, 0x2028, 0x2029]
_BANNED = [code for code in [*_CONTROLS, *_REORDERING] if chr(code) not in "\n\t"]

_INVISIBLE = [
    0x00AD, 0x034F, 0x115F, 0x1160, *range(0x180B, 0x180F), *range(0x200B, 0x200E), *range(0x2060, 0x2065),
    *range(0x206A, 0x2070), 0x3164, 0xFEFF, 0xFFA0, *range(0xFFF9, 0xFFFC), *range(0xE0000, 0xE1000),
]  # fmt: skip
"""What nobody sees: harmless in an answer, but whoever judges a command should know of it."""

_HARMLESS: dict[int, str | None] = dict.fromkeys(code for code in [*_CONTROLS, *_OVERRIDES] if chr(code) not in "\n\t")
_STRIPPED: dict[int, str | None] = {**dict.fromkeys(_BANNED), 0x09: "    "}
_ESCAPED: dict[int, str | None] = {
    **{code: chr(code).encode("ascii", "backslashreplace").decode() for code in [*_BANNED, *_INVISIBLE]},
    **{code: f"\\x{code:02x}" for code in _BANNED if chr(code).isascii()},
    0x09: "    ",
}
# JSON itself writes the controls below the space with a backslash.
_RAW_IN_JSON = re.compile(f"[{''.join(map(chr, [*range(0x7F, 0xA0), *_REORDERING]))}]")
_ELLIPSIS = "…"
_NARROWEST_CELLS = 10
"""Fewer cells beside the indent are left to the terminal to wrap."""


def harmless(text: str) -> str:
    """Return the text without escape sequences, control and overriding characters: for a pipe, which may end at a terminal."""
    return without_sequences(text).translate(_HARMLESS)


def shown(text: str) -> str:
    """Return text whose escape sequences are out already without control and reordering characters; tabs become spaces."""
    return text.translate(_STRIPPED)


def stripped(text: str) -> str:
    """Return the text without escape sequences, control and reordering characters; newlines stay, tabs become spaces."""
    return shown(without_sequences(text))


def escaped(text: str) -> str:
    """Return the text with such characters shown as what they are: for what a person has to judge."""
    return text.translate(_ESCAPED)


def json_text(value: object) -> str:
    """Return a value as JSON on one line that commands no terminal either; it stands for the very same value."""
    text = msgspec.json.encode(value).decode()
    return text if text.isascii() and "\x7f" not in text else _RAW_IN_JSON.sub(_escape_of, text)


def _escape_of(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"


def one_line(text: str) -> str:
    """Return the text as one line of single spaces, cleaned like `stripped`."""
    return " ".join(stripped(text).split())


def quoted(text: str) -> str:
    """Return the text as one word of a shell's command line."""
    return shlex.quote(one_line(text))


def shortened(text: str, limit_cells: int) -> str:
    """Return the text cut to a number of terminal cells, an ellipsis at its end when something was cut."""
    if cell_len(text) <= limit_cells:
        return text
    kept, width = list[str](), 0
    for character in text:
        width += cell_len(character)
        if width > limit_cells - 1:
            break
        kept.append(character)
    return "".join(kept) + _ELLIPSIS


def folded(text: str, columns: int | None) -> list[str]:
    """Return a line as the lines of a terminal so wide, the following ones indented like the first where there is room.

    Args:
        text: one line
        columns: cells of a line; None: it is not folded
    """
    indent = len(text) - len(text.lstrip(" "))
    if columns is None or cell_len(text) <= columns or columns < _NARROWEST_CELLS:
        return [text]
    hanging = " " * indent if columns >= indent + _NARROWEST_CELLS else ""
    lines, line, width = list[str](), "", 0
    for character in text:
        cells = cell_len(character)
        if width + cells > columns:
            start = len(line) - len(line.lstrip(" "))
            head, _, tail = line[start:].rpartition(" ")
            # A word that alone fills half a line is cut where it stands.
            kept, rest = (head, tail) if head and cell_len(tail) < columns // 2 else (line[start:], "")
            lines.append(line[:start] + kept)
            line = hanging + rest
            width = cell_len(line)
        line += character
        width += cells
    return [*lines, line]
