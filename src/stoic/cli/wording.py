"""The words for what happens in a turn, the same on a terminal and in a file: each event as lines with a style."""

from typing import cast

import msgspec

from stoic.cli.cleaning import json_text, one_line, quoted, shortened, stripped
from stoic.cli.refusals import quarantine_said, refusal_said
from stoic.cli.waiting import waits_said
from stoic.core.budget import SCOPES, Use, amounts
from stoic.events import (
    AttemptFailed,
    BudgetNear,
    Compacted,
    CompactionFailed,
    CompactionStarted,
    EventTaken,
    FallbackUsed,
    FreshStarted,
    Happening,
    LeaseAwaited,
    NoticeRaised,
    Nudged,
    OutcomeReached,
    PermissionAsked,
    Quarantined,
    Refused,
    RequestChanged,
    Retrying,
    RoundEnded,
    RoundStarted,
    TasksAwaited,
    ToolEnded,
    ToolStarted,
    TurnStarted,
)
from stoic.foreign_json import read_foreign
from stoic.records import Json, Parked, Record


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


_CAUSES = {
    "context_length": ", since it no longer fitted into the model's context window",
    "share": ", since the model's context window was nearly full",
    "person": ", as a person asked",
}

_BRIEF_CELLS = 60
"""So much of a call's arguments stands beside other things on a line."""
_DETAIL_CELLS = 160


def describe(event: Happening) -> Line | None:
    """Return the line of an event; text of the model and a turn's ending are shown elsewhere."""
    line: Line | None = None
    match event:
        case LeaseAwaited() | TasksAwaited():
            line = Line(text=_waiting(event), style="yellow")
        case TurnStarted(resumed=True):
            line = Line(text=f"going on with turn {event.turn} of thread {stripped(event.thread)}", style="dim")
        case AttemptFailed():
            line = Line(text=_failed(event), style="yellow")
        case (
            Retrying()
            | Nudged()
            | RequestChanged()
            | FallbackUsed()
            | EventTaken()
            | Quarantined()
            | Refused()
            | BudgetNear()
        ):
            line = Line(text=_detour(event), style="yellow")
        case CompactionStarted() | Compacted() | CompactionFailed() | FreshStarted():
            line = Line(text=_bounded(event), style="yellow")
        case RoundEnded(served_model=str() as served):
            line = Line(text=f"! answered by another model: {one_line(served)}", style="yellow")
        case ToolStarted():
            line = Line(text=f"▶ {one_line(event.tool)} {brief_arguments(event.arguments)}".rstrip(), style="cyan")
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
        found = read_foreign(arguments)
    except msgspec.DecodeError:
        return one_line(arguments)
    if not isinstance(found, dict):
        return one_line(arguments)
    values = cast("dict[str, Json]", found)
    if len(values) == 1:
        return one_line(str(next(iter(values.values()))))
    return "  ".join(f"{one_line(name)}={one_line(str(value))[:60]}" for name, value in values.items())


def ending(event: OutcomeReached) -> Line | None:
    """Return the status line of an ending; None for a plain completion."""
    if event.outcome == "completed":
        return _warning(event)
    if event.outcome == "parked":
        return Line(text=parked(_waits(event)), style="yellow")
    said = event.message or event.reason or event.failure_class or ""
    # A message that begins with the outcome's name says it once.
    said = said.removeprefix(f"{event.outcome.capitalize()}: ").removeprefix(f"{event.outcome.capitalize()} ")
    return Line(text=f"{event.outcome}: {stripped(said)}".rstrip(": "), style="red")


def _warning(event: OutcomeReached) -> Line | None:
    """Return what is to be known of an answer beside its text."""
    cut = "the answer hit its length limit and is cut" if event.cut else ""
    said = stripped(event.message) + (f" Also, {cut}." if cut else "") if event.message else cut
    return Line(text=f"! {said}", style="yellow") if said else None


def told(event: NoticeRaised) -> list[Line]:
    """Return the lines of a notice: what it says, then what a person can do."""
    critical = event.priority == "critical"
    said = Line(text=f"! {event.priority} notice: {one_line(event.text)}", style="red" if critical else "yellow")
    return [said, *(Line(text=f"  {one_line(action)}", style="cyan") for action in event.actions)]


def summary(event: OutcomeReached) -> Line:
    """Return the line of figures below a turn."""
    usage = event.usage
    cached = f" ({usage.cache_read_tokens:,} cached)" if usage.cache_read_tokens else ""
    rounds = f"{event.rounds} round{'' if event.rounds == 1 else 's'} · " if event.rounds else ""
    tokens = f"{usage.input_tokens:,}{cached} tokens in, {usage.output_tokens:,} out · "
    cost = f"{cost_said(event.cost_usd)} · " if event.cost_usd and event.rounds else ""
    spent = tokens if usage.input_tokens or usage.output_tokens else ""
    return Line(text=f"{rounds}{spent}{cost}thread {stripped(event.thread)}", style="dim")


def cost_said(cost_usd: float) -> str:
    """Return a cost as people write it: cents matter in a large one, their fractions in a small one."""
    return f"${cost_usd:.2f}" if cost_usd >= 1 else f"${cost_usd:.4f}"


def fell_back(from_model: str, to_model: str, failure: str, *, skipped: bool) -> str:
    """Return which model answers for which, and why."""
    why = f"is closed after {failure}" if skipped else f"failed ({failure})"
    return f"⇄ {one_line(to_model)} answers the rest of this turn: {one_line(from_model)} {why}"


