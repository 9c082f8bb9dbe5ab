"""When a schedule is due: what a person typed as a cron expression, its due times, and the missed ones as one (no clock here)."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, tzinfo
from itertools import islice, takewhile

from stoic.core.refusal import PROBE_DELAYS_MS
from stoic.errors import UsageError
from stoic.records import Record, Row, Schedule

MOST_COUNTED = 1_000
"""So many missed runs are counted; more are told as these."""
HOLD_MS = PROBE_DELAYS_MS[0]
"""So long after a turn that did not go well nothing is entered: like a first probe, since no person asked for it (SPEC §8)."""
EXAMPLES = (
    "'every day 09:00', 'every weekday at 8am', 'every monday and thursday 18:30', 'every 15 minutes', 'every 2 hours', "
    "'every month on the 1st at 09:00', or five fields of cron such as '0 9 * * 1-5'"
)

_LONGEST = 200
_FIELDS = 5
_MINUTES, _HOURS, _LAST_MONTHDAY = 60, 24, 31
_ALIASES = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
_WEEKDAYS = ("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday")
_DAYS = {
    "day": "*",
    "weekday": "1-5",
    "weekend": "0,6",
    **{name: str(number) for number, name in enumerate(_WEEKDAYS)},
    **{name[:3]: str(number) for number, name in enumerate(_WEEKDAYS)},
    "tues": "2",
    "weds": "3",
    "thur": "4",
    "thurs": "4",
}
_INTERVAL = re.compile(r"(?:([0-9]+) )?(minute|hour)s?")
_MONTHLY = re.compile(r"month on (?:the )?([0-9]+)(?:st|nd|rd|th)? (.+)")
_DAILY = re.compile(r"(.+?) (?:at )?([0-9]{1,2}(?::[0-9]{2})?(?: ?(?:am|pm))?|noon|midnight)")
_TIME = re.compile(r"(?:at )?([0-9]{1,2})(?::([0-9]{2}))? ?(am|pm)?")
_NAMED_TIMES = {"noon": (12, 0), "midnight": (0, 0)}


class Timing(Record, frozen=True):
    """When, as it was understood."""

    cron: str
    """Five fields."""
    zone: str


class Due(Record, frozen=True):
    """One run that stands for all that have come due."""

    due_ms: int
    """Since when."""
    missed: int
    """How many more have come due since then, at most `MOST_COUNTED`."""


def parse(text: str, zone: str) -> Timing:
    """Understand when something shall happen, in words or as a cron expression.

    Args:
        text: such as `every day 09:00` or `0 9 * * 1-5`
        zone: the time zone whose clock and days are meant, such as `Europe/Berlin`

    Raises:
        UsageError: it is not understood, never happens, or there is no such zone
    """
    said = " ".join(text.replace(",", " , ").split()).lower()
    if not said or len(text) > _LONGEST:
        raise _not_understood(text, f"it has {len(text)} characters" if said else "it is empty")
    timing = Timing(cron=_as_cron(text, said), zone=zone)
    next_due(timing, 0)
    return timing


def next_due(timing: Timing | Schedule, after_ms: int) -> int:
    """Return the first due time after a time, both in epoch milliseconds.

    By the clock of the zone: a time of day that a change of the clock skips is due when the clock goes on, and one that
    comes twice is due once.

    Raises:
        UsageError: it never comes, or the zone is not known here
    """
    found = next(_due_times(timing, after_ms), None)
    if found is None:
        raise UsageError(f"schedule {timing.cron!r} is never due; write for example {EXAMPLES}")
    return found


def due(schedule: Schedule, now_ms: int) -> Due | None:
    """Return the run that is due now, all that were missed folded into it; None: it is not time yet, or it is paused.

    Raises:
        UsageError: the zone is not known here
    """
    if schedule.paused or schedule.next_due_at > now_ms:
        return None
    since = takewhile(lambda due_ms: due_ms <= now_ms, _due_times(schedule, schedule.next_due_at))
    return Due(due_ms=schedule.next_due_at, missed=sum(1 for _ in islice(since, MOST_COUNTED)))


def held_until(outcome: Row | None, now_ms: int) -> int | None:
    """Return until when nothing is to be entered, since the thread's last turn did not go well just now; None: it may be.

    Args:
        outcome: the row of the thread's last outcome; None: it has none
        now_ms: epoch milliseconds
    """
    if outcome is None or outcome.content["outcome"] not in {"failed", "stopped"}:
        return None
    until_ms = outcome.created_at + HOLD_MS
    return until_ms if until_ms > now_ms else None


def zone_of(name: str) -> tzinfo:
    """Return a time zone by its name. Raises UsageError (none of that name is known here)."""
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError  # noqa: PLC0415 -- as below

    if name == "UTC":
        return UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise UsageError(
            f"there is no time zone {name[:_LONGEST]!r} here; name one such as UTC or Europe/Berlin (on a system without a "
            "time zone database, install the package tzdata)"
        ) from None


def _due_times(timing: Timing | Schedule, after_ms: int) -> Iterator[int]:
    """Yield the due times after a time, in order. Raises UsageError."""
    from cronsim import CronSim, CronSimError  # noqa: PLC0415 -- only who has a schedule pays for it

    last_ms, start = after_ms, datetime.fromtimestamp(after_ms // 1000, zone_of(timing.zone))
    try:
        times = CronSim(timing.cron, start)
    except CronSimError as error:
        raise _not_understood(timing.cron, str(error).lower()) from None
    for found in times:
        due_ms = round(found.timestamp()) * 1000
        # Where the clock was set back, a time of day comes a second time; it was due the first time.
        if due_ms > last_ms:
            yield due_ms
            last_ms = due_ms


def _as_cron(text: str, said: str) -> str:
    """Return the cron expression that a text is or says. Raises UsageError."""
    if said in _ALIASES:
        return _ALIASES[said]
    if said[0] in "*0123456789":
        fields = text.split()
        if len(fields) != _FIELDS:
            raise _not_understood(text, f"it has {len(fields)} fields of cron instead of five")
        return " ".join(fields)
    if said.startswith("daily "):
        said = f"every day {said.removeprefix('daily ')}"
    if not said.startswith("every "):
        raise _not_understood(text, "it begins neither with 'every' nor with a field of cron")
    return _every(text, said.removeprefix("every "))


def _every(text: str, said: str) -> str:
    interval = _INTERVAL.fullmatch(said)
    if interval:
        return _interval(text, int(interval[1] or 1), interval[2])
    monthly = _MONTHLY.fullmatch(said)
    if monthly:
        return f"{_clock(text, monthly[2])} {_monthday(text, int(monthly[1]))} * *"
    daily = _DAILY.fullmatch(said)
    if not daily:
        raise _not_understood(text, "it names no time of day")
    return f"{_clock(text, daily[2])} * * {_days(text, daily[1])}"


def _interval(text: str, count: int, unit: str) -> str:
    """Return every so many minutes or hours, if an hour or a day is made of whole ones: cron begins each anew."""
    whole = _MINUTES if unit == "minute" else _HOURS
    if count not in range(1, whole) or whole % count:
        counts = ", ".join(str(each) for each in range(1, whole) if whole % each == 0)
        raise _not_understood(text, f"the {unit}s must be one of {counts}")
    step = "*" if count == 1 else f"*/{count}"
    return f"{step} * * * *" if unit == "minute" else f"0 {step} * * *"


def _monthday(text: str, day: int) -> int:
    if day not in range(1, _LAST_MONTHDAY + 1):
        raise _not_understood(text, f"no month has a day {day}")
    return day


def _days(text: str, said: str) -> str:
    names = [name for name in said.split() if name not in {",", "and"}]
    unknown = [name for name in names if _day(name) is None]
    if unknown or not names:
        raise _not_understood(
            text, f"{' '.join(unknown)[:40]!r} is no day of the week" if unknown else "it names no day"
        )
    return ",".join(dict.fromkeys(str(_day(name)) for name in names))


def _day(name: str) -> str | None:
    return _DAYS.get(name) or _DAYS.get(name.removesuffix("s"))


def _clock(text: str, said: str) -> str:
    """Return minute and hour of a time of day as two fields of cron."""
    if said.removeprefix("at ") in _NAMED_TIMES:
        hour, minute = _NAMED_TIMES[said.removeprefix("at ")]
        return f"{minute} {hour}"
    found = _TIME.fullmatch(said)
    if not found:
        raise _not_understood(text, f"{said[:40]!r} is no time of day")
    hour, minute, half = int(found[1]), int(found[2] or 0), found[3]
    if half and hour in range(1, 13):
        hour = hour % 12 + (12 if half == "pm" else 0)
    elif half or hour not in range(_HOURS):
        raise _not_understood(text, f"{said[:40]!r} is no time of day")
    if minute not in range(_MINUTES):
        raise _not_understood(text, f"{said[:40]!r} is no time of day")
    return f"{minute} {hour}"


def _not_understood(text: str, why: str) -> UsageError:
    return UsageError(f"schedule {text[:80]!r} is not understood: {why}; write for example {EXAMPLES}")
