"""Which API a request speaks, told from its path, and so how it is answered."""

import re
from collections.abc import Iterator
from typing import Protocol, cast

from stoic.records import Json
from stoic.testing import chat_style, gemini_style, messages_style, responses_style
from stoic.testing.replies import Reply, Word
from stoic.testing.style_parts import Tree

KNOWN_PATHS = "…/chat/completions, …/messages, …/responses and …/models/NAME:streamGenerateContent or :generateContent"

_ENDINGS: "dict[str, Style]" = {
    "/chat/completions": chat_style,
    "/messages": messages_style,
    "/responses": responses_style,
}
_GEMINI = re.compile(r"/(?P<model>[^/]+):(?P<method>generateContent|streamGenerateContent)$")


class Style(Protocol):
    """How servers of one API answer; a module is one."""

    @property
    def REQUEST_ID_HEADER(self) -> str | None:  # noqa: N802 -- a module is a style, and this is its constant
        """The header that names the request in answers, if the API has one."""
        ...

    def stream(self, reply: Reply, request: Tree, number: int) -> Iterator[Word | bytes]:
        """Yield the server-sent events of a reply, and words about time where they stand."""
        ...

    def whole(self, reply: Reply, request: Tree, number: int) -> bytes:
        """Return the body of an answer that is no stream."""
        ...

    def error_body(self, message: str) -> Tree:
        """Return the error object of a 400."""
        ...

    def find_fault(self, request: Json) -> str | None:
        """Return what a real server would refuse a request for, or None."""
        ...

    def has_empty_text(self, request: Json) -> bool:
        """Tell whether a request holds an empty text block."""
        ...


def style_of(path: str) -> Style | None:
    """Return the style of a path, None for one that is not served."""
    if _GEMINI.search(path):
        return gemini_style
    return next((style for ending, style in _ENDINGS.items() if path.endswith(ending)), None)


def is_streamed(path: str, request: Json) -> bool:
    """Tell whether a stream is asked for: Gemini says it in the path, the others in the body."""
    found = _GEMINI.search(path)
    if found:
        return found["method"] == "streamGenerateContent"
    return isinstance(request, dict) and bool(cast("Tree", request).get("stream"))


def asked_of(path: str, request: Json) -> Json:
    """Return the body with the model it asks for under `model`: Gemini says it in the path."""
    found = _GEMINI.search(path)
    return {**cast("Tree", request), "model": found["model"]} if found and isinstance(request, dict) else request
