"""The words for what happens in a turn, the same on a terminal and in a file: each event as lines with a style."""

import msgspec

from stoic.cli.cleaning import one_line, stripped
from stoic.events import (
    AttemptFailed,
    Compacted,
    FallbackUsed,
    Happening,
    Nudged,
    OutcomeReached,
    PermissionAsked,
    Retrying,
    RoundEnded,
    RoundStarted,
    ToolEnded,
    ToolStarted,
    TurnStarted,
)
from stoic.records import Json, Record


class Line(Record, frozen=True):
    """One line to show."""

    text: str
    style: str = "plain"


ROLLED_BACK = Line(text="↩ rolled back: nothing that this attempt had said counts", style="yellow")
"""Said when an attempt had said something and failed."""

_ENDS = {
    "returned": ("✓", "returned", "green"),
    "raised": ("✗", "raised", "red"),
    "unknown": ("?", "effect UNKNOWN", "yellow"),
    "not_run": ("-", "not run", "yellow"),
}
"""Mark, word and style of each end of a call; no two look alike."""


def describe(event: Happening) -> Line | None:
    """Return the line of an event; text of the model and a turn's ending are shown elsewhere."""
    line: Line | None = None
    match event:
        case TurnStarted(resumed=True):
            line = Line(text=f"going on with turn {event.turn} of thread {stripped(event.thread)}", style="dim")
        case AttemptFailed():
            line = Line(text=_failed(event), style="yellow")
        case Retrying() | Nudged() | FallbackUsed() | Compacted():
            line = Line(text=_detour(event), style="yellow")
        case RoundEnded(served_model=str() as served):
            line = Line(text=f"! answered by another model: {one_line(served)}", style="yellow")
        case ToolStarted():
            line = Line(text=f"▶ {event.tool} {brief_arguments(event.arguments)}".rstrip(), style="cyan")
        case ToolEnded():
            line = _ended(event)
        case PermissionAsked():
            names = ", ".join(one_line(question["tool"]) for question in event.questions)
            line = Line(text=f"a person must decide about: {names}", style="yellow")
        case _:
            pass
    return line


def introduce(event: RoundStarted) -> Line:
    """Name the model, and say so when its provider is simulated."""
    label = " (simulated provider)" if event.simulated else ""
    return Line(text=f"{event.provider}:{one_line(event.model)}{label}", style="dim")


def brief_arguments(arguments: str) -> str:
    """Return a call's arguments as a person would say them, on one line."""
    try:
        values = msgspec.json.decode(arguments, type=dict[str, Json])
    except msgspec.DecodeError:
        return one_line(arguments)
    if len(values) == 1:
        return one_line(str(next(iter(values.values()))))
    return "  ".join(f"{one_line(name)}={one_line(str(value))[:60]}" for name, value in values.items())


def ending(event: OutcomeReached) -> Line | None:
    """Return the status line of an ending; None for a plain completion."""
    if event.outcome == "completed":
        return Line(text="! the answer hit its length limit and is cut", style="yellow") if event.cut else None
    if event.outcome == "parked":
        return Line(text=f"parked: the turn waits for {event.reason or 'something'}", style="yellow")
    said = event.message or event.reason or event.failure_class or ""
    return Line(text=f"{event.outcome}: {stripped(said)}".rstrip(": "), style="red")


def summary(event: OutcomeReached) -> Line:
    """Return the line of figures below a turn."""
    usage = event.usage
    cached = f" ({usage.cache_read_tokens:,} cached)" if usage.cache_read_tokens else ""
    rounds = f"{event.rounds} round{'' if event.rounds == 1 else 's'} · " if event.rounds else ""
    tokens = f"{usage.input_tokens:,}{cached} tokens in, {usage.output_tokens:,} out · "
    cost = f"{cost_said(event.cost_usd)} · " if event.cost_usd and event.rounds else ""
    return Line(text=f"{rounds}{tokens if event.rounds else ''}{cost}thread {stripped(event.thread)}", style="dim")


def cost_said(cost_usd: float) -> str:
    """Return a cost as people write it: cents matter in a large one, their fractions in a small one."""
    return f"${cost_usd:.2f}" if cost_usd >= 1 else f"${cost_usd:.4f}"


def fell_back(from_model: str, to_model: str, failure: str, *, skipped: bool) -> str:
    """Return which model answers for which, and why."""
    why = f"is closed after {failure}" if skipped else f"failed ({failure})"
    return f"⇄ {one_line(to_model)} answers the rest of this turn: {one_line(from_model)} {why}"


def _detour(event: Retrying | Nudged | FallbackUsed | Compacted) -> str:
    """Say what the runtime does of its own to get on with a round."""
    match event:
        case Retrying():
            seconds = f"{round(event.delay_ms / 1000, 1):g} s"
            return f"↻ sent again in {seconds} (attempt {event.attempt})"
        case Nudged():
            return f"↻ sent once more with a note to the model ({event.reason})"
        case FallbackUsed():
            return fell_back(event.from_model, event.to_model, event.failure_class, skipped=event.skipped)
        case Compacted():
            return "≡ the beginning of the conversation was replaced by a summary"


def _failed(event: AttemptFailed) -> str:
    status = f", HTTP {event.status}" if event.status is not None and event.status != 200 else ""  # noqa: PLR2004 - OK
    verdict = "refused" if event.failure_class == "refusal" else event.failure_class
    told = ", ".join(
        f"{one_line(str(each['field']))}={one_line(str(each['value']))[:60]}" for each in event.evidence[:1]
    )
    evidence = f" ({told})" if told else ""
    return f"✗ attempt {event.attempt} of round {event.round}: {verdict}{status}{evidence}"


def _ended(event: ToolEnded) -> Line:
    mark, word, style = _ENDS[event.state]
    failure = f" ({event.failure})" if event.failure and event.failure != event.state else ""
    if (
        event.state == "returned"
        and event.text.startswith("[exit code ")
        and not event.text.startswith("[exit code 0]")
    ):
        mark, style = "!", "yellow"  # the function returned; the command it ran says that it failed
    said = one_line(event.text.removeprefix("[runtime] ").removeprefix("[exit code 0]"))[:200]
    return Line(text=f"{mark} {event.tool} {word}{failure}: {said}".rstrip(": "), style=style)
