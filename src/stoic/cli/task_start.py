"""`stoic tasks start`: stores a task for whoever runs the database's work, or runs it here until it ends."""

import asyncio
import os
import sys

from stoic.cli import exits
from stoic.cli.cleaning import json_text, one_line, quoted
from stoic.cli.endings import exit_code
from stoic.cli.inputs import check_budget, read_workspace
from stoic.cli.names import AGENT_NAME, readable_id
from stoic.cli.opening import opened, require_thread
from stoic.cli.preparing import WorkOptions
from stoic.cli.screen import Style
from stoic.cli.stopping import Stopper
from stoic.cli.tasks import last_outcome, print_answer, read_text, waits_of
from stoic.cli.unattended import Defaults, UnattendedAgents, read_defaults
from stoic.core.quarantine import body_hash
from stoic.errors import ConfigurationError, NoSuchThreadError, UsageError
from stoic.records import Outcome, ThreadRecord
from stoic.runtime.agents import DEFAULT_MAX_ROUNDS
from stoic.tools.desk import TaskSpec, TaskStatus
from stoic.wiring import Runtime

_LONGEST_ID = 200
_FOR_PEOPLE = frozenset({"permission", "event"})
"""What somebody outside has to bring; a turn that waits for anything else goes on by itself while its process waits."""


class StartOptions(WorkOptions, frozen=True):
    """What the command line said."""

    brief: str = ""
    owner: str | None = None
    task: str | None = None
    """Its id; None: a new one."""
    wait: bool = False
    as_json: bool = False


def start_task(options: StartOptions) -> int:
    """Start a task and return the exit code: of its outcome with `--wait`, else of its having been stored.

    Raises:
        UsageError: the command line asks for something that cannot be
    """
    brief = read_text(options.brief, "BRIEF")
    if options.task is not None and not (1 <= len(options.task) <= _LONGEST_ID and options.task.isprintable()):
        raise UsageError(f"--id {options.task[:40]!r}: use 1 to {_LONGEST_ID} printable characters")
    spec = TaskSpec() if options.owner is None else _spec(options)
    # A task of an owner is made as the owner is; what the command line says of models is in `spec`.
    asked = options if options.owner is None else WorkOptions()
    return asyncio.run(_start(options, brief, spec, read_defaults(asked)))


async def _start(options: StartOptions, brief: str, spec: TaskSpec, defaults: Defaults) -> int:
    made = defaults.made
    if made is None and options.owner is None:
        raise ConfigurationError(defaults.missing)
    agents = UnattendedAgents(defaults)
    runtime = Runtime(settings=defaults.settings, delivers_notices=False, runs_tasks=options.wait, agents=agents)
    if options.wait and made is not None and options.owner is None:
        agent = made.agent()
        for model in agent.models:  # a wrong one is said before anything is stored
            agent.parameters_for(runtime.connection(model))
    for model in [*options.models, *([spec.model] if spec.model else [])]:
        _check_provider(defaults, model)
    task = options.task or readable_id(runtime.ids.new())
    stopper = Stopper(lambda: runtime.cancel(task), _say)
    try:
        async with opened(runtime):
            if options.owner is not None:
                await require_thread(runtime.store, options.owner)
            await _check_new(runtime, task, brief)
            stopper.listen()
            meta = {} if made is None else made.meta()
            status = await runtime.tasks.start(
                brief, owner=options.owner, task=task, spec=spec, agent=await _agent_of(runtime, options), meta=meta
            )
            if options.wait:
                await _check_reachable(runtime, agents, task)
                _say(f"task {one_line(task)} runs here until it ends")
                return await _run(runtime, task, stopper, as_json=options.as_json)
            _tell_stored(options, status)
            return exits.COMPLETED if status.refusal is None else exits.REFUSED
    except asyncio.CancelledError:
        if stopper.code is None:
            raise
        _say(f"task {one_line(task)} is left as it stands; `stoic up` goes on with it")
        return stopper.code


async def _run(runtime: Runtime, task: str, stopper: Stopper, *, as_json: bool) -> int:
    """Wait until the task has ended, or waits for somebody outside; it is run by this process meanwhile."""
    status, record = await _settled(runtime, task)
    if as_json:
        sys.stdout.write(json_text(status) + "\n")
    outcome = await last_outcome(runtime.store, task)
    if status.state == "parked":
        again = f"`stoic tasks wait {quoted(task)}` waits on while `stoic up` runs"
        _say(f"task {one_line(task)} {waits_of(status, record)}; {again}")
        return exits.PARKED
    if outcome is None:
        return exits.REFUSED if status.refusal else exits.FAILED_OUTSIDE
    if outcome.outcome == "completed" and not as_json:
        print_answer(outcome.text, sys.stdout)
    elif outcome.outcome != "completed":
        style = Style(sys.stderr, os.environ)
        print(style(f"{_ending(outcome)}: {one_line(outcome.message)}".rstrip(": "), "red"), file=sys.stderr)
    if outcome.outcome == "cancelled" and stopper.interrupted:
        return exits.INTERRUPTED
    return exit_code(outcome)


