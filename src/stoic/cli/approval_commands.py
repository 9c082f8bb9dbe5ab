"""The commands of `stoic approvals`: list, allow, deny."""

import sys
from typing import Annotated

import typer

_Known = Annotated[str, typer.Argument(metavar="OPERATION", help="`stoic approvals list` shows it.")]

approvals_app = typer.Typer(
    help="See which calls wait for a person, and allow or deny them; the turn goes on with `stoic up` or `stoic resume`.",
    short_help="Allow or deny calls that wait for a person.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@approvals_app.command(
    "list",
    help="List the calls that wait for a person, with everything they would run with.",
    short_help="List what waits for a person.",
)
def list_all(*, as_json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False) -> int:
    """List what waits."""
    from stoic.cli.approvals import list_approvals

    return list_approvals(as_json=as_json, stdout=sys.stdout)


@approvals_app.command(help="Allow a call; what the model is told of it names you.", short_help="Allow a call.")
def allow(
    *,
    operation: _Known,
    edit: Annotated[
        str | None,
        typer.Option(
            "--edit", metavar="JSON|-", help="Run it with these arguments instead; - reads them.", show_default=False
        ),
    ] = None,
    session: Annotated[
        bool,
        typer.Option(
            "--session",
            help="Allow also every later call of that tool in that thread under `stoic up`.",
            show_default=False,
        ),
    ] = False,
) -> int:
    """Allow a call."""
    from stoic.cli.approvals import allow as allow_call

    return allow_call(operation, edit=edit, session=session, stdout=sys.stdout)


@approvals_app.command(help="Deny a call; the model is told, and goes on without it.", short_help="Deny a call.")
def deny(
    *,
    operation: _Known,
    reason: Annotated[
        str | None, typer.Option("--reason", metavar="TEXT", help="Why, for the model.", show_default=False)
    ] = None,
) -> int:
    """Deny a call."""
    from stoic.cli.approvals import deny as deny_call

    return deny_call(operation, reason=reason, stdout=sys.stdout)
