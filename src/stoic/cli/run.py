"""`stoic run`: sends a message to an agent on a thread and shows its turn, or goes on with what was left open."""

import asyncio
import os
import sys
from pathlib import Path

from stoic.cli import exits
from stoic.cli.agents import CliAgents
from stoic.cli.asking import Asker
from stoic.cli.cleaning import quoted
from stoic.cli.driving import drive
from stoic.cli.emitting import ViewEmit
from stoic.cli.endings import exit_code
from stoic.cli.inputs import read_prompt
from stoic.cli.keyboard import Keyboard
from stoic.cli.live import LiveView
from stoic.cli.names import AGENT_NAME, readable_id
from stoic.cli.opening import opened, reopen_chosen, require_log, require_thread
from stoic.cli.pictures import read_images
from stoic.cli.preparing import Prepared, WorkOptions, prepare
from stoic.cli.screen import Screen, Style
from stoic.cli.states import ThreadState, read_state
from stoic.cli.stopping import Stopper
from stoic.cli.views import JsonView, PlainView, View
from stoic.cli.wording import parked
from stoic.core import notes
from stoic.core.commands import Ending
from stoic.core.plan import Permission
from stoic.errors import EndedByRefusalError, UsageError
from stoic.records import ImagePart, Parked
from stoic.runtime.threads import Thread
from stoic.tools.workspace import Workspace
from stoic.wiring import Runtime

_DENIED = "stoic: nobody is at a terminal to be asked, so writes and commands were denied; --yes allows them"


class RunOptions(WorkOptions, frozen=True):
    """What the command line said."""

    prompt: str | None = None
    as_json: bool = False
    images: list[Path] = []
    allow: int | None = None
    """So many calls that a thread stopped as a loop may repeat."""


def run(options: RunOptions) -> int:
    """Run a message, or what was left open, and return the exit code.

    Raises:
        UsageError: the command line asks for something that cannot be
        StoreError: the log failed while it was in use
    """
    if options.prompt is None and options.thread is None and not options.goes_on:
        raise UsageError(
            "there is nothing to do: give a PROMPT (- reads it from stdin), or --thread ID to go on with one"
        )
    if options.prompt is None and options.images:
        raise UsageError("--image goes with a message; give a PROMPT that says what to do with the image")
    prepared = prepare(options, _permission(options))
    if options.prompt is None:
        require_log(f"there is no thread {prepared.thread!r}")
    images = read_images(options.images)
    prompt = read_prompt(options.prompt)
    return asyncio.run(_run(options, prepared, prompt, images))


def _on_terminal(options: RunOptions) -> bool:
    return not options.as_json and sys.stdin.isatty() and sys.stdout.isatty()


def _permission(options: RunOptions) -> Permission:
    """`--yes` allows; a person at a terminal is asked; where nobody can answer, the model is told no (SPEC §10)."""
    if options.yes:
        return "allow"
    return "ask" if _on_terminal(options) else "deny"


async def _run(options: RunOptions, prepared: Prepared, prompt: str | None, images: list[ImagePart]) -> int:
    agent = prepared.agent
    runtime = Runtime(settings=prepared.settings, delivers_notices=False, agents=CliAgents(prepared.made, watched=True))
    thread = runtime.thread(
        readable_id(runtime.ids.new()) if prepared.thread is None else prepared.thread,
        agent,
        meta=prepared.made.meta(),
    )
    for model in agent.models:  # a wrong one is said before anything is stored
        agent.parameters_for(runtime.connection(model))
    view = _view(options)
    stopper = Stopper(lambda: runtime.cancel(thread.id), view.say)
    try:
        async with opened(runtime):
            if prompt is None:
                await _take_up(runtime, thread, options.allow)
            stopper.listen()
            for note in ([f"thread {thread.id}"] if options.thread is None else []) + prepared.notes:
                view.say(note)
            if prepared.chosen is not None:
                await reopen_chosen(runtime, prepared.chosen)
            asker = _asker(options, view, stopper, prepared.workspace)
            emit = ViewEmit(view, stopper)
            ending = await drive(
                runtime, thread, prompt, emit, asker.ask if asker else None, images=images, follows_tasks=True
            )
            if emit.denied:
                print(_DENIED, file=sys.stderr)
            if isinstance(ending, Parked):
                await _tell_more(runtime, ending, view)
            return await _code(runtime, ending, stopper, thread.id)
    except asyncio.CancelledError:
        if stopper.code is None:
            raise
        if stopper.code in {exits.INTERRUPTED, exits.TERMINATED}:
            view.say(f"left as it stands; `stoic run --thread {quoted(thread.id)}` goes on")
        return stopper.code


async def _take_up(runtime: Runtime, thread: Thread, allow: int | None) -> None:
    """Check that there is a thread to go on with, and pass on what a person allows it."""
    await require_thread(runtime.store, thread.id)
    record = await runtime.store.thread(thread.id)
    name = record.meta.get("agent", AGENT_NAME)
    if record.phase != "idle" and name != AGENT_NAME:
        raise UsageError(
            f"thread {thread.id!r} waits for the program that made it (its agent is {name!r}); run that again"
        )
    if allow is not None:
        await thread.allow(allow)


async def _tell_more(runtime: Runtime, ending: Parked, view: View) -> None:
    """Tell a person what the last event of a parked turn does not."""
    if isinstance(view, JsonView):
        print(f"stoic: {parked(ending)}", file=sys.stderr)
    unread = sum(entry.kind == "message" for entry in await runtime.store.inbox(ending.thread))
    if unread:
        view.say(f"{unread} message{'' if unread == 1 else 's'} of this thread will be answered after that")


def _nothing_open(state: ThreadState) -> str:
    """Say why there is nothing to go on with, and what a person can do instead."""
    named = quoted(state.thread)
    said = f"thread {state.thread!r} has nothing to go on with: no turn is open; `stoic run --thread {named} PROMPT` begins one"
    if state.detail == "stuck_loop":
        said += f", `stoic resume {named} --allow N` lets the loop that was stopped repeat N calls more"
    return said


async def _code(runtime: Runtime, ending: Ending | None, stopper: Stopper, thread: str) -> int:
    if ending is None:
        if (await runtime.store.thread(thread)).is_stopped:
            raise EndedByRefusalError(f"thread {thread}: {notes.START_ANEW}")
        raise UsageError(_nothing_open(await read_state(runtime.store, runtime.clock, thread)))
    if not isinstance(ending, Parked) and ending.outcome == "cancelled" and stopper.interrupted:
        return exits.INTERRUPTED
    return exit_code(ending)


def _view(options: RunOptions) -> View:
    if options.as_json:
        return JsonView(sys.stdout.buffer)
    status = Style(sys.stderr, os.environ)
    if sys.stdout.isatty():
        return LiveView(Screen(sys.stdout, os.environ), sys.stderr, status, asks=_permission(options) == "ask")
    return PlainView(sys.stdout, sys.stderr, status)


def _asker(options: RunOptions, view: View, stopper: Stopper, workspace: Workspace) -> Asker | None:
    if not _on_terminal(options) or not isinstance(view, LiveView):
        return None
    return Asker(view.screen, Keyboard(sys.stdin.fileno()), stopper, workspace)
