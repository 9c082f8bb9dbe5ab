"""The agents of the command line: what a thread remembers of how it was made, and the agent made of it again."""

from pathlib import Path

import msgspec

from stoic.cli.guidance import read_guidance
from stoic.cli.inputs import read_workspace
from stoic.cli.names import AGENT_NAME
from stoic.cli.opening import absent_log, opened_log
from stoic.cli.worker import make_agent
from stoic.core.plan import Permission
from stoic.errors import NoSuchThreadError, UnknownAgentError, UsageError
from stoic.records import Json, Record, ThreadRecord
from stoic.runtime.agents import DEFAULT_MAX_ROUNDS, Agent
from stoic.runtime.task_agents import for_task, spec_of
from stoic.tools.workspace import Workspace


class Made(Record, frozen=True):
    """How the command line made an agent: kept with the thread, so that a worker can make it again; never a key."""

    models: list[str]
    """The bound model, then candidates for failure fallback."""
    workspace: str
    """An absolute path."""
    permission: Permission
    max_rounds: int | None = DEFAULT_MAX_ROUNDS
    max_tokens_per_turn: int | None = None
    max_cost_usd: float | None = None
    max_seconds: float | None = None
    max_tokens: int | None = None
    temperature: float | None = None
    reasoning_effort: str | None = None

    def agent(self) -> Agent:
        """Make the agent. Raises UsageError: its workspace is gone."""
        workspace = Workspace(read_workspace(Path(self.workspace)))
        return make_agent(
            self.models[0],
            workspace.root,
            self.permission,
            guidance=read_guidance(workspace).text,
            max_rounds=self.max_rounds,
            max_tokens_per_turn=self.max_tokens_per_turn,
            max_cost_usd=self.max_cost_usd,
            max_seconds=self.max_seconds,
            fallbacks=self.models[1:],
            max_tokens=self.max_tokens,
            temperature=self.temperature,
            reasoning_effort=self.reasoning_effort,
        )

    def meta(self) -> dict[str, Json]:
        """Return it as a new thread keeps it."""
        return {"options": msgspec.to_builtins(self)}


async def models_of(thread: str) -> list[str]:
    """Return the models that a thread keeps, which come before every default; none: it is new, or keeps none."""
    if absent_log() is not None:
        return []
    async with opened_log() as store:
        try:
            record = await store.thread(thread)
        except NoSuchThreadError:
            return []
    if record.meta.get("agent", AGENT_NAME) != AGENT_NAME:
        return []
    own, made = spec_of(record).model, _made(record)
    return [own] if own else made.models if made else []


class CliAgents:
    """Returns the agent of any thread that the command line made; threads that keep nothing get the default."""

    def __init__(self, default: Made, *, watched: bool = False) -> None:
        """Take what counts for threads that keep nothing.

        Args:
            default: how their agent is made
            watched: whether the asking is a person's at this terminal; else what is not allowed waits for an approval
        """
        self._default = default
        self._watched = watched

    def __call__(self, record: ThreadRecord) -> Agent:
        """Return a thread's agent.

        Raises:
            UnknownAgentError: another program made the thread
            UsageError: its workspace is gone, or its task wants what the agent has not
        """
        name = record.meta.get("agent", AGENT_NAME)
        if name != AGENT_NAME:
            raise UnknownAgentError(f"thread {record.id} belongs to the agent {name!r} of another program")
        made = _made(record) or self._default
        if not self._watched and made.permission != "allow":
            made = msgspec.structs.replace(made, permission="ask")
        spec = spec_of(record)
        if spec.workspace is not None:
            made = msgspec.structs.replace(made, workspace=str(_within(made.workspace, spec.workspace)))
        return for_task(made.agent(), msgspec.structs.replace(spec, workspace=None))


def _made(record: ThreadRecord) -> Made | None:
    """Return how a thread keeps that its agent was made; None: it keeps nothing. Raises UsageError."""
    kept = record.meta.get("options")
    try:
        return None if kept is None else msgspec.convert(kept, Made)
    except msgspec.ValidationError as error:
        raise UsageError(f"thread {record.id}: how its agent was made cannot be read ({error})") from None


def _within(outer: str, inner: str) -> Path:
    """Return a folder within a workspace. Raises UsageError if it is elsewhere or no folder."""
    root = read_workspace(Path(outer))
    found = read_workspace(root / inner)
    if found != root and root not in found.parents:
        raise UsageError(f"workspace {inner!r} is outside {outer}; name a folder within it")
    return found
