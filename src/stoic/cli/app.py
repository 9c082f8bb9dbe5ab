"""The commands of `stoic` and their options; each command's work is in its own file and loaded when it runs."""

import logging
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from stoic.cli import exits
from stoic.cli.approval_commands import approvals_app
from stoic.cli.boundary_commands import boundaries_app
from stoic.cli.complaints import HarmlessHandler, tell_traceback
from stoic.cli.memory_commands import memory_app
from stoic.cli.schedule_commands import schedule_app
from stoic.cli.supervision_commands import supervision_app
from stoic.cli.task_commands import tasks_app
from stoic.cli.thread_commands import KnownThread, threads_app
from stoic.cli.work_options import known_thread_options, work_options
from stoic.errors import EndedByRefusalError, StoreError, UsageError

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
    logging.lastResort = HarmlessHandler()
    try:
        return app(arguments, prog_name="stoic", standalone_mode=False) or exits.COMPLETED
    except (KeyboardInterrupt, typer.Abort):
        return exits.INTERRUPTED
    except BrokenPipeError:
        return exits.OUTPUT_LOST
    except (typer.TyperException, UsageError) as error:
        return _complain(_usage_text(error), exits.REFUSED if isinstance(error, EndedByRefusalError) else exits.USAGE)
    except Exception as error:  # noqa: BLE001 - the last line of the CLI: a bug is shown whole, with a code of its own
        if isinstance(error, StoreError):
            return _complain(str(error), exits.LOG_FAILED)
        tell_traceback()
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
@work_options
def run(
    *,
    prompt: Annotated[
        str | None, typer.Argument(metavar="PROMPT|-", show_default=False, help="The message; - reads it from stdin.")
    ] = None,
    image: Annotated[
        list[Path] | None,
        typer.Option("--image", metavar="FILE", help="Show it to the model; may be given several times."),
    ] = None,
    as_json: _Json = False,
    work: dict[str, Any],
) -> int:
    """Run a message, or what was left open."""
    from stoic.cli.run import RunOptions
    from stoic.cli.run import run as run_prompt

    return run_prompt(RunOptions(prompt=prompt, images=image or [], as_json=as_json, **work))


@app.command(
    help="Go on with what THREAD was left with: a turn that was interrupted, parked or, with --allow, stopped as a loop.",
    short_help="Go on with a turn that was left open or stopped.",
)
@known_thread_options
def resume(
    *,
    thread: KnownThread,
    allow: Annotated[
        int | None,
        typer.Option(
            "--allow",
            min=1,
            metavar="N",
            help="Let a turn that was stopped as a loop repeat N of the blocked calls; then they are blocked again.",
            show_default=False,
        ),
    ] = None,
    as_json: _Json = False,
    work: dict[str, Any],
) -> int:
    """Go on with a thread."""
    from stoic.cli.run import RunOptions
    from stoic.cli.run import run as run_prompt

    return run_prompt(RunOptions(thread=thread, allow=allow, as_json=as_json, **work))


@app.command(
    help="Talk with an agent on this terminal, message after message; /help lists what it understands beside messages.",
    short_help="Talk with an agent on this terminal.",
)
@work_options
def chat(*, work: dict[str, Any]) -> int:
    """Talk with an agent."""
    from stoic.cli.chat import chat as talk
    from stoic.cli.preparing import WorkOptions

    return talk(WorkOptions(**work))


@app.command(
    help="Show a thread's log: turns, attempts, replies, calls with what became of them, outcomes.",
    short_help="Show the log of a thread.",
)
def show(
    *,
    thread: KnownThread,
    as_json: _Json = False,
    reveal: Annotated[
        bool,
        typer.Option(
            "--reveal",
            help="Show also what no model may read; the log keeps that somebody looked.",
            show_default=False,
        ),
    ] = False,
) -> int:
    """Show one thread."""
    from stoic.cli.show import show as show_thread

    return show_thread(thread, as_json=as_json, reveal=reveal, stdout=sys.stdout)


