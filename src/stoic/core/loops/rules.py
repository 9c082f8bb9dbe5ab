"""The rules of SPEC §11: which counter blocks a call, and which deserves a warning."""

import msgspec

from stoic.core.loops.call import Rule, Thresholds
from stoic.core.loops.counting import Counted, changed_since
from stoic.core.loops.observation import Identity, Observation
from stoic.core.loops.state import CallState, LoopState


class Finding(msgspec.Struct, frozen=True):
    """A rule that has something to say, and what it counted."""

    rule: Rule
    count: int
    thread: bool = False
    """Whether the count is the whole thread's, not the call's own."""


def blocking(state: LoopState, thresholds: Thresholds, identity: Identity) -> Finding | None:
    """Return the strongest rule that does not let a call run, or None."""
    if not identity.known:
        streak = state.unknown_streak
        return Finding("unknown_tool", streak) if streak >= thresholds.unknown_tool else None
    if identity.nature.effect == "wait":
        return None
    entry = state.calls.get(identity.key)
    found = None
    if entry is not None and not _may_rerun(state, entry, identity):
        found = _frozen(state, thresholds, entry, identity)
    return found or _refused(state, thresholds, identity)


def warning(thresholds: Thresholds, seen: Observation, counted: Counted) -> Finding | None:
    """Return the strongest rule that warns after a call just counted: at its threshold and every half one later."""
    identity = seen.identity
    most = max(counted.entry.frozen, counted.repeats, counted.denied, counted.stagnating, counted.stale)
    if most < thresholds.warning and identity.frozen_limit is None:
        return None  # as after most calls
    poll = identity.nature.effect == "poll" and counted.stale > 0
    frozen = counted.entry.frozen if poll or _own_policy(identity, counted) else 0
    patience = thresholds.warning if identity.frozen_limit is None else max(2, identity.frozen_limit // 2)
    highest = max(frozen, counted.repeats, counted.denied, counted.stagnating, counted.stale)
    if highest < min(patience, thresholds.warning):
        return None
    candidates: list[tuple[Rule, int, int]] = [
        ("poll_no_progress", frozen, patience),
        ("repeat", counted.repeats, thresholds.warning),
        ("same_error_varied_args", counted.denied, thresholds.warning),
        ("stagnation", counted.stagnating, thresholds.warning),
        ("no_new_information", counted.stale, thresholds.warning),
    ]
    step = max(1, thresholds.warning // 2)
    for rule, number, threshold in candidates:
        if number >= threshold and (number - threshold) % step == 0:
            return Finding(rule, number)
    return None


def _own_policy(identity: Identity, counted: Counted) -> bool:
    return identity.nature.effect == "poll" and identity.frozen_limit is not None and not counted.news


def _frozen(state: LoopState, thresholds: Thresholds, entry: CallState, identity: Identity) -> Finding | None:
    poll = identity.nature.effect == "poll"
    limit = thresholds.critical if identity.frozen_limit is None else identity.frozen_limit
    if not poll and entry.frozen >= thresholds.breaker:
        return Finding("global_breaker", entry.frozen)
    if poll and entry.frozen >= limit:
        return Finding("poll_no_progress", entry.frozen)
    allowed = poll and identity.frozen_limit is not None
    if state.without_news >= thresholds.breaker and not allowed:
        return Finding("global_breaker", state.without_news, thread=True)
    return None


def _may_rerun(state: LoopState, entry: CallState, identity: Identity) -> bool:
    """Tell whether something happened since the call last ran that makes it worth running again."""
    waited = identity.nature.effect == "poll" and 0 <= entry.waits < state.waits
    return waited or changed_since(state, entry, identity) or entry.compactions < state.compactions


def _refused(state: LoopState, thresholds: Thresholds, identity: Identity) -> Finding | None:
    if not state.places:
        return None  # as in most threads
    for key in (identity.target, identity.whole):
        place = state.places.get(key)
        if place and place.count >= thresholds.critical and place.changes == state.changes:
            return Finding("same_error_varied_args", place.count)
    return None
