"""`stoic tasks`: background work started, listed, looked at, told something, waited for and stopped (SPEC §12)."""

import asyncio
import math
import os
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import IO

import msgspec

from stoic.cli import exits
from stoic.cli.cleaning import harmless, json_text, one_line, quoted, shortened, stripped
from stoic.cli.endings import exit_code
from stoic.cli.inputs import check_utf8, read_stdin
from stoic.cli.opening import log_to_list, opened, require_log, require_thread
from stoic.cli.preparing import WorkOptions
from stoic.cli.screen import Style
from stoic.cli.unattended import Defaults, UnattendedAgents, read_defaults
from stoic.cli.waiting import waits_said
from stoic.core import notes, receipt
from stoic.core.commands import Ending
from stoic.errors import NoSuchThreadError, UsageError
from stoic.ports import Clock, Store
from stoic.records import Json, Outcome, Receipt, Record, ThreadRecord
from stoic.settings import read_settings
from stoic.tools.desk import Stopped, TaskStatus
from stoic.wiring import Runtime

_STYLES = {"completed": "green", "waiting": "yellow", "parked": "yellow", "interrupted": "yellow", "running": "cyan"}
_WORST = (
    exits.COMPLETED,
    exits.CANCELLED,
    exits.FAILED_OUTSIDE,
    exits.FAILED_BY_REQUEST,
    exits.STOPPED,
    exits.REFUSED,
    exits.BUG,
)
"""Exit codes of ended tasks, the mildest first: the later ones are the less likely to go by themselves."""
_TEXT_CELLS = 60


class TaskLine(Record, frozen=True, omit_defaults=False):
    """One task for programs."""

    task: str
    state: str
    """`waiting` for whoever runs it, `running`, `interrupted` (its process is gone), `parked` or `ended`."""
    outcome: str | None
    """Of the newest ended turn, like the next three: `completed`, `stopped`, `failed` or `cancelled`."""
    reason: str | None
    """Of a stop: `refused`, `stuck_loop`, `budget` or `human`."""
    failure_class: str | None
    delivery: str | None
    refused: bool
    """Whether it ended by refusal: nothing of it ever runs again."""
    owner: str | None
    depth: int
    turns: int
    waits_for: str | None
    """Of a parked one: `permission`, `task`, `time` or `event`."""
    event: str | None
    """What has to happen, such as `credential anthropic`."""
    until_ms: int | None
    """Epoch milliseconds."""
    text: str
    """Its answer; on any other end what it had said."""
    note: str

    def said(self) -> str:
        """Return the state for people; a refusal or a failure never looks like success."""
        return self.ending if self.state == "ended" else self.state

    @property
    def ending(self) -> str:
        """How the newest ended turn ended; empty: none has."""
        why = self.failure_class or self.reason
        return f"{self.outcome or ('stopped' if self.refused else '')}{f' ({why})' if why else ''}"


class _Known(Record, frozen=True):
    """A task with everything that is said of it."""

    line: TaskLine
    record: ThreadRecord
    status: TaskStatus
    receipt: Receipt | None


def list_tasks(*, owner: str | None, as_json: bool, stdout: IO[str]) -> int:
    """Print the tasks, the oldest first; as JSON, one object a line.

    Args:
        owner: of one thread only; None: all
        as_json: for programs
        stdout: where to

    Raises:
        UsageError: there is no such owner
    """
    if owner is not None:
        require_log(f"there is no thread {owner!r}")
    elif not log_to_list():
        return exits.COMPLETED
    found = asyncio.run(_all(owner))
    if as_json:
        _print_json(stdout, *(each.line for each in found))
        return exits.COMPLETED
    style = Style(stdout, os.environ)
    for each in found:
        stdout.write(_row(each, style))
    if not found:
        stdout.write("no tasks yet; `stoic tasks start` makes one\n")
    return exits.COMPLETED


def show_task(task: str, *, as_json: bool, stdout: IO[str]) -> int:
    """Print where a task stands and what of it may travel to its owner. Raises UsageError (no such task)."""
    known = asyncio.run(_one(task))
    if as_json:
        _print_json(stdout, {"task": known.line, "receipt": known.receipt, "parked": known.record.parked})
        return exits.COMPLETED
    style = Style(stdout, os.environ)
    stdout.write(_row(known, style, brief=True))
    if known.receipt is not None:
        for line in stripped(receipt.told(known.receipt)).splitlines()[1:]:
            stdout.write(f"  {line}\n")
    if known.line.refused and known.line.note not in (known.receipt.note if known.receipt else ""):
        stdout.write(f"  {style(known.line.note, 'red')}\n")
    stdout.write(style(f"  `stoic show {quoted(task)}` shows its log", "dim") + "\n")
    return exits.COMPLETED


def message_task(task: str, text: str, *, stdout: IO[str], stderr: IO[str]) -> int:
    """Tell a task something; it answers in a turn of its own, which is run by whoever runs the database's work.

    Returns:
        The exit code of a refusal where the task ended by one: it was told nothing.

    Raises:
        UsageError: there is no such task, or the text is empty
    """
    require_log(f"there is no task {task!r}")
    status = asyncio.run(_message(task, read_text(text, "TEXT")))
    if status.refusal is not None:
        stderr.write(f"stoic: task {one_line(task)}: {notes.START_ANEW}\n")
        return exits.REFUSED
    stdout.write(f"told {one_line(task)}; it answers in its next turn, which `stoic up` runs\n")
    return exits.COMPLETED


