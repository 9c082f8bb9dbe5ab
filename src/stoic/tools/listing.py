"""Built-in `list_files`: the files and folders of the workspace, without what `.gitignore` hides."""

from itertools import islice

from stoic.tools.declaration import Tool
from stoic.tools.ignoring import parse_patterns
from stoic.tools.walking import DEEPEST, Entry, walk
from stoic.tools.workspace import Workspace

LIMIT_ENTRIES = 500
LIMIT_VISITED = 100_000
"""Entries looked at in search of a pattern."""


def list_tool(workspace: Workspace) -> Tool:
    """Return the `list_files` tool of one workspace."""

    def list_files(path: str = ".", pattern: str = "", levels: int = 3) -> str:
        """List files and folders of the workspace, one path a line; folders end with a slash, hidden and git-ignored ones stay out.

        Args:
            path: the folder to look in, relative to the workspace root; an ignored one is listed when named here
            pattern: show only files that match, at any depth, written like a line of a .gitignore, such as *.py or src/**/test_*.py
            levels: without a pattern, how deep to go; 1 is the folder's own entries
        """
        if levels < 1:
            raise ValueError("levels counts from 1")
        return listing(workspace, path, pattern, DEEPEST if pattern else levels)

    return Tool(list_files, effect="read")


def listing(workspace: Workspace, path: str, pattern: str, levels: int) -> str:
    """Return the lines of `list_files`. Raises OutsideWorkspaceError, OSError."""
    matches = parse_patterns(pattern).match_file if pattern else None
    lines: list[str] = []
    visited = 0
    for entry in islice(walk(workspace, path, levels), LIMIT_VISITED):
        visited += 1
        if matches and (entry.kind == "folder" or not matches(entry.path)):
            continue
        if len(lines) == LIMIT_ENTRIES:
            lines.append(f"[more follows after {LIMIT_ENTRIES} entries: name a folder inside, or a pattern]")
            break
        lines.append(_line(entry))
    if visited == LIMIT_VISITED:
        lines.append(f"[stopped after looking at {LIMIT_VISITED} entries: name a folder inside]")
    nothing = (
        f"[nothing in {path!r} matches {pattern!r}]" if pattern else f"[{path!r} is empty, or all in it is ignored]"
    )
    return "\n".join(lines) or nothing


def shown_path(path: str) -> str:
    """Return a path on one line: one with line breaks or control characters is quoted."""
    return path if path.isprintable() else repr(path)


def _line(entry: Entry) -> str:
    path = shown_path(entry.path)
    match entry.kind:
        case "folder":
            return f"{path}/" if entry.opened else f"{path}/ …"
        case "link":
            return f"{path} (link)"
        case "other":
            return f"{path} (no regular file)"
        case "file":
            return path
