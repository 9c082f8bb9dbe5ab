"""Tells which calls are the same call: canonical arguments without what is cosmetic, and for reads without paging."""

from posixpath import normpath

from stoic.core.canonical import canonical
from stoic.core.loops import words
from stoic.core.loops.call import Call
from stoic.core.loops.commands import addressee, squeeze
from stoic.core.loops.hashes import digest
from stoic.core.loops.nature import command_member, command_of, nature
from stoic.core.loops.observation import Identity, Nature
from stoic.core.loops.shapes import is_array, is_object
from stoic.records import Json

_COSMETIC = words.named(
    "explanation reasoning rationale thought thoughts justification intent security_risk confirmation_state "
    "task_progress toolSummary toolAction tool_call_description"
)
_COSMETIC_RUNNING = _COSMETIC | {"description", "summary"}
"""Beside a command they only explain it; for another tool they may be the content."""

_PAGING_NUMBERS = words.named(
    "page offset limit start_line end_line line_start line_end from_line to_line start end from to after before skip top "
    "max_results max_lines per_page page_size head_limit lines num_lines view_range max_chars max_length max_tokens "
    "max_bytes tail start_index end_index first last chunk chunk_size"
)
_PAGING = words.named("cursor page_token continuation_token next_token next_page_token pagination_token marker")
_PATIENCE = words.named("timeout timeout_ms timeout_seconds wait_ms wait_seconds yield_time_ms block")
_EPOCH = 1e9
"""Numbers from here on are moments, not positions: they say which data are asked for."""

_PATHS = words.named("path paths file dir directory folder cwd root workdir filename filepath")

_HOSTED = words.named("url uri link href host hostname domain server endpoint base")
_CONTAINERS = words.named(
    "to target channel recipient room chat repo repository project account database db table bucket namespace resource "
    "device service cluster workspace organization org tenant team mailbox calendar"
)
_SINGLES = words.named("id ids uuid key name number email user username issue pr ticket")


def identify(call: Call) -> Identity:
    """Work out a call's identity; costs one pass over its arguments."""
    kind = nature(call)
    tool = call.tool if call.known else call.tool.casefold()
    exact = _exact(call, kind)
    loose = _loose(exact, kind)
    written = canonical(exact)
    same = written if loose is exact else canonical(loose)
    place, contained = _target(call.arguments, kind)
    return Identity(
        tool=tool,
        nature=kind,
        key=digest(f"{tool}\n{same}" if call.known else tool),
        exact=digest(f"{tool}\n{written}"),
        spelling=digest(repr(call.arguments), 4),
        target=digest(f"{tool}\n{place}"),
        whole=digest(f"{tool}\n"),
        contained=contained,
        known=call.known,
        frozen_limit=call.frozen_limit,
        batch=call.batch,
    )


def _exact(call: Call, kind: Nature) -> Json:
    """Return what identifies the call: its loop key's values, or the arguments without cosmetics, paths tidied."""
    chosen = _chosen(call)
    if chosen is not None:
        return chosen
    if not is_object(call.arguments):
        return call.arguments
    cosmetic = _COSMETIC_RUNNING if kind.effect == "exec" else _COSMETIC
    exact = {key: _tidy(key, value) for key, value in call.arguments.items() if key not in cosmetic}
    command = command_member(call.arguments) if kind.effect == "exec" else None
    return exact if command is None else {**exact, command[0]: squeeze(command[1])}


def _chosen(call: Call) -> list[Json] | None:
    found = [values for path in call.loop_key if (values := _at(call.arguments, path.split(".")))]
    return found or None


def _at(value: Json, path: list[str]) -> list[Json]:
    """Return the values at a path; `*` stands for every member of an object or array."""
    if not path:
        return [value]
    step, rest = path[0], path[1:]
    members: list[Json] = []
    if is_object(value):
        members = list(value.values()) if step == "*" else [value[step]] if step in value else []
    elif is_array(value):
        members = [item for place, item in enumerate(value) if step in {"*", str(place)}]
    return [found for member in members for found in _at(member, rest)]


def _loose(exact: Json, kind: Nature) -> Json:
    """Leave out paging and limits of reads and polls, and a poll's patience; the outcome tells whether they mattered."""
    if not is_object(exact) or kind.effect not in {"read", "poll"}:
        return exact
    loose = {key: value for key, value in exact.items() if not _pages(key, value, kind)}
    return exact if len(loose) == len(exact) else loose


def _pages(key: str, value: Json, kind: Nature) -> bool:
    name = "_".join(words.words(key))
    if name in _PATIENCE:
        return kind.effect == "poll"
    if name in _PAGING:
        return True
    numbers: list[Json] = value if is_array(value) else [value]
    return name in _PAGING_NUMBERS and all(isinstance(one, int | float) and abs(one) < _EPOCH for one in numbers)


def _tidy(key: str, value: Json) -> Json:
    """Give one spelling to a path: no `./`, no double or trailing slash; `..` stays, since links may be on the way."""
    if not isinstance(value, str) or not _PATHS.intersection(words.words(key)) or "://" in value or ".." in value:
        return value
    return normpath(value) if value else value


def _target(arguments: Json, kind: Nature) -> tuple[str, bool]:
    """Return the place a call addresses and whether it holds many things; empty: the tool as a whole."""
    if not is_object(arguments):
        return "", True
    command = command_of(arguments)
    if kind.effect == "exec" and command is not None:
        return addressee(command), True
    for key, value in arguments.items():
        if isinstance(value, str) and (link := words.pattern(r"\w+://([^/\s]+)").match(value)):
            return f"host {link[1].lower()}", True
        if key in _HOSTED and isinstance(value, str):
            return f"host {value.lower()}", True
    named = {key: value for key, value in arguments.items() if _names(key, _CONTAINERS | _PATHS)}
    single = {key: value for key, value in arguments.items() if _names(key, _SINGLES)}
    return canonical({**named, **single}) if named or single else "", not single


def _names(key: str, wanted: frozenset[str]) -> bool:
    return bool(wanted.intersection(words.words(key)))
