"""The commands of `stoic threads`: list, delete, export."""

import sys
from enum import StrEnum
from typing import Annotated

import typer

KnownThread = Annotated[str, typer.Argument(metavar="THREAD", help="Its id; `stoic threads` lists them.")]
"""The argument of every command about one thread."""
_Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]


class Form(StrEnum):
    """How a thread is exported."""

    JSON = "json"
    JSONL = "jsonl"
    MD = "md"


threads_app = typer.Typer(
    help="List the threads of the log, the latest first; or delete or export one.",
    short_help="List, delete or export threads.",
    invoke_without_command=True,
    subcommand_metavar="[COMMAND [ARGS]...]",
    rich_markup_mode=None,
)


@threads_app.callback()
def threads(*, context: typer.Context, as_json: _Json = False) -> int | None:
    """List threads."""
    if context.invoked_subcommand is not None:
        return None
    from stoic.cli.threads import threads as list_threads

    return list_threads(as_json=as_json, stdout=sys.stdout)


@threads_app.command(
    help="Delete a thread with all its rows, for good; refused while a turn of it runs.",
    short_help="Delete a thread for good.",
)
def delete(
    *,
    thread: KnownThread,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask first.", show_default=False)] = False,
) -> int:
    """Delete one thread."""
    from stoic.cli.deleting import delete as delete_thread

    return delete_thread(thread, yes=yes, stdin=sys.stdin, stdout=sys.stdout)


@threads_app.command(
    help="Print a thread: `md` to read it, `json` as one object, `jsonl` one row a line. Quarantined bodies stay out.",
    short_help="Print a thread for people or programs.",
)
def export(
    *,
    thread: KnownThread,
    form: Annotated[Form, typer.Option("--format", help="For programs or for people.")] = Form.JSON,
) -> int:
    """Export one thread."""
    from stoic.cli.exporting import export as export_thread

    return export_thread(thread, form=form.value, stdout=sys.stdout)
