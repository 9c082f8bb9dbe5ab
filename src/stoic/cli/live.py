"""A turn on a terminal while it runs: text streams, and what is rolled back vanishes."""

from typing import IO

from stoic.cli.cleaning import one_line, shown, stripped
from stoic.cli.screen import Screen, Style
from stoic.cli.sequences import SequenceFilter
from stoic.cli.wording import ROLLED_BACK, Line, describe, ending, introduce, summary, told
from stoic.events import (
    AttemptFailed,
    CallAnnounced,
    Happening,
    NoticeRaised,
    OutcomeReached,
    PermissionAsked,
    RoundEnded,
    RoundRolledBack,
    RoundStarted,
    TextDelta,
    ThinkingDelta,
    TurnStarted,
)

VOID = "✗ VOID: the text above, from this round's beginning, does not hold"
"""Said where a rolled back text can no longer be erased."""


class LiveView:
    """Streams on a terminal; a round that is rolled back vanishes, or is marked void where it can no longer vanish."""

    def __init__(self, screen: Screen, status: IO[str], status_style: Style, *, asks: bool = False) -> None:
        """Take the screen.

        Args:
            screen: where everything but the closing lines goes
            status: gets the closing lines (stderr)
            status_style: the style of that stream
            asks: whether a parked turn's questions are asked right there, so that parking ends nothing
        """
        self.screen = screen
        self._status = status
        self._status_style = status_style
        self._asks = asks
        self._parked = False
        self._introduced: str | None = None
        """The model that was named last."""
        self._failed: Line | None = None
        """Why the attempt failed: said when its text is gone."""
        self._announced = False
        self._thinking = False
        self._filter = SequenceFilter()

    def show(self, event: Happening) -> None:
        """Show one event."""
        match event:
            case TextDelta() | ThinkingDelta() | CallAnnounced():
                self._provisional(event)
            case RoundStarted():
                self._begin(event)
            case AttemptFailed():
                self._failed = describe(event)
            case RoundRolledBack():
                self._roll_back()
            case RoundEnded():
                self._settle(event)
            case NoticeRaised():
                self._close(told(event))
            case OutcomeReached():
                self._end(event)
            case TurnStarted() if self._parked:
                self._parked = False
            case PermissionAsked() if self._asks:
                pass
            case _:
                self._say(describe(event))

    def say(self, text: str) -> None:
        """Say it on lines of its own; it vanishes with the round it interrupted."""
        self.screen.paragraph(text, "dim")

    def _begin(self, event: RoundStarted) -> None:
        introduction = introduce(event)
        if introduction.text != self._introduced:
            self._introduced = introduction.text
            self._say(introduction)
        self._announced = self._thinking = False
        self._filter = SequenceFilter()
        self.screen.mark()

    def _provisional(self, event: TextDelta | ThinkingDelta | CallAnnounced) -> None:
        match event:
            case TextDelta():
                self._text(event.text)
            case ThinkingDelta():
                self._think()
            case CallAnnounced():
                self._announced = True
                self.screen.line(f"  … writing a call of {one_line(event.tool)}", "dim")

    def _text(self, text: str) -> None:
        if self._thinking:
            self._thinking = False
            self.screen.erase()
        self.screen.text(shown(self._filter.feed(text)))

    def _think(self) -> None:
        """Say that the model thinks; what it thinks is not shown."""
        if not self._thinking and self.screen.is_at_mark():
            self._thinking = True
            self.screen.line("  … thinking", "dim")

    def _roll_back(self) -> None:
        said_something = not self.screen.is_at_mark()
        if said_something and not self.screen.erase():
            self._say(Line(text=VOID, style="red"))
        if self._failed is not None:  # whole: where it went wrong may stand at its end
            self.screen.paragraph(self._failed.text, self._failed.style)
        self._say(ROLLED_BACK if said_something else None)
        self._failed = None
        self._announced = self._thinking = False

    def _settle(self, event: RoundEnded) -> None:
        """Leave exactly the accepted text of the round: what only announced something goes."""
        if (self._announced or self._thinking) and self.screen.erase():
            self.screen.text(stripped(event.text))
        else:
            self.screen.text(shown(self._filter.finish()))
        self.screen.end_line()
        self._say(describe(event))

    def _end(self, event: OutcomeReached) -> None:
        self._parked = event.outcome == "parked" and self._asks
        if self._parked:
            return
        self._close([line for line in (ending(event), summary(event)) if line is not None])

    def _close(self, lines: list[Line]) -> None:
        """Write closing lines, which nothing takes back."""
        self.screen.end_line()
        for line in lines:
            text = "\n".join(self.screen.fold(line.text)) if self._status.isatty() else line.text
            self._status.write(self._status_style(text, line.style) + "\n")
        self._status.flush()

    def _say(self, line: Line | None) -> None:
        if line is not None:
            self.screen.line(line.text, line.style)
