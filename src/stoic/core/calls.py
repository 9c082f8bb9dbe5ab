"""The calls of a round, brought to their results one step at a time: order, permission, journal, recovery (SPEC §10)."""

from msgspec.structs import replace

from stoic.core import notes
from stoic.core.commands import AskStatus, Cancelled, Commit, Ended, Next, PlannedCall, Start, Started, Status
from stoic.core.failures import FailureClass
from stoic.core.history import EFFECTS, CallState
from stoic.core.plan import Permission
from stoic.core.steps import Context, Part, ask, ask_or_cancel, commit, draft, ended, lose, never_ran, result_row
from stoic.records import CallPart, Draft, Operation, Parked, Question

Ending = Cancelled | Parked | None


def settle_calls(ctx: Context) -> Part[Ending]:
    """Take one step towards a result for every open call.

    Reads that follow each other run side by side; a call with an effect waits for all calls before it and runs alone.

    Returns:
        None: one step further; Parked: a person must answer first; Cancelled: somebody stopped the turn.
    """
    if ctx.running:
        return (yield from _await_results(ctx))
    pending = ctx.state.pending()
    lost = [operation for operation in _operations(ctx, pending) if _is_lost(ctx, operation)]
    if lost:
        yield from commit(ctx, Commit(operations=[lose(operation, None) for operation in lost]))
        return None
    operation = ctx.history.operations[pending[0].operation]
    if operation.state == "unknown":
        return (yield from _settle_unknown(ctx, pending[0], operation))
    return (yield from _begin(ctx, pending, operation))


def _begin(ctx: Context, pending: list[CallState], operation: Operation) -> Part[Ending]:
    """Start what may start now: the reads at the front side by side, or one call with an effect."""
    if operation.tool not in ctx.plan.tools:
        text = notes.unknown_tool(operation.tool, list(ctx.plan.tools))
        yield from _close(ctx, never_ran(ctx, operation), text, FailureClass.UNKNOWN_TOOL)
        return None
    if ctx.guard.blocks(pending[0]):
        verdict = ctx.guard.before(pending[0])
        row = result_row(ctx, operation, notes.blocked(verdict.message), FailureClass.STUCK_LOOP, counted=verdict)
        yield from commit(ctx, Commit(rows=[row], operations=[never_ran(ctx, operation)]))
        return None
    if operation.effect not in EFFECTS:
        return (yield from _start(ctx, _leading_reads(ctx, pending)))
    if operation.id in ctx.marked:
        return (yield from _start(ctx, pending[:1]))
    return (yield from _begin_effect(ctx, pending, operation))


def mark_first(ctx: Context, operations: list[Operation], calls: list[CallPart]) -> list[Operation]:
    """Mark the first of the operations a reply intends as running, if it has an effect and may start at once.

    One transaction less, and still nothing is started before that is stored.
    """
    if not operations or operations[0].effect not in EFFECTS:
        return operations
    first = operations[0]
    call = CallState(first.index, calls[first.index], first.id, first.round)
    return [_mark(ctx, first), *operations[1:]] if _may_start(ctx, first, call) else operations


def _operations(ctx: Context, calls: list[CallState]) -> list[Operation]:
    return [ctx.history.operations[call.operation] for call in calls]


def _is_lost(ctx: Context, operation: Operation) -> bool:
    return operation.state == "running" and operation.id not in ctx.marked


def _mark(ctx: Context, operation: Operation) -> Operation:
    ctx.marked.add(operation.id)
    return replace(operation, state="running", started_at=ctx.now_ms, runs=operation.runs + 1)


def _leading_reads(ctx: Context, pending: list[CallState]) -> list[CallState]:
    reads: list[CallState] = []
    for call, operation in zip(pending, _operations(ctx, pending), strict=True):
        if operation.effect in EFFECTS or operation.tool not in ctx.plan.tools or ctx.guard.blocks(call):
            break
        reads.append(call)
    return reads


def _start(ctx: Context, calls: list[CallState]) -> Part[None]:
    planned = [
        PlannedCall(operation=operation, call=call.call)
        for call, operation in zip(calls, _operations(ctx, calls), strict=True)
    ]
    yield from ask(ctx, Start(calls=planned), Started)
    for plan in planned:
        ctx.running.add(plan.operation.id)
        ctx.marked.discard(plan.operation.id)


def _await_results(ctx: Context) -> Part[Cancelled | None]:
    event = yield from ask_or_cancel(ctx, Next(), Ended)
    if isinstance(event, Cancelled):
        return event
    rows, operations = list[Draft](), list[Operation]()
    calls = {call.operation: call for call in ctx.state.calls}
    for result in event.results:
        operation = ctx.history.operations[result.operation]
        ctx.running.discard(operation.id)
        verdict = ctx.guard.after(calls[operation.id], result.text, failed=result.failure is not None)
        rows.append(result_row(ctx, operation, result.text, result.failure, counted=verdict))
        operations.append(ended(operation, result))
    # What has just ended counts when the next call is chosen: an equal one must not follow an unknown effect.
    for operation in operations:
        ctx.history.fold_operation(operation)
    following = [] if ctx.running else _following(ctx, {operation.id for operation in operations})
    yield from commit(ctx, Commit(rows=rows, operations=[*operations, *following]))
    return None


