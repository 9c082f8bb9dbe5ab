"""What the environment and the configuration file say, read once into one frozen record.

Everything is settled in this order: argument, environment variable, configuration file, default.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from msgspec.structs import replace

from stoic.configuration import Configuration, ProviderSection, read_configuration
from stoic.core.health import HealthPolicy
from stoic.core.retry import RetryPolicy
from stoic.credentials import Secret
from stoic.errors import ConfigurationError
from stoic.models.addresses import ollama_base_url, with_version_path
from stoic.models.entries import ProviderEntry
from stoic.models.providers import PROVIDERS
from stoic.records import Record
from stoic.sampling import Sampling

_ALL_PROXY = ("ALL_PROXY", "all_proxy")

__all__ = ["Access", "Secret", "Settings", "read_settings"]


class Access(Record, frozen=True):
    """How one provider is reached, as far as something other than the table says so."""

    base_url: str | None = None
    base_url_from: str | None = None
    """The variable or file that says so."""
    key: Secret | None = None
    key_from: str | None = None
    bearer: bool = False
    """Whether the key is a token for `Authorization: Bearer`, where the API has a header of its own."""
    version: str | None = None
    """The API's version (Azure)."""
    headers: dict[str, str] = {}
    """Further headers; none of them a credential."""


class Settings(Record, frozen=True):
    """Everything stoic takes from outside its arguments."""

    database: str
    """Path of the SQLite log: `$STOIC_DB`, default `~/.local/share/stoic/stoic.db` (`$XDG_DATA_HOME` honoured)."""
    models: list[str] = []
    """`$STOIC_MODEL` or `models` of the file: the bound model, then candidates for failure fallback, when none is named."""
    access: dict[str, Access] = {}
    """By provider."""
    base_urls: dict[str, str] = {}
    """By `PROVIDER:NAME`: an argument's base URL for one model, before everything else."""
    providers: dict[str, ProviderEntry] = {}
    """Providers that the file adds to the table."""
    context_windows_tokens: dict[str, int] = {}
    """By `PROVIDER:NAME`: what the file says, before the table."""
    sampling: Sampling = Sampling()
    """`$STOIC_MAX_TOKENS`, `$STOIC_TEMPERATURE`, `$STOIC_EFFORT`, or the file: for agents that say nothing."""
    https_proxy_url: str | None = None
    """For https: `$STOIC_PROXY`, `$HTTPS_PROXY` or `$ALL_PROXY` (in either case), or the file. None leads to this machine."""
    http_proxy_url: str | None = None
    """For http: `$STOIC_PROXY`, `$http_proxy` or `$ALL_PROXY` (in either case), or the file."""
    no_proxy: list[str] = []
    """`$NO_PROXY`, or the file: hosts, or domains with everything below them, that the proxy is not asked for; `*`: all."""
    ca_file: str | None = None
    """`$STOIC_CA_FILE` or `$SSL_CERT_FILE`, or the file: certificates to trust instead of the system's."""
    deadline_seconds: float = 600.0
    """Longest duration of one send: `$STOIC_DEADLINE_SECONDS`, or the file."""
    retry: RetryPolicy = RetryPolicy()
    health: HealthPolicy = HealthPolicy()

    @property
    def model(self) -> str | None:
        """The first of `models`."""
        return self.models[0] if self.models else None

    def entry(self, provider: str) -> ProviderEntry | None:
        """Return what is known of a provider: the file's own ones, then the table."""
        return self.providers.get(provider) or PROVIDERS.get(provider)

    def with_base_url(self, model: str, base_url: str) -> "Settings":
        """Return settings in which one model is served from another base URL."""
        return replace(self, base_urls={**self.base_urls, model: base_url})


