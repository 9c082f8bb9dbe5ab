"""Opens a runtime or just its log for a command, and finds threads in it."""

import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from stoic.cli.cleaning import one_line
from stoic.cli.names import near
from stoic.core.failures import Axis
from stoic.core.health import OPEN_AT_ONCE, retry_now
from stoic.errors import ConfigurationError, NoSuchThreadError, StoreError, UsageError
from stoic.ports import Store, load_readable
from stoic.settings import Settings, read_settings
from stoic.wiring import Runtime, check_database

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


def absent_log(settings: Settings | None = None) -> str | None:
    """Say that there is no log where the settings say it is; None: there is something. Looking must not create it.

    Args:
        settings: default: the environment's

    Raises:
        ConfigurationError: the database cannot be used as it is named
    """
    settings = settings or read_settings()
    check_database(settings.database)
    path = Path(settings.database)
    source = settings.sources.get("database")
    try:
        found = path.exists()
    except OSError as error:
        raise ConfigurationError(
            f"{path}: it cannot be looked at ({error.strerror}); name another database with $STOIC_DB"
        ) from None
    return None if found else f"there is no log at {path}{f' (named by {source})' if source else ''}"


def require_log(what: str) -> None:
    """Check that there is a log. Raises UsageError that says so of what was looked for, such as `there is no thread 't'`."""
    absent = absent_log()
    if absent is not None:
        raise UsageError(f"{what}: {absent}")


def log_to_list() -> bool:
    """Tell whether there is a log to list something of; else a person is told that there is none, and where."""
    absent = absent_log()
    if absent is not None:
        print(f"stoic: {one_line(absent)}; `stoic run` begins one", file=sys.stderr)
    return absent is None


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


async def reopen_chosen(runtime: Runtime, model: str) -> None:
    """Let the next request to a model through that is shut until somebody changes something: a person names it (SPEC §7).

    One that waits by the clock stays shut: a command that is repeated must not hammer it.
    """
    route = runtime.connection(model).key
    for health in await runtime.store.health():
        by_event = health.waits_for in {Axis.CREDENTIAL, Axis.CONFIG} or health.failure_class in OPEN_AT_ONCE
        if health.route == route and health.state == "open" and by_event:
            await runtime.store.put_health(retry_now(health))


async def newest_thread() -> str:
    """Return the conversation with the latest activity. Raises UsageError if there is none."""
    newest: tuple[int, str] | None = None
    absent = absent_log()
    if absent is not None:
        raise UsageError(f"--continue: {absent}; leave it out to begin one")
    async with opened_log() as store:
        for thread in await store.threads(limit=_KNOWN):
            if thread.kind != "chat" or thread.scope != "main":
                continue
            # The last row alone: threads may be long.
            loaded = await load_readable(store, thread.id, after_seq=thread.last_seq - 1)
            times = [thread.created_at, *(row.created_at for row in loaded.rows[-1:])]
            newest = max(newest or (0, ""), (max(times), thread.id))
    if newest is None:
        raise UsageError("--continue: there is no thread yet; leave it out to begin one")
    return newest[1]


async def require_thread(store: Store, thread: str) -> None:
    """Check that a thread exists. Raises UsageError naming near ones."""
    with suppress(NoSuchThreadError):
        await store.holder(thread, 0)
        return
    close = near(thread, [each.id for each in await store.threads(limit=_KNOWN)])
    hint = f"did you mean {' or '.join(close)}?" if close else "`stoic threads` lists those there are"
    raise UsageError(f"there is no thread {thread!r}; {hint}")
