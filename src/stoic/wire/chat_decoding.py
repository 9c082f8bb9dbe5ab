"""Chat Completions answers: events or a whole body into a decoded reply.

Ordinary deltas go through one typed decode. Whatever does not fit, and whatever says more than one more piece of text,
is kept as it came: the classifier judges it. https://platform.openai.com/docs/api-reference/chat-streaming
"""

from typing import cast

import msgspec

from stoic.ports import Delta, Request
from stoic.records import Json, Part, TextPart, ThinkingPart, Usage
from stoic.wire.blocks import KeptEvents, Tree, arguments_of, number_of, piece_of, text_of, tree, trees
from stoic.wire.chat_calls import CallAssembler
from stoic.wire.decoding import Decoded
from stoic.wire.sse import SseEvent
from stoic.wire.text import mend, read_json
from stoic.wire.think_tags import ThinkTags


class _Function(msgspec.Struct, gc=False):
    name: str | None = None
    arguments: str | None = None


class _Call(msgspec.Struct, gc=False):
    index: int | None = None
    id: str | None = None
    function: _Function | None = None


class _Delta(msgspec.Struct, gc=False):
    content: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    tool_calls: list[_Call] | None = None
    refusal: Json = None
    role: str | None = None


class _Choice(msgspec.Struct, gc=False):
    delta: _Delta
    index: int = 0
    finish_reason: str | None = None
    content_filter_results: Json = None
    error: Json = None


class _Chunk(msgspec.Struct, gc=False):
    choices: tuple[_Choice]
    id: str | None = None
    model: str | None = None
    usage: Json = None
    error: Json = None
    prompt_filter_results: Json = None


_decode_chunk = msgspec.json.Decoder(_Chunk).decode


