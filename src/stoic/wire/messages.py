"""Anthropic Messages requests: the bytes of a request, built so that the next one begins with them.

`messages` is the last key, keys have a fixed order, and everything between two replies becomes one user message, so that
roles alternate and all results of a reply stand in the message after it, as the API wants it
(https://docs.claude.com/en/api/messages, https://docs.claude.com/en/docs/agents-and-tools/tool-use/implement-tool-use).
A request is byte for byte the last accepted one without its tail, plus what is new, apart from cache breakpoints: these
move to the newest message, and `without_markers` takes them out.
"""

from collections.abc import Mapping, Sequence

from stoic.records import (
    AssistantMessage,
    CallView,
    ImagePart,
    Json,
    Message,
    Piece,
    Record,
    TextPart,
    ThinkingPart,
    ToolMessage,
    ToolSchema,
    UserMessage,
)
from stoic.wire.rendering import (
    EMPTY_TEXT,
    NEUTRAL_TEXT,
    Group,
    arguments_object,
    encode,
    groups,
    pieces_of,
    safe_name,
    shown,
    sorted_parameters,
)

API = "messages"
"""The name of this API in requests and reports."""

TAIL = b"]}"
"""What closes a request after its last message."""

MARKER = b', "cache_control":{"type":"ephemeral"}'
"""A cache breakpoint at the end of a block. Its space is what nothing else in a body has: all other JSON is compact, and inside
a text the quotes would be escaped. So a body without these bytes is the body without its breakpoints, whatever it says."""

DEFAULT_MAX_TOKENS = 8192
"""`max_tokens`, which this API demands, for a model of no known family."""

_MAX_TOKENS = (
    ("claude-3-7-sonnet", 64_000),
    ("claude-3-5", 8192),
    ("claude-3-", 4096),
    ("claude-opus-4-0", 32_000),
    ("claude-opus-4-1", 32_000),
    ("claude-opus-4-2025", 32_000),
    ("claude-opus-4@2025", 32_000),
    ("claude-opus-4-5", 64_000),
    ("claude-opus-4", 128_000),
    ("claude-sonnet-4-6", 128_000),
    ("claude-sonnet-4", 64_000),
    ("claude-haiku-4", 64_000),
    ("claude-opus-5", 128_000),
    ("claude-sonnet-5", 128_000),
    ("claude-haiku-5", 128_000),
    ("claude-fable-5", 128_000),
    ("claude-mythos-5", 128_000),
)
"""Largest output of each family, the more special name first: https://platform.claude.com/docs/en/about-claude/models/overview.
A request is always streamed, so a large one costs nothing that is not said."""

_VERSION = "2023-06-01"
_RESERVED = {"model", "messages", "system", "tools", "stream"}
_LOOKBACK_BLOCKS = 20
"""So many blocks, the marked one included, are searched for an earlier breakpoint:
https://docs.claude.com/en/docs/build-with-claude/prompt-caching."""
_MARKS = 3
"""Breakpoints on messages; the fourth of the four allowed stands on the system prompt or the tools."""


def endpoint(base_url: str) -> str:
    """Return the URL requests go to.

    Args:
        base_url: With or without `/v1` at its end, such as `https://api.anthropic.com`, or the full URL itself.
    """
    url = base_url.rstrip("/")
    if url.endswith("/messages"):
        return url
    return url + ("/messages" if url.endswith("/v1") else "/v1/messages")


def auth_headers(key: str | None) -> dict[str, str]:
    """Return the headers that carry the credential, if any, and the API's version."""
    return {"anthropic-version": _VERSION} | ({"x-api-key": key} if key else {})


def default_max_tokens(model: str) -> int:
    """Return the `max_tokens` of a request that names none, by the model's family; 8192 for an unknown one."""
    return next((tokens for family, tokens in _MAX_TOKENS if family in model), DEFAULT_MAX_TOKENS)


def head(model: str, system: str, tools: Sequence[ToolSchema], parameters: Mapping[str, Json]) -> bytes:
    """Render everything before the first message; tools and system prompt end with a cache breakpoint.

    Args:
        model: The model's name as this provider knows it.
        system: The system prompt; empty: none.
        tools: In the order given; a schema's own key order is kept, since models read it.
        parameters: Further top-level keys, such as `thinking`; rendered sorted. `max_tokens` has a default.

    Raises:
        UsageError: A parameter is one the runtime itself sets.
    """
    chosen = {"max_tokens": default_max_tokens(model), **parameters}
    opened = encode({"model": model, **sorted_parameters(chosen, _RESERVED), "stream": True})[:-1]
    prompt = encode({"type": "text", "text": system}) if system.strip() else None
    if tools:
        rendered = [encode(_tool(tool)) for tool in tools]
        # The system prompt comes after the tools in what is cached, so its breakpoint covers both.
        rendered[-1] = rendered[-1] if prompt else _marked(rendered[-1])
        opened += b',"tools":[' + b",".join(rendered) + b"]"
    if prompt:
        opened += b',"system":[' + _marked(prompt) + b"]"
    return opened + b',"messages":['


