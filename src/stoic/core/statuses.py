"""What tools' own status functions say of operations whose end was lost: asked, noted for people, told to models (SPEC §10)."""

from collections.abc import Sequence

from msgspec import json
from msgspec.structs import replace

from stoic.core import notes
from stoic.core.commands import AskStatus, Cancelled, Commit, Status
from stoic.core.history import EFFECTS
from stoic.core.steps import Context, Part, ask, ask_or_cancel, commit, draft, stays_unknown
from stoic.records import Draft, Operation, Row

MOST_ASKED = 10
"""Of how many operations of earlier turns a turn asks again, the newest first: each may take a while to answer."""


def can_be_asked(ctx: Context, operation: Operation) -> bool:
    """Tell whether the operation's tool has a status function."""
    tool = ctx.plan.tools.get(operation.tool)
    return operation.effect in EFFECTS and tool is not None and tool.has_status


def ask_status(ctx: Context, operation: Operation, arguments: str) -> Part[Status | Cancelled]:
    """Ask what became of an operation before anything else is done about it."""
    return (yield from ask_or_cancel(ctx, AskStatus(operation=operation, arguments=arguments), Status))


def ask_briefly(ctx: Context, operation: Operation, arguments: str | None = None) -> Part[Status]:
    """Ask within a short time that no cancel cuts shorter; None: with the arguments that the log has."""
    return (yield from ask(ctx, AskStatus(operation=operation, arguments=arguments, briefly=True), Status))


def asked_row(ctx: Context, operation: Operation, said: Status, *, is_late: bool = False) -> Draft:
    """Note for people what was answered; `is_late`: the model was told before that the effect is unknown."""
    content = {"operation": operation.id, "tool": operation.tool, "answer": said.answer}
    trouble = {} if said.trouble is None else {"trouble": said.trouble}
    late = {"late": True} if is_late and said.answer != "unknown" else {}
    return draft(ctx, role="system", kind="status", content=content | trouble | late)


def ask_what_was_left(ctx: Context) -> Part[None]:
    """Ask once a turn, at its beginning, about what earlier turns have left unknown.

    Not where the model could not be told: an operation known as done must not look unknown to it.
    """
    if ctx.history.refusals:
        return
    left = [each for each in ctx.history.operations.values() if stays_unknown(each) and can_be_asked(ctx, each)]
    rows, known = list[Draft](), list[Operation]()
    for operation in left[-MOST_ASKED:]:
        said = yield from ask_briefly(ctx, operation)
        rows.append(asked_row(ctx, operation, said, is_late=True))
        if said.answer != "unknown":
            known.append(replace(operation, status=said.answer))
    if rows:
        yield from commit(ctx, Commit(rows=rows, operations=known))


def tell_known(ctx: Context) -> Part[None]:
    """Tell the model what has become known since it was told that an effect is unknown; like an event, not after a refusal."""
    untold = ctx.history.untold()
    if untold and not ctx.history.refusals:
        content = {"text": notes.became_known(untold), "operations": [each["operation"] for each in untold]}
        yield from commit(ctx, Commit(rows=[draft(ctx, role="user", kind="known", content=content, visible=True)]))


def arguments_in(rows: Sequence[Row], operation: Operation) -> str | None:
    """Return the arguments of an operation's call as it was run, from its thread's rows; None: they are not there."""
    found = None
    for row in rows:
        if row.kind == "reply" and (row.turn, row.round) == (operation.turn, operation.round):
            calls = [part for part in row.content["parts"] if part["type"] == "call"]
            found = calls[operation.index]["arguments"]
        elif row.kind == "answer" and row.content["operation"] == operation.id and row.content.get("arguments"):
            found = json.encode(row.content["arguments"]).decode()
    return found
