"""Built-in `edit_file`: replaces an exact piece of a text file of the workspace, or says why it cannot."""

from difflib import get_close_matches

from stoic.tools.beneath import opened_file, replace_file
from stoic.tools.declaration import Tool
from stoic.tools.workspace import Workspace

LIMIT_BYTES = 4 * 1024 * 1024
_NAMED_LINES = 5
_COMPARED_LINES = 5_000
_COMPARED_CHARACTERS = 200
"""Looking for the nearest line costs time that grows with both: it looks at no more."""


class EditError(ValueError):
    """The piece to replace is not there as it was named; the text is told to the model."""


def edit_tool(workspace: Workspace) -> Tool:
    """Return the `edit_file` tool of one workspace."""

    def edit_file(path: str, old: str, new: str, count: int = 1) -> str:
        """Replace an exact piece of a text file of the workspace; the rest of the file stays as it is.

        Args:
            path: relative to the workspace root
            old: the text to replace, exactly as it stands in the file, with its line breaks and indentation
            new: the text to put there; empty removes the piece
            count: how often old must stand in the file; all of them are replaced, and any other number changes nothing
        """
        text = read_editable(workspace, path)
        replace_file(workspace, path, edited(path, text, old, new, count).encode())
        return f"replaced {count} piece{'' if count == 1 else 's'} of {path}"

    return Tool(edit_file, effect="write")


def read_editable(workspace: Workspace, path: str) -> str:
    """Return the whole text of a file that can be edited without harm to what is not replaced.

    Raises:
        OutsideWorkspaceError: the path leads out
        EditError: the file is too large, or not UTF-8 text
        OSError, ValueError: it is no regular file that can be read
    """
    with opened_file(workspace, path) as file:
        data = file.read(LIMIT_BYTES + 1)
    if len(data) > LIMIT_BYTES:
        raise EditError(f"{path!r} is larger than {LIMIT_BYTES} bytes; change it with a command")
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise EditError(f"{path!r} is not UTF-8 text (byte {error.start}); change it with a command") from None
    if "\0" in text:
        raise EditError(f"{path!r} is a binary file; change it with a command")
    return text


def edited(path: str, text: str, old: str, new: str, count: int = 1) -> str:
    """Return the text with `old` replaced by `new` where it stands exactly `count` times.

    Written with plain line breaks, both also fit a file whose lines end with CR LF.

    Raises:
        EditError: old is empty or equal to new, or stands there another number of times
    """
    _require_change(old, new, count)
    if old not in text and "\r\n" in text and "\r" not in old:
        old, new = old.replace("\n", "\r\n"), new.replace("\r\n", "\n").replace("\n", "\r\n")
    found = text.count(old)
    if found == count:
        return text.replace(old, new)
    if found:
        remedy = f"count={found} to replace all" if count == 1 else "the right count"
        raise EditError(
            f"old stands {found} times in {path!r} (line {_lines_of(text, old)}), not {count}; nothing was changed. Give more "
            f"of the text around the one you mean, or {remedy}"
        )
    raise EditError(f"old does not stand in {path!r}; nothing was changed. {_nearest(text, old)}")


def _require_change(old: str, new: str, count: int) -> None:
    if not old:
        raise EditError("old is empty; name the text to replace, or use write_file for a whole file")
    if old == new:
        raise EditError("old and new are the same; nothing would change")
    if count < 1:
        raise EditError("count is the number of places that must be there; at least 1")


def _lines_of(text: str, piece: str) -> str:
    numbers: list[str] = []
    position = text.find(piece)
    while position >= 0 and len(numbers) < _NAMED_LINES:
        numbers.append(str(text.count("\n", 0, position) + 1))
        position = text.find(piece, position + len(piece))
    return ", ".join(numbers) + (", …" if position >= 0 else "")


def _nearest(text: str, old: str) -> str:
    """Say which line of the text is nearest to the first line of what was looked for."""
    wanted = next((line.strip() for line in old.splitlines() if line.strip()), "")[:_COMPARED_CHARACTERS]
    lines = [line.strip()[:_COMPARED_CHARACTERS] for line in text.splitlines()[:_COMPARED_LINES]]
    if not wanted:
        return "It holds nothing but white space; give text around it"
    if wanted in lines:
        number = lines.index(wanted) + 1
        return f"Its first line is line {number}, but indentation, line ends or what follows differ; read the file from there"
    close = get_close_matches(wanted, lines, n=1, cutoff=0.6)
    if close:
        return f"The nearest is line {lines.index(close[0]) + 1}: {close[0]!r}"
    return "No line is like its first one; read the file again"
