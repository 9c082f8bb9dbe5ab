"""Amazon Bedrock's Converse, whole or streamed."""

from collections.abc import Iterator

from stoic.core.classify.fields import at, items, mapping, text, word
from stoic.core.classify.reading import Document, Reading, joined_arguments, usage_of
from stoic.core.classify.rules import refused

EVENTS = ("messageStart", "contentBlockStart", "contentBlockDelta", "contentBlockStop", "messageStop", "metadata")
KEYS = frozenset({*EVENTS, "stopReason"})
"""A document without any of these keys is not of this shape."""
_POLICIES = (
    ("contentPolicy", "filters", None),
    ("topicPolicy", "topics", "guardrail"),
    ("wordPolicy", "customWords", "blocklist"),
    ("wordPolicy", "managedWordLists", "blocklist"),
    ("sensitiveInformationPolicy", "piiEntities", "pii"),
    ("sensitiveInformationPolicy", "regexes", "pii"),
    ("contextualGroundingPolicy", "filters", "guardrail"),
)
"""(policy, list, category) of a guardrail's assessment; None: the entry's own type names the category."""


def reads(data: dict[str, object]) -> bool:
    """Return whether a document is of this shape."""
    return ("stopReason" in data and "output" in data) or any(key in data for key in EVENTS)


def read(documents: list[Document], reading: Reading) -> None:
    """Fill the reading from a body or from events, whose name may stand outside or inside the data."""
    for document in documents:
        data: dict[str, object] = {document.event: document.data} if document.event in EVENTS else document.data
        if "output" in data:
            _read_body(data, document.path, reading)
        elif any(key in data for key in EVENTS):
            reading.known = True
            _read_event(data, document.path, reading)
    if not reading.stream:
        reading.ended = reading.known
    if reading.ended:
        reading.close_calls()
    if (reading.finish or "").lower() == "guardrail_intervened":
        _note_guardrail(documents, reading)


def _read_body(data: dict[str, object], path: str, reading: Reading) -> None:
    reading.known = True
    for index, block in enumerate(items(at(data, "output", "message", "content"))):
        _read_block(mapping(block), str(index), reading)
    reading.usage = usage_of(data.get("usage"), ("inputTokens", "outputTokens", "cacheReadInputTokens", ""))
    reading.set_finish(data.get("stopReason"), f"{path}.stopReason")


def _read_block(block: dict[str, object], key: str, reading: Reading) -> None:
    call = mapping(block.get("toolUse"))
    if call:
        name, arguments = text(call.get("name")), joined_arguments(call.get("input"))
        reading.add_call(key, name=name, arguments=arguments, provider_id=text(call.get("toolUseId")))
    elif "text" in block:
        reading.add_text(text(block["text"]))
    elif "reasoningContent" in block:
        reading.add_thinking(text(at(block, "reasoningContent", "reasoningText", "text")))
    elif block:
        reading.other_output = True


def _read_event(data: dict[str, object], path: str, reading: Reading) -> None:
    start, delta = mapping(data.get("contentBlockStart")), mapping(data.get("contentBlockDelta"))
    if mapping(at(start, "start", "toolUse")):
        _read_block(mapping(start["start"]), word(start.get("contentBlockIndex")) or "0", reading)
    piece = mapping(delta.get("delta"))
    key = word(delta.get("contentBlockIndex")) or "0"
    if "toolUse" in piece:
        if key in reading.calls:
            reading.add_call(key, arguments=text(at(piece, "toolUse", "input")))
    elif "reasoningContent" in piece:
        reading.add_thinking(text(at(piece, "reasoningContent", "text")))
    elif "text" in piece:
        reading.add_text(text(piece["text"]))
    if "messageStop" in data:
        reading.ended = True
        reading.set_finish(at(data, "messageStop", "stopReason"), f"{path}.messageStop.stopReason")


def _note_guardrail(documents: list[Document], reading: Reading) -> None:
    """Tell a block from a mask by the trace; without one the stop reason stands."""
    found = [one for document in documents for one in _assessed(document)]
    blocked = [one for one in found if one[2] == "BLOCKED"]
    if found and not blocked:
        reading.set_finish("end_turn", reading.finish_field)  # masked, not refused
        return
    field, category, _, where = blocked[0] if blocked else (reading.finish_field, "guardrail", "", None)
    if where is None:
        where = "prompt" if reading.usage.output_tokens == 0 else "completion"
    reading.add_hint(refused(category, where=where), field, "guardrail_intervened")


def _assessed(document: Document) -> Iterator[tuple[str, str, str, str]]:
    """Yield (field, category, action, where) of each entry in a guardrail's trace."""
    trace = mapping(at(document.data, "trace", "guardrail")) or mapping(
        at(document.data, "metadata", "trace", "guardrail")
    )
    for assessment in mapping(trace.get("inputAssessment")).values():
        yield from _entries(assessment, f"{document.path}.trace.guardrail.inputAssessment", "prompt")
    for assessments in mapping(trace.get("outputAssessments")).values():
        for assessment in items(assessments):
            yield from _entries(assessment, f"{document.path}.trace.guardrail.outputAssessments", "completion")


def _entries(assessment: object, path: str, where: str) -> Iterator[tuple[str, str, str, str]]:
    for policy, listed, category in _POLICIES:
        for entry in items(at(assessment, policy, listed)):
            name = category or text(mapping(entry).get("type")).lower() or "guardrail"
            yield f"{path}.{policy}.{listed}", name, text(mapping(entry).get("action")), where
