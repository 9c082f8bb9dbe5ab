"""The moves every part of a turn is made of: asking the shell, drafting rows, committing them, intending operations."""

from collections.abc import Generator, Sequence
from typing import TypeVar

import msgspec

from stoic.core import notes, notice
from stoic.core.arguments import arguments_key, arguments_of
from stoic.core.commands import CallResult, Cancelled, Command, Commit, Committed, Event, Wait
from stoic.core.failures import FailureClass
from stoic.core.guard import Guard
from stoic.core.history import EFFECTS, CallState, History, TurnState
from stoic.core.loops import Verdict
from stoic.core.plan import Candidate, Plan
from stoic.core.refusal import counts_as_task
from stoic.errors import BrokenInvariantError
from stoic.records import CallPart, Draft, Health, ImagePart, InboxEntry, Json, Operation

T = TypeVar("T")
Part = Generator[Command, Event, T]
"""A part of a turn that returns a T."""


class Context:
    """What the parts of one living generator share: the position, the plan, and what it has itself started."""

    def __init__(
        self,
        history: History,
        plan: Plan,
        now_ms: int,
        health: dict[str, Health] | None = None,
        loops: Json = None,
    ) -> None:
        self.history = history
        self.plan = plan
        self.now_ms = now_ms
        self.marked: set[str] = set()
        """Operations that this generator committed as running and has not started yet."""
        self.running: set[str] = set()
        """Operations that this generator started and that have not ended."""
        self.waiting: dict[str, Wait] = {}
        """Operations that this generator ran and that wait for something outside: they run again in the next one."""
        self.kin: dict[str, Operation] = {}
        """Unknown operations of the owner and of the thread's tasks, with what was found out of them since."""
        self.kin_seen_for: str | None = None
        """The operation before whose start they were looked at last."""
        self.guard = Guard(plan.tools, loops, history.uncounted)
        self.health = dict(health or {})
        """What is known of the candidates' routes, by key."""
        self.trials: set[str] = set()
        """Half-open routes whose one trial is this turn's."""
        self.has_message = False
        """Whether a person's message waits behind the turn."""
        self._arrived: dict[str, InboxEntry] = {}
        """Events that came since the last round, by id, in their order."""

    def see_health(self, seen: list[Health]) -> None:
        """Take in what others, or this turn's own commits, have made of the routes' health meanwhile."""
        self.health |= {each.route: each for each in seen}

    @property
    def is_task(self) -> bool:
        """Whether the thread counts as a task."""
        return counts_as_task(self.plan.thread_kind, self.plan.thread_scope)

    @property
    def is_human(self) -> bool:
        """Whether a person's message opened the turn; what a task is told comes from its owner."""
        return self.state.is_human and not self.is_task

    def arrive(self, entries: list[InboxEntry]) -> None:
        """Note what waits in the inbox: a message, and events, each once."""
        self.has_message = self.has_message or any(entry.kind == "message" for entry in entries)
        for entry in entries:
            if entry.kind == "event":
                self._arrived[entry.id] = entry

    def forget(self, taken: list[str]) -> None:
        """Note that entries are in the log, whoever took them there: a boundary may have seen what then opens the turn."""
        for entry in taken:
            self._arrived.pop(entry, None)

    def take_arrived(self) -> list[InboxEntry]:
        """Return the events that have come and are not yet in the log."""
        entries, self._arrived = list(self._arrived.values()), {}
        return entries

    @property
    def candidate(self) -> Candidate:
        """The candidate the open turn is at: the bound one, or the one it has fallen back to."""
        return self.plan.candidates[self._index()]

    @property
    def next_candidate(self) -> Candidate | None:
        """The candidate after that, if there is one."""
        following = self._index() + 1
        return self.plan.candidates[following] if following < len(self.plan.candidates) else None

    def reachable(self, *, moves: bool) -> list[Candidate]:
        """Return the present candidate and those that this turn may go on to; `moves`: also past a refusal."""
        index = self._index()
        return self.plan.candidates[index:] if moves or not self.history.has_refusal else [self.candidate]

    def _index(self) -> int:
        for index, candidate in enumerate(self.plan.candidates):
            if (candidate.route.provider, candidate.route.model) == self.state.stand_in:
                return index
        return 0

    @property
    def state(self) -> TurnState:
        """The open turn.

        Raises:
            BrokenInvariantError: there is none
        """
        state = self.history.open_turn
        if state is None:
            raise BrokenInvariantError(f"thread {self.history.thread} has no open turn")
        return state


