"""Tells the notices of a thread at the end of a turn: after everything that happened, before how it ended."""

from stoic.channels.terminal import TerminalChannel
from stoic.events import Happening, NoticeRaised, OutcomeReached
from stoic.records import Notice
from stoic.runtime.streams import Emit
from stoic.wiring import Runtime


class HeldEnding:
    """Passes events on, and keeps how a turn ended until the next event or `release`: it is the last one to be told."""

    def __init__(self, emit: Emit) -> None:
        """Take what gets the events."""
        self._emit = emit
        self._ending: OutcomeReached | None = None

    def __call__(self, event: Happening) -> None:
        """Pass an event on, or keep it if it is an ending."""
        self.release()
        if isinstance(event, OutcomeReached):
            self._ending = event
        else:
            self._emit(event)

    def release(self) -> None:
        """Pass on what is kept."""
        ending, self._ending = self._ending, None
        if ending is not None:
            self._emit(ending)

    async def tell_notices(self, runtime: Runtime, thread: str) -> None:
        """Deliver what is due, this thread's notices here too, while the ending is kept."""
        await runtime.outbox.deliver_due(TerminalChannel(thread, self._tell))

    def _tell(self, notice: Notice) -> None:
        self._emit(
            NoticeRaised(
                key=notice.key,
                thread=notice.thread,
                kind=notice.kind,
                priority=notice.priority,
                text=notice.text,
                actions=notice.actions,
            )
        )
