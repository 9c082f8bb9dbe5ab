"""A turn's events on their way to a subscriber: any number wait in order, the subscriber wakes once per batch."""

import asyncio
from collections import deque
from collections.abc import Callable

from stoic.events import Happening

Emit = Callable[[Happening], None]
"""Takes each event of a turn as it happens; must not block."""


class EventStream:
    """One producer, one consumer; ends after `close`."""

    def __init__(self) -> None:
        self._events: deque[Happening] = deque()
        self._wake = asyncio.Event()
        self._closed = False

    def put(self, event: Happening) -> None:
        """Add an event; never blocks."""
        self._events.append(event)
        self._wake.set()

    def close(self) -> None:
        """End the stream after what is already in it."""
        self._closed = True
        self._wake.set()

    def __aiter__(self) -> "EventStream":
        return self

    async def __anext__(self) -> Happening:
        while not self._events:
            if self._closed:
                raise StopAsyncIteration
            self._wake.clear()
            await self._wake.wait()
        return self._events.popleft()
