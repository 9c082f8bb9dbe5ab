"""The loop detector: sees every call, text and event of one thread, and says when to warn, block or stop (SPEC §11)."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from stoic.core.loops.call import OK, Call, Event, Thresholds, Verdict
from stoic.errors import UsageError

if TYPE_CHECKING:
    from stoic.core.loops.observation import Identity, Observation
    from stoic.core.loops.state import LoopState
    from stoic.records import Json


@cache
def _engine():  # noqa: ANN202  # the type checker infers the module; no annotation can name it
    from stoic.core.loops import engine  # noqa: PLC0415  # loaded at the first call: importing stays nearly free

    return engine


def identify(call: Call) -> Identity:
    """Work out which call this is; costs one pass over its arguments."""
    return _engine().identify(call)


def observe(identity: Identity, result: Json, *, failed: bool = False) -> Observation:
    """Hash a call's raw result for `LoopDetector.account`; costs one pass over it."""
    engine = _engine()
    return engine.Observation(identity=identity, outcome=engine.outcome(result, identity, failed=failed))


class LoopDetector:
    """Sees every loop of one thread: ask `before` a call, tell `after` it, and tell what else happens.

    Costs per call are constant apart from hashing the arguments and the result; memory is bounded by
    `Thresholds.history`. A verdict never rests on similarity, only on equality of masked hashes.
    """

    def __init__(self, thresholds: Thresholds | None = None, state: LoopState | None = None) -> None:
        self.thresholds = thresholds or Thresholds()
        self.state = state or _engine().LoopState()
        self._asked: tuple[Call, Identity] | None = None
        """The call asked about last, so that `after` need not read it again."""

    @classmethod
    def load(cls, data: bytes | str, thresholds: Thresholds | None = None) -> LoopDetector:
        """Go on from what `dump` saved. Raises UsageError when the data are something else."""
        return cls(thresholds, _engine().load(data))

    def dump(self) -> bytes:
        """Return the state as JSON, at most about 100 KB."""
        return _engine().dump(self.state)

    @classmethod
    def restore(cls, value: Json, thresholds: Thresholds | None = None) -> LoopDetector:
        """Go on from what `save` returned; from nothing when the value cannot be read, as one of another version."""
        return cls(thresholds, _engine().restored(value))

    def save(self) -> Json:
        """Return the state as a JSON value, to be kept between two turns: replies may be numbered anew then."""
        return _engine().plain(self.state)

    @property
    def ignored_blocks(self) -> int:
        """How many replies in a row made a blocked call after an earlier reply had been told of a block, without news."""
        return self.state.ignored_blocks

    @property
    def should_stop(self) -> bool:
        """Whether so many blocks in a row were ignored that the turn should end `stopped(stuck_loop)`."""
        return self.state.ignored_blocks >= self.thresholds.ignored_blocks

    def before(self, call: Call) -> Verdict:
        """Say whether a call may run: `ok`, or `block` with the result to give instead.

        A block is remembered, so ask once for each call; the call itself is counted by `after`. A blocked call
        (a veto) is not told to `after`.
        """
        identity = _engine().identify(call)
        self._asked = (call, identity)
        return self.ask(identity)

    def ask(self, identity: Identity) -> Verdict:
        """Do what `before` does, for a call identified already."""
        engine = _engine()
        found = engine.blocking(self.state, self.thresholds, identity)
        if found is None:
            return Verdict(key=identity.key)
        if self.state.granted > 0:
            self.state.granted -= 1
            return Verdict(key=identity.key, granted=True)
        entry = self.state.calls.get(identity.key)
        noise = engine.noise_names(entry.noise) if entry else []
        if entry:
            entry.waits = self.state.waits
        self._count_block(identity.batch)
        return Verdict(
            action="block",
            rule=found.rule,
            count=found.count,
            message=engine.blocked(found.rule, identity.tool, found.count, noise, thread=found.thread),
            noise=noise,
            key=identity.key,
            ignored_blocks=self.state.ignored_blocks,
        )

    def would_block(self, identity: Identity) -> bool:
        """Tell whether `ask` would block a call, without remembering it."""
        return self.state.granted == 0 and _engine().blocking(self.state, self.thresholds, identity) is not None

    def after(self, call: Call, result: Json, *, failed: bool = False) -> Verdict:
        """Count an executed call and say whether its result needs a warning: `ok`, or `warn` with the suffix.

        Args:
            call: The call as it was given to `before`.
            result: The tool's raw result, before the host truncates, wraps or decorates it.
            failed: Whether the tool reported an error.
        """
        asked = self._asked
        identity = asked[1] if asked and asked[0] is call else identify(call)
        return self.account(observe(identity, result, failed=failed))

    def account(self, seen: Observation) -> Verdict:
        """Count an observed call; the same observations in the same order give the same verdicts."""
        identity, came = seen.identity, seen.outcome
        if identity.known and identity.nature.effect == "wait":
            self.state.waits += 1
            return Verdict(key=identity.key, outcome=came.masked)
        engine = _engine()
        counted = engine.count(self.state, self.thresholds, seen)
        found = engine.warning(self.thresholds, seen, counted)
        if found is None:
            return Verdict(key=identity.key, outcome=came.masked, news=counted.news)
        noise = engine.noise_names(counted.entry.noise)
        return Verdict(
            action="warn",
            rule=found.rule,
            count=found.count,
            message=engine.warned(found.rule, identity.tool, found.count, noise),
            noise=noise,
            key=identity.key,
            outcome=came.masked,
            news=counted.news,
        )

    def said(self, text: str) -> Verdict:
        """Count a text of the assistant: `warn` from the third equal one without news between, `block` from the tenth."""
        key = _engine().normalised(text)
        if not key:
            return OK
        number = _engine().count_up(self.state.texts, key, _engine().PLACES)
        if number >= self.thresholds.text_stop and self.state.granted > 0:
            self.state.granted -= 1
            return Verdict(count=number, key=key, granted=True)
        if number >= self.thresholds.text_stop:
            return Verdict(action="block", rule="text_repeat", count=number, message=_engine().stopped(number), key=key)
        if number >= self.thresholds.text_warning:
            message = _engine().warned("text_repeat", "", number, [])
            return Verdict(action="warn", rule="text_repeat", count=number, message=message, key=key)
        return Verdict(count=number, key=key)

    def event(self, kind: Event) -> None:
        """Tell what happened beside calls and texts.

        `user` (a person's message) and `new_task` forget everything. `compaction` excuses one re-run of each call.
        `external` (news from outside that is no person) counts as news and as a change. `nudge` and `new_run` (a
        restart) change nothing.
        """
        if kind in {"user", "new_task"}:
            self.state = _engine().LoopState()
        elif kind == "compaction":
            self.state.compactions += 1
        elif kind == "external":
            self.state.changes += 1
            _engine().forget_staleness(self.state)

    def grant(self, calls: int) -> None:
        """Let the next `calls` blocked calls run, as a person allowed; a text that would stop the turn counts as one.

        Raises UsageError below one.
        """
        if calls < 1:
            raise UsageError(f"a loop grant must allow at least one call, not {calls}")
        self.state.granted = calls
        self.state.ignored_blocks, self.state.told = 0, False

    def spend(self, calls: int) -> None:
        """Use up a part of the grant for calls that are known to have been let through, without asking about them again."""
        self.state.granted = max(0, self.state.granted - calls)

    def _count_block(self, batch: int) -> None:
        """Count a block as ignored when an earlier reply was already told of one."""
        if self.state.told and (batch == 0 or batch != self.state.told_batch):
            self.state.ignored_blocks += 1
        self.state.told, self.state.told_batch = True, batch