def wait_tasks(
    tasks: Sequence[str], *, until_all: bool, timeout_seconds: float | None, as_json: bool, stdout: IO[str]
) -> int:
    """Wait until all of these tasks, or one of them, have ended, and print where each stands then; others run them.

    Returns:
        The worst exit code of those that ended; the one of a parked turn if the time was over before.

    Raises:
        UsageError: there is no such task, or the time is below 0
    """
    if timeout_seconds is not None and not 0 <= timeout_seconds < math.inf:
        raise UsageError(f"--timeout is {timeout_seconds:g}; it must be a number from 0")
    require_log(f"there is no task {tasks[0]!r}")
    if sys.stderr.isatty():
        print("stoic: waiting for whoever runs this database's work, such as `stoic up`", file=sys.stderr)
    found, outcomes = asyncio.run(_wait(tasks, until_all=until_all, timeout_seconds=timeout_seconds))
    style = Style(stdout, os.environ)
    if as_json:
        _print_json(stdout, *(each.line for each in found))
    else:
        for each in found:
            stdout.write(_row(each, style))
    ended = [each.line.state == "ended" for each in found]
    if all(ended) or (any(ended) and not until_all):
        return max((exit_code(each) for each in outcomes), key=_WORST.index, default=exits.REFUSED)
    missing = ", ".join(one_line(each.line.task) for each in found if each.line.state != "ended")
    print(f"stoic: after {timeout_seconds:g} s still unfinished: {missing}", file=sys.stderr)
    return exits.PARKED


def stop_task(task: str, *, as_json: bool, stdout: IO[str]) -> int:
    """Stop a task's running turn, or keep one that waits from going on, and print what it was at.

    Returns:
        The exit code of a parked turn if nobody could end it now: whoever runs it next does.

    Raises:
        UsageError: there is no such task
    """
    require_log(f"there is no task {task!r}")
    found = asyncio.run(_stop(task))
    if as_json:
        _print_json(stdout, found)
    else:
        for line in _stopped_said(found):
            stdout.write(line + "\n")
        if found.refused:
            stdout.write(Style(stdout, os.environ)(f"  {found.note}", "red") + "\n")
    return exits.COMPLETED if found.state == "ended" else exits.PARKED


def read_text(text: str, name: str) -> str:
    """Return an argument, or all of stdin for `-`. Raises UsageError if it is empty or not UTF-8."""
    if text == "-":
        name = f"{name} on stdin"
        text = read_stdin(name)
    else:
        check_utf8(text, name)
    if not text.strip():
        raise UsageError(f"{name} is empty; say something")
    return text


@asynccontextmanager
async def _opened_desk(defaults: Defaults | None = None) -> AsyncGenerator[Runtime]:
    """Open a runtime that runs no task by itself; `defaults`: None: none is made an agent of either."""
    defaults = defaults or Defaults(settings=read_settings(), made=None)
    runtime = Runtime(
        settings=defaults.settings, delivers_notices=False, runs_tasks=False, agents=UnattendedAgents(defaults)
    )
    async with opened(runtime):
        yield runtime


async def last_outcome(store: Store, task: str) -> Outcome | None:
    """Return how a task's newest ended turn ended, with all that its exit code depends on; None: none has."""
    rows = (await store.load(task)).rows
    told = next((row for row in reversed(rows) if row.kind == "outcome"), None)
    return None if told is None else msgspec.convert(told.content, Outcome)


def waits_of(status: TaskStatus, record: ThreadRecord) -> str:
    """Return what a parked task waits for; empty: it does not."""
    return waits_said(record.parked) if status.state == "parked" and record.parked else ""


async def _all(owner: str | None) -> list[_Known]:
    async with _opened_desk() as runtime:
        if owner is not None:
            await require_thread(runtime.store, owner)
        records = await runtime.store.tasks(owner=owner)
        return [await _known(runtime, each.id) for each in reversed(records)]


async def _one(task: str) -> _Known:
    require_log(f"there is no task {task!r}")
    async with _opened_desk() as runtime:
        return await _known(runtime, task)


async def _known(runtime: Runtime, task: str) -> _Known:
    """Return a task. Raises UsageError: there is none of that id."""
    status = await runtime.tasks.status(task)
    record = await runtime.store.thread(task)
    delivered = await runtime.store.deliveries(task=task)
    of = msgspec.convert(delivered[0].delivery.receipt, Receipt) if delivered else None
    return _Known(
        line=_line(status, record, lost=await _is_lost(runtime.store, runtime.clock, record)),
        record=record,
        status=status,
        receipt=of,
    )


async def _is_lost(store: Store, clock: Clock, record: ThreadRecord) -> bool:
    """Tell whether a task's turn is open although no living process works on it."""
    if record.phase != "open" or record.is_stopped:
        return False
    try:
        return await store.holder(record.id, clock.now_ms()) is None
    except NoSuchThreadError:  # deleted meanwhile
        return False


