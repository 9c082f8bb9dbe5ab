"""A brief that was refused before: the same provider is not asked again, another one only if a person says so (SPEC §12)."""

from stoic.core import notes, notice
from stoic.core.commands import Ending, Remembered
from stoic.core.endings import give_up
from stoic.core.history import brief_operation
from stoic.core.parking import park
from stoic.core.refused import remembered
from stoic.core.steps import Context, Part, draft
from stoic.records import Parked, Question, RefusedBytes

TOOL = "task_start"
"""What a person is asked about: to start a task with this brief elsewhere."""


def is_asked_again(ctx: Context) -> bool:
    """Tell whether the turn has to be held up before its first send, since its brief was refused in an earlier task."""
    return _by_this_provider(ctx) is not None or (_is_first(ctx) and not _is_allowed(ctx))


def ask_again(ctx: Context) -> Part[Ending | None]:
    """End the task as the earlier one ended, or wait for a person's approval."""
    known = _by_this_provider(ctx)
    if known is not None:
        return (yield from remembered(ctx, Remembered(refused=known, now_ms=ctx.now_ms)))
    if ctx.plan.asks_again == "deny" or ctx.history.brief_answer == "deny":
        return (yield from give_up(ctx, notes.NOT_ASKED_AGAIN, reason="human"))
    question = Question(
        operation=brief_operation(ctx.history.thread),
        tool=TOOL,
        effect="send",
        arguments=_arguments(ctx),
        allowed_answers=["once", "deny"],
    )
    parked = Parked(waits_for="permission", questions=[question])
    if question.operation in ctx.state.asked:
        return (yield from park(ctx, parked))
    row = draft(ctx, role="system", kind="question", content={"questions": [question]})
    return (yield from park(ctx, parked, [row], notices=[notice.approval_wanted(ctx.history.thread, question)]))


def _is_first(ctx: Context) -> bool:
    """Tell whether nothing of the task was ever answered: only then is it a matter of its brief, in whatever turn."""
    return bool(ctx.plan.task.refused_before) and not ctx.history.was_answered


def _by_this_provider(ctx: Context) -> RefusedBytes | None:
    before = ctx.plan.task.refused_before if _is_first(ctx) else []
    return next((each for each in before if each.provider == ctx.candidate.route.provider), None)


def _is_allowed(ctx: Context) -> bool:
    return ctx.plan.asks_again == "allow" or ctx.history.brief_answer in {"once", "session"}


def _arguments(ctx: Context) -> str:
    """Name who refused and who would be asked now; enumerated names only."""
    refusers = ", ".join(sorted({each.provider for each in ctx.plan.task.refused_before}))
    route = ctx.candidate.route
    return f'{{"refused_by": "{refusers}", "ask_now": "{route.provider}:{route.model}"}}'
