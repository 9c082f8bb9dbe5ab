"""Rows to what a model sees: the view, in the order an API wants it, checked by the gate (SPEC §4, §5)."""

import hashlib
from functools import lru_cache

from stoic.core.notes import NO_OUTPUT, NO_RESULT
from stoic.errors import BrokenInvariantError
from stoic.records import (
    AssistantMessage,
    CallView,
    ImagePart,
    Json,
    Message,
    Piece,
    Row,
    TextPart,
    ThinkingPart,
    ToolMessage,
    UserMessage,
)

_ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_ID_LENGTH = 9  # some providers take exactly nine letters and digits


@lru_cache(maxsize=4096)
def call_id(operation: str) -> str:
    """Return the id by which requests name an operation's call: nine letters and digits, which every API takes.

    Mistral wants exactly nine (https://docs.mistral.ai, tool call ids); the ids of providers are never replayed, so
    that a conversation can go to another provider.
    """
    number = int.from_bytes(hashlib.blake2b(operation.encode(), digest_size=8).digest(), "big")
    digits: list[str] = []
    for _ in range(_ID_LENGTH):
        number, digit = divmod(number, len(_ALPHABET))
        digits.append(_ALPHABET[digit])
    return "".join(digits)


class _OpenCalls:
    """The calls of one reply and the results that have come for them."""

    def __init__(self, row: Row, calls: list[Json]) -> None:
        self.operations = [f"{row.thread}.{row.turn}.{row.round}.{index}" for index in range(len(calls))]
        self.names: list[str] = [call["name"] for call in calls]
        self.results: dict[int, Row] = {}

    def messages(self) -> list[Message]:
        """One message a call, ordered by call; a call without result says so."""
        return [self._message(index, self.results.get(index)) for index in range(len(self.names))]

    def _message(self, index: int, row: Row | None) -> ToolMessage:
        view: Json = {"text": NO_RESULT, "failure": "unknown"} if row is None else row.view or row.content
        return ToolMessage(
            call_id=call_id(self.operations[index]),
            name=self.names[index],
            text=view["text"] or ("" if view.get("images") else NO_OUTPUT),
            error=bool(view.get("failure")),
            images=_images(view),
        )


def messages(rows: list[Row]) -> list[Message]:
    """Return the view of rows that begin at the log's start or right after an accepted reply's row.

    Results stand in the order of their calls, whatever order they came in; a call that has no result among the rows
    gets a fixed one, so any prefix of a log is a valid conversation.
    """
    view: list[Message] = []
    calls: _OpenCalls | None = None
    for row in rows:
        if not row.visible or row.quarantine == "excluded":
            continue
        if row.kind == "result":
            if calls and row.content["call"] < len(calls.names):
                calls.results[row.content["call"]] = row
            continue
        if calls:
            view += calls.messages()
            calls = None
        if row.kind == "reply":
            message = _reply(row)
            view.append(message)
            calls = _OpenCalls(row, [{"name": call.name} for call in message.calls]) if message.calls else None
        else:
            shown = row.view or row.content
            view.append(UserMessage(text=shown["text"], images=_images(shown)))
    if calls:
        view += calls.messages()
    return view


def _images(view: Json) -> list[ImagePart]:
    """Return the images of a row's content or view, written as `{"media_type", "data_base64"}` under `images`."""
    return [ImagePart(**image) for image in view.get("images", [])]


def _reply(row: Row) -> AssistantMessage:
    pieces: list[Piece] = []
    calls: list[CallView] = []
    maker: dict[str, Json] = {"provider": row.meta.get("provider"), "model": row.meta.get("model")}
    for part in row.content["parts"]:
        fields = {name: value for name, value in part.items() if name in _REPLAYED[part["type"]]}
        if part["type"] == "text":
            pieces.append(TextPart(**fields))
        elif part["type"] == "thinking":
            pieces.append(ThinkingPart(**fields, **maker))
        else:
            operation = f"{row.thread}.{row.turn}.{row.round}.{len(calls)}"
            calls.append(CallView(id=call_id(operation), **fields))
            pieces.append(calls[-1])
    return AssistantMessage(
        text="".join(piece.text for piece in pieces if isinstance(piece, TextPart)),
        calls=calls,
        thinking=[piece for piece in pieces if isinstance(piece, ThinkingPart)],
        pieces=pieces,
        **maker,
    )


_REPLAYED = {
    "text": {"text", "signature", "phase"},
    "thinking": {"text", "signature", "redacted", "id"},
    "call": {"name", "arguments", "signature"},
}
"""Fields of a stored part that a message has too."""


def gate(view: list[Message]) -> None:
    """Check the pairing rules of a whole assembled view before it is sent.

    Raises:
        BrokenInvariantError: a call without exactly one result right after it, a result without its call, a message
            without content, or an end that no model could answer. Nothing must be sent then.
    """
    expected: list[str] = []
    for position, message in enumerate(view):
        if isinstance(message, ToolMessage):
            if not expected or message.call_id != expected.pop(0):
                raise BrokenInvariantError(f"message {position}: a result does not follow its call; nothing was sent")
            continue
        if expected:
            raise BrokenInvariantError(
                f"message {position}: {len(expected)} calls before it have no result; nothing was sent"
            )
        if isinstance(message, AssistantMessage):
            expected = [call.id for call in message.calls]
            empty = not message.text and not message.calls
        else:
            empty = not message.text and not message.images
        if empty:
            raise BrokenInvariantError(f"message {position} is empty; nothing was sent")
    if expected:
        raise BrokenInvariantError(f"{len(expected)} calls at the end have no result; nothing was sent")
    if not view or isinstance(view[-1], AssistantMessage):
        raise BrokenInvariantError("nothing new to answer at the end of the view; nothing was sent")
