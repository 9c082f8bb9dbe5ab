"""Gemini generateContent requests: the bytes of a request, built so that the next one begins with them.

`contents` is the last key, and everything between two replies becomes one content of the user, so that roles alternate and the
responses of all calls of a reply stand right after it (https://ai.google.dev/api/generate-content,
https://ai.google.dev/gemini-api/docs/function-calling). The model's name stands in the URL, not in the body.
"""

import re
from collections.abc import Mapping, Sequence
from urllib.parse import quote

from stoic.records import (
    AssistantMessage,
    CallView,
    ImagePart,
    Json,
    Message,
    Piece,
    Record,
    TextPart,
    ThinkingPart,
    ToolMessage,
    ToolSchema,
    UserMessage,
)
from stoic.wire.rendering import (
    EMPTY_TEXT,
    NEUTRAL_TEXT,
    arguments_object,
    encode,
    groups,
    pieces_of,
    safe_name,
    shown,
    sorted_parameters,
)

API = "generate"
"""The name of this API in requests and reports."""

TAIL = b"]}"
"""What closes a request after its last content."""

UNSIGNED_CALL = "skip_thought_signature_validator"
"""What the provider takes instead of the signature of a call that this model did not make:
https://ai.google.dev/gemini-api/docs/thought-signatures (its questions and answers)."""

_RESERVED = {"contents", "systemInstruction", "system_instruction", "tools", "model", "cachedContent"}
_DEMANDS_SIGNATURES = re.compile(r"gemini-(?![12](?!\d))")
"""Names from Gemini 3 on; one without a version, such as gemini-flash-latest, is a current model's."""


def endpoint(base_url: str, model: str) -> str:
    """Return the URL that streams the answers of a model.

    Args:
        base_url: Such as `https://generativelanguage.googleapis.com/v1beta`, or the full URL itself.
        model: The model's name; one with a slash, such as `tunedModels/x`, is a resource name of its own.
    """
    url = base_url.rstrip("/")
    if ":streamGenerateContent" in url:
        return url
    name = model if "/" in model else f"models/{model}"
    return f"{url}/{quote(name)}:streamGenerateContent?alt=sse"


def auth_headers(key: str | None) -> dict[str, str]:
    """Return the headers that carry the credential; none for a server without keys."""
    return {"x-goog-api-key": key} if key else {}


def head(
    model: str,  # noqa: ARG001 -- the port's; the URL names the model
    system: str,
    tools: Sequence[ToolSchema],
    parameters: Mapping[str, Json],
) -> bytes:
    """Render everything before the first content.

    Args:
        model: Without effect.
        system: The system prompt; empty: none.
        tools: In the order given, their schemas as JSON schema (`parametersJsonSchema`).
        parameters: Further top-level keys, such as `generationConfig` or `safetySettings`; rendered sorted.

    Raises:
        UsageError: A parameter is one the runtime itself sets.
    """
    body = sorted_parameters(parameters, _RESERVED)
    if system.strip():
        body["systemInstruction"] = {"parts": [{"text": system}]}
    if tools:
        body["tools"] = [{"functionDeclarations": [_tool(tool) for tool in tools]}]
    return encode({**body, "contents": []})[: -len(TAIL)]


