"""Reads a report's reply: its JSON values in order, through the reader of the API shape they have."""

from types import ModuleType

from stoic.core.classify.fields import decoded, items, mapping, text
from stoic.core.classify.reading import Document, Reading, fresh
from stoic.core.classify.rules import refused
from stoic.core.classify.shapes import chat, converse, generate, messages, ndjson, responses, single_vendor
from stoic.records import Json, Report

_SHAPES: tuple[ModuleType, ...] = (responses, messages, converse, ndjson, chat, generate, single_vendor)
_KEYS = frozenset[str]().union(*(shape.KEYS for shape in _SHAPES))
"""Documents with none of these keys, such as an error, are of no shape."""


def documents_of(body: Json, events: list[dict[str, Json]]) -> list[Document]:
    """Return the JSON values of an answer in order: those of its body, which must be decoded, then those of its events."""
    found: list[Document] = []
    if isinstance(body, list):
        found += [Document(path=f"body[{at}]", data=mapping(entry)) for at, entry in enumerate(items(body))]
    elif body is not None:
        found.append(Document(path="body", data=mapping(body)))
    for index, event in enumerate(events):
        data = decoded(event.get("data"))
        name = text(event.get("event"))
        found.append(Document(path=f"events[{index}].data", data=mapping(data), event=name, raw=data))
    return found


def read_reply(report: Report, documents: list[Document]) -> Reading:
    """Return what the reply holds; what a live attempt's wire assembled takes the place of what its events say."""
    # A request for a stream may be answered by a body: an error, or a server that does not stream.
    streamed = bool(report.events) or (report.stream and report.body is None)
    assembled = None if report.parts is None else list(report.parts)
    reading = fresh(stream=streamed, assembled=assembled)
    shape = _shape_of(documents)
    shape.read(documents, reading)
    _read_guardrail(documents, reading)
    if assembled is not None:
        reading.known = True
        reading.ended = report.ended
        reading.done = reading.done or report.end_unconfirmed
        if reading.finish is None:
            reading.set_finish(report.finish, "finish")
    return reading


def _read_guardrail(documents: list[Document], reading: Reading) -> None:
    """Bedrock adds its guardrail's action to the body of whatever model answered."""
    for document in documents:
        if document.data.get("amazon-bedrock-guardrailAction") == "INTERVENED":
            field = f"{document.path}.amazon-bedrock-guardrailAction"
            reading.add_hint(refused("guardrail", where="completion"), field, "INTERVENED")


def _shape_of(documents: list[Document]) -> ModuleType:
    keys = set[str]().union(*[one.data for one in documents], [one.event for one in documents])
    for shape in () if _KEYS.isdisjoint(keys) else _SHAPES:
        if shape.KEYS.isdisjoint(keys):
            continue
        reads = shape.reads
        for document in documents:
            if reads(document.data) or (shape is converse and document.event in converse.EVENTS):
                return shape
    return chat
