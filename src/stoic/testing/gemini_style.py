"""How a Gemini server answers: its chunks, its whole bodies, and what it refuses with 400."""

import re
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

REQUEST_ID_HEADER = None

_FINISHES = {"stop": "STOP", "tool_calls": "STOP", "length": "MAX_TOKENS", "content_filter": "SAFETY"}
_DEMANDS_SIGNATURES = re.compile(r"gemini-(?:[3-9]|\d\d)")


def stream(reply: Reply, request: Tree, number: int) -> Iterator[Word | bytes]:
    """Yield the server-sent events of a reply; words about time are passed through where they stand.

    Args:
        reply: What to say.
        request: The request's body, with the model of the path.
        number: Its number, for ids.
    """
    base = _base(reply, request, number)
    calls = 0
    for word in reply.words:
        if word.kind in TIME_WORDS:
            yield word
        elif word.kind in ("text", "thinking"):
            for piece in pieces_of(word.text):
                yield _chunk(base, [_text(word, piece)])
        elif word.kind == "call":
            yield _chunk(base, [_call(word, number, calls)])
            calls += 1
    if reply.end == "clean":
        yield _chunk(base, _seal(reply, number), _end(reply))
    if reply.end == "done":
        yield b"data: [DONE]\n\n"


def whole(reply: Reply, request: Tree, number: int) -> bytes:
    """Return the body of an answer that is no stream."""
    parts: list[Tree] = []
    calls = 0
    for word in spoken(reply):
        if word.kind == "call":
            parts.append(_call(word, number, calls))
            calls += 1
        elif word.kind in ("text", "thinking"):
            parts.append(_text(word, word.text))
    candidate = {"content": {"parts": [*parts, *_seal(reply, number)], "role": "model"}, "index": 0, **_end(reply)}
    return encode({"candidates": [candidate], **_base(reply, request, number)})


def error_body(message: str) -> Tree:
    """Return the error object this API answers with."""
    return {"error": {"code": 400, "message": message, "status": "INVALID_ARGUMENT"}}


def find_fault(request: Json) -> str | None:
    """Return what a real server would refuse a request for, or None; roles must alternate.

    Args:
        request: The request's body, with the model of the path under `model`.
    """
    if not isinstance(request, dict):
        return "Invalid JSON payload received."
    body = cast("Tree", request)
    contents = trees(body.get("contents"))
    if not contents:
        return "* GenerateContentRequest.contents: contents is not specified\n"
    open_calls: list[str] = []
    for position, content in enumerate(contents):
        fault = _content_fault(contents, position, open_calls)
        if fault:
            return fault
        open_calls = _calls(content)
        unsigned = open_calls and "thoughtSignature" not in next(
            part for part in _parts(content) if "functionCall" in part
        )
        if unsigned and _DEMANDS_SIGNATURES.search(str(body.get("model"))):
            return f"Function call is missing a thought_signature in functionCall parts: {open_calls[0]}."
    return _UNEQUAL if open_calls else None


def has_empty_text(request: Json) -> bool:
    """Tell whether a request holds an empty text that is no carrier of a signature."""
    contents = trees(cast("Tree", request).get("contents")) if isinstance(request, dict) else []
    return any(_is_empty(part) for content in contents for part in _parts(content))


_UNEQUAL = (
    "Please ensure that the number of function response parts is equal to the number of function call parts of the function "
    "call turn."
)


def _content_fault(contents: list[Tree], position: int, open_calls: list[str]) -> str | None:
    """Check one content; `open_calls` are the calls of the content before."""
    content = contents[position]
    role = content.get("role", "user")
    if role not in ("user", "model"):
        return "Please use a valid role: user, model."
    if (contents[position - 1].get("role", "user") if position else "model") == role:
        return "Please ensure that multiturn requests alternate between user and model."
    parts = _parts(content)
    if not parts or any(_is_empty(part) for part in parts):
        return f"* GenerateContentRequest.contents[{position}].parts: contents.parts must not be empty.\n"
    return _calls_fault(content, position, open_calls)


def _calls_fault(content: Tree, position: int, open_calls: list[str]) -> str | None:
    """Check that a content's calls can be ones, and that its responses are those of the calls before it."""
    name = misnamed(_calls(content))
    if name is not None:
        return (
            f"* GenerateContentRequest.contents[{position}].parts.function_call.name: Invalid function name {name!r}.\n"
        )
    responses = [str(part["functionResponse"].get("name")) for part in _parts(content) if "functionResponse" in part]
    if len(responses) != len(open_calls):
        return _UNEQUAL
    if sorted(responses) != sorted(open_calls):
        return "Please ensure that function response turn comes immediately after a function call turn."
    return None


def _parts(content: Tree) -> list[Tree]:
    return trees(content.get("parts"))


def _calls(content: Tree) -> list[str]:
    return [str(part["functionCall"].get("name")) for part in _parts(content) if "functionCall" in part]


def _is_empty(part: Tree) -> bool:
    return part.get("text") == "" and "thoughtSignature" not in part


def _base(reply: Reply, request: Tree, number: int) -> Tree:
    asked, answered = asked_tokens(request.get("contents")), said_tokens(reply)
    simulated: Tree = {"promptTokenCount": asked, "candidatesTokenCount": answered, "totalTokenCount": asked + answered}
    return {
        "usageMetadata": reply.usage or simulated,
        "modelVersion": reply.model or request.get("model"),
        "responseId": f"scripted{number:06d}",
    }


def _chunk(base: Tree, parts: list[Tree], end: Tree | None = None) -> bytes:
    candidate = {"content": {"parts": parts, "role": "model"}, "index": 0, **(end or {})}
    return event({"candidates": [candidate], **base}, named=False)


def _end(reply: Reply) -> Tree:
    refusal = said(reply, "refusal")
    if refusal:
        return {"finishReason": "SAFETY", "finishMessage": refusal}
    broken = any(word.kind == "half_call" for word in reply.words)
    finish = reply.finish or ("MALFORMED_FUNCTION_CALL" if broken else "STOP")
    return {"finishReason": _FINISHES.get(finish, finish)}


def _text(word: Word, text: str) -> Tree:
    return {"text": text, "thought": True} if word.kind == "thinking" else {"text": text}


def _call(word: Word, number: int, index: int) -> Tree:
    """Return a call; the first one of a reply is signed."""
    part: Tree = {"functionCall": {"name": word.name, "args": object_of(word.text)}}
    return part if index else {**part, "thoughtSignature": f"c2lnbmVk{number:04d}"}


def _seal(reply: Reply, number: int) -> list[Tree]:
    """Return the last part of a reply that was thought about and calls nothing: no text, a signature."""
    thought = any(word.kind == "thinking" for word in reply.words)
    calls = any(word.kind in CALL_WORDS for word in reply.words)
    return [{"text": "", "thoughtSignature": f"c2VhbGVk{number:04d}"}] if thought and not calls else [{"text": ""}]
