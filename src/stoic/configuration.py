"""The configuration file: one TOML file, read whole, in which every unknown key is an error with the nearest name."""

import os
import re
import shlex
import stat
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, TypeVar, cast, get_args, get_origin, get_type_hints

import msgspec

from stoic.core.budget import Bounds, unusable_bound
from stoic.errors import ConfigurationError, UsageError, brief
from stoic.models.entries import ApiName
from stoic.models.providers import PROVIDERS, near_names
from stoic.records import Record
from stoic.sampling import LARGEST, Sampling, check_sampling

Section = TypeVar("Section")

_MOST_DOTS = 2000
_PLACE_CHARACTERS = 200
_FORBIDDEN_MODE = stat.S_IRWXG | stat.S_IRWXO
_LIMIT_BYTES = 1_000_000
_ENUM = re.compile(r"Invalid enum value (.*)", re.DOTALL)
_NAME = re.compile(r"\.(\w+)")
_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_OWN_HEADERS = frozenset({
    "authorization", "proxy-authorization", "x-api-key", "api-key", "x-goog-api-key", "anthropic-version", "host", "connection",
    "content-length", "content-type", "transfer-encoding", "accept", "accept-encoding", "te", "trailer", "upgrade", "expect",
})  # fmt: skip
"""Those of the key, which `key_variable` is for, and those that a request cannot do without."""
_WITH_PASSWORD = re.compile(r"[^/]*://[^/:]*:[^/]*@")


class ProviderSection(Record, frozen=True):
    """`[providers.NAME]`: how one provider is reached; a name the table does not have needs `api` and `base_url`."""

    api: ApiName | None = None
    """Only of a provider that the table does not have."""
    base_url: str | None = None
    key_variable: str | None = None
    """The environment variable that holds the key, beside those of the table."""
    key: str | None = None
    """The key itself; only in a file that nobody else may read."""
    api_version: str | None = None
    """Azure's."""
    headers: dict[str, str] = {}
    """Further headers of each request, by name; none of them a secret."""
    header_variables: dict[str, str] = {}
    """Further headers whose values are secret: by name, the environment variable that holds it."""


class ParametersSection(Record, frozen=True):
    """`[parameters]`: for agents that say nothing."""

    max_tokens: int | None = None
    temperature: float | None = None
    reasoning_effort: str | None = None


class NetworkSection(Record, frozen=True):
    """`[network]`: the way out."""

    proxy: str | None = None
    """Such as `http://proxy.example:3128`; for https and http alike."""
    no_proxy: list[str] = []
    ca_file: str | None = None


class LimitsSection(Record, frozen=True):
    """`[limits]`."""

    deadline_seconds: float | None = None
    """Longest duration of one send; default 600."""
    compact_at_share: float | None = None
    """How full the model's context window may be before the conversation's beginning is summed up; default 0.8."""
    sends_at_once: int | None = None
    """Requests to one route that a process has under way at a time; default 32."""
    asks_again: Literal["allow", "ask", "deny"] | None = None
    """What becomes of a task whose brief another provider has refused; default `ask`: a person decides."""
    thread: Bounds = Bounds()
    """`[limits.thread]`: what a thread and all tasks below it may take, ever."""
    day: Bounds = Bounds()
    """`[limits.day]`: what everything in the database may take on a day of UTC."""


class ChannelSection(Record, frozen=True):
    """One of `[[notices.channels]]`: where notices go."""

    type: Literal["webhook", "apprise"]
    url: str | None = None
    """Where to: `https://…` for a webhook, one of the library's URLs for `apprise`."""
    url_variable: str | None = None
    """The environment variable that holds the URL, instead of `url`."""
    secret_variable: str | None = None
    """The environment variable that holds the secret by which a webhook's requests are signed."""


class NoticesSection(Record, frozen=True):
    """`[notices]`: how a person is told."""

    budget_per_day: int | None = None
    """So many notices that are not critical go out one by one on a day; default 20."""
    channels: list[ChannelSection] = []


