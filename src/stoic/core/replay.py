"""Rows to what a model sees: the view, in the order an API wants it, checked by the gate (SPEC §4, §5)."""

import string
from collections.abc import Sequence
from functools import lru_cache

import msgspec
from msgspec.structs import replace

from stoic.core.notes import NO_OUTPUT, NO_RESULT
from stoic.core.rows import kind_of, turn_of
from stoic.errors import UnsendableError
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

_DIGITS = string.digits + string.ascii_uppercase + string.ascii_lowercase
_TURN_DIGITS, _ROUND_DIGITS, _INDEX_DIGITS = 4, 2, 3


@lru_cache(maxsize=4096)
def _number(number: int, digits: int) -> str:
    """Return the last digits of a number to base 62."""
    found = ""
    for _ in range(digits):
        number, digit = divmod(number, len(_DIGITS))
        found = _DIGITS[digit] + found
    return found


def call_id(turn: int, round: int, index: int) -> str:  # noqa: A002 - SPEC §4's name
    """Return the id by which requests name a call: nine letters and digits, which every API takes.

    Mistral wants exactly nine (https://docs.mistral.ai, tool call ids); the ids of providers are never replayed, so
    that a conversation can go to another provider. Ids are told apart within one thread, up to 14 million turns.
    """
    return _number(turn, _TURN_DIGITS) + _number(round, _ROUND_DIGITS) + _number(index, _INDEX_DIGITS)


class _OpenCalls:
    """The calls of one reply and the results that have come for them."""

    def __init__(self, calls: list[CallView]) -> None:
        self.calls = calls
        self.results: dict[int, Row] = {}

    def messages(self) -> list[Message]:
        """One message a call, ordered by call; a call without result says so."""
        get = self.results.get
        return [_result(call, get(index)) for index, call in enumerate(self.calls)]


def _result(call: CallView, row: Row | None) -> ToolMessage:
    if row is None:
        return ToolMessage(call_id=call.id, name=call.name, text=NO_RESULT, error=True)
    view: Json = row.view or row.content
    text = view["text"] or ("" if "images" in view else NO_OUTPUT)
    return ToolMessage(call_id=call.id, name=call.name, text=text, error="failure" in view, images=_images(view))


def messages(rows: list[Row]) -> list[Message]:
    """Return the view of rows that begin at the log's start or with an accepted reply's row.

    Only rows of the newest generation among them are in it.

    Results stand in the order of their calls, whatever order they came in; a call that has no result among the rows
    gets a fixed one, so any prefix of a log is a valid conversation.
    """
    view: list[Message] = []
    calls: _OpenCalls | None = None
    newest = rows[-1].generation if rows else 0
    for row in rows:
        if not row.visible or row.quarantine == "excluded" or row.generation != newest:
            continue
        kind = kind_of(row)
        if kind == "result":
            if calls:
                calls.results[row.content["call"]] = row
            continue
        if calls:
            view += calls.messages()
            calls = None
        if kind == "reply":
            message = _reply(row)
            view.append(message)
            calls = _OpenCalls(message.calls) if message.calls else None
        else:
            shown = row.view or row.content
            view.append(UserMessage(text=shown["text"], images=_images(shown)))
    if calls:
        view += calls.messages()
    return view


def _images(view: Json) -> Sequence[ImagePart]:
    """Return the images of a row's content or view, written as `{"media_type", "data_base64"}` under `images`."""
    return msgspec.convert(view["images"], list[ImagePart]) if "images" in view else ()


def _reply(row: Row) -> AssistantMessage:
    turn, round_ = turn_of(row), row.round
    provider, model = row.meta.get("provider"), row.meta.get("model")
    pieces: list[Piece] = []
    calls: list[CallView] = []
    for part in row.content["parts"]:
        kind = part["type"]
        if kind == "call":
            # Read by hand: a thread has thousands of them.
            call = CallView(
                id=call_id(turn, round_, len(calls)),
                name=part["name"],
                arguments=part["arguments"],
                signature=part.get("signature"),
            )
            calls.append(call)
            pieces.append(call)
        elif kind == "thinking":
            pieces.append(replace(msgspec.convert(part, ThinkingPart), provider=provider, model=model))
        else:
            pieces.append(TextPart(text=part["text"], signature=part.get("signature"), phase=part.get("phase")))
    return AssistantMessage(
        text="".join(piece.text for piece in pieces if isinstance(piece, TextPart)),
        calls=calls,
        thinking=[piece for piece in pieces if isinstance(piece, ThinkingPart)],
        pieces=pieces,
        provider=provider,
        model=model,
    )


def gate(view: list[Message]) -> None:
    """Check the pairing rules of a whole assembled view before it is sent.

    Raises:
        UnsendableError: a call without exactly one result right after it, a result without its call, a message
            without content, or an end that no model could answer. Nothing must be sent then.
    """
    expected: list[str] = []
    for position, message in enumerate(view):
        if isinstance(message, ToolMessage):
            if not expected or message.call_id != expected.pop(0):
                raise UnsendableError(f"message {position}: a result does not follow its call; nothing was sent")
            continue
        if expected:
            raise UnsendableError(
                f"message {position}: {len(expected)} calls before it have no result; nothing was sent"
            )
        if isinstance(message, AssistantMessage):
            expected = [call.id for call in message.calls]
            empty = not message.text and not message.calls
        else:
            empty = not message.text and not message.images
        if empty:
            raise UnsendableError(f"message {position} is empty; nothing was sent")
    if expected:
        raise UnsendableError(f"{len(expected)} calls at the end have no result; nothing was sent")
    if not view or isinstance(view[-1], AssistantMessage):
        raise UnsendableError("nothing new to answer at the end of the view; nothing was sent")
