"""The ends of calls, written down at once: what is known of a call from its end until the log holds its result."""

import fcntl
import logging
import os
import threading
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from stoic.core.commands import CallResult
from stoic.records import Operation, Record
from stoic.tools.private import private_folder

_FULL_BYTES = 256 * 1024
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
_log = logging.getLogger(__name__)


class _End(Record, frozen=True):
    """One line of a file: how one run of an operation ended."""

    runs: int
    started_at: int | None
    """As the journal has it: with `runs` it tells this run from every other that had the same id, in this thread or another."""
    result: CallResult


class Ends:
    """Keeps the ends of this process's calls in a file of its own, and finds those of processes that died.

    Written without waiting for the disk: a file outlives its process, killed or not, but maybe not the machine's power.
    The log is the truth: an end counts only while the journal says that this very run has no end.
    """

    def __init__(self, folder: Path | None = None, owner: str = "", *, full_bytes: int = _FULL_BYTES) -> None:
        """Name the folder and this process.

        Args:
            folder: of one database; created when it is first needed, mode 0700; None: nothing is kept
            owner: this process's id, different from every other's
            full_bytes: a file that has grown beyond this is replaced by one with what is still needed
        """
        self._folder = folder
        self._owner = owner
        self._full_bytes = full_bytes
        self._lock = threading.Lock()
        self._at_work = set[str]()
        """Operations whose functions run in threads of this process, whether or not anybody still waits for them."""
        self._needed: dict[str, bytes] = {}
        """The lines of operations whose results are not stored yet."""
        self._file: int | None = None
        self._path: Path | None = None
        self._size_bytes = 0
        self._files = 0

    def keep(self, operation: Operation, result: CallResult) -> None:
        """Write down how a call ended, from any thread. A disk that takes nothing does not make the call fail."""
        if self._folder is None:
            return
        end = _End(runs=operation.runs, started_at=operation.started_at, result=result)
        # A line end on both sides: a line that was cut off does not spoil the next.
        line = b"\n" + msgspec.json.encode(end) + b"\n"
        with self._lock:
            self._needed[operation.id] = line
            self._write(self._folder, line)

    @contextmanager
    def at_work(self, operation: str) -> Generator[None]:
        """Note that an operation's function runs in this thread."""
        self._at_work.add(operation)
        try:
            yield
        finally:
            self._at_work.discard(operation)

    def is_at_work(self, operation: str) -> bool:
        """Tell whether an operation's function still runs in a thread of this process."""
        return operation in self._at_work

    def stored(self, operations: Iterable[str]) -> None:
        """Forget the ends of operations whose results the log holds now."""
        with self._lock:
            for operation in operations:
                self._needed.pop(operation, None)
            if self._folder is not None and self._size_bytes > self._full_bytes:
                self._begin_anew(self._folder)

    def find(self, operations: list[Operation]) -> list[CallResult]:
        """Return how those of the operations ended whose end was written down by any process; the journal has them as running."""
        found = {end.operation: end for data in self._contents() for end in _ends(data, operations)}
        return list(found.values())

    def abandoned(self) -> list[Path]:
        """Return the files of processes that are gone."""
        return [path for path in self._paths() if _is_abandoned(path)]

    def clear(self, abandoned: list[Path], running: list[Operation]) -> None:
        """Delete the files of processes that are gone, except those that tell something of an operation that has no end.

        Args:
            abandoned: the files
            running: every operation that the journal has as running, read after the files were found abandoned
        """
        for path in abandoned:
            if not any(_ends(_content(path), running)):
                path.unlink(missing_ok=True)

    def close(self) -> None:
        """Close this process's file, and delete it unless it still tells something."""
        with self._lock:
            file, path = self._file, self._path
            self._file = self._path = None
            if file is not None and path is not None:
                if not self._needed:
                    path.unlink(missing_ok=True)
                os.close(file)

    def _contents(self) -> Iterator[bytes]:
        with self._lock:
            yield b"".join(self._needed.values())
        for path in self._paths():
            yield _content(path)

    def _paths(self) -> list[Path]:
        return [] if self._folder is None else sorted(self._folder.glob("[!.]*"))

    def _write(self, folder: Path, line: bytes) -> None:
        try:
            if self._file is None:
                self._file = self._begin(folder)
            self._size_bytes += os.write(self._file, line)
        except OSError as error:
            _log.warning("the end of a call was not written down in %s: %s", folder, error)

    def _begin(self, folder: Path) -> int:
        """Open a new file; nobody sees it before it is locked, which says that its process lives."""
        private_folder(folder)
        self._files += 1
        self._path = folder / f"{self._owner}-{self._files}"
        hidden = folder / f".{self._path.name}"
        file = os.open(hidden, _NEW_FILE, 0o600)
        fcntl.flock(file, fcntl.LOCK_EX)
        hidden.rename(self._path)
        self._size_bytes = 0
        return file

    def _begin_anew(self, folder: Path) -> None:
        """Replace the file by one that holds only what is still needed."""
        old_file, old_path = self._file, self._path
        self._file = None
        self._write(folder, b"".join(self._needed.values()))
        if old_file is not None and old_path is not None:
            old_path.unlink(missing_ok=True)
            os.close(old_file)


def _content(path: Path) -> bytes:
    """Return a file's content: none if its process was done with it meanwhile, or keeps it from us."""
    try:
        return path.read_bytes()
    except OSError:
        return b""


def _ends(data: bytes, operations: list[Operation]) -> Iterator[CallResult]:
    """Yield the ends in a file's content that are of these very runs of operations; what was cut off is passed over."""
    wanted = {operation.id: (operation.runs, operation.started_at) for operation in operations}
    if not any(msgspec.json.encode(operation) in data for operation in wanted):
        return
    for line in data.splitlines():
        try:
            end = msgspec.json.decode(line, type=_End)
        except msgspec.DecodeError:
            continue
        if wanted.get(end.result.operation) == (end.runs, end.started_at):
            yield end.result


def _is_abandoned(path: Path) -> bool:
    try:
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(file)
    return True
