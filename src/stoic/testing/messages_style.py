"""How an Anthropic Messages server answers: its events, its whole bodies, and what it refuses with 400."""

from collections.abc import Iterator
from typing import cast

from stoic.records import Json
from stoic.testing.replies import Reply, Word
from stoic.testing.style_parts import (
    CALL_WORDS,
    TIME_WORDS,
    Tree,
    asked_tokens,
    encode,
    event,
    misnamed,
    object_of,
    pieces_of,
    said,
    said_tokens,
    spoken,
    trees,
)

REQUEST_ID_HEADER = "request-id"

_FINISHES = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use", "content_filter": "refusal"}
_MARKS = 4


def stream(reply: Reply, request: Tree, number: int) -> Iterator[Word | bytes]:
    """Yield the server-sent events of a reply; words about time are passed through where they stand.

    Args:
        reply: What to say.
        request: The request's body.
        number: Its number, for ids.
    """
    begun: Tree = {"content": [], "stop_reason": None, "usage": _usage(reply, request) | {"output_tokens": 1}}
    message = _message(reply, request, number) | begun
    yield event({"type": "message_start", "message": message}, named=True)
    yield event({"type": "ping"}, named=True)
    index, open_kind = -1, ""
    for word in reply.words:
        if word.kind in TIME_WORDS:
            yield word
            continue
        if word.kind == "refusal":
            continue
        if word.kind != open_kind or word.kind in CALL_WORDS:
            yield from _close(index, open_kind, number)
            index, open_kind = index + 1, word.kind
            yield event(
                {"type": "content_block_start", "index": index, "content_block": _begun(word, number, index)},
                named=True,
            )
        for delta in _deltas(word):
            yield event({"type": "content_block_delta", "index": index, "delta": delta}, named=True)
    if reply.end == "clean":
        yield from _close(index, open_kind, number)
        usage = {"output_tokens": _usage(reply, request)["output_tokens"]}
        yield event({"type": "message_delta", "delta": _end(reply), "usage": usage}, named=True)
        yield event({"type": "message_stop"}, named=True)
    if reply.end == "done":
        yield b"data: [DONE]\n\n"


def whole(reply: Reply, request: Tree, number: int) -> bytes:
    """Return the body of an answer that is no stream."""
    words = [word for word in spoken(reply) if word.kind != "refusal"]
    content = [_block(word, number, index) for index, word in enumerate(words)]
    message = _message(reply, request, number)
    return encode({**message, "content": content, **_end(reply), "usage": _usage(reply, request)})


def error_body(message: str) -> Tree:
    """Return the error object this API answers with."""
    return {"type": "error", "error": {"type": "invalid_request_error", "message": message}}


def find_fault(request: Json) -> str | None:
    """Return what a real server would refuse a request for, or None; roles must alternate, as Bedrock still demands."""
    if not isinstance(request, dict):
        return "The request body is not valid JSON"
    body = cast("Tree", request)
    for name in ("model", "max_tokens", "messages"):
        if name not in body:
            return f"{name}: Field required"
    messages = trees(body["messages"])
    if not messages:
        return "messages: at least one message is required"
    marks = sum("cache_control" in block for block in _all_blocks(body, messages))
    if marks > _MARKS:
        return f"A maximum of {_MARKS} blocks with cache_control may be provided. Found {marks}."
    open_calls: list[str] = []
    for position, message in enumerate(messages):
        fault = _message_fault(messages, position, open_calls)
        if fault:
            return fault
        open_calls = [str(block.get("id")) for block in _blocks(message) if block.get("type") == "tool_use"]
    return _unanswered(len(messages) - 1, open_calls) if open_calls else None


def has_empty_text(request: Json) -> bool:
    """Tell whether a request holds an empty text block."""
    messages = trees(cast("Tree", request).get("messages")) if isinstance(request, dict) else []
    return any(_is_empty(block) for message in messages for block in _blocks(message))


def _message_fault(messages: list[Tree], position: int, open_calls: list[str]) -> str | None:
    """Check one message; `open_calls` are the calls of the message before."""
    message = messages[position]
    role, blocks = message.get("role"), _blocks(message)
    if not position and role != "user":
        return 'messages: first message must use the "user" role'
    if position and messages[position - 1].get("role") == role:
        return (
            f'messages: roles must alternate between "user" and "assistant", but found multiple "{role}" roles in a row'
        )
    if not blocks:
        return f"messages.{position}: {role} messages must have non-empty content"
    if any(_is_empty(block) for block in blocks):
        return "messages: text content blocks must be non-empty"
    name = misnamed(block.get("name") for block in blocks if block.get("type") == "tool_use")
    if name is not None:
        return f"messages.{position}.content.tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{{1,64}}$', not {name!r}"
    return _results_fault(blocks, position, open_calls)


