"""`stoic show THREAD`: the log of one thread, for people or for programs."""

import asyncio
import os
from typing import IO

import msgspec

from stoic.cli import exits
from stoic.cli.opening import log_exists, opened_log, require_thread
from stoic.cli.screen import Style
from stoic.cli.states import state_of
from stoic.cli.timeline import call_facts, shown_row, timeline
from stoic.errors import UsageError
from stoic.ports import Loaded
from stoic.records import Operation
from stoic.settings import read_settings


def show(thread: str, *, as_json: bool, stdout: IO[str]) -> int:
    """Print a thread.

    Args:
        thread: its id
        as_json: print one JSON object `{"thread", "state", "rows", "calls", "unread"}` instead
        stdout: where to

    Raises:
        UsageError: there is no such thread, or no log
    """
    if not log_exists():
        raise UsageError(f"there is no thread {thread!r}: the log {read_settings().database} does not exist yet")
    loaded, operations = asyncio.run(_load(thread))
    if as_json:
        stdout.write(msgspec.json.encode(_for_programs(loaded, operations)).decode() + "\n")
        return exits.COMPLETED
    style = Style(stdout, os.environ)
    stdout.write(style(f"thread {thread}", "bold") + f" · {state_of(loaded).said()}\n")
    for line in timeline(loaded.rows, operations):
        stdout.write(style(line.text, line.style) + "\n")
    return exits.COMPLETED


async def _load(thread: str) -> tuple[Loaded, list[Operation]]:
    async with opened_log() as store:
        await require_thread(store, thread)
        return await store.load(thread), await store.operations(thread)


def _for_programs(loaded: Loaded, operations: list[Operation]) -> dict[str, object]:
    return {
        "thread": loaded.thread.id,
        "state": state_of(loaded),
        "rows": [shown_row(row) for row in loaded.rows],
        "calls": list(call_facts(loaded.rows, operations).values()),
    }
