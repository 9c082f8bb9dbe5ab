"""Chat Completions requests for servers that want something else than OpenAI's own: a `Renderer` made of the plain one."""

from collections.abc import Mapping, Sequence

from stoic.records import AssistantMessage, Json, Message, Record, ToolSchema
from stoic.wire import chat
from stoic.wire.rendering import encode, groups

_USAGE_ASKED = b'"stream":true,"stream_options":{"include_usage":true}'
_USAGE_NOT_ASKED = b'"stream":true'
_NO_THINKING = " "
"""Stands where a server demands thinking that nobody has, such as in a reply of another model; empty text counts as missing."""


class DialectRenderer(Record, frozen=True):
    """The requests of one provider and model whose server deviates in one of the ways below."""

    provider: str
    model: str
    asks_for_usage: bool = True
    """Whether `stream_options` may be sent."""
    replays_thinking: bool = False
    """Whether thinking goes back as `reasoning_content` of replies with calls."""

    @property
    def TAIL(self) -> bytes:  # noqa: N802 -- the port's name
        """What closes a request after its last message."""
        return chat.TAIL

    def head(self, model: str, system: str, tools: Sequence[ToolSchema], parameters: Mapping[str, Json]) -> bytes:
        """Render everything before the first message; see `chat.head`."""
        opened = chat.head(model, system, tools, parameters)
        return opened if self.asks_for_usage else opened.replace(_USAGE_ASKED, _USAGE_NOT_ASKED, 1)

    def fragments(self, messages: Sequence[Message], *, newest: bool = False) -> list[bytes]:
        """Render messages as `chat.fragments` does, with the thinking it wants back."""
        found: list[bytes] = []
        for group in groups(messages):
            of_group: list[Message] = [group.reply] if group.reply else []
            rendered = chat.fragments([*of_group, *group.results, *group.inputs], newest=newest)
            if group.reply and group.reply.calls and self.replays_thinking:
                rendered[0] = self._with_thinking(rendered[0], group.reply)
            found += rendered
        return found

    def _with_thinking(self, fragment: bytes, reply: AssistantMessage) -> bytes:
        own = [part.text for part in reply.thinking if (part.provider, part.model) == (self.provider, self.model)]
        return fragment[:-1] + b',"reasoning_content":' + encode("".join(own) or _NO_THINKING) + b"}"
