"""Built-in file tools: `read_file` and `write_file` inside the workspace root."""

import os
import stat
import threading
from pathlib import Path

from stoic.tools.declaration import Tool
from stoic.tools.workspace import Workspace

LIMIT_LINES = 2_000
LIMIT_BYTES = 64 * 1024


def file_tools(workspace: Workspace) -> list[Tool]:
    """Return the file tools of one workspace."""

    def read_file(path: str, first_line: int = 1, limit_lines: int = LIMIT_LINES) -> str:
        """Read a text file of the workspace.

        Args:
            path: relative to the workspace root
            first_line: the line to begin with, counted from 1
            limit_lines: how many lines at the most
        """
        return _read(workspace.resolve(path), path, first_line, limit_lines)

    def write_file(path: str, content: str) -> str:
        """Write a text file of the workspace, creating it and its folders or replacing what it held.

        Args:
            path: relative to the workspace root
            content: the whole new content
        """
        return _write(workspace.resolve(path), path, content)

    return [Tool(read_file, effect="read"), Tool(write_file, effect="write")]


def _read(real: Path, path: str, first_line: int, limit_lines: int) -> str:
    if first_line < 1 or limit_lines < 1:
        raise ValueError("first_line and limit_lines count from 1")
    _require_regular(real, path)
    lines: list[str] = []
    size, number, more = 0, 0, False
    with real.open("rb") as file:
        if b"\0" in file.read(4096):
            raise ValueError(f"{path!r} is a binary file of {real.stat().st_size} bytes; it cannot be shown as text")
        file.seek(0)
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
    if not lines and number and not more:
        return f"[{path} has {number} lines; line {first_line} is beyond its end]"
    if not lines and more:
        return f"[line {first_line} of {path} is longer than {LIMIT_BYTES} bytes]"
    text = "".join(lines)
    return f"{text}\n[more follows: go on with first_line={first_line + len(lines)}]" if more else text


def _require_regular(real: Path, path: str) -> None:
    try:
        mode = real.stat().st_mode
    except FileNotFoundError:
        raise FileNotFoundError(f"there is no file {path!r} in the workspace") from None
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(f"{path!r} is a folder, not a file")
    if not stat.S_ISREG(mode):
        raise ValueError(f"{path!r} is not a regular file")


def _write(real: Path, path: str, content: str) -> str:
    if real.exists():
        _require_regular(real, path)
    data = content.encode("utf-8", "surrogatepass")
    real.parent.mkdir(parents=True, exist_ok=True)
    # Written beside it and renamed: a crash leaves the old file or the new one, never half of it.
    temporary = real.parent / f".{real.name[:32]}.{os.getpid()}-{threading.get_ident()}.tmp"
    temporary.unlink(missing_ok=True)
    try:
        with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if real.exists():
            temporary.chmod(stat.S_IMODE(real.stat().st_mode))
        temporary.replace(real)
    finally:
        temporary.unlink(missing_ok=True)
    return f"wrote {len(data)} bytes to {path}"
