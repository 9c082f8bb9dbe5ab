"""Tells what the names of a call's arguments say: what is cosmetic, paging, a path, or the place that it addresses."""

from functools import lru_cache

import msgspec

from stoic.core.loops import words
from stoic.core.loops.call import Effect
from stoic.core.loops.observation import Nature
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
"""How long to wait."""

_PATHS = words.named("path paths file dir directory folder cwd root workdir filename filepath")

_PAGED = _PATHS | {"query", "q", "pattern", "url", "uri", "log", "document", "doc", "table", "sheet"}

_CONTAINERS = words.named(
    "to target channel recipient room chat repo repository project account database db table bucket namespace resource "
    "device service cluster workspace organization org tenant team mailbox calendar"
)
_SINGLES = words.named("id ids uuid key name number email user username issue pr ticket")

HOSTED = words.named("url uri link href host hostname domain server endpoint base")
"""What names a host."""
RUN = words.named("command cmd script code")
"""What holds something to run."""
_REMEMBERED_CHARACTERS = 512
"""What the names of a call's arguments say is remembered where they are not longer, all together."""


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


class Names(msgspec.Struct, frozen=True):
    """What the names of a call's arguments say of them, given its effect."""

    kept: tuple[str, ...]
    """Those that are not cosmetic; all of them, when all are."""
    all_kept: bool
    paths: tuple[str, ...]
    """Those kept that hold paths."""
    loosened: bool
    """Whether paging, limits and blanks around what is asked do not count."""
    loose: frozenset[str]
    """Those that do not count, whatever they say."""
    loose_numbers: frozenset[str]
    """Those that do not count where they are positions or numbers of things."""
    ordered: tuple[str, ...]
    """All in one order, whatever order the model wrote them in."""
    hosted: bool
    """Whether one of them names a host."""
    places: tuple[str, ...]
    """Those that name the place that the call addresses."""
    contained: bool
    """Whether that place is more than one thing among many."""


def names_of(arguments: dict[str, Json], kind: Nature) -> Names:
    """Return what the names of arguments say; worked out once for all calls with these, unless they are long."""
    names = tuple(arguments)
    known = _known_names if len("".join(names)) <= _REMEMBERED_CHARACTERS else _known_names.__wrapped__
    return known(names, kind.effect, kind.bookkeeping)


def is_path(key: str) -> bool:
    """Tell whether an argument of this name holds a path."""
    return _field(key).is_path


def is_patience(key: str) -> bool:
    """Tell whether an argument of this name says how long to wait."""
    return _field(key).name in _PATIENCE


@lru_cache(maxsize=512)
def _known_names(names: tuple[str, ...], effect: Effect | None, bookkeeping: bool) -> Names:  # noqa: FBT001  # a cache's key
    fields = {key: _field(key) for key in names}
    cosmetic = frozenset[str]() if bookkeeping else _cosmetic(names, effect)
    told = tuple([key for key in names if fields[key].name not in cosmetic])
    kept = told or names
    poll = effect == "poll"
    loose = frozenset([key for key in kept if fields[key].name in _PAGING or (poll and fields[key].name in _PATIENCE)])
    numbers = _PAGING_NUMBERS
    if [key for key in kept if fields[key].is_paged]:
        numbers |= _POSITIONS
    places = tuple([key for key, field in fields.items() if field.is_container or field.is_single])
    return Names(
        kept=kept,
        all_kept=len(kept) == len(names),
        paths=tuple([key for key in kept if fields[key].is_path]),
        loosened=effect == "read" or poll,
        loose=loose,
        loose_numbers=frozenset([key for key in kept if fields[key].name in numbers]) - loose,
        ordered=tuple(sorted(names)),
        hosted=not HOSTED.isdisjoint(names),
        places=places,
        contained=not [key for key in places if fields[key].is_single],
    )


def _cosmetic(names: tuple[str, ...], effect: Effect | None) -> frozenset[str]:
    """Return the arguments that say nothing."""
    if effect == "exec":
        return _COSMETIC_RUNNING if RUN.intersection(names) else _COSMETIC
    return _COSMETIC_LOOKING if effect in {"read", "poll"} else _COSMETIC


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
