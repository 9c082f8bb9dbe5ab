"""`stoic switch`, `fresh`, `compact` and `fork`: what a person decides about a thread between two turns."""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import IO, TypeVar

from stoic.cli import exits
from stoic.cli.cleaning import one_line, quoted
from stoic.cli.emitting import ViewEmit
from stoic.cli.opening import opened, require_log, require_thread
from stoic.cli.preparing import Prepared, WorkOptions, prepare
from stoic.cli.screen import Style
from stoic.cli.segments import switched
from stoic.cli.stopping import Stopper
from stoic.cli.telling import HeldEnding
from stoic.cli.views import JsonView, PlainView
from stoic.cli.worker import make_agent
from stoic.events import Compacted, CompactionFailed, Happening
from stoic.runtime.boundaries import Boundary
from stoic.runtime.threads import Thread
from stoic.settings import read_settings
from stoic.wiring import Runtime

T = TypeVar("T")

_UNNAMED = "none:none"
"""The model of an agent that is only looked at."""
_CODES = {
    "nothing": exits.COMPLETED,
    "refused": exits.REFUSED,
    "empty": exits.FAILED_BY_REQUEST,
    "cut": exits.FAILED_BY_REQUEST,
    "cancelled": exits.CANCELLED,
}
"""By why a conversation was not summed up; else it failed outside."""


def switch(thread: str, model: str | None, mode: str | None, *, stdout: IO[str]) -> int:
    """Let another model answer, or the agent be in another mode, from the thread's next turn on.

    Raises:
        UsageError: neither is given, there is no such thread or mode, or the model cannot be reached as configured
    """
    asyncio.run(_decide(thread, lambda handle: handle.switch(model, mode=mode), model or _UNNAMED))
    chosen = {what: name for what, name in (("model", model), ("mode", mode)) if name is not None}
    stdout.write(f"{switched(chosen)} from the next turn of {one_line(thread)} on\n")
    return exits.COMPLETED


def fresh(thread: str, *, stdout: IO[str]) -> int:
    """Leave all history of a thread behind.

    Raises:
        UsageError: there is no such thread, or it ended by refusal
    """
    boundary = asyncio.run(_decide(thread, Thread.fresh))
    stdout.write(f"{fresh_said(boundary)}\n")
    return exits.COMPLETED


def fork(thread: str, new: str, *, stdout: IO[str]) -> int:
    """Begin a thread with another one's log.

    Raises:
        UsageError: there is no such thread, the new one exists, or a turn is open
    """
    asyncio.run(_decide(thread, lambda handle: handle.fork(new)))
    stdout.write(
        f"{one_line(new)} begins with the log of {one_line(thread)}; `stoic run --thread {quoted(new)} PROMPT`\n"
    )
    return exits.COMPLETED


def compact(options: WorkOptions, *, as_json: bool) -> int:
    """Have a thread's conversation summed up.

    Raises:
        UsageError: there is no such thread, it ended by refusal, or the model cannot be reached as configured
    """
    require_log(f"there is no thread {options.thread!r}")
    return asyncio.run(_compact(prepare(options, "deny"), as_json=as_json))


def fresh_said(boundary: Boundary) -> str:
    """Return what became of a fresh start."""
    if boundary.state == "waiting":
        return "the fresh start waits for the open turn, and for messages that came before it"
    return f"generation {boundary.generation} begins without history"


def compaction_said(boundary: Boundary) -> str:
    """Return what became of a compaction."""
    match boundary.state:
        case "waiting":
            return "summing up waits for the open turn, and for messages that came before it"
        case "failed":
            return f"not summed up: {one_line(boundary.message)}"
        case "begun":
            return f"generation {boundary.generation} begins with a summary"


async def _decide(thread: str, decide: Callable[[Thread], Awaitable[T]], model: str = _UNNAMED) -> T:
    """Carry out a decision on a thread that exists; it asks no model."""
    require_log(f"there is no thread {thread!r}")
    async with opened(Runtime(settings=read_settings(), delivers_notices=False)) as runtime:
        await require_thread(runtime.store, thread)
        return await decide(runtime.thread(thread, make_agent(model, Path(), "deny")))


class _Activity(PlainView):
    """Shows everything but what came of it in the end, which is the command's answer."""

    def show(self, event: Happening) -> None:
        """Show one event."""
        if not isinstance(event, Compacted | CompactionFailed):
            super().show(event)


async def _compact(prepared: Prepared, *, as_json: bool) -> int:
    runtime = Runtime(settings=prepared.settings, delivers_notices=False)
    thread = runtime.thread(str(prepared.thread), prepared.agent)
    style = Style(sys.stderr, os.environ)
    view = JsonView(sys.stdout.buffer) if as_json else _Activity(sys.stdout, sys.stderr, style)
    stopper = Stopper(lambda: runtime.cancel(thread.id), view.say)
    try:
        async with opened(runtime):
            await require_thread(runtime.store, thread.id)
            stopper.listen()
            emit = HeldEnding(ViewEmit(view, stopper))
            boundary = await thread.compact(emit)
            await emit.tell_notices(runtime, thread.id)
    except asyncio.CancelledError:
        if stopper.code is None:
            raise
        return stopper.code
    if not as_json:
        print(compaction_said(boundary))
    if boundary.why == "cancelled" and stopper.interrupted:
        return exits.INTERRUPTED
    return exits.COMPLETED if boundary.why is None else _CODES.get(boundary.why, exits.FAILED_OUTSIDE)