app.add_typer(boundaries_app)
app.add_typer(supervision_app)
app.add_typer(tasks_app, name="tasks")
app.add_typer(approvals_app, name="approvals")
app.add_typer(threads_app, name="threads")
app.add_typer(memory_app, name="memory")
app.add_typer(schedule_app, name="schedule")

health_app = typer.Typer(
    help="Show which models have failed and are shut for a while; `retry` lets the next request through.",
    short_help="Show which models are shut after failures.",
    invoke_without_command=True,
    subcommand_metavar="[COMMAND [ARGS]...]",
    rich_markup_mode=None,
)
app.add_typer(health_app, name="health")


@health_app.callback()
def health(*, context: typer.Context, as_json: _Json = False) -> int | None:
    """Show the routes' health."""
    if context.invoked_subcommand is not None:
        return None
    from stoic.cli.health import health as show_health

    return show_health(as_json=as_json, stdout=sys.stdout)


@health_app.command(
    help="Let the next request to MODEL through: what shut it is over.", short_help="Try a model again now."
)
def retry(*, model: Annotated[str, typer.Argument(metavar="MODEL", help="As `stoic health` lists it.")]) -> int:
    """Let the next request to a model through."""
    from stoic.cli.health import retry as retry_model

    return retry_model(model, stdout=sys.stdout)


notices_app = typer.Typer(
    help="Show what a person was told or is to be told, with the commands that answer it.",
    short_help="Show notices, and what can be done.",
    invoke_without_command=True,
    subcommand_metavar="[COMMAND [ARGS]...]",
    rich_markup_mode=None,
)
app.add_typer(notices_app, name="notices")


@notices_app.callback()
def notices(
    *,
    context: typer.Context,
    every: Annotated[
        bool, typer.Option("--all", help="All there ever were; else the newest 20 and those not sent.")
    ] = False,
    as_json: _Json = False,
) -> int | None:
    """Show the notices."""
    if context.invoked_subcommand is not None:
        return None
    from stoic.cli.notices import notices as show_notices

    return show_notices(every=every, as_json=as_json, stdout=sys.stdout)


@notices_app.command(
    help="Send what is due to the channels of the configuration file, a day's surplus as one digest.",
    short_help="Send what is due now.",
)
def send() -> int:
    """Send what is due."""
    from stoic.cli.notices import send as send_notices

    return send_notices(stdout=sys.stdout, stderr=sys.stderr)


@notices_app.command("test", help="Send a test notice to every channel; nothing is stored.")
def try_channels() -> int:
    """Send a test notice."""
    from stoic.cli.notices import test as test_channels

    return test_channels(stdout=sys.stdout, stderr=sys.stderr)


@app.command(
    help="Check what stoic finds here: versions, configuration, keys, models, database; with a remedy a line.",
    short_help="Check what stoic finds here.",
)
def doctor(*, as_json: _Json = False) -> int:
    """Check this machine."""
    from stoic.cli.doctor import doctor as examine

    return examine(as_json=as_json, stdout=sys.stdout)


@app.command(
    help="Show the configuration file's path, every setting with what decided it, and the providers. Keys are never shown.",
    short_help="Show the settings and what decided them.",
)
def config(*, as_json: _Json = False) -> int:
    """Show the settings."""
    from stoic.cli.config import config as show_config

    return show_config(as_json=as_json, stdout=sys.stdout)


@app.command(
    help="See an agent work: the provider is simulated, everything else is real. Needs no key, no server.",
    short_help="See an agent work; only the provider is simulated.",
)
def demo() -> int:
    """Run the demonstration."""
    from stoic.cli.demo import demo as run_demo

    return run_demo(stdout=sys.stdout, stderr=sys.stderr)


