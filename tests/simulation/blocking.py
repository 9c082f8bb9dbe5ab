"""The SQLite store inside a simulation: the simulated world stands still while the real file is read or written."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, cast

from stoic.core import shapes
from stoic.ports import Store
from stoic.store.owners import IsAlive
from stoic.store.sqlite import SqliteStore


class _Blocking:
    """Does in another thread's loop what it is asked, and waits for it on the spot."""

    def __init__(self, path: Path, is_alive: IsAlive) -> None:
        self._store = SqliteStore(path, is_alive=is_alive, shapes=shapes)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def __getattr__(self, name: str) -> Callable[..., Coroutine[Any, Any, Any]]:
        method = getattr(self._store, name)

        async def blocking(*arguments: Any, **options: Any) -> Any:
            return self._do(method(*arguments, **options))

        return blocking

    def _do(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def open(self) -> None:
        if not self._thread.is_alive():
            self._thread.start()
        self._do(self._store.open())

    async def close(self) -> None:
        self._do(self._store.close())
        self._do(self._loop.shutdown_default_executor())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


def blocking_sqlite(path: Path) -> Callable[[IsAlive], Store]:
    """Return what makes a store over a real file."""
    return lambda is_alive: cast("Store", _Blocking(path, is_alive))
