"""The one changed re-send that some failures get in a turn: what the next request does differently (SPEC §6)."""

from typing import Literal

from msgspec.structs import replace

from stoic.core.classify.verdict import Verdict
from stoic.core.commands import Compare, Compared, Locate, Located, Send
from stoic.core.failures import FailureClass
from stoic.core.images import images_of, pointer_of, without_images
from stoic.core.steps import Context, Part, ask
from stoic.records import Json, Record, Report, ViewChange

Kind = Literal["max_tokens", "images", "plain"]

KINDS: dict[FailureClass, Kind] = {
    FailureClass.CONTEXT_LENGTH: "max_tokens",
    FailureClass.IMAGE_TOO_LARGE: "images",
    FailureClass.HISTORY_CORRUPT: "plain",
    FailureClass.SIGNATURE_INVALID: "plain",
}
"""What is changed for each class: the longest reply, the images, the rendering of the whole view."""


class Repair(Record, frozen=True):
    """A changed re-send; it becomes durable with the failed attempt's row."""

    change: dict[str, Json]
    """`kind`, and what else the row tells of it."""
    views: list[ViewChange] = []


def repair_of(ctx: Context, failed: Send, report: Report, verdict: Verdict) -> Part[Repair | None]:
    """Return what the round's next request does differently; None: nothing can be changed, or it was changed before.

    Args:
        ctx: the turn
        failed: the send that failed
        report: what it brought
        verdict: what that is
    """
    kind = None if verdict.failure is None else KINDS.get(verdict.failure)
    if kind is None or kind in ctx.state.changes:
        return None
    if kind == "images":
        return (yield from _leave_out_images(ctx, failed, report))
    if kind == "plain":
        return (yield from _if_different(ctx, failed, replace(failed, plain=True), {"kind": kind}))
    if verdict.limit_tokens is None:
        return None
    change = {"kind": kind, "max_tokens": verdict.limit_tokens}
    return (yield from _if_different(ctx, failed, replace(failed, max_tokens=verdict.limit_tokens), change))


def pointed_row(ctx: Context, failed: Send, report: Report) -> Part[int | None]:
    """Return the seq of the unaccepted row whose images a provider points at; None: it points at none of them."""
    rows = [row for row in ctx.history.increment if images_of(row)]
    pointer = pointer_of(report) if rows else None
    if pointer is None:
        return None
    meant = set((yield from ask(ctx, Locate(send=failed, pointer=pointer), Located)).images)
    return next((row.seq for row in rows if any(each["data_base64"] in meant for each in images_of(row))), None)


def _if_different(ctx: Context, failed: Send, changed: Send, change: dict[str, Json]) -> Part[Repair | None]:
    """Return the change if it makes another request: the same bytes are never sent again."""
    compared = yield from ask(ctx, Compare(before=failed, after=changed), Compared)
    return Repair(change=change) if compared.differs else None


def _leave_out_images(ctx: Context, failed: Send, report: Report) -> Part[Repair | None]:
    """Replace the images the provider points at, else all; only those of rows that are not accepted can be."""
    rows = [row for row in ctx.history.increment if images_of(row)]
    pointer = pointer_of(report)
    meant: list[str] = []
    if rows and pointer is not None:
        meant = (yield from ask(ctx, Locate(send=failed, pointer=pointer), Located)).images
    views, count = without_images(rows, meant or None)
    return Repair(change={"kind": "images", "images": count}, views=views) if views else None
