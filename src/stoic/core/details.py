"""What a provider or a network said of a failure, shortened for a person; never of a refusal, never a key (SPEC §8)."""

import re
from typing import cast

import msgspec

from stoic.records import ExceptionFact, Json, Report

LIMIT_CHARACTERS = 400
LIMIT_RAW_CHARACTERS = 300
"""Of an error in which no message is found."""
_FIRST_ERROR_STATUS = 400
_MESSAGES = ("message", "error_msg", "msg", "status_msg", "detail", "error_description", "title")
"""Where an error's own sentence stands, the best first."""
_LISTS = ("detail", "errors", "base_resp")
"""Where errors stand within an error."""
_MOST = 3
"""So many errors of a list are told."""
_KEY = re.compile(r"\b(?:sk|pk|key|gsk|xai|AIza)[-_]?[A-Za-z0-9*_.…-]{8,}|Bearer\s+\S+", re.IGNORECASE)
_SPACES = re.compile(r"\s+")


def detail_of(report: Report) -> str | None:
    """Return the failure's own words: the error's message, the exception's, or the beginning of an error in no known form."""
    said = _error_message(report.body)
    for event in report.events:
        said = said or _error_message(event.get("data"), required="error")
    if said is None and report.exception is not None:
        said = _told_by(report.exception)
    if said is not None:
        return _shortened(said, LIMIT_CHARACTERS)
    is_error = report.status is not None and report.status >= _FIRST_ERROR_STATUS
    raw = msgspec.json.encode(report.body).decode() if is_error and report.body else ""
    return _shortened(raw, LIMIT_RAW_CHARACTERS)


def _shortened(said: str, most: int) -> str | None:
    told = _SPACES.sub(" ", _KEY.sub("[key]", said)).strip()
    return told[:most] + ("…" if len(told) > most else "") if told else None


def _told_by(exception: ExceptionFact) -> str:
    """Return an exception's message and those of its causes that say more, after the server that was asked."""
    told = [exception.message] if exception.message else []
    for cause in exception.cause:
        message = cause.partition(": ")[2] or cause
        if not any(message in each for each in told):
            told.append(cause)
    said = " ← ".join(told) or exception.type
    server, proxy = exception.fields.get("server"), exception.fields.get("proxy")
    through = f" through the proxy {proxy}" if proxy else ""
    return f"{server}{through}: {said}" if server else said


def _error_message(value: Json, *, required: str | None = None) -> str | None:
    """Return the message of an error, wherever the usual shapes keep it; never what they repeat of the request.

    Args:
        value: a body, the data of an event, or something within one
        required: the type that an object without an inner error must have
    """
    if isinstance(value, dict):
        return _message_of(cast("dict[str, Json]", value), required)
    if required is not None:
        return None
    if isinstance(value, list):
        told = [said for each in cast("list[Json]", value)[:_MOST] if (said := _error_message(each))]
        return "; ".join(told) or None
    return value if isinstance(value, str) else None


def _message_of(tree: dict[str, Json], required: str | None) -> str | None:
    inner = _error_message(tree.get("error") or tree.get("response"))
    if inner or (required is not None and tree.get("type") != required):
        return inner
    said = next((each for name in _MESSAGES if isinstance(each := tree.get(name), str) and each), None)
    if said is None:
        return next((each for name in _LISTS if (each := _error_message(tree.get(name)))), None)
    place = tree.get("loc")
    steps = (
        [str(step) for step in cast("list[Json]", place) if isinstance(step, str | int)]
        if isinstance(place, list)
        else []
    )
    return f"{'.'.join(steps)}: {said}" if steps else said
