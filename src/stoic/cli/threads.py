"""`stoic threads`: the threads of the log and where each stands."""

import asyncio
import os
from typing import IO

from stoic.cli import exits
from stoic.cli.cleaning import json_text, stripped
from stoic.cli.opening import log_to_list, opened_log
from stoic.cli.screen import Style
from stoic.cli.states import ThreadState, read_state
from stoic.wiring import SystemClock

_STYLES = {
    "completed": "green",
    "failed": "red",
    "stopped": "red",
    "open": "yellow",
    "parked": "yellow",
    "damaged": "red",
}
_LIMIT = 100
"""The newest threads only: each is read whole."""


def threads(*, as_json: bool, stdout: IO[str]) -> int:
    """Print the threads, those with the latest activity first; as JSON, one object a line."""
    if not log_to_list():
        return exits.COMPLETED
    states = sorted(asyncio.run(_states()), key=lambda state: state.last_activity, reverse=True)
    if as_json:
        for state in states:
            stdout.write(json_text(state) + "\n")
        return exits.COMPLETED
    style = Style(stdout, os.environ)
    width = max((len(state.thread) for state in states), default=0)
    for state in states:
        stdout.write(f"{stripped(state.thread):{width}}  {style(state.said(), _STYLES.get(state.state, 'dim'))}\n")
    if not states:
        stdout.write("no threads yet; `stoic run` begins one\n")
    if len(states) == _LIMIT:
        stdout.write(style(f"only the {_LIMIT} that began last are listed", "dim") + "\n")
    return exits.COMPLETED


async def _states() -> list[ThreadState]:
    async with opened_log() as store:
        clock = SystemClock()
        return [await read_state(store, clock, thread.id) for thread in await store.threads(limit=_LIMIT)]
