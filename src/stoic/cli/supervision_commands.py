"""The commands around unattended work that have no group: up, event, spent."""

import sys
from typing import Annotated, Any

import typer

from stoic.cli.work_options import known_thread_options

supervision_app = typer.Typer(rich_markup_mode=None)
"""Has no name: its commands are `stoic`'s own."""


@supervision_app.command(
    help="Run all work of the database here until Ctrl-C or SIGTERM: tasks, interrupted turns, unread messages, schedules, "
    "approvals. The first signal lets the turns that run end, a second one leaves them as they stand. Options count for "
    "threads that keep none of their own.",
    short_help="Run all work of the database until stopped.",
)
@known_thread_options
def up(
    *,
    at_once: Annotated[int, typer.Option("--at-once", min=1, metavar="N", help="Threads that run at a time.")] = 64,
    work: dict[str, Any],
) -> int:
    """Run everything."""
    from stoic.cli.up import UpOptions
    from stoic.cli.up import up as run_everything

    return run_everything(UpOptions(at_once=at_once, **work))


@supervision_app.command(
    help="Say that the KIND (credential or config) of the provider NAME was changed: what waits for it goes on. A `stoic up` "
    "reads keys and settings when it begins; start it anew first.",
    short_help="Say that a key or a setting was changed.",
)
def event(
    *,
    kind: Annotated[str, typer.Argument(metavar="KIND", help="credential or config.")],
    name: Annotated[str, typer.Argument(metavar="NAME", help="The provider, such as anthropic.")],
) -> int:
    """Tell an event."""
    from stoic.cli.event import tell_event

    return tell_event(kind, name, stdout=sys.stdout)


@supervision_app.command(
    help="Show what work has taken: rounds, tokens, list-price cost and working time, by day (UTC) and by thread; a thread's "
    "tasks count as its own. Below that how much is used of the bounds of a day.",
    short_help="Show what was spent, by day and thread.",
)
def spent(
    *,
    days: Annotated[int, typer.Option("--days", min=1, max=36_500, metavar="N", help="So many, today included.")] = 7,
    thread: Annotated[
        str | None, typer.Option("--thread", metavar="ID", help="Of one thread only.", show_default=False)
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="For programs: one JSON object a line.", show_default=False)
    ] = False,
) -> int:
    """Show what was spent."""
    from stoic.cli.spent import spent as show_spent

    return show_spent(days=days, thread=thread, as_json=as_json, stdout=sys.stdout)
