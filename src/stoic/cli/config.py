"""`stoic config`: where the configuration file is, and what holds now: each setting with what decided it."""

import os
from typing import IO, cast

from msgspec import structs

from stoic.cli import exits
from stoic.cli.cleaning import json_text, one_line
from stoic.cli.screen import Style
from stoic.configuration import configuration_path
from stoic.core.budget import Bounds
from stoic.models.addresses import shown_url
from stoic.models.providers import PROVIDERS
from stoic.records import Json
from stoic.settings import Access, ChannelSettings, Settings, read_settings

_DEFAULT = "default"


def config(*, as_json: bool, stdout: IO[str]) -> int:
    """Print the file's path, the settings and the providers; keys never.

    Raises:
        ConfigurationError: a variable or the file says what cannot be
    """
    path = configuration_path(os.environ)
    settings = read_settings()
    if as_json:
        stdout.write(json_text(_tree(settings)) + "\n")
        return exits.COMPLETED
    style = Style(stdout, os.environ)
    there = "" if path.exists() else style("  (not there: everything is by environment or default)", "dim")
    stdout.write(f"{one_line(str(path))}{there}\n\n")
    for name, value in _values(settings).items():
        stdout.write(f"{name:22} {_shown(value)}  {style(settings.sources.get(name, _DEFAULT), 'dim')}\n")
    stdout.write("\n")
    for name, row in _providers(settings).items():
        missing = f"no key: ${row['key_wanted']} is not set" if row["key_wanted"] else "no key"
        key = f"key from {row['key_from']}" if row["key_from"] else missing
        said = style(f"{row['api']}, {key}", "dim")
        stdout.write(f"{name:18} {row['base_url'] or '(needs a base URL)'}  {said}\n")
    return exits.COMPLETED


def _tree(settings: Settings) -> Json:
    values = {
        name: {"value": value, "from": settings.sources.get(name, _DEFAULT)}
        for name, value in _values(settings).items()
    }
    return {"path": str(configuration_path(os.environ)), "settings": values, "providers": _providers(settings)}


def _values(settings: Settings) -> dict[str, Json]:
    sampling = settings.sampling
    return {
        "models": settings.models,
        "database": settings.database,
        "context_windows_tokens": [f"{model} {size}" for model, size in settings.context_windows_tokens.items()],
        "max_tokens": sampling.max_tokens,
        "temperature": sampling.temperature,
        "reasoning_effort": sampling.reasoning_effort,
        "https_proxy_url": _url(settings.https_proxy_url),
        "http_proxy_url": _url(settings.http_proxy_url),
        "no_proxy": settings.no_proxy,
        "ca_file": settings.ca_file,
        "deadline_seconds": settings.deadline_seconds,
        "compact_at_share": settings.compact_at_share,
        "sends_at_once": settings.sends_at_once,
        "asks_again": settings.asks_again,
        "per_thread": _bounds(settings.per_thread),
        "per_day": _bounds(settings.per_day),
        "notices_per_day": settings.notices_per_day,
        "notice_channels": [_channel(each) for each in settings.notice_channels],
    }


def _bounds(bounds: Bounds) -> list[str]:
    return [f"{name} {limit:g}" for name, limit in structs.asdict(bounds).items() if limit is not None]


def _channel(channel: ChannelSettings) -> str:
    """Return what may be shown of a channel: its URL may hold a credential."""
    return f"{channel.type} (${channel.url_variable})" if channel.url_variable else channel.type


def _providers(settings: Settings) -> dict[str, dict[str, Json]]:
    found: dict[str, dict[str, Json]] = {}
    for name, entry in {**settings.providers, **PROVIDERS}.items():
        access = settings.access.get(name, Access())
        found[name] = {
            "api": entry.api,
            "base_url": _url(access.base_url or entry.base_url),
            "base_url_from": access.base_url_from or (_DEFAULT if entry.base_url else None),
            "key_from": access.key_from,
            "key_wanted": access.key_wanted,
            "key_variables": [*entry.key_variables, *entry.bearer_variables],
        }
    return found


def _url(url: str | None) -> str | None:
    """Return a URL as it may be shown: a proxy's has its password in it."""
    return None if url is None else shown_url(url)


def _shown(value: Json) -> str:
    if isinstance(value, list):
        return one_line(", ".join(str(each) for each in cast("list[Json]", value))) or "-"
    return "-" if value is None else one_line(str(value))
