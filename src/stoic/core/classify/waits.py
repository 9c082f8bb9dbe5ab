"""Reads how long a provider asks to wait: headers, error fields, or the text of an error."""

import re
from datetime import datetime, timedelta, timezone

from stoic.core.classify.fields import at, holds_one, items, mapping, number, shortened, text
from stoic.core.classify.rules import ErrorObject
from stoic.core.classify.verdict import Evidence
from stoic.records import Json

_UNIT_MS = {
    "ms": 1, "millisecond": 1, "s": 1000, "sec": 1000, "second": 1000, "秒": 1000, "m": 60_000, "min": 60_000,
    "minute": 60_000, "分钟": 60_000, "分": 60_000, "h": 3_600_000, "hr": 3_600_000, "hour": 3_600_000,
    "小时": 3_600_000, "d": 86_400_000, "day": 86_400_000, "天": 86_400_000,
}  # fmt: skip
_UNITS_MS = {f"{name}s": amount for name, amount in _UNIT_MS.items()} | _UNIT_MS
"""By unit, one or many; `ms` is no plural of `m`."""
_UNIT = r"(?:milliseconds?|ms|seconds?|secs?|minutes?|mins?|hours?|hrs?|days?|[smhd](?![a-z])|秒|分钟|分|小时|天)"
# A number is only looked at from its first digit: from each of them, a long one would cost the square of its length.
_DURATION = rf"(?<!\d)\d+(?:\.\d+)?\s*{_UNIT}(?:[\s,]*(?:and\s+)?\d+(?:\.\d+)?\s*{_UNIT})*"
_PIECE = re.compile(rf"(?<!\d)(\d+(?:\.\d+)?)\s*({_UNIT})")
"""One part of a duration in lower case."""
_IN_WORDS = tuple(
    (fixed.split(), re.compile(pattern))
    for fixed, pattern in (
        (
            "in after for",
            rf"(?:try again|retry|retrying|wait|available|resets?(?! by)|refresh\w*|renew\w*|replenish\w*)\b[^.;\d]{{0,40}}?\b(?:in|after|for)\s+(?:about |approximately |around |~ ?)?(?P<d>{_DURATION})",
        ),
        (
            ":",
            r"(?:retry|try again|resets?|replenish\w*|available)\s+(?:in|after)\s+(?P<c>(?:\d+\.)?\d{1,2}:\d{2}:\d{2})\b",
        ),
        ("wait", rf"\bwait\s+(?P<d>{_DURATION})"),
        ("before 后", rf"(?P<d>{_DURATION})\s*(?:before (?:retrying|trying)|后)"),
        (
            "after",
            r"\bretry[-_ ]after[-_ ]?(?:seconds|secs)?[\"']?\s*[:= ]\s*[\"']?(?P<s>\d++(?:\.\d++)?+)(?![\d.]*\s*[a-z%:/-])",
        ),
    )
)
"""Each with texts of which one stands in whatever the pattern finds."""
_WAIT_WORDS = ("try", "wait", "available", "reset", "refresh", "renew", "replenish", "后")
"""One of these stands in every text that states a duration."""
_EPOCH_IN_WORDS = re.compile(r"(?:reset|until|reached|again)\D{0,20}\b(\d{10})(\d{3})?\b")
_RESET_WORDS = (
    "reset", "regain", "again", "until", "available", "retry", "resume", "refresh", "renew", "restored", "重置", "恢复", "后"
)  # fmt: skip
_ISO = re.compile(
    r"(\d{4})-(\d{2})-(\d{2})(?:(?:[T ]|\s+at\s+)(\d{2}):(\d{2})(?::(\d{2})(?:\.\d+)?)?)?\s*(Z|UTC|GMT|[+-]\d{2}:?\d{2})?"
)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = r"(?P<month>jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_CLOCK = r"(?:,?\s*(?:at\s+)?(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2}))?\s*(?P<half>am|pm)?)?"
_NAMED_DATES = tuple(
    re.compile(pattern)
    for pattern in (
        rf"\b{_MONTH}\s+(?P<day>\d{{1,2}})(?:st|nd|rd|th)?,?\s+(?P<year>\d{{4}}){_CLOCK}",
        rf"\b(?P<day>\d{{1,2}})\s+{_MONTH}\s+(?P<year>\d{{4}}){_CLOCK}",
        rf"\b(?P<day>\d{{2}})-{_MONTH}-(?P<year>\d{{2}}){_CLOCK}",
        rf"\b{_MONTH}\s+(?P<day>\d{{1,2}}){_CLOCK}\s+(?P<year>\d{{4}})",
    )
)
"""Dates with a month's name; the last two are HTTP's obsolete forms, which a recipient must still read (RFC 9110)."""
_RESET_FIELDS = ("resets_at", "reset_at", "resetsAt", "reset_time", "next_reset", "quota_reset_at")
_WAIT_FIELDS_SECONDS = ("resets_in_seconds", "retry_after", "retry_after_seconds", "retryAfter", "estimated_time")
_WAIT_FIELDS = (*_WAIT_FIELDS_SECONDS, *_RESET_FIELDS)
_WAIT_NAMES = frozenset(_WAIT_FIELDS)
_DIGIT = re.compile(r"\d")
_YEAR = re.compile(r"\d{4}|-\d{2}\b")
"""Every date with a month's name holds one of these."""
_LONGEST_TEXT = 4000
"""So much of a text is searched for a time, whoever sent how much."""
_LONGEST_MS = 400 * 86_400_000
"""A wait beyond a year is a misread number."""


