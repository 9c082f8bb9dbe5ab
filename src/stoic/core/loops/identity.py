"""Tells which calls are the same call: canonical arguments without what is cosmetic, and for reads without paging."""

from functools import lru_cache
from posixpath import normpath

import msgspec

from stoic.core.canonical import canonical
from stoic.core.loops import words
from stoic.core.loops.call import Call
from stoic.core.loops.commands import addressee, squeeze
from stoic.core.loops.hashes import checksum, digest
from stoic.core.loops.nature import command_member, command_of, nature
from stoic.core.loops.observation import Identity, Nature
from stoic.core.loops.shapes import is_array, is_object
from stoic.records import Json

_COSMETIC = words.named(
    "explanation reasoning thought thoughts security_risk confirmation_state task_progress tool_summary tool_action "
    "tool_call_description idempotency_key client_request_id client_token client_message_id client_msg_id cache_bust "
    "cache_buster cachebust cachebuster"
)
_COSMETIC_LOOKING = _COSMETIC | {"rationale", "justification"}
_COSMETIC_RUNNING = _COSMETIC_LOOKING | {"description", "summary"}
"""Beside a question, or a command or code to run, they only explain it; for another tool they may be the content."""

_PAGING_NUMBERS = words.named(
    "page offset limit start_line end_line line_start line_end from_line to_line skip max_results max_lines per_page "
    "page_size page_number page_num page_index head_limit num_lines line_count view_range max_chars max_length max_tokens "
    "max_bytes max_items max_count max_entries max_matches num_results top_k head tail start_index end_index chunk_size"
)
_POSITIONS = words.named("start end from to after before top lines first last chunk")
"""Paging where something that can be paged is named; else they may be what is asked for, such as places or hours."""
_PAGING = words.named("cursor page_token continuation_token next_token next_page_token pagination_token marker")
_PATIENCE = words.named("timeout timeout_ms timeout_seconds wait_ms wait_seconds yield_time_ms block")
_EPOCH = 1e9
"""Numbers from here on are moments, not positions: they say which data are asked for."""

_PATHS = words.named("path paths file dir directory folder cwd root workdir filename filepath")

_PAGED = _PATHS | {"query", "q", "pattern", "url", "uri", "log", "document", "doc", "table", "sheet"}
_RUN = words.named("command cmd script code")

_HOSTED = words.named("url uri link href host hostname domain server endpoint base")
_CONTAINERS = words.named(
    "to target channel recipient room chat repo repository project account database db table bucket namespace resource "
    "device service cluster workspace organization org tenant team mailbox calendar"
)
_SINGLES = words.named("id ids uuid key name number email user username issue pr ticket")


class _Field(msgspec.Struct, frozen=True):
    """What an argument's name says of it."""

    name: str
    """Its words, in snake case."""
    is_path: bool
    is_paged: bool
    """Whether what it names can be paged."""
    is_container: bool
    is_single: bool
    """Whether it names one thing among many."""


def identify(call: Call) -> Identity:
    """Work out a call's identity; costs one pass over its arguments."""
    kind = nature(call)
    tool = call.tool if call.known else call.tool.casefold()
    exact = _exact(call, kind)
    loose = _loose(exact, kind)
    written = canonical(exact)
    same = written if loose == exact else canonical(loose)
    place, contained = _target(call.arguments, kind)
    precise = digest(f"{tool}\n{written}")
    return Identity(
        tool=tool,
        nature=kind,
        key=_key(tool, same, written, precise) if call.known else digest(tool),
        exact=precise,
        spelling=checksum(repr(call.arguments)),
        target=digest(f"{tool}\n{place}") if place else _whole(tool),
        whole=_whole(tool),
        contained=contained,
        known=call.known,
        frozen_limit=call.frozen_limit,
        batch=call.batch,
    )


def essential(call: Call) -> Json:
    """Return the arguments that make two calls the same operation to the journal.

    What is cosmetic is left out, and how long to wait for a command; paths and commands have one spelling each.
    """
    kind = nature(call)
    told = _exact(call, kind)
    if kind.effect != "exec" or not is_object(told) or not _RUN.intersection(told):
        return told
    return {key: value for key, value in told.items() if _field(key).name not in _PATIENCE}


@lru_cache(maxsize=256)
def _whole(tool: str) -> str:
    return digest(f"{tool}\n")


def _key(tool: str, same: str, written: str, precise: str) -> str:
    return precise if same == written else digest(f"{tool}\n{same}")


