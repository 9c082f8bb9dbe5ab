"""Reads lines that a person types, without blocking the event loop."""

import asyncio
import os
import termios


class Keyboard:
    """A terminal's input side, read line by line as the terminal hands it over."""

    def __init__(self, descriptor: int) -> None:
        """Take the descriptor of a terminal in its usual line mode."""
        self._descriptor = descriptor

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

        loop.add_reader(self._descriptor, take)
        answer.add_done_callback(lambda _: loop.remove_reader(self._descriptor))
        return answer
