"""The background shells of every thread: starts their keepers, and finds, reads and ends them, in whatever process it is."""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Collection, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

import msgspec

from stoic.errors import StoicError
from stoic.records import Record, ShellFact
from stoic.tools import shell_keeper
from stoic.tools.private import private_folder
from stoic.tools.shell_output import Page, read_from, read_newest
from stoic.tools.spilling import file_name

LIMIT_RUNNING = 16
"""Shells that one thread may have running."""
_START_SECONDS = 30
_END_SECONDS = shell_keeper.STOP_SECONDS + shell_keeper.DRAIN_SECONDS + 3
_LOOK_SECONDS = 0.02
_READERS = "readers"


class ShellError(StoicError):
    """A background shell cannot be started, found, read or ended; the text is told to the model and names no path."""


class _Info(Record, frozen=True):
    """`info.json`, as the keeper wrote it before it ran the command."""

    id: str
    pid: int
    started_at: str
    boot_id: str
    started_at_ms: int


class _End(Record, frozen=True):
    """`exit.json`, as the keeper wrote it when nothing of the shell ran any more."""

    how: shell_keeper.How
    exit_code: int | None = None


class Shells:
    """The shells of one database, in a folder beside it: a folder for each thread, and in it one for each shell.

    What is there is all that is known: every process on this machine sees the same shells, and a shell outlives them all.
    """

    def __init__(
        self, folder: Path | None = None, *, limit_running: int = LIMIT_RUNNING, end_seconds: float = _END_SECONDS
    ) -> None:
        """Name the folder.

        Args:
            folder: created when it is first needed, mode 0700; None: there are no shells
            limit_running: shells that one thread may have running
            end_seconds: a keeper that takes longer to end its shell is killed
        """
        self._folder = folder
        self._limit_running = limit_running
        self._end_seconds = end_seconds

    def start(
        self,
        thread: str,
        shell: str,
        command: str,
        *,
        root: Path,
        deadline_seconds: int,
        environment: Mapping[str, str],
    ) -> ShellFact:
        """Start a shell, unless it was started before: one id is one shell, however often and from wherever it is started.

        Args:
            thread: whose it is
            shell: its id
            command: a command line for sh
            root: the folder it runs in
            deadline_seconds: after this it is ended, whether anybody watches it or not
            environment: all that the command finds in its environment

        Raises:
            ShellError: it was not started
            TimeoutError: it is unknown whether it was started
        """
        folder = self._folder_of(thread, shell)
        with _no_paths("the shell cannot be started"):
            if _info(folder) is None:
                self._require_room(thread)
                for each in (folder.parent.parent, folder.parent, folder):
                    private_folder(each)
                request = {
                    "id": shell,
                    "thread": thread,
                    "command": command,
                    "root": str(root),
                    "deadline_seconds": deadline_seconds,
                }
                objection = _run_keeper(folder, msgspec.json.encode(request), environment)
                if _info(folder) is None:
                    if objection is None:
                        raise TimeoutError(f"the shell did not say within {_START_SECONDS} s that it was started")
                    raise ShellError(f"the shell cannot be started ({objection or 'its keeper ended without a word'})")
        return self.fact(thread, shell)

    def was_started(self, thread: str, shell: str) -> bool | None:
        """Tell whether a shell was started; None: it is on its way, or whoever was about to start it died.

        After False and None it can be started under the same id without running twice.
        """
        if self._folder is None:
            return None
        folder = self._folder_of(thread, shell)
        if _info(folder) is not None:
            return True
        return None if folder.is_dir() else False

    def of(self, thread: str) -> list[ShellFact]:
        """Return the shells of a thread, the oldest first."""
        with _no_paths("the thread's shells cannot be listed"):
            return [_fact(folder, info) for folder, info in self._found(thread)]

    def fact(self, thread: str, shell: str) -> ShellFact:
        """Return what is known of a shell. Raises ShellError if the thread has none of that id."""
        with _no_paths("the shell cannot be looked at"):
            return _fact(*self._require(thread, shell))

    def page(
        self, thread: str, shell: str, offset: int, newest_lines: int | None = None
    ) -> tuple[ShellFact, Page | None]:
        """Return what is known of a shell with a part of its output; None: the output is withheld.

        Args:
            thread: whose it is
            shell: its id
            offset: the byte to begin with
            newest_lines: if not None, so many of the newest lines instead

        Raises:
            ShellError: the thread has none of that id, or the output cannot be read
            ValueError: no such byte has been written, or newest_lines is below 1
        """
        with _no_paths("the shell's output cannot be read"):
            folder, info = self._require(thread, shell)
            fact = _fact(folder, info)  # first: what has ended wrote all its output before
            if _is_withheld(folder):
                return fact, None
            is_complete = fact.state != "running"
            if newest_lines is None:
                page = read_from(folder, offset, is_complete=is_complete)
            else:
                page = read_newest(folder, newest_lines, is_complete=is_complete)
            return fact, None if _is_withheld(folder) else page  # it may have been read while it was deleted

    def stop(self, thread: str, shell: str) -> ShellFact:
        """End a shell with all it started, if it runs, and return what is known of it then. Raises ShellError."""
        with _no_paths("the shell cannot be ended"):
            _end([self._require(thread, shell)], self._end_seconds)
        return self.fact(thread, shell)

    def close(self, thread: str) -> list[ShellFact]:
        """End every running shell of a thread; return how they ended. Raises ShellError."""
        with _no_paths("the thread's shells cannot be ended"):
            running = [each for each in self._found(thread) if _fact(*each).state == "running"]
            _end(running, self._end_seconds)
            return [_fact(*each) for each in running]

    def forget(self, thread: str) -> None:
        """End every running shell of a thread and delete what was kept of all of them; nothing is fine. Raises ShellError."""
        self.close(thread)
        with _no_paths("the thread's shells cannot be deleted"):
            folder = self._thread_folder(thread)
            if folder is not None and folder.is_dir():
                shutil.rmtree(folder)

    def note_reader(self, thread: str, shell: str, operation: str) -> None:
        """Write down that an operation's result holds some of a shell's output, before it is shown. Raises ShellError."""
        with _no_paths("the shell's output cannot be read"):
            folder, _ = self._require(thread, shell)
            file = os.open(
                folder / _READERS, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600
            )
            try:
                os.write(file, f"{operation}\n".encode())
                os.fsync(file)
            finally:
                os.close(file)

    def revoke(self, thread: str, operations: Collection[str]) -> None:
        """Delete the output of shells, also what they write from now on, and let nobody read it again.

        Args:
            thread: whose they are
            operations: those whose results are withheld: of a shell's start, or by which its output was read

        Raises:
            ShellError: it could not be made sure of
        """
        with _no_paths("the shells' output cannot be withheld"):
            for folder, info in self._found(thread):
                if not {info.id, *_readers(folder)}.isdisjoint(operations):
                    with _opened(folder) as file:
                        shell_keeper.record(file, shell_keeper.WITHHELD, {})
                        shell_keeper.discard(file)

    def _thread_folder(self, thread: str) -> Path | None:
        return None if self._folder is None else self._folder / file_name(thread)

    def _folder_of(self, thread: str, shell: str) -> Path:
        folder = self._thread_folder(thread)
        if folder is None:
            raise ShellError(
                "background shells are not kept here: the log is not in a file; use the tool shell instead"
            )
        return folder / file_name(shell)

    def _found(self, thread: str) -> list[tuple[Path, "_Info"]]:
        """Return the folders and records of a thread's shells, the oldest first."""
        folder = self._thread_folder(thread)
        if folder is None or not folder.is_dir():
            return []
        found = [(each, info) for each in folder.iterdir() if (info := _info(each)) is not None]
        return sorted(found, key=lambda each: (each[1].started_at_ms, each[1].id))

    def _require(self, thread: str, shell: str) -> tuple[Path, "_Info"]:
        folder = self._folder_of(thread, shell)
        info = _info(folder)
        if info is None:
            known = ", ".join(each.id for _, each in self._found(thread)) or "none"
            raise ShellError(f"there is no shell {shell!r}. Shells of this thread: {known}")
        return folder, info

    def _require_room(self, thread: str) -> None:
        running = [each.id for each in self.of(thread) if each.state == "running"]
        if len(running) >= self._limit_running:
            raise ShellError(
                f"{len(running)} shells of this thread are running, which is the limit; "
                f"end one with shell_stop first: {', '.join(running)}"
            )


