"""Opens and replaces files below the workspace root, one path component at a time, so that no link leads out.

`Workspace.resolve` judges a path as it stands at that moment; whoever can write there could put a link in its place right
afterwards. So the way down is walked with descriptors (openat) that refuse links: what is opened is what was judged. What
stays open to a race: somebody who may write to the workspace can still exchange one file in it for another.
"""

import os
import stat
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from stoic.tools.workspace import Workspace

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Never waits for the other side of a pipe that was put there after the look at it.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_PERMISSIONS = 0o777
"""What a replaced file keeps of its mode: whoever it ran as before (setuid), its new content does not."""
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@contextmanager
def opened_folder(root: Path, real: Path, *, create: bool = False) -> Generator[int]:
    """Yield a descriptor of a folder below the root.

    Args:
        root: where the way begins
        real: the folder, as `Workspace.resolve` gave it
        create: make the folders that are missing

    Raises:
        OSError: a component is missing, no folder, or a link by now
    """
    folder = os.open(root, _FOLDER)
    try:
        for name in real.relative_to(root).parts:
            following = _enter(folder, name, create=create)
            os.close(folder)
            folder = following
        yield folder
    finally:
        os.close(folder)


def enter(folder: int, name: str) -> int:
    """Return a descriptor of a folder inside an open one; the caller closes it. Raises OSError, also for a link."""
    return os.open(name, _FOLDER, dir_fd=folder)


@contextmanager
def opened_file(workspace: Workspace, path: str) -> Generator[BinaryIO]:
    """Yield a regular file of the workspace, open for reading.

    Raises:
        OutsideWorkspaceError: the path leads out
        OSError, ValueError: there is no such file, or it is a folder, a device or a pipe; the text names it
    """
    real = workspace.resolve(path)
    try:
        with opened_folder(workspace.root, _parent(workspace, real, path)) as folder:
            _require_regular_mode(os.stat(real.name, dir_fd=folder, follow_symlinks=False).st_mode, path)
            number = os.open(real.name, _FILE, dir_fd=folder)
    except FileNotFoundError:
        raise FileNotFoundError(f"there is no file {path!r} in the workspace") from None
    with _as_file(number, path) as file:
        yield file


def read_small(folder: int, name: str, limit_bytes: int) -> bytes | None:
    """Return the bytes of a regular file in an open folder; None if there is none, or it is larger than the limit."""
    try:
        if not stat.S_ISREG(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            return None
        with _as_file(os.open(name, _FILE, dir_fd=folder), name) as file:
            data = file.read(limit_bytes + 1)
    except (OSError, ValueError):  # missing, unreadable or exchanged meanwhile: the same to a reader of optional files
        return None
    return data if len(data) <= limit_bytes else None


def replace_file(workspace: Workspace, path: str, data: bytes) -> None:
    """Write a whole file of the workspace, with its folders; a crash leaves the old file or the new one, never half.

    Raises:
        OutsideWorkspaceError: the path leads out
        OSError, ValueError: it is a folder, a device or a pipe, or it cannot be written
    """
    real = workspace.resolve(path)
    with opened_folder(workspace.root, _parent(workspace, real, path), create=True) as folder:
        mode = _existing_mode(folder, real.name, path)
        # Written beside it and renamed.
        temporary = f".{real.name[:32]}.{os.getpid()}-{threading.get_ident()}.tmp"
        _unlink(temporary, folder)
        try:
            # Nobody else reads a private file while it is written anew.
            create_mode = 0o666 if mode is None else 0o600
            with os.fdopen(os.open(temporary, _NEW_FILE, create_mode, dir_fd=folder), "wb") as file:
                file.write(data)
                file.flush()
                if mode is not None:
                    os.fchmod(file.fileno(), mode)
                os.fsync(file.fileno())
            os.replace(temporary, real.name, src_dir_fd=folder, dst_dir_fd=folder)
        finally:
            _unlink(temporary, folder)


def _as_file(number: int, path: str) -> BinaryIO:
    """Return an open descriptor as a file: what is open counts, whatever stood there at the look before.

    Raises:
        OSError, ValueError: it is no regular file; the descriptor is closed
    """
    try:
        _require_regular_mode(os.fstat(number).st_mode, path)
    except (OSError, ValueError):
        os.close(number)
        raise
    return os.fdopen(number, "rb")


def _enter(folder: int, name: str, *, create: bool) -> int:
    try:
        return enter(folder, name)
    except FileNotFoundError:
        if not create:
            raise
    with suppress(FileExistsError):  # somebody else was faster
        os.mkdir(name, dir_fd=folder)
    return enter(folder, name)


def _parent(workspace: Workspace, real: Path, path: str) -> Path:
    if real == workspace.root:
        raise IsADirectoryError(f"{path!r} is a folder, not a file")
    return real.parent


def _existing_mode(folder: int, name: str, path: str) -> int | None:
    try:
        mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return None
    _require_regular_mode(mode, path)
    return stat.S_IMODE(mode) & _PERMISSIONS


def _require_regular_mode(mode: int, path: str) -> None:
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(f"{path!r} is a folder, not a file")
    if not stat.S_ISREG(mode):
        raise ValueError(f"{path!r} is not a regular file")


def _unlink(name: str, folder: int) -> None:
    try:
        os.unlink(name, dir_fd=folder)
    except FileNotFoundError:
        return
