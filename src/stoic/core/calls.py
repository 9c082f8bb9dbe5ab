"""The calls of a round, brought to their results one step at a time: order, permission, journal, recovery (SPEC §10)."""

from collections.abc import Sequence

from msgspec.structs import replace

from stoic.core import notes, notice
from stoic.core.commands import (
    CallResult,
    Cancelled,
    Commit,
    Ended,
    KinSeen,
    LookAtKin,
    Next,
    Recall,
    Recalled,
)
from stoic.core.failures import FailureClass
from stoic.core.guard import outcome_of
from stoic.core.history import EFFECTS, CallState
from stoic.core.parking import park
from stoic.core.starting import (
    MOST_RUNS,
    call_of,
    is_blind,
    is_expired,
    mark,
    operations_of,
    permission_for,
    start,
    store,
    twin_of,
)
from stoic.core.statuses import ask_briefly, ask_status, asked_row, can_be_asked
from stoic.core.steps import (
    Context,
    Part,
    ask,
    ask_or_cancel,
    closed,
    commit,
    draft,
    ended,
    lose,
    no_such_tool,
    result_row,
)
from stoic.records import Draft, Operation, Parked, Question

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
    marked = [call for call in pending if call.operation in ctx.marked]
    if marked:
        return (yield from start(ctx, marked))
    lost = [operation for operation in operations_of(ctx, pending) if operation.state == "running"]
    if lost:
        return (yield from _recall(ctx, lost))
    operation = ctx.history.operations[pending[0].operation]
    if operation.id in ctx.waiting:
        return (yield from _park(ctx))
    if operation.state == "unknown":
        return (yield from _settle_unknown(ctx, pending[0], operation))
    return (yield from _begin(ctx, pending, operation))


def _begin(ctx: Context, pending: list[CallState], operation: Operation) -> Part[Ending]:
    """Let the calls at the front start, or say why the first of them may not."""
    if operation.tool not in ctx.plan.tools:
        return (yield from _begin_unknown(ctx, operation))
    if ctx.guard.blocks(pending[0]):
        verdict = ctx.guard.before(pending[0])
        row = result_row(ctx, operation, notes.blocked(verdict.message), FailureClass.STUCK_LOOP, counted=verdict)
        yield from store(ctx, rows=[row], operations=[closed(ctx, operation)])
        return None
    wrong = _wrong_edit(ctx, operation)
    if wrong is not None:
        yield from _close(ctx, closed(ctx, operation), wrong, FailureClass.BAD_ARGUMENTS)
        return None
    if is_blind(ctx, operation):
        yield from _look_at_kin(ctx, operation)
    twin = twin_of(ctx, operation) if operation.effect in EFFECTS else None
    if twin is not None:
        return (yield from _settle_repeat(ctx, pending[0], operation, twin))
    permission = permission_for(ctx, operation)
    if permission == "ask":
        return (yield from _ask_person(ctx, pending))
    if permission == "deny":
        yield from _refuse(ctx, pending[0], operation, _denial(ctx, operation))
        return None
    if operation.effect not in EFFECTS and operation.runs >= MOST_RUNS:
        yield from _close(ctx, closed(ctx, operation), notes.read_cut_off(operation), FailureClass.UNKNOWN)
        return None
    yield from store(ctx)
    return None


def _await_results(ctx: Context) -> Part[Cancelled | None]:
    event = yield from ask_or_cancel(ctx, Next(), Ended)
    if isinstance(event, Cancelled):
        return event
    ctx.running.difference_update(result.operation for result in event.results)
    yield from _take_results(ctx, event.results)
    return None


def _recall(ctx: Context, lost: list[Operation]) -> Part[None]:
    """Go on with calls that the end of their process cut off.

    An end that was written down is the call's result. Of the others a read may start again, since it changes nothing; what
    became of a call with an effect is unknown.
    """
    recalled = yield from ask(ctx, Recall(operations=lost), Recalled)
    ended_ids = {result.operation for result in recalled.results}
    cut_off = [operation for operation in lost if operation.id not in ended_ids]
    settled = [
        lose(operation, None) if operation.effect in EFFECTS else replace(operation, state="intended")
        for operation in cut_off
    ]
    yield from _take_results(ctx, recalled.results, settled)


