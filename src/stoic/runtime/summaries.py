"""The default summariser: asks the bound model itself, once, without tools; anything but a whole answer is no summary."""

from stoic.core.classify import classify
from stoic.core.notes import SUMMARY_INSTRUCTIONS
from stoic.ports import Clock, Connection, Request
from stoic.records import AssistantMessage, Message, TextPart, ToolMessage, UserMessage

LIMIT_CHARACTERS = 120_000
"""So much of the record is summed up: its beginning and its end."""
_LIMIT_RESULT_CHARACTERS = 2_000


async def summarise(connection: Connection, clock: Clock, deadline_ms: int, view: list[Message]) -> str | None:
    """Return the model's summary of a view, or None."""
    renderer = connection.renderer
    head = renderer.head(connection.model, SUMMARY_INSTRUCTIONS, [], {})
    fragments = b",".join(renderer.fragments([UserMessage(text=record_of(view))], newest=True))
    request = Request(
        url=connection.url,
        headers=connection.headers,
        body=head + fragments + renderer.TAIL,
        provider=connection.provider,
        api=connection.api,
        model=connection.model,
        deadline_ms=clock.now_ms() + deadline_ms,
    )
    report = await connection.send.send(request, _ignore)
    if classify(report).failure is not None:
        return None
    return "".join(part.text for part in report.parts or [] if isinstance(part, TextPart))


def record_of(view: list[Message]) -> str:
    """Return a view as text: who said what, results shortened, the middle left out when it is too long."""
    text = "\n\n".join(map(_told, view))
    if len(text) <= LIMIT_CHARACTERS:
        return text
    half = LIMIT_CHARACTERS // 2
    return f"{text[:half]}\n\n[… {len(text) - 2 * half} characters left out …]\n\n{text[-half:]}"


def _told(message: Message) -> str:
    if isinstance(message, AssistantMessage):
        calls = "".join(f"\n(calls {call.name} with {call.arguments[:500]})" for call in message.calls)
        return f"ASSISTANT: {message.text}{calls}"
    if isinstance(message, ToolMessage):
        cut = "" if len(message.text) <= _LIMIT_RESULT_CHARACTERS else " […]"
        return f"RESULT OF {message.name}: {message.text[:_LIMIT_RESULT_CHARACTERS]}{cut}"
    return f"USER: {message.text}"


def _ignore(kind: str, text: str) -> None:
    """Nobody sees a summary grow."""