def _run_keeper(folder: Path, request: bytes, environment: Mapping[str, str]) -> str | None:
    """Start a keeper and wait until it has recorded its shell; return what it objects to; None: it said nothing in time."""
    command = [sys.executable, "-I", "-S", str(shell_keeper.__file__), str(folder)]
    try:
        ended = subprocess.run(  # noqa: S603 - this interpreter and our own file
            command,
            input=request,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=environment,
            start_new_session=True,
            timeout=_START_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return None
    return ended.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]


def _info(folder: Path) -> "_Info | None":
    """Return what the keeper recorded when it began; None: nothing yet."""
    try:
        return msgspec.json.decode((folder / shell_keeper.INFO).read_bytes(), type=_Info)
    except (FileNotFoundError, NotADirectoryError, msgspec.DecodeError):
        return None


def _ending(folder: Path) -> "_End | None":
    try:
        return msgspec.json.decode((folder / shell_keeper.END).read_bytes(), type=_End)
    except (FileNotFoundError, msgspec.DecodeError):
        return None


def _fact(folder: Path, info: "_Info") -> ShellFact:
    # The record first and last: it is written while the process lives still.
    end = _ending(folder)
    if end is None:
        if _lives(info):
            return ShellFact(id=info.id, state="running")
        end = _ending(folder)
    if end is None:
        return ShellFact(id=info.id, state="lost")
    return ShellFact(id=info.id, state=end.how, exit_code=end.exit_code)


