"""A reply under assembly: blocks that grow piece by piece, and the events worth keeping beside them."""

from collections.abc import Iterable
from typing import Any, Literal, cast

import msgspec

from stoic.ports import Delta, Request
from stoic.records import CallPart, Json, Part, TextPart, ThinkingPart
from stoic.wire.text import mend, mend_json

Tree = dict[str, Any]
"""A JSON object."""

_NOISE_KEPT = 16
_MOST_TOKENS = 2**53


class Block(msgspec.Struct, kw_only=True):
    """One piece of a reply as far as it came; it belongs to one attempt and dies with it."""

    kind: Literal["text", "thinking", "call"]
    pieces: list[str] = []
    """Of its text, or of a call's argument text."""
    name: str = ""
    call_id: str = ""
    sealed: list[str] = []
    """Pieces of its signature; none: it has none."""
    redacted: str | None = None
    identifier: str | None = None
    phase: str | None = None
    closed: bool = False
    """Whether the protocol said that nothing more of it follows."""

    @property
    def text(self) -> str:
        """The text so far."""
        return mend("".join(self.pieces))

    @property
    def signature(self) -> str | None:
        """The signature so far."""
        return mend("".join(self.sealed)) if self.sealed else None

    def part(self, request: Request, *, whole: bool) -> Part:
        """Return the block as a part of the reply.

        Args:
            request: Names the provider and model that thinking belongs to.
            whole: Whether a call arrived whole; one without a name never did.
        """
        if self.kind == "text":
            return TextPart(text=self.text, signature=self.signature, phase=self.phase)
        if self.kind == "call":
            return CallPart(
                name=self.name,
                arguments=self.text,
                provider_id=self.call_id,
                whole=whole and bool(self.name),
                signature=self.signature,
            )
        return ThinkingPart(
            text=self.text,
            signature=self.signature,
            provider=request.provider,
            model=request.model,
            redacted=self.redacted,
            id=self.identifier,
        )

    @property
    def says_something(self) -> bool:
        """Whether there is anything to keep of it."""
        return self.kind == "call" or bool(self.pieces or self.sealed) or self.redacted is not None


def announce(block: Block, on_delta: Delta) -> None:
    """Tell of a block that came at once."""
    if block.kind == "call":
        if block.name:
            on_delta("call", block.name)
    elif block.text:
        on_delta(block.kind, block.text)


class KeptEvents:
    """The events of a stream that say more than one more piece of text or arguments."""

    def __init__(self) -> None:
        """Begin with none."""
        self.events: list[dict[str, Json]] = []
        self._noise = 0

    def comment(self, text: str) -> None:
        """Keep a comment; of comments and pings together only the first sixteen."""
        self._keep_noise({"comment": text})

    def add(self, name: str | None, value: Json, *, noise: bool = False) -> None:
        """Keep an event.

        Args:
            name: Its `event` field.
            value: Its data.
            noise: Whether it is a sign of life and no more.
        """
        event: dict[str, Json] = {"event": name, "data": mend_json(value)}
        if noise:
            self._keep_noise(event)
        else:
            self.events.append(event)

    def _keep_noise(self, event: dict[str, Json]) -> None:
        self._noise += 1
        if self._noise <= _NOISE_KEPT:
            self.events.append(event)


def tree(value: Json) -> Tree:
    """Return an object, or an empty one instead of anything else."""
    return cast("Tree", value) if isinstance(value, dict) else {}


def trees(value: Json) -> list[Tree]:
    """Return the objects of a list that may be anything."""
    items = cast("list[Json]", value) if isinstance(value, list) else []
    return [cast("Tree", item) for item in items if isinstance(item, dict)]


def text_of(value: Json) -> str:
    """Return a whole text as valid UTF-8, or an empty one instead of anything else."""
    return mend(value) if isinstance(value, str) else ""


def piece_of(value: Json) -> str:
    """Return a piece of a text as it came, since the next may hold the other half of a surrogate pair."""
    return value if isinstance(value, str) else ""


def arguments_of(value: Json) -> str:
    """Return arguments as text, whether they came as text or as a JSON value."""
    if value is None or isinstance(value, str):
        return value or ""
    return msgspec.json.encode(mend_json(value)).decode()


def count_of(values: Tree, names: Iterable[str]) -> int:
    """Return the sum of the named token counts."""
    return sum(number for name in names if (number := number_of(values.get(name))) is not None)


def number_of(count: Json) -> int | None:
    """Return a token count; None: it is none. What no float holds exactly counts nothing."""
    return max(count, 0) if isinstance(count, int) and count < _MOST_TOKENS else None
