"""The exceptions a caller of stoic may catch; expected failures of a turn are outcomes, not exceptions."""

_SHOWN_CHARACTERS = 60


def brief(value: object) -> str:
    """Return a wrong value as an error's text shows it: as Python writes it, cut where it is long."""
    text = repr(value)
    return text if len(text) <= _SHOWN_CHARACTERS else text[: _SHOWN_CHARACTERS - 1] + "…"


class StoicError(Exception):
    """Every exception stoic raises on purpose is one of these; its text says what happened, to what, and what to do."""


class UsageError(StoicError):
    """The caller asked for something that cannot be: a wrong argument, an unknown model, a malformed file."""


class UnknownAgentError(UsageError):
    """A thread belongs to an agent that this program does not know."""


class ConfigurationError(UsageError):
    """A setting, environment variable or key is missing or wrong."""


class EndedByRefusalError(UsageError):
    """A thread or task was asked to go on that ended by refusal, and so never runs again."""


class ToolDeclarationError(UsageError):
    """A function cannot be offered as a tool as it is declared."""


class StoreError(StoicError):
    """The log could not be read or written; the step is not stored."""


class SchemaTooNewError(StoreError):
    """The database was written by a newer stoic than this one."""


class NoSuchThreadError(StoreError):
    """The log has no thread of that id."""


class StaleWriterError(StoreError):
    """The lease moved to another writer; this writer's step was rejected whole (SPEC §4, invariant 18)."""


class RejectedStepError(StoreError):
    """The step breaks a rule the log itself enforces, such as changing an accepted row (SPEC §9)."""


class UnsendableError(StoicError):
    """The gate found a request that must not be sent: a bug of stoic; nothing was sent."""


class BrokenInvariantError(StoicError):
    """A bug of stoic: a state that cannot be."""