async def _message(task: str, text: str) -> TaskStatus:
    async with _opened_desk() as runtime:
        try:
            await runtime.tasks.message(task, text)
        except UsageError:
            status = await runtime.tasks.status(task)
            if status.refusal is None:
                raise
            return status
        return await runtime.tasks.status(task)


async def _wait(
    tasks: Sequence[str], *, until_all: bool, timeout_seconds: float | None
) -> tuple[list[_Known], list[Outcome]]:
    async with _opened_desk() as runtime:
        statuses = await runtime.tasks.wait(tasks, until_all=until_all, timeout_seconds=timeout_seconds)
        outcomes = [await last_outcome(runtime.store, each.task) for each in statuses if each.state == "ended"]
        return [await _known(runtime, each.task) for each in statuses], [each for each in outcomes if each]


async def _stop(task: str) -> Stopped:
    """Stop a task. One that nobody works on is ended here, by its own cancel alone: no model is asked."""
    async with _opened_desk(read_defaults(WorkOptions())) as runtime:
        before = await runtime.tasks.status(task)
        if before.state == "ended" or await runtime.store.holder(task, runtime.clock.now_ms()) is not None:
            return await runtime.tasks.stop(task)
        stopping = asyncio.create_task(runtime.tasks.stop(task))
        while not stopping.done() and not await _has_cancel(runtime.store, task):
            await asyncio.wait([stopping], timeout=0.01)
        ended = asyncio.Event()

        def is_it(record: ThreadRecord) -> bool:
            return record.id == task

        def note(_thread: str, _ending: Ending) -> None:
            ended.set()

        worker = runtime.worker(takes=is_it, schedules=False, on_ending=note)
        working = asyncio.create_task(worker.run())
        ending = asyncio.create_task(ended.wait())
        try:
            # What else came for the task is left to whoever runs the database's work.
            await asyncio.wait([stopping, ending], return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in (working, ending):
                each.cancel()
            await asyncio.gather(working, ending, return_exceptions=True)
        return await stopping


async def _has_cancel(store: Store, task: str) -> bool:
    return any(entry.kind == "cancel" for entry in await store.inbox(task))


def _line(status: TaskStatus, record: ThreadRecord, *, lost: bool) -> TaskLine:
    parked: dict[str, Json] = record.parked or {}
    return TaskLine(
        task=status.task,
        state="interrupted" if lost else status.state,
        outcome=status.outcome,
        reason=status.reason,
        failure_class=status.failure_class,
        delivery=status.delivery,
        refused=status.refusal is not None or record.is_stopped,
        owner=status.owner,
        depth=status.depth,
        turns=status.turns,
        waits_for=status.waits_for,
        event=parked.get("event") if status.state == "parked" else None,
        until_ms=status.until_ms,
        text=status.text,
        note=status.note,
    )


def _row(known: _Known, style: Style, *, brief: bool = False) -> str:
    """Return a task as a line: its id, where it stands, whose it is, and what it waits for or said."""
    line = known.line
    colour = _STYLES.get(line.outcome or "", "red") if line.state == "ended" else _STYLES.get(line.state, "plain")
    before = f" · before: {line.ending}" if line.state != "ended" and line.ending else ""
    owner = f" · of {one_line(line.owner)}" if line.owner else ""
    waits = waits_of(known.status, known.record)
    waiting = {"waiting": "`stoic up` runs it", "interrupted": "`stoic up` goes on with it"}.get(line.state, waits)
    said = "" if brief or line.outcome != "completed" else shortened(one_line(line.text), _TEXT_CELLS)
    rest = "".join(f" · {each}" for each in (waiting, said) if each)
    return f"{one_line(line.task)}  {style(line.said(), colour)}{before}{owner}{rest}\n"


def _stopped_said(found: Stopped) -> list[str]:
    named = one_line(found.task)
    if found.stopped:
        head = f"{named} is stopped; `stoic tasks message {quoted(found.task)} TEXT` lets it go on"
    elif found.state == "ended":
        head = f"{named} had ended {'by refusal' if found.refused else 'before'}; nothing is changed"
    else:
        head = f"{named} is to be stopped: whoever runs it next ends it without asking a model; it is {found.state} now"
    last, of = found.evidence.last_tool, found.evidence
    lines = [head]
    if of.last_message:
        lines += ["  last message:", *(f"    {each}" for each in stripped(of.last_message).splitlines())]
    if last is not None:
        lines.append(f"  last tool: {one_line(last.tool)} {one_line(last.args_firstline)} · {one_line(last.outcome)}")
    if of.changed_paths:
        lines.append(f"  changed paths: {', '.join(map(one_line, of.changed_paths))}")
    return lines


def print_answer(text: str, stdout: IO[str]) -> None:
    """Print a task's answer, ending with a newline."""
    said = harmless(text)
    stdout.write(said if said.endswith("\n") or not said else f"{said}\n")


def _print_json(stdout: IO[str], *values: Record | Json) -> None:
    for value in values:
        stdout.write(json_text(value) + "\n")
