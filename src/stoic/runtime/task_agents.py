"""Which agent runs a thread that nobody holds in his hand: by the name in the thread's record, as its task says."""

import copy
from collections.abc import Callable

import msgspec
from msgspec.structs import replace

from stoic.core.budget import Limits
from stoic.errors import UnknownAgentError, UsageError
from stoic.records import ThreadRecord
from stoic.runtime.agents import DEFAULT_MODE, Agent
from stoic.tools.desk import TaskSpec

AgentSource = Callable[[ThreadRecord], Agent]
"""Returns the agent of a thread. Raises UsageError where there is none, or not as the thread says."""


class KnownAgents:
    """The agents of a program, by name."""

    def __init__(self, *agents: Agent) -> None:
        """Begin with some. Raises UsageError if two have one name."""
        self._by_name: dict[str, Agent] = {}
        for agent in agents:
            if agent.name in self._by_name:
                raise UsageError(f"two agents are named {agent.name!r}; give each a name of its own")
            self._by_name[agent.name] = agent

    def meet(self, agent: Agent) -> None:
        """Take note of an agent that a thread was made with; the newest of a name counts."""
        self._by_name[agent.name] = agent

    def __call__(self, record: ThreadRecord) -> Agent:
        """Return the agent of a thread. Raises UnknownAgentError if it is not known here."""
        name = record.meta.get("agent")
        agent = self._by_name.get(str(name))
        if agent is None:
            known = ", ".join(sorted(self._by_name)) or "none"
            raise UnknownAgentError(f"thread {record.id}: its agent {name!r} is not known here; known are: {known}")
        spec = spec_of(record)
        if spec.workspace is not None:
            raise UsageError(f"agent {name!r} has no workspace to change; leave workspace out")
        return for_task(agent, spec)


def spec_of(record: ThreadRecord) -> TaskSpec:
    """Return how a thread's task differs from its owner; of one that is no task, not at all.

    Raises:
        UsageError: another version has written it, in a way that this one cannot read
    """
    try:
        return msgspec.convert(record.meta.get("spec", {}), TaskSpec)
    except msgspec.ValidationError as error:
        raise UsageError(f"thread {record.id}: what it keeps of its task cannot be read ({error})") from None


def for_task(agent: Agent, spec: TaskSpec) -> Agent:
    """Return an agent as a task has it.

    Raises:
        UsageError: the task has a tool that the agent has not, or a bound that is not above 0
    """
    if spec == TaskSpec():
        return agent
    found = copy.copy(agent)
    if spec.tools is not None:
        missing = next((name for name in spec.tools if name not in agent.tools), None)
        if missing is not None:
            raise UsageError(f"there is no tool {missing!r}; those there are: {', '.join(agent.tools) or 'none'}")
        found = agent.with_tools(spec.tools)
    if spec.model is not None and spec.model != agent.model:
        found.model, found.models = spec.model, [spec.model]
    found.limits = _limits(agent.limits, spec)
    found.modes = {name: mode for name, mode in agent.modes.items() if name != DEFAULT_MODE} | {DEFAULT_MODE: found}
    return found


def _limits(limits: Limits, spec: TaskSpec) -> Limits:
    bounds = {
        "max_rounds": spec.max_rounds,
        "max_cost_usd": spec.max_cost_usd,
        "max_seconds": spec.max_seconds,
    }
    for name, bound in bounds.items():
        if bound is not None and bound <= 0:
            raise UsageError(f"{name} is {bound}; it must be above 0")
    return replace(limits, **{name: bound for name, bound in bounds.items() if bound is not None})
