"""OpenAI Responses requests: the bytes of a request, built so that the next one begins with them.

`input` is the last key and holds one item for each text, call, result and reasoning; nothing is kept at the provider
(`store: false`), so reasoning travels encrypted and is given back to the model that made it
(https://platform.openai.com/docs/api-reference/responses/create, https://platform.openai.com/docs/guides/reasoning).
"""

import re
from collections.abc import Mapping, Sequence

from stoic.records import (
    AssistantMessage,
    CallView,
    ImagePart,
    Json,
    Message,
    Record,
    TextPart,
    ThinkingPart,
    ToolMessage,
    ToolSchema,
    UserMessage,
)
from stoic.wire.rendering import EMPTY_TEXT, encode, pieces_of, readable_arguments, safe_name, shown, sorted_parameters

API = "responses"
"""The name of this API in requests and reports."""

TAIL = b"]}"
"""What closes a request after its last item."""

_RESERVED = {"model", "input", "instructions", "tools", "stream", "store", "previous_response_id", "conversation"}
_REASONS = re.compile(r"(?:^|/)(?:o\d|codex|gpt-(?:[5-9]|\d\d)(?!.*-chat))")
"""Names of models that give their reasoning encrypted; others answer 400 `Encrypted content is not supported with this model`
(https://github.com/pydantic/pydantic-ai/issues/2865, /3326)."""


def endpoint(base_url: str) -> str:
    """Return the URL requests go to.

    Args:
        base_url: Such as `https://api.openai.com/v1`, with or without a slash at its end, or the full URL itself.
    """
    url = base_url.rstrip("/")
    return url if url.endswith("/responses") else url + "/responses"


def auth_headers(key: str | None) -> dict[str, str]:
    """Return the headers that carry the credential; none for a server without keys."""
    return {"authorization": f"Bearer {key}"} if key else {}


def head(model: str, system: str, tools: Sequence[ToolSchema], parameters: Mapping[str, Json]) -> bytes:
    """Render everything before the first item.

    Args:
        model: The model's name as this provider knows it. A reasoning model is asked for its encrypted reasoning.
        system: The system prompt; empty: none.
        tools: In the order given; a schema's own key order is kept, since models read it.
        parameters: Further top-level keys, such as `reasoning` or `max_output_tokens`; rendered sorted. An `include` given here
            replaces the default one.

    Raises:
        UsageError: A parameter is one the runtime itself sets.
    """
    default: dict[str, Json] = {"include": ["reasoning.encrypted_content"]} if _REASONS.search(model) else {}
    body: dict[str, Json] = {"model": model, **sorted_parameters({**default, **parameters}, _RESERVED)}
    body |= {"stream": True, "store": False}
    if system.strip():
        body["instructions"] = system
    if tools:
        body["tools"] = [_tool(tool) for tool in tools]
    return encode({**body, "input": []})[: -len(TAIL)]


class ResponsesRenderer(Record, frozen=True):
    """The `Renderer` of one provider and model; reasoning that somebody else made is left out."""

    provider: str
    model: str

    @property
    def TAIL(self) -> bytes:  # noqa: N802 -- the port's name
        """What closes a request after its last item."""
        return TAIL

    def head(self, model: str, system: str, tools: Sequence[ToolSchema], parameters: Mapping[str, Json]) -> bytes:
        """Render everything before the first item; see `responses.head`."""
        return head(model, system, tools, parameters)

    def fragments(
        self,
        messages: Sequence[Message],
        *,
        newest: bool = False,  # noqa: ARG002 -- the port's; caching needs no marks here
    ) -> list[bytes]:
        """Render the items of messages; `newest` has no effect."""
        return [encode(item) for message in messages for item in self._items(message)]

    def _items(self, message: Message) -> list[Json]:
        if isinstance(message, AssistantMessage):
            return self._reply(message)
        if isinstance(message, ToolMessage):
            output = _content(message) if message.images else shown(message.text)
            return [{"type": "function_call_output", "call_id": message.call_id, "output": output}]
        return [{"type": "message", "role": "user", "content": _content(message)}]

    def _reply(self, message: AssistantMessage) -> list[Json]:
        own = (self.provider, self.model)
        items: list[dict[str, Json]] = []
        for piece in pieces_of(message):
            if isinstance(piece, CallView):
                items.append(_call(piece))
            elif isinstance(piece, TextPart):
                items += _text(piece, own=(message.provider, message.model) == own)
            elif (piece.provider, piece.model) == own and piece.id is not None:
                _add_reasoning(items, piece)
        # Reasoning that nothing follows is refused: it belongs to the item after it.
        while items and items[-1]["type"] == "reasoning":
            items.pop()
        return [*items] or [*_text(TextPart(text=EMPTY_TEXT), own=False)]


def _text(part: TextPart, *, own: bool) -> list[dict[str, Json]]:
    if not part.text.strip():
        return []
    phase = {"phase": part.phase} if own and part.phase else {}
    content = [{"type": "output_text", "text": part.text}]
    return [{"type": "message", "role": "assistant", "content": content, **phase}]


def _call(call: CallView) -> dict[str, Json]:
    arguments = readable_arguments(call.arguments)
    return {"type": "function_call", "call_id": call.id, "name": safe_name(call.name), "arguments": arguments}


def _add_reasoning(items: list[dict[str, Json]], part: ThinkingPart) -> None:
    """Add a reasoning item, or the next part of the summary to the item it belongs to."""
    summary: list[Json] = [{"type": "summary_text", "text": part.text}] if part.text else []
    if items and items[-1].get("id") == part.id:
        items[-1]["summary"] += summary
        return
    sealed = {} if part.signature is None else {"encrypted_content": part.signature}
    items.append({"type": "reasoning", "id": part.id, "summary": summary, **sealed})


def _tool(tool: ToolSchema) -> dict[str, Json]:
    # Strict mode, the default here, takes only a subset of JSON schema.
    schema = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", **schema, "strict": False}


def _content(message: UserMessage | ToolMessage) -> list[Json]:
    if not message.images:
        return [{"type": "input_text", "text": shown(message.text)}]
    text: list[Json] = [{"type": "input_text", "text": message.text}] if message.text.strip() else []
    return [*map(_image, message.images), *text]


def _image(image: ImagePart) -> Json:
    # PNG, JPEG, WebP and non-animated GIF: https://platform.openai.com/docs/guides/images-vision (50 MB, 500 images a request).
    url = f"data:{image.media_type};base64,{image.data_base64}"
    return {"type": "input_image", "image_url": url, "detail": "auto"}
