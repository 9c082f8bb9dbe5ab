"""Opens a runtime or just its log for a command, and finds threads in it."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from stoic.cli.names import near
from stoic.errors import ConfigurationError, StoreError, UsageError
from stoic.ports import Store
from stoic.settings import read_settings
from stoic.wiring import Runtime

_KNOWN = 1_000
"""Threads among which near names are looked for."""


@asynccontextmanager
async def opened(runtime: Runtime) -> AsyncGenerator[Runtime]:
    """Open a runtime and close it again.

    Raises:
        ConfigurationError: the database cannot be used as it is named
    """
    try:
        await runtime.__aenter__()
    except StoreError as error:
        raise ConfigurationError(str(error)) from error
    try:
        yield runtime
    finally:
        await runtime.__aexit__(None, None, None)


def log_exists() -> bool:
    """Tell whether there is anything where the environment's settings say the log is; looking must not create it."""
    return Path(read_settings().database).exists()


@asynccontextmanager
async def opened_log() -> AsyncGenerator[Store]:
    """Open the log of the environment's settings to look at it.

    Raises:
        ConfigurationError: it cannot be used as it is named
    """
    store = Runtime(settings=read_settings()).store
    try:
        await store.open()
    except StoreError as error:
        raise ConfigurationError(str(error)) from error
    try:
        yield store
    finally:
        await store.close()


async def newest_thread() -> str:
    """Return the conversation with the latest activity. Raises UsageError if there is none."""
    newest: tuple[int, str] | None = None
    if log_exists():
        async with opened_log() as store:
            for thread in await store.threads(limit=_KNOWN):
                if thread.kind != "chat" or thread.scope != "main":
                    continue
                # The last row alone: threads may be long.
                loaded = await store.load(thread.id, after_seq=thread.last_seq - 1)
                times = [thread.created_at, *(row.created_at for row in loaded.rows[-1:])]
                newest = max(newest or (0, ""), (max(times), thread.id))
    if newest is None:
        raise UsageError("--continue: there is no thread yet; leave it out to begin one")
    return newest[1]


async def require_thread(store: Store, thread: str) -> None:
    """Check that a thread exists. Raises UsageError naming near ones."""
    if any(each.id == thread for each in await store.threads(prefix=thread, limit=_KNOWN)):
        return
    close = near(thread, [each.id for each in await store.threads(limit=_KNOWN)])
    hint = f"did you mean {' or '.join(close)}?" if close else "`stoic threads` lists those there are"
    raise UsageError(f"there is no thread {thread!r}; {hint}")
