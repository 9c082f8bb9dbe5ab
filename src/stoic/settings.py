"""What the environment says, read once into one frozen record."""

import os
from collections.abc import Mapping
from pathlib import Path

from stoic.core.retry import RetryPolicy
from stoic.records import Record

OPENAI_BASE_URL = "https://api.openai.com/v1"


class Secret:
    """A credential that does not show itself in a log, a trace or an error."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """Return the credential, for the one header that carries it."""
        return self._value

    def __repr__(self) -> str:
        return "Secret(…)"


class Settings(Record, frozen=True):
    """Everything stoic takes from outside its arguments."""

    database: str
    """Path of the SQLite log: `$STOIC_DB`, default `~/.local/share/stoic/stoic.db` (`$XDG_DATA_HOME` honoured)."""
    model: str | None = None
    """`$STOIC_MODEL`: the model when none is named."""
    openai_base_url: str = OPENAI_BASE_URL
    """`$OPENAI_BASE_URL`."""
    openai_api_key: Secret | None = None
    """`$OPENAI_API_KEY`."""
    deadline_seconds: float = 600.0
    """Longest duration of one send."""
    retry: RetryPolicy = RetryPolicy()


def read_settings(environment: Mapping[str, str] | None = None) -> Settings:
    """Read the settings from environment variables; an empty variable counts as not set.

    Args:
        environment: default `os.environ`
    """
    given = {
        name: value for name, value in (os.environ if environment is None else environment).items() if value.strip()
    }
    key = given.get("OPENAI_API_KEY")
    return Settings(
        database=given.get("STOIC_DB") or str(_data_folder(given) / "stoic" / "stoic.db"),
        model=given.get("STOIC_MODEL"),
        openai_base_url=given.get("OPENAI_BASE_URL", OPENAI_BASE_URL),
        openai_api_key=Secret(key.strip()) if key else None,
    )


def _data_folder(given: Mapping[str, str]) -> Path:
    base = given.get("XDG_DATA_HOME")
    return Path(base) if base else Path(given.get("HOME", "~")).expanduser() / ".local" / "share"
