"""Finds the error objects of an exchange, wherever they sit: body, chunk, in-stream event, or inside another error."""

import ast
import re
import warnings
from collections.abc import Iterator

import msgspec

from stoic.core.classify.fields import at, items, mapping, number, text, word
from stoic.core.classify.rules import ErrorObject
from stoic.foreign_json import read_foreign
from stoic.records import Json

_PAGE = re.compile(r"<!doctype|<html|<head|<body", re.IGNORECASE)
_WRAPPED = re.compile(
    r"""(?:
        [\w\ .:/-]{0,160}?(?:Error\ code:\ \d{3}\ -\ |Exception\ -\ |[45]\d\d[.,]\ (?:[\w.-]+:\ [\w./:-]+,\ )?[Bb]ody:\ )
        | (?:\w*Error:\ )?[45]\d\d\ (?:[A-Z_]+\.\ )?
    )?(?:b['"])?(?P<inner>[{\[].*)""",
    re.DOTALL | re.VERBOSE,
)
"""A text that is an error as a whole, or after the prefix of an SDK; JSON quoted amid prose does not count."""
_PYTHON_TOKEN = re.compile(r"""'[^']*'|"[^"]*"|None|True|False""")
_PYTHON_NAME = re.compile("None|True|False")
_LITERAL_CHARACTERS = 20_000
"""A longer text is not read as a Python literal, which takes a hundred times its memory."""
_PYTHON_NAMES = {"None": "null", "True": "true", "False": "false"}
_NO_ERROR_WORDS = frozenset({"", "none", "null", "ok", "success", "0", "200"})
_ANSWER_KEYS = ("choices", "candidates", "output", "content", "response", "result", "generated_text")
_MESSAGE_KEYS = ("message", "Message", "error_msg", "errorMessage", "msg", "status_msg", "detail", "error_description")
_CODE_KEYS = ("code", "Code", "error_code", "status_code", "error_type", "type", "__type", "status")
_NESTED_CODES = (("details", "error_code"), ("innererror", "innererror", "code"), ("innererror", "code"))
_CODE_HOLDERS = frozenset({"details", "detail", "innererror", "metadata"})
_FLAT_CODES = frozenset({"error_code", "code", "__type"})
_ERROR_HOLDERS = ("Error", "ErrorMsg", "base_resp")
_HOLDERS = frozenset({*_ERROR_HOLDERS, "error", "errors", "detail", "header"})
"""The keys that `_nested` looks below; most documents of a stream have none of them."""
_ENCLOSERS = frozenset({"Response", "response", "choices"})
"""The keys that `_enclosed` looks below."""
_DEPTH = 4


def is_page(body: Json) -> bool:
    """Return whether a body is an HTML page, as proxies and CDNs write them."""
    return isinstance(body, str) and _PAGE.search(body[:2000]) is not None


def in_body(body: Json, status: int | None) -> list[ErrorObject]:
    """Return the error objects of an answer that was no stream; the most specific first."""
    failed = status is not None and status >= 400  # noqa: PLR2004 -- the first error status of HTTP
    if isinstance(body, str):
        if failed and body.strip() and not is_page(body):
            return [ErrorObject(path="body", data={}, codes=[], message=body, message_field="body", status=status)]
        return []
    return _found(body, "body", status, failed=failed, depth=0)


def in_event(name: str, data: Json, path: str) -> list[ErrorObject]:
    """Return the error objects of one stream event.

    Args:
        name: The event's name, or nothing.
        data: Its data, decoded.
        path: Where its data stands.
    """
    if name[-9:].lower() == "exception":  # AWS event streams name the event after the exception
        return [_error(mapping(data), path, None, extra=[(f"{path.removesuffix('.data')}.event", name)])]
    if name == "error" and isinstance(data, str) and data.strip():
        return [ErrorObject(path=path, data={}, codes=[], message=data, message_field=path)]
    named: list[ErrorObject] = []
    for key, value in mapping(data).items():  # a comprehension is a call for each of a stream's events
        if key[-9:] == "Exception":
            named.append(_error(mapping(value), f"{path}.{key}", None, extra=[(path, key)]))
    return named + _found(data, path, None, failed=name == "error", depth=0)


