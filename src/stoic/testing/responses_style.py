"""How an OpenAI Responses server answers: its events, its whole bodies, and what it refuses with 400."""

from collections.abc import Iterator
from typing import Any, cast

from stoic.records import Json
from stoic.testing.replies import Reply, Word
from stoic.testing.style_parts import (
    CALL_WORDS,
    CREATED,
    TIME_WORDS,
    Tree,
    asked_tokens,
    encode,
    event,
    misnamed,
    pieces_of,
    said_tokens,
    spoken,
    trees,
)

REQUEST_ID_HEADER = "x-request-id"

_STATUSES = {"stop": "completed", "tool_calls": "completed", "failed": "failed", "cancelled": "cancelled"}
"""Statuses by finish word; any other word is the reason of an incomplete response."""

_REASONS = {"length": "max_output_tokens"}


def stream(reply: Reply, request: Tree, number: int) -> Iterator[Word | bytes]:
    """Yield the server-sent events of a reply; words about time are passed through where they stand.

    Args:
        reply: What to say.
        request: The request's body.
        number: Its number, for ids.
    """
    counter = iter(range(1_000_000))
    begun = _response(reply, request, number, "in_progress", [])
    output: list[Tree] = []
    events = _events(reply, number, output)
    yield _numbered({"type": "response.created", "response": begun}, counter)
    yield _numbered({"type": "response.in_progress", "response": begun}, counter)
    for each in events:
        yield each if isinstance(each, Word) else _numbered(each, counter)
    if reply.end == "clean":
        response = _ended(reply, request, number, output)
        yield _numbered({"type": f"response.{response['status']}", "response": response}, counter)
    if reply.end == "done":
        yield b"data: [DONE]\n\n"


def whole(reply: Reply, request: Tree, number: int) -> bytes:
    """Return the body of an answer that is no stream."""
    output = [_item(word, number, index) for index, word in enumerate(spoken(reply))]
    return encode(_ended(reply, request, number, output))


def error_body(message: str) -> Tree:
    """Return the error object this API answers with."""
    return {"error": {"message": message, "type": "invalid_request_error", "param": "input", "code": None}}


def find_fault(request: Json) -> str | None:
    """Return what a real server would refuse a request for, or None."""
    if not isinstance(request, dict):
        return "We could not parse the JSON body of your request."
    body = cast("Tree", request)
    if not body.get("model"):
        return "Missing required parameter: 'model'."
    if not body.get("input"):
        return "Missing required parameter: 'input'."
    items = trees(body["input"])
    faults = (_item_fault(items, position) for position in range(len(items)))
    return _pairing_fault(items) or next((fault for fault in faults if fault), None)


def _pairing_fault(items: list[Tree]) -> str | None:
    """Check that each call has exactly one output."""
    called = [str(item.get("call_id")) for item in items if item.get("type") == "function_call"]
    answered = [str(item.get("call_id")) for item in items if item.get("type") == "function_call_output"]
    for call in called:
        if call not in answered:
            return f"No tool output found for function call {call}."
    for call in answered:
        if call not in called or answered.count(call) > 1:
            return f"No tool call found for function call output with call_id {call}."
    return None


def has_empty_text(request: Json) -> bool:
    """Tell whether a request holds an empty text."""
    items = trees(cast("Tree", request).get("input")) if isinstance(request, dict) else []
    return any(_is_empty(item) for item in items)


def _item_fault(items: list[Tree], position: int) -> str | None:
    item = items[position]
    following = items[position + 1] if position + 1 < len(items) else {}
    made = following.get("type") in ("function_call", "reasoning") or following.get("role") == "assistant"
    if item.get("type") == "reasoning" and not made:
        return f"Item '{item.get('id')}' of type 'reasoning' was provided without its required following item."
    name = misnamed([item.get("name")] if item.get("type") == "function_call" else [])
    if name is not None:
        return f"Invalid 'input[{position}].name': string {name!r} does not match pattern."
    if _is_empty(item):
        return f"Invalid 'input[{position}].content': text must be non-empty."
    return None


def _is_empty(item: Tree) -> bool:
    if item.get("type", "message") != "message":
        return False
    content = item.get("content")
    if isinstance(content, list):
        parts = trees(cast("Json", content))
        return not parts or any("text" in part and not part["text"] for part in parts)
    return not content


def _numbered(value: Tree, counter: Iterator[int]) -> bytes:
    return event({**value, "sequence_number": next(counter)}, named=True)


def _events(reply: Reply, number: int, output: list[Tree]) -> Iterator[Word | Tree]:
    """Yield the events of all items and add each whole item to the output."""
    word: Word | None = None
    for each in reply.words:
        if each.kind in TIME_WORDS:
            yield each
            continue
        if word and word.kind == each.kind and each.kind not in CALL_WORDS:
            yield from _deltas(each, number, len(output))
            word = Word(kind=word.kind, text=word.text + each.text)
            continue
        if word:
            yield from _close(word, number, output)
        word = each
        yield from _open(word, number, len(output))
        yield from _deltas(word, number, len(output))
    if word and reply.end == "clean":
        yield from _close(word, number, output)


