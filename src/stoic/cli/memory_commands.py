"""The commands of `stoic memory`: list, search, add, forget."""

import sys
from typing import Annotated

import typer

_Scope = Annotated[
    str | None,
    typer.Option("--scope", metavar="NAME", help="Of one scope only, such as an agent's.", show_default=False),
]
_Limit = Annotated[int, typer.Option("--limit", min=0, metavar="N", help="So many at the most; 0: all.")]
_Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]

memory_app = typer.Typer(
    help="Look through what agents have remembered, add to it, and delete of it.",
    short_help="List, search, add or delete what agents remember.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@memory_app.command("list", help="List what is remembered, the newest first.")
def list_all(*, scope: _Scope = None, limit: _Limit = 100, as_json: _Json = False) -> int:
    """List memories."""
    from stoic.cli.memory import list_memories

    return list_memories(scope=scope, limit=limit, as_json=as_json, stdout=sys.stdout)


@memory_app.command(
    help="Find what an agent would recall for QUERY, the best match first.", short_help="Find by words."
)
def search(
    *,
    query: Annotated[str, typer.Argument(metavar="QUERY", help="Words, any of which it holds.")],
    scope: _Scope = None,
    limit: _Limit = 20,
    as_json: _Json = False,
) -> int:
    """Search memories."""
    from stoic.cli.memory import search_memories

    return search_memories(query, scope=scope, limit=limit, as_json=as_json, stdout=sys.stdout)


@memory_app.command(
    help="Remember TEXT for the agents of a scope; the same rules as for what they remember themselves.",
    short_help="Remember something by hand.",
)
def add(
    *,
    text: Annotated[
        str, typer.Argument(metavar="TEXT", help="One thing, understandable by itself; at most 4000 characters.")
    ],
    scope: Annotated[str, typer.Option("--scope", metavar="NAME", help="Whose it is, such as an agent's name.")],
    tag: Annotated[
        list[str] | None,
        typer.Option("--tag", metavar="WORD", help="A further word to find it by; may be given several times."),
    ] = None,
) -> int:
    """Add a memory."""
    from stoic.cli.memory import add_memory

    return add_memory(text, scope=scope, tags=tag or [], stdout=sys.stdout)


@memory_app.command(help="Delete a memory for good; no agent recalls it again.", short_help="Delete a memory for good.")
def forget(
    *,
    memory: Annotated[str, typer.Argument(metavar="ID", help="`stoic memory list` shows it.")],
    scope: _Scope = None,
) -> int:
    """Forget a memory."""
    from stoic.cli.memory import forget_memory

    return forget_memory(memory, scope=scope, stdout=sys.stdout)
