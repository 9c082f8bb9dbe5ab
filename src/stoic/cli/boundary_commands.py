"""The commands by which a person decides about a thread between two turns: switch, fresh, compact, fork."""

import sys
from typing import Annotated, Any

import typer

from stoic.cli.thread_commands import KnownThread
from stoic.cli.work_options import model_options

_Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]

boundaries_app = typer.Typer(rich_markup_mode=None)
"""Has no name: its commands are `stoic`'s own."""


@boundaries_app.command(
    help="Let MODEL answer, or the agent be in another mode, from THREAD's next turn on; it stays so until the next switch.",
    short_help="Let another model answer in a thread.",
)
def switch(
    *,
    thread: KnownThread,
    model: Annotated[
        str | None, typer.Argument(metavar="MODEL", help="Who answers from now on: PROVIDER:NAME.", show_default=False)
    ] = None,
    mode: Annotated[
        str | None,
        typer.Option("--mode", metavar="M", help="plan (looks, changes nothing) or default.", show_default=False),
    ] = None,
) -> int:
    """Switch a thread."""
    from stoic.cli.boundaries import switch as switch_thread

    return switch_thread(thread, model, mode, stdout=sys.stdout)


@boundaries_app.command(
    help="Leave THREAD's history behind: its next turn begins without it. The log keeps everything.",
    short_help="Let a thread begin again without history.",
)
def fresh(*, thread: KnownThread) -> int:
    """Start fresh."""
    from stoic.cli.boundaries import fresh as start_fresh

    return start_fresh(thread, stdout=sys.stdout)


@boundaries_app.command(
    help="Have THREAD's conversation summed up; it goes on with the summary and its newest turn. The log keeps everything.",
    short_help="Have a thread's history summed up.",
)
@model_options
def compact(*, thread: KnownThread, as_json: _Json = False, work: dict[str, Any]) -> int:
    """Compact a thread."""
    from stoic.cli.boundaries import compact as compact_thread
    from stoic.cli.preparing import WorkOptions

    return compact_thread(WorkOptions(thread=thread, **work), as_json=as_json)


@boundaries_app.command(
    help="Begin the thread NEW with a copy of THREAD's log, and with what was refused in it.",
    short_help="Begin a thread with another one's log.",
)
def fork(
    *,
    thread: KnownThread,
    new: Annotated[str, typer.Argument(metavar="NEW", help="The id of the thread that begins.")],
) -> int:
    """Fork a thread."""
    from stoic.cli.boundaries import fork as fork_thread

    return fork_thread(thread, new, stdout=sys.stdout)
