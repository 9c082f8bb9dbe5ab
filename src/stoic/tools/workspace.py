"""The workspace root: every path a model names is resolved inside it or refused (SPEC §10)."""

from pathlib import Path

_LONGEST_PATH = 4096
"""Characters; more than any system takes, and each part of a path costs time."""


class OutsideWorkspaceError(ValueError):
    """A path leads out of the workspace; the text is told to the model."""


class Workspace:
    """A folder that file tools cannot leave, by `..`, an absolute path or a symbolic link."""

    def __init__(self, root: Path) -> None:
        """Take the folder as root; it must exist."""
        self.root = root.resolve(strict=True)

    def resolve(self, path: str) -> Path:
        """Return the real path of what a model named.

        Args:
            path: relative to the root, or absolute inside it

        Raises:
            OutsideWorkspaceError: it leads out of the root, or holds a NUL byte
            ValueError: it is longer than any path
        """
        if len(path) > _LONGEST_PATH:
            raise ValueError(f"the path has {len(path)} characters; at most {_LONGEST_PATH} are taken")
        if "\0" in path:
            raise OutsideWorkspaceError("a path cannot hold a NUL byte")
        real = (self.root / path).resolve()
        if real != self.root and self.root not in real.parents:
            raise OutsideWorkspaceError(
                f"{path!r} is outside the workspace; use a path inside it, relative to its root"
            )
        return real
