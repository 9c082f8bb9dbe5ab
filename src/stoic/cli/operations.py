"""`stoic operations`: the journal of tool calls, and a person's decision about one whose effect is unknown."""

import asyncio
import os
from typing import IO

from stoic.cli import exits
from stoic.cli.cleaning import json_text, one_line
from stoic.cli.opening import log_to_list, opened, opened_log, require_log, require_thread
from stoic.cli.screen import Style
from stoic.cli.timeline import moment
from stoic.core.history import EFFECTS
from stoic.errors import UsageError
from stoic.records import Operation, Record
from stoic.runtime.resolutions import Decision, resolve
from stoic.settings import read_settings
from stoic.wiring import Runtime, SystemClock

_STYLES = {"returned": "green", "raised": "red", "unknown": "yellow", "running": "cyan"}


class OperationLine(Record, frozen=True, omit_defaults=False):
    """One operation for programs."""

    operation: str
    thread: str
    tool: str
    effect: str
    state: str
    """`intended`, `running`, `returned`, `raised` or `unknown`."""
    status: str | None
    """`done`, `not_done` or `unknown`: what the tool's status function or a person said; null: nobody was asked."""
    runs: int
    started_at: int | None
    """Epoch milliseconds."""
    ended_at: int | None
    lost: bool = False
    """Whether it stands as running although its process ended: what became of it is not known."""


def list_operations(*, thread: str | None, unknown: bool, as_json: bool, stdout: IO[str]) -> int:
    """Print the operations, the newest first.

    Args:
        thread: of one thread; None: of all
        unknown: only those whose effect is unknown and that nobody has decided about
        as_json: one JSON object a line
        stdout: where to

    Raises:
        UsageError: there is no such thread
    """
    if thread is not None:
        require_log(f"there is no thread {thread!r}")
    elif not log_to_list():
        return exits.COMPLETED
    found, lost = asyncio.run(_read(thread))
    chosen = [each for each in found if not unknown or is_undecided(each, lost)]
    if as_json:
        for each in chosen:
            stdout.write(json_text(_line(each, lost)) + "\n")
        return exits.COMPLETED
    style = Style(stdout, os.environ)
    for each in chosen:
        started = f" · {moment(each.started_at)}" if each.started_at is not None else ""
        facts = f"{each.effect} · {_said(each, lost)}{started}"
        stdout.write(f"{one_line(each.id)}  {one_line(each.tool)}  {style(facts, _STYLES.get(each.state, 'dim'))}\n")
    if not chosen:
        stdout.write("no operation waits for a decision\n" if unknown else "no operations yet\n")
    return exits.COMPLETED


def resolve_operation(operation: str, decision: str, *, stdout: IO[str]) -> int:
    """Store a person's decision and say what it means.

    Raises:
        UsageError: neither `done` nor `not_done`, or the operation cannot be decided about now
    """
    if decision not in {"done", "not_done"}:
        raise UsageError(f"decision {decision!r} is neither done nor not_done")
    require_log(f"there is no operation {operation!r}")
    decided = asyncio.run(_resolve(operation, decision))  # pyright: ignore[reportArgumentType] - one of the two
    stdout.write(f"{one_line(decided.id)} of {one_line(decided.tool)} is {decision}; an equal call may run again\n")
    return exits.COMPLETED


def is_undecided(operation: Operation, lost: set[str]) -> bool:
    """Tell whether a person's decision would change something; `lost` are operations whose process ended meanwhile."""
    ended_unknown = operation.state == "unknown" or operation.id in lost
    return ended_unknown and operation.effect in EFFECTS and operation.status not in {"done", "not_done"}


async def _read(thread: str | None) -> tuple[list[Operation], set[str]]:
    """Return the operations, and the ids of those that stand as running although no living process works on them."""
    async with opened_log() as store:
        if thread is not None:
            await require_thread(store, thread)
        found, now_ms = await store.operations(thread), SystemClock().now_ms()
        running = [each for each in found if each.state == "running"]
        held = {each: await store.holder(each, now_ms) for each in {operation.thread for operation in running}}
        return found, {each.id for each in running if held[each.thread] is None}


async def _resolve(operation: str, decision: Decision) -> Operation:
    async with opened(Runtime(settings=read_settings())) as runtime:
        return await resolve(runtime.outside, runtime.owner.id, operation, decision, runtime.ends)


def _line(operation: Operation, lost: set[str]) -> OperationLine:
    return OperationLine(
        operation=operation.id,
        thread=operation.thread,
        tool=operation.tool,
        effect=operation.effect,
        state=operation.state,
        status=operation.status,
        runs=operation.runs,
        started_at=operation.started_at,
        ended_at=operation.ended_at,
        lost=operation.id in lost,
    )


def _said(operation: Operation, lost: set[str]) -> str:
    """Return the state for people; what is known beside it stands beside it."""
    if operation.id in lost:
        return "was running when its process ended"
    if operation.state == "raised" and not operation.runs:
        return "not run"
    if operation.state == "intended":
        return "not started"
    known = {"done": "end lost, known to be done", "not_done": "end lost, known not to be done"}
    return known.get(operation.status or "", "effect UNKNOWN") if operation.state == "unknown" else operation.state
