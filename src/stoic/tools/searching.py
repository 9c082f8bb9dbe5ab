"""Built-in `search_files`: the lines of the workspace's text files that hold a text or match an expression."""

from collections.abc import Iterator
from itertools import islice

import regex

from stoic.tools.beneath import opened_file
from stoic.tools.declaration import Tool
from stoic.tools.expressions import LONGEST, ExpressionError, compiled
from stoic.tools.ignoring import parse_patterns
from stoic.tools.lines import is_binary
from stoic.tools.listing import shown_path
from stoic.tools.walking import walk
from stoic.tools.workspace import Workspace

LIMIT_MATCHES = 200
LIMIT_LINE_CHARACTERS = 240
LIMIT_FILE_BYTES = 4 * 1024 * 1024
LIMIT_READ_BYTES = 256 * 1024 * 1024
LIMIT_VISITED = 100_000
_SECONDS = 2.0
"""For one file; an expression that takes longer ends the whole search."""


class SearchError(ValueError):
    """The search cannot be done as asked; the text is told to the model."""


def search_tool(workspace: Workspace) -> Tool:
    """Return the `search_files` tool of one workspace."""

    def search_files(
        query: str,
        path: str = ".",
        pattern: str = "",
        *,
        expression: bool = False,
        ignore_case: bool = False,
    ) -> str:
        """Search the text files of the workspace and list the lines found as path:line: text; git-ignored files stay out.

        Args:
            query: the text to look for
            path: the folder to look in, relative to the workspace root
            pattern: look only into files that match, written like a line of a .gitignore, such as *.py
            expression: take query as a regular expression; ^ and $ stand for the ends of a line
            ignore_case: let small and capital letters match each other
        """
        return Search(query, expression=expression, ignore_case=ignore_case).run(workspace, path, pattern)

    return Tool(search_files, effect="read")


class Search:
    """One search; bounded in matches, bytes, files and in the time an expression may take."""

    def __init__(
        self, query: str, *, expression: bool = False, ignore_case: bool = False, seconds: float = _SECONDS
    ) -> None:
        """Prepare a search.

        Args:
            query: a text, or an expression
            expression: which of the two
            ignore_case: let small and capital letters match each other
            seconds: how long one file may take

        Raises:
            SearchError: the query is empty, too long, or no expression that can be used
        """
        if not query:
            raise SearchError("query is empty; name the text to look for")
        flags = regex.MULTILINE | (regex.IGNORECASE if ignore_case else 0)
        if len(query) > LONGEST:
            raise SearchError(f"query has {len(query)} characters; look for {LONGEST} at the most")
        try:
            self._expression = compiled(query, flags) if expression else regex.compile(regex.escape(query), flags)
        except ExpressionError as error:
            raise SearchError(str(error)) from None
        self._query = query
        self._seconds = seconds
        self._read_bytes = 0
        self._too_large: list[str] = []

    def run(self, workspace: Workspace, path: str = ".", pattern: str = "") -> str:
        """Return the lines found, with notes where something was left out. Raises SearchError, OSError."""
        lines = list(islice(self._found(workspace, path, pattern), LIMIT_MATCHES + 1))
        notes: list[str] = []
        if len(lines) > LIMIT_MATCHES:
            lines.pop()
            notes.append(f"more follows after {LIMIT_MATCHES} lines: use a narrower query, path or pattern")
        if self._read_bytes >= LIMIT_READ_BYTES:
            notes.append(f"stopped after reading {LIMIT_READ_BYTES} bytes: name a folder or a pattern")
        if self._too_large:
            named = ", ".join(map(shown_path, self._too_large[:3])) + (", …" if len(self._too_large) > 3 else "")  # noqa: PLR2004 - as many as are named
            notes.append(f"not searched, larger than {LIMIT_FILE_BYTES} bytes: {named}")
        if not lines:
            notes.insert(0, f"no line found with {self._query!r}")
        return "\n".join([*lines, *(f"[{note}]" for note in notes)])

    def _found(self, workspace: Workspace, path: str, pattern: str) -> Iterator[str]:
        matches = parse_patterns(pattern).match_file if pattern else None
        for entry in islice(walk(workspace, path), LIMIT_VISITED):
            if entry.kind != "file" or (matches and not matches(entry.path)):
                continue
            if self._read_bytes >= LIMIT_READ_BYTES:
                return
            text = self._text(workspace, entry.path)
            if text is not None:
                for number, line in self._lines(entry.path, text):
                    yield f"{shown_path(entry.path)}:{number}: {line}"

    def _text(self, workspace: Workspace, path: str) -> str | None:
        """Return a file's text; None: it is binary, too large, or cannot be read any more."""
        try:
            with opened_file(workspace, path) as file:
                if is_binary(file):
                    return None
                data = file.read(LIMIT_FILE_BYTES + 1)
        except (OSError, ValueError):  # gone, forbidden, or exchanged for something else since it was listed
            return None
        self._read_bytes += len(data)
        if len(data) > LIMIT_FILE_BYTES:
            self._too_large.append(path)
            return None
        return data.decode("utf-8", "replace")

    def _lines(self, path: str, text: str) -> Iterator[tuple[int, str]]:
        """Yield number and text of each line in which a match begins, once."""
        position, number, last = 0, 1, 0
        try:
            # Unlike the standard library's, this engine lets go of the interpreter's lock and minds a timeout.
            for found in self._expression.finditer(text, timeout=self._seconds, concurrent=True):
                number += text.count("\n", position, found.start())
                position = found.start()
                if number != last:
                    last = number
                    yield number, _line_at(text, position)
        except TimeoutError:
            raise SearchError(
                f"the expression needs more than {self._seconds:g} s on {path!r}; write it without nested repetitions"
            ) from None


def _line_at(text: str, position: int) -> str:
    """Return the line around a position, of a long one the part around it."""
    start = text.rfind("\n", 0, position) + 1
    end = text.find("\n", position)
    line = text[start : end if end >= 0 else None].rstrip("\r")
    if len(line) <= LIMIT_LINE_CHARACTERS:
        return line
    first = max(position - start - LIMIT_LINE_CHARACTERS // 3, 0)
    part = line[first : first + LIMIT_LINE_CHARACTERS]
    return f"{'…' if first else ''}{part}{'…' if first + len(part) < len(line) else ''}"
