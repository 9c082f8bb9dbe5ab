"""`stoic threads delete`: deletes one thread for good, after asking whoever sits at the terminal."""

import asyncio
from typing import IO

from stoic.cli import exits
from stoic.cli.cleaning import stripped
from stoic.cli.opening import opened_log, require_log, require_thread
from stoic.cli.states import ThreadState, read_state
from stoic.errors import StoreError, UsageError
from stoic.ports import HeldLeaseError
from stoic.settings import read_settings
from stoic.tools.shells import ShellError
from stoic.wiring import Runtime, SystemClock


def delete(thread: str, *, yes: bool, stdin: IO[str], stdout: IO[str]) -> int:
    """Delete a thread with its rows, its journal, its inbox and what was kept of its long results.

    Args:
        thread: its id
        yes: do not ask first
        stdin: where the answer comes from
        stdout: where to ask and say what was done

    Raises:
        UsageError: there is no such thread, a turn of it runs, or nobody is there to be asked
        StoreError: the log failed, or long results could not be deleted after the thread was
    """
    require_log(f"there is no thread {thread!r}")
    state = asyncio.run(_state(thread))
    if not yes and not _confirmed(state, stdin, stdout):
        stdout.write("nothing was deleted\n")
        return exits.STOPPED
    asyncio.run(_delete(thread))
    stdout.write(f"deleted {stripped(thread)}\n")
    return exits.COMPLETED


def _confirmed(state: ThreadState, stdin: IO[str], stdout: IO[str]) -> bool:
    if not (stdin.isatty() and stdout.isatty()):
        raise UsageError("nobody is here to be asked; --yes deletes without asking")
    stdout.write(f"{stripped(state.thread)} · {state.said()}\nDelete it for good? [y]es · [n]o: ")
    stdout.flush()
    return stdin.readline().strip().lower() in {"y", "yes"}


async def _state(thread: str) -> ThreadState:
    async with opened_log() as store:
        await require_thread(store, thread)
        return await read_state(store, SystemClock(), thread)


async def _delete(thread: str) -> None:
    async with opened_log() as store:
        try:
            await store.delete_thread(thread, SystemClock().now_ms())
        except HeldLeaseError as error:
            owner = error.owner
            raise UsageError(
                f"thread {thread!r} was not deleted: a turn of it runs (pid {owner.pid} on {owner.host}); stop it first"
            ) from None
    runtime = Runtime(settings=read_settings())
    try:
        if runtime.shells is not None:
            runtime.shells.forget(thread)
    except ShellError as error:
        raise StoreError(f"thread {thread!r} was deleted, but not its background shells: {error}") from None
    try:
        runtime.spill.forget(thread)
    except OSError as error:
        raise StoreError(
            f"thread {thread!r} was deleted, but not the files of its long results: {error.filename} "
            f"({error.strerror}); delete them yourself"
        ) from None
