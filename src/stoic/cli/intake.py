"""Reads what people paste: exchanges as the case files write them, HAR, bare bodies, HTTP dumps, tracebacks."""

import base64
import binascii
import re
from typing import Any, cast

import msgspec

from stoic.cli import pasted_http, pasted_traceback
from stoic.errors import UsageError
from stoic.foreign_json import read_foreign

Exchange = dict[str, Any]

_FORMATS = "give an exchange as JSON, a HAR file, an HTTP response with its headers (curl -i), or a Python traceback"
_EXCHANGE_KEYS = frozenset({"body", "sse", "exception", "headers", "transport", "provider"})
_ANSWER_KEYS = frozenset(
    {"choices", "candidates", "promptFeedback", "content", "output", "stopReason", "done", "result"}
)
_ERROR_KEYS = frozenset({"error", "errors", "detail", "base_resp", "error_code", "__type"})
_EVENT_STREAM = re.compile(r"\s*(?:event|data):")
_BROWSER_ERRORS = (
    ("ERR_CERT", "ssl.SSLCertVerificationError"),
    ("TIMED_OUT", "TimeoutError"),
    ("ERR_ABORTED", "asyncio.CancelledError"),
    ("ERR_NAME_NOT_RESOLVED", "socket.gaierror"),
    ("", "ConnectionError"),
)


def read_exchanges(text: str) -> list[Exchange]:
    """Return the exchanges that a text holds, in order.

    Raises:
        UsageError: The text, or one item of it, is nothing of what is accepted; the message begins with its position.
    """
    stripped = text.lstrip("\ufeff \t\r\n")
    if not stripped:
        raise UsageError(f"the input is empty; {_FORMATS}")
    if stripped[0] in "{[":
        return [_exchange(item, position) for position, item in enumerate(_expanded(_parsed(stripped)), 1)]
    if _EVENT_STREAM.match(stripped):  # what `curl -N` prints without the headers
        return [{"provider": "unknown", "status": 200, **pasted_http.body_of(stripped, {})}]
    found = pasted_traceback.read(text) or pasted_http.read(text)
    if found is None:
        raise UsageError(f"item 1: neither JSON nor an HTTP response nor a traceback; {_FORMATS}")
    return [found]


def _parsed(text: str) -> Any:
    """Return the JSON of a text; several lines of JSON are a list."""
    try:
        return read_foreign(text.encode(errors="surrogatepass"))
    except msgspec.DecodeError as error:
        whole_error = error
    lines = [line for line in text.splitlines() if line.strip()]
    if not all(line.lstrip()[0] == "{" for line in lines) or not _is_object(lines[0]):
        raise UsageError(f"item 1: not valid JSON ({whole_error})")
    return [_line(line, position) for position, line in enumerate(lines, 1)]


def _is_object(line: str) -> bool:
    try:
        return isinstance(read_foreign(line.encode(errors="surrogatepass")), dict)
    except msgspec.DecodeError:
        return False


def _line(line: str, position: int) -> Any:
    try:
        return read_foreign(line.encode(errors="surrogatepass"))
    except msgspec.DecodeError as error:
        raise UsageError(f"item {position}: not valid JSON ({error})") from None


def _expanded(value: Any) -> list[Any]:
    """Return the items of a list or of a HAR file; anything else is one item."""
    if isinstance(value, list):
        entries = cast("list[Any]", value)
        if not entries:
            raise UsageError(f"the list is empty; {_FORMATS}")
        return entries
    log = value.get("log")
    if isinstance(log, dict) and isinstance(cast("Exchange", log).get("entries"), list):
        return _expanded(cast("Exchange", log)["entries"])
    return [value]


def _exchange(item: Any, position: int) -> Exchange:
    """Return one item as an exchange; the item may be a HAR entry or a bare body."""
    if not isinstance(item, dict):
        raise UsageError(f"item {position}: must be an object, not {type(item).__name__}")
    value = cast("Exchange", item)
    if isinstance(value.get("response"), dict) and "request" in value:
        return _har_entry(value, position)
    if _is_bare_body(value):
        status = 200 if value.keys() & _ANSWER_KEYS and not value.get("error") else None
        return {"status": status, "body": value, "provider": "unknown"}
    body = value.get("body")
    if isinstance(body, str) and _EVENT_STREAM.match(body) and "sse" not in value:
        return {**value, "body": None, **pasted_http.body_of(body, {"content-type": "text/event-stream"})}
    return value


def _is_bare_body(value: Exchange) -> bool:
    """Return whether an object is an answer's body rather than an exchange around it."""
    if value.keys() & _EXCHANGE_KEYS:
        return False
    marked = value.get("object") == "error" or value.get("type") == "error"
    coded = isinstance(value.get("message"), str) and ("code" in value or "type" in value)
    return bool(value.keys() & (_ERROR_KEYS | _ANSWER_KEYS)) or marked or coded


def _har_entry(entry: Exchange, position: int) -> Exchange:
    response = cast("Exchange", entry["response"])
    request = cast("Exchange", entry["request"]) if isinstance(entry["request"], dict) else {}
    headers = {
        str(cast("Exchange", header).get("name")).lower(): str(cast("Exchange", header).get("value"))
        for header in _listed(response.get("headers"))
        if isinstance(header, dict)
    }
    url = str(request.get("url") or "")
    exchange: Exchange = {"id": entry.get("id"), "provider": pasted_http.provider_of(url, headers), "headers": headers}
    if isinstance(entry.get("startedDateTime"), str):
        exchange["now"] = entry["startedDateTime"]
    status = response.get("status")
    if not status:
        said = str(response.get("_error") or entry.get("_error") or "the browser got no answer")
        kind = next(name for mark, name in _BROWSER_ERRORS if mark in said)
        told_as = pasted_http.ToldAs(field="response._error", value=said)
        return {**exchange, "exception": {"type": kind, "message": said}, "told_as": told_as}
    content = response.get("content")
    text = _har_text(cast("Exchange", content) if isinstance(content, dict) else {}, position)
    return {**exchange, "status": status, **pasted_http.body_of(text, headers)}


def _listed(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def _har_text(content: Exchange, position: int) -> str:
    text = str(content.get("text") or "")
    if content.get("encoding") != "base64":
        return text
    try:
        return base64.b64decode(text, validate=True).decode(errors="replace")
    except (binascii.Error, ValueError):
        raise UsageError(f"item {position}: response.content.text is not valid base64") from None
