"""Gemini generateContent answers: chunks or a whole body into a decoded reply.

Chunks that hold text and thoughts alone are assembled; whatever says more is also kept as it came: the classifier judges it.
https://ai.google.dev/api/generate-content#v1beta.GenerateContentResponse
"""

from typing import cast

from stoic.ports import Delta, Request
from stoic.records import Json, Usage
from stoic.wire.blocks import Block, KeptEvents, Tree, announce, arguments_of, count_of, piece_of, text_of, tree, trees
from stoic.wire.decoding import Decoded
from stoic.wire.sse import SseEvent
from stoic.wire.text import mend, read_json

_OWN = {"candidates", "promptFeedback", "usageMetadata"}
_ORDINARY_CHUNK = {"candidates", "usageMetadata", "modelVersion", "responseId", "createTime"}
_ORDINARY_CANDIDATE = {"content", "index", "safetyRatings"}
_ORDINARY_PART = {"text", "thought", "thoughtSignature"}


class GeminiDecoder:
    """One attempt's answer; only the first candidate is read."""

    def __init__(self, request: Request, on_delta: Delta) -> None:
        """Begin with nothing received.

        Args:
            request: Names the provider and model that thoughts and signatures belong to.
            on_delta: Called for each piece as it comes.
        """
        self.ended = False
        self._request = request
        self._on_delta = on_delta
        self._kept = KeptEvents()
        self._blocks: list[Block] = []
        self._known = False
        self._finish: str | None = None
        self._model: str | None = None
        self._id: str | None = None
        self._usage: Tree = {}

    def event(self, event: SseEvent) -> None:
        """Take the next event of the stream."""
        if event.comment is not None:
            self._kept.comment(event.comment)
            return
        value = read_json(event.data, mended=False)
        chunk = tree(value)
        # The first chunk is kept whatever it says: the classifier tells the API by it.
        first = not self._known
        self._read(chunk)
        if first or not _is_ordinary(chunk):
            self._kept.add(event.name, value)

    def body(self, value: Json) -> None:
        """Take a whole answer, or the list of chunks of a stream that was not asked for as events.

        A whole answer is its own end.
        """
        for chunk in trees(value) or [tree(value)]:
            self._read(chunk)
        self.ended = self._known

    def result(self) -> Decoded:
        """Return what has been said so far."""
        blocks = [block for block in self._blocks if block.says_something]
        return Decoded(
            parts=[block.part(self._request, whole=block.closed) for block in blocks] if self._known else None,
            events=self._kept.events,
            finish=self._finish,
            ended=self.ended,
            served_model=self._model,
            request_id=self._id,
            usage=_usage(self._usage),
        )

    def _read(self, chunk: Tree) -> None:
        if not _OWN & chunk.keys():
            return
        self._known = True
        self._model = text_of(chunk.get("modelVersion")) or self._model
        self._id = text_of(chunk.get("responseId")) or self._id
        self._usage |= tree(chunk.get("usageMetadata"))
        candidates = trees(chunk.get("candidates"))
        candidate: Tree = candidates[0] if candidates else {}
        for part in trees(tree(candidate.get("content")).get("parts")):
            self._read_part(part)
        self._finish = text_of(candidate.get("finishReason")) or self._finish
        # A blocked prompt has no candidate, so its verdict is the end.
        blocked = bool(text_of(tree(chunk.get("promptFeedback")).get("blockReason")))
        self.ended = self.ended or self._finish is not None or blocked

    def _read_part(self, part: Tree) -> None:
        call, signature = tree(part.get("functionCall")), text_of(part.get("thoughtSignature")) or None
        if call:
            self._add_call(call, signature)
        elif part.keys() <= _ORDINARY_PART:
            self._add_text(piece_of(part.get("text")), signature, thought=part.get("thought") is True)

    def _add_call(self, call: Tree, signature: str | None) -> None:
        """Take a call; it comes at once, its arguments as an object."""
        arguments = arguments_of(call.get("args"))
        block = Block(
            kind="call",
            pieces=[arguments] if arguments else [],
            name=text_of(call.get("name")),
            call_id=text_of(call.get("id")),
            sealed=[signature] if signature else [],
            closed=call.get("willContinue") is not True,
        )
        self._blocks.append(block)
        announce(block, self._on_delta)

    def _add_text(self, text: str, signature: str | None, *, thought: bool) -> None:
        """Append to the last block, unless a signature seals either: sealed parts are given back as they came."""
        if not text and signature is None:
            return
        # A signature on a part without text is kept as thinking without text.
        kind = "thinking" if thought or not text else "text"
        last = self._blocks[-1] if self._blocks else None
        if last is None or last.kind != kind or last.sealed or signature is not None:
            last = Block(kind=kind, sealed=[signature] if signature else [])
            self._blocks.append(last)
        if text:
            last.pieces.append(text)
            self._on_delta(kind, mend(text))


def _is_ordinary(chunk: Tree) -> bool:
    """Tell whether a chunk holds text and thoughts, and nothing that says more."""
    candidates = cast("list[Json]", chunk.get("candidates") or [])
    if not chunk.keys() <= _ORDINARY_CHUNK or not isinstance(chunk.get("candidates"), list) or len(candidates) != 1:
        return False
    candidate = tree(candidates[0])
    ordinary = candidate.keys() <= _ORDINARY_CANDIDATE and candidate.get("index") in (0, None)
    parts = trees(tree(candidate.get("content")).get("parts"))
    blocked = any(rating.get("blocked") is True for rating in trees(candidate.get("safetyRatings")))
    return ordinary and bool(parts) and all(part.keys() <= _ORDINARY_PART for part in parts) and not blocked


def _usage(counts: Tree) -> Usage:
    """Return token counts; the prompt includes what was cached, thoughts are counted apart from the answer."""
    return Usage(
        input_tokens=count_of(counts, ["promptTokenCount", "toolUsePromptTokenCount"]),
        output_tokens=count_of(counts, ["candidatesTokenCount", "thoughtsTokenCount"]),
        cache_read_tokens=count_of(counts, ["cachedContentTokenCount"]),
    )
