"""The options that `stoic run`, `stoic resume` and `stoic chat` have in common, declared once."""

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer

Command = Callable[..., int]


def _declare(
    *,
    models: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            metavar="PROVIDER:NAME",
            help="Such as openai:NAME; given again: who answers when the first cannot. Default: $STOIC_MODEL, the "
            "configuration, or by the keys that are set.",
            show_default=False,
        ),
    ] = None,
    base_url: Annotated[
        str | None,
        typer.Option("--base-url", metavar="U", help="Where the first model is served. Default: its provider's."),
    ] = None,
    thread: Annotated[
        str | None, typer.Option("--thread", metavar="ID", help="A new or existing thread. Default: a new one.")
    ] = None,
    goes_on: Annotated[
        bool, typer.Option("--continue", help="The thread with the latest activity.", show_default=False)
    ] = False,
    workspace: Annotated[
        Path,
        typer.Option(
            "--workspace",
            metavar="DIR",
            help="The folder the agent works in; a new thread keeps it for `stoic up` and its tasks.",
        ),
    ] = Path(),
    yes: Annotated[
        bool, typer.Option("--yes", help="Allow every write and command without asking.", show_default=False)
    ] = False,
    max_rounds: Annotated[int, typer.Option("--max-rounds", metavar="N", help="Rounds of a turn at the most.")] = 64,
    max_tokens_per_turn: Annotated[
        int | None,
        typer.Option("--max-tokens-per-turn", metavar="N", help="Tokens of a turn, input and output together."),
    ] = None,
    max_cost_usd: Annotated[
        float | None,
        typer.Option("--max-cost", metavar="USD", help="What a turn may cost; needs a model whose price is known."),
    ] = None,
    max_seconds: Annotated[
        float | None, typer.Option("--max-seconds", metavar="S", help="How long a turn may take, waits included.")
    ] = None,
    max_tokens: Annotated[int | None, typer.Option("--max-tokens", metavar="N", help="Longest reply.")] = None,
    temperature: Annotated[
        float | None, typer.Option("--temperature", metavar="T", help="From 0 to 2; some models take none.")
    ] = None,
    reasoning_effort: Annotated[
        str | None,
        typer.Option(
            "--effort", metavar="E", help="How much to reason: none, minimal, low, medium, high, xhigh or max."
        ),
    ] = None,
) -> None:
    """Stand for the options: only the signature is used; its names are the fields of `WorkOptions`."""


_SHARED = inspect.signature(_declare).parameters


def work_options(command: Command) -> Command:
    """Give a command these options beside its own; those that have a value come to it in the dict `work`.

    Args:
        command: takes `work`, by keyword, instead of them
    """
    return _with(command, _SHARED)


def known_thread_options(command: Command) -> Command:
    """Give a command that has its thread as an argument the options of `work_options` but those that name one."""
    return _with(command, {name: each for name, each in _SHARED.items() if name not in {"thread", "goes_on"}})


def model_options(command: Command) -> Command:
    """Give a command that asks a model without working those of the options that name it."""
    return _with(command, {name: _SHARED[name] for name in ("models", "base_url")})


def _with(command: Command, options: Mapping[str, inspect.Parameter]) -> Command:
    own = [each for name, each in inspect.signature(command).parameters.items() if name != "work"]

    @wraps(command)
    def taking_all(**given: Any) -> int:
        shared = {name: given.pop(name) for name in options}
        return command(**given, work={name: value for name, value in shared.items() if value is not None})

    parameters = [*options.values(), *own]
    taking_all.__signature__ = inspect.Signature(parameters)  # pyright: ignore[reportAttributeAccessIssue] - what typer reads
    taking_all.__annotations__ = {each.name: each.annotation for each in parameters}
    return taking_all
