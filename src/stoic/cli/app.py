"""The commands of `stoic` and their options; each command's work is in its own file and loaded when it runs."""

import sys
import traceback
from pathlib import Path
from typing import Annotated

import typer

from stoic.cli import exits
from stoic.errors import StoreError, UsageError

app = typer.Typer(
    name="stoic",
    help="A durable runtime for multi-model LLM agents that is honest about failure.",
    epilog="Start with `stoic demo`: it needs no key, no server and asks nothing.",
    invoke_without_command=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

_File = Annotated[str, typer.Argument(metavar="FILE|-", help="A file, or - for stdin.")]
_Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]


def run_app(arguments: list[str]) -> int:
    """Run one command line and return its exit code; wrong usage is one line on stderr, never a traceback."""
    try:
        return app(arguments, prog_name="stoic", standalone_mode=False) or exits.COMPLETED
    except (KeyboardInterrupt, typer.Abort):
        return exits.INTERRUPTED
    except BrokenPipeError:
        return exits.OUTPUT_LOST
    except (typer.TyperException, UsageError) as error:
        return _complain(_usage_text(error), exits.USAGE)
    except Exception as error:  # noqa: BLE001 - the last line of the CLI: a bug is shown whole, with a code of its own
        if isinstance(error, StoreError):
            return _complain(str(error), exits.LOG_FAILED)
        traceback.print_exc()
        return _complain("this is a bug of stoic; please report it with the lines above", exits.BUG)


def _complain(text: str, code: int) -> int:
    from stoic.cli.cleaning import one_line

    print(f"stoic: {one_line(text)}", file=sys.stderr)
    return code


def _usage_text(error: Exception) -> str:
    """Return what is wrong with a command line; when typer found it, with the way to the help."""
    if not isinstance(error, typer.TyperException):
        return str(error)
    format_message = getattr(error, "format_message", None)
    text = (format_message() if format_message else str(error)).rstrip(".")
    context = getattr(error, "ctx", None)
    return f"{text}; see `{context.command_path if context else 'stoic'} --help`"


def _print_version(wanted: bool) -> None:  # noqa: FBT001 - typer calls it so
    if wanted:
        from importlib.metadata import version

        print(f"stoic {version('stoic')}")
        raise typer.Exit


@app.callback()
def options(
    context: typer.Context,
    *,
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Take the options that stand before a command; without a command, show what there is."""
    if context.invoked_subcommand is None:
        print(context.get_help())
        raise typer.Exit(exits.USAGE)


@app.command(
    help="Send PROMPT to an agent and follow its turn; with --thread alone, go on with what was left open.",
    short_help="Send a message to an agent, or go on with a thread.",
)
def run(
    *,
    prompt: Annotated[
        str | None, typer.Argument(metavar="PROMPT|-", show_default=False, help="The message; - reads it from stdin.")
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(metavar="PROVIDER:NAME", help="Such as openai-chat:NAME. Default: $STOIC_MODEL."),
    ] = None,
    base_url: Annotated[str | None, typer.Option(metavar="U", help="Default: $OPENAI_BASE_URL, else OpenAI's.")] = None,
    thread: Annotated[
        str | None, typer.Option(metavar="ID", help="A new or existing thread. Default: a new one.")
    ] = None,
    workspace: Annotated[
        Path, typer.Option(metavar="DIR", help="The folder the agent works in; a thread does not remember it.")
    ] = Path(),
    yes: Annotated[
        bool, typer.Option("--yes", help="Allow every write and command without asking.", show_default=False)
    ] = False,
    as_json: _Json = False,
    max_rounds: Annotated[int, typer.Option(metavar="N", help="Rounds of the turn at the most.")] = 64,
) -> int:
    """Run a message, or what was left open."""
    from stoic.cli.run import RunOptions
    from stoic.cli.run import run as run_prompt

    return run_prompt(
        RunOptions(
            prompt=prompt,
            model=model,
            base_url=base_url,
            thread=thread,
            workspace=workspace,
            yes=yes,
            as_json=as_json,
            max_rounds=max_rounds,
        )
    )


@app.command(
    help="Show a thread's log: turns, attempts, replies, calls with what became of them, outcomes.",
    short_help="Show the log of a thread.",
)
def show(
    *,
    thread: Annotated[str, typer.Argument(metavar="THREAD", help="Its id; `stoic threads` lists them.")],
    as_json: _Json = False,
) -> int:
    """Show one thread."""
    from stoic.cli.show import show as show_thread

    return show_thread(thread, as_json=as_json, stdout=sys.stdout)


@app.command(help="List the threads of the log, the latest first.")
def threads(*, as_json: _Json = False) -> int:
    """List threads."""
    from stoic.cli.threads import threads as list_threads

    return list_threads(as_json=as_json, stdout=sys.stdout)


@app.command(
    help="See an agent work: the provider is simulated, everything else is real. Needs no key, no server.",
    short_help="See an agent work; only the provider is simulated.",
)
def demo() -> int:
    """Run the demonstration."""
    from stoic.cli.demo import demo as run_demo

    return run_demo(stdout=sys.stdout, stderr=sys.stderr)


@app.command(
    help="Say what a recorded exchange with a provider was: its class, and what it recovers with.",
    short_help="Say what a recorded failure was, and what helps.",
)
def explain(*, file: _File, as_json: _Json = False) -> int:
    """Explain recorded exchanges."""
    from stoic.cli.explain import explain as explain_file

    return explain_file(file, as_json=as_json, stdin=sys.stdin, stdout=sys.stdout, stderr=sys.stderr)


@app.command(
    help="Say where a recorded trace of tool calls goes round in a loop.",
    short_help="Find the loops in a recorded trace.",
)
def scan(*, file: _File, as_json: _Json = False) -> int:
    """Scan recorded traces."""
    from stoic.cli.scan import scan as scan_file

    return scan_file(file, as_json=as_json, stdin=sys.stdin.buffer, stdout=sys.stdout, stderr=sys.stderr)


@app.command(
    help="Play a script as a provider on 127.0.0.1 until Ctrl-C; no model is asked.",
    short_help="Play a script as a provider for tests.",
)
def scripted(
    *,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The script.")],
    port: Annotated[int, typer.Option(min=0, max=65535, metavar="N", help="0: the system chooses.")] = 0,
    record: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Append each request as a line of JSON.", show_default=False)
    ] = None,
) -> int:
    """Play a script."""
    from stoic.cli.scripted import scripted as play_script

    return play_script(file, port=port, record=record, stdout=sys.stdout, stderr=sys.stderr)
