"""`stoic operations`: the journal of tool calls, and a person's decision about one whose effect is unknown."""

import asyncio
import os
from typing import IO

import msgspec

from stoic.cli import exits
from stoic.cli.cleaning import one_line
from stoic.cli.opening import log_exists, opened, opened_log, require_thread
from stoic.cli.screen import Style
from stoic.cli.timeline import moment
from stoic.errors import UsageError
from stoic.records import Operation, Record
from stoic.runtime.resolutions import Decision, resolve
from stoic.settings import read_settings
from stoic.wiring import Runtime

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
    found = asyncio.run(_read(thread)) if log_exists() else []
    if thread is not None and not log_exists():
        raise UsageError(f"there is no thread {thread!r}: the log {read_settings().database} does not exist yet")
    chosen = [each for each in found if not unknown or is_undecided(each)]
    if as_json:
        for each in chosen:
            stdout.write(msgspec.json.encode(_line(each)).decode() + "\n")
        return exits.COMPLETED
    style = Style(stdout, os.environ)
    for each in chosen:
        started = moment(each.started_at) if each.started_at is not None else "not started"
        facts = f"{each.effect} · {_said(each)} · {started}"
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
    if not log_exists():
        raise UsageError(f"there is no operation {operation!r}: the log {read_settings().database} does not exist yet")
    decided = asyncio.run(_resolve(operation, decision))  # pyright: ignore[reportArgumentType] - one of the two
    stdout.write(f"{one_line(decided.id)} of {one_line(decided.tool)} is {decision}; an equal call may run again\n")
    return exits.COMPLETED


def is_undecided(operation: Operation) -> bool:
    """Tell whether a person's decision would change something."""
    return operation.state == "unknown" and operation.status not in {"done", "not_done"}


async def _read(thread: str | None) -> list[Operation]:
    async with opened_log() as store:
        if thread is not None:
            await require_thread(store, thread)
        return await store.operations(thread)


async def _resolve(operation: str, decision: Decision) -> Operation:
    async with opened(Runtime(settings=read_settings())) as runtime:
        return await resolve(runtime.outside, runtime.owner.id, operation, decision)


def _line(operation: Operation) -> OperationLine:
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
    )


def _said(operation: Operation) -> str:
    """Return the state for people; what is known beside it stands beside it."""
    if operation.state == "raised" and not operation.runs:
        return "not run"
    decided = {"done": ", decided: done", "not_done": ", decided: not done"}.get(operation.status or "", "")
    return f"effect UNKNOWN{decided}" if operation.state == "unknown" else operation.state
