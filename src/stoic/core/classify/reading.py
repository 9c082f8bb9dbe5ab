"""What a reply holds, read from its body or its events whatever the API: parts, finish, end, and signs of a refusal."""

from typing import cast

import msgspec

from stoic.core.classify.fields import mapping, number, text, word
from stoic.core.classify.rules import Mark
from stoic.records import CallPart, Json, Part, Record, TextPart, ThinkingPart, Usage


class Document(Record, frozen=True):
    """One JSON value of an answer: its body, or the data of one stream event."""

    path: str
    data: dict[str, Json]
    event: str = ""
    raw: Json = None
    """The value itself when it is no object."""


class Hint(Record, frozen=True):
    """A field of a reply that says it is a refusal."""

    mark: Mark
    field: str
    value: str


class Reading(msgspec.Struct):
    """A reply as read so far; filled by one shape's reader."""

    stream: bool
    assembled: bool = False
    """Whether parts and usage are known from elsewhere: pieces are then not put together again."""
    parts: list[Part] = []
    finish: str | None = None
    finish_field: str = ""
    ended: bool = False
    done: bool = False
    """Whether `[DONE]` came."""
    known: bool = False
    """Whether anything of the shape was recognised."""
    other_output: bool = False
    """Whether there is output that is neither text nor a call, such as an image."""
    hints: list[Hint] = []
    categories: list[tuple[str, str]] = []
    """(field, category) of filters that acted, to name a refusal's category."""
    where: str | None = None
    """Which side those filters were on: `prompt` or `completion`."""
    served_model: str | None = None
    request_id: str | None = None
    usage: Usage = Usage()
    calls: dict[str, int] = {}
    """Position in `parts` of each open call or block, by the protocol's own key."""

    def add_text(self, piece: str) -> None:
        """Append visible text to the last part if it is text, else open a new one."""
        if not piece or self.assembled:
            return
        last = self.parts[-1] if self.parts else None
        if isinstance(last, TextPart):
            self.parts[-1] = TextPart(text=last.text + piece)
        else:
            self.parts.append(TextPart(text=piece))

    def add_thinking(self, piece: str) -> None:
        """Append reasoning."""
        if self.assembled:
            return
        last = self.parts[-1] if self.parts else None
        if isinstance(last, ThinkingPart):
            self.parts[-1] = ThinkingPart(text=last.text + piece)
        else:
            self.parts.append(ThinkingPart(text=piece))

    def add_call(self, key: str, *, name: str = "", arguments: str = "", provider_id: str = "") -> None:
        """Open a call under the protocol's key, or append a piece of its arguments."""
        if self.assembled:
            return
        if key not in self.calls:
            self.calls[key] = len(self.parts)
            self.parts.append(CallPart(name=name, arguments=arguments, provider_id=provider_id, whole=False))
            return
        last = cast("CallPart", self.parts[self.calls[key]])
        self.parts[self.calls[key]] = CallPart(
            name=last.name or name,
            arguments=last.arguments + arguments,
            provider_id=last.provider_id or provider_id,
            whole=False,
        )

    def set_call(self, key: str, call: CallPart) -> None:
        """Put a whole call under the protocol's key in the place of its pieces."""
        if not self.assembled:
            self.add_call(key)
            self.parts[self.calls[key]] = call

    def close_call(self, key: str) -> None:
        """Mark one call as whole: the protocol closed it."""
        last = cast("CallPart", self.parts[self.calls[key]])
        self.parts[self.calls[key]] = _closed(last)

    def close_calls(self) -> None:
        """Mark every call as whole: the reply's own end came."""
        self.parts = [_closed(one) if isinstance(one, CallPart) else one for one in self.parts]

    def set_finish(self, value: Json, field: str) -> None:
        """Remember the protocol's finish reason if there is one."""
        reason = word(value)
        if reason not in ("", "null"):  # DashScope writes the word until the end
            self.finish, self.finish_field = reason, field

    def note(self, data: dict[str, Json], *, model: str = "model", request_id: str = "id") -> None:
        """Remember which model answered and under which id."""
        self.served_model = text(data.get(model)) or self.served_model
        self.request_id = text(data.get(request_id)) or self.request_id

    @property
    def visible(self) -> bool:
        """Whether there is text that a person would see, or other output."""
        for one in self.parts:
            if isinstance(one, TextPart) and one.text.strip():
                return True
        return self.other_output


def _closed(call: CallPart) -> CallPart:
    return CallPart(name=call.name, arguments=call.arguments, provider_id=call.provider_id)


def fresh(*, stream: bool, assembled: bool = False) -> Reading:
    """Return an empty reading."""
    return Reading(stream=stream, assembled=assembled)


def joined_arguments(value: Json) -> str:
    """Return a call's arguments as text, whether the API gives text or an object."""
    return value if isinstance(value, str) else "" if value is None else msgspec.json.encode(value).decode()


def usage_of(data: Json, keys: tuple[str, str, str, str]) -> Usage:
    """Return token counts from an object.

    Args:
        data: The usage object.
        keys: The names of input, output, cache read and cache write counts in it.
    """
    counts = mapping(data)
    found = [int(max(0, number(counts[key]) or 0)) if key in counts else 0 for key in keys]
    return Usage(input_tokens=found[0], output_tokens=found[1], cache_read_tokens=found[2], cache_write_tokens=found[3])
