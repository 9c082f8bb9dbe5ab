"""A clock and an id source that tests hold in their hands."""

import asyncio

_START_MS = 1_790_000_000_000


class FakeClock:
    """Implements `Clock`; time stands still until it is advanced."""

    def __init__(self, start_ms: int = _START_MS, *, auto: bool = False) -> None:
        """Begin at a fixed time.

        Args:
            start_ms: Epoch milliseconds; by default 2026-09-21T14:13:20Z.
            auto: Whether a sleep moves the clock to its end at once; otherwise it waits for `advance`.
        """
        self.sleeps: list[float] = []
        """Every sleep asked for, in seconds, in order."""
        self._now_ms = start_ms
        self._auto = auto
        self._sleepers: list[tuple[int, asyncio.Future[None]]] = []

    def now_ms(self) -> int:
        """Return the current time in epoch milliseconds."""
        return self._now_ms

    async def sleep_until(self, until_ms: int) -> None:
        """Return when `now_ms()` has reached `until_ms`."""
        if until_ms <= self._now_ms:
            return
        self.sleeps.append((until_ms - self._now_ms) / 1000)
        if self._auto:
            self.advance((until_ms - self._now_ms) / 1000)
            return
        sleeper: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        entry = (until_ms, sleeper)
        self._sleepers.append(entry)
        try:
            await sleeper
        finally:
            if entry in self._sleepers:
                self._sleepers.remove(entry)

    @property
    def sleeping(self) -> int:
        """How many sleepers wait now."""
        return len(self._sleepers)

    def advance(self, seconds: float) -> None:
        """Move time on and wake whoever is due, the earliest first; call it from the sleepers' own event loop.

        Args:
            seconds: How far; rounded to milliseconds.
        """
        self._now_ms += round(seconds * 1000)
        for until_ms, sleeper in sorted(self._sleepers, key=lambda entry: entry[0]):
            if until_ms <= self._now_ms and not sleeper.done():
                sleeper.set_result(None)


class CountingIds:
    """Implements `Ids`: time-sortable ids in UUIDv7's shape that count up from 1."""

    def __init__(self, start_ms: int = _START_MS) -> None:
        """Begin to count.

        Args:
            start_ms: The time that all ids carry, in epoch milliseconds.
        """
        self._start_ms = start_ms
        self._count = 0

    def new(self) -> str:
        """Return the next id."""
        self._count += 1
        time, count = f"{self._start_ms:012x}", f"{self._count:018x}"
        return f"{time[:8]}-{time[8:]}-7{count[:3]}-8{count[3:6]}-{count[6:]}"