def without_markers(body: bytes) -> bytes:
    """Return a request of this wire without its cache breakpoints: this is what extends the last accepted request."""
    return body.replace(MARKER, b"")


class MessagesRenderer(Record, frozen=True):
    """The `Renderer` of one provider and model; thinking that somebody else made is left out."""

    provider: str
    model: str

    @property
    def TAIL(self) -> bytes:  # noqa: N802 -- the port's name
        """What closes a request after its last message."""
        return TAIL

    def head(self, model: str, system: str, tools: Sequence[ToolSchema], parameters: Mapping[str, Json]) -> bytes:
        """Render everything before the first message; see `messages.head`."""
        return head(model, system, tools, parameters)

    def fragments(self, messages: Sequence[Message], *, newest: bool = False) -> list[bytes]:
        """Render each reply as an assistant message and what follows it as one user message.

        Where nothing follows, a fixed neutral user message does: between two replies, and before one that opens the log.

        Args:
            messages: As in the port.
            newest: Whether the last user message carries cache breakpoints.
        """
        grouped = groups(messages)
        found: list[bytes] = []
        for position, group in enumerate(grouped, 1):
            found += self._group(group, marked=newest and position == len(grouped))
        return found

    def _group(self, group: Group, *, marked: bool) -> list[bytes]:
        reply = self._reply_blocks(group.reply) if group.reply else []
        blocks = [encode(_result(result)) for result in group.results]
        blocks += [block for message in group.inputs for block in _input_blocks(message)]
        blocks = blocks or [encode({"type": "text", "text": NEUTRAL_TEXT})]
        if marked:
            for position in _marked_positions(len(reply), len(blocks)):
                blocks[position] = _marked(blocks[position])
        return [*([_message(b"assistant", reply)] if reply else []), _message(b"user", blocks)]

    def _reply_blocks(self, message: AssistantMessage) -> list[bytes]:
        blocks = [encode(block) for piece in pieces_of(message) for block in self._piece(piece)]
        if not message.text.strip() and not message.calls:
            blocks.append(encode({"type": "text", "text": EMPTY_TEXT}))
        return blocks

    def _piece(self, piece: Piece) -> list[Json]:
        if isinstance(piece, TextPart):
            return [{"type": "text", "text": piece.text}] if piece.text.strip() else []
        if isinstance(piece, CallView):
            return [
                {
                    "type": "tool_use",
                    "id": piece.id,
                    "name": safe_name(piece.name),
                    "input": arguments_object(piece.arguments),
                }
            ]
        return [_thinking(piece)] if (piece.provider, piece.model) == (self.provider, self.model) else []


def _thinking(part: ThinkingPart) -> Json:
    if part.redacted is not None:
        return {"type": "redacted_thinking", "data": part.redacted}
    signed = {} if part.signature is None else {"signature": part.signature}
    return {"type": "thinking", "thinking": part.text, **signed}


def _tool(tool: ToolSchema) -> dict[str, Json]:
    return {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}


def _result(message: ToolMessage) -> dict[str, Json]:
    content: Json = shown(message.text)
    if message.images:
        content = _content(message)
    failed = {"is_error": True} if message.error else {}
    return {"type": "tool_result", "tool_use_id": message.call_id, "content": content, **failed}


def _input_blocks(message: UserMessage) -> list[bytes]:
    return [encode(block) for block in _content(message)]


def _content(message: UserMessage | ToolMessage) -> list[Json]:
    text = message.text if message.images and not message.text.strip() else shown(message.text)
    return [*map(_image, message.images), *([{"type": "text", "text": text}] if text.strip() else [])]


def _image(image: ImagePart) -> Json:
    # PNG, JPEG, GIF and WebP, at most 5 MB and 8000 pixels a side, 100 images a request:
    # https://docs.claude.com/en/docs/build-with-claude/vision
    source = {"type": "base64", "media_type": image.media_type, "data": image.data_base64}
    return {"type": "image", "source": source}


def _message(role: bytes, blocks: list[bytes]) -> bytes:
    return b'{"role":"' + role + b'","content":[' + b",".join(blocks) + b"]}"


def _marked(block: bytes) -> bytes:
    return block[:-1] + MARKER + b"}"


def _marked_positions(reply_blocks: int, user_blocks: int) -> list[int]:
    """Return which blocks of the newest user message carry a breakpoint.

    The last one always does. Where a group is longer than what the server searches back, earlier ones do too, so that the
    search from them still meets the end of the request before.
    """
    steps = ((_LOOKBACK_BLOCKS - 1) * step - 1 - reply_blocks for step in range(1, _MARKS))
    return sorted({user_blocks - 1, *(position for position in steps if 0 <= position < user_blocks)})
