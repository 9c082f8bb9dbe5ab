"""Counts executed calls: by call, by tool, by target and in the whole thread."""

import msgspec

from stoic.core.loops.call import Thresholds
from stoic.core.loops.noises import PAGING, SPELLING
from stoic.core.loops.observation import Identity, Observation
from stoic.core.loops.state import PLACES, CallState, LoopState, PlaceState, ToolState, count_up, touch


class Counted(msgspec.Struct, frozen=True):
    """What one executed call did to the counters; 0 where it added nothing to a count."""

    entry: CallState
    news: bool
    repeats: int
    """Runs of the exact call so far."""
    stagnating: int
    """Different calls of the tool with this outcome so far."""
    denied: int
    """Different calls to the target with this denial so far."""
    stale: int
    """Calls in a row without news so far."""


def count(state: LoopState, thresholds: Thresholds, seen: Observation) -> Counted:
    """Count one executed call that is no wait."""
    identity, came = seen.identity, seen.outcome
    state.unknown_streak = 0 if identity.known else state.unknown_streak + 1
    entry = touch(state.calls, identity.key, CallState, thresholds.history)
    ran_before = entry.changes >= 0
    changed = ran_before and changed_since(state, entry, identity)
    reread = ran_before and entry.compactions < state.compactions
    same = entry.outcome == came.masked
    news = count_up(state.known, came.pair, thresholds.history) == 1
    if same:
        _count_frozen(state, entry, excused=changed or reread)
        _note_noise(entry, seen)
    else:
        entry.frozen, entry.noise, entry.waits = 1, 0, -1
    repeats = 0 if changed and news else _count_repeat(state, thresholds, identity)
    stagnating = _count_stagnation(state, entry, seen)
    denied = _count_denial(state, seen) if came.failed or state.places else 0
    stale = 0
    if news:
        state.moves += bool(entry.outcome) and identity.nature.effect in {"read", "poll"}
        forget_staleness(state)
        state.changes += identity.known and not came.failed and _changes_something(identity)
    elif not (changed or reread or _patient(identity, entry, same=same)):
        stale = state.without_news = state.without_news + 1
    entry.outcome, entry.raw, entry.spelling, entry.exact = came.masked, came.raw, identity.spelling, identity.exact
    entry.changes, entry.compactions = _changes(state, identity), state.compactions
    return Counted(entry, news, repeats, stagnating, denied, stale)


def changed_since(state: LoopState, entry: CallState, identity: Identity) -> bool:
    """Tell whether something outside changed since the call last ran, so that running it again is a new experiment."""
    return identity.nature.repeatable and 0 <= entry.changes < _changes(state, identity)


def _changes(state: LoopState, identity: Identity) -> int:
    """Count the changes that may matter to a call: to one that moves things along also those that a look has shown."""
    return state.changes + (state.moves if identity.nature.acts else 0)


def forget_staleness(state: LoopState) -> None:
    """Note that there was news: what counts calls, texts and blocks without news starts over."""
    state.without_news = 0
    state.texts.clear()
    state.ignored_blocks, state.told = 0, False


def _count_frozen(state: LoopState, entry: CallState, *, excused: bool) -> None:
    """Count the same outcome once more."""
    if not excused:
        entry.frozen += 1
    if entry.waits >= 0:
        entry.waits = state.waits


def _note_noise(entry: CallState, seen: Observation) -> None:
    """Note what differed from the last run, though the outcome was the same."""
    if entry.raw != seen.outcome.raw:
        entry.noise |= seen.outcome.noise
    if entry.exact != seen.identity.exact:
        entry.noise |= PAGING
    elif entry.spelling != seen.identity.spelling:
        entry.noise |= SPELLING


def _patient(identity: Identity, entry: CallState, *, same: bool) -> bool:
    """Tell whether a poll without news is none against the thread: it moved, or its own policy allows the standstill."""
    allowed = identity.frozen_limit is not None and entry.frozen < identity.frozen_limit
    return identity.nature.effect == "poll" and (not same or allowed)


def _count_repeat(state: LoopState, thresholds: Thresholds, identity: Identity) -> int:
    """Count runs of the exact call; those of a poll are no sign of anything."""
    if identity.nature.effect == "poll" or not identity.known:
        return 0
    return count_up(state.repeats, identity.exact, thresholds.history)


def _count_stagnation(state: LoopState, entry: CallState, seen: Observation) -> int:
    """Count different calls of one read or exec tool with one outcome, unless something changed between them."""
    identity, came = seen.identity, seen.outcome
    if not identity.known or not _asks(seen):
        return 0
    tool = touch(state.tools, identity.whole, ToolState, PLACES)
    changed = tool.changes < state.changes
    tool.changes = state.changes
    if tool.outcome != came.masked:
        state.runs += 1
        tool.outcome, tool.count, tool.run = came.masked, 0, state.runs
    elif changed or entry.run == tool.run:
        return 0
    entry.run = tool.run
    tool.count += 1
    return tool.count


def _asks(seen: Observation) -> bool:
    """Tell whether a call asks something, so that equal answers mean stagnation; silent success of work does not."""
    kind = seen.identity.nature
    if kind.effect == "exec":
        return kind.doing != "write" and (kind.doing == "read" or not seen.outcome.silent)
    return kind.effect == "read"


def _count_denial(state: LoopState, seen: Observation) -> int:
    """Count different calls to one target with the same denial; a success there, or a change outside, clears it."""
    identity, came = seen.identity, seen.outcome
    if not came.denial:
        if not came.failed:
            state.places.pop(identity.target, None)
            state.places.pop(identity.whole, None)
        return 0
    key = identity.whole if came.denial == "account" and not identity.contained else identity.target
    place = touch(state.places, key, PlaceState, PLACES)
    if place.outcome != came.masked or place.changes != state.changes:
        place.outcome, place.count, place.last, place.changes = came.masked, 0, "", state.changes
    if place.last == identity.key:
        return 0
    place.last = identity.key
    place.count += 1
    return place.count


def _changes_something(identity: Identity) -> bool:
    """Tell whether a successful run of the call may have changed what other calls will find."""
    kind = identity.nature
    if kind.effect in {"read", "poll"} or kind.bookkeeping or kind.clock:
        return False
    return kind.effect != "exec" or kind.doing != "read"
