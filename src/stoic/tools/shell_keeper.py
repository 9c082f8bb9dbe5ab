"""Keeps one background shell: runs its command, stores its output, ends it in time and records how it ended.

A program of its own that outlives whoever starts it, run as `python -I -S shell_keeper.py FOLDER` with the request as JSON on
its input; it loads nothing but the standard library. It returns as soon as the shell is recorded in the folder, and goes on in
a process of its own. Several keepers of one folder run one command: whoever records first.
"""

import json
import os
import select
import signal
import sys
import time
from typing import Any, Literal

INFO, END, WITHHELD = "info.json", "exit.json", "withheld"
"""What the shell is, how it ended, and the mark that its output must not be kept or shown any more."""
SEGMENT_BYTES = 512 * 1024
"""The output is kept in files of this size, named by their number: the first one, and the newest of the others."""
NEWEST_SEGMENTS = 2
STOP_SECONDS = 2
"""What a shell has between the request to end and the kill; at its deadline it has longer."""
DRAIN_SECONDS = 2
_DEADLINE_SECONDS = 5
_CHUNK_BYTES = 65_536
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
_LEASHED = """\
exec 3<&0 </dev/null
( ( trap '' HUP INT TERM; read -r nothing; kill -9 0 ) <&3 >/dev/null 2>&1 & )
exec 3<&-
exec /bin/sh -c "$1"
"""
"""Runs a command beside a watcher that reads a pipe which ends with the keeper; then it kills the whole group. As long as it
lives the group is not empty, so that no other one can get its number."""

How = Literal["exited", "stopped", "deadline"]


def main() -> None:
    """Begin the shell unless it had begun before, and keep it to its end."""
    request = json.load(sys.stdin.buffer)  # half a request is none: whoever started this died
    try:
        begun = _begin(sys.argv[1], request)
    except OSError as error:
        sys.exit(error.strerror)
    if begun is not None:
        folder, wakeup = begun
        output = Output(folder)
        how, exit_code = _kept(request["command"], request["deadline_seconds"], output, wakeup)
        output.close()
        record(folder, END, {"how": how, "exit_code": exit_code, "ended_at_ms": now_ms()})


def record(folder: int, name: str, facts: dict[str, Any]) -> bool:
    """Store facts as a file that is whole and durable; False: there is one of that name already, and it stays.

    Args:
        folder: an open folder
        name: the file's
        facts: what JSON can hold
    """
    draft = f".{name}-{os.getpid()}"
    file = os.open(draft, _NEW_FILE, 0o600, dir_fd=folder)
    try:
        with os.fdopen(file, "w", encoding="utf-8") as text:
            json.dump(facts, text)
            text.flush()
            os.fsync(file)
        os.link(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
    except FileExistsError:
        return False
    finally:
        os.unlink(draft, dir_fd=folder)
    os.fsync(folder)
    return True


def now_ms() -> int:
    """Return the machine's time in epoch milliseconds."""
    return time.time_ns() // 1_000_000


def boot_id() -> str:
    """Name the machine's present boot."""
    if sys.platform != "linux":
        return _ask("/usr/sbin/sysctl", "-n", "kern.bootsessionuuid")
    return _read("/proc/sys/kernel/random/boot_id").strip()


def started_at(pid: int) -> str | None:
    """Return when the process started, in words that tell it from every other of this boot and pid; None: there is none.

    A zombie is none.
    """
    if sys.platform != "linux":
        state, _, started = _ask("/bin/ps", "-o", "stat=", "-o", "lstart=", "-p", str(pid)).partition(" ")
        return None if not started or state.startswith("Z") else started.strip()
    try:
        stat = _read(f"/proc/{pid}/stat")
    except (FileNotFoundError, ProcessLookupError):
        return None
    # proc_pid_stat(5): after the name in parentheses, which may hold anything, come the state and, 19 further, the start.
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] in "ZX" else fields[19]


