"""`stoic show THREAD`: the log of one thread, for people or for programs."""

import asyncio
import os
import shutil
from typing import IO

import msgspec

from stoic.cli import exits
from stoic.cli.cleaning import folded, stripped
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
    loaded, operations = asyncio.run(load_thread(thread))
    if as_json:
        stdout.write(msgspec.json.encode(for_programs(loaded, operations)).decode() + "\n")
        return exits.COMPLETED
    style = Style(stdout, os.environ)
    columns = shutil.get_terminal_size().columns if stdout.isatty() else None
    stdout.write(style(f"thread {stripped(thread)}", "bold") + f" · {state_of(loaded).said()}\n")
    for line in timeline(loaded.rows, operations):
        for text in folded(line.text, columns):
            stdout.write(style(text, line.style) + "\n")
    return exits.COMPLETED


async def load_thread(thread: str) -> tuple[Loaded, list[Operation]]:
    """Return a thread and its whole journal. Raises UsageError if there is no such thread, or no log."""
    if not log_exists():
        raise UsageError(f"there is no thread {thread!r}: the log {read_settings().database} does not exist yet")
    async with opened_log() as store:
        await require_thread(store, thread)
        return await store.load(thread), await store.operations(thread)


def for_programs(loaded: Loaded, operations: list[Operation]) -> dict[str, object]:
    """Return a thread as the object of `--json`; bodies of quarantined rows are left out."""
    return {
        "thread": loaded.thread.id,
        "state": state_of(loaded),
        "rows": [shown_row(row) for row in loaded.rows],
        "calls": list(call_facts(loaded.rows, operations).values()),
    }