async def _settled(runtime: Runtime, task: str) -> tuple[TaskStatus, ThreadRecord]:
    listener = runtime.store.changes()
    while True:
        status = await runtime.tasks.status(task)
        waits_for_people = status.state == "parked" and status.waits_for in _FOR_PEOPLE
        if status.state == "ended" or (waits_for_people and not await runtime.store.inbox(task)):
            return status, await runtime.store.thread(task)
        await anext(listener)


async def _check_new(runtime: Runtime, task: str, brief: str) -> None:
    """Check that an id is free, or that of the very task: then starting it again changes nothing. Raises UsageError."""
    try:
        known = await runtime.store.thread(task)
    except NoSuchThreadError:
        return
    if known.kind != "task" or known.meta.get("brief") != body_hash({"text": brief}):
        raise UsageError(f"--id {task!r}: there is a thread of that id already; choose another one")


async def _check_reachable(runtime: Runtime, agents: UnattendedAgents, task: str) -> None:
    """Check that the models of a task can be reached from here. Raises ConfigurationError."""
    agent = agents(await runtime.store.thread(task))
    for model in agent.models:
        try:
            agent.parameters_for(runtime.connection(model))
        except ConfigurationError as error:
            raise ConfigurationError(f"task {task} is stored, but cannot run here: {error}") from None


async def _agent_of(runtime: Runtime, options: StartOptions) -> str | None:
    """Return the agent's name: an owner's own, else this program's."""
    if options.owner is None:
        return AGENT_NAME
    record = await runtime.store.thread(options.owner)
    return None if "agent" in record.meta else AGENT_NAME


def _check_provider(defaults: Defaults, model: str) -> None:
    """Check that a model's provider is known; its key may be with whoever runs the task. Raises ConfigurationError."""
    provider, _, name = model.partition(":")
    if defaults.settings.entry(provider) is None or not name:
        raise ConfigurationError(
            f"model {model!r}: write PROVIDER:NAME with a provider that `stoic config` lists, such as openai:NAME"
        )


def _spec(options: StartOptions) -> TaskSpec:
    """Return how a task differs from its owner. Raises UsageError for what it cannot differ in."""
    fixed: dict[str, bool] = {
        "--yes": options.yes,
        "--base-url": options.base_url is not None,
        "--max-tokens": options.max_tokens is not None,
        "--temperature": options.temperature is not None,
        "--effort": options.reasoning_effort is not None,
        "a second --model": len(options.models) > 1,
    }
    wrong = next((name for name, given in fixed.items() if given), None)
    if wrong is not None:
        raise UsageError(f"{wrong} does not go with --owner: such a task is made as its owner is; leave it out")
    model = options.models[0] if options.models else None
    if model is not None:
        check_budget(model, options.max_cost_usd, options.max_seconds)
    default = WorkOptions()
    return TaskSpec(
        model=model,
        workspace=None if options.workspace == default.workspace else str(read_workspace(options.workspace)),
        max_rounds=None if options.max_rounds == DEFAULT_MAX_ROUNDS else options.max_rounds,
        max_cost_usd=options.max_cost_usd,
        max_seconds=options.max_seconds,
    )


def _tell_stored(options: StartOptions, status: TaskStatus) -> None:
    if options.as_json:
        sys.stdout.write(json_text(status) + "\n")
    elif status.state == "waiting":
        sys.stdout.write(f"{one_line(status.task)} is stored; `stoic up` runs it\n")
    else:
        sys.stdout.write(f"{one_line(status.task)} is there already: {_state(status)}\n")
    if options.base_url is not None and status.refusal is None:
        _say("--base-url is not kept with a task; give it to `stoic up` as well")


def _state(status: TaskStatus) -> str:
    why = status.failure_class or status.reason
    said = status.outcome if status.state == "ended" and status.outcome else status.state
    return f"{said}{f' ({why})' if why else ''}"


def _ending(outcome: Outcome) -> str:
    why = outcome.failure_class or outcome.reason
    return f"{outcome.outcome}{f' ({why})' if why else ''}"


def _say(text: str) -> None:
    print(f"stoic: {text}", file=sys.stderr)