def ask(ctx: Context, command: Command, expected: type[T]) -> Part[T]:
    """Have a command performed; its answer must be of the expected type."""
    event = yield command
    ctx.now_ms = event.now_ms
    if not isinstance(event, expected):
        raise BrokenInvariantError(f"{type(command).__name__} was answered by {type(event).__name__}")
    return event


def ask_or_cancel(ctx: Context, command: Command, expected: type[T] | tuple[type[T], ...]) -> Part[T | Cancelled]:
    """Have a command performed that a cancel may answer instead."""
    event = yield command
    ctx.now_ms = event.now_ms
    if not isinstance(event, expected) and not isinstance(event, Cancelled):
        raise BrokenInvariantError(f"{type(command).__name__} was answered by {type(event).__name__}")
    return event


def commit(ctx: Context, step: Commit) -> Part[None]:
    """Store a step, then take it into the history as it was stored.

    An outcome saves what is known of loops; of an effect that stays unknown a person is told.
    """
    lost = [notice.unknown_operation(each) for each in step.operations if stays_unknown(each)]
    if lost:
        step = msgspec.structs.replace(step, notices=[*step.notices, *lost])
    if any(row.kind == "outcome" for row in step.rows):
        step = msgspec.structs.replace(step, guard=ctx.guard.unsaved())
    committed = yield from ask(ctx, step, Committed)
    history = ctx.history
    for operation in step.operations:
        history.fold_operation(operation)
    for health in step.health:
        ctx.health[health.route] = health.onto(ctx.health.get(health.route))
    if step.views:
        history.fold_views(step.views)
    for row in committed.rows:
        history.fold(row)
        ctx.guard.tell(row)
    ctx.forget(step.inbox_taken)
    ctx.arrive(committed.arrived)


def stays_unknown(operation: Operation) -> bool:
    """Tell whether an operation has ended and nobody knows how, nor has said."""
    ended = operation.state == "unknown" and operation.ended_at is not None
    return ended and operation.effect in EFFECTS and operation.status not in {"done", "not_done"}


def draft(
    ctx: Context,
    *,
    role: str,
    kind: str,
    content: Json,
    round: int | None = None,  # noqa: A002 - the field's name in SPEC §4
    visible: bool = False,
    accepted: bool = False,
    view: Json = None,
    meta: dict[str, object] | None = None,
) -> Draft:
    """Make a row of the open turn; records inside the content become plain JSON values."""
    history, state = ctx.history, ctx.state
    return Draft(
        role=role,  # pyright: ignore[reportArgumentType] - every caller names one of the four roles
        kind=kind,
        content=msgspec.to_builtins(content),
        generation=history.generation,
        segment=history.segment,
        turn=state.number,
        round=state.round if round is None else round,
        visible=visible,
        view=view,
        accepted=accepted,
        meta=msgspec.to_builtins(meta or {}),
    )


def result_row(
    ctx: Context,
    operation: Operation,
    text: str,
    failure: str | None,
    *,
    counted: Verdict | None = None,
    images: Sequence[ImagePart] = (),
) -> Draft:
    """Make the row of a call's result.

    Args:
        ctx: the turn
        operation: the call's operation
        text: the raw result; the loop detector's warning is a suffix of the view only
        failure: a class of SPEC §3's tool side when the call did not return
        counted: what the loop detector said, when it was asked about this call or told of it
        images: what the tool returned beside text
    """
    content: dict[str, Json] = {
        "call": operation.index,
        "operation": operation.id,
        "tool": operation.tool,
        "text": text,
    }
    if failure:
        content["failure"] = failure
    decided = ctx.state.decisions.get(operation.id)
    header = notes.decision(decided) + "\n" if decided is not None and _is_told(ctx, operation, decided) else ""
    if images:
        content["images"] = [msgspec.to_builtins(each) for each in images]
    view, meta = None, dict[str, Json]()
    if counted is not None:
        meta["loop"] = "blocked" if counted.action == "block" else "counted"
        if counted.action != "ok":
            meta["rule"] = counted.rule
        if counted.action == "warn":
            view = content | {"text": f"{header}{text or notes.NO_OUTPUT}\n\n[runtime] {counted.message}"}
    if header and view is None:
        view = content | {"text": header + text}
    return draft(
        ctx, role="tool", kind="result", content=content, round=operation.round, visible=True, view=view, meta=meta
    )


