"""Folders for their owner alone: what stoic keeps beside its log is nobody else's business."""

import errno
import os
import stat
from contextlib import suppress
from pathlib import Path


def private_folder(path: Path) -> None:
    """Make a folder that only its owner can enter, or make an existing one so.

    Raises:
        OSError: it cannot be made, is no folder, a link, or somebody else's
    """
    with suppress(FileExistsError):  # something else stands there, as is seen below
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
    found = path.lstat()
    if not stat.S_ISDIR(found.st_mode):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path))
    if found.st_uid != os.geteuid():
        raise PermissionError(errno.EPERM, "the folder belongs to another user", str(path))
    if stat.S_IMODE(found.st_mode) != 0o700:  # noqa: PLR2004 - the mode itself
        path.chmod(0o700)
