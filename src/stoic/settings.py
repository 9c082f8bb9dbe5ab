"""What the environment and the configuration file say, read once into one frozen record.

Everything is settled in this order: argument, environment variable, configuration file, default.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from msgspec.structs import replace

from stoic.configuration import (
    ChannelSection,
    Configuration,
    ParametersSection,
    ProviderSection,
    read_configuration,
)
from stoic.core.budget import Bounds
from stoic.core.health import HealthPolicy
from stoic.core.notice_forms import BUDGET_PER_DAY
from stoic.core.retry import RetryPolicy
from stoic.core.segment import COMPACT_AT_SHARE
from stoic.credentials import Credentials, Secret
from stoic.errors import ConfigurationError, UsageError
from stoic.models.addresses import ollama_base_url, with_version_path
from stoic.models.entries import ProviderEntry
from stoic.models.providers import PROVIDERS
from stoic.records import Record
from stoic.sampling import Sampling, check_sampling
from stoic.variables import Values, first_set

DEFAULT_DEADLINE_SECONDS = 600.0
SENDS_AT_ONCE = 32
_ALL_PROXY = ("ALL_PROXY", "all_proxy")

__all__ = ["Access", "ChannelSettings", "Secret", "Settings", "read_settings"]


class Access(Record, frozen=True):
    """How one provider is reached, as far as something other than the table says so."""

    base_url: str | None = None
    base_url_from: str | None = None
    """The variable or file that says so."""
    key: Secret | None = None
    key_from: str | None = None
    key_wanted: str | None = None
    """The variable that the file names for the key, where it is not set and no key was found elsewhere."""
    bearer: bool = False
    """Whether the key is a token for `Authorization: Bearer`, where the API has a header of its own."""
    version: str | None = None
    """The API's version (Azure)."""
    headers: dict[str, str] = {}
    """Further headers; none of them a credential."""
    secret_headers: dict[str, Secret | None] = {}
    """Further headers whose values nobody else may see; None: their variable is not set."""
    header_variables: dict[str, str] = {}
    """By header: the variable that holds its secret value."""