def _results_fault(blocks: list[Tree], position: int, open_calls: list[str]) -> str | None:
    """Check that the results of a message are those of the calls before it, each once."""
    results = [str(block.get("tool_use_id")) for block in blocks if block.get("type") == "tool_result"]
    missing = [call for call in open_calls if call not in results]
    if missing:
        return _unanswered(position - 1, missing)
    for result in results:
        if result not in open_calls or results.count(result) > 1:
            return (
                f"messages.{position}.content: unexpected `tool_use_id` found in `tool_result` blocks: {result}. Each "
                "`tool_result` block must have a corresponding `tool_use` block in the previous message."
            )
    return None


def _unanswered(position: int, calls: list[str]) -> str:
    return (
        f"messages.{position}: `tool_use` ids were found without `tool_result` blocks immediately after: {', '.join(calls)}. "
        "Each `tool_use` block must have a corresponding `tool_result` block in the next message."
    )


def _blocks(message: Tree) -> list[Tree]:
    content = message.get("content")
    return [{"type": "text", "text": content}] if isinstance(content, str) else trees(content)


def _all_blocks(body: Tree, messages: list[Tree]) -> list[Tree]:
    return [
        *trees(body.get("tools")),
        *trees(body.get("system")),
        *(block for one in messages for block in _blocks(one)),
    ]


def _is_empty(block: Tree) -> bool:
    return block.get("type") == "text" and not str(block.get("text") or "").strip()


def _message(reply: Reply, request: Tree, number: int) -> Tree:
    model = reply.model or request.get("model")
    return {
        "id": f"msg_scripted{number:06d}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "stop_sequence": None,
    }


def _end(reply: Reply) -> Tree:
    """Return the stop reason, with details where it is a refusal."""
    explanation = said(reply, "refusal")
    if explanation:
        details = {"type": "refusal", "category": None, "explanation": explanation}
        return {"stop_reason": "refusal", "stop_sequence": None, "stop_details": details}
    calls = any(word.kind in CALL_WORDS for word in reply.words)
    finish = reply.finish or ("tool_use" if calls else "end_turn")
    return {"stop_reason": _FINISHES.get(finish, finish), "stop_sequence": None}


def _usage(reply: Reply, request: Tree) -> Tree:
    cached = {"cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
    simulated = {"input_tokens": asked_tokens(request.get("messages")), **cached, "output_tokens": said_tokens(reply)}
    return reply.usage or simulated


def _begun(word: Word, number: int, index: int) -> Tree:
    """Return a block as it begins, before its deltas."""
    if word.kind in CALL_WORDS:
        return {"type": "tool_use", "id": _call_id(number, index), "name": word.name, "input": {}}
    return (
        {"type": "thinking", "thinking": "", "signature": ""}
        if word.kind == "thinking"
        else {"type": "text", "text": ""}
    )


def _block(word: Word, number: int, index: int) -> Tree:
    """Return a whole block."""
    if word.kind in CALL_WORDS:
        return _begun(word, number, index) | {"input": object_of(word.text)}
    if word.kind == "thinking":
        return {"type": "thinking", "thinking": word.text, "signature": _signature(number, index)}
    return {"type": "text", "text": word.text}


def _deltas(word: Word) -> list[Tree]:
    if word.kind in CALL_WORDS:
        return [{"type": "input_json_delta", "partial_json": piece} for piece in pieces_of(word.text)]
    return [{"type": f"{word.kind}_delta", word.kind: piece} for piece in pieces_of(word.text)]


def _close(index: int, kind: str, number: int) -> Iterator[bytes]:
    """End the open block, if there is one; thinking is signed at its end."""
    if kind == "thinking":
        delta = {"type": "signature_delta", "signature": _signature(number, index)}
        yield event({"type": "content_block_delta", "index": index, "delta": delta}, named=True)
    if kind:
        yield event({"type": "content_block_stop", "index": index}, named=True)


def _call_id(number: int, index: int) -> str:
    return f"toolu_{number}_{index}"


def _signature(number: int, index: int) -> str:
    return f"c2lnbmF0dXJl{number}{index}"
