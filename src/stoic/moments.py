"""Turns stored times into dates; a time that no calendar has, as a damaged log may hold it, is shown as the end of ours."""

from datetime import UTC, datetime, tzinfo

_FIRST_MS = -62_135_510_400_000
_LAST_MS = 253_402_214_400_000
"""A day within the years 1 and 9999, so that no zone leads out of them."""


def date_of(epoch_ms: int, zone: tzinfo = UTC) -> datetime:
    """Return a time in epoch milliseconds as a date of a zone."""
    return datetime.fromtimestamp(min(max(epoch_ms, _FIRST_MS), _LAST_MS) / 1000, zone)