def _is_told(ctx: Context, operation: Operation, decided: dict[str, Json]) -> bool:
    """Tell whether the model is told of a person's decision: of an approval, or of one that says more than yes or no."""
    tool = ctx.plan.tools.get(operation.tool)
    is_approval = tool is not None and tool.approval_seconds is not None
    return is_approval or bool({"arguments", "reason"} & decided.keys())


def ended(operation: Operation, result: CallResult, status: str | None = None) -> Operation:
    """Return the operation as it stands after its call ended, and what its status function says of this end."""
    return msgspec.structs.replace(
        operation,
        state=result.state,
        started_at=result.started_at or operation.started_at,
        ended_at=result.ended_at,
        status=status if result.state == "unknown" else operation.status,
        runs=operation.runs or 1,
    )


def closed(ctx: Context, operation: Operation) -> Operation:
    """Return an operation that ended without a result of its own: `raised`; a run it was only marked for does not count."""
    runs = operation.runs - (operation.id in ctx.marked)
    started_at = operation.started_at if runs else None
    return msgspec.structs.replace(operation, state="raised", started_at=started_at, ended_at=ctx.now_ms, runs=runs)


def lose(operation: Operation, ended_at: int | None) -> Operation:
    """Return an operation of which nothing more is known; what its status function said before is out of date."""
    return msgspec.structs.replace(operation, state="unknown", status=None, ended_at=ended_at)


def no_such_tool(ctx: Context, name: str) -> str:
    """Say to the model that it has not got a tool: there is none of that name, or its mode leaves it out."""
    known = list(ctx.plan.tools)
    return (
        notes.not_in_mode(name, ctx.plan.mode, known) if name in ctx.plan.left_out else notes.unknown_tool(name, known)
    )


def intend(ctx: Context, calls: list[CallPart]) -> tuple[list[Draft], list[Operation]]:
    """Return what a reply's calls mean: results of those that cannot run, and the operations of the others."""
    state, rows, operations = ctx.state, list[Draft](), list[Operation]()
    for index, call in enumerate(calls):
        tool = ctx.plan.tools.get(call.name)
        operation = Operation(
            id=f"{ctx.history.thread}.{state.number}.{state.round}.{index}",
            thread=ctx.history.thread,
            turn=state.number,
            round=state.round,
            index=index,
            tool=call.name,
            effect=tool.effect if tool else "write",
            arguments_key="",
            state="intended",
        )
        state_of_call = CallState(index, call, operation.id, operation.round)
        if tool is None:
            text = no_such_tool(ctx, call.name)
            rows.append(not_runnable(ctx, state_of_call, operation, text, FailureClass.UNKNOWN_TOOL))
            continue
        try:
            arguments = arguments_of(call.arguments)
            reason = tool.check(arguments)
        except msgspec.DecodeError as error:
            arguments, reason = None, f"the arguments are not JSON ({error})"
        if reason:
            text = notes.bad_arguments(call.name, reason)
            rows.append(not_runnable(ctx, state_of_call, operation, text, FailureClass.BAD_ARGUMENTS))
        elif tool.effect in EFFECTS:
            key = arguments_key(call.name, arguments, tool.effect if tool.declared else None)
            operations.append(msgspec.structs.replace(operation, arguments_key=key))
        else:
            operations.append(operation)
    return rows, operations


def not_runnable(ctx: Context, call: CallState, operation: Operation, text: str, failure: FailureClass) -> Draft:
    """Make the result of a call that cannot run; repeated without end, it is blocked like any other."""
    verdict = ctx.guard.before(call)
    if verdict.action == "block":
        return result_row(ctx, operation, notes.blocked(verdict.message), FailureClass.STUCK_LOOP, counted=verdict)
    return result_row(ctx, operation, text, failure, counted=ctx.guard.after(call, text, failed=True))
