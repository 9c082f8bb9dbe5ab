"""`stoic demo`: a real agent does a small real piece of work; only the provider is simulated, and it says so."""

import asyncio
import os
import shlex
import tempfile
from pathlib import Path
from typing import IO

from stoic.cli import exits
from stoic.cli.demo_play import NOTES, TASK, script
from stoic.cli.demo_proof import Claim, prove
from stoic.cli.live import LiveView
from stoic.cli.opening import opened
from stoic.cli.screen import Screen, Style
from stoic.cli.views import PlainView, View
from stoic.cli.worker import make_agent
from stoic.errors import UsageError
from stoic.records import Record
from stoic.settings import Settings
from stoic.testing import ScriptedProvider
from stoic.wiring import Connector, Runtime, SystemClock

_THREAD = "demo"
_MODEL = "openai-chat:simulated"


class Place(Record, frozen=True):
    """Where the demonstration happens; it is left there to be looked at."""

    workspace: Path
    database: Path


def demo(*, stdout: IO[str], stderr: IO[str]) -> int:
    """Run the demonstration and prove it; the exit code is 0 only if every claim was found to be so.

    Args:
        stdout: for everything that happens
        stderr: for what did not hold
    """
    style = Style(stdout, os.environ)
    place = _prepare()
    _say(stdout, *_beginning(style, place))
    claims = asyncio.run(_play(place, _view(stdout, style)))
    _say(stdout, "", style("What happened, checked on the disk and in the log:", "bold"))
    for claim in claims:
        mark = style("✓", "green") if claim.holds else style("✗", "red")
        _say(stdout, f"  {mark} {claim.text}")
    false = [claim.text for claim in claims if not claim.holds]
    if false:
        _say(
            stderr,
            f"stoic demo: this did not hold: {'; '.join(false)} (everything is kept in {place.workspace.parent})",
        )
        return exits.DISPROVED
    _say(stdout, *_end(style, place))
    return exits.COMPLETED


def _prepare() -> Place:
    """Make a real folder with a few real files."""
    try:
        folder = Path(tempfile.mkdtemp(prefix="stoic-demo-")).resolve()
    except OSError as error:
        raise UsageError(f"no temporary folder can be made ({error}); set TMPDIR to one you can write to") from None
    workspace = folder / "workspace"
    for path, text in NOTES.items():
        (workspace / path).parent.mkdir(parents=True, exist_ok=True)
        (workspace / path).write_text(text, encoding="utf-8")
    return Place(workspace=workspace, database=folder / "stoic.db")


async def _play(place: Place, view: View) -> list[Claim]:
    clock = SystemClock()
    async with ScriptedProvider(script()) as provider:
        settings = Settings(database=str(place.database), openai_base_url=provider.base_url)
        connect = Connector(settings, clock, simulated=True)
        agent = make_agent(_MODEL, place.workspace, "allow")
        async with opened(Runtime(settings=settings, clock=clock, connect=connect)) as runtime:
            await runtime.thread(_THREAD, agent).run(TASK, view.show)
        async with opened(Runtime(settings=settings, clock=clock, connect=connect)) as reopened:
            return await prove(reopened.store, _THREAD, place.workspace, provider.requests)


def _view(stdout: IO[str], style: Style) -> View:
    if stdout.isatty():
        return LiveView(Screen(stdout, os.environ), stdout, style)
    return PlainView(stdout, stdout, style)


def _beginning(style: Style, place: Place) -> list[str]:
    return [
        style("The provider is simulated: it plays a script and asks no model.", "bold"),
        "Everything else is real: the agent, its tools, the files, the HTTP, the log.",
        "In its workspace the agent may write and run commands without asking.",
        f"workspace {place.workspace}",
        f"log       {place.database}",
        f"task      {TASK}",
        "",
    ]


def _end(style: Style, place: Place) -> list[str]:
    database = shlex.quote(str(place.database))
    return [
        "",
        style(f"{place.workspace / 'summary.txt'}:", "bold"),
        *(f"  {line}" for line in (place.workspace / "summary.txt").read_text(encoding="utf-8").splitlines()),
        "",
        style("Look further:", "bold"),
        f"  STOIC_DB={database} stoic show {_THREAD}",
        style("With your own key:", "bold"),
        '  OPENAI_API_KEY=sk-… stoic run --model openai-chat:NAME "What is in here?"',
        style("Any other server that speaks Chat Completions:", "bold"),
        "  add --base-url http://127.0.0.1:8000/v1",
    ]


def _say(stream: IO[str], *lines: str) -> None:
    for line in lines:
        stream.write(f"{line}\n")
    stream.flush()
