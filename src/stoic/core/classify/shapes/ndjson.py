"""Ollama's own API: one object, or one a line."""

from stoic.core.classify.fields import items, mapping, text
from stoic.core.classify.reading import Document, Reading, joined_arguments, usage_of

KEYS = frozenset({"done"})
"""A document without any of these keys is not of this shape."""


def reads(data: dict[str, object]) -> bool:
    """Return whether a document is of this shape."""
    return isinstance(data.get("done"), bool)


def read(documents: list[Document], reading: Reading) -> None:
    """Fill the reading from a body or from lines."""
    for document in documents:
        if reads(document.data):
            _read_document(document, reading)
    if reading.ended:
        reading.close_calls()


def _read_document(document: Document, reading: Reading) -> None:
    data = document.data
    reading.known = True
    reading.note(data)
    message = mapping(data.get("message"))
    reading.add_text(text(message.get("content")) or text(data.get("response")))
    if text(message.get("thinking")):
        reading.add_thinking(text(message["thinking"]))
    for entry in items(message.get("tool_calls")):
        function = mapping(mapping(entry).get("function"))
        key = f"{document.path}.{len(reading.read)}"
        reading.add_call(key, name=text(function.get("name")), arguments=joined_arguments(function.get("arguments")))
    if data["done"] is True:
        reading.ended = True
        reading.usage = usage_of(data, ("prompt_eval_count", "eval_count", "", ""))
        reading.set_finish(data.get("done_reason") or "stop", f"{document.path}.done_reason")
