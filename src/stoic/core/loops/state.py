"""What the detector remembers: counters by call, bounded in number, and saved with the thread as JSON."""

from collections.abc import Callable
from typing import TypeVar

import msgspec

from stoic.errors import UsageError
from stoic.records import Json

_V = TypeVar("_V")

PLACES = 64
"""How many tools, targets and texts are remembered at a time; the oldest are forgotten first."""


class CallState(msgspec.Struct, array_like=True):
    """The counters of one call (one identity)."""

    outcome: str = ""
    """Hash of the last masked outcome."""
    frozen: int = 0
    """How many times in a row it was the same, excused runs left out."""
    changes: int = -1
    """The thread's count of outside changes when the call last ran; -1: it never ran."""
    compactions: int = 0
    """The thread's count of compactions when the call last ran."""
    run: int = 0
    """The stagnation run in which the call was counted last."""
    noise: int = 0
    """Which kinds of noise differed while the outcome stayed the same."""
    raw: str = ""
    spelling: str = ""
    exact: str = ""
    waits: int = -1
    """The thread's count of waits when the poll was blocked, or ran after that, last; -1: it is not blocked."""


class ToolState(msgspec.Struct, array_like=True):
    """One tool's row of different calls with the same outcome."""

    outcome: str = ""
    count: int = 0
    run: int = 0
    changes: int = 0


class PlaceState(msgspec.Struct, array_like=True):
    """One tool and target's row of the same denial for different calls."""

    outcome: str = ""
    count: int = 0
    last: str = ""
    changes: int = 0


class LoopState(msgspec.Struct):
    """Everything the detector knows; plain JSON, at most about 100 KB at the default thresholds."""

    calls: dict[str, CallState] = {}
    known: dict[str, int] = {}
    """The (identity, outcome) pairs that are no news any more."""
    repeats: dict[str, int] = {}
    """Runs of each exact call, whatever came of it."""
    tools: dict[str, ToolState] = {}
    places: dict[str, PlaceState] = {}
    texts: dict[str, int] = {}
    without_news: int = 0
    unknown_streak: int = 0
    changes: int = 0
    """Outside changes seen: successful writes with news, and external events."""
    moves: int = 0
    """Looks that showed something else than the same look before."""
    compactions: int = 0
    waits: int = 0
    runs: int = 0
    """Number of the latest stagnation run of any tool."""
    ignored_blocks: int = 0
    told: bool = False
    """Whether the model has read a block since the last news."""
    told_batch: int = 0
    granted: int = 0
    """Calls that a person allowed in spite of a block."""


def dump(state: LoopState) -> bytes:
    """Write the state as JSON."""
    return msgspec.json.encode(state)


def load(data: bytes | str) -> LoopState:
    """Read a state that `dump` wrote.

    Raises:
        UsageError: The data are not a saved loop state.
    """
    try:
        return msgspec.json.decode(data, type=LoopState)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"this is not a saved loop state ({error}); start with a new detector instead") from error


def plain(state: LoopState) -> Json:
    """Return the state as a JSON value for the next turn, in which replies are numbered anew."""
    return msgspec.to_builtins(msgspec.structs.replace(state, told_batch=0))


def restored(value: Json) -> LoopState:
    """Return the state of a `plain` value; one that cannot be read, as of another version, counts from nothing."""
    try:
        return msgspec.convert(value, LoopState)
    except msgspec.ValidationError:
        return LoopState()


def touch(entries: dict[str, _V], key: str, fresh: Callable[[], _V], limit: int) -> _V:
    """Return the entry of a key, made fresh when absent, as the newest; forget the oldest beyond the limit."""
    entry = entries[key] = entries.pop(key) if key in entries else fresh()
    if len(entries) > limit:
        del entries[next(iter(entries))]
    return entry


def count_up(counts: dict[str, int], key: str, limit: int) -> int:
    """Add one to a key's count, as the newest, and return it; forget the oldest beyond the limit."""
    number = counts[key] = counts.pop(key, 0) + 1
    if len(counts) > limit:
        del counts[next(iter(counts))]
    return number