class Stated(Evidence, frozen=True):
    """A wait with the field that stated it."""

    wait_ms: int = 0


def stated(
    headers: dict[str, str], errors: list[ErrorObject], received_at: int | None, zone_hours: int, *, limited: bool
) -> Stated | None:
    """Return the wait an exchange states, the most exact source first, or None.

    Args:
        headers: Names in lower case.
        errors: The exchange's error objects.
        received_at: Epoch milliseconds that dates are relative to; None: the `date` header's.
        zone_hours: The zone of dates without one.
        limited: Whether a limit is the cause, so that the reset headers of limits are about it.
    """
    now_ms = now(headers, received_at)
    found = _from_retry_headers(headers, now_ms) or _from_errors(errors, now_ms, zone_hours)
    return found or (_from_reset_headers(headers, now_ms) if limited else None)


def stated_reset(
    errors: list[ErrorObject], headers: dict[str, str], received_at: int | None, zone_hours: int
) -> Stated | None:
    """Return the wait until an allowance returns: what the error itself says, never a general retry header."""
    return _from_errors(errors, now(headers, received_at), zone_hours)


def now(headers: dict[str, str], received_at: int | None) -> int | None:
    """Return the time of the answer in epoch milliseconds, if known."""
    return received_at if received_at is not None else date_ms(headers.get("date", ""), 0)


def _stated(field: str, value: str, wait_ms: float | None) -> Stated | None:
    if wait_ms is None or not 0 <= wait_ms <= _LONGEST_MS:
        return None
    return Stated(field=field, value=shortened(value), wait_ms=round(wait_ms))


# ---- headers ------------------------------------------------------------------------------------


def _from_retry_headers(headers: dict[str, str], now_ms: int | None) -> Stated | None:
    for name, unit_ms in (("retry-after-ms", 1), ("x-ms-retry-after-ms", 1), ("retry-after", 1000)):
        value = headers.get(name)
        if not value:
            continue
        amount = number(value)
        wait_ms = amount * unit_ms if amount is not None else _moment_or_duration_ms(value, now_ms, 0)
        found = _stated(f"headers.{name}", value, wait_ms)
        if found:
            return found
    return None


