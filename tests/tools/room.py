"""A workspace with something outside it."""

from pathlib import Path
from typing import Any

from stoic.tools.declaration import Tool
from stoic.tools.workspace import Workspace


class Room:
    """Two folders side by side: the workspace's root, and one that tools must not reach."""

    def __init__(self, folder: Path) -> None:
        self.outside = folder / "outside"
        self.root = folder / "root"
        self.outside.mkdir()
        self.root.mkdir()
        (self.outside / "secret").write_text("secret")
        self.workspace = Workspace(self.root)

    def put(self, path: str, content: str | bytes = "") -> Path:
        """Write a file into the root, with its folders."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)
        return file


def call(tool: Tool, **arguments: Any) -> str:
    """Call a tool as a model does: its arguments are checked and converted."""
    assert tool.facts.check(arguments) is None
    return tool.function(**tool.bind(arguments, "t.1.1.0"))
