"""What `stoic run` and `stoic chat` need before a thread can work: settings, workspace, agent and the thread's id."""

import asyncio
from pathlib import Path

from stoic.cli.agents import Made, models_of
from stoic.cli.choosing import Choice, choose
from stoic.cli.guidance import read_guidance
from stoic.cli.inputs import check_budget, has_price, read_workspace
from stoic.cli.opening import absent_log, newest_thread
from stoic.core.plan import Permission
from stoic.errors import UsageError
from stoic.records import Record
from stoic.runtime.agents import DEFAULT_MAX_ROUNDS, Agent
from stoic.settings import Settings
from stoic.tools.workspace import Workspace


class WorkOptions(Record, frozen=True):
    """What the command line said of the work."""

    models: list[str] = []
    """The bound model, then candidates for failure fallback."""
    base_url: str | None = None
    thread: str | None = None
    goes_on: bool = False
    """`--continue`: the thread with the latest activity."""
    workspace: Path = Path()
    yes: bool = False
    max_rounds: int = DEFAULT_MAX_ROUNDS
    max_tokens_per_turn: int | None = None
    max_cost_usd: float | None = None
    max_seconds: float | None = None
    max_tokens: int | None = None
    temperature: float | None = None
    reasoning_effort: str | None = None


class Prepared(Record, frozen=True):
    """Everything that was checked before the log is opened."""

    settings: Settings
    workspace: Workspace
    agent: Agent
    chosen: str | None
    """The bound model if the command line names it; None: the settings do, or a key that was found."""
    thread: str | None
    """None: a new one."""
    notes: list[str]
    """What a person should know beforehand."""
    made: Made
    """How the agent was made: new threads keep it."""


def prepare(options: WorkOptions, permission: Permission) -> Prepared:
    """Read and check what the work needs.

    Args:
        options: the command line
        permission: what becomes of calls that write, send or execute

    Raises:
        UsageError: the command line asks for something that cannot be
    """
    if options.goes_on and options.thread is not None:
        raise UsageError("--continue and --thread both name a thread; give one of them")
    thread = asyncio.run(newest_thread()) if options.goes_on else options.thread
    choice = choose(options.models or (asyncio.run(models_of(thread)) if thread else []), options.base_url)
    workspace = Workspace(read_workspace(options.workspace))
    for each in choice.models:
        check_budget(each, options.max_cost_usd, options.max_seconds)
    guidance = read_guidance(workspace)
    made = Made(
        models=choice.models,
        workspace=str(workspace.root),
        permission=permission,
        max_rounds=options.max_rounds,
        max_tokens_per_turn=options.max_tokens_per_turn,
        max_cost_usd=options.max_cost_usd,
        max_seconds=options.max_seconds,
        max_tokens=options.max_tokens,
        temperature=options.temperature,
        reasoning_effort=options.reasoning_effort,
    )
    agent = made.agent()
    absent = absent_log(choice.settings)
    beginning = None if absent is None else f"a new log begins: {choice.settings.database}"
    return Prepared(
        settings=choice.settings,
        workspace=workspace,
        agent=agent,
        chosen=choice.models[0] if options.models else None,
        thread=thread,
        notes=[note for note in (choice.note, guidance.note, beginning, _unpriced(choice)) if note],
        made=made,
    )


def _unpriced(choice: Choice) -> str | None:
    """Say of which models a bound on cost counts nothing; None: of none."""
    settings = choice.settings
    if settings.per_thread.cost_usd is None and settings.per_day.cost_usd is None:
        return None
    models = [each for each in choice.models if not has_price(each)]
    return f"no price of {', '.join(models)} is known: the bounds on cost_usd do not count it" if models else None