operations_app = typer.Typer(
    help="Look at the journal of tool calls, and decide about those whose effect is unknown.",
    short_help="List tool calls; decide about unknown ones.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.add_typer(operations_app, name="operations")


@operations_app.command("list", help="List operations, the newest first.")
def list_operations(
    *,
    thread: Annotated[
        str | None, typer.Option("--thread", metavar="ID", help="Of one thread only.", show_default=False)
    ] = None,
    unknown: Annotated[
        bool, typer.Option("--unknown", help="Only those that wait for a person's decision.", show_default=False)
    ] = False,
    as_json: _Json = False,
) -> int:
    """List operations."""
    from stoic.cli.operations import list_operations as list_them

    return list_them(thread=thread, unknown=unknown, as_json=as_json, stdout=sys.stdout)


@operations_app.command(
    help="Say what became of an operation whose effect is unknown; an equal call may then run again.",
    short_help="Decide about an unknown operation.",
)
def resolve(
    *,
    operation: Annotated[str, typer.Argument(metavar="ID", help="`stoic operations list --unknown` shows it.")],
    decision: Annotated[str, typer.Argument(metavar="done|not_done", help="Whether it took effect.")],
) -> int:
    """Resolve an operation."""
    from stoic.cli.operations import resolve_operation

    return resolve_operation(operation, decision, stdout=sys.stdout)


@app.command(
    help="Say what a recorded exchange with a provider was: its class, and what it recovers with.",
    short_help="Say what a recorded failure was, and what helps.",
)
def explain(*, file: _File, as_json: _Json = False) -> int:
    """Explain recorded exchanges."""
    from stoic.cli.explain import explain as explain_file

    return explain_file(file, as_json=as_json, stdin=sys.stdin, stdout=sys.stdout, stderr=sys.stderr)


@app.command(
    help="Say where the tool calls of a recorded trace, or of a thread of the log, go round in a loop.",
    short_help="Find the loops in a recorded trace or a thread.",
)
def scan(
    *,
    file: Annotated[
        str | None, typer.Argument(metavar="FILE|-", help="A file, or - for stdin.", show_default=False)
    ] = None,
    thread: Annotated[
        str | None, typer.Option("--thread", metavar="ID", help="A thread instead of a file.", show_default=False)
    ] = None,
    as_json: _Json = False,
) -> int:
    """Scan recorded traces, or a thread."""
    from stoic.cli.scan import scan as scan_file
    from stoic.cli.scan import scan_thread

    if (file is None) == (thread is None):
        raise UsageError("name one thing to scan: a FILE (- for stdin), or a thread of the log with --thread ID")
    if thread is not None:
        return scan_thread(thread, as_json=as_json, stdout=sys.stdout)
    return scan_file(str(file), as_json=as_json, stdin=sys.stdin.buffer, stdout=sys.stdout, stderr=sys.stderr)


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


@app.command(
    help="Run simulated worlds and check in each, after every step, what must always hold. A seed decides everything that "
    "happens in one; nothing of this machine's databases is touched, and no model is asked.",
    short_help="Run simulated worlds that look for bugs of stoic.",
)
def sim(
    *,
    seeds: Annotated[
        int | None, typer.Option("--seeds", min=1, metavar="N", help="So many worlds.", show_default="200")
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            "--seed",
            min=0,
            metavar="S",
            help="Begin with this one; alone: run it and tell its story.",
            show_default="0",
        ),
    ] = None,
    minutes: Annotated[
        float | None,
        typer.Option("--minutes", min=0.01, metavar="M", help="Fresh seeds for so long instead.", show_default=False),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option("--jobs", min=1, metavar="N", help="Processes at a time.", show_default="one a core")
    ] = None,
) -> int:
    """Run simulated worlds."""
    from stoic.cli.sim import sim as run_worlds

    if seeds is not None and minutes is not None:
        raise UsageError("give --seeds or --minutes, not both")
    if seeds is None and minutes is None and seed is None:
        seeds = 200
    return run_worlds(seeds=seeds, seed=seed, minutes=minutes, jobs=jobs, stdout=sys.stdout)