class ChannelSettings(Record, frozen=True):
    """Where notices go; what its variables do not hold is missing only when the channel is needed."""

    type: Literal["webhook", "apprise"]
    url: Secret | None
    """None: its variable is not set."""
    url_variable: str | None = None
    secret: Secret | None = None
    secret_variable: str | None = None


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
    deadline_seconds: float = DEFAULT_DEADLINE_SECONDS
    """Longest duration of one send: `$STOIC_DEADLINE_SECONDS`, or the file."""
    compact_at_share: float = COMPACT_AT_SHARE
    """How full a model's context window may be before the conversation's beginning is summed up, above 0 and at most 1:
    `$STOIC_COMPACT_AT_SHARE`, or the file."""
    retry: RetryPolicy = RetryPolicy()
    health: HealthPolicy = HealthPolicy()
    sends_at_once: int = SENDS_AT_ONCE
    """Requests to one route that a process has under way at a time; further ones wait: `$STOIC_SENDS_AT_ONCE`, or the file."""
    asks_again: Literal["allow", "ask", "deny"] = "ask"
    """What becomes of a task whose brief another provider has refused: `$STOIC_ASKS_AGAIN`, or the file."""
    per_thread: Bounds = Bounds()
    """What a thread and all tasks below it may take, ever, for agents that say nothing: the file."""
    per_day: Bounds = Bounds()
    """What everything in the database may take on a day of UTC, for agents that say nothing: the file."""
    notice_channels: list[ChannelSettings] = []
    """Where notices go beside the terminal: the file."""
    notices_per_day: int = BUDGET_PER_DAY
    """So many notices that are not critical go out one by one on a day; a digest holds the rest: `$STOIC_NOTICES_PER_DAY`,
    or the file."""
    credential_variables: list[str] = []
    """Environment variables that the file says hold a credential; those of the table are known anyway."""
    sources: dict[str, str] = {}
    """By field: the variable (`$NAME`) or the file that decided it; absent: the default did."""

    @property
    def model(self) -> str | None:
        """The first of `models`."""
        return self.models[0] if self.models else None

    def credentials(self) -> Credentials:
        """Return everything here that is a credential, and where such may be."""
        of_table = [name for entry in PROVIDERS.values() for name in entry.key_variables + entry.bearer_variables]
        of_channels = [found for each in self.notice_channels for found in (each.url, each.secret) if found]
        of_providers = [each.key for each in self.access.values() if each.key]
        of_headers = [value for each in self.access.values() for value in each.secret_headers.values() if value]
        known = [*of_providers, *of_headers, *of_channels]
        return Credentials([*of_table, *self.credential_variables], known)

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
    values, network = Values(given, file.path), file.network
    own = {name: _own_entry(name, section) for name, section in file.providers.items() if name not in PROVIDERS}
    access = {name: _access(entry, given, file) for name, entry in (PROVIDERS | own).items()}
    database = values.text("database", ("STOIC_DB",), file.database)
    https_variables, http_variables = ("HTTPS_PROXY", "https_proxy"), ("http_proxy",)  # not $HTTP_PROXY: httpoxy.org
    return Settings(
        database=database or str(_data_folder(given) / "stoic" / "stoic.db"),
        models=values.names("models", ("STOIC_MODEL",), file.models),
        access={name: each for name, each in access.items() if each != Access()},
        providers=own,
        context_windows_tokens=values.in_file("context_windows_tokens", file.context_windows),
        sampling=_sampling(values, file.parameters),
        https_proxy_url=values.text("https_proxy_url", ("STOIC_PROXY", *https_variables, *_ALL_PROXY), network.proxy),
        http_proxy_url=values.text("http_proxy_url", ("STOIC_PROXY", *http_variables, *_ALL_PROXY), network.proxy),
        no_proxy=values.names("no_proxy", ("NO_PROXY", "no_proxy"), network.no_proxy),
        ca_file=values.text("ca_file", ("STOIC_CA_FILE", "SSL_CERT_FILE"), network.ca_file),
        deadline_seconds=_deadline_seconds(values, file.limits.deadline_seconds),
        compact_at_share=_compact_at_share(values, file.limits.compact_at_share),
        sends_at_once=_sends_at_once(values, file.limits.sends_at_once),
        asks_again=_asks_again(values, file.limits.asks_again),
        per_thread=values.in_file("per_thread", file.limits.thread),
        per_day=values.in_file("per_day", file.limits.day),
        notice_channels=[_channel(each, given) for each in values.in_file("notice_channels", file.notices.channels)],
        notices_per_day=_notices_per_day(values, file.notices.budget_per_day),
        credential_variables=_credential_variables(file),
        sources=values.sources,
    )


def _sends_at_once(values: Values, in_file: int | None) -> int:
    found = values.whole("sends_at_once", "STOIC_SENDS_AT_ONCE", in_file)
    if found is None:
        return SENDS_AT_ONCE
    if found < 1:
        raise values.unusable("STOIC_SENDS_AT_ONCE", "not at least 1")
    return found


def _asks_again(values: Values, in_file: str | None) -> Literal["allow", "ask", "deny"]:
    found = values.text("asks_again", ("STOIC_ASKS_AGAIN",), in_file)
    if found not in {None, "allow", "ask", "deny"}:
        raise values.unusable("STOIC_ASKS_AGAIN", "none of allow, ask, deny")
    return found or "ask"  # pyright: ignore[reportReturnType] - one of the three


def _notices_per_day(values: Values, in_file: int | None) -> int:
    found = values.whole("notices_per_day", "STOIC_NOTICES_PER_DAY", in_file)
    return BUDGET_PER_DAY if found is None else found


def _credential_variables(file: Configuration) -> list[str]:
    named = [each.key_variable for each in file.providers.values()]
    named += [name for each in file.providers.values() for name in each.header_variables.values()]
    named += [name for each in file.notices.channels for name in (each.url_variable, each.secret_variable)]
    return [name for name in named if name]


