"""Goes through a folder of the workspace in order, without following links and without what `.gitignore` hides."""

import os
import time
from collections.abc import Generator, Iterator
from typing import Literal

from stoic.records import Record
from stoic.tools.beneath import enter, opened_folder, read_small
from stoic.tools.ignoring import Ignores
from stoic.tools.workspace import Workspace

DEEPEST = 64
"""Levels at the most: one descriptor is open for each."""
LONGEST_SECONDS = 60.0
"""For a whole walk, with what is done on its way."""
_LIMIT_RULES_BYTES = 128 * 1024

Kind = Literal["file", "folder", "link", "other"]


class Entry(Record, frozen=True):
    """One thing in a folder."""

    path: str
    """From the workspace root, without a slash at its end."""
    kind: Kind
    size_bytes: int = 0
    opened: bool = True
    """Of a folder: whether its entries follow; they do not at the deepest level and where it cannot be read."""


def walk(
    workspace: Workspace, path: str, levels: int = DEEPEST, *, seconds: float = LONGEST_SECONDS
) -> Generator[Entry]:
    """Yield the entries below a folder, each folder right before what is in it, names in order.

    A folder that is named is gone through even if some `.gitignore` hides it.

    Args:
        workspace: where
        path: the folder, relative to the root
        levels: how deep to go; 1: the folder's own entries only
        seconds: how long it may take

    Raises:
        OutsideWorkspaceError: the path leads out
        TimeoutError: it takes longer
        PatternTooSlowError: a `.gitignore` on the way cannot be followed in time
        OSError: there is no such folder, or it cannot be read; the text names it
    """
    real = workspace.resolve(path)
    try:
        with opened_folder(workspace.root, real) as folder:
            start = "".join(f"{name}/" for name in real.relative_to(workspace.root).parts)
            until = time.monotonic() + seconds
            yield from _entries(folder, start, _rules_above(workspace, start), min(levels, DEEPEST), until)
    except FileNotFoundError:
        raise FileNotFoundError(f"there is no folder {path!r} in the workspace") from None
    except NotADirectoryError:
        raise NotADirectoryError(f"{path!r} is no folder; read_file shows files") from None


def _rules_above(workspace: Workspace, start: str) -> Ignores:
    """Return the rules that the folders above the start give; none when they hide the start itself."""
    rules, above = Ignores(), ""
    for name in start.split("/")[:-1]:
        with opened_folder(workspace.root, workspace.root / above) as folder:
            rules = rules.below(above, _rules_in(folder))
        if rules.hides(above + name, folder=True):
            return Ignores()
        above += f"{name}/"
    return rules


def _entries(folder: int, start: str, rules: Ignores, levels: int, until: float) -> Iterator[Entry]:
    rules = rules.below(start, _rules_in(folder))
    with os.scandir(folder) as found:
        entries = sorted(found, key=lambda each: each.name)
    for each in entries:
        if time.monotonic() > until:
            raise TimeoutError("going through the folder takes too long; name a folder inside")
        path, kind = start + each.name, _kind(each)
        if rules.hides(path, folder=kind == "folder"):
            continue
        if kind != "folder":
            yield Entry(path=path, kind=kind, size_bytes=_size(each))
            continue
        inside = _opened(folder, each.name) if levels > 1 else None
        yield Entry(path=path, kind=kind, opened=inside is not None)
        if inside is not None:
            try:
                yield from _entries(inside, f"{path}/", rules, levels - 1, until)
            finally:
                os.close(inside)


def _rules_in(folder: int) -> str | None:
    data = read_small(folder, ".gitignore", _LIMIT_RULES_BYTES)
    return None if data is None else data.decode("utf-8", "replace")


def _kind(entry: os.DirEntry[str]) -> Kind:
    if entry.is_symlink():
        return "link"
    if entry.is_dir(follow_symlinks=False):
        return "folder"
    return "file" if entry.is_file(follow_symlinks=False) else "other"


def _size(entry: os.DirEntry[str]) -> int:
    try:
        return entry.stat(follow_symlinks=False).st_size
    except FileNotFoundError:  # gone since it was listed
        return 0


def _opened(folder: int, name: str) -> int | None:
    try:
        return enter(folder, name)
    except OSError:  # not readable, or no folder any more: said by `opened`
        return None
