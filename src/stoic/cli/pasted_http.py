"""Reads a raw HTTP response: a dump, the output of `curl -i` or `curl -v`, or curl's own error."""

import re
from typing import Any

import msgspec

from stoic.foreign_json import read_foreign
from stoic.records import Record

Exchange = dict[str, Any]


class ToldAs(Record, frozen=True):
    """What stood in a pasted text, in place of the Python exception that was made of it; `told_as` of an exchange."""

    field: str
    value: str


_VALUE_CHARACTERS = 200

_STATUS_LINE = re.compile(r"^(?:< )?HTTP/\d(?:\.\d)? (\d{3})(?: .*)?$", re.MULTILINE)
_CURL_ERROR = re.compile(r"^curl: \((\d+)\) (.*)$", re.MULTILINE)
_CURL_TALK = re.compile(r"^(?:\* |> |[{}] \[\d+ bytes).*\n?|^>\s*\n", re.MULTILINE)
_HEAD_ENDS = ("\n\n", "\n<\n", "\n< \n")
"""An empty line ends the headers; in the output of `curl -v` one with a mark, where no empty one follows."""
_CURL_TYPES = {
    "5": "ProxyError",
    "6": "socket.gaierror",
    "7": "ConnectionRefusedError",
    "28": "TimeoutError",
    "51": "ssl.SSLCertVerificationError",
    "60": "ssl.SSLCertVerificationError",
    "97": "ProxyError",
}
"""curl's exit code to the exception it amounts to; any other is a broken connection."""
_HOSTS = (
    ("openai.azure.com", "azure"), ("services.ai.azure.com", "azure"), ("cognitiveservices.azure.com", "azure"),
    ("models.inference.ai.azure.com", "github"), ("models.github.ai", "github"), ("githubcopilot.com", "github"),
    ("api.openai.com", "openai"), ("chatgpt.com", "openai"), ("api.anthropic.com", "anthropic"),
    ("generativelanguage.googleapis.com", "gemini"), ("aiplatform.googleapis.com", "vertex"),
    ("bedrock-runtime", "bedrock"), ("openrouter.ai", "openrouter"), ("api.deepseek.com", "deepseek"),
    ("dashscope", "dashscope"), ("bigmodel.cn", "zhipu"), ("api.z.ai", "zhipu"), ("moonshot.", "moonshot"),
    ("kimi.com", "moonshot"), ("minimax", "minimax"), ("baidubce.com", "baidu"), ("volces.com", "volcengine"),
    ("api.groq.com", "groq"), ("api.x.ai", "xai"), ("api.mistral.ai", "mistral"), ("together.", "together"),
    ("fireworks.ai", "fireworks"), ("cohere.", "cohere"), ("api.perplexity.ai", "perplexity"),
    ("api.cerebras.ai", "cerebras"), ("api.cloudflare.com", "cloudflare"), ("huggingface.co", "huggingface"),
    (":11434", "ollama"), (":1234", "lmstudio"),
)  # fmt: skip
_HEADERS = (
    ("x-litellm", "litellm"), ("anthropic-", "anthropic"), ("x-ms-region", "azure"), ("apim-request-id", "azure"),
    ("openai-", "openai"), ("x-amzn-", "bedrock"), ("x-groq-", "groq"), ("x-goog-", "gemini"),
    ("x-dashscope-", "dashscope"), ("x-ds-trace-id", "deepseek"), ("msh-", "moonshot"), ("mistral-", "mistral"),
    ("fireworks-", "fireworks"), ("x-github-", "github"),
)  # fmt: skip
_HOST = re.compile(r"(?:^|\n)>? ?host: ?(\S+)|https?://([^\s/'\"]+)|(?:resolve host: |connect to )(\S+)", re.IGNORECASE)


def read(text: str) -> Exchange | None:
    """Return the exchange that a pasted response shows, or None if the text is none."""
    text = text.replace("\r\n", "\n")
    talk = text
    error = _CURL_ERROR.search(text)
    text = _CURL_TALK.sub("", text)
    first = _STATUS_LINE.search(text)
    if first is None:
        return _curl_error(error, talk) if error else None
    status, headers, body = _last_response(text[first.start() :])
    body = _CURL_ERROR.sub("", body)
    if "chunked" in headers.get("transfer-encoding", ""):
        body = _dechunked(body)
    exchange = {"provider": provider_of(talk, headers), "status": status, "headers": headers, **body_of(body, headers)}
    return {**exchange, "end": "cut"} if error and "sse" in exchange else exchange