class Configuration(Record, frozen=True):
    """The whole file; an absent file is an empty one."""

    models: list[str] = []
    """`PROVIDER:NAME`: the bound model, then candidates for failure fallback."""
    database: str | None = None
    providers: dict[str, ProviderSection] = {}
    parameters: ParametersSection = ParametersSection()
    network: NetworkSection = NetworkSection()
    limits: LimitsSection = LimitsSection()
    notices: NoticesSection = NoticesSection()
    context_windows: dict[str, int] = {}
    """Tokens by `PROVIDER:NAME`, for models that the table does not know."""
    path: str | None = None
    """Where it was read; not a key of the file."""


def configuration_path(environment: Mapping[str, str]) -> Path:
    """Return where the file is or would be: `$STOIC_CONFIG`, else `~/.config/stoic/config.toml` (`$XDG_CONFIG_HOME`).

    Raises:
        ConfigurationError: `$STOIC_CONFIG` begins with a home that nobody has
    """
    if environment.get("STOIC_CONFIG"):
        try:
            return Path(environment["STOIC_CONFIG"]).expanduser()
        except RuntimeError:
            named = brief(environment["STOIC_CONFIG"])
            raise ConfigurationError(
                f"$STOIC_CONFIG is {named}, and nobody has such a home; write the whole path"
            ) from None
    base = environment.get("XDG_CONFIG_HOME")
    folder = Path(base) if base else Path(environment.get("HOME", "~")).expanduser() / ".config"
    return folder / "stoic" / "config.toml"


def read_configuration(environment: Mapping[str, str]) -> Configuration:
    """Read the file; none there is an empty one, unless `$STOIC_CONFIG` names it.

    Args:
        environment: says where the file is

    Raises:
        ConfigurationError: it cannot be read, is no TOML, has an unknown key or a value of the wrong type, or holds a key
            while others may read it
    """
    path = configuration_path(environment)
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            data = file.read(_LIMIT_BYTES + 1)
    except FileNotFoundError:
        if environment.get("STOIC_CONFIG"):
            raise ConfigurationError(
                f"$STOIC_CONFIG names {path}, which does not exist; create it or unset it"
            ) from None
        return Configuration()
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read ({error.strerror}); make it readable or move it") from None
    if len(data) > _LIMIT_BYTES:
        raise ConfigurationError(
            f"{path} is larger than {_LIMIT_BYTES:,} bytes; no configuration is, name another file"
        )
    try:
        found = _checked(path, _parsed(path, data))
    except RecursionError:
        raise ConfigurationError(f"{path} is nested too deep; correct it there") from None
    exposed = _credential_in(found)
    if exposed is not None and mode & _FORBIDDEN_MODE:
        raise ConfigurationError(
            f"{path} holds {exposed} and others may read it; run chmod 600 {shlex.quote(str(path))} or let a variable hold it"
        )
    return found


def _credential_in(found: Configuration) -> str | None:
    """Return which credential stands in the file itself; None: none does."""
    own = next((name for name, section in found.providers.items() if section.key), None)
    if own is not None:
        return f"the key of providers.{_shortened(own)}"
    if _WITH_PASSWORD.match(found.network.proxy or ""):
        return "a proxy with its password"
    if any(each.type == "apprise" and each.url for each in found.notices.channels):
        return "an apprise url, which has credentials in it,"
    return None


def _parsed(path: Path, data: bytes) -> dict[str, Any]:
    if data.count(b".") > _MOST_DOTS:  # the parser takes time in the square of a key's length
        raise ConfigurationError(f"{path} has more than {_MOST_DOTS} dots; no configuration has, correct it there")
    try:
        return tomllib.loads(data.decode())
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{path} is not UTF-8 (byte {error.start}); convert it") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(f"{path} is no TOML: {error}; correct it there") from None
    except ValueError:  # Python reads no number of so many digits
        raise ConfigurationError(f"{path} has a number that is too long; correct it there") from None


