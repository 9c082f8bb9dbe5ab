"""Reads the workspace's own word to agents: the file AGENTS.md at its root (https://agents.md)."""

import os

from stoic.records import Record
from stoic.tools.beneath import opened_file
from stoic.tools.workspace import OutsideWorkspaceError, Workspace

FILE = "AGENTS.md"
LIMIT_BYTES = 32 * 1024
_GOES_ON = f"\n[{FILE} goes on; read the file for the rest]\n"


class Guidance(Record, frozen=True):
    """What stands in the file; equal files give equal texts, so that requests keep their beginning."""

    text: str = ""
    """Empty: there is none, or it cannot be used."""
    note: str | None = None
    """What a person should know: it was cut, or not read."""


def read_guidance(workspace: Workspace) -> Guidance:
    """Return what AGENTS.md says, at most 32 KB of it; a file that leads out of the workspace is not read."""
    try:
        with opened_file(workspace, FILE) as file:
            data = file.read(LIMIT_BYTES + 1)
            size = os.fstat(file.fileno()).st_size
    except FileNotFoundError:
        return Guidance()
    except OutsideWorkspaceError:
        return _unread("it leads out of the workspace")
    except (IsADirectoryError, ValueError):
        return _unread("it is not a file")
    except (OSError, RuntimeError) as error:  # RuntimeError: a loop of links
        return _unread(str(error))
    if b"\0" in data:
        return _unread("it is a binary file")
    if len(data) <= LIMIT_BYTES:
        return Guidance(text=data.decode(errors="replace"))
    kept = data[:LIMIT_BYTES]
    kept = kept[: kept.rfind(b"\n") + 1] or kept
    note = f"{FILE} has {size:,} bytes; the first {len(kept):,} are part of the instructions"
    return Guidance(text=kept.decode(errors="ignore") + _GOES_ON, note=note)


def _unread(why: str) -> Guidance:
    return Guidance(note=f"{FILE} of the workspace was not read: {why}")
