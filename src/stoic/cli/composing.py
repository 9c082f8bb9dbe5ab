"""Where a person writes in `stoic chat`: a line editor with several lines, a history and completion of commands."""

import os
from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import WordCompleter
from prompt_toolkit.filters import Condition, is_searching
from prompt_toolkit.history import FileHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.shortcuts import CompleteStyle
from prompt_toolkit.utils import is_dumb_terminal

from stoic.errors import ConfigurationError

HISTORY_FILE = "chat_history"
"""Stands beside the database."""


class Composer:
    """Reads one message after the other; what was typed before the prompt is there is kept for it."""

    def __init__(self, history: Path, commands: list[str]) -> None:
        """Take the file of what was said before and the commands that Tab completes.

        Args:
            history: the file; created with mode 0600
            commands: such as `/help`

        Raises:
            ConfigurationError: the file cannot be used
        """
        self._history = _PrivateHistory(history)
        self._session: PromptSession[str] = PromptSession(
            "> ",
            multiline=True,
            prompt_continuation="  ",
            key_bindings=_keys(),
            history=self._history,
            completer=WordCompleter(commands, sentence=True),
            complete_while_typing=False,
            complete_style=CompleteStyle.READLINE_LIKE,
            reserve_space_for_menu=0,
            enable_suspend=True,
        )

    @property
    def trouble(self) -> str | None:
        """Why the last message could not be kept in the history, in one line; None: it could."""
        return self._history.trouble

    async def read(self) -> str | None:
        """Return what a person wrote, empty after Ctrl-C; None: Ctrl-D, or the terminal is gone."""
        try:
            # Signals stay with whoever listens: at the prompt Ctrl-C is a key.
            return await self._session.prompt_async(handle_sigint=False, set_exception_handler=False)
        except KeyboardInterrupt:
            return ""
        except EOFError:
            return None


def _keys() -> KeyBindings:
    """Enter sends, and is a new line after a backslash; where an editor plays a dumb terminal, it sends Ctrl-J for Enter."""
    keys = KeyBindings()
    dumb = is_dumb_terminal()

    @keys.add("c-j", filter=Condition(lambda: dumb))
    @keys.add("enter", filter=~is_searching)
    def send(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if buffer.document.text_before_cursor.endswith("\\"):
            buffer.delete_before_cursor()
            buffer.newline(copy_margin=False)
        else:
            buffer.validate_and_handle()

    @keys.add("escape", "enter")
    @keys.add("c-j", filter=Condition(lambda: not dumb))
    def begin_line(event: KeyPressEvent) -> None:
        event.current_buffer.newline(copy_margin=False)

    return keys


class _PrivateHistory(FileHistory):
    """A history in a file that only its owner can read; a full disk costs the history, never the message."""

    def __init__(self, path: Path) -> None:
        self.trouble: str | None = None
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_CREAT | os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            try:
                os.fchmod(descriptor, 0o600)
            finally:
                os.close(descriptor)
        except OSError as error:
            raise ConfigurationError(
                f"{path}: what you write cannot be kept there ({error.strerror}); make it a file of yours, or name "
                "another folder with $STOIC_DB"
            ) from None
        super().__init__(str(path))

    def store_string(self, string: str) -> None:
        """Append an entry to the file, or note why not."""
        try:
            super().store_string(string)
            self.trouble = None
        except OSError as error:
            self.trouble = f"{self.filename!s}: the message is not in the history ({error.strerror})"
