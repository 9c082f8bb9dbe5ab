"""What asks a model to sum up a conversation: one request without tools, made of the view alone (SPEC §14)."""

from stoic.core.notes import SUMMARY_INSTRUCTIONS
from stoic.ports import Connection
from stoic.records import AssistantMessage, Message, ToolMessage, UserMessage

LIMIT_CHARACTERS = 120_000
"""So much of the record is summed up where the model's window is not known: its beginning and its end."""
_MOST_CHARACTERS = 400_000
_CHARACTERS_A_TOKEN = 2
"""Of a window: a third of what English takes, since other languages need more tokens."""
_LIMIT_RESULT_CHARACTERS = 2_000


def summary_request(connection: Connection, view: list[Message]) -> bytes:
    """Return the body of the request."""
    renderer = connection.renderer
    head = renderer.head(connection.model, SUMMARY_INSTRUCTIONS, [], {})
    record = record_of(view, _limit_characters(connection.context_window_tokens))
    return head + b",".join(renderer.fragments([UserMessage(text=record)], newest=True)) + renderer.TAIL


def record_of(view: list[Message], limit_characters: int = LIMIT_CHARACTERS) -> str:
    """Return a view as text: who said what, results shortened, the middle left out when it is too long."""
    text = "\n\n".join(map(_told, view))
    if len(text) <= limit_characters:
        return text
    half = limit_characters // 2
    return f"{text[:half]}\n\n[… {len(text) - 2 * half} characters left out …]\n\n{text[-half:]}"


def _limit_characters(window_tokens: int | None) -> int:
    if window_tokens is None:
        return LIMIT_CHARACTERS
    return min(window_tokens * _CHARACTERS_A_TOKEN, _MOST_CHARACTERS)


def _told(message: Message) -> str:
    if isinstance(message, AssistantMessage):
        calls = "".join(f"\n(calls {call.name} with {call.arguments[:500]})" for call in message.calls)
        return f"ASSISTANT: {message.text}{calls}"
    if isinstance(message, ToolMessage):
        cut = "" if len(message.text) <= _LIMIT_RESULT_CHARACTERS else " […]"
        return f"RESULT OF {message.name}: {message.text[:_LIMIT_RESULT_CHARACTERS]}{cut}"
    return f"USER: {message.text}"
