"""`stoic demo`: a real agent does a small real piece of work; only the provider is simulated, and it says so."""

import asyncio
import os
import shlex
from typing import IO

from stoic.cli import exits
from stoic.cli.demo_place import COOLDOWN_SECONDS, DELAYS_SECONDS, THREAD, Place, prepare
from stoic.cli.demo_proof import Claim
from stoic.cli.demo_story import tell
from stoic.cli.screen import Style
from stoic.wiring import SystemClock

_UNKNOWN = f"{THREAD}.4.1.0"
"""The operation that the kill leaves behind."""


def demo(*, stdout: IO[str], stderr: IO[str]) -> int:
    """Run the demonstration and prove it; the exit code is 0 only if every claim was found to be so.

    Args:
        stdout: for everything that happens
        stderr: for what did not hold

    Raises:
        UsageError: there is no temporary folder to work in
    """
    try:
        return _demo(stdout, stderr)
    except BrokenPipeError:
        return exits.OUTPUT_LOST  # here, for typer would make it 1


def _demo(stdout: IO[str], stderr: IO[str]) -> int:
    style, clock, place = Style(stdout, os.environ), SystemClock(), prepare()
    began_ms = clock.now_ms()
    _say(stdout, *_beginning(style, place))
    found = asyncio.run(tell(place, clock, stdout, style))
    if isinstance(found, int):
        return found
    _say(stdout, *_proof(style, found, (clock.now_ms() - began_ms) / 1000))
    false = [claim.text for claim in found if not claim.holds]
    if false:
        kept = f"everything is kept in {place.workspace.parent}"
        _say(stderr, f"stoic demo: this did not hold: {'; '.join(false)} ({kept})")
        return exits.DISPROVED
    _say(stdout, *_end(style, place, started_by_uv=bool(os.environ.get("UV"))))
    return exits.COMPLETED


def _beginning(style: Style, place: Place) -> list[str]:
    delays = ", ".join(f"{each:g}" for each in DELAYS_SECONDS)
    return [
        style("The provider is simulated: it plays a script and asks no model.", "bold"),
        "Everything else is real: the agent, its tools, the files, the HTTP, the log,",
        "the processes. In its workspace the agent may write and run commands unasked.",
        f"workspace {place.workspace}",
        f"log       {place.database}",
        f"waits     {delays} s between sends, {COOLDOWN_SECONDS:g} s for a route that fails:",
        "          shorter than the defaults (1, 2, 4 s and 30 s), to be brisk",
    ]


def _proof(style: Style, claims: list[Claim], took_seconds: float) -> list[str]:
    marks = {True: style("✓", "green"), False: style("✗", "red")}
    title = f"What happened in these {took_seconds:.0f} s, checked on the disk and in the log:"
    return ["", style(title, "bold"), *(f"  {marks[claim.holds]} {claim.text}" for claim in claims)]


def _end(style: Style, place: Place, *, started_by_uv: bool) -> list[str]:
    uv = ["  (uv started this one: put the same `uv run` before each of them)"] if started_by_uv else []
    return [
        "",
        style("Look further:", "bold"),
        f"  export STOIC_DB={shlex.quote(str(place.database))}",
        f"  stoic show {THREAD}             # the whole log, as it happened",
        "  stoic health                # which models are closed, why, until when",
        "  stoic operations list       # what ran, and what is unknown",
        f"  stoic operations resolve {_UNKNOWN} done    # what only you can know",
        *uv,
        "",
        style("With your own key:", "bold"),
        '  OPENAI_API_KEY=… stoic run --model openai:NAME "What is in here?"',
        '  ANTHROPIC_API_KEY=… stoic run --model anthropic:NAME "What is in here?"',
        style("With a server of your own that speaks Chat Completions:", "bold"),
        "  stoic run --model openai-chat:NAME --base-url http://127.0.0.1:8000/v1 …",
    ]


def _say(stream: IO[str], *lines: str) -> None:
    stream.write("".join(f"{line}\n" for line in lines))
    stream.flush()
