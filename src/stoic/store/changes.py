"""Who listens for changes: writes of this process wake at once, writes of others are looked for while somebody waits."""

import asyncio
import threading
import weakref
from collections.abc import AsyncIterator, Callable
from typing import TypeVar

POLL_SECONDS = 0.25


Argument = TypeVar("Argument")


def call_in_loop(loop: asyncio.AbstractEventLoop, function: Callable[[Argument], None], argument: Argument) -> None:
    """Call a function in another thread's loop; in a loop that was closed nobody waits any more."""
    try:
        loop.call_soon_threadsafe(function, argument)
    except RuntimeError:
        if not loop.is_closed():
            raise


class ChangeFeed:
    """Wakes every listener after each commit; forgotten listeners cost nothing."""

    def __init__(self, data_version: Callable[[], int] | None = None) -> None:
        """Begin with no listener.

        Args:
            data_version: A number that changes when anybody wrote, quick to ask; None: nobody else can write.
        """
        self._data_version = data_version
        self._listeners: weakref.WeakSet[ChangeListener] = weakref.WeakSet()
        self._lock = threading.Lock()
        self._closed = False

    def listen(self) -> "ChangeListener":
        """Return a new listener for the running loop; what is written from now on reaches it."""
        listener = ChangeListener(asyncio.get_running_loop(), self._data_version)
        with self._lock:
            self._listeners.add(listener)
            if self._closed:
                listener.end()
        return listener

    def announce(self) -> None:
        """Wake all listeners; callable from any thread."""
        if self._listeners:
            self._call_all(ChangeListener.wake)

    def close(self) -> None:
        """End all listeners' iterations."""
        with self._lock:
            self._closed = True
        self._call_all(ChangeListener.end)

    def _call_all(self, method: "Callable[[ChangeListener], None]") -> None:
        with self._lock:
            listeners = list(self._listeners)
        for listener in listeners:
            call_in_loop(listener.loop, method, listener)


class ChangeListener(AsyncIterator[None]):
    """Yields after every change since it last yielded; several changes may be one."""

    def __init__(self, loop: asyncio.AbstractEventLoop, data_version: Callable[[], int] | None) -> None:
        self.loop = loop
        self._changed = asyncio.Event()
        self._ended = False
        self._data_version = data_version
        self._seen_version = data_version() if data_version else 0

    def wake(self) -> None:
        """Note a change."""
        self._changed.set()

    def end(self) -> None:
        """End the iteration."""
        self._ended = True
        self._changed.set()

    async def __anext__(self) -> None:
        while not self._ended:
            await self._wait()
            if self._changed.is_set() and not self._ended:
                self._changed.clear()
                return
        raise StopAsyncIteration

    async def _wait(self) -> None:
        if self._data_version is None:
            await self._changed.wait()
            return
        try:
            async with asyncio.timeout(POLL_SECONDS):
                await self._changed.wait()
        except TimeoutError:
            pass  # nobody woke us: look ourselves
        # Asked before the listener reads anything: what is written from here on has another version.
        version = self._data_version()
        if version != self._seen_version:
            self._seen_version = version
            self._changed.set()
