"""Which models a command works with: the command line's, the settings', or the one whose key is found."""

from collections.abc import Sequence

from stoic.errors import ConfigurationError
from stoic.models.entries import ProviderEntry
from stoic.models.providers import PROVIDERS
from stoic.records import Record
from stoic.settings import Settings, read_settings


class Choice(Record, frozen=True):
    """What was chosen."""

    settings: Settings
    models: list[str]
    """The bound model, then candidates for failure fallback."""
    note: str | None = None
    """What a person should know of the choice."""


def choose(models: Sequence[str], base_url: str | None) -> Choice:
    """Return settings and models: `--model`, else `$STOIC_MODEL` or the file's `models`, else by the keys found.

    Args:
        models: every `--model`, in order
        base_url: `--base-url`, which counts for the first model alone

    Raises:
        ConfigurationError: no model is named and none can be chosen, or a setting cannot be
    """
    settings = read_settings()
    chosen, note = list(models) or settings.models, None
    if not chosen:
        model, where = _by_key(settings)
        chosen, note = [model], f"model {model}: none is named, and {where} is set"
    if base_url is not None:
        settings = settings.with_base_url(chosen[0], base_url)
    return Choice(settings=settings, models=chosen, note=note)


def keys_found(settings: Settings) -> list[tuple[ProviderEntry, str]]:
    """Return the providers whose key is there, in the table's order, and where each key is."""
    return [
        (entry, access.key_from or "")
        for name, entry in {**settings.providers, **PROVIDERS}.items()
        if (access := settings.access.get(name)) is not None and access.key is not None
    ]


def _by_key(settings: Settings) -> tuple[str, str]:
    found = keys_found(settings)
    for entry, where in found:
        if entry.default_model is not None:
            return f"{entry.name}:{entry.default_model}", where
    names = [entry.name for entry, _ in found]
    if names:
        raise ConfigurationError(
            f"no model is named, and {names[0]}, whose key is set, has no default; add --model {names[0]}:NAME "
            f"or set STOIC_MODEL={names[0]}:NAME"
        )
    raise ConfigurationError(
        "no model is named; add --model PROVIDER:NAME such as openai:gpt-5.6, set STOIC_MODEL, "
        "or set a key such as ANTHROPIC_API_KEY (`stoic doctor` shows what is there; `stoic demo` needs none)"
    )
