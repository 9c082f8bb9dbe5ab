"""`stoic chat`: a conversation on a terminal, message after message, until the person leaves."""

import asyncio
import os
import sys
from pathlib import Path

from stoic.cli import exits
from stoic.cli.agents import CliAgents
from stoic.cli.composing import HISTORY_FILE, Composer
from stoic.cli.emitting import NOBODY_READS
from stoic.cli.names import readable_id
from stoic.cli.opening import opened, reopen_chosen
from stoic.cli.preparing import Prepared, WorkOptions, prepare
from stoic.cli.screen import Screen
from stoic.cli.sitting import Sitting
from stoic.cli.slashes import COMMANDS
from stoic.errors import UsageError
from stoic.wiring import Runtime


def chat(options: WorkOptions) -> int:
    """Talk until the person leaves, and return the exit code.

    Raises:
        UsageError: there is no terminal, or the command line asks for something that cannot be
        StoreError: the log failed while it was in use
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError(
            "chat needs a terminal for what you type and what it says; beside pipes use `stoic run PROMPT`"
        )
    prepared = prepare(options, "allow" if options.yes else "ask")
    composer = Composer(
        Path(prepared.settings.database).absolute().with_name(HISTORY_FILE), [f"/{name}" for name in COMMANDS]
    )
    return asyncio.run(_chat(prepared, composer))


async def _chat(prepared: Prepared, composer: Composer) -> int:
    runtime = Runtime(settings=prepared.settings, delivers_notices=False, agents=CliAgents(prepared.made, watched=True))
    for model in prepared.agent.models:  # a wrong one is said before anything is stored
        prepared.agent.parameters_for(runtime.connection(model))
    thread = readable_id(runtime.ids.new()) if prepared.thread is None else prepared.thread
    sitting = Sitting(runtime, prepared, thread, composer, Screen(sys.stdout, os.environ))
    try:
        async with opened(runtime):
            if prepared.chosen is not None:
                await reopen_chosen(runtime, prepared.chosen)
            return await sitting.talk()
    except asyncio.CancelledError:
        if sitting.code is None:
            raise
        return sitting.code
    except OSError as error:
        if error.errno not in NOBODY_READS:
            raise
        return exits.OUTPUT_LOST if sitting.code is None else sitting.code
