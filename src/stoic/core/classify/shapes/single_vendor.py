"""Reply shapes that one vendor alone uses: Cohere's two, Baidu's first, DashScope's native one, TGI's, Titan's."""

from stoic.core.classify.fields import at, items, mapping, text
from stoic.core.classify.reading import Document, Reading, joined_arguments, usage_of
from stoic.core.classify.rules import refused
from stoic.core.classify.shapes import chat

KEYS = frozenset({"event_type", "type", "finish_reason", "result", "output", "generated_text", "results"})
"""A document without any of these keys is not of this shape."""
_STREAM_ENDS = ("stream-end", "message-end")


def reads(data: dict[str, object]) -> bool:
    """Return whether a document is of one of these shapes."""
    return (
        data.get("event_type") in ("text-generation", "stream-start", "stream-end", "tool-calls-generation")
        or text(data.get("type")) in ("content-delta", "message-end", "message-start", "tool-call-delta")
        or ("finish_reason" in data and ("text" in data or "message" in data))
        or ("result" in data and ("finish_reason" in data or "need_clear_history" in data or "is_end" in data))
        or isinstance(at(data, "output", "choices"), list)
        or ("output" in data and "finish_reason" in mapping(data["output"]))
        or "generated_text" in data
        or "completionReason" in mapping((items(data.get("results")) or [None])[0])
    )


def read(documents: list[Document], reading: Reading) -> None:
    """Fill the reading from a body or from events."""
    for document in documents:
        if reads(document.data):
            reading.known = True
            _read_document(document.data, document.path, reading)
    if not reading.stream:
        reading.ended = reading.known
    if reading.ended:
        reading.close_calls()


def _read_document(data: dict[str, object], path: str, reading: Reading) -> None:
    output = mapping(data.get("output"))
    if items(output.get("choices")):
        chat.read([Document(path=f"{path}.output", data=output)], reading)
        return
    kind = text(data.get("event_type")) or text(data.get("type"))
    if data.get("need_clear_history") is True:  # Baidu: the conversation itself was found unsafe
        mark = refused("sensitive", where="prompt")
        reading.add_hint(mark, f"{path}.need_clear_history", "true")
    for result in map(mapping, items(data.get("results"))[:1]):  # Amazon Titan
        reading.add_text(text(result.get("outputText")))
        reading.set_finish(result.get("completionReason"), f"{path}.results[0].completionReason")
    for piece in (data.get("text"), data.get("result"), data.get("generated_text"), output.get("text")):
        reading.add_text(text(piece))
    reading.add_text(text(at(data, "delta", "message", "content", "text")))
    _read_message(mapping(data.get("message")), path, reading)
    for holder, where in ((output, f"{path}.output"), (data, path), (mapping(data.get("delta")), f"{path}.delta")):
        reading.set_finish(holder.get("finish_reason"), f"{where}.finish_reason")
    reading.usage = usage_of(data.get("usage"), ("input_tokens", "output_tokens", "", ""))
    if kind in _STREAM_ENDS or data.get("is_end") is True or (output and reading.finish):
        reading.ended = True


def _read_message(message: dict[str, object], path: str, reading: Reading) -> None:
    for block in items(message.get("content")):
        if mapping(block).get("type") == "thinking":
            reading.add_thinking(text(mapping(block).get("thinking")))
        else:
            reading.add_text(text(mapping(block).get("text")))
    for index, entry in enumerate(items(message.get("tool_calls"))):
        function = mapping(mapping(entry).get("function"))
        name, arguments = text(function.get("name")), joined_arguments(function.get("arguments"))
        reading.add_call(f"{path}.{index}", name=name, arguments=arguments, provider_id=text(mapping(entry).get("id")))
