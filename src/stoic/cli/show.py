"""`stoic show THREAD`: the log of one thread, for people or for programs."""

import asyncio
import os
import shutil
from collections.abc import Callable, Iterator
from itertools import chain
from typing import IO

from stoic.cli import exits
from stoic.cli.cleaning import folded, json_text, one_line, quoted, stripped
from stoic.cli.names import AGENT_NAME
from stoic.cli.opening import opened, opened_log, require_log, require_thread
from stoic.cli.screen import Style
from stoic.cli.segments import switched
from stoic.cli.states import ThreadState, load_held, state_of
from stoic.cli.timeline import call_facts, shown_row, text_of, timeline
from stoic.cli.waiting import waits_said
from stoic.cli.withheld import has_hidden_images, hidden_rows, reveal_said
from stoic.cli.wording import Line
from stoic.ports import DamagedRowsError, Loaded
from stoic.records import Json, Operation, Owner, Record, ThreadRecord
from stoic.runtime.reveals import record_reveal
from stoic.settings import read_settings
from stoic.wiring import Runtime, SystemClock

_WAITING: dict[str, Callable[[Json], str]] = {
    "switch": switched,
    "fresh": lambda _: "a fresh start, without history",
    "compact": lambda _: "the conversation is summed up",
    "reveal": reveal_said,
}
"""What is said of entries of the inbox that the next turn takes."""


class ThreadLog(Record, frozen=True):
    """What there is of a thread."""

    loaded: Loaded
    operations: list[Operation]
    """Its whole journal."""
    holder: Owner | None
    """The living process that works on it."""
    damage: DamagedRowsError | None = None
    """What of its rows cannot be read; a row of kind `damaged` stands for each of them."""

    @property
    def state(self) -> ThreadState:
        """Where the thread stands."""
        return state_of(self.loaded, self.holder)

    def require_whole(self) -> None:
        """Say at the end of what could be shown that it is not all. Raises DamagedRowsError."""
        if self.damage is not None:
            raise self.damage


def show(thread: str, *, as_json: bool, reveal: bool = False, stdout: IO[str]) -> int:
    """Print a thread.

    Args:
        thread: its id
        as_json: print one JSON object `{"thread", "state", "rows", "calls"}` instead
        reveal: show also the bodies that no model may read; the log keeps that somebody looked
        stdout: where to

    Raises:
        UsageError: there is no such thread, or no log
        DamagedRowsError: all was printed but rows that cannot be read
    """
    log = asyncio.run(_revealed_log(thread) if reveal else read_log(thread))
    if as_json:
        stdout.write(json_text(for_programs(log, reveal=reveal)) + "\n")
        log.require_whole()
        return exits.COMPLETED
    style = Style(stdout, os.environ)
    columns = shutil.get_terminal_size().columns if stdout.isatty() else None
    stdout.write(style(f"thread {stripped(thread)}", "bold") + f" · {log.state.said()}\n")
    rows = timeline(log.loaded.rows, log.operations, held=log.holder is not None, reveal=reveal)
    after = () if reveal else _hidden(log)
    for line in chain(rows, _ahead(log), after):
        for text in folded(line.text, columns):
            stdout.write(style(text, line.style) + "\n")
    log.require_whole()
    return exits.COMPLETED


async def read_log(thread: str) -> ThreadLog:
    """Return a thread. Raises UsageError if there is no such thread, or no log."""
    require_log(f"there is no thread {thread!r}")
    async with opened_log() as store:
        await require_thread(store, thread)
        loaded, holder, damage = await load_held(store, SystemClock(), thread)
        return ThreadLog(loaded=loaded, operations=await store.operations(thread), holder=holder, damage=damage)


async def _revealed_log(thread: str) -> ThreadLog:
    """Return a thread once the log keeps that somebody looks at what is withheld in it; nothing is kept where nothing is."""
    log = await read_log(thread)
    withheld = [row.seq for row in log.loaded.rows if row.quarantine is not None or has_hidden_images(row)]
    if not withheld:
        return log
    async with opened(Runtime(settings=read_settings(), delivers_notices=False)) as runtime:
        await record_reveal(runtime.outside, runtime.owner.id, thread, withheld)
    return await read_log(thread)


def for_programs(log: ThreadLog, *, reveal: bool = False) -> dict[str, object]:
    """Return a thread as the object of `--json`; bodies of quarantined rows are left out unless they are to be revealed."""
    rows = log.loaded.rows
    return {
        "thread": log.loaded.thread.id,
        "state": log.state,
        "rows": [shown_row(row, reveal=reveal) for row in rows],
        "calls": list(call_facts(rows, log.operations, held=log.holder is not None).values()),
    }


def _ahead(log: ThreadLog) -> Iterator[Line]:
    """Yield what is still to come: how an open turn goes on, and the messages that wait for their turn."""
    state, owner, record = log.state, log.holder, log.loaded.thread
    again, program = f"`stoic run --thread {quoted(record.id)}`", _program(record)
    match state.state, state.detail:
        case "open", _ if owner is not None:
            yield Line(text=f"  running in process {owner.pid} on {one_line(owner.host)}", style="cyan")
        case "open", _:
            goes_on = program or f"{again} goes on with it"
            yield Line(text=f"  interrupted: no process works on this turn; {goes_on}", style="yellow")
        case "parked", "permission":
            asked = f"`stoic approvals list` shows what for; then {program}" if program else ""
            asked = asked or f"{again} on a terminal asks again, with --yes it allows"
            yield Line(text=f"  parked: {asked}", style="yellow")
        case "parked", _:
            yield Line(text=f"  parked: it {waits_said(record.parked)}", style="yellow")
        case _:
            pass
    for entry in log.loaded.inbox:
        if entry.kind == "message":
            yield Line(text="  unread message:", style="yellow")
            yield from (Line(text=f"      {line}") for line in stripped(text_of(entry.content)).splitlines())
        elif entry.kind in _WAITING:
            yield Line(text=f"  waiting for the next turn: {_WAITING[entry.kind](entry.content)}", style="yellow")


def _program(record: ThreadRecord) -> str | None:
    """Say how a thread goes on that only the program that made it can run; None: `stoic run` can."""
    agent = record.meta.get("agent", AGENT_NAME)
    return None if agent == AGENT_NAME else f"run the program that made it again (its agent is {one_line(str(agent))})"


def _hidden(log: ThreadLog) -> Iterator[Line]:
    """Yield how what is left out can be looked at."""
    count = len(hidden_rows(log.loaded.rows))
    if count:
        what = "1 body is" if count == 1 else f"{count} bodies are"
        again = f"stoic show {quoted(log.loaded.thread.id)} --reveal"
        yield Line(text=f"  {what} hidden; `{again}` shows them, and the log keeps that somebody looked", style="dim")