def changed(kind: str, max_tokens: int | None, images: int) -> str:
    """Return how a request is sent again."""
    if kind == "images":
        return f"without {images} image{'' if images == 1 else 's'}, with a note in the place"
    return f"with max_tokens {max_tokens:,}" if max_tokens else "in its plainest form, without thinking and signatures"


def _waiting(event: LeaseAwaited | TasksAwaited) -> str:
    if isinstance(event, TasksAwaited):
        tasks = ", ".join(stripped(task) for task in event.tasks)
        return f"waiting for tasks: {tasks} (Ctrl-C leaves them to `stoic up`)"
    return f"waiting: a turn of thread {stripped(event.thread)} runs in process {event.pid} on {one_line(event.host)}"


def _waits(event: OutcomeReached) -> Parked:
    """Return what a parked turn waits for, as its last event says."""
    content = {"waits_for": event.reason, "questions": event.questions, "until_ms": event.until_ms}
    return msgspec.convert(content | {"event": event.event, "tasks": event.tasks, "thread": event.thread}, Parked)


def parked(waiting: Parked) -> str:
    """Return what a parked turn waits for and what goes on with it, or how a person answers its questions."""
    thread = quoted(waiting.thread)
    if waiting.waits_for != "permission":
        said = waits_said(msgspec.to_builtins(waiting))
        return f"parked: the turn {said}. `stoic up` then goes on with it, or `stoic resume {thread}`"
    asked = "; ".join(
        f"{one_line(question.tool)} {shortened(brief_arguments(question.arguments), _BRIEF_CELLS)}".rstrip()
        for question in waiting.questions
    )
    again = f"stoic run --thread {thread}"
    return f"parked: a person must decide about {asked}. `{again}` on a terminal asks, with --yes it allows"


def answered(content: Json) -> str:
    """Return who decided what about a call, why, and whether it ran with other arguments than the model's.

    Args:
        content: of a row of kind `answer`
    """
    who = f" ({one_line(content['by'])})" if content.get("by") else ""
    why = f", since: {one_line(content['reason'])}" if content.get("reason") else ""
    changes = content.get("arguments")
    said = "" if changes is None else f", with {one_line(json_text(changes))[:300]}"
    return f"a person{who} answered {content['answer']} for {one_line(content['operation'])}{said}{why}"


def begins(generation: int, cause: str) -> str:
    """Return that a generation begins with a summary, and why."""
    return f"≡ generation {generation} begins with a summary{_CAUSES.get(cause, '')}"


def _bounded(event: CompactionStarted | Compacted | CompactionFailed | FreshStarted) -> str:
    """Say what becomes of the conversation's beginning."""
    match event:
        case CompactionStarted():
            by = f" by {one_line(event.model)}" if event.model else ""
            simulated = " (simulated provider)" if event.simulated else ""
            return f"≡ the conversation is being summed up{by}{simulated}"
        case Compacted():
            return begins(event.generation, event.cause)
        case CompactionFailed():
            return f"≡ not summed up: {one_line(event.message)}"
        case FreshStarted():
            return f"≡ generation {event.generation} begins without history"


_Detour = Retrying | Nudged | RequestChanged | FallbackUsed | EventTaken | Quarantined | Refused | BudgetNear


def _detour(event: _Detour) -> str:
    """Say what the runtime does of its own to get on with a round."""
    match event:
        case Retrying():
            seconds = f"{round(event.delay_ms / 1000, 1):g} s"
            return f"↻ sent again in {seconds} (attempt {event.attempt})"
        case Nudged():
            return f"↻ sent once more with a note to the model ({event.reason})"
        case RequestChanged():
            return f"↻ sent once more {changed(event.kind, event.max_tokens, event.images)}"
        case FallbackUsed():
            return fell_back(event.from_model, event.to_model, event.failure_class, skipped=event.skipped)
        case EventTaken():
            return f"an event of kind {one_line(event.kind)} joins the turn"
        case Quarantined():
            return quarantine_said(msgspec.to_builtins(event))
        case Refused():
            return refusal_said(msgspec.to_builtins(event))
        case BudgetNear():
            return budget_said(Use(scope=event.scope, bound=event.bound, used=event.used, limit=event.limit))


def budget_said(use: Use) -> str:
    """Say how far a bound is used up."""
    used, limit = amounts(use)
    unit = "USD" if use.bound == "cost_usd" else use.bound
    by = ", by all threads" if use.scope == "day" else ""
    return f"{used} of {limit} {unit} are used {SCOPES[use.scope]}{by}"


def _failed(event: AttemptFailed) -> str:
    status = f", HTTP {event.status}" if event.status is not None and event.status != 200 else ""  # noqa: PLR2004 - OK
    verdict = "refused" if event.failure_class == "refusal" else event.failure_class
    told = ", ".join(
        f"{one_line(str(each['field']))}={one_line(str(each['value']))[:60]}" for each in event.evidence[:1]
    )
    evidence = f" ({told})" if told else ""
    detail = f": {shortened(one_line(event.detail), _DETAIL_CELLS)}" if event.detail else ""
    return f"✗ attempt {event.attempt} of round {event.round}: {verdict}{status}{evidence}{detail}"


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
    wanted = shortened(brief_arguments(event.arguments), _BRIEF_CELLS)
    called = f": {wanted}" if wanted else ""  # of a call that was not run, nothing was shown before
    told = f"{' · ' if called else ': '}{said}" if said else ""
    return Line(text=f"{mark} {one_line(event.tool)} {word}{failure}{called}{told}", style=style)
