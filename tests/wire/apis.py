"""What tests of all APIs share: their parts by name, one conversation that has everything, and one way to send."""

import asyncio
from typing import Any, NamedTuple

from stoic.ports import Request
from stoic.records import (
    AssistantMessage,
    CallView,
    ImagePart,
    TextPart,
    ThinkingPart,
    ToolMessage,
    ToolSchema,
    UserMessage,
)
from stoic.testing import FakeClock, chat_style, gemini_style, messages_style, responses_style
from stoic.wire import chat, gemini, messages, responses
from stoic.wire.chat_decoding import ChatDecoder
from stoic.wire.gemini import GeminiRenderer
from stoic.wire.gemini_decoding import GeminiDecoder
from stoic.wire.messages import MessagesRenderer
from stoic.wire.messages_decoding import MessagesDecoder
from stoic.wire.responses import ResponsesRenderer
from stoic.wire.responses_decoding import ResponsesDecoder
from stoic.wire.transport import HttpProvider


class Api(NamedTuple):
    """One API: its module, how its requests are rendered, and how its servers answer."""

    module: Any
    make_renderer: Any
    style: Any


APIS = {
    "chat": Api(chat, lambda provider, model: chat, chat_style),
    "messages": Api(messages, lambda provider, model: MessagesRenderer(provider=provider, model=model), messages_style),
    "responses": Api(
        responses, lambda provider, model: ResponsesRenderer(provider=provider, model=model), responses_style
    ),
    "generate": Api(gemini, lambda provider, model: GeminiRenderer(provider=provider, model=model), gemini_style),
}
DECODERS = {
    "chat": ChatDecoder,
    "messages": MessagesDecoder,
    "responses": ResponsesDecoder,
    "generate": GeminiDecoder,
}

PIXEL = "iVBORw0KGgo="
"""Where an image is wanted; nobody here looks at it."""
IMAGE = ImagePart(media_type="image/png", data_base64=PIXEL)
SCHEMA = {"type": "object", "properties": {"amount": {"type": "integer"}}, "required": ["amount"]}
TOOL = ToolSchema(name="pay", description="Pay.", parameters=SCHEMA)
OTHER_TOOL = ToolSchema(name="look", description="Look.", parameters={"type": "object", "properties": {}})

FIRST = CallView(id="c1", name="pay", arguments='{"amount": 1}')
SECOND = CallView(id="c2", name="look", arguments="{}")


def conversation(thinking: ThinkingPart, *, signature: str | None = None) -> list[Any]:
    """Return an image and a question, two calls after thinking, an image as a result, an error, and two inputs in a row.

    Args:
        thinking: What the first reply thought; its provider and model made the whole reply.
        signature: What stands on the reply's first call.
    """
    first = CallView(id=FIRST.id, name=FIRST.name, arguments=FIRST.arguments, signature=signature)
    calling = AssistantMessage(
        text="Paying.",
        calls=[first, SECOND],
        thinking=[thinking],
        pieces=[thinking, TextPart(text="Paying."), first, SECOND],
        provider=thinking.provider,
        model=thinking.model,
    )
    return [
        UserMessage(text="What is this?", images=[IMAGE]),
        calling,
        ToolMessage(call_id="c1", name="pay", text="no money é\u2028", error=True),
        ToolMessage(call_id="c2", name="look", text="seen", images=[IMAGE]),
        AssistantMessage(text="Done.", pieces=[TextPart(text="Done.")], provider="other", model="other"),
        UserMessage(text="first input"),
        UserMessage(text="second input"),
    ]


def body_of(renderer: Any, model: str, view: list[Any], *, system: str = "Be brief.", **parameters: Any) -> bytes:
    """Return a whole request body."""
    opened = renderer.head(model, system, [TOOL, OTHER_TOOL], parameters)
    return opened + b",".join(renderer.fragments(view, newest=True)) + renderer.TAIL


def send(
    url: str, headers: dict[str, str], body: bytes, *, api: str, model: str, deltas: list[Any] | None = None
) -> Any:
    """Send one request through the real transport and return its report."""
    clock = FakeClock()
    request = Request(
        url=url,
        headers=headers,
        body=body,
        provider="scripted",
        api=api,
        model=model,
        deadline_ms=clock.now_ms() + 30_000,
    )
    heard = [] if deltas is None else deltas

    async def run() -> Any:
        wire = HttpProvider(clock, DECODERS)
        report = await wire.send(request, lambda kind, text: heard.append((kind, text)))
        await wire.close()
        return report

    return asyncio.run(run())
