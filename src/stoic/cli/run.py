"""`stoic run`: sends a message to an agent on a thread and shows its turn, or goes on with what was left open."""

import asyncio
import errno
import os
import sys
from pathlib import Path

from stoic.cli import exits
from stoic.cli.asking import Asker
from stoic.cli.driving import drive
from stoic.cli.endings import exit_code
from stoic.cli.inputs import choose_model, choose_settings, read_prompt, read_workspace
from stoic.cli.keyboard import Keyboard
from stoic.cli.live import LiveView
from stoic.cli.names import readable_id
from stoic.cli.opening import opened, require_thread
from stoic.cli.screen import Screen, Style
from stoic.cli.stopping import Stopper
from stoic.cli.views import JsonView, PlainView, View
from stoic.cli.worker import make_agent
from stoic.core.commands import Ending
from stoic.core.plan import Permission
from stoic.errors import UsageError
from stoic.events import Happening
from stoic.records import Parked, Record
from stoic.runtime.agents import DEFAULT_MAX_ROUNDS, Agent
from stoic.settings import Settings
from stoic.tools.workspace import Workspace
from stoic.wiring import Runtime

_NOBODY_READS = frozenset({errno.EPIPE, errno.EIO})
"""A pipe that nobody reads, a terminal that is gone."""


class RunOptions(Record, frozen=True):
    """What the command line said."""

    prompt: str | None
    model: str | None = None
    base_url: str | None = None
    thread: str | None = None
    workspace: Path = Path()
    yes: bool = False
    as_json: bool = False
    max_rounds: int = DEFAULT_MAX_ROUNDS


def run(options: RunOptions) -> int:
    """Run a message, or what was left open, and return the exit code.

    Raises:
        UsageError: the command line asks for something that cannot be
        StoreError: the log failed while it was in use
    """
    if options.prompt is None and options.thread is None:
        raise UsageError(
            "there is nothing to do: give a PROMPT (- reads it from stdin), or --thread ID to go on with one"
        )
    settings = choose_settings(options.base_url)
    model = choose_model(options.model, settings)
    workspace = read_workspace(options.workspace)
    prompt = read_prompt(options.prompt)
    agent = make_agent(model, workspace, _permission(options), max_rounds=options.max_rounds)
    return asyncio.run(_run(options, settings, agent, prompt, Workspace(workspace)))


def _on_terminal(options: RunOptions) -> bool:
    return not options.as_json and sys.stdin.isatty() and sys.stdout.isatty()


def _permission(options: RunOptions) -> Permission:
    """`--yes` allows; a person at a terminal is asked; where nobody can answer, the model is told no (SPEC §10)."""
    if options.yes:
        return "allow"
    return "ask" if _on_terminal(options) else "deny"


async def _run(options: RunOptions, settings: Settings, agent: Agent, prompt: str | None, workspace: Workspace) -> int:
    runtime = Runtime(settings=settings)
    thread = runtime.thread(readable_id(runtime.ids.new()) if options.thread is None else options.thread, agent)
    runtime.connection(agent.model)  # a wrong model is said before anything is stored
    view = _view(options)
    stopper = Stopper(lambda: runtime.cancel(thread.id), view.say)
    try:
        async with opened(runtime):
            if prompt is None:
                await require_thread(runtime.store, thread.id)
            stopper.listen()
            if options.thread is None:
                view.say(f"thread {thread.id}")
            asker = _asker(options, view, stopper, workspace)
            emit = _Emit(view, stopper)
            return _code(await drive(runtime, thread, prompt, emit, asker.ask if asker else None), stopper, thread.id)
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


class _Emit:
    """Passes events to the view; an output that is gone ends the turn as it stands and is no failure of the network."""

    def __init__(self, view: View, stopper: Stopper) -> None:
        self._view = view
        self._stopper = stopper

    def __call__(self, event: Happening) -> None:
        try:
            self._view.show(event)
        except OSError as error:
            if error.errno not in _NOBODY_READS and self._stopper.code is None:
                print(f"stoic: the output cannot be written ({error.strerror})", file=sys.stderr)
            self._stopper.leave(exits.OUTPUT_LOST)


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
