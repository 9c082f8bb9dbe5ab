"""How threads are run that nobody looks at: the defaults of a command for those that keep none, and who is another program's."""

from collections.abc import Callable
from pathlib import Path

from stoic.cli.agents import CliAgents, Made
from stoic.cli.inputs import read_workspace
from stoic.cli.names import AGENT_NAME
from stoic.cli.preparing import WorkOptions, prepare
from stoic.core.plan import Permission
from stoic.errors import ConfigurationError, UnknownAgentError
from stoic.records import Record, ThreadRecord
from stoic.runtime.agents import Agent
from stoic.settings import Settings, read_settings

SESSION = "stoic up"
"""The sitting of every run that nobody looks at: what a person allowed for the session holds in all of them."""
_NOWHERE = Made(models=["none:none"], workspace=str(Path("/")), permission="ask")


class Defaults(Record, frozen=True):
    """What a command line says for threads that keep nothing of how they were made."""

    settings: Settings
    made: Made | None
    """None: no model is named and none can be chosen; `missing` says so."""
    missing: str = ""
    notes: list[str] = []
    """What a person should know beforehand."""


def read_defaults(options: WorkOptions) -> Defaults:
    """Read the defaults; that there is no model is an error only for whoever needs one.

    Raises:
        UsageError: the command line asks for something that cannot be
    """
    settings, permission = read_settings(), permission_of(options)
    read_workspace(options.workspace)  # a wrong one is said also where there is no model
    try:
        prepared = prepare(options, permission)
    except ConfigurationError as error:
        if options.models or settings.models or options.base_url is not None:
            raise
        return Defaults(settings=settings, made=None, missing=str(error))
    return Defaults(settings=prepared.settings, made=prepared.made, notes=prepared.notes)


def permission_of(options: WorkOptions) -> Permission:
    """Return what becomes of writes and commands where nobody looks: they wait for an approval unless all are allowed."""
    return "allow" if options.yes else "ask"


class UnattendedAgents:
    """The agents of the command line's threads; those that keep nothing need the defaults, and only then these must be there."""

    def __init__(self, defaults: Defaults, on_foreign: Callable[[str, str], None] | None = None) -> None:
        """Take the defaults.

        Args:
            defaults: for threads that keep nothing
            on_foreign: called once with a thread of another program and with why it cannot run here
        """
        self._agents = CliAgents(defaults.made or _NOWHERE)
        self._missing = "" if defaults.made else defaults.missing
        self._on_foreign = on_foreign
        self.foreign: set[str] = set()
        """The threads of other programs that were met."""

    def __call__(self, record: ThreadRecord) -> Agent:
        """Return a thread's agent.

        Raises:
            UnknownAgentError: another program made the thread
            ConfigurationError: it keeps nothing, and there is no model by default
            UsageError: its workspace is gone, or its task wants what the agent has not
        """
        is_ours = record.meta.get("agent", AGENT_NAME) == AGENT_NAME
        if is_ours and self._missing and "options" not in record.meta:
            raise ConfigurationError(f"it keeps no model of its own, and {self._missing}")
        try:
            return self._agents(record)
        except UnknownAgentError as error:
            if record.id not in self.foreign:
                self.foreign.add(record.id)
                if self._on_foreign is not None:
                    self._on_foreign(record.id, str(error))
            raise