def _from_reset_headers(headers: dict[str, str], now_ms: int | None) -> Stated | None:
    """Return the longest reset among the limits that are used up."""
    found = [
        stated_wait
        for name, value in headers.items()
        if "ratelimit" in name and "reset" in name and _used_up(headers, name)
        for stated_wait in (_stated(f"headers.{name}", value, _field_ms(value, now_ms, 0)),)
        if stated_wait
    ]
    return max(found, key=lambda one: one.wait_ms, default=None)


def _used_up(headers: dict[str, str], reset_name: str) -> bool:
    """Return whether a reset header's limit is exhausted; one without a count beside it counts as such."""
    return (number(headers.get(reset_name.replace("reset", "remaining"))) or 0) <= 0


def _amount_ms(amount: float, now_ms: int | None) -> float | None:
    """Return the wait that a bare number states: epoch milliseconds, epoch seconds or seconds, by its size."""
    if amount >= 1e12:  # noqa: PLR2004 -- epoch milliseconds since 2001
        return _until(int(amount), now_ms)
    if amount >= 1e9:  # noqa: PLR2004 -- epoch seconds since 2001
        return _until(int(amount * 1000), now_ms)
    return amount * 1000


def _moment_or_duration_ms(value: str, now_ms: int | None, zone_hours: int) -> float | None:
    moment_ms = date_ms(value, zone_hours)
    return duration_ms(value) if moment_ms is None else _until(moment_ms, now_ms)


def _until(moment_ms: int, now_ms: int | None) -> float | None:
    return None if now_ms is None else max(0, moment_ms - now_ms)


# ---- error fields and texts ---------------------------------------------------------------------


def _from_errors(errors: list[ErrorObject], now_ms: int | None, zone_hours: int) -> Stated | None:
    for error in errors:
        found = _from_fields(error, now_ms, zone_hours) or _from_text(error, now_ms, zone_hours)
        if found:
            return found
    return None


def _from_fields(error: ErrorObject, now_ms: int | None, zone_hours: int) -> Stated | None:
    metadata = mapping(error.data.get("metadata"))
    if not metadata and "details" not in error.data and _WAIT_NAMES.isdisjoint(error.data):
        return None
    for index, detail in enumerate(items(error.data.get("details"))):
        delay = mapping(detail).get("retryDelay")
        wait_ms = _delay_ms(delay)
        told = delay if isinstance(delay, str) or wait_ms is None else f"{wait_ms / 1000:g}s"
        found = _stated(f"{error.path}.details[{index}].retryDelay", str(told), wait_ms)
        if found:
            return found
    for prefix, data in ((error.path, error.data), (f"{error.path}.metadata", metadata)):
        if _WAIT_NAMES.isdisjoint(data):
            continue
        for key in _WAIT_FIELDS:
            found = _stated(f"{prefix}.{key}", str(data.get(key)), _field_ms(data.get(key), now_ms, zone_hours))
            if found:
                return found
    return _from_inner_headers(error, mapping(metadata.get("headers")), now_ms) if metadata else None


def _delay_ms(delay: Json) -> float | None:
    """Return a google.protobuf.Duration in milliseconds, as text or as an object."""
    if isinstance(delay, str):
        return duration_ms(delay)
    seconds, nanos = number(at(delay, "seconds")), number(at(delay, "nanos"))
    return None if seconds is None else seconds * 1000 + (nanos or 0) / 1e6


def _field_ms(value: Json, now_ms: int | None, zone_hours: int) -> float | None:
    amount = number(value)
    if amount is not None:
        return _amount_ms(amount, now_ms)
    return _moment_or_duration_ms(text(value), now_ms, zone_hours)


def _from_inner_headers(error: ErrorObject, inner: dict[str, Json], now_ms: int | None) -> Stated | None:
    """Read the headers that an aggregator passes on inside the error."""
    headers = {name.lower(): str(value) for name, value in inner.items()}
    found = _from_retry_headers(headers, now_ms) or _from_reset_headers(headers, now_ms)
    return found and _stated(f"{error.path}.metadata.{found.field}", found.value, found.wait_ms)


