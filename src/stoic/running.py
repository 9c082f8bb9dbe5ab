"""The shortest way in: one message to one agent, with a runtime opened and closed around it."""

import asyncio
from typing import TYPE_CHECKING

from stoic.core.commands import Ending
from stoic.errors import UsageError
from stoic.runtime.agents import Agent
from stoic.wiring import Runtime

if TYPE_CHECKING:
    from stoic.runtime.streams import Emit


async def run(
    agent: Agent, text: str, *, thread: str | None = None, database: str | None = None, emit: "Emit | None" = None
) -> Ending:
    """Send one message and return how its turn ended, or what it is parked for.

    Args:
        agent: who answers
        text: the message
        thread: the conversation to go on with; default a new one (its id is in the outcome)
        database: path of the log; default `$STOIC_DB`, else `~/.local/share/stoic/stoic.db`
        emit: called with each event

    Raises:
        StoicError: the call was wrong, or the log cannot be used; failures of a model or tool are outcomes
    """
    async with Runtime(database) as runtime:
        return await runtime.thread(thread or runtime.ids.new(), agent).run(text, emit)


def run_sync(
    agent: Agent, text: str, *, thread: str | None = None, database: str | None = None, emit: "Emit | None" = None
) -> Ending:
    """Do what `run` does, from code that is not async.

    Raises:
        UsageError: called inside a running event loop; use `await stoic.run(…)` there
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(run(agent, text, thread=thread, database=database, emit=emit))
    raise UsageError("run_sync was called inside a running event loop; use `await stoic.run(…)` there")
