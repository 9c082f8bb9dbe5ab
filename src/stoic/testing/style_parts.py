"""What the styles of all APIs share: pieces of text, events, token counts."""

import re
from collections.abc import Iterable
from typing import Any, cast

import msgspec

from stoic.records import Json
from stoic.testing.replies import Reply, Word

Tree = dict[str, Any]
"""A JSON object."""

CREATED = 1_790_000_000
"""When every scripted answer was made, in epoch seconds."""

TIME_WORDS = ("gate", "delay", "hang")
CALL_WORDS = ("call", "half_call")

_PIECE_CHARACTERS = 12
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")

encode = msgspec.json.encode


def pieces_of(text: str) -> list[str]:
    """Return a text in the pieces a stream sends."""
    return [text[begin : begin + _PIECE_CHARACTERS] for begin in range(0, len(text), _PIECE_CHARACTERS)]


def event(value: Tree, *, named: bool) -> bytes:
    """Return one server-sent event.

    Args:
        value: Its data.
        named: Whether its `type` is also the event's name.
    """
    name = f"event: {value['type']}\n".encode() if named else b""
    return name + b"data: " + encode(value) + b"\n\n"


def trees(value: Json) -> list[Tree]:
    """Return the objects of a list that may be anything."""
    items = cast("list[Json]", value) if isinstance(value, list) else []
    return [cast("Tree", item) for item in items if isinstance(item, dict)]


def asked_tokens(value: Json) -> int:
    """Count what was asked as four characters a token, so that equal requests have equal counts."""
    return len(encode(value)) // 4 + 1


def said_tokens(reply: Reply) -> int:
    """Count what a reply says likewise."""
    return sum(len(word.text) + len(word.name) for word in reply.words) // 4 + 1


def said(reply: Reply, kind: str) -> str:
    """Return all text of one kind of words."""
    return "".join(word.text for word in reply.words if word.kind == kind)


def spoken(reply: Reply) -> list[Word]:
    """Return the words that say something, those of one text or thought that follow each other joined."""
    found: list[Word] = []
    for word in reply.words:
        if word.kind in TIME_WORDS:
            continue
        if found and word.kind in ("text", "thinking", "refusal") and found[-1].kind == word.kind:
            found[-1] = Word(kind=word.kind, text=found[-1].text + word.text)
        else:
            found.append(word)
    return found


def misnamed(names: Iterable[Json]) -> str | None:
    """Return the first of the names that no tool can have, or None."""
    return next((str(name) for name in names if not (isinstance(name, str) and _NAME.fullmatch(name))), None)


def object_of(text: str) -> Tree:
    """Return a call's arguments as an object; an empty one where the text is none."""
    try:
        value = msgspec.json.decode(text)
    except msgspec.DecodeError:
        value = None
    return cast("Tree", value) if isinstance(value, dict) else {}
