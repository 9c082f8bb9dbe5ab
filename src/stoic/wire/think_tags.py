"""Reasoning that a chat server leaves in the text, as `<think>…</think>` before the answer, told apart from it piece by piece.

Servers of models in the manner of DeepSeek R1 send it so when no reasoning parser is on (vLLM without `--reasoning-parser`,
https://docs.vllm.ai/en/latest/features/reasoning_outputs.html); with one they send it in a field of its own.
"""

from typing import Literal

_OPEN, _CLOSE = "<think>", "</think>"
_MOST_SPACES = 64
"""More white space than this before a tag, and the text is taken as it stands: nothing is held back for ever."""


class ThinkTags:
    """The text of one reply; however it is cut into pieces, the same thinking and the same text come out."""

    def __init__(self) -> None:
        """Begin before the first piece."""
        self._state: Literal["begin", "opened", "thinking", "closed", "plain"] = "begin"
        self._held = ""
        """What cannot be told yet: white space, or the beginning of a tag."""

    def feed(self, text: str) -> list[tuple[str, str]]:
        """Take the next piece; return `(kind, text)` of what can be told now, kind being `text` or `thinking`."""
        if self._state == "plain":
            return [("text", text)]
        self._held += text
        said: list[tuple[str, str]] = []
        while self._goes_on(said):
            pass
        return said

    def finish(self) -> list[tuple[str, str]]:
        """Return what was held back, now that no more comes; thinking that was never closed stays thinking."""
        held, self._held = self._held, ""
        kind = "thinking" if self._state == "thinking" else "text"
        self._state = "plain" if self._state == "begin" else self._state
        return [(kind, held)] if held else []

    def take_as_it_stands(self) -> list[tuple[str, str]]:
        """Know that the server tells its thinking apart itself: a tag that the text begins with is the answer's own."""
        return self.finish() if self._state == "begin" else []

    def _goes_on(self, said: list[tuple[str, str]]) -> bool:
        """Take one step with what is held; False: more has to come first."""
        match self._state:
            case "begin":
                return self._begin()
            case "thinking":
                return self._think(said)
            case "plain":
                said += [("text", self._held)] if self._held else []
                self._held = ""
                return False
            case "opened" | "closed":
                self._held = self._held.lstrip()
                if self._held:
                    self._state = "thinking" if self._state == "opened" else "plain"
                return bool(self._held)

    def _begin(self) -> bool:
        body = self._held.lstrip()
        may_be_tag = len(self._held) - len(body) <= _MOST_SPACES
        if may_be_tag and body.startswith(_OPEN):
            self._held, self._state = body.removeprefix(_OPEN), "opened"
            return True
        if may_be_tag and _OPEN.startswith(body):
            return False
        self._state = "plain"
        return True

    def _think(self, said: list[tuple[str, str]]) -> bool:
        thought, close, rest = self._held.partition(_CLOSE)
        if not close:
            kept = next(size for size in range(len(_CLOSE) - 1, -1, -1) if thought.endswith(_CLOSE[:size]))
            thought, rest = thought[: len(thought) - kept], thought[len(thought) - kept :]
        if thought:
            said.append(("thinking", thought))
        self._held = rest
        if close:
            self._state = "closed"
        return bool(close)
