"""OpenAI Responses answers: events or a whole body into a decoded reply.

An item is assembled from its deltas until it is given whole, and the whole output at the end has the last word. Whatever says
more than one more piece of text, reasoning or arguments is kept as it came: the classifier judges it.
https://platform.openai.com/docs/api-reference/responses-streaming
"""

from stoic.ports import Delta, Request
from stoic.records import Json, Usage
from stoic.wire.blocks import Block, KeptEvents, Tree, announce, arguments_of, count_of, piece_of, text_of, tree, trees
from stoic.wire.decoding import Decoded
from stoic.wire.sse import SseEvent
from stoic.wire.text import mend, read_json

_ENDS = {"response.completed", "response.incomplete", "response.failed", "response.cancelled"}
_THINKING_DELTAS = {"response.reasoning_summary_text.delta", "response.reasoning_text.delta"}
_REPEATING = {
    "response.in_progress",
    "response.queued",
    "response.output_text.done",
    "response.function_call_arguments.done",
    "response.reasoning_text.done",
    "response.reasoning_summary_text.done",
    "response.reasoning_summary_part.added",
    "response.reasoning_summary_part.done",
}
"""Events that say nothing that another one does not say."""
_KNOWN_ITEMS = {"message", "reasoning", "function_call"}


class ResponsesDecoder:
    """One attempt's answer."""

    def __init__(self, request: Request, on_delta: Delta) -> None:
        """Begin with nothing received.

        Args:
            request: Names the provider and model that reasoning belongs to.
            on_delta: Called for each piece as it comes.
        """
        self.ended = False
        self._request = request
        self._on_delta = on_delta
        self._kept = KeptEvents()
        self._items: dict[str, list[Block]] = {}
        """The blocks of each output item, in the order in which items began."""
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
        data = tree(value)
        kind = text_of(data.get("type"))
        if kind.startswith("response."):
            # The first event of the API is kept whatever it says: the classifier tells the API by it.
            first, self._known = not self._known, True
            if self._read_event(kind, data) and not first:
                return
        elif data.get("object") == "response":
            self.body(value)
        self._kept.add(event.name, value, noise=kind == "keepalive")

    def body(self, value: Json) -> None:
        """Take a whole answer, which is its own end."""
        if tree(value).get("object") == "response":
            self._known = self.ended = True
            self._read_response(tree(value))

    def result(self) -> Decoded:
        """Return what has been said so far."""
        blocks = [block for item in self._items.values() for block in item if block.says_something]
        completed = self._finish == "completed"
        return Decoded(
            parts=[block.part(self._request, whole=completed or block.closed) for block in blocks]
            if self._known
            else None,
            events=self._kept.events,
            finish=self._finish,
            ended=self.ended,
            served_model=self._model,
            request_id=self._id,
            usage=_usage(self._usage),
        )

    def _read_event(self, kind: str, data: Tree) -> bool:
        """Read an event of this API; tell whether nothing more than a piece of the reply was in it."""
        if kind in _ENDS:
            self._read_response(tree(data.get("response")))
            self._finish = self._finish or kind.removeprefix("response.")
            self.ended = True
            return False
        if kind == "response.created":
            self._note(tree(data.get("response")))
            return False
        if kind.startswith("response.output_item."):
            return self._read_item(kind, data)
        if kind.startswith("response.content_part."):
            return tree(data.get("part")).get("type") in ("output_text", "reasoning_text")
        return kind in _REPEATING or self._read_delta(kind, data)

    def _read_delta(self, kind: str, data: Tree) -> bool:
        piece = piece_of(data.get("delta"))
        if kind == "response.output_text.delta":
            self._add(self._last(data, Block(kind="text")), piece)
        elif kind in _THINKING_DELTAS:
            self._add(self._last(data, Block(kind="thinking", identifier=_summary_part(data))), piece)
        elif kind == "response.function_call_arguments.delta":
            self._last(data, Block(kind="call")).pieces.append(piece)
        else:
            return False
        return True

    def _last(self, data: Tree, wanted: Block) -> Block:
        """Return the item's last block if the piece belongs to it, else the wanted one, opened."""
        blocks = self._items.setdefault(_key(data), [])
        if not blocks or (blocks[-1].kind, blocks[-1].identifier) != (wanted.kind, wanted.identifier):
            blocks.append(wanted)
        return blocks[-1]

    def _add(self, block: Block, piece: str) -> None:
        if piece:
            block.pieces.append(piece)
            self._on_delta(block.kind, mend(piece))

    def _read_item(self, kind: str, data: Tree) -> bool:
        """Take the beginning or the whole of an item."""
        item = tree(data.get("item"))
        if text_of(item.get("type")) not in _KNOWN_ITEMS:
            return False
        key, blocks = _key(data), _blocks(item)
        begun = self._items.get(key, [])
        if kind == "response.output_item.done":
            for block in blocks:
                block.closed = item.get("status") != "incomplete"
        # The whole item replaces what was assembled; one whose beginning says nothing yet waits for its deltas.
        self._items[key] = blocks or begun
        if not begun:
            self._announce(blocks)
        return not any(part.get("type") == "refusal" for part in trees(item.get("content")))

    def _read_response(self, response: Tree) -> None:
        self._note(response)
        self._usage = tree(response.get("usage")) or self._usage
        output = trees(response.get("output"))
        if output:
            heard = bool(self._items)
            self._items = {str(index): _blocks(item) for index, item in enumerate(output)}
            for index, item in enumerate(output):
                for block in self._items[str(index)]:
                    block.closed = item.get("status") in (None, "completed")
            if not heard:
                self._announce([block for item in self._items.values() for block in item])
        reason = text_of(tree(response.get("incomplete_details")).get("reason"))
        self._finish = reason or text_of(response.get("status")) or self._finish

    def _announce(self, blocks: list[Block]) -> None:
        for block in blocks:
            announce(block, self._on_delta)

    def _note(self, response: Tree) -> None:
        self._model = text_of(response.get("model")) or self._model
        self._id = text_of(response.get("id")) or self._id


