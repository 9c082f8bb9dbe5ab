"""The task tools: work in the background that a model starts, tells, waits for and stops (SPEC §12)."""

from typing import Literal

import msgspec

from stoic.core.commands import Wait
from stoic.errors import UsageError
from stoic.records import Json, Record
from stoic.tools.context import OperationId, ToolContext
from stoic.tools.declaration import Tool
from stoic.tools.desk import TaskDesk, TaskSpec, TaskStatus

LONGEST_WAIT_SECONDS = 86_400
DEFAULT_WAIT_SECONDS = 3_600


def task_tools() -> list[Tool]:
    """Return `task_start`, `task_message`, `task_wait`, `task_stop` and `task_status`."""
    return [
        Tool(task_start, effect="exec", internal=True),
        Tool(task_message, effect="send", internal=True),
        Tool(task_wait, effect="wait"),
        Tool(task_stop, effect="exec", internal=True, idempotent=True),
        Tool(task_status, effect="poll"),
    ]


async def task_start(
    brief: str,
    operation: OperationId,
    context: ToolContext,
    *,
    model: str | None = None,
    tools: list[str] | None = None,
    workspace: str | None = None,
    max_rounds: int | None = None,
    max_cost_usd: float | None = None,
    max_seconds: float | None = None,
) -> str:
    """Start a task in the background and return its id at once; its result comes to you as an event.

    A task sees nothing of this conversation: write everything it needs into the brief.

    Args:
        brief: what to do, what to return, and what not to touch
        operation: given by the runtime
        context: given by the runtime
        model: PROVIDER:NAME that works on it; default yours
        tools: names of your tools that it may use; default all
        workspace: a folder within yours that it works in; default yours
        max_rounds: rounds of one of its turns
        max_cost_usd: what one of its turns may cost
        max_seconds: how long one of its turns may take
    """
    foreign = [name for name in tools or [] if context.tools is not None and name not in context.tools]
    if foreign:
        raise UsageError(f"you have no tool {foreign[0]!r} to give; yours are {', '.join(context.tools or [])}")
    spec = TaskSpec(
        model=model or context.model,
        tools=tools if tools is not None else context.tools,
        workspace=workspace,
        max_rounds=max_rounds,
        max_cost_usd=max_cost_usd,
        max_seconds=max_seconds,
    )
    status = await _desk(context).start(brief, owner=context.thread, task=operation, spec=spec)
    return _shown({"task": status.task, "state": status.state})


async def task_message(
    task: str,
    text: str,
    operation: OperationId,
    context: ToolContext,
    *,
    wait: bool = False,
    timeout_seconds: int = DEFAULT_WAIT_SECONDS,
) -> str | Wait:
    """Tell one of your tasks something; it answers in a turn of its own, whose result comes to you as an event.

    Args:
        task: its id
        text: what it should know or do
        operation: given by the runtime
        context: given by the runtime
        wait: whether to wait for that turn's end; the result still comes as an event
        timeout_seconds: how long to wait at the most
    """
    desk = _desk(context)
    turn = await desk.message(task, text, entry=f"task_message:{operation}", owner=context.thread)
    if not wait:
        return _shown({"task": task, "state": "told"})
    return await _waited(desk, context, [task], "all", _seconds(timeout_seconds), turns={task: turn})


async def task_wait(
    tasks: list[str],
    context: ToolContext,
    *,
    until: Literal["any", "all"] = "all",
    timeout_seconds: int = DEFAULT_WAIT_SECONDS,
) -> str | Wait:
    """Wait for the end of tasks of yours; it costs nothing. Their results come to you as events.

    Args:
        tasks: their ids
        context: given by the runtime
        until: `any`: until one has ended; `all`: until every one has
        timeout_seconds: how long to wait at the most, up to a day
    """
    if not tasks:
        raise UsageError("name the tasks to wait for")
    return await _waited(_desk(context), context, tasks, until, _seconds(timeout_seconds), turns={})


async def task_stop(task: str, context: ToolContext) -> str:
    """Stop a task of yours and say what it was at; it can be told to go on, unless a refusal has ended it.

    Args:
        task: its id
        context: given by the runtime
    """
    return _shown(await _desk(context).stop(task, owner=context.thread))


async def task_status(context: ToolContext, task: str | None = None) -> str:
    """Say where a task of yours stands, or all of them.

    Args:
        context: given by the runtime
        task: its id; default all of yours
    """
    desk = _desk(context)
    if task is not None:
        return _shown(await desk.status(task, owner=context.thread))
    return _shown(await desk.of(context.thread))


async def _waited(
    desk: TaskDesk,
    context: ToolContext,
    tasks: list[str],
    until: Literal["any", "all"],
    seconds: int,
    *,
    turns: dict[str, int | None],
) -> str | Wait:
    found = [await desk.status(task, owner=context.thread) for task in tasks]
    ended = [each for each in found if has_ended(each, turns.get(each.task, 1))]
    missing = [each.task for each in found if each not in ended]
    until_ms = context.asked_at_ms + seconds * 1000
    is_over = context.now_ms >= until_ms
    if not missing or (until == "any" and ended) or is_over:
        return _shown(
            {
                "ended": [{"task": each.task, "outcome": each.outcome, "delivery": each.delivery} for each in ended],
                "still_working": [{"task": each.task, "state": each.state} for each in found if each.task in missing],
                "timed_out": bool(is_over and missing and not (until == "any" and ended)),
                "note": "The results of those that ended come to you as events.",
            }
        )
    return Wait(waits_for="task", until_ms=until_ms, tasks=list(tasks))  # equal at each look: the turn is parked once


def has_ended(status: TaskStatus, turn: int | None = 1) -> bool:
    """Tell whether a task's turn of that number, or a later one, has ended; None: it has not begun."""
    if status.refusal is not None:
        return True
    return status.state == "ended" and turn is not None and status.turns >= turn


def _desk(context: ToolContext) -> TaskDesk:
    if context.tasks is None:
        raise UsageError("tasks cannot be started here: no runtime that runs them")
    return context.tasks


def _seconds(timeout_seconds: int) -> int:
    if not 0 <= timeout_seconds <= LONGEST_WAIT_SECONDS:
        raise UsageError(f"timeout_seconds must be from 0 to {LONGEST_WAIT_SECONDS}")
    return timeout_seconds


def _shown(value: Record | Json) -> str:
    return msgspec.json.encode(value).decode()
