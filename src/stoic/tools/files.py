"""Built-in file tools: `read_file` and `write_file` inside the workspace root."""

from stoic.tools.beneath import opened_file, replace_file
from stoic.tools.declaration import Tool
from stoic.tools.lines import LIMIT_BYTES, LIMIT_LINES, read_page
from stoic.tools.workspace import Workspace

__all__ = ["LIMIT_BYTES", "LIMIT_LINES", "file_tools"]


def file_tools(workspace: Workspace) -> list[Tool]:
    """Return the tools that read and write whole files of one workspace."""

    def read_file(path: str, first_line: int = 1, limit_lines: int = LIMIT_LINES) -> str:
        """Read a text file of the workspace.

        Args:
            path: relative to the workspace root
            first_line: the line to begin with, counted from 1
            limit_lines: how many lines at the most
        """
        with opened_file(workspace, path) as file:
            return read_page(file, path, first_line, limit_lines)

    def write_file(path: str, content: str) -> str:
        """Write a text file of the workspace, creating it and its folders or replacing what it held.

        Args:
            path: relative to the workspace root
            content: the whole new content
        """
        data = content.encode("utf-8", "surrogatepass")
        replace_file(workspace, path, data)
        return f"wrote {len(data)} bytes to {path}"

    return [Tool(read_file, effect="read"), Tool(write_file, effect="write")]