def _following(ctx: Context, done: set[str]) -> list[Operation]:
    """Return the next operation, marked as running, if it has an effect and may start right after those that are done."""
    rest = [call for call in ctx.state.pending() if call.operation not in done]
    if not rest:
        return []
    operation = ctx.history.operations[rest[0].operation]
    ready = operation.state == "intended" and operation.effect in EFFECTS and _may_start(ctx, operation, rest[0])
    return [_mark(ctx, operation)] if ready else []


def _may_start(ctx: Context, operation: Operation, call: CallState) -> bool:
    allowed = _permission(ctx, operation) == "allow" and _twin(ctx, operation) is None
    return allowed and not ctx.guard.blocks(call)


def _twin(ctx: Context, operation: Operation) -> Operation | None:
    """Return an equal operation whose effect is unknown; none for a tool that may be repeated without harm."""
    tool = ctx.plan.tools.get(operation.tool)
    return None if tool and tool.idempotent else ctx.history.unknown_twin(operation)


def _permission(ctx: Context, operation: Operation) -> Permission:
    answer = ctx.state.answers.get(operation.id)
    if answer is not None:
        return "allow" if answer in {"once", "session"} else "deny"
    permission = ctx.plan.permissions.get(operation.effect, "allow")
    if permission == "ask" and ctx.plan.session and ctx.history.grants.get(operation.tool) == ctx.plan.session:
        return "allow"
    return permission


def _begin_effect(ctx: Context, pending: list[CallState], operation: Operation) -> Part[Ending]:
    """Start an operation with an effect, or say why not."""
    twin = _twin(ctx, operation)
    if twin is not None:
        return (yield from _settle_repeat(ctx, pending[0], operation, twin))
    permission = _permission(ctx, operation)
    if permission == "ask":
        return (yield from _ask_person(ctx, pending))
    if permission == "deny":
        text = notes.denied(operation.tool, by_person=operation.id in ctx.state.answers)
        counted = ctx.guard.after(pending[0], text, failed=True)
        row = result_row(ctx, operation, text, FailureClass.TOOL_DENIED, counted=counted)
        yield from commit(ctx, Commit(rows=[row], operations=[never_ran(ctx, operation)]))
        return None
    yield from commit(ctx, Commit(operations=[_mark(ctx, operation)]))
    return None


def _settle_repeat(ctx: Context, call: CallState, operation: Operation, twin: Operation) -> Part[Cancelled | None]:
    """Answer an equal call while the earlier one's effect is unknown; only a `not_done` of its status lets it run."""
    answer = yield from _ask_status(ctx, call, twin)
    if isinstance(answer, Cancelled):
        return answer
    known = replace(twin, status=answer)
    if answer == "not_done":
        yield from commit(ctx, Commit(operations=[known]))
        return None
    text = notes.status_done(twin) if answer == "done" else notes.repeats_unknown(twin)
    row = result_row(ctx, operation, text, FailureClass.TOOL_DENIED)
    yield from commit(ctx, Commit(rows=[row], operations=[known, never_ran(ctx, operation)]))
    return None


def _settle_unknown(ctx: Context, call: CallState, operation: Operation) -> Part[Cancelled | None]:
    """Bring a call whose end was lost to a result: ask its status first, repeat only what is safe to repeat."""
    answer = yield from _ask_status(ctx, call, operation)
    if isinstance(answer, Cancelled):
        return answer
    tool = ctx.plan.tools.get(operation.tool)
    safe = tool is not None and (tool.idempotent or tool.keyed)
    if answer == "not_done" or (safe and answer == "unknown"):
        yield from commit(ctx, Commit(operations=[_mark(ctx, replace(operation, status=answer))]))
        return None
    known = replace(operation, status=answer, ended_at=ctx.now_ms)
    if answer == "done":
        yield from _close(ctx, known, notes.status_done(operation), None)
    else:
        yield from _close(ctx, known, notes.effect_unknown(operation, notes.CUT_SHORT), FailureClass.UNKNOWN)
    return None


def _ask_status(ctx: Context, call: CallState, operation: Operation) -> Part[str | Cancelled]:
    """Return what a person decided, else ask the tool's own status function; `unknown` where there is none."""
    if operation.status in {"done", "not_done"}:
        return operation.status
    tool = ctx.plan.tools.get(operation.tool)
    if tool is None or not tool.has_status:
        return "unknown"
    command = AskStatus(operation=operation, arguments=call.call.arguments)
    answered = yield from ask_or_cancel(ctx, command, Status)
    return answered if isinstance(answered, Cancelled) else answered.answer


def _close(ctx: Context, operation: Operation, text: str, failure: FailureClass | None) -> Part[None]:
    row = result_row(ctx, operation, text, failure)
    yield from commit(ctx, Commit(rows=[row], operations=[operation]))


def _ask_person(ctx: Context, pending: list[CallState]) -> Part[Parked]:
    """Park until a person has answered for every open call that needs it; the question is stored once."""
    questions = [
        Question(operation=operation.id, tool=operation.tool, effect=operation.effect, arguments=call.call.arguments)
        for call, operation in zip(pending, _operations(ctx, pending), strict=True)
        if operation.state == "intended" and operation.effect in EFFECTS and _permission(ctx, operation) == "ask"
    ]
    if any(question.operation not in ctx.state.asked for question in questions):
        row = draft(ctx, role="system", kind="question", content={"questions": questions})
        yield from commit(ctx, Commit(rows=[row]))
    return Parked(waits_for="permission", questions=questions, thread=ctx.history.thread, turn=ctx.state.number)
