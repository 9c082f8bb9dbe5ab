"""Tells the notices of one thread to whoever follows it on a terminal, or reads its events."""

from collections.abc import Callable

from stoic.records import Notice


class TerminalChannel:
    """Implements `Channel` for one thread; what is shown is delivered."""

    name = "terminal"

    def __init__(self, thread: str, show: Callable[[Notice], None]) -> None:
        """Take what shows a notice.

        Args:
            thread: its id; notices of others are none of this terminal's
            show: shows one notice at once
        """
        self._thread = thread
        self._show = show

    def takes(self, notice: Notice) -> bool:
        """Tell whether the notice is of the thread."""
        return notice.thread == self._thread

    async def deliver(self, notice: Notice) -> str | None:
        """Show the notice."""
        self._show(notice)
        return None

    async def close(self) -> None:
        """Do nothing: the terminal is not ours."""
