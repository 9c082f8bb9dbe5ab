"""Invariant 12: subscribers can rebuild exactly the accepted text from the event stream; nothing is shown twice."""

from collections import Counter

from stoic.events import (
    Happening,
    OutcomeReached,
    RoundEnded,
    RoundRolledBack,
    RoundStarted,
    TextDelta,
    TurnStarted,
)
from stoic.testing.simulation.invariants.watching import Watching
from stoic.testing.simulation.setting import hold


class Shown(Watching):
    """12: what each subscriber rebuilds is accepted text, nothing twice; who follows to the end has all of the turn."""

    def ended(self) -> None:
        """Rebuild what everybody saw."""
        shown: Counter[tuple[str, int, int]] = Counter()
        for followed in self.ledger.followed:
            accepted = {
                (row.turn, row.round): "".join(part["text"] for part in row.content["parts"] if part["type"] == "text")
                for row in self.ledger.rows.get(followed.thread, [])
                if row.kind == "reply"
            }
            for seen in _rebuilt(followed.events):
                place = f"{followed.thread} turn {seen.turn}"
                for number, text in seen.rounds.items():
                    shown[followed.thread, seen.turn, number] += 1
                    stored = accepted.get((seen.turn, number))
                    hold(
                        stored == text,
                        12,
                        lambda p=place, n=number, t=text, s=stored: f"{p} round {n}: {t!r}, not {s!r}",
                    )
                if seen.from_beginning and seen.ended:
                    whole = [number for turn, number in accepted if turn == seen.turn]
                    numbers = list(seen.rounds)
                    hold(numbers == whole, 12, lambda p=place, n=numbers, w=whole: f"{p} showed rounds {n} of {w}")
        twice = [place for place, times in shown.items() if times > 1]
        hold(not twice, 12, lambda: f"shown twice: {twice}")


class _Seen:
    """One turn as a subscriber sees it."""

    def __init__(self, started: TurnStarted) -> None:
        self.turn = started.turn
        self.from_beginning = not started.resumed
        self.rounds: dict[int, str] = {}
        self.provisional: list[str] = []
        self.ended = False

    def take(self, event: Happening) -> None:
        """Take in the next event, as a terminal would."""
        place = f"turn {self.turn}"
        match event:
            case RoundStarted() | OutcomeReached():
                hold(not self.provisional, 12, lambda: f"{place}: {self.provisional} was neither ended nor rolled back")
            case TextDelta(round=number, text=text):
                hold(number not in self.rounds, 12, lambda: f"{place}: round {number} is shown again after its end")
                self.provisional.append(text)
            case RoundRolledBack():
                self.provisional = []
            case RoundEnded(round=number, text=text):
                hold("".join(self.provisional) == text, 12, lambda: f"{place}: {self.provisional} became {text!r}")
                hold(number not in self.rounds, 12, lambda: f"{place}: round {number} ended twice")
                self.rounds[number], self.provisional = text, []
            case _:
                pass


def _rebuilt(events: list[Happening]) -> list[_Seen]:
    turns: list[_Seen] = []
    for event in events:
        if isinstance(event, TurnStarted):
            if turns:
                turns[-1].ended = True
            turns.append(_Seen(event))
        if turns:
            turns[-1].take(event)
    if turns and isinstance(events[-1], OutcomeReached):
        turns[-1].ended = events[-1].outcome != "parked"
    return turns
