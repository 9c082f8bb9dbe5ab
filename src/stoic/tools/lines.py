"""Shows a file a page of lines at a time, whatever its size."""

import os
from typing import BinaryIO

LIMIT_LINES = 2_000
LIMIT_BYTES = 30 * 1024
"""Of one page: below what a result may hold before it is spilled."""
_BINARY_PROBE_BYTES = 4096


def is_binary(file: BinaryIO) -> bool:
    """Tell whether a file that was just opened holds a NUL byte near its beginning; reading begins there again."""
    probe = file.read(_BINARY_PROBE_BYTES)
    file.seek(0)
    return b"\0" in probe


def read_page(file: BinaryIO, name: str, first_line: int, limit_lines: int) -> str:
    """Return a page of a text file, with a note where more follows.

    Args:
        file: from its beginning; bytes that are no UTF-8 are replaced
        name: what messages call it
        first_line: the line to begin with, counted from 1
        limit_lines: how many lines at the most; a page also ends at `LIMIT_BYTES`

    Raises:
        ValueError: it is binary, or a number is below 1
    """
    if first_line < 1 or limit_lines < 1:
        raise ValueError("first_line and limit_lines count from 1")
    if is_binary(file):
        size = os.fstat(file.fileno()).st_size
        raise ValueError(f"{name!r} is a binary file of {size} bytes; it cannot be shown as text")
    lines: list[str] = []
    size, number, more = 0, 0, False
    # A cap on each line keeps a file that is one huge line from filling the memory.
    while line := file.readline(LIMIT_BYTES):
        number += 1
        if number < first_line:
            continue
        if len(lines) >= limit_lines or size + len(line) > LIMIT_BYTES:
            more = True
            break
        lines.append(line.decode("utf-8", "replace"))
        size += len(line)
    if not lines and number:
        return f"[{name} has {number} lines; line {first_line} is beyond its end]"
    text = "".join(lines)
    return f"{text}\n[more follows: go on with first_line={first_line + len(lines)}]" if more else text