def _open(word: Word, number: int, index: int) -> Iterator[Tree]:
    item = _item(Word(kind=word.kind, name=word.name), number, index) | {"status": "in_progress"}
    part = _part(Word(kind=word.kind))
    if word.kind == "thinking":
        item.update(summary=[], status=None, encrypted_content=None)
    elif word.kind not in CALL_WORDS:
        item.update(content=[])
    yield {"type": "response.output_item.added", "output_index": index, "item": item}
    place: Tree = {"item_id": item["id"], "output_index": index}
    if word.kind == "thinking":
        yield {"type": "response.reasoning_summary_part.added", **place, "summary_index": 0, "part": part}
    elif word.kind not in CALL_WORDS:
        yield {"type": "response.content_part.added", **place, "content_index": 0, "part": part}


_DELTAS = {
    "text": "response.output_text",
    "refusal": "response.refusal",
    "thinking": "response.reasoning_summary_text",
    "call": "response.function_call_arguments",
    "half_call": "response.function_call_arguments",
}


def _place(word: Word, number: int, index: int) -> Tree:
    """Return the fields by which events name what they are about."""
    place: Tree = {"item_id": _item(word, number, index)["id"], "output_index": index}
    if word.kind in CALL_WORDS:
        return place
    return place | ({"summary_index": 0} if word.kind == "thinking" else {"content_index": 0})


def _deltas(word: Word, number: int, index: int) -> Iterator[Tree]:
    logprobs: Tree = {"logprobs": []} if word.kind == "text" else {}
    for piece in pieces_of(word.text):
        yield {"type": f"{_DELTAS[word.kind]}.delta", **_place(word, number, index), "delta": piece, **logprobs}


def _close(word: Word, number: int, output: list[Tree]) -> Iterator[Tree]:
    index, item = len(output), _item(word, number, len(output))
    place = _place(word, number, index)
    if word.kind in CALL_WORDS:
        yield {"type": f"{_DELTAS[word.kind]}.done", **place, "name": word.name, "arguments": word.text}
    else:
        field: Tree = {"refusal": word.text} if word.kind == "refusal" else {"text": word.text}
        logprobs: Tree = {"logprobs": []} if word.kind == "text" else {}
        yield {"type": f"{_DELTAS[word.kind]}.done", **place, **field, **logprobs}
        part = "response.reasoning_summary_part.done" if word.kind == "thinking" else "response.content_part.done"
        yield {"type": part, **place, "part": _part(word)}
    yield {"type": "response.output_item.done", "output_index": index, "item": item}
    output.append(item)


def _part(word: Word) -> Tree:
    if word.kind == "refusal":
        return {"type": "refusal", "refusal": word.text}
    if word.kind == "thinking":
        return {"type": "summary_text", "text": word.text}
    return {"type": "output_text", "text": word.text, "annotations": [], "logprobs": []}


def _item(word: Word, number: int, index: int) -> Tree:
    """Return a whole output item."""
    if word.kind == "thinking":
        summary = [_part(word)] if word.text else []
        sealed = f"ZW5jcnlwdGVk{number}{index}"
        return {"id": f"rs_{number}_{index}", "type": "reasoning", "summary": summary, "encrypted_content": sealed}
    if word.kind in CALL_WORDS:
        call = {"call_id": f"call_{number}_{index}", "name": word.name, "arguments": word.text}
        return {"id": f"fc_{number}_{index}", "type": "function_call", "status": "completed", **call}
    message = {"type": "message", "status": "completed", "role": "assistant", "content": [_part(word)]}
    return {"id": f"msg_{number}_{index}", **message}


def _ended(reply: Reply, request: Tree, number: int, output: list[Tree]) -> Tree:
    finish = reply.finish or "stop"
    status = _STATUSES.get(finish, "incomplete")
    reason = _REASONS.get(finish, finish) if status == "incomplete" else None
    response = _response(reply, request, number, status, output)
    return response | {"incomplete_details": {"reason": reason} if reason else None, "usage": _usage(reply, request)}


def _response(reply: Reply, request: Tree, number: int, status: str, output: list[Tree]) -> Tree:
    given: dict[str, Any] = {
        name: request.get(name) for name in ("instructions", "max_output_tokens", "previous_response_id", "temperature")
    }
    return {
        "id": f"resp_scripted{number:06d}",
        "object": "response",
        "created_at": CREATED,
        "status": status,
        "error": None,
        "incomplete_details": None,
        "model": reply.model or request.get("model"),
        "output": output,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": request.get("tools") or [],
        "store": request.get("store", True),
        "usage": None,
        **given,
    }


def _usage(reply: Reply, request: Tree) -> Tree:
    asked, answered = asked_tokens(request.get("input")), said_tokens(reply)
    simulated: Tree = {"input_tokens": asked, "output_tokens": answered, "total_tokens": asked + answered}
    details = {
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens_details": {"reasoning_tokens": 0},
    }
    return reply.usage or simulated | details
