"""Time that moves only when nobody can run: an event loop and a clock for tests that must repeat exactly from a seed."""

import asyncio
import heapq
from collections.abc import Callable, Coroutine
from contextvars import Context
from typing import Any, TypeVar

T = TypeVar("T")

START_MS = 1_790_000_000_000
"""2026-09-21T14:13:20Z: when every virtual clock begins, in epoch milliseconds."""


class StalledError(Exception):
    """Every task waits for something that no task and no timer will bring."""


class VirtualTimeLoop(asyncio.BaseEventLoop):
    """An event loop whose time stands still while anything is ready, then jumps to the next timer.

    Waits of any length take no real time, and their order depends on nothing but the program. Threads and sockets are
    not waited for: code that uses them does not belong into this loop. Without a selector a step of it costs a fraction
    of what a step of asyncio's own loops does.
    """

    _ready: Any
    _scheduled: list[Any]

    def __init__(self) -> None:
        self._virtual_seconds = 0.0
        super().__init__()

    def time(self) -> float:
        """Return the virtual seconds since the loop began."""
        return self._virtual_seconds

    def call_soon(self, callback: Callable[..., object], *args: Any, context: Context | None = None) -> asyncio.Handle:
        """Run a callback in the next step."""
        handle = asyncio.Handle(callback, args, self, context)
        self._ready.append(handle)
        return handle

    def call_at(
        self, when: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """Run a callback at a time."""
        timer = asyncio.TimerHandle(when, callback, args, self, context)
        heapq.heappush(self._scheduled, timer)
        return timer

    def _run_once(self) -> None:
        """Run what is ready; before that let time jump to the next timer if nothing is."""
        ready, scheduled = self._ready, self._scheduled
        while scheduled and scheduled[0].cancelled():
            heapq.heappop(scheduled)
        if not ready:
            if not scheduled:
                raise StalledError("every task waits, and no timer runs")
            self._virtual_seconds = max(self._virtual_seconds, scheduled[0].when())
        now = self._virtual_seconds
        while scheduled and scheduled[0].when() <= now:
            ready.append(heapq.heappop(scheduled))
        for _ in range(len(ready)):
            handle = ready.popleft()
            if not handle.cancelled():
                handle._run()  # noqa: SLF001 -- what asyncio's own loop does with it

    def _timer_handle_cancelled(self, handle: Any) -> None:
        """Leave a cancelled timer where it is until its time comes up."""

    def _write_to_self(self) -> None:
        """Nobody has to be woken: the loop never waits."""

    def _process_events(self, event_list: Any) -> None:
        """There is nothing that could bring events from outside."""


class VirtualClock:
    """Implements `Clock` by the time of the running `VirtualTimeLoop`; it can be set, as people and NTP do to real ones."""

    def __init__(self, start_ms: int = START_MS) -> None:
        """Begin at a fixed time, in epoch milliseconds."""
        self._start_ms = start_ms
        self._sleepers: dict[asyncio.Future[None], None] = {}

    def now_ms(self) -> int:
        """Return the current time in epoch milliseconds."""
        return self._start_ms + round(asyncio.get_running_loop().time() * 1000)

    def set_forward(self, ms: int) -> None:
        """Set the clock forward, or back if negative; whoever sleeps on it looks again."""
        self._start_ms += ms
        for sleeper in list(self._sleepers):
            _wake(sleeper)

    async def sleep_until(self, until_ms: int) -> None:
        """Return when `now_ms()` has reached `until_ms`."""
        loop = asyncio.get_running_loop()
        while (remaining_ms := until_ms - self.now_ms()) > 0:
            woken: asyncio.Future[None] = loop.create_future()
            timer = loop.call_later(remaining_ms / 1000, _wake, woken)
            self._sleepers[woken] = None
            try:
                await woken
            finally:
                timer.cancel()
                del self._sleepers[woken]


def run_in_virtual_time(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end in a new `VirtualTimeLoop`.

    Raises:
        StalledError: nothing could ever happen again
    """
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        return runner.run(main)


def _wake(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