class GeminiRenderer(Record, frozen=True):
    """The `Renderer` of one provider and model; thinking and signatures that somebody else made are left out."""

    provider: str
    model: str

    @property
    def TAIL(self) -> bytes:  # noqa: N802 -- the port's name
        """What closes a request after its last content."""
        return TAIL

    def head(self, model: str, system: str, tools: Sequence[ToolSchema], parameters: Mapping[str, Json]) -> bytes:
        """Render everything before the first content; see `gemini.head`."""
        return head(model, system, tools, parameters)

    def fragments(
        self,
        messages: Sequence[Message],
        *,
        newest: bool = False,  # noqa: ARG002 -- the port's; caching needs no marks here
    ) -> list[bytes]:
        """Render each reply as a content of the model and what follows it as one content of the user.

        Where nothing follows, a fixed neutral text does: between two replies, and before one that opens the log. `newest` has
        no effect.
        """
        found: list[bytes] = []
        for group in groups(messages):
            if group.reply:
                found.append(encode({"role": "model", "parts": self._reply_parts(group.reply)}))
            parts: list[Json] = [_response(result) for result in group.results]
            parts += [part for result in group.results for part in _response_images(result)]
            parts += [part for message in group.inputs for part in _input_parts(message)]
            found.append(encode({"role": "user", "parts": parts or [{"text": NEUTRAL_TEXT}]}))
        return found

    def _reply_parts(self, message: AssistantMessage) -> list[Json]:
        own = (message.provider, message.model) == (self.provider, self.model)
        parts = [part for piece in pieces_of(message) for part in self._piece(piece, own=own)]
        if not message.text.strip() and not message.calls:
            parts.append({"text": EMPTY_TEXT})
        calls = [part for part in parts if "functionCall" in part]
        if calls and "thoughtSignature" not in calls[0] and _DEMANDS_SIGNATURES.search(self.model):
            # Only the first call of a reply is signed, and only its absence is refused.
            calls[0]["thoughtSignature"] = UNSIGNED_CALL
        return [*parts]

    def _piece(self, piece: Piece, *, own: bool) -> list[dict[str, Json]]:
        if isinstance(piece, ThinkingPart):
            return _thought(piece) if (piece.provider, piece.model) == (self.provider, self.model) else []
        signed = {"thoughtSignature": piece.signature} if own and piece.signature is not None else {}
        if isinstance(piece, TextPart):
            return [{"text": piece.text, **signed}] if piece.text.strip() else []
        return [_call(piece) | signed]


def _thought(part: ThinkingPart) -> list[dict[str, Json]]:
    """Render thinking; a signature that came on a part without text goes back on one."""
    if not part.text:
        return [] if part.signature is None else [{"text": "", "thoughtSignature": part.signature}]
    signed = {} if part.signature is None else {"thoughtSignature": part.signature}
    return [{"text": part.text, "thought": True, **signed}]


def _call(call: CallView) -> dict[str, Json]:
    return {"functionCall": {"name": _name(call.name), "args": arguments_object(call.arguments)}}


def _name(name: str) -> str:
    """Return a called tool's name, which begins with a letter or an underscore here."""
    safe = safe_name(name)
    return safe if safe[0].isalpha() or safe[0] == "_" else f"_{safe[:63]}"


def _tool(tool: ToolSchema) -> dict[str, Json]:
    return {"name": tool.name, "description": tool.description, "parametersJsonSchema": tool.parameters}


def _response(message: ToolMessage) -> dict[str, Json]:
    # Calls have no ids here: responses are matched by name and order. `output` and `error` are the API's own words.
    text = _noted(message) if message.images else shown(message.text)
    return {
        "functionResponse": {"name": _name(message.name), "response": {"error" if message.error else "output": text}}
    }


def _noted(message: ToolMessage) -> str:
    note = f"({len(message.images)} image(s) of this result follow)"
    return f"{message.text}\n{note}" if message.text.strip() else note


def _response_images(message: ToolMessage) -> list[Json]:
    """Return the images of a result as parts beside the responses, which every model takes."""
    if not message.images:
        return []
    return [{"text": f"Images of the result of {message.name}:"}, *map(_image, message.images)]


def _input_parts(message: UserMessage) -> list[Json]:
    if not message.images:
        return [{"text": shown(message.text)}]
    text: list[Json] = [{"text": message.text}] if message.text.strip() else []
    return [*map(_image, message.images), *text]


def _image(image: ImagePart) -> Json:
    # PNG, JPEG, WebP, HEIC and HEIF; a request with its inline data is at most 20 MB:
    # https://ai.google.dev/gemini-api/docs/image-understanding
    return {"inlineData": {"mimeType": image.media_type, "data": image.data_base64}}
