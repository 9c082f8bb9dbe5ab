"""Where the demonstration happens, and the runtime and agent that work there; the same for each of its processes."""

import tempfile
from pathlib import Path

from stoic.cli.demo_play import FILES, READER
from stoic.cli.worker import make_agent
from stoic.connecting import Connector
from stoic.core.health import HealthPolicy
from stoic.core.retry import RetryPolicy
from stoic.errors import UsageError
from stoic.records import Record
from stoic.runtime.agents import Agent
from stoic.settings import Settings
from stoic.wiring import Runtime, SystemClock

THREAD = "demo"
BOUND = "openai:demo"
STAND_IN = "anthropic:demo"

DELAYS_SECONDS = (0.3, 0.6, 0.9)
COOLDOWN_SECONDS = 2.0
"""Shorter than the defaults, so that nobody has to wait long; the demonstration says so."""


class Place(Record, frozen=True):
    """Where the demonstration happens; it is left there to be looked at."""

    workspace: Path
    database: Path


def prepare() -> Place:
    """Make a real folder with a few real files.

    Raises:
        UsageError: no temporary folder can be made, or nothing can be written into it
    """
    try:
        folder = Path(tempfile.mkdtemp(prefix="stoic-demo-")).resolve()
        workspace = folder / "workspace"
        for path, text in FILES.items():
            (workspace / path).parent.mkdir(parents=True, exist_ok=True)
            (workspace / path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"no temporary folder can be made ({error}); set TMPDIR to one you can write to") from None
    return Place(workspace=workspace, database=folder / "stoic.db")


def runtime_at(place: Place, base_url: str) -> Runtime:
    """Return a runtime that takes nothing from the environment: no key, no proxy, no file of settings.

    Args:
        place: where its log is
        base_url: the simulated provider's
    """
    settings = Settings(
        database=str(place.database),
        base_urls=dict.fromkeys((BOUND, STAND_IN, f"openai:{READER}"), base_url),
        retry=RetryPolicy(delays_ms=tuple(round(each * 1000) for each in DELAYS_SECONDS)),
        health=HealthPolicy(cooldowns_ms=(round(COOLDOWN_SECONDS * 1000),)),
    )
    clock = SystemClock()
    return Runtime(settings=settings, clock=clock, connect=Connector(settings, clock, simulated=True))


def agent_at(place: Place) -> Agent:
    """Return the agent; each process makes an equal one."""
    return make_agent(BOUND, place.workspace, "allow", fallbacks=[STAND_IN])
