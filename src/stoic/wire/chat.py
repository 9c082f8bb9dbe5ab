"""Chat Completions requests: the bytes of a request, built so that the next one begins with them.

`head(...) + b",".join(fragments) + TAIL` is the body: `messages` is the last key, keys have a fixed order, nothing is
spaced, so a request is byte for byte the previous one without its last two bytes, plus what is new.
https://platform.openai.com/docs/api-reference/chat/create
"""

from collections.abc import Mapping, Sequence

from stoic.records import AssistantMessage, CallView, ImagePart, Json, Message, ToolMessage, ToolSchema, UserMessage
from stoic.wire.rendering import (
    EMPTY_TEXT,
    encode,
    groups,
    readable_arguments,
    safe_name,
    shown,
    sorted_parameters,
)

API = "chat"
"""The name of this API in requests and reports."""

TAIL = b"]}"
"""What closes a request after its last message."""

_RESERVED = {"model", "messages", "tools", "stream", "stream_options", "n"}


def endpoint(base_url: str) -> str:
    """Return the URL requests go to.

    Args:
        base_url: Such as `http://127.0.0.1:8399/v1`, with or without a slash at its end, or the full URL itself.
    """
    url = base_url.rstrip("/")
    return url if url.endswith("/chat/completions") else url + "/chat/completions"


def auth_headers(key: str | None) -> dict[str, str]:
    """Return the headers that carry the credential; none for a server without keys."""
    return {"authorization": f"Bearer {key}"} if key else {}


def head(model: str, system: str, tools: Sequence[ToolSchema], parameters: Mapping[str, Json]) -> bytes:
    """Render everything before the first message, the system message included.

    Args:
        model: The model's name as this provider knows it.
        system: The system prompt; empty: no system message.
        tools: In the order given; a schema's own key order is kept, since models read it.
        parameters: Further top-level keys, such as `temperature` or `max_tokens`; rendered sorted.

    Returns:
        Bytes ending with `"messages":[`, or with the system message and a comma: append fragments joined by commas,
        then `TAIL`. The first message must therefore exist.

    Raises:
        UsageError: A parameter is one the runtime itself sets.
    """
    body: dict[str, Json] = {"model": model, **sorted_parameters(parameters, _RESERVED)}
    body |= {"stream": True, "stream_options": {"include_usage": True}}
    if tools:
        body["tools"] = [_tool(tool) for tool in tools]
    body["messages"] = []
    opened = encode(body)[: -len(TAIL)]
    return opened + encode({"role": "system", "content": system}) + b"," if system.strip() else opened


def fragments(
    messages: Sequence[Message],
    *,
    newest: bool = False,  # noqa: ARG001 -- the port's; caching needs no marks here
) -> list[bytes]:
    """Render messages, one fragment each, and the images of tool results.

    Tool messages take text only (https://platform.openai.com/docs/api-reference/chat/create), so the images of results
    follow in one user message right after the results of their reply, and each result says how many.

    Args:
        messages: What the model is to see.
        newest: Without effect.
    """
    found: list[bytes] = []
    for group in groups(messages):
        if group.reply:
            found.append(fragment(group.reply))
        found += map(fragment, group.results)
        if any(result.images for result in group.results):
            found.append(encode({"role": "user", "content": _images_of(group.results)}))
        found += map(fragment, group.inputs)
    return found


def fragment(message: Message) -> bytes:
    """Render one message.

    Empty text, which servers refuse, becomes a fixed word. Arguments that are no JSON object become an object that
    quotes them under `unreadable_arguments`; no text at all becomes `{}`. A called tool's name keeps only letters, digits,
    `_` and `-`. Thinking is not part of this API.
    """
    if isinstance(message, AssistantMessage):
        return encode(_assistant(message))
    if isinstance(message, ToolMessage):
        return encode({"role": "tool", "tool_call_id": message.call_id, "content": _result_text(message)})
    return encode({"role": "user", "content": _user_content(message)})


def _tool(tool: ToolSchema) -> dict[str, Json]:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", "function": function}


def _user_content(message: UserMessage) -> Json:
    if not message.images:
        return shown(message.text)
    text: list[Json] = [{"type": "text", "text": message.text}] if message.text.strip() else []
    return [*map(_image, message.images), *text]


def _image(image: ImagePart) -> Json:
    # Limits of OpenAI: https://platform.openai.com/docs/guides/images-vision (50 MB and 500 images a request).
    return {"type": "image_url", "image_url": {"url": f"data:{image.media_type};base64,{image.data_base64}"}}


def _result_text(message: ToolMessage) -> str:
    if not message.images:
        return shown(message.text)
    note = f"({len(message.images)} image(s) of this result follow in the next user message)"
    return f"{message.text}\n{note}" if message.text.strip() else note


def _images_of(results: Sequence[ToolMessage]) -> list[Json]:
    content: list[Json] = []
    for result in results:
        if result.images:
            content.append({"type": "text", "text": f"Images of the result of {result.name} ({result.call_id}):"})
            content += map(_image, result.images)
    return content


def _assistant(message: AssistantMessage) -> dict[str, Json]:
    # With calls and no text the content is null: OpenAI's own replies look so, and some servers demand the key.
    text = message.text if message.text.strip() else None
    if not message.calls:
        return {"role": "assistant", "content": text or EMPTY_TEXT}
    return {"role": "assistant", "content": text, "tool_calls": [_call(call) for call in message.calls]}


def _call(call: CallView) -> dict[str, Json]:
    function = {"name": safe_name(call.name), "arguments": readable_arguments(call.arguments)}
    return {"id": call.id, "type": "function", "function": function}