def read_settings(environment: Mapping[str, str] | None = None) -> Settings:
    """Read the settings from environment variables and the configuration file; an empty variable counts as not set.

    Args:
        environment: default `os.environ`

    Raises:
        ConfigurationError: a variable or the file says what cannot be
    """
    given = {
        name: value.strip()
        for name, value in (os.environ if environment is None else environment).items()
        if value.strip()
    }
    file = read_configuration(given)
    limits, network = file.limits, file.network
    own = {name: _own_entry(name, section) for name, section in file.providers.items() if name not in PROVIDERS}
    entries = PROVIDERS | own
    access = {name: _access(entry, given, file) for name, entry in entries.items()}
    return Settings(
        database=given.get("STOIC_DB") or file.database or str(_data_folder(given) / "stoic" / "stoic.db"),
        models=_names(given["STOIC_MODEL"]) if "STOIC_MODEL" in given else file.models,
        access={name: each for name, each in access.items() if each != Access()},
        providers=own,
        context_windows_tokens=file.context_windows,
        sampling=Sampling(
            max_tokens=_whole(given, "STOIC_MAX_TOKENS", file.parameters.max_tokens),
            temperature=_number(given, "STOIC_TEMPERATURE", file.parameters.temperature),
            reasoning_effort=given.get("STOIC_EFFORT", file.parameters.reasoning_effort),
        ),
        https_proxy_url=_first(given, "STOIC_PROXY", "HTTPS_PROXY", "https_proxy", *_ALL_PROXY) or network.proxy,
        # Not $HTTP_PROXY: behind CGI it is the request's header, which a stranger sets (https://httpoxy.org).
        http_proxy_url=_first(given, "STOIC_PROXY", "http_proxy", *_ALL_PROXY) or network.proxy,
        no_proxy=_names(_first(given, "NO_PROXY", "no_proxy") or "") or network.no_proxy,
        ca_file=_first(given, "STOIC_CA_FILE", "SSL_CERT_FILE") or network.ca_file,
        deadline_seconds=_number(given, "STOIC_DEADLINE_SECONDS", limits.deadline_seconds) or 600.0,
    )


def _own_entry(name: str, section: ProviderSection) -> ProviderEntry:
    """Return the entry of a provider that only the file knows; that it has an API and a base URL was checked there."""
    return ProviderEntry(name=name, api=section.api or "chat", base_url=section.base_url, source="", needs_key=False)


def _access(entry: ProviderEntry, given: Mapping[str, str], file: Configuration) -> Access:
    section = file.providers.get(entry.name, ProviderSection())
    url, url_from = _base_url(entry, given, section, file.path)
    bearer = _set(given, entry.bearer_variables)
    key_variable = _set(given, entry.key_variables) or bearer
    if section.key_variable and key_variable is None:
        key_variable = section.key_variable if section.key_variable in given else None
    key, key_from = (given[key_variable], f"${key_variable}") if key_variable else (section.key, file.path)
    version = _set(given, entry.version_variables)
    return Access(
        base_url=url,
        base_url_from=url_from,
        key=Secret(key) if key else None,
        key_from=key_from if key else None,
        bearer=key_variable is not None and key_variable == bearer,
        version=given[version] if version else section.api_version,
        headers={header: given[variable] for variable, header in entry.header_variables if variable in given},
    )


def _base_url(
    entry: ProviderEntry, given: Mapping[str, str], section: ProviderSection, path: str | None
) -> tuple[str | None, str | None]:
    """Return the base URL that is not the table's, and where it is from."""
    variable = _set(given, entry.url_variables)
    if variable is None:
        return (section.base_url, path if section.base_url else None)
    url = ollama_base_url(given[variable]) if variable == "OLLAMA_HOST" else given[variable]
    return with_version_path(url, entry.version_path), f"${variable}"


def _set(given: Mapping[str, str], variables: tuple[str, ...]) -> str | None:
    return next((name for name in variables if name in given), None)


def _first(given: Mapping[str, str], *variables: str) -> str | None:
    name = _set(given, variables)
    return given[name] if name else None


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _number(given: Mapping[str, str], variable: str, otherwise: float | None) -> float | None:
    if variable not in given:
        return otherwise
    try:
        return float(given[variable])
    except ValueError:
        raise ConfigurationError(
            f"${variable} is {given[variable]!r}, which is no number; change or unset it"
        ) from None


def _whole(given: Mapping[str, str], variable: str, otherwise: int | None) -> int | None:
    if variable not in given:
        return otherwise
    if not given[variable].isdecimal():
        raise ConfigurationError(f"${variable} is {given[variable]!r}, which is no whole number; change or unset it")
    return int(given[variable])


def _data_folder(given: Mapping[str, str]) -> Path:
    base = given.get("XDG_DATA_HOME")
    return Path(base) if base else Path(given.get("HOME", "~")).expanduser() / ".local" / "share"
