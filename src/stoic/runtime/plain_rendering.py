"""A renderer for a provider that does not take the usual rendering: the same API, the view in its plainest form."""

from collections.abc import Mapping, Sequence

from stoic.core.plain import plain
from stoic.ports import Renderer
from stoic.records import Json, Message, Record, ToolSchema


class PlainRenderer(Record, frozen=True):
    """Implements the `Renderer` port over another one; equal ones share a transcript."""

    usual: Renderer

    @property
    def TAIL(self) -> bytes:  # noqa: N802 -- the port's name
        """What closes a request after its last message."""
        return self.usual.TAIL

    def head(self, model: str, system: str, tools: Sequence[ToolSchema], parameters: Mapping[str, Json]) -> bytes:
        """Render everything before the first message; a thinking budget is left out.

        While there is one, Claude's older models demand that replies with calls begin with thinking.
        """
        thinking = parameters.get("thinking")
        budgeted = isinstance(thinking, dict) and "budget_tokens" in thinking
        kept = {name: value for name, value in parameters.items() if not (name == "thinking" and budgeted)}
        return self.usual.head(model, system, tools, kept)

    def fragments(self, messages: Sequence[Message], *, newest: bool = False) -> list[bytes]:
        """Render messages in their plainest form."""
        return self.usual.fragments(plain(messages), newest=newest)
