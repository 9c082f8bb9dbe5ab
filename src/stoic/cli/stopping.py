"""What Ctrl-C, SIGTERM, SIGHUP and an output that is gone do to a turn."""

import asyncio
import os
import signal
from collections.abc import Callable

from stoic.cli import exits


def handle_signals(interrupt: Callable[[], None], leave: Callable[[int], None]) -> None:
    """Handle SIGINT, SIGTERM and SIGHUP from now on, instead of whoever did so before.

    Args:
        interrupt: called on Ctrl-C
        leave: called with the exit code that the process is to end with
    """
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGINT, interrupt)
    loop.add_signal_handler(signal.SIGTERM, leave, exits.TERMINATED)
    loop.add_signal_handler(signal.SIGHUP, leave, exits.HUNG_UP)


class Stopper:
    """Turns signals into a cancel of the turn, or into leaving at once with the log resumable.

    Belongs to one turn's task; `code` is the exit code once the process is to leave, `interrupted` says that Ctrl-C
    asked the turn to stop.
    """

    def __init__(
        self,
        cancel_turn: Callable[[], bool],
        say: Callable[[str], None],
        *,
        again: str = "leaves at once",
        last: Callable[[], None] | None = None,
    ) -> None:
        """Take charge of the current task.

        Args:
            cancel_turn: stops the turn that runs here and tells whether one does
            say: shows a person one line
            again: what a second Ctrl-C does, in a person's words
            last: called before the third Ctrl-C ends the process without cleaning up
        """
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("a Stopper needs a task to stop")
        self._task = task
        self._cancel_turn = cancel_turn
        self._say = say
        self._again = again
        self._last = last
        self._question: asyncio.Future[str | None] | None = None
        self.code: int | None = None
        self.interrupted = False

    def listen(self) -> None:
        """Handle SIGINT, SIGTERM and SIGHUP from now on."""
        handle_signals(self.interrupt, self.leave)

    def interrupt(self) -> None:
        """Stop the turn; the second time leave without writing anything, the third time without cleaning up."""
        if self.code is not None:
            if self._last is not None:
                self._last()
            os._exit(self.code)
        if self.interrupted:
            self.leave(exits.INTERRUPTED)
            return
        self.interrupted = True
        if self._question is not None and not self._question.done():
            self._question.set_result(None)
        elif self._cancel_turn():
            self._say(f"stopping (Ctrl-C again {self._again})")
        else:
            self.leave(exits.INTERRUPTED)

    def leave(self, code: int) -> None:
        """End the task as it stands; the turn stays open in the log."""
        if self.code is None:
            self.code = code
            self._task.cancel()

    async def unless_interrupted(self, question: "asyncio.Future[str | None]") -> str | None:
        """Wait for a person's answer; None: there is none, or Ctrl-C came instead."""
        self._question = question
        try:
            return await question
        finally:
            self._question = None
