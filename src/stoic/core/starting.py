"""Which calls may start at once: stored as running together with what lets them start, so that it costs no step of its own."""

import msgspec
from msgspec.structs import replace

from stoic.core.arguments import arguments_key
from stoic.core.commands import Commit, PlannedCall, Start, Started
from stoic.core.history import EFFECTS, CallState, is_unknown_twin
from stoic.core.plan import Permission
from stoic.core.steps import Context, Part, ask, commit, draft
from stoic.records import CallPart, Draft, Operation

MOST_RUNS = 3
"""How often a read is started; each run but the last was cut off by the end of its process, maybe because of the read."""


def mark_first(ctx: Context, operations: list[Operation], calls: list[CallPart]) -> list[Operation]:
    """Mark those of the operations a reply intends as running that may start at once.

    One transaction less, and still nothing is started before that is stored.
    """
    waiting = [
        (CallState(operation.index, calls[operation.index], operation.id, operation.round), operation)
        for operation in operations
    ]
    marked = {operation.id: operation for operation in _mark_front(ctx, waiting)}
    return [marked.get(operation.id, operation) for operation in operations]


def store(ctx: Context, *, rows: list[Draft] | None = None, operations: list[Operation] | None = None) -> Part[None]:
    """Store results and changed operations, and in the same step that the next calls run, where they may start at once."""
    changed = {operation.id: operation for operation in operations or []}
    # What has just ended counts when the next call is chosen: an equal one must not follow an unknown effect.
    for operation in changed.values():
        ctx.history.fold_operation(operation)
    if not ctx.running:
        settled = {row.content["operation"] for row in rows or [] if row.kind == "result"}
        rest = [call for call in ctx.state.pending() if call.operation not in settled]
        marked = _mark_front(ctx, list(zip(rest, operations_of(ctx, rest), strict=True)))
        changed |= {operation.id: operation for operation in marked}
    yield from commit(ctx, Commit(rows=[*(rows or []), *let_through(ctx)], operations=list(changed.values())))


def let_through(ctx: Context) -> list[Draft]:
    """Return the row of the calls that are now let through only because a person allowed it: so they count once, for ever."""
    operations = ctx.guard.take_let_through()
    return [draft(ctx, role="system", kind="let_through", content={"operations": operations})] if operations else []


def operations_of(ctx: Context, calls: list[CallState]) -> list[Operation]:
    """Return the journal entries of open calls."""
    return [ctx.history.operations[call.operation] for call in calls]


def mark(ctx: Context, operation: Operation) -> Operation:
    """Return the operation as it is stored before its call starts."""
    ctx.marked.add(operation.id)
    return replace(edited(ctx, operation), state="running", started_at=ctx.now_ms, runs=operation.runs + 1)


def edited(ctx: Context, operation: Operation) -> Operation:
    """Return the operation as a person has changed its arguments; what it is equal to depends on them."""
    arguments = ctx.state.decisions.get(operation.id, {}).get("arguments")
    tool = ctx.plan.tools.get(operation.tool)
    if arguments is None or tool is None or operation.effect not in EFFECTS:
        return operation
    key = arguments_key(operation.tool, arguments, tool.effect if tool.declared else None)
    return replace(operation, arguments_key=key)


def call_of(ctx: Context, call: CallState) -> CallPart:
    """Return a call as it is run: with the arguments that a person gave it instead of the model's."""
    arguments = ctx.state.decisions.get(call.operation, {}).get("arguments")
    return call.call if arguments is None else replace(call.call, arguments=msgspec.json.encode(arguments).decode())


def start(ctx: Context, calls: list[CallState]) -> Part[None]:
    """Start calls that are stored as running."""
    planned = [
        PlannedCall(operation=operation, call=call_of(ctx, call), asked_at_ms=ctx.state.rounds[-1].reply.created_at)
        for call, operation in zip(calls, operations_of(ctx, calls), strict=True)
    ]
    yield from ask(ctx, Start(calls=planned), Started)
    for plan in planned:
        ctx.running.add(plan.operation.id)
        ctx.marked.discard(plan.operation.id)


def twin_of(ctx: Context, operation: Operation) -> Operation | None:
    """Return an equal operation whose effect is unknown, here or of the owner or a task; none for what may be repeated."""
    tool = ctx.plan.tools.get(operation.tool)
    if tool and tool.idempotent:
        return None
    call = edited(ctx, operation)
    kin = (other for other in ctx.kin.values() if is_unknown_twin(call, other))
    return ctx.history.unknown_twin(call) or next(kin, None)


def is_blind(ctx: Context, operation: Operation) -> bool:
    """Tell whether it has to be looked first what is unknown between a task and its owner."""
    has_effect = operation.effect in EFFECTS and not ctx.plan.tools[operation.tool].internal
    return ctx.plan.task.has_kin and has_effect and ctx.kin_seen_for != operation.id


def is_gated(ctx: Context, operation: Operation) -> bool:
    """Tell whether a person or the plan has a say in whether an operation runs."""
    tool = ctx.plan.tools[operation.tool]
    is_named = ctx.plan.permissions.get(operation.effect, "allow") != "allow"  # reads too, where the plan says so
    return tool.approval_seconds is not None or (not tool.internal and (operation.effect in EFFECTS or is_named))


def permission_for(ctx: Context, operation: Operation) -> Permission:
    """Return whether a call may run, as a person or the plan says."""
    answer = ctx.state.answers.get(operation.id)
    if answer is not None and not is_expired(ctx, operation):
        return "allow" if answer in {"once", "session"} else "deny"
    if not is_gated(ctx, operation):
        return "allow"
    if ctx.plan.tools[operation.tool].approval_seconds is not None:
        return "deny" if is_expired(ctx, operation) else "ask"
    permission = ctx.plan.permissions.get(operation.effect, "allow")
    if permission == "deny" and operation.id in ctx.state.asked:
        permission = "ask"  # what was put to a person is theirs to answer, not the next run's
    if permission == "ask" and ctx.plan.session and ctx.history.grants.get(operation.tool) == ctx.plan.session:
        return "allow"
    return permission


def is_expired(ctx: Context, operation: Operation) -> bool:
    """Tell whether nobody has decided in time; an answer that came later counts as none."""
    expires_at_ms = ctx.state.asked.get(operation.id)
    if expires_at_ms is None:
        return False
    decided = ctx.state.decisions.get(operation.id)
    return (ctx.now_ms if decided is None else decided.get("at_ms", 0)) >= expires_at_ms


def _mark_front(ctx: Context, waiting: list[tuple[CallState, Operation]]) -> list[Operation]:
    """Return, marked as running, what may start now: the reads at the front side by side, or the one call with an effect."""
    front: list[Operation] = []
    for call, operation in waiting:
        has_effect = operation.effect in EFFECTS
        if (front and has_effect) or operation.state != "intended" or not _may_start(ctx, operation, call):
            break
        front.append(operation)
        ctx.guard.use_grant(call)
        if has_effect:
            break
    return [mark(ctx, operation) for operation in front]


def _may_start(ctx: Context, operation: Operation, call: CallState) -> bool:
    """Tell whether nothing has to be asked or said before a call."""
    if operation.tool not in ctx.plan.tools or operation.id in ctx.waiting or ctx.guard.blocks(call):
        return False
    if permission_for(ctx, operation) != "allow" or is_blind(ctx, operation):
        return False
    return twin_of(ctx, operation) is None if operation.effect in EFFECTS else operation.runs < MOST_RUNS
