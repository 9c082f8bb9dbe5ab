"""`stoic doctor`: what stoic would find on this machine, a line each, and a remedy for whatever would stop it."""

import asyncio
import os
import platform
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import IO, Literal

import apsw

from stoic.cli import exits
from stoic.cli.choosing import choose, keys_found
from stoic.cli.cleaning import json_text, one_line, quoted
from stoic.cli.names import AGENT_NAME
from stoic.cli.opening import absent_log
from stoic.cli.screen import Style
from stoic.configuration import configuration_path
from stoic.connecting import Connector, credential_place
from stoic.core.failures import Axis
from stoic.errors import ConfigurationError, StoreError, UsageError
from stoic.models.addresses import shown_url
from stoic.ports import parts_of
from stoic.records import Health, Record
from stoic.settings import Access, Settings, read_settings
from stoic.wiring import Runtime, SystemClock

_COUNTED = 1_000
"""So many threads are counted."""
_MARKS = {"ok": ("✓", "green"), "note": ("-", "dim"), "problem": ("✗", "red")}


class Finding(Record, frozen=True, omit_defaults=False):
    """One line of the report."""

    state: Literal["ok", "note", "problem"]
    what: str
    remedy: str | None = None
    """What to do; every problem has one."""


def doctor(*, as_json: bool, stdout: IO[str]) -> int:
    """Print the findings; as JSON, one object a line. Returns 2 if one of them is a problem. Nothing is sent or created."""
    style, sound = Style(stdout, os.environ), True
    for finding in _findings():
        sound = sound and finding.state != "problem"
        if as_json:
            stdout.write(json_text(finding) + "\n")
            continue
        mark, colour = _MARKS[finding.state]
        remedy = f" → {one_line(finding.remedy)}" if finding.remedy else ""
        stdout.write(f"{style(mark, colour)} {one_line(finding.what)}{remedy}\n")
    return exits.COMPLETED if sound else exits.USAGE


def _findings() -> Iterator[Finding]:
    yield Finding(
        state="ok",
        what=f"stoic {version('stoic')}, Python {platform.python_version()}, SQLite {apsw.sqlite_lib_version()}, "
        f"{platform.system()}",
    )
    path = configuration_path(os.environ)
    try:
        settings = read_settings()
    except ConfigurationError as error:
        yield _problem(str(error))
        return
    yield Finding(
        state="ok" if path.exists() else "note", what=f"configuration {path}{'' if path.exists() else ': none'}"
    )
    yield from _keys(settings)
    yield from _model(settings, is_needed=not asyncio.run(_all_keep_a_model(settings)))
    yield from _network(settings)
    yield from _database(settings)


def _keys(settings: Settings) -> Iterator[Finding]:
    found = keys_found(settings)
    for entry, where in found:
        access = settings.access[entry.name]
        url = shown_url(access.base_url or entry.base_url or "")
        place = f", for {url}" if access.base_url else ""
        yield Finding(state="ok", what=f"key of {entry.name} from {where}{place}")
    for name, access in settings.access.items():
        if access.key_wanted is not None:
            what = f"no key of {name}: the configuration names ${access.key_wanted} for it, which is not set"
            yield Finding(state="problem", what=what, remedy=f"set {access.key_wanted}, or remove key_variable")
    if not found:
        yield Finding(state="note", what="no key is set", remedy="set one, such as ANTHROPIC_API_KEY")


def _model(settings: Settings, *, is_needed: bool) -> Iterator[Finding]:
    """Say which models `stoic run` would take, and whether each could be asked."""
    try:
        choice = choose([], None)
    except UsageError as error:
        problem = _problem(str(error))
        yield problem if is_needed else Finding(state="note", what=f"{problem.what}; every thread keeps its own")
        return
    connect = Connector(settings, SystemClock())
    for model in choice.models:
        try:
            connection = connect(model)
        except UsageError as error:
            yield _problem(str(error))
            continue
        window = connection.context_window_tokens
        known = f"context window {window:,} tokens" if window else "context window unknown"
        yield Finding(state="ok", what=f"model {model}, {known}, {shown_url(connection.url)}")


