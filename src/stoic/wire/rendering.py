"""What the renderers of all APIs share: messages in groups, text that servers accept, call arguments as valid JSON.

Everything is encoded without a single space between tokens; `messages.MARKER` depends on that.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

import msgspec

from stoic.errors import UsageError
from stoic.records import AssistantMessage, Json, Message, Piece, Record, TextPart, ToolMessage, UserMessage
from stoic.wire.text import is_json_object, mend_json

EMPTY_TEXT = "(empty)"
"""Stands where a server refuses an empty text."""

NEUTRAL_TEXT = "(continue)"
"""The user message of APIs that want one before and after each reply, where the conversation has none: before a reply that
opens it, or between two replies."""

_SPACES_OUTSIDE_STRINGS = re.compile(r'("(?:[^"\\]|\\.)*")|[ \t\r\n]+')
_NOT_IN_NAMES = re.compile(r"[^a-zA-Z0-9_-]")
_NAME_CHARACTERS = 64
_encoder = msgspec.json.Encoder()


class Group(Record, frozen=True):
    """One reply and everything up to the next one; the very first group has no reply."""

    reply: AssistantMessage | None = None
    results: list[ToolMessage] = []
    inputs: list[UserMessage] = []


def groups(messages: Sequence[Message]) -> list[Group]:
    """Split messages before each reply. No messages at all are one empty group."""
    found: list[Group] = []
    current = Group()
    for position, message in enumerate(messages):
        if isinstance(message, AssistantMessage):
            if position:
                found.append(current)
            current = Group(reply=message)
        elif isinstance(message, ToolMessage):
            current.results.append(message)
        else:
            current.inputs.append(message)
    return [*found, current]


def encode(value: Json) -> bytes:
    """Return compact JSON in UTF-8; single surrogates become U+FFFD."""
    try:
        return _encoder.encode(value)
    except UnicodeEncodeError:
        # Single surrogates come from file names and foreign JSON; UTF-8 cannot hold them.
        return _encoder.encode(mend_json(value))


def shown(text: str) -> str:
    """Return a text, or a fixed word instead of one without visible characters."""
    return text if text and not text.isspace() else EMPTY_TEXT


@lru_cache(maxsize=1024)
def safe_name(name: str) -> str:
    """Return a tool's name as every API takes it: 1 to 64 letters, digits, `_` or `-`.

    Declared tools have such names already; a model can call one that does not exist by any name, and its call is replayed.
    """
    return _NOT_IN_NAMES.sub("_", name)[:_NAME_CHARACTERS] or "unnamed"


def readable_arguments(arguments: str) -> str:
    """Return argument text that is a JSON object: unchanged if it is one.

    No text at all becomes `{}`, anything else an object that quotes it under `unreadable_arguments`.
    """
    if not arguments or arguments.isspace():
        return "{}"
    return arguments if is_json_object(arguments) else encode({"unreadable_arguments": arguments}).decode()


def arguments_object(arguments: str) -> msgspec.Raw:
    """Return the arguments as an object for a body: the model's own digits and order, without spaces between tokens."""
    compact = _SPACES_OUTSIDE_STRINGS.sub(lambda found: found[1] or "", readable_arguments(arguments))
    return msgspec.Raw(compact.encode())


def pieces_of(message: AssistantMessage) -> list[Piece]:
    """Return the pieces of a reply in their order."""
    if message.pieces:
        return message.pieces
    return [*message.thinking, TextPart(text=message.text), *message.calls]


def sorted_parameters(parameters: Mapping[str, Json], reserved: set[str]) -> dict[str, Json]:
    """Return request parameters in a fixed order.

    Raises:
        UsageError: A parameter is one the runtime itself sets.
    """
    taken = sorted(reserved & parameters.keys())
    if taken:
        raise UsageError(f"request parameter {taken[0]!r} is set by the runtime itself; remove it from the parameters")
    return {name: parameters[name] for name in sorted(parameters)}


def join(opened: bytes, fragments: Iterable[bytes], tail: bytes) -> bytes:
    """Put a whole request body together."""
    return opened + b",".join(fragments) + tail
