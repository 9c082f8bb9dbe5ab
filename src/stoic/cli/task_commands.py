"""The commands of `stoic tasks`: list, start, show, message, wait, stop."""

import sys
from typing import Annotated, Any

import typer

from stoic.cli.work_options import known_thread_options

_Known = Annotated[str, typer.Argument(metavar="TASK", help="Its id; `stoic tasks list` shows it.")]
_Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]

tasks_app = typer.Typer(
    help="Have work done in the background: start it, look at it, tell it something, wait for it, stop it. "
    "`stoic up` runs it.",
    short_help="Start and follow background work.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@tasks_app.command(
    "list",
    help="List tasks, the oldest first: where each stands, whose it is, what it waits for.",
    short_help="List tasks and where they stand.",
)
def list_all(
    *,
    owner: Annotated[
        str | None, typer.Option("--owner", metavar="THREAD", help="Of one thread only.", show_default=False)
    ] = None,
    as_json: _Json = False,
) -> int:
    """List tasks."""
    from stoic.cli.tasks import list_tasks

    return list_tasks(owner=owner, as_json=as_json, stdout=sys.stdout)


@tasks_app.command(
    help="Store a task that does what BRIEF says, for `stoic up` to run; with --wait, run it here until it ends and exit as "
    "it ended. Writes and commands wait for `stoic approvals` unless --yes allows them.",
    short_help="Start a task.",
)
@known_thread_options
def start(
    *,
    brief: Annotated[
        str, typer.Argument(metavar="BRIEF|-", help="What it is to do: all it knows; - reads it from stdin.")
    ],
    owner: Annotated[
        str | None,
        typer.Option(
            "--owner",
            metavar="THREAD",
            help="The thread that gets its result as an event; it is made as that one is.",
            show_default=False,
        ),
    ] = None,
    task: Annotated[
        str | None,
        typer.Option(
            "--id",
            metavar="ID",
            help="Its id; the same start again changes nothing. Default: a new one.",
            show_default=False,
        ),
    ] = None,
    wait: Annotated[bool, typer.Option("--wait", help="Run it here until it ends.", show_default=False)] = False,
    as_json: _Json = False,
    work: dict[str, Any],
) -> int:
    """Start a task."""
    from stoic.cli.task_start import StartOptions, start_task

    return start_task(StartOptions(brief=brief, owner=owner, task=task, wait=wait, as_json=as_json, **work))


@tasks_app.command(
    help="Show where a task stands, and what of its end goes to its owner.", short_help="Show where a task stands."
)
def show(*, task: _Known, as_json: _Json = False) -> int:
    """Show one task."""
    from stoic.cli.tasks import show_task

    return show_task(task, as_json=as_json, stdout=sys.stdout)


@tasks_app.command(
    help="Tell a task something; it answers in a turn of its own. One that ended by refusal is told nothing (exit code 5).",
    short_help="Tell a task something.",
)
def message(
    *, task: _Known, text: Annotated[str, typer.Argument(metavar="TEXT|-", help="- reads it from stdin.")]
) -> int:
    """Tell a task something."""
    from stoic.cli.tasks import message_task

    return message_task(task, text, stdout=sys.stdout, stderr=sys.stderr)


@tasks_app.command(
    help="Wait until tasks that others run have ended, and exit as the worst of them ended; 7: the time was over before.",
    short_help="Wait until tasks have ended.",
)
def wait(
    *,
    tasks: Annotated[list[str], typer.Argument(metavar="TASK...", help="Their ids.")],
    any_of_them: Annotated[
        bool, typer.Option("--any", help="Until one of them has ended.", show_default=False)
    ] = False,
    timeout: Annotated[
        float | None, typer.Option("--timeout", metavar="S", help="So many seconds at the most.", show_default=False)
    ] = None,
    as_json: _Json = False,
) -> int:
    """Wait for tasks."""
    from stoic.cli.tasks import wait_tasks

    return wait_tasks(tasks, until_all=not any_of_them, timeout_seconds=timeout, as_json=as_json, stdout=sys.stdout)


@tasks_app.command(
    help="Stop a task's turn and print what it was at; a message lets it go on, unless a refusal has ended it.",
    short_help="Stop a task.",
)
def stop(*, task: _Known, as_json: _Json = False) -> int:
    """Stop a task."""
    from stoic.cli.tasks import stop_task

    return stop_task(task, as_json=as_json, stdout=sys.stdout)
