"""Anthropic Messages answers: events or a whole body into a decoded reply.

Deltas of known blocks are assembled; whatever says more than one more piece of them is kept as it came: the classifier judges
it. https://docs.claude.com/en/docs/build-with-claude/streaming
"""

from stoic.ports import Delta, Request
from stoic.records import Json, Usage
from stoic.wire.blocks import Block, KeptEvents, Tree, announce, arguments_of, count_of, piece_of, text_of, tree, trees
from stoic.wire.decoding import Decoded
from stoic.wire.sse import SseEvent
from stoic.wire.text import is_json_object, mend, read_json

_EVENTS = {
    "message_start",
    "content_block_start",
    "content_block_delta",
    "content_block_stop",
    "message_delta",
    "message_stop",
}
_CUTTING_ENDS = {"max_tokens", "model_context_window_exceeded", "refusal"}
"""Stop reasons that can break off a call; its block is closed all the same."""

_INPUT_COUNTS = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")


class MessagesDecoder:
    """One attempt's answer."""

    def __init__(self, request: Request, on_delta: Delta) -> None:
        """Begin with nothing received.

        Args:
            request: Names the provider and model that thinking parts belong to.
            on_delta: Called for each piece as it comes.
        """
        self.ended = False
        self._request = request
        self._on_delta = on_delta
        self._kept = KeptEvents()
        self._blocks: dict[int, Block] = {}
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
        kind = text_of(tree(value).get("type"))
        if kind in _EVENTS:
            # The first event of the API is kept whatever it says: the classifier tells the API by it.
            first, self._known = not self._known, True
            if self._read_event(kind, tree(value)) and not first:
                return
        elif kind == "message":
            self.body(value)
        self._kept.add(event.name, value, noise=kind == "ping")

    def body(self, value: Json) -> None:
        """Take a whole answer, which is its own end."""
        answer = tree(value)
        if answer.get("type") == "message" or isinstance(answer.get("content"), list):
            self._known = self.ended = True
            self._read_message(answer)

    def result(self) -> Decoded:
        """Return what has been said so far."""
        blocks = [block for block in self._blocks.values() if block.says_something]
        parts = [block.part(self._request, whole=self._is_whole(block)) for block in blocks]
        return Decoded(
            parts=parts if self._known else None,
            events=self._kept.events,
            finish=self._finish,
            ended=self.ended,
            served_model=self._model,
            request_id=self._id,
            usage=_usage(self._usage),
        )

    def _is_whole(self, block: Block) -> bool:
        """Tell whether nothing of a call can be missing: it was closed, and not by a limit in its middle."""
        return (block.closed or self.ended) and (self._finish not in _CUTTING_ENDS or is_json_object(block.text))

    def _read_event(self, kind: str, data: Tree) -> bool:
        """Read an event of this API; tell whether nothing more than a piece of the reply was in it."""
        index = data.get("index")
        place = index if isinstance(index, int) else 0
        if kind == "content_block_delta":
            return self._read_delta(place, tree(data.get("delta")))
        if kind == "content_block_start":
            return self._open(place, tree(data.get("content_block")))
        if kind == "content_block_stop":
            if place in self._blocks:
                self._blocks[place].closed = True
            return True
        if kind == "message_start":
            self._read_message(tree(data.get("message")))
        elif kind == "message_delta":
            self._read_end(tree(data.get("delta")))
            self._count(data.get("usage"))
        else:
            self.ended = True
        return False

    def _read_message(self, message: Tree) -> None:
        self._model = text_of(message.get("model")) or self._model
        self._id = text_of(message.get("id")) or self._id
        self._count(message.get("usage"))
        for place, block in enumerate(trees(message.get("content"))):
            self._open(place, block)
        self._read_end(message)

    def _read_end(self, data: Tree) -> None:
        self._finish = text_of(data.get("stop_reason")) or self._finish

    def _count(self, usage: Json) -> None:
        """Take in token counts: those of the end are totals, and need not repeat those of the beginning."""
        self._usage |= {name: count for name, count in tree(usage).items() if isinstance(count, int)}

    def _open(self, place: int, data: Tree) -> bool:
        """Begin a block, or take a whole one; tell whether its kind is known."""
        block = _block(data)
        if block is None:
            return False
        self._blocks[place] = block
        announce(block, self._on_delta)
        return True

    def _read_delta(self, place: int, delta: Tree) -> bool:
        block, kind = self._blocks.get(place), delta.get("type")
        if kind == "text_delta":
            self._add(block or self._begin(place, Block(kind="text")), piece_of(delta.get("text")))
        elif kind == "thinking_delta":
            self._add(block or self._begin(place, Block(kind="thinking")), piece_of(delta.get("thinking")))
        elif kind == "signature_delta" and block:
            block.sealed.append(piece_of(delta.get("signature")))
        elif kind == "input_json_delta" and block and block.kind == "call":
            block.pieces.append(piece_of(delta.get("partial_json")))
        else:
            return False
        return True

    def _begin(self, place: int, block: Block) -> Block:
        """Open a block whose start did not come."""
        self._blocks[place] = block
        return block

    def _add(self, block: Block, piece: str) -> None:
        if piece:
            block.pieces.append(piece)
            self._on_delta(block.kind, mend(piece))


def _block(data: Tree) -> Block | None:
    """Return a block of a kind that is replayed; None: something else, such as a tool that ran at the provider."""
    kind = data.get("type")
    if kind == "text":
        text = text_of(data.get("text"))
        return Block(kind="text", pieces=[text] if text else [])
    if kind == "thinking":
        text, signature = text_of(data.get("thinking")), text_of(data.get("signature"))
        return Block(kind="thinking", pieces=[text] if text else [], sealed=[signature] if signature else [])
    if kind == "redacted_thinking":
        return Block(kind="thinking", redacted=text_of(data.get("data")))
    if kind != "tool_use":
        return None
    # An empty input at the start of a streamed block is a placeholder: the arguments follow as deltas.
    arguments = arguments_of(data.get("input"))
    pieces = [] if arguments == "{}" else [arguments]
    return Block(kind="call", pieces=pieces, name=text_of(data.get("name")), call_id=text_of(data.get("id")))


def _usage(counts: Tree) -> Usage:
    """Return token counts; this API counts cached input apart."""
    return Usage(
        input_tokens=count_of(counts, _INPUT_COUNTS),
        output_tokens=count_of(counts, ["output_tokens"]),
        cache_read_tokens=count_of(counts, ["cache_read_input_tokens"]),
        cache_write_tokens=count_of(counts, ["cache_creation_input_tokens"]),
    )
