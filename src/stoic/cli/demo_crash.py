"""Starts a process that works on the demonstration's thread, and kills it while its command waits at a pipe."""

import asyncio
import errno
import os
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec

from stoic.cli.demo_place import Place
from stoic.cli.demo_play import CONFIRMATION, LEDGER, ORDER
from stoic.events import Happening
from stoic.ports import Clock
from stoic.records import Record
from stoic.tools.shell import environment

_LONGEST_MS = 15_000
"""A command that has not come to its pipe by then will not come."""
_LOOK_AGAIN_MS = 20


class Crash(Record, frozen=True):
    """What became of the process and of what it had started."""

    pid: int
    signal: int | None
    """What ended it; None: it ended by itself."""
    in_the_middle: bool
    """Whether its command had written its line and had not returned."""
    left_nothing: bool
    """Whether the command, which outlives the process that started it, has ended too."""


async def crash(place: Place, base_url: str, clock: Clock, show: Callable[[Happening], None]) -> Crash:
    """Run the process up to the middle of its write and kill it there with SIGKILL.

    The command waits at a pipe that is opened here and closed again when the process is dead, so that the command ends
    as well; it would even if this process were killed.

    Args:
        place: where it works
        base_url: the simulated provider's
        clock: for looking again
        show: gets the events that it told
    """
    pipe = place.workspace / CONFIRMATION
    os.mkfifo(pipe, 0o600)
    try:
        process, in_the_middle = await _run(place, base_url, clock, show)
        left_nothing = await _abandoned(pipe, clock)
    finally:
        _remove(pipe)
    number = -(process.returncode or 0)
    return Crash(
        pid=process.pid, signal=number if number > 0 else None, in_the_middle=in_the_middle, left_nothing=left_nothing
    )


async def _run(
    place: Place, base_url: str, clock: Clock, show: Callable[[Happening], None]
) -> tuple[asyncio.subprocess.Process, bool]:
    """Return the process when it is dead, and whether its command was in the middle of its write then."""
    command = ("-P", "-m", "stoic.cli.demo_victim", str(place.database), str(place.workspace), base_url)
    # A session of its own: Ctrl-C at the terminal is for the demonstration alone.
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        env=environment(),  # its provider is simulated: it needs no key
        start_new_session=True,
    )
    following = asyncio.ensure_future(_follow(process, show))
    held: int | None = None
    try:
        held = await _middle(process, place.workspace / CONFIRMATION, clock)
        in_the_middle = held is not None and (place.workspace / LEDGER).read_text(encoding="utf-8") == ORDER
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
        if held is not None:
            os.close(held)
    await following
    return process, in_the_middle


async def _follow(process: asyncio.subprocess.Process, show: Callable[[Happening], None]) -> None:
    """Show the events of the process until its output ends; a line that the kill cut is none."""
    if process.stdout is None:
        raise RuntimeError("the process was started without a pipe for its output")
    async for line in process.stdout:
        if line.endswith(b"\n"):
            show(msgspec.json.decode(line, type=Happening))


async def _middle(process: asyncio.subprocess.Process, pipe: Path, clock: Clock) -> int | None:
    """Return the pipe's writing end as soon as the command reads from it; None: it never came there."""
    until_ms = clock.now_ms() + _LONGEST_MS
    while process.returncode is None and clock.now_ms() < until_ms:
        held = _opened_for_reader(pipe)
        if held is not None:
            return held
        await clock.sleep_until(clock.now_ms() + _LOOK_AGAIN_MS)
    return None


async def _abandoned(pipe: Path, clock: Clock) -> bool:
    """Tell whether nobody reads from the pipe any more; each look gives a reader the end of its file."""
    until_ms = clock.now_ms() + _LONGEST_MS
    while clock.now_ms() < until_ms:
        held = _opened_for_reader(pipe)
        if held is None:
            return True
        os.close(held)
        await clock.sleep_until(clock.now_ms() + _LOOK_AGAIN_MS)
    return False


def _remove(pipe: Path) -> None:
    """Remove the pipe so that nobody can come to wait at it: who has opened it meanwhile gets the end of its file."""
    reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    writing = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
    pipe.unlink()
    os.close(writing)
    os.close(reading)


def _opened_for_reader(pipe: Path) -> int | None:
    """Open the pipe's writing end without waiting; None: nobody reads from it (ENXIO, fifo(7))."""
    try:
        return os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
    except OSError as error:
        if error.errno != errno.ENXIO:
            raise
        return None
