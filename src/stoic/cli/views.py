"""Ways to show a turn while it runs: JSON lines, and plain lines beside the bare answer (`live` has the terminal)."""

from typing import IO, Protocol

from stoic.cli.cleaning import harmless, json_text, stripped
from stoic.cli.screen import Style
from stoic.cli.wording import ROLLED_BACK, Line, describe, ending, introduce, summary, told
from stoic.events import (
    CallAnnounced,
    Happening,
    NoticeRaised,
    OutcomeReached,
    RoundEnded,
    RoundRolledBack,
    RoundStarted,
    TextDelta,
)


class View(Protocol):
    """Shows the events of a turn in order."""

    def show(self, event: Happening) -> None:
        """Show one event."""
        ...

    def say(self, text: str) -> None:
        """Tell a person something that is no event; programs are not told."""
        ...


class JsonView:
    """One event a line, as it happens."""

    def __init__(self, stream: IO[bytes]) -> None:
        """Take the stream that gets the lines."""
        self._stream = stream

    def show(self, event: Happening) -> None:
        """Write the event as one line of JSON."""
        self._stream.write(f"{json_text(event)}\n".encode())
        self._stream.flush()

    def say(self, text: str) -> None:
        """Say nothing: the events have it."""


class PlainView:
    """Writes only the text of a completed turn's final reply as the answer; everything else is activity.

    So `stoic run … > file` leaves exactly the answer in the file, and an empty file when there is none.
    """

    def __init__(self, answer: IO[str], activity: IO[str], style: Style) -> None:
        """Take the two streams and the style of the second."""
        self._answer = answer
        self._activity = activity
        self._style = style
        self._introduced = False
        self._said_something = False

    def show(self, event: Happening) -> None:
        """Show one event; provisional text is never shown, so nothing has to be taken back."""
        match event:
            case RoundStarted():
                self._begin(event)
            case TextDelta() | CallAnnounced():
                self._said_something = True
            case RoundEnded() if event.calls and event.text.strip():
                for said in stripped(event.text).strip().splitlines():
                    self._line(Line(text=f"  {said}"))
            case NoticeRaised():
                for line in told(event):
                    self._line(line)
            case OutcomeReached():
                self._end(event)
            case _:
                pass
        self._line(describe(event))
        if isinstance(event, RoundRolledBack) and self._said_something:
            self._line(ROLLED_BACK)

    def _begin(self, event: RoundStarted) -> None:
        self._said_something = False
        if not self._introduced:
            self._introduced = True
            self._line(introduce(event))

    def _end(self, event: OutcomeReached) -> None:
        if event.outcome == "completed" and event.text:
            answer = harmless(event.text)
            self._answer.write(answer if answer.endswith("\n") else f"{answer}\n")
            self._answer.flush()
        self._line(ending(event))
        self._line(summary(event))

    def say(self, text: str) -> None:
        """Say it among the activity."""
        self._line(Line(text=text, style="dim"))

    def _line(self, line: Line | None) -> None:
        if line is not None:
            self._activity.write(self._style(line.text, line.style) + "\n")
            self._activity.flush()