def _from_text(error: ErrorObject, now_ms: int | None, zone_hours: int) -> Stated | None:
    message = error.message[:_LONGEST_TEXT]
    if not _DIGIT.search(message):
        return None
    lowered = message.lower()
    for fixed, pattern in _IN_WORDS if holds_one(_WAIT_WORDS, lowered) else ():
        matched = pattern.search(lowered) if holds_one(fixed, lowered) else None
        if matched:
            groups = matched.groupdict()
            clock, duration = groups.get("c"), groups.get("d") or f"{groups.get('s')}s"
            return _stated(
                error.message_field,
                message[slice(*matched.span())],
                _clock_ms(clock) if clock else duration_ms(duration),
            )
    moment_ms = date_ms(message, zone_hours) if holds_one(_RESET_WORDS, lowered) else None
    if moment_ms is not None:
        return _stated(error.message_field, message, _until(moment_ms, now_ms))
    epoch = _EPOCH_IN_WORDS.search(lowered)
    return _stated(error.message_field, epoch[0], _until(int(epoch[1]) * 1000, now_ms)) if epoch else None


def duration_ms(value: str) -> float | None:
    """Return a duration such as `1m30s`, `480ms` or `2 hours and 5 minutes` in milliseconds; None if it is none."""
    total = [float(amount) * _UNITS_MS[unit] for amount, unit in _PIECE.findall(value[:_LONGEST_TEXT].lower())]
    return sum(total) if total else None


def _clock_ms(value: str) -> float:
    """Return a duration as .NET writes it, `[days.]hours:minutes:seconds`, in milliseconds."""
    days, _, clock = value.rpartition(".")
    hours, minutes, seconds = (int(part) for part in clock.split(":"))
    return 1000 * (int(days or 0) * 86_400 + hours * 3600 + minutes * 60 + seconds)


# ---- dates --------------------------------------------------------------------------------------


def date_ms(value: str, zone_hours: int) -> int | None:
    """Return the first date in a text as epoch milliseconds: ISO 8601, an HTTP date or one with a month's name.

    Args:
        value: The text.
        zone_hours: The zone of a date without one, as hours east of UTC.
    """
    value = value[:_LONGEST_TEXT]
    matched = _ISO.search(value) if "-" in value else None
    if matched:
        year, month, day, hour, minute, second, zone = matched.groups()
        return _moment_ms((year, month, day, hour, minute, second), _zone(zone, zone_hours))
    lowered = value.lower()
    for pattern in _NAMED_DATES if holds_one(_MONTHS, lowered) and _YEAR.search(value) else ():
        named = pattern.search(lowered)
        if named:
            month = str(_MONTHS.index(named["month"]) + 1)
            parts = (f"20{named['year']}"[-4:], month, named["day"], _hour(named), named["minute"], named["second"])
            return _moment_ms(parts, timezone(timedelta(hours=zone_hours)))
    return None


def _hour(named: re.Match[str]) -> str | None:
    half = named["half"]
    return str(int(named["hour"]) % 12 + (12 if half == "pm" else 0)) if half else named["hour"]


def _zone(zone: str | None, zone_hours: int) -> timezone:
    if zone is None or zone.isalpha():
        return timezone(timedelta(hours=0 if zone else zone_hours))
    minutes = int(zone[1:3]) * 60 + int(zone[-2:])
    return timezone(timedelta(minutes=max(-1439, min(1439, minutes if zone[0] == "+" else -minutes))))


def _moment_ms(parts: tuple[str | None, ...], zone: timezone) -> int | None:
    try:
        year, month, day, hour, minute, second = (int(part or 0) for part in parts)
        return round(datetime(year, month, day, hour, minute, second, tzinfo=zone).timestamp() * 1000)
    except ValueError:
        return None
