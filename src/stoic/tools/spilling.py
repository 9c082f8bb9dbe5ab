"""Keeps results that are too long to show in files of their own, outside every workspace, for their owner alone."""

import hashlib
import os
import re
import shutil
from pathlib import Path

from stoic.records import Operation
from stoic.tools.private import private_folder

SHOWN_CHARACTERS = 32 * 1024
"""How much of a result a model and the log get at once: the first and the last part."""

# No capitals: there are file systems on which `T` and `t` are one name.
_PLAIN_NAME = re.compile(r"[a-z0-9_-][a-z0-9._-]{0,99}")
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC


class Spill:
    """Cuts long results; what a model does not get at once is in a file that `read_output` reads."""

    def __init__(self, folder: Path | None = None, *, shown_characters: int = SHOWN_CHARACTERS) -> None:
        """Name the folder.

        Args:
            folder: created when it is first needed, mode 0700; None: long results are cut and the rest is lost
            shown_characters: longer results are cut to this many
        """
        self._folder = folder
        self._shown_characters = shown_characters

    def is_too_long(self, text: str) -> bool:
        """Tell whether a result has to be cut."""
        return len(text) > self._shown_characters

    def keep(self, operation: Operation, text: str) -> str:
        """Store a result that is too long and return its first and last part with a note between them.

        A disk that takes nothing does not make a call fail that has returned: then the note says that the rest is lost.
        """
        half = self._shown_characters // 2
        head, tail = _whole_lines(text[:half]), text[-half:]
        left_out = f"{len(text) - len(head) - len(tail)} of {len(text)} characters are left out here"
        return f"{head}\n[runtime: {left_out}. {self._store(operation, text, head)}]\n{tail}"

    def path(self, thread: str, operation: str) -> Path | None:
        """Return where an operation's output is or would be; None: nothing is kept here."""
        if self._folder is None:
            return None
        return self._folder / file_name(thread) / f"{file_name(operation)}.txt"

    def forget(self, thread: str) -> None:
        """Delete what was kept of a thread; nothing is fine. Raises OSError."""
        if self._folder is None:
            return
        folder = self._folder / file_name(thread)
        if folder.is_dir():
            shutil.rmtree(folder)

    def _store(self, operation: Operation, text: str, head: str) -> str:
        """Write the file and say how to read it."""
        path = self.path(operation.thread, operation.id)
        if path is None:
            return "They were not kept"
        try:
            private_folder(path.parent.parent)
            private_folder(path.parent)
            with os.fdopen(os.open(path, _NEW_FILE, 0o600), "w", encoding="utf-8", newline="") as file:
                file.write(text)
        except OSError as error:
            return f"They could not be kept ({error.strerror})"
        # "invocation id": the loop detector knows that label, so equal outputs of two operations stay equal to it.
        first_line = head.count("\n") + 1
        return f"read_output has them, from first_line={first_line} on; invocation id: {operation.id}"


def _whole_lines(head: str) -> str:
    """Return the text up to its last line end, unless that would lose much of it."""
    end = head.rfind("\n")
    return head[:end] if end > len(head) // 2 else head


def file_name(identity: str) -> str:
    """Return a name that no file system takes for anything else: the id itself when it is plain, else its hash."""
    if _PLAIN_NAME.fullmatch(identity):
        return identity
    return "~" + hashlib.blake2b(identity.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
