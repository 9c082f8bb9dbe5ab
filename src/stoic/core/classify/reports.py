"""Turns a recorded exchange, as the case files write it, into a report."""

from typing import Any

from stoic.core.classify import exceptions, waits
from stoic.core.classify.documents import documents_of, read_reply
from stoic.core.classify.fields import decoded, items, mapping, number, shortened, text
from stoic.errors import UsageError
from stoic.records import Json, Report

_SOURCES = ("status", "body", "sse", "exception")


def report_from(exchange: dict[str, Any]) -> Report:
    """Build a report from a recorded exchange.

    Args:
        exchange: `provider`, `api`, `transport`, `status`, `headers`, `body` (a JSON value or text) or `sse` (a list of
            `{"event", "data"}` and `{"comment"}`) with `end` (`clean` or `cut`; default `clean`), `exception`
            (`type`, `message`, `cause`, `after_first_byte`), `now` (ISO 8601 or epoch milliseconds). With `transport`
            `sse` the events may stand in `body`. All but one of status, body, sse and exception are optional.

    Returns:
        The report, its reply already assembled.

    Raises:
        UsageError: The exchange is malformed; the message says which field is wrong.
    """
    if not any(exchange.get(key) is not None for key in _SOURCES):
        raise UsageError("has none of status, body, sse and exception: nothing to explain")
    _optional_text(exchange, "transport")
    end = _end(exchange)
    events = _events(exchange)
    streamed = events is not None
    report = Report(
        provider=_optional_text(exchange, "provider") or "unknown",
        api=_optional_text(exchange, "api"),
        model=_optional_text(exchange, "model"),
        status=_status(exchange.get("status")),
        headers=_headers(exchange.get("headers")),
        body=None if streamed else decoded(exchange.get("body")),
        stream=streamed,
        events=events or [],
        end=end if streamed else None,
        exception=_exception(exchange.get("exception")),
        received_at=_moment(exchange.get("now")),
    )
    return _assembled(report)


def _assembled(report: Report) -> Report:
    """Return the report with what its reply holds."""
    reading = read_reply(report, documents_of(report.body, report.events))
    if not reading.known:
        return report
    return Report(
        **{name: getattr(report, name) for name in report.__struct_fields__ if name not in _ASSEMBLED},
        parts=reading.parts,
        finish=reading.finish,
        ended=reading.ended,
        end_unconfirmed=reading.done and not reading.ended,
        served_model=reading.served_model,
        usage=reading.usage,
    )


_NOTHING = type(None)
_EXCEPTION_FIELDS: dict[str, tuple[type, ...]] = {
    "message": (str, _NOTHING),
    "cause": (str, list, _NOTHING),
    "after_first_byte": (bool, _NOTHING),
}
_EXCEPTION_WORDS = {"message": "text", "cause": "text or a list of texts", "after_first_byte": "true or false"}
_ASSEMBLED = ("parts", "finish", "ended", "end_unconfirmed", "served_model", "usage")


def _optional_text(exchange: dict[str, Any], key: str) -> str | None:
    value = exchange.get(key)
    if value is not None and not isinstance(value, str):
        raise UsageError(f"{key} must be text, not {_kind(value)}")
    return value


def _status(value: Json) -> int | None:
    if value is None:
        return None
    if not isinstance(value, int) or not 100 <= value <= 999:  # noqa: PLR2004 -- three digits
        raise UsageError(f"status must be an HTTP status number, not {_kind(value)}")
    return value


def _headers(value: Json) -> dict[str, str]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise UsageError(f"headers must be an object, not {_kind(value)}")
    return {name.lower(): _header(name, one) for name, one in mapping(value).items()}


def _header(name: str, value: Json) -> str:
    """Return a header's value; several are joined as HTTP joins them, and an absent one is empty."""
    if isinstance(value, list):
        return ", ".join(_header(name, one) for one in items(value))
    if isinstance(value, dict):
        raise UsageError(f"headers.{shortened(name)} must be text, not {_kind(value)}")
    return "" if value is None else str(value)


def _events(exchange: dict[str, Any]) -> list[dict[str, Json]] | None:
    """Return the stream's events, or None if the exchange was no stream."""
    value = exchange.get("sse")
    if value is None and exchange.get("transport") == "sse":
        value = exchange.get("body")
    if value is None:
        return None
    if not isinstance(value, list):
        raise UsageError(f"sse must be a list of events, not {_kind(value)}")
    for position, event in enumerate(value, 1):  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType] -- checked below
        if not isinstance(event, dict):
            raise UsageError(f"sse event {position} must be an object, not {_kind(event)}")
    return [
        {"event": event.get("event"), "data": decoded(event.get("data"))} if "comment" not in event else event
        for event in map(mapping, value)  # pyright: ignore[reportUnknownArgumentType] -- mapping takes any value
    ]


def _end(exchange: dict[str, Any]) -> Any:
    value = exchange.get("end") or "clean"
    if value not in ("clean", "cut"):
        raise UsageError(f"end must be clean or cut, not {_kind(value)}")
    return value


def _exception(value: Json) -> Any:
    if value is None:
        return None
    if not text(mapping(value).get("type")):
        raise UsageError("exception must be an object with a type")
    for key, kinds in _EXCEPTION_FIELDS.items():
        field = mapping(value).get(key)
        if not isinstance(field, kinds):
            raise UsageError(f"exception.{key} must be {_EXCEPTION_WORDS[key]}, not {_kind(field)}")
    return exceptions.from_fields(mapping(value))


def _moment(value: Json) -> int | None:
    if value is None:
        return None
    amount = number(value)
    moment = int(amount) if amount is not None else waits.date_ms(text(value), 0)
    if moment is None:
        raise UsageError(f"now must be an ISO 8601 time, not {_kind(value)}")
    return moment


def _kind(value: Json) -> str:
    """Return a wrong value as an error line shows it."""
    shown = repr(value) if isinstance(value, str | int | float) else type(value).__name__
    return shown if len(shown) <= 40 else shown[:39] + "…"  # noqa: PLR2004 -- the number that is cut to