def _key(data: Tree) -> str:
    """Return what tells items apart: their place in the output, else their id."""
    index = data.get("output_index")
    return str(index) if isinstance(index, int) else text_of(data.get("item_id")) or "0"


def _summary_part(data: Tree) -> str:
    """Return a name for one part of a reasoning item until the item's own id is known."""
    return f"{text_of(data.get('item_id'))}:{data.get('summary_index', data.get('content_index'))}"


def _blocks(item: Tree) -> list[Block]:
    """Return the blocks of an item, none if it is of another kind than those that are replayed."""
    kind = item.get("type")
    if kind == "function_call":
        arguments = arguments_of(item.get("arguments"))
        pieces = [arguments] if arguments else []
        name, call_id = text_of(item.get("name")), text_of(item.get("call_id"))
        return [Block(kind="call", pieces=pieces, name=name, call_id=call_id)]
    if kind == "reasoning":
        return _reasoning(item)
    if kind != "message":
        return []
    texts = [text_of(part.get("text")) for part in trees(item.get("content"))]
    phase = text_of(item.get("phase")) or None
    return [Block(kind="text", pieces=[text], phase=phase) for text in texts if text]


def _reasoning(item: Tree) -> list[Block]:
    """Return one block for each part of the summary; the first holds the encrypted content."""
    parts = trees(item.get("summary")) or trees(item.get("content"))
    texts = [text for part in parts if (text := text_of(part.get("text")))]
    sealed = text_of(item.get("encrypted_content")) or None
    if not texts and sealed is None:
        return []
    identifier = text_of(item.get("id")) or None
    blocks = [Block(kind="thinking", pieces=[text], identifier=identifier) for text in texts]
    blocks = blocks or [Block(kind="thinking", identifier=identifier)]
    blocks[0].sealed = [sealed] if sealed else []
    return blocks


def _usage(counts: Tree) -> Usage:
    """Return token counts; the input includes what was cached."""
    details = tree(counts.get("input_tokens_details"))
    return Usage(
        input_tokens=count_of(counts, ["input_tokens"]),
        output_tokens=count_of(counts, ["output_tokens"]),
        cache_read_tokens=count_of(details, ["cached_tokens"]),
        cache_write_tokens=count_of(details, ["cache_write_tokens"]),
    )