class ChatDecoder:
    """One attempt's answer; only choice 0 is read."""

    def __init__(self, request: Request, on_delta: Delta) -> None:
        """Begin with nothing received.

        Args:
            request: Names the provider and model that thinking parts belong to.
            on_delta: Called for each piece as it comes.
        """
        self.ended = False
        self._request = request
        self._on_delta = on_delta
        self._text: list[str] = []
        self._thinking: list[str] = []
        self._tags = ThinkTags()
        self._calls = CallAssembler()
        self._kept = KeptEvents()
        self._finish: str | None = None
        self._done = False
        self._known = False
        self._model: str | None = None
        self._id: str | None = None
        self._usage: Json = None

    def event(self, event: SseEvent) -> None:
        """Take the next event of the stream."""
        if event.comment is not None:
            self._kept.comment(event.comment)
            return
        try:
            chunk = _decode_chunk(event.data)
        except (msgspec.MsgspecError, RecursionError):
            self._unusual(event)
            return
        choice = chunk.choices[0]
        delta = choice.delta
        # Anything beyond text, thinking, calls and the role goes the slow way, which keeps the event.
        if (
            choice.finish_reason is not None
            or delta.refusal is not None
            or choice.index
            or chunk.error is not None
            or choice.error is not None
            or choice.content_filter_results
            or chunk.prompt_filter_results
            or event.name is not None
            or (delta.content is None and delta.tool_calls is None and _says_nothing(delta))
        ):
            self._unusual(event)
            return
        self._known = True
        self._model = chunk.model or self._model
        self._id = self._id or chunk.id
        if chunk.usage is not None:
            self._usage = chunk.usage
        if delta.content:
            self._add_text(delta.content)
        thinking = delta.reasoning_content or delta.reasoning
        if thinking:
            self._add_thinking(thinking)
        if delta.tool_calls:
            for call in delta.tool_calls:
                function = call.function or _Function()
                self._add_call(call.index, call.id or "", function.name or "", function.arguments or "")

    def body(self, value: Json) -> None:
        """Take a whole answer; it is complete when it has a finish reason."""
        if isinstance(value, dict):
            answer = cast("Tree", value)
            self._read_chunk(answer)
            # A whole body is its own end even where the finish reason is missing.
            self._done = self.ended = self.ended or bool(trees(answer.get("choices")))
            self._say(self._tags.finish())

    def result(self) -> Decoded:
        """Return what has been said so far."""
        return Decoded(
            parts=self._parts() if self._known else None,
            events=self._kept.events,
            finish=self._finish,
            ended=self._finish is not None,
            end_unconfirmed=self._done and self._finish is None,
            served_model=self._model,
            request_id=self._id,
            usage=_usage(self._usage),
        )

    def _parts(self) -> list[Part]:
        parts: list[Part] = []
        if self._thinking:
            thinking = mend("".join(self._thinking))
            parts.append(ThinkingPart(text=thinking, provider=self._request.provider, model=self._request.model))
        text = mend("".join(self._text))
        if text:
            parts.append(TextPart(text=text))
        parts += [call.part(self._finish) for call in self._calls.calls]
        return parts

    def _unusual(self, event: SseEvent) -> None:
        """Keep the event, and read of it what can be read."""
        data = event.data.strip()
        if data == b"[DONE]":
            self._done = self.ended = True
            self._say(self._tags.finish())
            self._kept.add(event.name, "[DONE]")
            return
        value = read_json(data, mended=False)
        self._kept.add(event.name, value)
        if isinstance(value, dict):
            self._read_chunk(cast("Tree", value))

    def _read_chunk(self, chunk: Tree) -> None:
        """Read a chunk or a whole answer of any shape; what does not fit is left alone."""
        self._model = text_of(chunk.get("model")) or self._model
        self._id = self._id or text_of(chunk.get("id")) or None
        if isinstance(chunk.get("usage"), dict):
            self._usage = chunk["usage"]
        for choice in trees(chunk.get("choices")):
            self._known = True
            if choice.get("index") in (0, None):
                self._read_choice(choice)

    def _read_choice(self, choice: Tree) -> None:
        for delta in trees([choice.get("delta"), choice.get("message")]):
            for kind, text in _texts(delta.get("content")):
                (self._add_thinking if kind == "thinking" else self._add_text)(text)
            thinking = delta.get("reasoning_content") or delta.get("reasoning")
            if isinstance(thinking, str):
                self._add_thinking(thinking)
            for call in trees(delta.get("tool_calls")):
                self._read_call(call)
        finish = text_of(choice.get("finish_reason"))
        if finish:
            self._finish = finish
            self.ended = True
            self._say(self._tags.finish())

    def _read_call(self, call: Tree) -> None:
        function = tree(call.get("function"))
        arguments, index = function.get("arguments"), call.get("index")
        self._add_call(
            index if isinstance(index, int) else None,
            mend(str(call.get("id") or "")),
            mend(str(function.get("name") or "")),
            arguments_of(arguments) if isinstance(arguments, dict) else piece_of(arguments),
        )

    def _add_text(self, text: str) -> None:
        if text:
            self._say(self._tags.feed(text))

    def _add_thinking(self, text: str) -> None:
        if text:
            self._say(self._tags.take_as_it_stands())
            self._say([("thinking", text)])

    def _say(self, said: list[tuple[str, str]]) -> None:
        for kind, text in said:
            (self._thinking if kind == "thinking" else self._text).append(text)
            self._on_delta(kind, mend(text))

    def _add_call(self, index: int | None, call_id: str, name: str, arguments: str) -> None:
        announced = self._calls.add(index, call_id, name, arguments)
        if announced:
            self._on_delta("call", announced)


def _says_nothing(delta: _Delta) -> bool:
    """Whether a delta holds nothing known: then the chunk has a shape of its own."""
    return delta.reasoning_content is None and delta.reasoning is None and delta.role is None


def _texts(content: Json) -> list[tuple[str, str]]:
    """Return `(kind, text)` of a content that is a text or a list of typed parts."""
    if isinstance(content, str):
        return [("text", content)]
    found: list[tuple[str, str]] = []
    for part in trees(content):
        kind = "thinking" if part.get("type") == "thinking" else "text"
        inner = part.get("thinking") if kind == "thinking" else part.get("text")
        # Mistral nests text parts inside a thinking part.
        found += [(kind, text) for _, text in _texts(inner)]
    return found


def _count(values: Tree, *names: str) -> int:
    """Return the first of the named counts that is one."""
    for name in names:
        count = number_of(values.get(name))
        if count is not None:
            return count
    return 0


def _usage(value: Json) -> Usage:
    """Read token counts; cached ones stand in `prompt_tokens_details`, DeepSeek's beside the others."""
    counts = tree(value)
    details = tree(counts.get("prompt_tokens_details"))
    return Usage(
        input_tokens=_count(counts, "prompt_tokens"),
        output_tokens=_count(counts, "completion_tokens"),
        cache_read_tokens=_count(details, "cached_tokens") or _count(counts, "prompt_cache_hit_tokens"),
        cache_write_tokens=_count(details, "cache_write_tokens", "cache_creation_tokens"),
    )
