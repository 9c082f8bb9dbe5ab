"""How a Chat Completions server answers: its chunks, its whole bodies, and what it refuses with 400."""

from collections.abc import Iterator
from typing import cast

from stoic.records import Json
from stoic.testing.replies import Reply, Word
from stoic.testing.style_parts import (
    CREATED,
    Tree,
    asked_tokens,
    encode,
    event,
    misnamed,
    pieces_of,
    said_tokens,
    trees,
)

REQUEST_ID_HEADER = "x-request-id"


def stream(reply: Reply, request: Tree, number: int) -> Iterator[Word | bytes]:
    """Yield the server-sent events of a reply; words about time are passed through where they stand.

    Args:
        reply: What to say.
        request: The request's body.
        number: Its number, for ids.
    """
    base = _base(reply, request, number, "chat.completion.chunk")

    def chunk(delta: Tree, finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return event({**base, "choices": [choice]}, named=False)

    yield chunk({"role": "assistant", "content": "", "refusal": None})
    calls = 0
    for word in reply.words:
        if word.kind in ("call", "half_call"):
            yield from (chunk(delta) for delta in _call_deltas(word, number, calls))
            calls += 1
        elif word.kind in _FIELDS:
            yield from (chunk({_FIELDS[word.kind]: piece}) for piece in pieces_of(word.text))
        else:
            yield word
    if reply.end == "clean":
        yield chunk({}, _finish(reply))
        options = request.get("stream_options")
        if isinstance(options, dict) and cast("Tree", options).get("include_usage"):
            yield event({**base, "choices": [], "usage": _usage(reply, request)}, named=False)
    if reply.end in ("clean", "done"):
        yield b"data: [DONE]\n\n"


def whole(reply: Reply, request: Tree, number: int) -> bytes:
    """Return the body of an answer that is no stream."""
    said = {kind: "".join(word.text for word in reply.words if word.kind == kind) for kind in _FIELDS}
    calls = [
        {"id": _call_id(number, index), "type": "function", "function": {"name": word.name, "arguments": word.text}}
        for index, word in enumerate(word for word in reply.words if word.kind in ("call", "half_call"))
    ]
    message: Tree = {
        "role": "assistant",
        "content": said["text"] or (None if calls else ""),
        "refusal": said["refusal"] or None,
    }
    if said["thinking"]:
        message["reasoning_content"] = said["thinking"]
    if calls:
        message["tool_calls"] = calls
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _finish(reply)}
    base = _base(reply, request, number, "chat.completion")
    return encode({**base, "choices": [choice], "usage": _usage(reply, request)})


def error_body(message: str, code: str | None = None) -> Tree:
    """Return the error object this API answers with."""
    return {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": code}}


def find_fault(request: Json) -> str | None:
    """Return what a real server would refuse a request for, or None."""
    if not isinstance(request, dict):
        return "We could not parse the JSON body of your request."
    messages = cast("Tree", request).get("messages")
    if not cast("Tree", request).get("model"):
        return "you must provide a model parameter"
    if not isinstance(messages, list) or not messages:
        return "Missing required parameter: 'messages'."
    open_calls: list[str] = []
    for position, message in enumerate(cast("list[Json]", messages)):
        if not isinstance(message, dict):
            return f"Invalid type for 'messages[{position}]': expected an object."
        fault = _message_fault(cast("Tree", message), position, open_calls)
        if fault:
            return fault
    return _unanswered(open_calls) if open_calls else None


def has_empty_text(request: Json) -> bool:
    """Tell whether a request holds an empty text block."""
    messages = cast("Tree", request).get("messages") if isinstance(request, dict) else None
    return any(_is_empty(message) for message in trees(messages))


_FIELDS = {"text": "content", "thinking": "reasoning_content", "refusal": "refusal"}


def _message_fault(message: Tree, position: int, open_calls: list[str]) -> str | None:
    """Check one message; `open_calls` are the ids that still wait for their result."""
    role = message.get("role")
    if role == "tool":
        call_id = message.get("tool_call_id")
        if call_id not in open_calls:
            return f"Invalid parameter: messages[{position}] with role 'tool' must be a response to a preceding message with 'tool_calls'."
        open_calls.remove(cast("str", call_id))
    elif open_calls:
        return _unanswered(open_calls)
    if _is_empty(message):
        return f"Invalid value for messages[{position}].content: expected a non-empty string."
    name = misnamed(call.get("function", {}).get("name") for call in trees(message.get("tool_calls")))
    if name is not None:
        return f"Invalid 'messages[{position}].tool_calls[0].function.name': string {name!r} does not match pattern."
    open_calls += [str(call.get("id")) for call in trees(message.get("tool_calls"))]
    return None


def _unanswered(open_calls: list[str]) -> str:
    return (
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "
        f"The following tool_call_ids did not have response messages: {', '.join(open_calls)}"
    )


def _is_empty(message: Tree) -> bool:
    content = message.get("content")
    if content is None:
        return not message.get("tool_calls")
    if isinstance(content, list):
        parts = trees(cast("Json", content))
        return not parts or any(part.get("type") == "text" and not part.get("text") for part in parts)
    return not content


def _base(reply: Reply, request: Tree, number: int, kind: str) -> Tree:
    model = reply.model or request.get("model")
    return {"id": f"chatcmpl-scripted{number:06d}", "object": kind, "created": CREATED, "model": model}


def _finish(reply: Reply) -> str:
    calls = any(word.kind in ("call", "half_call") for word in reply.words)
    return reply.finish or ("tool_calls" if calls else "stop")


def _usage(reply: Reply, request: Tree) -> Tree:
    asked, said = asked_tokens(request.get("messages")), said_tokens(reply)
    simulated: Tree = {"prompt_tokens": asked, "completion_tokens": said, "total_tokens": asked + said}
    return reply.usage or {**simulated, "prompt_tokens_details": {"cached_tokens": 0}}


def _call_id(number: int, index: int) -> str:
    return f"call_{number}_{index}"


def _call_deltas(word: Word, number: int, index: int) -> Iterator[Tree]:
    function = {"name": word.name, "arguments": ""}
    yield {"tool_calls": [{"index": index, "id": _call_id(number, index), "type": "function", "function": function}]}
    for piece in pieces_of(word.text):
        yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}