def body_of(text: str, headers: dict[str, str]) -> Exchange:
    """Return `body` or `sse` for the text of an answer."""
    kind = headers.get("content-type", "")
    if "event-stream" in kind or re.match(r"\s*(?:event|data|id|retry)?:", text):
        return {"sse": _sse_events(text)}
    lines = [_json(line) for line in text.splitlines() if line.strip()]
    if "ndjson" in kind or (len(lines) > 1 and all(isinstance(line, dict) for line in lines)):
        return {"sse": [{"event": None, "data": line} for line in lines]}
    return {"body": _json(text)}


def provider_of(text: str, headers: dict[str, str]) -> str:
    """Return the provider that an address in a text or a response's headers give away, or `unknown`."""
    hosts = " ".join("".join(found) for found in _HOST.findall(text))
    for mark, provider in _HOSTS:
        if mark in hosts:
            return provider
    for mark, provider in _HEADERS:
        if any(name.startswith(mark) for name in headers):
            return provider
    if "ndjson" in headers.get("content-type", ""):  # nobody else answers so
        return "ollama"
    return "llama.cpp" if headers.get("server", "") == "llama.cpp" else "unknown"


def _last_response(text: str) -> tuple[int, dict[str, str], str]:
    """Return status, headers and body of the last response; interim and redirecting ones come before it."""
    begin, end, rest = 0, *_head_end(text, ends := dict.fromkeys(_HEAD_ENDS, -2), 0)
    while _STATUS_LINE.match(text, rest):
        begin = rest
        end, rest = _head_end(text, ends, begin)
    lines = [line.removeprefix("< ") for line in text[begin:end].splitlines()]
    pairs = (line.partition(":") for line in lines[1:] if ":" in line)
    headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
    return int(lines[0].split()[1]), headers, text[rest:].strip("\n")


def _head_end(text: str, ends: dict[str, int], begin: int) -> tuple[int, int]:
    """Return where the headers end that begin at a place, and where what follows them begins.

    Args:
        text: Responses, one after the other.
        ends: Where each mark was found last, so that none is looked for twice; it is brought up to date.
        begin: The place.
    """
    for mark, found in ends.items():
        if found != -1 and found < begin:
            ends[mark] = text.find(mark, begin)
    mark = next((mark for mark in _HEAD_ENDS if ends[mark] >= 0), None)
    return (len(text), len(text)) if mark is None else (ends[mark], ends[mark] + len(mark))


def _curl_error(error: re.Match[str], talk: str) -> Exchange:
    kind = _CURL_TYPES.get(error[1], "ConnectionError")
    told_as = ToldAs(field="curl", value=f"({error[1]}) {error[2]}"[:_VALUE_CHARACTERS])
    return {
        "provider": provider_of(talk, {}),
        "exception": {"type": kind, "message": error[2]},
        "told_as": told_as,
    }


def _sse_events(text: str) -> list[Exchange]:
    """Return the events of a stream's text; an event ends at an empty line."""
    events: list[Exchange] = []
    for block in re.split(r"\n\s*\n", text.replace("\r\n", "\n").strip("\n")):
        name: str | None = None
        data: list[str] = []
        for line in block.split("\n"):
            field, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if not field:
                events.append({"comment": value})
            elif field == "event":
                name = value
            elif field == "data":
                data.append(value)
        if data:
            events.append({"event": name, "data": _json("\n".join(data))})
    return events


def _json(text: str) -> Any:
    try:
        return read_foreign(text.encode(errors="replace"))
    except msgspec.DecodeError:
        return text


def _dechunked(body: str) -> str:
    """Return a body without the chunk sizes that a raw dump still has; one without sizes stays as it is."""
    sizes = re.compile(r"^[0-9a-fA-F]{1,8}\n", re.MULTILINE)
    return sizes.sub("", body).removesuffix("\n0") if sizes.match(body) else body