async def _all_keep_a_model(settings: Settings) -> bool:
    """Tell whether there are threads and none of them needs a model by default: programs bring their own."""
    store = Runtime(settings=settings).store
    try:
        if absent_log(settings) is not None:
            return False
        await store.open()
    except (StoreError, ConfigurationError):  # said with the database
        return False
    try:
        threads = await store.threads(limit=_COUNTED)
    finally:
        await store.close()
    return bool(threads) and all(
        "options" in each.meta or each.meta.get("agent", AGENT_NAME) != AGENT_NAME for each in threads
    )


def _network(settings: Settings) -> Iterator[Finding]:
    for name, url in (("https", settings.https_proxy_url), ("http", settings.http_proxy_url)):
        if url is not None:
            where = settings.sources.get(f"{name}_proxy_url", "default")
            yield Finding(state="ok", what=f"proxy for {name} {shown_url(url)} from {where}")
    if settings.ca_file is not None:
        where = settings.sources.get("ca_file", "default")
        if Path(settings.ca_file).is_file():
            yield Finding(state="ok", what=f"certificates {settings.ca_file} from {where}")
        else:
            yield Finding(
                state="problem",
                what=f"certificates {settings.ca_file} from {where} are not there",
                remedy=f"correct {where}",
            )


def _database(settings: Settings) -> list[Finding]:
    """Look at the log without creating it."""
    try:
        absent = absent_log(settings)
    except ConfigurationError as error:
        return [_problem(str(error))]
    return asyncio.run(_log(settings)) if absent is None else [_absent(Path(settings.database))]


async def _log(settings: Settings) -> list[Finding]:
    """Open the log and say what is in it."""
    store = Runtime(settings=settings).store
    try:
        await store.open()
    except StoreError as error:
        return [_problem(str(error))]
    try:
        threads, shut = (
            await store.threads(limit=_COUNTED),
            [each for each in await store.health() if each.state == "open"],
        )
    finally:
        await store.close()
    count = f"{len(threads)}{' or more' if len(threads) == _COUNTED else ''} thread{'' if len(threads) == 1 else 's'}"
    found = [Finding(state="ok", what=f"database {settings.database}, {count}")]
    found += [
        Finding(
            state="note",
            what=f"{model} is shut after {each.failure_class}",
            remedy=_opens(settings, model, each),
        )
        for each in shut
        for model in [parts_of(each.route)[0]]
    ]
    return found


def _opens(settings: Settings, model: str, health: Health) -> str:
    """Return what opens a shut route: of one that waits for its credential that comes first, with where it stands."""
    again = f"stoic health retry {quoted(model)}"
    provider = model.partition(":")[0]
    entry = settings.entry(provider)
    if health.waits_for != Axis.CREDENTIAL or entry is None:
        return again
    place = credential_place(entry, settings.access.get(provider, Access()))
    return f"replace or refill the credential{f' in {place}' if place else ''}; with the same one: {again}"


def _absent(path: Path) -> Finding:
    folder = next((each for each in path.absolute().parents if each.exists()), Path("/"))
    if folder.is_dir() and os.access(folder, os.W_OK | os.X_OK):
        return Finding(state="note", what=f"database {path}: none yet, the first run creates it")
    return Finding(
        state="problem",
        what=f"database {path} cannot be created: {folder} is no folder that can be written",
        remedy="make it writable, or set STOIC_DB to another path",
    )


def _problem(text: str) -> Finding:
    """Return a finding of an error's text, which says what is wrong and, after the semicolon or full stop, what to do."""
    for separator in ("; ", ". "):
        what, found, remedy = text.partition(separator)
        if found:
            return Finding(state="problem", what=what, remedy=remedy)
    return Finding(state="problem", what=text, remedy="see docs/reference/models.md")
