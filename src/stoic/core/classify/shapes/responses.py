"""The OpenAI Responses API, whole or streamed."""

from stoic.core.classify.fields import items, mapping, text
from stoic.core.classify.reading import Document, Reading, usage_of
from stoic.core.classify.rules import refused

KEYS = frozenset({"type", "object"})
"""A document without any of these keys is not of this shape."""
_ENDS = ("response.completed", "response.incomplete", "response.failed", "response.cancelled")


def reads(data: dict[str, object]) -> bool:
    """Return whether a document is of this shape."""
    kind = data.get("type")
    return data.get("object") == "response" or (isinstance(kind, str) and kind.startswith("response."))


def read(documents: list[Document], reading: Reading) -> None:
    """Fill the reading from a response object or from its events."""
    for document in documents:
        kind = text(document.data.get("type"))
        if document.data.get("object") == "response":
            _read_response(document.data, document.path, reading)
            reading.ended = True
        elif kind in _ENDS:
            _read_response(mapping(document.data.get("response")), f"{document.path}.response", reading)
            reading.set_finish(reading.finish or kind.removeprefix("response."), f"{document.path}.type")
            reading.ended = True
        elif kind.startswith("response."):
            reading.known = True
            _read_event(kind, document, reading)
    if reading.ended and reading.finish == "completed":
        reading.close_calls()


def _read_event(kind: str, document: Document, reading: Reading) -> None:
    data = document.data
    key = str(data.get("output_index") or data.get("item_id") or "0")
    if kind == "response.created":
        reading.note(mapping(data.get("response")))
    elif kind == "response.output_text.delta":
        reading.add_text(text(data.get("delta")))
    elif kind in ("response.reasoning_summary_text.delta", "response.reasoning_text.delta"):
        reading.add_thinking(text(data.get("delta")))
    elif kind in ("response.refusal.delta", "response.refusal.done"):
        _refusal(document.path, reading)
    elif kind == "response.function_call_arguments.delta":
        reading.add_call(key, arguments=text(data.get("delta")))
    elif kind == "response.output_item.added" and at_type(data) == "function_call":
        item = mapping(data["item"])
        reading.add_call(key, name=text(item.get("name")), provider_id=text(item.get("call_id")))
    elif kind == "response.output_item.done":
        _item_done(data, key, document.path, reading)


def at_type(data: dict[str, object]) -> str:
    """Return the type of the item an event is about."""
    return text(mapping(data.get("item")).get("type"))


def _item_done(data: dict[str, object], key: str, path: str, reading: Reading) -> None:
    item = mapping(data.get("item"))
    if item.get("type") == "function_call":
        name, arguments = text(item.get("name")), text(item.get("arguments"))
        reading.replace_call(key, name=name, arguments=arguments, provider_id=text(item.get("call_id")))
    elif item.get("type") not in ("message", "reasoning"):
        _read_item(item, f"{path}.item", reading)


def _read_response(response: dict[str, object], path: str, reading: Reading) -> None:
    reading.known = True
    reading.note(response)
    if mapping(response.get("usage")):
        reading.usage = usage_of(response["usage"], ("input_tokens", "output_tokens", "cached_tokens", ""))
    output = items(response.get("output"))
    if output:  # the whole output repeats what the deltas said
        reading.begin_anew()
    for index, item in enumerate(output):
        _read_item(mapping(item), f"{path}.output[{index}]", reading)
    reading.set_finish(response.get("status"), f"{path}.status")
    reason = mapping(response.get("incomplete_details")).get("reason")
    reading.set_finish(reason, f"{path}.incomplete_details.reason")


def _read_item(item: dict[str, object], path: str, reading: Reading) -> None:
    kind = text(item.get("type"))
    if kind == "message":
        for index, block in enumerate(items(item.get("content"))):
            reading.add_text(text(mapping(block).get("text")))
            if mapping(block).get("type") == "refusal":
                _refusal(f"{path}.content[{index}]", reading)
    elif kind == "function_call":
        key = f"{path}.call"
        reading.add_call(
            key,
            name=text(item.get("name")),
            arguments=text(item.get("arguments")),
            provider_id=text(item.get("call_id")),
        )
    elif kind == "reasoning":
        reading.add_thinking("".join(text(mapping(one).get("text")) for one in items(item.get("summary"))))
    elif kind:
        reading.other_output = True
        _pending_checks(item, path, reading)


def _pending_checks(item: dict[str, object], path: str, reading: Reading) -> None:
    """A computer call with pending safety checks waits for a person's acknowledgement."""
    for index, check in enumerate(items(item.get("pending_safety_checks"))[:1]):
        code = text(mapping(check).get("code"))
        mark = refused(code.lower() or None, where="completion", scope="agent_action")
        reading.add_hint(mark, f"{path}.pending_safety_checks[{index}].code", code)


def _refusal(path: str, reading: Reading) -> None:
    reading.add_hint(refused(where="completion"), f"{path}.refusal", "")
