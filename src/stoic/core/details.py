"""What a provider or a network said of a failure, shortened for a person; never of a refusal, never a key (SPEC §8)."""

import re
from typing import cast

from stoic.records import ExceptionFact, Json, Report

LIMIT_CHARACTERS = 400
_KEY = re.compile(r"\b(?:sk|pk|key|gsk|xai|AIza)[-_]?[A-Za-z0-9*_.…-]{8,}|Bearer\s+\S+", re.IGNORECASE)
_SPACES = re.compile(r"\s+")


def detail_of(report: Report) -> str | None:
    """Return the failure's own words: the error's message, the exception's, or the beginning of a body that is text."""
    said = _error_message(report.body)
    for event in report.events:
        said = said or _error_message(event.get("data"), required="error")
    if said is None and isinstance(report.body, str):
        said = report.body
    if said is None and report.exception is not None:
        said = _told_by(report.exception)
    if said is None:
        return None
    told = _SPACES.sub(" ", _KEY.sub("[key]", said)).strip()
    return told[:LIMIT_CHARACTERS] + ("…" if len(told) > LIMIT_CHARACTERS else "") if told else None


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
    """Return the message of an error object, wherever the usual shapes keep it."""
    if not isinstance(value, dict):
        return None
    tree = cast("dict[str, Json]", value)
    inner = tree.get("error", tree.get("response"))
    if isinstance(inner, str):
        return inner
    if isinstance(inner, dict):
        return _error_message(inner)
    if required is not None and tree.get("type") != required:
        return None
    message = tree.get("message") or tree.get("error_msg") or tree.get("detail")
    return message if isinstance(message, str) else None