def _checked(path: Path, tree: dict[str, Any]) -> Configuration:
    _refuse_unusable(path, "", tree)
    _refuse_unknown(path, "", tree, Configuration)
    providers = tree.get("providers")
    for name, section in cast("dict[str, object]", providers if isinstance(providers, dict) else {}).items():
        if isinstance(section, dict):
            _converted(path, f"providers.{name}", cast("dict[str, object]", section), ProviderSection)
    found = _converted(path, "", {**tree, "path": str(path)}, Configuration)
    for name, section in found.providers.items():
        _check_provider(path, name, section)
    _check_values(path, found)
    return found


def _check_provider(path: Path, name: str, section: ProviderSection) -> None:
    place = f"{path}: providers.{_shortened(name)}"
    _check_headers(place, section)
    if name in PROVIDERS:
        if section.api is not None:
            raise ConfigurationError(f"{place}.api: {name} speaks {PROVIDERS[name].api} anyway; remove it")
    elif section.api is None or section.base_url is None:
        near = near_names(name[:_PLACE_CHARACTERS], list(PROVIDERS))
        hint = f"did you mean {near[0]}? " if near else ""
        raise ConfigurationError(f"{place}: no provider of that name is known; {hint}A new one needs api and base_url")


def _check_headers(place: str, section: ProviderSection) -> None:
    given = [("headers", name) for name in section.headers] + [
        ("header_variables", name) for name in section.header_variables
    ]
    known: set[str] = set()
    for key, name in given:
        where = f"{place}.{key}.{_shortened(name)}"
        if not _HEADER.fullmatch(name):
            raise ConfigurationError(f"{where}: no header has such a name; correct it there")
        if name.lower() in _OWN_HEADERS:
            raise ConfigurationError(
                f"{where}: the request has that header itself (a key's is key_variable); remove it"
            )
        if name.lower() in known:
            raise ConfigurationError(f"{where} is given twice; remove one")
        known.add(name.lower())
    bad = next((name for name, value in section.headers.items() if not is_header_value(value)), None)
    if bad is not None:
        raise ConfigurationError(f"{place}.headers.{_shortened(bad)} holds what no header may hold; correct it there")


def is_header_value(value: str) -> bool:
    """Tell whether a text can be the value of a header: printable ASCII, with nothing to trim."""
    return value != "" and value.isascii() and value.isprintable() and value == value.strip()


def _check_values(path: Path, found: Configuration) -> None:
    given = found.parameters
    try:
        check_sampling(Sampling(given.max_tokens, given.temperature, given.reasoning_effort))
    except UsageError as error:
        raise ConfigurationError(f"{path}: parameters: {error}") from None
    if found.limits.deadline_seconds is not None and found.limits.deadline_seconds <= 0:
        raise ConfigurationError(f"{path}: limits.deadline_seconds must be above 0; correct it there")
    if found.limits.sends_at_once is not None and found.limits.sends_at_once < 1:
        raise ConfigurationError(f"{path}: limits.sends_at_once must be at least 1; correct it there")
    if found.limits.compact_at_share is not None and not 0 < found.limits.compact_at_share <= 1:
        raise ConfigurationError(f"{path}: limits.compact_at_share must be above 0 and at most 1; correct it there")
    for name, bounds in (("thread", found.limits.thread), ("day", found.limits.day)):
        bad = unusable_bound(bounds)
        if bad is not None:
            raise ConfigurationError(f"{path}: limits.{name}.{bad}; it must be above 0; correct it there")
    if found.notices.budget_per_day is not None and found.notices.budget_per_day < 0:
        raise ConfigurationError(f"{path}: notices.budget_per_day must not be below 0; correct it there")
    for number, channel in enumerate(found.notices.channels):
        _check_channel(f"{path}: notices.channels[{number}]", channel)
    low = next((name for name, tokens in found.context_windows.items() if tokens < 1), None)
    if low is not None:
        raise ConfigurationError(f"{path}: context_windows.{_shortened(low)} must be at least 1; correct it there")


def _check_channel(place: str, channel: ChannelSection) -> None:
    if (channel.url is None) == (channel.url_variable is None):
        raise ConfigurationError(f"{place} needs either url or url_variable; correct it there")
    if channel.type == "webhook" and channel.secret_variable is None:
        raise ConfigurationError(
            f"{place}.secret_variable is missing: it names the variable with the secret that signs the requests"
        )
    if channel.type != "webhook" and channel.secret_variable is not None:
        raise ConfigurationError(f"{place}.secret_variable: only a webhook is signed; remove it")