def _exact(call: Call, kind: Nature) -> Json:
    """Return what identifies the call: its loop key's values, or the arguments without cosmetics, paths tidied."""
    chosen = _chosen(call)
    if chosen is not None:
        return chosen
    if not is_object(call.arguments):
        return call.arguments
    cosmetic = _cosmetic(call.arguments, kind)
    exact = {key: _tidy(key, value) for key, value in call.arguments.items() if _field(key).name not in cosmetic}
    if not exact:
        exact = {key: _tidy(key, value) for key, value in call.arguments.items()}
    command = command_member(call.arguments) if kind.effect == "exec" else None
    return exact if command is None else {**exact, command[0]: squeeze(command[1])}


def _cosmetic(arguments: dict[str, Json], kind: Nature) -> frozenset[str]:
    """Return the arguments that say nothing; the agent's own notes and thoughts are never that to a tool that keeps them."""
    if kind.bookkeeping:
        return frozenset()
    if kind.effect == "exec":
        return _COSMETIC_RUNNING if _RUN.intersection(arguments) else _COSMETIC
    return _COSMETIC_LOOKING if kind.effect in {"read", "poll"} else _COSMETIC


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
        members = [value[key] for key in sorted(value)] if step == "*" else [value[step]] if step in value else []
    elif is_array(value):
        members = [item for place, item in enumerate(value) if step in {"*", str(place)}]
    return [found for member in members for found in _at(member, rest)]


def _loose(exact: Json, kind: Nature) -> Json:
    """Leave out paging and limits of reads and polls, and a poll's patience; the outcome tells whether they mattered."""
    if not is_object(exact) or kind.effect not in {"read", "poll"}:
        return exact
    loose = {key: _trim(value) for key, value in exact.items() if not _pages(_field(key).name, value, kind)}
    if not [key for key in loose if _field(key).is_paged]:
        return loose
    return {key: value for key, value in loose.items() if _field(key).name not in _POSITIONS or not _counts(value)}


def _pages(name: str, value: Json, kind: Nature) -> bool:
    if name in _PATIENCE:
        return kind.effect == "poll"
    return name in _PAGING or (name in _PAGING_NUMBERS and _counts(value))


def _counts(value: Json) -> bool:
    """Tell whether a value is a position or a number of things, or a list of such."""
    numbers: list[Json] = value if is_array(value) else [value]
    return all(isinstance(one, int | float) and abs(one) < _EPOCH for one in numbers)


def _trim(value: Json) -> Json:
    """Drop blanks at the ends of what is asked; only the outcome could show that they mattered."""
    return value.strip() if isinstance(value, str) else value


def _tidy(key: str, value: Json) -> Json:
    """Give one spelling to a path: no `./`, no double or trailing slash; `..` stays, since links may be on the way."""
    if not isinstance(value, str) or not _field(key).is_path or not value or "://" in value or ".." in value:
        return value
    plain = "//" not in value and "/." not in value and not value.startswith(".") and not value.endswith("/")
    return value if plain else normpath(value)


def _target(arguments: Json, kind: Nature) -> tuple[str, bool]:
    """Return the place a call addresses and whether it has an account of its own; empty: the tool as a whole."""
    if not is_object(arguments):
        return "", True
    command = command_of(arguments) if kind.effect == "exec" else None
    if command is not None:
        return addressee(command), True
    for key, value in sorted(arguments.items()):  # whatever order the model wrote them in
        if isinstance(value, str):
            if "://" in value and (link := words.pattern(r"\w+://([^/\s]+)").match(value)):
                return f"host {link[1].lower()}", True
            if key in _HOSTED:
                return f"host {value.lower()}", True
    fields = {key: _field(key) for key in arguments}
    named = {key: arguments[key] for key, field in fields.items() if field.is_container or field.is_single}
    contained = not [key for key in named if fields[key].is_single]
    return canonical(named) if named else "", contained


def _field(key: str) -> _Field:
    return _known_field(key) if len(key) <= words.REMEMBERED_CHARACTERS else _known_field.__wrapped__(key)


@lru_cache(maxsize=1024)
def _known_field(key: str) -> _Field:
    parts = frozenset(words.words(key))
    return _Field(
        name="_".join(words.words(key)),
        is_path=not _PATHS.isdisjoint(parts),
        is_paged=not _PAGED.isdisjoint(parts),
        is_container=not _CONTAINERS.isdisjoint(parts),
        is_single=not parts.isdisjoint(_PATHS | _SINGLES),
    )
