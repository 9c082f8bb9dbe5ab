"""The loop detector in a turn: rebuilt from the turn's rows, asked before a call, told after it (SPEC §11)."""

import msgspec

from stoic.core.arguments import arguments_of
from stoic.core.commands import ToolFacts
from stoic.core.history import CallState, TurnState
from stoic.core.loops import Call, Identity, LoopDetector, Verdict, identify, observe
from stoic.records import CallPart, Json, Row


class Guard:
    """What one generator knows of loops. A person's message forgets everything, so a turn's own rows are enough."""

    def __init__(self, tools: dict[str, ToolFacts], turn: TurnState | None) -> None:
        """Count again what the turn's rows say has happened."""
        self._tools = tools
        self._detector = LoopDetector()
        self._text = Verdict()
        self._identities: dict[str, Identity] = {}
        for each in turn.rounds if turn else []:
            for text in each.texts:
                self.said(text)
            for row in each.results:
                self._recount(each.calls, row)

    @property
    def stop(self) -> str | None:
        """Why the turn should end, or None."""
        if self._text.action == "block":
            return self._text.message
        if self._detector.should_stop:
            return f"{self._detector.ignored_blocks} blocked calls in a row were made again."
        return None

    def blocks(self, call: CallState) -> bool:
        """Tell whether a call would be blocked, without counting the block."""
        return self._detector.would_block(self._identity(call))

    def before(self, call: CallState) -> Verdict:
        """Say whether a call may run; ask once for a block."""
        return self._detector.ask(self._identity(call))

    def after(self, call: CallState, text: str, *, failed: bool) -> Verdict:
        """Count a call that ran, or that never could; `warn` has a suffix for the result."""
        seen = observe(self._identity(call), text, failed=failed)
        self._identities.pop(call.operation, None)
        verdict = self._detector.account(seen)
        if verdict.action == "ok" and self._text.action == "warn":
            verdict, self._text = self._text, Verdict()
        return verdict

    def said(self, text: str) -> None:
        """Count a text of the assistant; a warning waits for the next result."""
        if text.strip():
            self._text = self._detector.said(text)

    def _recount(self, calls: list[CallState], row: Row) -> None:
        counted = row.meta.get("loop")
        index: int = row.content["call"]
        if index >= len(calls):
            return
        call = calls[index]
        if counted == "blocked":
            self.before(call)
        elif counted == "counted":
            self.after(call, row.content["text"], failed=bool(row.content.get("failure")))

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