def _take_results(ctx: Context, results: list[CallResult], others: list[Operation] | None = None) -> Part[None]:
    """Store how calls ended, together with other operations that changed."""
    rows, operations = list[Draft](), list(others or [])
    calls = {call.operation: call for call in ctx.state.calls}
    for result in results:
        operation = ctx.history.operations[result.operation]
        if result.wait is not None:
            ctx.waiting[operation.id] = result.wait
            operations.append(replace(operation, state="intended", started_at=None, runs=0))
            continue
        text, failure, status = result.text, result.failure, None
        if result.state == "unknown" and can_be_asked(ctx, operation):
            said = yield from ask_briefly(ctx, operation, call_of(ctx, calls[operation.id]).arguments)
            rows.append(asked_row(ctx, operation, said))
            status = said.answer
            text = notes.status_said(operation, status, result.why) or text
            failure = None if status == "done" else failure
        seen = outcome_of(text, [each.data_base64 for each in result.images])
        verdict = ctx.guard.after(calls[operation.id], seen, failed=failure is not None)
        rows.append(result_row(ctx, operation, text, failure, counted=verdict, images=result.images))
        operations.append(ended(operation, result, status))
    yield from store(ctx, rows=rows, operations=operations)


def _begin_unknown(ctx: Context, operation: Operation) -> Part[Parked | None]:
    """Tell the model that there is no such tool, or wait for the program that has it if a person was asked about the call."""
    if operation.id in ctx.state.asked:
        return (yield from park(ctx, Parked(waits_for="event", event=f"tool {operation.tool}")))
    text = no_such_tool(ctx, operation.tool)
    yield from _close(ctx, closed(ctx, operation), text, FailureClass.UNKNOWN_TOOL)
    return None


def _look_at_kin(ctx: Context, operation: Operation) -> Part[None]:
    """Look at what is unknown between a task and its owner by now; what was found out of it in this turn stays."""
    seen = yield from ask(ctx, LookAtKin(), KinSeen)
    ctx.kin = {each.id: ctx.kin.get(each.id, each) for each in seen.operations}
    ctx.kin_seen_for = operation.id


def _denial(ctx: Context, operation: Operation) -> str:
    if is_expired(ctx, operation):
        return notes.not_decided(operation.tool)
    return notes.denied(operation.tool, by_person=operation.id in ctx.state.answers)


def _wrong_edit(ctx: Context, operation: Operation) -> str | None:
    """Say what does not fit of the arguments that a person gave a call instead of the model's; None: nothing."""
    decision = ctx.state.decisions.get(operation.id, {})
    arguments = None if decision.get("answer") == "deny" else decision.get("arguments")
    reason = None if arguments is None else ctx.plan.tools[operation.tool].check(arguments)
    return None if reason is None else notes.bad_arguments(operation.tool, f"as a person changed it: {reason}")


def _park(ctx: Context) -> Part[Parked]:
    """Suspend the turn until something that its calls wait for has come."""
    waits = list(ctx.waiting.values())
    tasks = sorted({task for each in waits for task in each.tasks})
    until_ms = min(each.until_ms for each in waits)
    return (
        yield from park(
            ctx,
            Parked(waits_for="task", tasks=tasks, until_ms=until_ms)
            if tasks
            else Parked(waits_for="time", until_ms=until_ms, event="call"),
        )
    )


def _settle_repeat(ctx: Context, call: CallState, operation: Operation, twin: Operation) -> Part[Cancelled | None]:
    """Answer an equal call while the earlier one's effect is unknown; only a `not_done` of its status lets it run."""
    known_now = yield from _what_became(ctx, call, twin)
    if isinstance(known_now, Cancelled):
        return known_now
    answer, asked = known_now
    known = replace(twin, status=answer)
    is_own = twin.thread == ctx.history.thread
    if not is_own:
        ctx.kin[twin.id] = known
    if answer == "not_done":
        # The proof by which the call may run; another thread's journal is not this turn's to write.
        told = {"operation": twin.id, "status": answer, "for": operation.id}
        rows = [] if is_own else [draft(ctx, role="system", kind="kin_status", content=told)]
        yield from store(ctx, rows=[*asked, *rows], operations=[known] if is_own else [])
        return None
    text = notes.status_said(twin, answer, notes.NOT_RUN_AGAIN) or notes.repeats_unknown(twin)
    yield from _refuse(ctx, call, operation, text, *([known] if is_own else []), rows=asked)
    return None


