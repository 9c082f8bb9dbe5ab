"""Chat Completions, whole or streamed: OpenAI, Azure and every compatible server."""

from stoic.core.classify.fields import filtered_names, items, mapping, text, word
from stoic.core.classify.reading import Document, Reading, joined_arguments, usage_of
from stoic.core.classify.rules import REFUSED, refused

_NATIVE_REFUSALS = {
    "refusal": REFUSED,
    "safety": refused(where="completion"),
    "prohibited_content": refused("prohibited_content", where="completion"),
    "blocklist": refused("blocklist", where="completion"),
    "spii": refused("pii", where="completion"),
    "content_filter": refused(where="completion"),
    "content_filtered": refused(where="completion"),
    "guardrail_intervened": refused("guardrail", where="completion"),
    "sensitive": refused("sensitive", where="completion"),
}
"""What an aggregator's `native_finish_reason` says when its own `finish_reason` says only `stop`."""
_SENSITIVE = (("input_sensitive", "prompt"), ("output_sensitive", "completion"))
"""MiniMax's marks of a refusal, and which side each is about."""
_REASONING = ("reasoning_content", "reasoning", "thinking")
KEYS = frozenset({"choices"})
"""A document without any of these keys is not of this shape."""


def reads(data: dict[str, object]) -> bool:
    """Return whether a document is of this shape."""
    return "choices" in data


def read(documents: list[Document], reading: Reading) -> None:
    """Fill the reading from a body or from chunks."""
    for document in documents:
        if document.raw == "[DONE]":
            reading.done = True
        if "choices" in document.data:
            _read_document(document, reading)
    if not reading.stream:
        reading.ended = reading.known and not any(_is_unfinished(document.data) for document in documents)
    elif reading.finish is not None:
        reading.ended = True
    if reading.ended:
        reading.close_calls()


def _is_unfinished(data: dict[str, object]) -> bool:
    """Return whether a body says that its answer had not finished; sloppy servers leave the reason out instead."""
    first = mapping((items(data.get("choices")) or [None])[0])
    return "finish_reason" in first and first["finish_reason"] is None


def _read_document(document: Document, reading: Reading) -> None:
    data, path = document.data, document.path
    reading.known = True
    reading.note(data)
    if mapping(data.get("usage")):
        reading.usage = usage_of(data["usage"], ("prompt_tokens", "completion_tokens", "cached_tokens", ""))
    for name, where in _SENSITIVE:
        if name in data and data[name] is True:
            reading.add_hint(refused("sensitive", where=where), f"{path}.{name}", "true")
    for index, entry in enumerate(items(data.get("prompt_filter_results"))):
        _note_filters(
            mapping(entry).get("content_filter_results"), f"{path}.prompt_filter_results[{index}]", "prompt", reading
        )
    choices = items(data["choices"])
    if choices:
        _read_choice(mapping(choices[0]), f"{path}.choices[0]", reading)


def _read_choice(choice: dict[str, object], path: str, reading: Reading) -> None:
    for key in ("message", "delta"):
        message = mapping(choice.get(key))
        if message:
            _read_message(message, f"{path}.{key}", reading)
    if "text" in choice:
        reading.add_text(text(choice["text"]))
    if choice.get("finish_reason") is not None:
        reading.set_finish(choice["finish_reason"], f"{path}.finish_reason")
    if "content_filter_results" in choice:
        _note_filters(choice["content_filter_results"], f"{path}.content_filter_results", "completion", reading)
    native = word(choice.get("native_finish_reason")).lower()
    if native in _NATIVE_REFUSALS:
        value = word(choice["native_finish_reason"])
        reading.add_hint(_NATIVE_REFUSALS[native], f"{path}.native_finish_reason", value)


def _note_filters(results: object, path: str, where: str, reading: Reading) -> None:
    for name in filtered_names(results):
        reading.add_category(f"{path}.{name}", "blocklist" if name == "custom_blocklists" else name)
        reading.where = reading.where or where


def _read_message(message: dict[str, object], path: str, reading: Reading) -> None:
    content = message.get("content")
    if isinstance(content, str):
        reading.add_text(content)
    for block in items(content):
        reading.add_text(text(mapping(block).get("text")))
        reading.other_output |= mapping(block).get("type") in ("image_url", "output_audio")
    for key in _REASONING:
        if key in message and text(message[key]):
            reading.add_thinking(text(message[key]))
            break
    if message.get("audio") or message.get("images"):
        reading.other_output = True
    if text(message.get("refusal")):
        reading.add_hint(refused(where="completion"), f"{path}.refusal", "")
    calls = items(message.get("tool_calls"))
    if mapping(message.get("function_call")):
        calls = [{"function": message["function_call"]}, *calls]
    for position, entry in enumerate(calls):
        call = mapping(entry)
        key = word(call.get("index")) or str(position)
        function = mapping(call.get("function"))
        reading.add_call(
            key,
            name=text(function.get("name")),
            arguments=joined_arguments(function.get("arguments")),
            provider_id=text(call.get("id")),
        )