def in_message(message: str, path: str, status: int | None) -> list[ErrorObject]:
    """Return the error objects written inside a text, as SDKs and gateways do: `Error code: 429 - {'error': …}`."""
    matched = _WRAPPED.match(message.strip()) if "{" in message else None
    return _found(_parsed(matched["inner"]), path, status, failed=True, depth=1) if matched else []


def _parsed(inner: str) -> Json:
    """Return the JSON or Python literal that a text begins with, or None."""
    literal = inner[: max(inner.rfind("}"), inner.rfind("]")) + 1]
    for write in (str, _as_json):
        try:
            return read_foreign(write(literal).encode(errors="replace"))
        except msgspec.DecodeError:
            pass
    if len(literal) > _LITERAL_CHARACTERS:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an odd escape in somebody's text is no news for our user's terminal
        try:
            return ast.literal_eval(literal)
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            return None


def _as_json(literal: str) -> str:
    """Return a Python literal as JSON; one with escapes in it does not become any, and is left to Python's own parser."""
    if "\\" in literal:
        return literal
    if '"' in literal:
        return _PYTHON_TOKEN.sub(_json_token, literal)
    pieces = literal.split("'")  # every second one is a text
    pieces[::2] = _PYTHON_NAME.sub(_json_token, "'".join(pieces[::2])).split("'")
    return '"'.join(pieces)


def _json_token(token: re.Match[str]) -> str:
    word = token[0]
    return _PYTHON_NAMES.get(word) or '"' + word[1:-1].replace('"', '\\"') + '"'


def _found(value: Json, path: str, status: int | None, *, failed: bool, depth: int) -> list[ErrorObject]:
    """Return what looks like an error below a value."""
    if depth > _DEPTH:
        return []
    if isinstance(value, list):
        return [
            error
            for index, entry in enumerate(items(value)[:3])
            for error in _found(entry, f"{path}[{index}]", status, failed=failed, depth=depth + 1)
        ]
    data = mapping(value)
    nested: list[ErrorObject] = []
    if not _HOLDERS.isdisjoint(data):
        nested = _nested(data, path, status, failed=failed, depth=depth)
    if not _ENCLOSERS.isdisjoint(data):
        nested += _enclosed(data, path, status, depth)
    return nested or ([_error(data, path, status)] if _is_flat_error(data, failed=failed) else [])


def _nested(data: dict[str, Json], path: str, status: int | None, *, failed: bool, depth: int) -> list[ErrorObject]:
    """Return the errors below the keys that hold them."""
    found: list[ErrorObject] = []
    inner = data.get("error")
    if isinstance(inner, str) and inner.lower() not in _NO_ERROR_WORDS:
        found.append(_error(data, path, status, message=(inner, f"{path}.error")))
    elif isinstance(inner, dict) and inner:
        found += _object_error(mapping(inner), data, f"{path}.error", status, depth)
    for key in _ERROR_HOLDERS:
        if key in data and mapping(data[key]) and number(at(data, key, "status_code")) != 0:
            found.append(_error(mapping(data[key]), f"{path}.{key}", status))
    if number(at(data, "header", "code")):  # iFlytek's WebSocket answers
        found.append(_error(mapping(data["header"]), f"{path}.header", status))
    if failed or data.get("success") is False:
        found += _found(data.get("errors"), f"{path}.errors", status, failed=True, depth=depth + 1)
    if failed and isinstance(data.get("detail"), dict):
        found += _found(data["detail"], f"{path}.detail", status, failed=True, depth=depth + 1)
    return found


def _enclosed(data: dict[str, Json], path: str, status: int | None, depth: int) -> list[ErrorObject]:
    """Return the errors of what a document encloses: a response, or one of a reply's choices."""
    found: list[ErrorObject] = []
    if "Response" in data and mapping(data["Response"]):  # Tencent wraps every answer so
        found += _found(data["Response"], f"{path}.Response", status, failed=False, depth=depth + 1)
    if "response" in data and at(data, "response", "error") and text(data.get("type")).startswith("response."):
        found += _found(data["response"], f"{path}.response", status, failed=False, depth=depth + 1)
    for index, choice in enumerate(items(data.get("choices"))[:3]):
        if mapping(choice).get("error"):
            found += _found(choice, f"{path}.choices[{index}]", status, failed=False, depth=depth + 1)
    return found


