"""The loop detector in a thread's life: what was saved with its last outcome, and what its rows say of since then (SPEC §11)."""

import hashlib
from collections.abc import Sequence

import msgspec

from stoic.core.arguments import arguments_of
from stoic.core.commands import ToolFacts
from stoic.core.history import CallState, calls_of
from stoic.core.loops import Call, Identity, LoopDetector, Rule, Verdict, identify, observe
from stoic.records import CallPart, Json, Row

_NEW_GENERATION = frozenset({"compaction", "fresh"})
_THREADS = frozenset({"from_thread", "task_thread", "owner_thread"})
"""What an event names that comes from a thread."""


def excuses_rerun(row: Row) -> bool:
    """Tell whether each call may be run once more after a row without counting as repeated; no counter is reset.

    A lost context is such a reason, and what happened outside. What threads tell each other is none: else two of them could
    keep each other going round for ever.
    """
    return row.kind in _NEW_GENERATION or (row.kind == "event" and not _THREADS & row.content.keys())


def outcome_of(text: str, images: Sequence[str]) -> str:
    """Return what a call brought, for the detector: another image is another outcome, whatever the text says."""
    marks = [hashlib.blake2b(each.encode(), digest_size=16).hexdigest() for each in images]
    return "\n".join([text, *marks]) if marks else text


class Guard:
    """What one generator knows of loops: equal saved states and rows make equal guards. Only a person's message resets it."""

    def __init__(self, tools: dict[str, ToolFacts], saved: Json = None, rows: Sequence[Row] = ()) -> None:
        """Begin where the saved state and the rows after it stand.

        Args:
            tools: by name
            saved: the state saved last with an outcome, None for none
            rows: those of the thread since then that `core.history` says have to be counted, in order
        """
        self._tools = tools
        self._saved: Json = saved or {}
        self._detector: LoopDetector | None = None
        """Made when something has to be counted: a turn without calls needs none."""
        self._is_unsaved = False
        self._blocked_by: Rule | None = None
        """The rule that blocked a call last since the saved state, so in this turn; None: no call was blocked."""
        self._text = Verdict()
        self._identities: dict[str, Identity] = {}
        self._let_through: set[str] = set()
        """Operations that run only because a person allowed it."""
        self._not_stored: list[str] = []
        """Those of them that no row tells yet."""
        calls: list[CallState] = []
        for row in rows:
            self.tell(row)
            if row.kind == "reply":
                calls = calls_of(row)
                self._recount_reply(row, calls)
            elif row.kind == "result":
                self._recount_result(row, calls)
            elif row.kind == "let_through":
                self._recount_grant(row)

    @property
    def stop(self) -> str | None:
        """Why the turn should end, or None; what was blocked in an earlier turn alone ends no new one."""
        if self._text.action == "block":
            return self._text.message
        if self._blocked_by is not None and self._loops.should_stop:
            return f"{self._loops.ignored_blocks} blocked calls in a row were made again."
        return None

    @property
    def stop_rule(self) -> Rule | None:
        """The rule by which the turn should end, of the last block where there were several; None as long as `stop` is."""
        if self.stop is None:
            return None
        return self._text.rule if self._text.action == "block" else self._blocked_by

    def unsaved(self) -> Json:
        """Return the state to save with the turn's outcome; None: it is the one that is saved already."""
        if not self._is_unsaved:
            return None
        return {} if self._detector is None else self._detector.save()

    def tell(self, row: Row) -> None:
        """Tell what happened beside replies and calls: a person's message or grant, a new generation, an event."""
        if row.kind == "message":
            self._forget()
        elif row.kind == "grant":
            self._counting.grant(row.content["calls"])
        elif excuses_rerun(row):
            self._excuse_one_rerun()

    def blocks(self, call: CallState) -> bool:
        """Tell whether a call would be blocked, without counting the block."""
        return call.operation not in self._let_through and self._loops.would_block(self._identity(call))

    def use_grant(self, call: CallState) -> None:
        """Count what a call that is not blocked takes of a person's grant, when it is about to run or be answered."""
        if self._loops.state.granted and call.operation not in self._let_through:
            self.before(call)

    def before(self, call: CallState) -> Verdict:
        """Say whether a call may run; ask once, since a block is counted, and what the call takes of a person's grant."""
        verdict = self._loops.ask(self._identity(call))
        if verdict.action == "block":
            self._is_unsaved, self._blocked_by = True, verdict.rule
        elif verdict.granted:
            self._is_unsaved = True
            self._let_through.add(call.operation)
            self._not_stored.append(call.operation)
        return verdict

    def take_let_through(self) -> list[str]:
        """Return the operations that `before` let through by a grant and that no row tells yet; each is returned once."""
        operations, self._not_stored = self._not_stored, []
        return operations

    def after(self, call: CallState, text: str, *, failed: bool) -> Verdict:
        """Count a call that ran, or that never could; `warn` has a suffix for the result."""
        seen = observe(self._identity(call), text, failed=failed)
        self._identities.pop(call.operation, None)
        verdict = self._counting.account(seen)
        if verdict.action == "ok" and self._text.action == "warn":
            verdict, self._text = self._text, Verdict()
        return verdict

    def said(self, text: str) -> None:
        """Count a text that the assistant wrote beside calls; a warning waits for the next result."""
        if text.strip():
            self._text = self._counting.said(text)

    @property
    def _loops(self) -> LoopDetector:
        if self._detector is None:
            self._detector = LoopDetector.restore(self._saved)
        return self._detector

    @property
    def _counting(self) -> LoopDetector:
        """The detector, for what changes its state."""
        self._is_unsaved = True
        return self._loops

    def _forget(self) -> None:
        self._is_unsaved = self._is_unsaved or bool(self._saved)
        self._saved, self._detector, self._text = {}, None, Verdict()

    def _excuse_one_rerun(self) -> None:
        if self._saved or self._detector is not None:
            self._counting.event("compaction")

    def _recount_reply(self, row: Row, calls: list[CallState]) -> None:
        if calls:
            self.said("".join(part["text"] for part in row.content["parts"] if part["type"] == "text"))

    def _recount_result(self, row: Row, calls: list[CallState]) -> None:
        counted: str | None = row.meta.get("loop")
        index: int = row.content["call"]
        if index >= len(calls):
            return
        if counted == "blocked":
            self.before(calls[index])
        elif counted == "counted":
            images = [each["data_base64"] for each in row.content.get("images", [])]
            seen = outcome_of(row.content["text"], images)
            self.after(calls[index], seen, failed=bool(row.content.get("failure")))

    def _recount_grant(self, row: Row) -> None:
        operations: list[str] = row.content["operations"]
        self._let_through.update(operations)
        self._counting.spend(len(operations))

    def _identity(self, state: CallState) -> Identity:
        """Return what the call is to the detector, worked out once."""
        identity = self._identities.get(state.operation)
        if identity is None:
            identity = self._identities[state.operation] = identify(self._call(state))
        return identity

    def _call(self, state: CallState) -> Call:
        tool = self._tools.get(state.call.name)
        return Call(
            tool=state.call.name,
            arguments=_arguments(state.call),
            effect=tool.effect if tool and tool.declared else None,
            known=tool is not None,
            frozen_limit=tool.frozen_limit if tool else None,
            loop_key=tool.loop_key if tool else [],
            batch=state.round,
        )


def _arguments(call: CallPart) -> Json:
    try:
        return arguments_of(call.arguments)
    except msgspec.DecodeError:
        return call.arguments
