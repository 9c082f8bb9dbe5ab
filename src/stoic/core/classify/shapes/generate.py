"""Gemini's generateContent, whole or streamed."""

from stoic.core.classify.fields import at, items, mapping, text
from stoic.core.classify.reading import Document, Reading, joined_arguments, usage_of
from stoic.core.classify.rules import Mark, refused

_BLOCK_REASONS: dict[str, str | None] = {
    "safety": None,
    "other": None,
    "block_reason_unspecified": None,
    "blocked_reason_unspecified": None,
    "blocklist": "blocklist",
    "prohibited_content": "prohibited_content",
    "image_safety": "image",
    "jailbreak": "jailbreak",
    "model_armor": "guardrail",
    "spii": "pii",
}
"""`promptFeedback.blockReason` to category; None: the ratings may name it."""
KEYS = frozenset({"candidates", "promptFeedback", "usageMetadata"})
"""A document without any of these keys is not of this shape."""
_USAGE = ("promptTokenCount", "candidatesTokenCount", "cachedContentTokenCount", "")


def reads(data: dict[str, object]) -> bool:
    """Return whether a document is of this shape."""
    return not KEYS.isdisjoint(data)


def read(documents: list[Document], reading: Reading) -> None:
    """Fill the reading from a body or from chunks."""
    for document in documents:
        if reads(document.data):
            _read_document(document, reading)
    # "If empty, the model has not stopped generating": https://ai.google.dev/api/generate-content
    answering = any(items(document.data.get("candidates")) for document in documents)
    if reading.finish is not None or reading.hint or not (reading.stream or answering):
        reading.ended = reading.known
    if reading.ended:
        reading.close_calls()


def _read_document(document: Document, reading: Reading) -> None:
    data, path = document.data, document.path
    reading.known = True
    reading.note(data, model="modelVersion", request_id="responseId")
    if mapping(data.get("usageMetadata")):
        reading.usage = usage_of(data["usageMetadata"], _USAGE)
    reason = text(at(data, "promptFeedback", "blockReason"))
    if reason:
        feedback = f"{path}.promptFeedback"
        _note_ratings(at(data, "promptFeedback", "safetyRatings"), feedback, reading)
        mark = _block_mark(reason)
        reading.add_hint(mark, f"{feedback}.blockReason", reason)
    if items(data.get("candidates")):
        _read_candidate(mapping(items(data["candidates"])[0]), f"{path}.candidates[0]", reading)


def _block_mark(reason: str) -> Mark:
    return refused(_BLOCK_REASONS.get(reason.lower(), reason.lower()), where="prompt")


def _note_ratings(ratings: object, path: str, reading: Reading) -> None:
    """Note the ratings that blocked; where none says so, those that were high."""
    listed = [mapping(rating) for rating in items(ratings)]
    blocking = any(rating.get("blocked") is True for rating in listed)
    for index, rating in enumerate(listed):
        if rating.get("blocked") is True or (not blocking and rating.get("probability") == "HIGH"):
            name = text(rating.get("category")).removeprefix("HARM_CATEGORY_").lower()
            reading.add_category(f"{path}.safetyRatings[{index}].category", name)


def _read_candidate(candidate: dict[str, object], path: str, reading: Reading) -> None:
    for index, entry in enumerate(items(at(candidate, "content", "parts"))):
        part = mapping(entry)
        call = mapping(part.get("functionCall"))
        if call:
            key = f"{len(reading.read)}"
            reading.add_call(key, name=text(call.get("name")), arguments=joined_arguments(call.get("args")))
            _read_decision(call, f"{path}.content.parts[{index}].functionCall", reading)
        elif part.get("thought") is True:
            reading.add_thinking(text(part.get("text")))
        elif "text" in part:
            reading.add_text(text(part["text"]))
        elif part.keys() - {"thoughtSignature"}:
            reading.other_output = True
    _note_ratings(candidate.get("safetyRatings"), path, reading)
    reading.set_finish(candidate.get("finishReason"), f"{path}.finishReason")


def _read_decision(call: dict[str, object], path: str, reading: Reading) -> None:
    """Computer use asks for a person's confirmation inside the call's arguments."""
    if at(call, "args", "safety_decision", "decision") == "require_confirmation":
        mark = refused(where="completion", scope="agent_action")
        field = f"{path}.args.safety_decision.decision"
        reading.add_hint(mark, field, "require_confirmation")