def _refuse(
    ctx: Context, call: CallState, operation: Operation, text: str, *others: Operation, rows: Sequence[Draft] = ()
) -> Part[None]:
    """Answer a call that may not run now; made again and again it is a loop like any other.

    `others` changed as well, and `rows` tell people why.
    """
    ctx.guard.use_grant(call)
    counted = ctx.guard.after(call, text, failed=True)
    row = result_row(ctx, operation, text, FailureClass.TOOL_DENIED, counted=counted)
    yield from store(ctx, rows=[*rows, row], operations=[*others, closed(ctx, operation)])


def _settle_unknown(ctx: Context, call: CallState, operation: Operation) -> Part[Cancelled | None]:
    """Bring a call whose end was lost to a result: ask its status first, repeat only what is safe to repeat."""
    known_now = yield from _what_became(ctx, call, operation)
    if isinstance(known_now, Cancelled):
        return known_now
    answer, asked = known_now
    tool = ctx.plan.tools.get(operation.tool)
    # Who can be asked has the say: a key makes a repeat harmless only where the other side keeps that promise.
    safe = tool is not None and (tool.idempotent or (tool.keyed and not tool.has_status))
    if answer == "not_done" or (safe and answer == "unknown"):
        yield from commit(ctx, Commit(rows=asked, operations=[mark(ctx, replace(operation, status=answer))]))
        return None
    known = replace(operation, status=answer, ended_at=ctx.now_ms)
    if answer == "done":
        by_person = operation.status == "done"  # a status function is asked about what was lost only
        text = notes.status_done(operation, notes.RESULT_LOST, by_person=by_person)
        yield from _close(ctx, known, text, None, rows=asked)
    else:
        text = notes.effect_unknown(operation, notes.CUT_SHORT)
        yield from _close(ctx, known, text, FailureClass.UNKNOWN, rows=asked)
    return None


def _what_became(ctx: Context, call: CallState, operation: Operation) -> Part[tuple[str, list[Draft]] | Cancelled]:
    """Return what a person decided, else what the tool's own status function says, with the row that notes it.

    `unknown` where there is neither.
    """
    if operation.status in {"done", "not_done"}:
        return operation.status, []
    if not can_be_asked(ctx, operation):
        return "unknown", []
    said = yield from ask_status(ctx, operation, call_of(ctx, call).arguments)
    return said if isinstance(said, Cancelled) else (said.answer, [asked_row(ctx, operation, said)])


def _close(
    ctx: Context, operation: Operation, text: str, failure: FailureClass | None, *, rows: Sequence[Draft] = ()
) -> Part[None]:
    yield from store(ctx, rows=[*rows, result_row(ctx, operation, text, failure)], operations=[operation])


def _ask_person(ctx: Context, pending: list[CallState]) -> Part[Parked]:
    """Park until a person has answered for every open call that needs it; the question is stored once."""
    questions = [
        _question(ctx, call, operation)
        for call, operation in zip(pending, operations_of(ctx, pending), strict=True)
        if operation.state == "intended"
        and operation.tool in ctx.plan.tools
        and permission_for(ctx, operation) == "ask"
    ]
    until_ms = min((each.expires_at_ms for each in questions if each.expires_at_ms is not None), default=None)
    row = draft(ctx, role="system", kind="question", content={"questions": questions})
    new = [question for question in questions if question.operation not in ctx.state.asked]
    parked = Parked(waits_for="permission", questions=questions, until_ms=until_ms)
    # Others are asked at once, by whoever drives the turn.
    told = [
        notice.approval_wanted(ctx.history.thread, each)
        for each in new
        if not ctx.plan.is_attended or each.expires_at_ms
    ]
    return (yield from park(ctx, parked, [row] if new else [], notices=told))


def _question(ctx: Context, call: CallState, operation: Operation) -> Question:
    seconds = ctx.plan.tools[operation.tool].approval_seconds
    expires_at_ms = ctx.state.asked.get(operation.id)
    if seconds is None:
        return Question(
            operation=operation.id, tool=operation.tool, effect=operation.effect, arguments=call.call.arguments
        )
    return Question(
        operation=operation.id,
        tool=operation.tool,
        effect=operation.effect,
        arguments=call.call.arguments,
        allowed_answers=["once", "deny"],
        expires_at_ms=ctx.now_ms + seconds * 1000 if expires_at_ms is None else expires_at_ms,
    )