def _refuse_unusable(path: Path, place: str, value: object) -> None:
    """Refuse what no setting can be, wherever it stands: numbers without end, texts that no system call takes."""
    if isinstance(value, dict):
        for key, inner in cast("dict[str, object]", value).items():
            _refuse_unusable(path, f"{place}.{key}".lstrip("."), inner)
    elif isinstance(value, list):
        for number, inner in enumerate(cast("list[object]", value)):
            _refuse_unusable(path, f"{place}[{number}]", inner)
    elif isinstance(value, str) and "\0" in value:
        raise ConfigurationError(f"{path}: {_shortened(place)} holds a NUL character; correct it there")
    elif isinstance(value, int | float) and not abs(value) <= LARGEST:
        raise ConfigurationError(
            f"{path}: {_shortened(place)} is {brief(value)}, which no setting is; correct it there"
        )


def _shortened(place: str) -> str:
    return place if len(place) <= _PLACE_CHARACTERS else place[: _PLACE_CHARACTERS - 1] + "…"


def _refuse_unknown(path: Path, place: str, value: object, kind: Any) -> None:
    """Refuse keys that the record at a place of the file, or one within it, does not have; `kind` is its type."""
    if isinstance(value, list):
        for number, inner in enumerate(cast("list[object]", value) if get_origin(kind) is list else []):
            _refuse_unknown(path, f"{place}[{number}]", inner, get_args(kind)[0])
    if not isinstance(value, dict):
        return
    inside = place and f"{place}."
    members = cast("dict[str, object]", value)
    if get_origin(kind) is dict:
        kinds = dict.fromkeys(members, get_args(kind)[1])
    elif hasattr(kind, "__struct_fields__"):
        kinds = get_type_hints(kind)
        if kind is Configuration:
            del kinds["path"]
        _refuse_unknown_names(path, inside, list(members), list(kinds))
    else:
        return
    for name, inner in members.items():
        _refuse_unknown(path, f"{inside}{name}", inner, kinds[name])


def _refuse_unknown_names(path: Path, inside: str, names: list[str], known: list[str]) -> None:
    unknown = next((name for name in names if name not in known), None)
    if unknown is not None:
        near = near_names(unknown[:_PLACE_CHARACTERS], known)
        hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(known)}"
        raise ConfigurationError(f"{path}: {_shortened(inside + unknown)} is no key of the configuration; {hint}")


def _converted(path: Path, place: str, tree: object, section: type[Section]) -> Section:
    """Return a part of the file as its record, or say with the place first what does not fit."""
    try:
        return msgspec.convert(tree, section)
    except msgspec.ValidationError as error:
        said, _, inside = str(error).partition(" - at `$")
        inside = inside.rstrip("`")
        where = f"{place}{inside}".lstrip(".") or "the file"
        word = _ENUM.fullmatch(said)
        choices = _choices(section, inside) if word else []
        wrong = f"{word[1]} is none of {', '.join(choices)}" if word and choices else said
        raise ConfigurationError(f"{path}: {_shortened(where)}: {_shortened(wrong)}; correct it there") from None


def _choices(section: type, inside: str) -> list[str]:
    """Return which words may stand at a place of a section, such as `.channels[0].type`; nothing: that is not known."""
    kinds: list[Any] = [section]
    for name in _NAME.findall(inside):
        kinds = [part for kind in kinds for part in _parts(get_type_hints(kind).get(name))]
    return [word for kind in kinds if get_origin(kind) is Literal for word in get_args(kind)]


def _parts(annotation: Any) -> list[Any]:
    """Return a type's records and choices, also of those in a list, a table or a union."""
    if get_origin(annotation) is Literal or hasattr(annotation, "__struct_fields__"):
        return [annotation]
    return [part for inner in get_args(annotation) for part in _parts(inner)]
