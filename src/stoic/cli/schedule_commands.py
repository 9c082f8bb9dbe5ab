"""The commands of `stoic schedule`: add, list, remove, pause, resume."""

import sys
from typing import Annotated

import typer

from stoic.cli.thread_commands import KnownThread

_Known = Annotated[str, typer.Argument(metavar="ID", help="`stoic schedule list` shows it.")]

schedule_app = typer.Typer(
    help="Have prompts come into threads by the clock; `stoic up` answers them.",
    short_help="Have prompts come into threads by the clock.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@schedule_app.command(
    help="Have PROMPT come into THREAD at the times WHEN: 'every day 09:00', 'every weekday at 8am', 'every monday and "
    "thursday 18:30', 'every 15 minutes', 'every month on the 1st at 09:00', or cron such as '0 9 * * 1-5'. Missed times "
    "count as one, and none comes while an earlier one is unread.",
    short_help="Have a prompt come into a thread.",
)
def add(
    *,
    thread: KnownThread,
    when: Annotated[str, typer.Argument(metavar="WHEN", help="As one argument, in quotes.")],
    prompt: Annotated[str, typer.Argument(metavar="PROMPT", help="What the agent is to do then.")],
    zone: Annotated[
        str | None,
        typer.Option("--zone", metavar="NAME", help="Time zone, such as Europe/Berlin.", show_default="this machine's"),
    ] = None,
) -> int:
    """Add a schedule."""
    from stoic.cli.schedule import add as add_schedule
    from stoic.cli.schedule import tell_idle

    code = add_schedule(thread, when, prompt, zone=zone, stdout=sys.stdout)
    tell_idle(stderr=sys.stderr)
    return code


@schedule_app.command("list", help="List the schedules with their next time and how their threads' last turns ended.")
def list_all(*, as_json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False) -> int:
    """List schedules."""
    from stoic.cli.schedule import list_schedules, tell_idle

    code = list_schedules(as_json=as_json, stdout=sys.stdout)
    tell_idle(stderr=sys.stderr)
    return code


@schedule_app.command(help="Delete a schedule.")
def remove(*, schedule: _Known) -> int:
    """Remove a schedule."""
    from stoic.cli.schedule import remove as remove_schedule

    return remove_schedule(schedule, stdout=sys.stdout)


@schedule_app.command(help="Let a schedule rest until it is resumed.")
def pause(*, schedule: _Known) -> int:
    """Pause a schedule."""
    from stoic.cli.schedule import pause as pause_schedule

    return pause_schedule(schedule, stdout=sys.stdout)


@schedule_app.command(help="Let a paused schedule go on; what was due meanwhile is not made up for.")
def resume(*, schedule: _Known) -> int:
    """Resume a schedule."""
    from stoic.cli.schedule import resume as resume_schedule

    return resume_schedule(schedule, stdout=sys.stdout)
