"""Time that moves only when nobody can run: an event loop and a clock for tests that must repeat exactly from a seed."""

import asyncio
import selectors
from collections.abc import Coroutine, Sequence
from typing import Any, TypeVar

T = TypeVar("T")

_START_MS = 1_790_000_000_000


class StalledError(Exception):
    """Every task waits for something that no task and no timer will bring."""


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """An event loop whose time stands still while anything is ready, then jumps to the next timer.

    Waits of any length take no real time, and their order depends on nothing but the program. Threads and sockets are
    not waited for: code that uses them does not belong into this loop.
    """

    def __init__(self) -> None:
        self._virtual_seconds = 0.0
        super().__init__(_JumpingSelector(self))

    def time(self) -> float:
        """Return the virtual seconds since the loop began."""
        return self._virtual_seconds

    def jump(self, seconds: float) -> None:
        """Let so many seconds pass at once."""
        self._virtual_seconds += seconds


class VirtualClock:
    """Implements `Clock` by the time of the running `VirtualTimeLoop`."""

    def __init__(self, start_ms: int = _START_MS) -> None:
        """Begin at a fixed time, in epoch milliseconds; by default 2026-09-21T14:13:20Z."""
        self._start_ms = start_ms

    def now_ms(self) -> int:
        """Return the current time in epoch milliseconds."""
        return self._start_ms + round(asyncio.get_running_loop().time() * 1000)

    async def sleep_until(self, until_ms: int) -> None:
        """Return when `now_ms()` has reached `until_ms`."""
        loop = asyncio.get_running_loop()
        while (remaining_ms := until_ms - self.now_ms()) > 0:
            woken: asyncio.Future[None] = loop.create_future()
            timer = loop.call_later(remaining_ms / 1000, _wake, woken)
            try:
                await woken
            finally:
                timer.cancel()


def run_in_virtual_time(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end in a new `VirtualTimeLoop`.

    Raises:
        StalledError: nothing could ever happen again
    """
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        return runner.run(main)


class Dice:
    """Numbers that depend on a seed and on nothing else, the same on every Python (SplitMix64).

    Source of the constants: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014.
    """

    def __init__(self, seed: int) -> None:
        """Begin the sequence of this seed."""
        self._state = seed & _MASK

    def below(self, bound: int) -> int:
        """Return the next number from 0 to `bound` - 1."""
        self._state = (self._state + 0x9E3779B97F4A7C15) & _MASK
        mixed = self._state
        mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & _MASK
        return (mixed ^ (mixed >> 31)) % bound

    def chance(self, percent: int) -> bool:
        """Return true in so many of a hundred cases."""
        return self.below(100) < percent

    def pick(self, choices: Sequence[T]) -> T:
        """Return one of the choices."""
        return choices[self.below(len(choices))]


_MASK = (1 << 64) - 1


class _JumpingSelector(selectors.SelectSelector):
    """Never waits: instead of the wait, the loop's time jumps."""

    def __init__(self, loop: VirtualTimeLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if not ready and timeout is None:
            raise StalledError("every task waits, and no timer runs")
        if not ready and timeout:
            self._loop.jump(timeout)
        return ready


def _wake(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