def _readers(folder: Path) -> list[str]:
    try:
        return (folder / _READERS).read_text().splitlines()
    except FileNotFoundError:
        return []


def _is_withheld(folder: Path) -> bool:
    return (folder / shell_keeper.WITHHELD).exists()


def _lives(info: "_Info") -> bool:
    """Tell whether the keeper lives: that very process, never just one of the same pid."""
    return info.boot_id == shell_keeper.boot_id() and info.started_at == shell_keeper.started_at(info.pid)


def _end(shells: list[tuple[Path, "_Info"]], patience_seconds: float) -> None:
    """End shells together: each keeper is asked to; one that does not is killed, which takes its shell along."""
    for _, info in shells:
        _signal(info, signal.SIGTERM)
    give_up_at = time.monotonic() + patience_seconds
    left = shells
    pause = threading.Event()
    while (left := [each for each in left if _lives(each[1])]) and time.monotonic() < give_up_at:
        pause.wait(_LOOK_SECONDS)
    for folder, info in left:
        _signal(info, signal.SIGKILL)
        with _opened(folder) as file:
            shell_keeper.record(file, shell_keeper.END, {"how": "stopped", "ended_at_ms": shell_keeper.now_ms()})


def _signal(info: "_Info", number: int) -> None:
    if _lives(info):
        try:
            os.kill(info.pid, number)
        except ProcessLookupError:
            return  # it has just ended


@contextmanager
def _opened(folder: Path) -> Generator[int]:
    file = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield file
    finally:
        os.close(file)


@contextmanager
def _no_paths(failed: str) -> Generator[None]:
    """Turn what the operating system says into words that name no path."""
    try:
        yield
    except TimeoutError:
        raise
    except OSError as error:
        raise ShellError(f"{failed} ({error.strerror or type(error).__name__})") from None