def _channel(section: ChannelSection, given: Mapping[str, str]) -> ChannelSettings:
    url = section.url or given.get(section.url_variable or "")
    secret = given.get(section.secret_variable or "")
    return ChannelSettings(
        type=section.type,
        url=Secret(url) if url else None,
        url_variable=section.url_variable,
        secret=Secret(secret) if secret else None,
        secret_variable=section.secret_variable,
    )


def _sampling(values: Values, in_file: ParametersSection) -> Sampling:
    sampling = Sampling(
        max_tokens=values.whole("max_tokens", "STOIC_MAX_TOKENS", in_file.max_tokens),
        temperature=values.number("temperature", "STOIC_TEMPERATURE", in_file.temperature),
        reasoning_effort=values.text("reasoning_effort", ("STOIC_EFFORT",), in_file.reasoning_effort),
    )
    try:
        return check_sampling(sampling)
    except UsageError as error:
        # The file's values were checked when it was read, so a variable's is wrong.
        raise ConfigurationError(f"{error} (see $STOIC_MAX_TOKENS, $STOIC_TEMPERATURE, $STOIC_EFFORT)") from None


def _deadline_seconds(values: Values, in_file: float | None) -> float:
    seconds = values.number("deadline_seconds", "STOIC_DEADLINE_SECONDS", in_file)
    if seconds is None:
        return DEFAULT_DEADLINE_SECONDS
    if seconds <= 0:
        raise values.unusable("STOIC_DEADLINE_SECONDS", "not above 0")
    return seconds


def _compact_at_share(values: Values, in_file: float | None) -> float:
    share = values.number("compact_at_share", "STOIC_COMPACT_AT_SHARE", in_file)
    if share is None:
        return COMPACT_AT_SHARE
    if not 0 < share <= 1:
        raise values.unusable("STOIC_COMPACT_AT_SHARE", "not above 0 and at most 1")
    return share


def _own_entry(name: str, section: ProviderSection) -> ProviderEntry:
    """Return the entry of a provider that only the file knows; that it has an API and a base URL was checked there."""
    return ProviderEntry(name=name, api=section.api or "chat", base_url=section.base_url, source="", needs_key=False)


def _access(entry: ProviderEntry, given: Mapping[str, str], file: Configuration) -> Access:
    section = file.providers.get(entry.name, ProviderSection())
    url, url_from = _base_url(entry, given, section, file.path)
    own = (section.key_variable,) if section.key_variable else ()
    bearer = first_set(given, entry.bearer_variables)
    key_variable = first_set(given, own + entry.key_variables) or bearer
    key, key_from = (given[key_variable], f"${key_variable}") if key_variable else (section.key, file.path)
    version = first_set(given, entry.version_variables)
    of_table = {header: given[variable] for variable, header in entry.header_variables if variable in given}
    secret = {name.lower(): variable for name, variable in section.header_variables.items()}
    return Access(
        base_url=url,
        base_url_from=url_from,
        key=Secret(key) if key else None,
        key_from=key_from if key else None,
        key_wanted=None if key else section.key_variable,
        bearer=key_variable is not None and key_variable == bearer,
        version=given[version] if version else section.api_version,
        headers=of_table | {name.lower(): value for name, value in section.headers.items()},
        secret_headers={
            name: Secret(given[variable]) if variable in given else None for name, variable in secret.items()
        },
        header_variables=secret,
    )


def _base_url(
    entry: ProviderEntry, given: Mapping[str, str], section: ProviderSection, path: str | None
) -> tuple[str | None, str | None]:
    """Return the base URL that is not the table's, and where it is from."""
    variable = first_set(given, entry.url_variables)
    if variable is None:
        return (section.base_url, path if section.base_url else None)
    url = ollama_base_url(given[variable]) if variable == "OLLAMA_HOST" else given[variable]
    return with_version_path(url, entry.version_path), f"${variable}"


def _data_folder(given: Mapping[str, str]) -> Path:
    base = given.get("XDG_DATA_HOME")
    return Path(base) if base else Path(given.get("HOME", "~")).expanduser() / ".local" / "share"