def _object_error(
    inner: dict[str, Json], outer: dict[str, Json], path: str, status: int | None, depth: int
) -> list[ErrorObject]:
    """Return an error object, or the ones inside it."""
    if isinstance(inner.get("error"), dict | str) and inner.get("error"):
        return _found(inner, path, status, failed=True, depth=depth + 1)
    outer_code = word(outer.get("code"))
    extra = [(f"{path.removesuffix('.error')}.code", outer_code)] if outer_code else []
    return [_error(inner, path, status, after=extra, around=outer)]


def _is_flat_error(data: dict[str, Json], *, failed: bool) -> bool:
    """Return whether an object is an error without an `error` key."""
    if not data:
        return False
    if failed:
        return True
    if "error" in (data.get("type"), data.get("object"), data.get("event_type")):
        return True
    if _FLAT_CODES.isdisjoint(data):
        return False
    if data.get("error_code") not in (None, 0, "0", ""):
        return True
    named = word(data.get("code")).lower() not in _NO_ERROR_WORDS or "__type" in data
    return named and isinstance(data.get("message"), str) and not any(map(data.get, _ANSWER_KEYS))


def _error(
    data: dict[str, Json],
    path: str,
    status: int | None,
    *,
    message: tuple[str, str] | None = None,
    extra: list[tuple[str, str]] | None = None,
    after: list[tuple[str, str]] | None = None,
    around: dict[str, Json] | None = None,
) -> ErrorObject:
    said, field = message or _message(data, path)
    return ErrorObject(
        path=path,
        data=data,
        codes=[*(extra or []), *_codes(data, path), *(after or [])],
        message=said,
        message_field=field,
        status=status if status is not None and status >= 400 else _named_status(data),  # noqa: PLR2004 -- HTTP errors
        around=around or {},
    )


def _message(data: dict[str, Json], path: str) -> tuple[str, str]:
    for key in _MESSAGE_KEYS:
        value = data.get(key)
        if isinstance(value, str) and value:
            return value, f"{path}.{key}"
        if isinstance(value, list) and value:  # FastAPI's list of validation errors
            return text(mapping(items(value)[0]).get("msg")), f"{path}.{key}[0].msg"
    return "", path


def _codes(data: dict[str, Json], path: str) -> list[tuple[str, str]]:
    """Return an error's codes, from the most specific to the widest."""
    nested = not _CODE_HOLDERS.isdisjoint(data) and any(map(data.get, _CODE_HOLDERS))
    found = list(_nested_codes(data, path)) if nested else []
    for key in _CODE_KEYS:
        if key not in data:
            continue
        value = word(data[key])
        if key == "__type":
            value = value.rpartition("#")[2]
        if value.lower() not in _NO_ERROR_WORDS:
            found.append((f"{path}.{key}", value))
    if nested:
        found += _word_at(data, path, "metadata", "provider_code")
    return found


def _nested_codes(data: dict[str, Json], path: str) -> Iterator[tuple[str, str]]:
    """Yield the codes in an error's own objects, which say more than its first level."""
    for keys in _NESTED_CODES:
        if data.get(keys[0]):
            yield from _word_at(data, path, *keys)
    for index, detail in enumerate(items(data.get("details"))):
        yield from _word_at(mapping(detail), f"{path}.details[{index}]", "reason")
    for detail in items(data.get("detail"))[:1]:
        yield from _word_at(mapping(detail), f"{path}.detail[0]", "type")
    yield from _word_at(data, path, "metadata", "error_type")


def _word_at(data: dict[str, Json], path: str, *keys: str) -> list[tuple[str, str]]:
    value = word(at(data, *keys))
    return [(".".join((path, *keys)), value)] if value else []


def _named_status(data: dict[str, Json]) -> int | None:
    """Return the HTTP status an error names itself, as aggregators do inside a 200."""
    for key in ("code", "status", "status_code", "raw_status_code", "http_status", "originalStatusCode"):
        value = number(data[key]) if key in data else None
        if value is not None and 400 <= value < 600:  # noqa: PLR2004 -- the error statuses of HTTP
            return int(value)
    return None