class Output:
    """Stores an output in numbered files: byte n is in the file n // SEGMENT_BYTES, if it is still there."""

    def __init__(self, folder: int) -> None:
        """Begin with nothing; the folder is an open one."""
        self._folder = folder
        self._file: int | None = None
        self._size_bytes = 0
        self._unstored_bytes = 0
        self._is_withheld = False

    def add(self, data: bytes) -> None:
        """Store what came. A disk that takes nothing ends no command: how much is missing is told where it goes on."""
        if self._must_not_keep():
            return
        missing = self._unstored_bytes
        rest = (b"\n[%d bytes could not be stored]\n" % missing if missing else b"") + data
        try:
            while rest:
                rest = rest[self._write(rest) :]
        except OSError:
            self._unstored_bytes = min(len(rest), len(data)) + (missing if len(rest) > len(data) else 0)
        else:
            self._unstored_bytes = 0

    def close(self) -> None:
        """Finish when everything has come."""
        self.add(b"")
        self._close_file()

    def _write(self, data: bytes) -> int:
        number, place = divmod(self._size_bytes, SEGMENT_BYTES)
        if place == 0 and self._file is not None:
            self._close_file()
        if self._file is None:
            self._file = os.open(str(number), _NEW_FILE, 0o600, dir_fd=self._folder)
            if number > NEWEST_SEGMENTS:
                _remove(self._folder, str(number - NEWEST_SEGMENTS))
        written = os.write(self._file, data[: SEGMENT_BYTES - place])
        self._size_bytes += written
        return written

    def _must_not_keep(self) -> bool:
        if not self._is_withheld and os.access(WITHHELD, os.F_OK, dir_fd=self._folder):
            self._is_withheld = True
            self._close_file()
            discard(self._folder)
        return self._is_withheld

    def _close_file(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            os.close(file)


def discard(folder: int) -> None:
    """Delete whatever of an output is stored in an open folder."""
    for name in os.listdir(folder):
        if name.isdigit():
            _remove(folder, name)


def _remove(folder: int, name: str) -> None:
    try:
        os.unlink(name, dir_fd=folder)
    except FileNotFoundError:
        return  # the keeper and whoever withholds the output delete the same


def _begin(path: str, request: dict[str, Any]) -> tuple[int, int] | None:
    """Go on in a process of its own and record the shell.

    Returns:
        the open folder, and a file that gets the number of each signal; None: this process has nothing to do any more

    Raises:
        OSError: no folder to run in, or no room for the record
    """
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    if os.fork():
        return None
    os.setsid()
    try:
        os.chdir(request["root"])
    except OSError as error:
        raise OSError(error.errno, f"the workspace cannot be entered: {error.strerror}") from None
    wakeup = _listen()  # before anybody can find this process
    pid = os.getpid()
    told = {name: request[name] for name in ("id", "thread", "command", "deadline_seconds")}
    found = {"pid": pid, "started_at": started_at(pid), "boot_id": boot_id(), "started_at_ms": now_ms()}
    if not record(folder, INFO, told | found):
        return None
    _make_durable(path)
    _let_go()
    return folder, wakeup


def _make_durable(folder: str) -> None:
    """Bring the names of the shell's and its thread's folder to the disk."""
    for _ in range(2):
        folder = os.path.dirname(folder)  # noqa: PTH120 - pathlib would make up half of this program's start
        file = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
        os.fsync(file)
        os.close(file)


def _wake(*_: object) -> None:
    """Do nothing: a signal that is handled wakes whoever waits for it."""


def _listen() -> int:
    """Return a file that gets a number for each end of a child and each request to end."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, signal.SIGTERM):
        signal.signal(number, _wake)
    return reading


def _let_go() -> None:
    """Close what ties this process to the one that started it, which waits for that."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for file in (0, 1, 2):
        os.dup2(nothing, file)
    os.close(nothing)


def _kept(command: str, deadline_seconds: float, output: Output, wakeup: int) -> tuple[How, int]:
    """Run the command to its end; return what ended it, and its exit code."""
    leash, held_end = os.pipe()  # the kernel closes the held end when this process ends, however it ends
    reading, writing = os.pipe()
    try:
        pid = os.posix_spawn(
            "/bin/sh",
            ["/bin/sh", "-c", _LEASHED, "sh", command],
            os.environ,
            file_actions=[(os.POSIX_SPAWN_DUP2, leash, 0), *((os.POSIX_SPAWN_DUP2, writing, file) for file in (1, 2))],
            setpgroup=0,
            setsigdef=[signal.SIGPIPE, signal.SIGXFSZ],  # Python itself ignores them
        )
    except (OSError, ValueError) as error:
        output.add(f"the command cannot be run: {getattr(error, 'strerror', error)}\n".encode())
        return "exited", 127
    os.close(leash)
    os.close(writing)
    shell = _Running(pid, reading, output)
    how = shell.run_until(time.monotonic() + deadline_seconds, wakeup)
    exit_code = shell.end()
    os.close(held_end)
    return how, exit_code


class _Running:
    """A command that runs, and the pipe it writes to."""

    def __init__(self, pid: int, pipe: int, output: Output) -> None:
        self._pid = pid
        self._pipe = pipe
        self._output = output
        self._is_open = True
        """Whether anybody can write to the pipe still."""
        self._exit_code: int | None = None

    def run_until(self, deadline: float, wakeup: int) -> How:
        """Wait for the command's end, or ask it to end when its time is over or somebody asks, and wait a while for that."""
        how: How = "exited"
        while True:
            ready = self._take(deadline, wakeup)
            is_asked = wakeup in ready and signal.SIGTERM in os.read(wakeup, 512)
            is_over = time.monotonic() >= deadline
            self._reap(os.WNOHANG)
            if self._exit_code is not None and (how == "exited" or not self._is_open):
                return how  # asked to end, what the command started has the same time for it as the command itself
            if how != "exited":
                if is_over:
                    return how
            elif is_asked or is_over:
                how, seconds = ("stopped", STOP_SECONDS) if is_asked else ("deadline", _DEADLINE_SECONDS)
                deadline = time.monotonic() + seconds
                self._signal(signal.SIGTERM)

    def end(self) -> int:
        """Kill what is left of the group, read the rest of its output, and return the command's exit code."""
        self._signal(signal.SIGKILL)
        # What left the group may hold the pipe open: do not wait for it for ever.
        until = time.monotonic() + DRAIN_SECONDS
        while self._is_open and time.monotonic() < until:
            self._take(until)
        while self._exit_code is None:
            self._reap(0)
        return self._exit_code

    def _take(self, until: float, *others: int) -> list[int]:
        """Store what was written, as soon as there is something; return what is ready."""
        sources = [*others, *([self._pipe] if self._is_open else [])]
        ready = select.select(sources, [], [], max(until - time.monotonic(), 0))[0]
        if self._pipe in ready:
            data = os.read(self._pipe, _CHUNK_BYTES)
            self._is_open = bool(data)
            self._output.add(data)
        return ready

    def _reap(self, how: int) -> None:
        if self._exit_code is None:
            pid, status = os.waitpid(self._pid, how)
            self._exit_code = os.waitstatus_to_exitcode(status) if pid else None

    def _signal(self, number: int) -> None:
        try:
            os.killpg(self._pid, number)
        except ProcessLookupError:
            return
        except PermissionError:
            if sys.platform != "darwin":  # macOS says so for a group of zombies
                raise


def _read(path: str) -> str:
    with open(path, encoding="utf-8", errors="replace") as file:  # noqa: PTH123 - as above
        return file.read()


def _ask(*command: str) -> str:
    import subprocess  # noqa: PLC0415 - only where there is no /proc

    environment = {"LC_ALL": "C", "TZ": "UTC"}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment).stdout.strip()  # noqa: S603 - fixed programs, a number as argument


if __name__ == "__main__":
    main()
