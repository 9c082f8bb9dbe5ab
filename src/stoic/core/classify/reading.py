"""What a reply holds, read from its body or its events whatever the API: parts, finish, end, and signs of a refusal."""

from typing import Literal

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
    """The event's value itself, which may be no object."""


class Hint(Record, frozen=True):
    """A field of a reply that says it is a refusal."""

    mark: Mark
    field: str
    value: str


class Growing(msgspec.Struct):
    """One part as far as it was read: its pieces are joined once, however many there are."""

    kind: Literal["text", "thinking", "call"]
    pieces: list[str] = []
    """Of its text, or of a call's argument text."""
    name: str = ""
    provider_id: str = ""
    whole: bool = False

    @property
    def part(self) -> Part:
        """What was read, as a part of a reply."""
        said = "".join(self.pieces)
        if self.kind == "text":
            return TextPart(text=said)
        if self.kind == "thinking":
            return ThinkingPart(text=said)
        return CallPart(name=self.name, arguments=said, provider_id=self.provider_id, whole=self.whole)


class Reading(msgspec.Struct):
    """A reply as read so far; filled by one shape's reader."""

    stream: bool
    read: list[Growing] = []
    assembled: list[Part] | None = None
    """What a live attempt's wire assembled; pieces are then not put together again."""
    finish: str | None = None
    finish_field: str = ""
    ended: bool = False
    done: bool = False
    """Whether `[DONE]` came."""
    known: bool = False
    """Whether anything of the shape was recognised."""
    other_output: bool = False
    """Whether there is output that is neither text nor a call, such as an image."""
    hint: Hint | None = None
    """The first field that says that the reply is a refusal."""
    category: tuple[str, str] | None = None
    """(field, category) of the first filter that acted, to name a refusal's category."""
    where: str | None = None
    """Which side those filters were on: `prompt` or `completion`."""
    served_model: str | None = None
    request_id: str | None = None
    usage: Usage = Usage()
    calls: dict[str, Growing] = {}
    """Each call by the protocol's own key."""
    open_calls: list[Growing] = []
    """Those that nothing has closed."""

    @property
    def parts(self) -> list[Part]:
        """The parts of the reply; they are put together when they are asked for."""
        return [growing.part for growing in self.read] if self.assembled is None else self.assembled

    def add_text(self, piece: str) -> None:
        """Append visible text to the last part if it is text, else open a new one."""
        if piece and self.assembled is None:
            self._append("text", piece)

    def add_thinking(self, piece: str) -> None:
        """Append reasoning."""
        if self.assembled is None:
            self._append("thinking", piece)

    def _append(self, kind: Literal["text", "thinking"], piece: str) -> None:
        if not self.read or self.read[-1].kind != kind:
            self.read.append(Growing(kind=kind))
        self.read[-1].pieces.append(piece)

    def add_call(self, key: str, *, name: str = "", arguments: str = "", provider_id: str = "") -> None:
        """Open a call under the protocol's key, or append a piece of its arguments."""
        if self.assembled is not None:
            return
        call = self.calls.get(key)
        if call is None:
            call = self.calls[key] = Growing(kind="call")
            self.read.append(call)
            self.open_calls.append(call)
        elif call.whole:
            call.whole = False
            self.open_calls.append(call)
        call.name = call.name or name
        call.provider_id = call.provider_id or provider_id
        call.pieces.append(arguments)

    def replace_call(self, key: str, *, name: str, arguments: str, provider_id: str) -> None:
        """Take a call that is given whole, in the place of its pieces."""
        if self.assembled is not None:
            return
        self.add_call(key)
        call = self.calls[key]
        call.name, call.pieces, call.provider_id, call.whole = name, [arguments], provider_id, True

    def close_call(self, key: str) -> None:
        """Mark one call as whole: the protocol closed it."""
        if self.assembled is None:
            self.calls[key].whole = True

    def close_calls(self) -> None:
        """Mark every call as whole: the reply's own end came."""
        for call in self.open_calls:
            call.whole = True
        self.open_calls = []

    def begin_anew(self) -> None:
        """Forget what was read of the reply: the whole of it follows."""
        self.read, self.calls, self.open_calls = [], {}, []

    def add_hint(self, mark: Mark, field: str, value: str) -> None:
        """Remember the first field that says that the reply is a refusal."""
        self.hint = self.hint or Hint(mark=mark, field=field, value=value)

    def add_category(self, field: str, category: str) -> None:
        """Remember the first filter that acted."""
        self.category = self.category or (field, category)

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


def fresh(*, stream: bool, assembled: list[Part] | None = None) -> Reading:
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
