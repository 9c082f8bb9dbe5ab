"""`stoic scripted FILE`: runs the scripted provider in the foreground until it is interrupted."""

import asyncio
import contextlib
import os
import signal
from pathlib import Path
from typing import IO

from stoic.cli.cleaning import one_line
from stoic.errors import UsageError
from stoic.testing.provider import ScriptedProvider
from stoic.testing.scripts import load_script

_EXIT_USAGE = 2


def scripted(file: Path, *, port: int, record: Path | None, stdout: IO[str], stderr: IO[str]) -> int:
    """Play a script file over HTTP until SIGINT or SIGTERM.

    The first line on stdout is the base URL; the second says that the provider is simulated.

    Args:
        file: The script (its language: `stoic.testing.scripts`).
        port: The port on 127.0.0.1; 0 lets the system choose.
        record: Where each request is appended as a line of JSON; None: nowhere.
        stdout: For the base URL.
        stderr: For what went wrong.

    Returns:
        The exit code: 0 after an interrupt, 2 when the script, the port or the record file cannot be used.
    """
    try:
        script = load_script(file)
        with contextlib.ExitStack() as stack:
            records = stack.enter_context(record.open("a", encoding="utf-8")) if record else None
            asyncio.run(_play(ScriptedProvider(script, port=port, record=records), stdout))
    except UsageError as error:
        print(f"stoic scripted: {one_line(str(error))}", file=stderr)
        return _EXIT_USAGE
    except OSError as error:
        what = f"cannot write {record}" if record and error.filename else f"cannot listen on 127.0.0.1:{port}"
        reason = os.strerror(error.errno) if error.errno else str(error)
        print(f"stoic scripted: {one_line(what)}: {reason}; choose another", file=stderr)
        return _EXIT_USAGE
    return 0


async def _play(provider: ScriptedProvider, stdout: IO[str]) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with provider:
        print(provider.base_url, file=stdout)
        print("This provider is simulated: it plays a script and asks no model.", file=stdout, flush=True)
        await stop.wait()
