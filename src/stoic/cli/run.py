"""`stoic run`: sends a message to an agent on a thread and shows its turn, or goes on with what was left open."""

import asyncio
import os
import sys
from pathlib import Path

from stoic.cli import exits
from stoic.cli.asking import Asker
from stoic.cli.driving import drive
from stoic.cli.emitting import ViewEmit
from stoic.cli.endings import exit_code
from stoic.cli.inputs import read_prompt
from stoic.cli.keyboard import Keyboard
from stoic.cli.live import LiveView
from stoic.cli.names import readable_id
from stoic.cli.opening import opened, require_thread
from stoic.cli.pictures import read_images
from stoic.cli.preparing import Prepared, WorkOptions, prepare
from stoic.cli.screen import Screen, Style
from stoic.cli.stopping import Stopper
from stoic.cli.views import JsonView, PlainView, View
from stoic.core.commands import Ending
from stoic.core.plan import Permission
from stoic.errors import UsageError
from stoic.records import ImagePart, Parked
from stoic.tools.workspace import Workspace
from stoic.wiring import Runtime


class RunOptions(WorkOptions, frozen=True):
    """What the command line said."""

    prompt: str | None = None
    as_json: bool = False
    images: list[Path] = []


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
    runtime, agent = Runtime(settings=prepared.settings), prepared.agent
    thread = runtime.thread(readable_id(runtime.ids.new()) if prepared.thread is None else prepared.thread, agent)
    for model in agent.models:  # a wrong one is said before anything is stored
        agent.parameters_for(runtime.connection(model))
    view = _view(options)
    stopper = Stopper(lambda: runtime.cancel(thread.id), view.say)
    try:
        async with opened(runtime):
            if prompt is None:
                await require_thread(runtime.store, thread.id)
            stopper.listen()
            if options.thread is None:
                view.say(f"thread {thread.id}")
            for note in prepared.notes:
                view.say(note)
            asker = _asker(options, view, stopper, prepared.workspace)
            emit = ViewEmit(view, stopper)
            ending = await drive(runtime, thread, prompt, emit, asker.ask if asker else None, images=images)
            return _code(ending, stopper, thread.id)
    except asyncio.CancelledError:
        if stopper.code is None:
            raise
        if stopper.code in {exits.INTERRUPTED, exits.TERMINATED}:
            view.say(f"left as it stands; `stoic run --thread {thread.id}` goes on")
        return stopper.code


def _code(ending: Ending | None, stopper: Stopper, thread: str) -> int:
    if ending is None:
        raise UsageError(f"thread {thread!r} has nothing to go on with: no turn is open; give a PROMPT")
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
