"""Built-in `shell`: a command in the workspace, in a process group of its own that never outlives us, with cap and deadline."""

import asyncio
import os
import signal
import sys

from stoic.credentials import Credentials
from stoic.tools.context import ToolContext
from stoic.tools.declaration import Tool
from stoic.tools.workspace import Workspace

LIMIT_BYTES = 1024 * 1024
"""What is kept of an output: more than a model gets at once; the rest of that is spilled."""
_HALF = LIMIT_BYTES // 2
_LONGEST_SECONDS = 3_600
_DRAIN_SECONDS = 2
_LEASHED = """\
exec 3<&0 </dev/null
( ( read -r nothing; kill -9 0 ) <&3 >/dev/null 2>&1 & )
exec 3<&-
exec /bin/sh -c "$1"
"""
"""Runs a command beside a watcher. It reads a pipe that nobody writes to and that ends with this process; then it kills the
whole group. It is nobody's child, so that a command which waits for all its children does not wait for it."""


class DeadlineError(TimeoutError):
    """The command did not end in time; what it did until then is done."""


def shell_tool(workspace: Workspace) -> Tool:
    """Return the `shell` tool of one workspace."""

    async def shell(command: str, context: ToolContext, timeout_seconds: int = 120) -> str:
        """Run a shell command in the workspace and return its output (stdout and stderr together) and exit code.

        Processes left in the background are ended when the command ends.

        Args:
            command: a command line for sh
            context: given by the runtime
            timeout_seconds: after this the command and all it started are killed; at most 3600
        """
        if not 1 <= timeout_seconds <= _LONGEST_SECONDS:
            raise ValueError(f"timeout_seconds must be from 1 to {_LONGEST_SECONDS}")
        return await run_command(command, str(workspace.root), timeout_seconds, context.credentials)

    return Tool(shell, effect="exec")


async def run_command(command: str, folder: str, timeout_seconds: float, credentials: Credentials | None = None) -> str:
    """Run a command to its end and return its capped output with the exit code.

    Args:
        command: a command line for sh
        folder: where it runs
        timeout_seconds: after this the whole process group is killed
        credentials: what it must not find in its environment; None: nothing but what looks like one

    Raises:
        DeadlineError: it did not end in time; the whole process group was killed
    """
    leash, held_end = os.pipe()  # closed by the kernel when this process ends, however it ends
    # A pipe of our own: with asyncio's, some Pythons tell the end of the command only when the last child in the
    # background has closed the pipe (before 3.13, https://github.com/python/cpython/issues/119710).
    reading_end, writing_end = os.pipe()
    output = _Capped()
    try:
        process = await asyncio.create_subprocess_exec(
            "/bin/sh",
            "-c",
            _LEASHED,
            "sh",
            command,
            cwd=folder,
            env=environment(credentials),
            stdin=leash,
            stdout=writing_end,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
        )
    except BaseException:
        os.close(reading_end)
        os.close(held_end)
        raise
    finally:
        os.close(writing_end)
        os.close(leash)
    reading = asyncio.ensure_future(output.read(reading_end))
    try:
        async with asyncio.timeout(timeout_seconds):
            await process.wait()
    except TimeoutError:
        raise DeadlineError(
            f"the command did not end within {timeout_seconds:g} s and was killed. Output until then:\n{output.text()}"
        ) from None
    finally:
        os.close(held_end)
        _kill_group(process.pid)
        # A process that left the group may still hold the pipe open: do not wait for it for ever.
        await asyncio.wait([reading], timeout=_DRAIN_SECONDS)
        reading.cancel()
        await asyncio.shield(process.wait())
    return f"[exit code {process.returncode}]\n{output.text()}".rstrip("\n")


def environment(credentials: Credentials | None = None) -> dict[str, str]:
    """Return the environment of child processes: the own one without credentials, and without what looks like one."""
    return (credentials or Credentials()).stripped(os.environ)


class _Capped:
    """Keeps the first and the last part of an output, whatever its size."""

    def __init__(self) -> None:
        self._head = bytearray()
        self._tail = bytearray()
        self._dropped = 0

    async def read(self, file: int) -> None:
        """Read a pipe to its end, then close it."""
        stream = asyncio.StreamReader()
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(stream), os.fdopen(file, "rb", buffering=0)
        )
        try:
            await self._take(stream)
        finally:
            transport.close()

    async def _take(self, stream: asyncio.StreamReader) -> None:
        while chunk := await stream.read(65_536):
            room = _HALF - len(self._head)
            self._head += chunk[:room] if room > 0 else b""
            self._tail += chunk[max(room, 0) :]
            if len(self._tail) > 2 * _HALF:
                self._trim()

    def _trim(self) -> None:
        surplus = max(len(self._tail) - _HALF, 0)
        del self._tail[:surplus]
        self._dropped += surplus

    def text(self) -> str:
        self._trim()
        head, tail = (bytes(part).decode("utf-8", "replace") for part in (self._head, self._tail))
        return f"{head}\n[… {self._dropped} bytes left out …]\n{tail}" if self._dropped else head + tail


def _kill_group(pid: int) -> None:
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    except PermissionError:
        if sys.platform != "darwin":  # macOS says so for a group of zombies
            raise
