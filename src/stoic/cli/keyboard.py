"""Reads lines that a person types, without blocking the event loop."""

import asyncio
import contextlib
import os
import termios
from collections.abc import Generator


class Keyboard:
    """A terminal's input side, read line by line as the terminal hands it over."""

    def __init__(self, descriptor: int) -> None:
        """Take the descriptor of a terminal in its usual line mode."""
        self._descriptor = descriptor
        self._quiet = False

    @contextlib.contextmanager
    def quiet(self) -> Generator[None]:
        """Show nothing of what is typed meanwhile, except while a line is read; it waits for whoever reads next."""
        self._quiet = True
        self._echo(on=False)
        try:
            yield
        finally:
            self._quiet = False
            self.restore()

    def restore(self) -> None:
        """Show again what is typed: for whoever has the terminal next."""
        self._echo(on=True)

    def forget(self) -> None:
        """Drop what was typed so far: a "y" typed before its question was an answer to nothing and must not become one."""
        termios.tcflush(self._descriptor, termios.TCIFLUSH)

    def line(self) -> "asyncio.Future[str | None]":
        """Return the next line, None at the end of input."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[str | None] = loop.create_future()

        def take() -> None:
            line = os.read(self._descriptor, 4096)
            if not answer.done():
                answer.set_result(line.decode(errors="replace") if line else None)

        def end(_: asyncio.Future[str | None]) -> None:
            loop.remove_reader(self._descriptor)
            if self._quiet:
                self._echo(on=False)

        loop.add_reader(self._descriptor, take)
        answer.add_done_callback(end)
        if self._quiet:
            self._echo(on=True)
        return answer

    def _echo(self, *, on: bool) -> None:
        # A terminal that is gone has no echo to set.
        with contextlib.suppress(termios.error):
            mode = termios.tcgetattr(self._descriptor)
            mode[3] = mode[3] | termios.ECHO if on else mode[3] & ~termios.ECHO
            termios.tcsetattr(self._descriptor, termios.TCSANOW, mode)
