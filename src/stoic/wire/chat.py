"""Chat Completions requests: the bytes of a request, built so that the next one begins with them.

`head(...) + b",".join(fragments) + TAIL` is the body: `messages` is the last key, keys have a fixed order, nothing is
spaced, so a request is byte for byte the previous one without its last two bytes, plus what is new.
https://platform.openai.com/docs/api-reference/chat/create
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from stoic.errors import UsageError
from stoic.records import AssistantMessage, CallView, Json, Message, ToolMessage, ToolSchema
from stoic.wire.text import is_json_object, mend_json

API = "chat"
"""The name of this API in requests and reports."""

TAIL = b"]}"
"""What closes a request after its last message."""

_RESERVED = {"model", "messages", "tools", "stream", "stream_options", "n"}
_EMPTY_TEXT = "(empty)"
_LETTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_encoder = msgspec.json.Encoder()


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
    taken = sorted(_RESERVED & parameters.keys())
    if taken:
        raise UsageError(f"request parameter {taken[0]!r} is set by the runtime itself; remove it from the parameters")
    body: dict[str, Json] = {"model": model}
    body |= {name: parameters[name] for name in sorted(parameters)}
    body |= {"stream": True, "stream_options": {"include_usage": True}}
    if tools:
        body["tools"] = [_tool(tool) for tool in tools]
    body["messages"] = []
    opened = _encode(body)[: -len(TAIL)]
    return opened + _encode({"role": "system", "content": system}) + b"," if system.strip() else opened


def fragment(message: Message, call_id: Callable[[str], str] | None = None) -> bytes:
    """Render one message.

    Empty text, which servers refuse, becomes a fixed word. Arguments that are no JSON object become an object that
    quotes them under `unreadable_arguments`; no text at all becomes `{}`. Thinking is not part of this API.

    Args:
        message: What the model is to see.
        call_id: Maps call ids for a provider with rules of its own, such as `nine_characters`; default: unchanged.
    """
    rename = call_id or str
    if isinstance(message, AssistantMessage):
        return _encode(_assistant(message, rename))
    text = message.text if message.text.strip() else _EMPTY_TEXT
    if isinstance(message, ToolMessage):
        return _encode({"role": "tool", "tool_call_id": rename(message.call_id), "content": text})
    return _encode({"role": "user", "content": text})


def render(head_bytes: bytes, fragments: Iterable[bytes]) -> bytes:
    """Put a whole request body together."""
    return head_bytes + b",".join(fragments) + TAIL


def nine_characters(call_id: str) -> str:
    """Return a call id of nine letters and digits, the only form Mistral takes; equal ids give equal results."""
    number = int.from_bytes(hashlib.sha256(call_id.encode()).digest()[:8])
    letters: list[str] = []
    for _ in range(9):
        number, letter = divmod(number, len(_LETTERS))
        letters.append(_LETTERS[letter])
    return "".join(letters)


def _tool(tool: ToolSchema) -> dict[str, Json]:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", "function": function}


def _assistant(message: AssistantMessage, rename: Callable[[str], str]) -> dict[str, Json]:
    # With calls and no text the content is null: OpenAI's own replies look so, and some servers demand the key.
    text = message.text if message.text.strip() else None
    if not message.calls:
        return {"role": "assistant", "content": text or _EMPTY_TEXT}
    return {"role": "assistant", "content": text, "tool_calls": [_call(call, rename) for call in message.calls]}


def _call(call: CallView, rename: Callable[[str], str]) -> dict[str, Json]:
    arguments = call.arguments
    if not arguments.strip():
        arguments = "{}"
    elif not is_json_object(arguments):
        arguments = _encode({"unreadable_arguments": arguments}).decode()
    return {"id": rename(call.id), "type": "function", "function": {"name": call.name, "arguments": arguments}}


def _encode(value: Json) -> bytes:
    try:
        return _encoder.encode(value)
    except UnicodeEncodeError:
        # Single surrogates come from file names and foreign JSON; UTF-8 cannot hold them.
        return _encoder.encode(mend_json(value))
