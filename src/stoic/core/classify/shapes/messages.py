"""The Anthropic Messages API, whole or streamed."""

from stoic.core.classify.fields import at, items, mapping, text, word
from stoic.core.classify.reading import Document, Reading, joined_arguments, usage_of
from stoic.core.classify.rules import refused

_EVENTS = frozenset(
    {
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    }
)
KEYS = frozenset({"type"})
"""A document without any of these keys is not of this shape."""
_USAGE = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")


def reads(data: dict[str, object]) -> bool:
    """Return whether a document is of this shape."""
    kind = data.get("type")
    if not isinstance(kind, str):
        return False
    return kind in _EVENTS or (kind == "message" and isinstance(data.get("content"), list))


def read(documents: list[Document], reading: Reading) -> None:
    """Fill the reading from a message or from its events."""
    for document in documents:
        kind = text(document.data.get("type"))
        if kind == "message":
            _read_message(document.data, document.path, reading)
            # Whole, the reason is never null: https://docs.anthropic.com/en/api/messages
            reading.ended = reading.finish is not None or "stop_reason" not in document.data
        elif kind in _EVENTS:
            reading.known = True
            _read_event(kind, document, reading)
    if reading.ended:
        reading.close_calls()


def _read_event(kind: str, document: Document, reading: Reading) -> None:
    data, path = document.data, document.path
    key = word(data.get("index")) or "0"
    if kind == "message_start":
        _read_message(mapping(data.get("message")), f"{path}.message", reading)
    elif kind == "content_block_start":
        block: dict[str, object] = mapping(data.get("content_block"))
        if block.get("input") == {}:  # a placeholder: the arguments follow as deltas
            block = {**block, "input": None}
        _read_block(block, key, f"{path}.content_block", reading)
    elif kind == "content_block_delta":
        _read_delta(mapping(data.get("delta")), key, reading)
    elif kind == "content_block_stop":
        if key in reading.calls:
            reading.close_call(key)
    elif kind == "message_delta":
        _read_end(mapping(data.get("delta")), f"{path}.delta", reading)
        output = mapping(data.get("usage"))
        if output and reading.assembled is None:
            reading.usage = usage_of({**_as_dict(reading), **output}, _USAGE)
    else:
        reading.ended = True


def _as_dict(reading: Reading) -> dict[str, int]:
    usage = reading.usage
    counts = (usage.input_tokens, usage.output_tokens, usage.cache_read_tokens, usage.cache_write_tokens)
    return dict(zip(_USAGE, counts, strict=True))


def _read_message(message: dict[str, object], path: str, reading: Reading) -> None:
    reading.known = True
    reading.note(message)
    if reading.assembled is None:
        reading.usage = usage_of(message.get("usage"), _USAGE)
    for index, block in enumerate(items(message.get("content"))):
        _read_block(mapping(block), str(index), f"{path}.content[{index}]", reading)
    _read_end(message, path, reading)


def _read_block(block: dict[str, object], key: str, path: str, reading: Reading) -> None:
    kind = text(block.get("type"))
    if kind == "text":
        reading.add_text(text(block.get("text")))
    elif kind in ("thinking", "redacted_thinking"):
        reading.add_thinking(text(block.get("thinking")))
    elif kind == "tool_use":
        reading.add_call(
            key,
            name=text(block.get("name")),
            arguments=joined_arguments(block.get("input")),
            provider_id=text(block.get("id")),
        )
    elif kind == "fallback":
        _read_fallback(block, path, reading)
    elif kind:
        reading.other_output = True


def _read_fallback(block: dict[str, object], path: str, reading: Reading) -> None:
    """The provider switched models inside the answer; after a refusal that is the first model's verdict."""
    if at(block, "trigger", "type") == "refusal":
        category = text(at(block, "trigger", "category")).lower() or None
        mark = refused(category, where="prompt", scope="model")
        reading.add_hint(mark, f"{path}.trigger.type", "refusal")


def _read_delta(delta: dict[str, object], key: str, reading: Reading) -> None:
    kind = delta.get("type")
    if kind == "text_delta":
        reading.add_text(text(delta.get("text")))
    elif kind == "thinking_delta":
        reading.add_thinking(text(delta.get("thinking")))
    elif kind == "input_json_delta" and key in reading.calls:
        reading.add_call(key, arguments=text(delta.get("partial_json")))


def _read_end(data: dict[str, object], path: str, reading: Reading) -> None:
    reading.set_finish(data.get("stop_reason"), f"{path}.stop_reason")
    category = text(at(data, "stop_details", "category")).lower()
    if category:
        reading.add_category(f"{path}.stop_details.category", category)
