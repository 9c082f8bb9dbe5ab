"""Names every failure: a report of one attempt becomes a class, what it recovers with, and the field that said so.

This is a library of its own: it knows the records and nothing of the runtime, reads no clock, and importing it costs
little more than importing msgspec. The records are loaded with the first report, the tables with the first that is no
plain reply.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from stoic.core.classify.verdict import Evidence, Verdict
    from stoic.records import Report

__all__ = ["Evidence", "Verdict", "classify", "report_from"]


def classify(report: Report) -> Verdict:
    """Say what a report means.

    Evidence counts in this order: an exception and its causes, the error object's own codes wherever it sits, the HTTP
    status, a text its provider is known to use. An exception that came after the protocol's own end, or after an error
    the provider had already sent, says nothing new.

    Args:
        report: What one attempt brought, live or recorded.

    Returns:
        The verdict; its `failure` is None for a complete and normal reply. Never raises for what a report holds.
    """
    is_plain, verdict = _short_cut()
    return verdict(failure=None, request_id=report.request_id) if is_plain(report) else _judge()(report)


@cache  # the statement that imports would be run again for every report
def _short_cut() -> tuple[Callable[[Report], bool], type[Verdict]]:
    """Load what names a plain reply."""
    from stoic.core.classify.plain import is_plain  # noqa: PLC0415 -- the budget of this import (module docstring)
    from stoic.core.classify.verdict import Verdict  # noqa: PLC0415 -- as above

    return is_plain, Verdict


@cache
def _judge() -> Callable[[Report], Verdict]:
    """Load what judges every other report."""
    from stoic.core.classify.judge import judge  # noqa: PLC0415 -- as above

    return judge


def report_from(exchange: dict[str, Any]) -> Report:
    """Build a report from a recorded exchange, as `stoic explain` reads it.

    Args:
        exchange: `status`, `body` (a JSON value or text), `sse` (a list of `{"event", "data"}` and `{"comment"}`) or
            `exception` (`type`, `message`, `cause`, `after_first_byte`): at least one of them. Optional: `provider`
            (default `unknown`), `api`, `transport` (`sse`: the events stand in `body`), `headers`, `end` (`clean`, the
            default, or `cut`), `now` (ISO 8601 or epoch milliseconds).

    Returns:
        The report, its reply already assembled.

    Raises:
        UsageError: The exchange is malformed; the message says which field is wrong.
    """
    from stoic.core.classify.reports import report_from as build  # noqa: PLC0415 -- as above

    return build(exchange)


def __getattr__(name: str) -> Any:
    """Load the types of verdicts when they are first asked for (PEP 562)."""
    if name not in {"Evidence", "Verdict"}:
        raise AttributeError(f"module 'stoic.core.classify' has no attribute {name!r}")
    from stoic.core.classify import verdict  # noqa: PLC0415 -- as above

    return getattr(verdict, name)
