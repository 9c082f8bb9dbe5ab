"""The only file that chooses adapters: which store, which wire, which clock and ids stand behind a runtime."""

import asyncio
import contextlib
import time
from collections.abc import Callable
from pathlib import Path

import uuid_utils

from stoic.connecting import Connector
from stoic.errors import ConfigurationError
from stoic.ports import Clock, Connection, Ids, Outside, Store
from stoic.runtime.agents import Agent
from stoic.runtime.engine import Engine, Numbers
from stoic.runtime.threads import Thread
from stoic.settings import Settings, read_settings
from stoic.store.owners import this_process
from stoic.store.sqlite import SqliteStore
from stoic.tools.spilling import Spill


class SystemClock:
    """The machine's clock."""

    def now_ms(self) -> int:
        """Return the current time in epoch milliseconds."""
        return time.time_ns() // 1_000_000

    async def sleep_until(self, until_ms: int) -> None:
        """Return when `now_ms()` has reached `until_ms`, also when the clock was set meanwhile."""
        while (remaining_ms := until_ms - self.now_ms()) > 0:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(min(remaining_ms / 1000, 60.0)):
                    await asyncio.Event().wait()


class RandomIds:
    """UUIDv7: ordered by time, unique across machines."""

    def new(self) -> str:
        """Return a new id."""
        return str(uuid_utils.uuid7())


class Runtime(Engine):
    """The embedded runtime over one database; use it as an async context manager.

    `async with Runtime() as runtime: outcome = await runtime.thread("t1", agent).run("…")`
    """

    def __init__(
        self,
        database: str | None = None,
        *,
        settings: Settings | None = None,
        store: Store | None = None,
        clock: Clock | None = None,
        ids: Ids | None = None,
        connect: Callable[[str], Connection] | None = None,
    ) -> None:
        """Choose the adapters; nothing is opened yet.

        Args:
            database: path of the SQLite log; default `$STOIC_DB`, else `~/.local/share/stoic/stoic.db`
            settings: default: from the environment
            store: another log than the SQLite file
            clock: default the machine's
            ids: default UUIDv7
            connect: from `PROVIDER:NAME` to a connection; default by the settings
        """
        settings = settings or read_settings()
        check_database(database or settings.database)
        clock = clock or SystemClock()
        ids = ids or RandomIds()
        path = Path(database or settings.database)
        super().__init__(
            outside=Outside(store=store or SqliteStore(path), clock=clock, ids=ids),
            owner=this_process(ids.new(), clock.now_ms()),
            connect=connect or Connector(settings, clock),
            spill=Spill(path.absolute().parent / "spill") if store is None else None,
            numbers=Numbers(
                retry=settings.retry, health=settings.health, deadline_ms=round(settings.deadline_seconds * 1000)
            ),
        )

    def thread(self, thread: str, agent: Agent, *, session: str | None = None) -> Thread:
        """Return a handle on a thread, which is created when something is sent to it.

        Args:
            thread: its id, any text of 1 to 200 printable characters
            agent: what runs it
            session: names the sitting for which a person's "for this session" holds; default a new one

        Raises:
            UsageError: the id is empty, too long or not printable
        """
        return Thread(self, thread, agent, session=session or self.ids.new())


def check_database(database: str) -> None:
    """Check that a database is named as this version can use it.

    Raises:
        ConfigurationError: it is a URL; the text does not repeat it, since it may hold a password
    """
    scheme, separator, _ = database.partition("://")
    if separator:
        raise ConfigurationError(
            f"the database is named as a {scheme}:// URL; this version takes the path of a SQLite file"
        )
