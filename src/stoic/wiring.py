"""The only file that chooses adapters: which store, which wire, which clock and ids stand behind a runtime."""

import asyncio
import contextlib
import time
from collections.abc import Callable
from urllib.parse import urlsplit

import uuid_utils

from stoic.errors import ConfigurationError
from stoic.ports import Clock, Connection, Ids, Outside, Provider, Store
from stoic.runtime.agents import Agent
from stoic.runtime.engine import Engine, Numbers
from stoic.runtime.threads import Thread
from stoic.settings import OPENAI_BASE_URL, Secret, Settings, read_settings
from stoic.store.owners import this_process
from stoic.store.sqlite import SqliteStore
from stoic.wire import chat
from stoic.wire.chat_decoding import ChatDecoder
from stoic.wire.transport import HttpProvider

PROVIDERS = ("openai-chat",)


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
        clock = clock or SystemClock()
        ids = ids or RandomIds()
        super().__init__(
            outside=Outside(store=store or SqliteStore(database or settings.database), clock=clock, ids=ids),
            owner=this_process(ids.new(), clock.now_ms()),
            connect=connect or Connector(settings, clock),
            numbers=Numbers(retry=settings.retry, deadline_ms=round(settings.deadline_seconds * 1000)),
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


class Connector:
    """Makes connections from model names, over one HTTP client."""

    def __init__(
        self, settings: Settings, clock: Clock, *, provider: Provider | None = None, simulated: bool = False
    ) -> None:
        """Remember how to connect.

        Args:
            settings: base URLs and keys
            clock: the clock of deadlines
            provider: another client than the HTTP one
            simulated: say of every connection that its provider is simulated
        """
        self._settings = settings
        self._provider = provider or HttpProvider(clock, {chat.API: ChatDecoder})
        self._simulated = simulated

    def __call__(self, model: str) -> Connection:
        """Return the connection of `PROVIDER:NAME`.

        Raises:
            ConfigurationError: no such provider, no name, no usable base URL, or a key is missing
        """
        provider, separator, name = model.partition(":")
        if not separator or not name or provider not in PROVIDERS:
            raise ConfigurationError(
                f"model {model!r}: write PROVIDER:NAME with one of the providers {', '.join(PROVIDERS)}, "
                f"such as openai-chat:{name or model}"
            )
        base_url, key = self._settings.openai_base_url, self._settings.openai_api_key
        check_base_url(base_url)
        if key is None and base_url.rstrip("/") == OPENAI_BASE_URL:
            raise ConfigurationError(
                f"model {model}: no key. Set OPENAI_API_KEY, or point OPENAI_BASE_URL (or --base-url) at another server"
            )
        return Connection(
            provider=provider,
            api=chat.API,
            model=name,
            url=chat.endpoint(base_url),
            headers=chat.auth_headers(_plain(key)),
            renderer=chat,
            send=self._provider,
            simulated=self._simulated,
        )


def check_base_url(base_url: str) -> None:
    """Check that a base URL can be used.

    Raises:
        ConfigurationError: it is not http or https, or has no host
    """
    try:
        parts = urlsplit(base_url)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise ConfigurationError(f"base URL {base_url!r} is none; write it like http://127.0.0.1:8000/v1")


def _plain(key: Secret | None) -> str | None:
    if key is None:
        return None
    value = key.reveal()
    if not value.isascii() or not value.isprintable():
        raise ConfigurationError("OPENAI_API_KEY holds characters that no key has; set it anew")
    return value
