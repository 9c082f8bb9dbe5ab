"""Schedules: what people type, when it is due, and what becomes of missed runs."""

from datetime import datetime
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from stoic.core.schedules import HOLD_MS, MOST_COUNTED, Due, Timing, due, held_until, next_due, parse, zone_of
from stoic.errors import UsageError
from stoic.records import Row, Schedule

BERLIN = ZoneInfo("Europe/Berlin")
DAY_MS = 24 * 3_600_000

UNDERSTOOD = {
    "every day 09:00": "0 9 * * *",
    "every day at 9": "0 9 * * *",
    "every friday 9": "0 9 * * 5",
    "  Every  DAY at 9:05pm ": "5 21 * * *",
    "every day 12am": "0 0 * * *",
    "every day 12:30 pm": "30 12 * * *",
    "daily at 9:00": "0 9 * * *",
    "every day at noon": "0 12 * * *",
    "every monday midnight": "0 0 * * 1",
    "every monday 18:30": "30 18 * * 1",
    "every weekday 08:00": "0 8 * * 1-5",
    "every weekends at 8am": "0 8 * * 0,6",
    "every mon, wed and Fridays at 06:15": "15 6 * * 1,3,5",
    "every monday and monday 7:00": "0 7 * * 1",
    "every minute": "* * * * *",
    "every 15 minutes": "*/15 * * * *",
    "every hour": "0 * * * *",
    "every 6 hours": "0 */6 * * *",
    "every month on the 1st at 09:00": "0 9 1 * *",
    "every month on 31 9am": "0 9 31 * *",
    "@daily": "0 0 * * *",
    "0  9 * * mon-fri": "0 9 * * mon-fri",
    "*/5 8-18 * * 1-5": "*/5 8-18 * * 1-5",
}

REFUSED = {
    "": "it is empty",
    " ": "it is empty",
    "9" * 201: "it has 201 characters",
    "tomorrow at 9": "it begins neither with 'every' nor with a field of cron",
    "every day": "it names no time of day",
    "every , 09:00": "it names no day",
    "every fortnight 09:00": "'fortnight' is no day of the week",
    "every day 24:00": "'24:00' is no time of day",
    "every day 9:60": "'9:60' is no time of day",
    "every day 13pm": "'13pm' is no time of day",
    "every month on the 1st at dawn": "'at dawn' is no time of day",
    "every month on the 32nd at 9:00": "no month has a day 32",
    "every 45 minutes": "the minutes must be one of 1, 2, 3, 4, 5, 6, 10, 12, 15, 20, 30",
    "every 0 hours": "the hours must be one of 1, 2, 3, 4, 6, 8, 12",
    "* * * * * *": "it has 6 fields of cron instead of five",
    "61 * * * *": "bad minute",
    "0 0 31 2 *": "bad day-of-month",
}


def at(text: str, *, fold: int = 0, zone: ZoneInfo = BERLIN) -> int:
    """Return a local time as epoch milliseconds."""
    return round(datetime.fromisoformat(text).replace(tzinfo=zone, fold=fold).timestamp()) * 1000


def local(epoch_ms: int) -> str:
    return datetime.fromtimestamp(epoch_ms / 1000, BERLIN).isoformat(timespec="minutes")


def schedule(cron: str, next_due_at: int, **fields) -> Schedule:
    known = {"id": "s", "thread": "t", "expression": cron, "zone": "Europe/Berlin", "prompt": "p", "created_at": 0}
    return Schedule(**known, cron=cron, next_due_at=next_due_at, **fields)


@pytest.mark.parametrize(("text", "cron"), UNDERSTOOD.items())
def test_what_people_type_is_understood(text: str, cron: str):
    assert parse(text, "Europe/Berlin") == Timing(cron=cron, zone="Europe/Berlin")


@pytest.mark.parametrize(("text", "why"), REFUSED.items())
def test_what_is_not_understood_is_told_with_examples(text: str, why: str):
    with pytest.raises(UsageError) as told:
        parse(text, "UTC")
    assert f"is not understood: {why}" in str(told.value)
    assert "write for example 'every day 09:00'" in str(told.value)


def test_a_time_that_never_comes_is_told():
    with pytest.raises(UsageError, match=r"'\* \* \*/20 \* 1L' is never due"):
        parse("* * */20 * 1L", "UTC")


@pytest.mark.parametrize("zone", ["", "Mars/Olympus", "../UTC", "Europe", "a\0b"])
def test_a_zone_that_is_not_there_is_told(zone: str):
    with pytest.raises(UsageError, match=r"there is no time zone .* here; name one such as UTC or Europe/Berlin"):
        parse("every hour", zone)


@settings(deadline=None)
@given(st.one_of(st.text(max_size=30), st.lists(st.text("*/,-#L0123456789MONW", max_size=5), min_size=5, max_size=5)))
def test_any_text_is_understood_or_told(text):
    typed = text if isinstance(text, str) else " ".join(text)
    try:
        timing = parse(typed, "UTC")
    except UsageError:
        return
    assert next_due(timing, 0) > 0


def test_a_day_is_a_day_of_the_zone():
    timing = parse("every day 09:00", "Europe/Berlin")
    assert local(next_due(timing, at("2026-06-01 08:59"))) == "2026-06-01T09:00+02:00"
    assert local(next_due(timing, at("2026-06-01 09:00"))) == "2026-06-02T09:00+02:00"
    assert local(next_due(timing, at("2026-06-01 09:00") - 1)) == "2026-06-01T09:00+02:00"
    assert local(next_due(timing, at("2026-10-24 12:00"))) == "2026-10-25T09:00+01:00"
    assert next_due(replace(timing, zone="UTC"), at("2026-06-01 08:00")) == at("2026-06-01 11:00")


def test_a_time_that_the_clock_skips_is_due_when_it_goes_on():
    timing = parse("every day 02:30", "Europe/Berlin")
    skipped = next_due(timing, at("2026-03-28 12:00"))
    assert local(skipped) == "2026-03-29T03:00+02:00"
    assert local(next_due(timing, skipped)) == "2026-03-30T02:30+02:00"


def test_a_time_that_comes_twice_is_due_once():
    timing = parse("every day 02:30", "Europe/Berlin")
    first = next_due(timing, at("2026-10-24 12:00"))
    assert local(first) == "2026-10-25T02:30+02:00"
    for later in (first, at("2026-10-25 02:15", fold=1), at("2026-10-25 02:45", fold=1)):
        assert local(next_due(timing, later)) == "2026-10-26T02:30+01:00"


def test_quarter_hours_go_on_through_both_changes_of_the_clock():
    timing = parse("every 15 minutes", "Europe/Berlin")
    for start in (at("2026-03-29 00:00"), at("2026-10-25 00:00")):
        times = [start]
        for _ in range(20):
            times.append(next_due(timing, times[-1]))
        assert {later - earlier for earlier, later in pairwise(times)} == {15 * 60_000}


@settings(deadline=None)
@given(
    st.sampled_from([cron for cron in UNDERSTOOD.values() if cron != "@daily"]),
    st.sampled_from(["UTC", "Europe/Berlin", "Australia/Lord_Howe", "America/St_Johns", "Asia/Kathmandu"]),
    st.integers(0, 4_000_000_000_000),
)
def test_a_due_time_is_always_later_than_what_it_comes_after(cron, zone, after_ms):
    assert next_due(Timing(cron=cron, zone=zone), after_ms) > after_ms


def test_nothing_is_due_before_its_time_or_while_paused():
    daily = schedule("0 9 * * *", at("2026-06-02 09:00"))
    assert due(daily, daily.next_due_at - 1) is None
    assert due(daily, daily.next_due_at) == Due(due_ms=daily.next_due_at, missed=0)
    assert due(replace(daily, paused=True), daily.next_due_at) is None


def test_missed_runs_are_one():
    daily = schedule("0 9 * * *", at("2026-06-02 09:00"))
    assert due(daily, daily.next_due_at + DAY_MS - 1) == Due(due_ms=daily.next_due_at, missed=0)
    assert due(daily, daily.next_due_at + 5 * DAY_MS) == Due(due_ms=daily.next_due_at, missed=5)
    often = schedule("* * * * *", at("2026-06-02 09:00"))
    assert due(often, often.next_due_at + 365 * DAY_MS) == Due(due_ms=often.next_due_at, missed=MOST_COUNTED)


def outcome(ended: str) -> Row:
    return Row(
        id="r", thread="t", seq=1, generation=1, segment="t.1#1", turn=1, round=1, role="system", kind="outcome",
        content={"outcome": ended}, created_at=1_000,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("row", "now_ms", "until_ms"),
    [
        (None, 0, None),
        (outcome("completed"), 1_001, None),
        (outcome("cancelled"), 1_001, None),
        (outcome("failed"), 1_001, 1_000 + HOLD_MS),
        (outcome("stopped"), 999 + HOLD_MS, 1_000 + HOLD_MS),
        (outcome("failed"), 1_000 + HOLD_MS, None),
    ],
)
def test_after_a_turn_that_did_not_go_well_it_waits_as_long_as_before_a_first_probe(row, now_ms, until_ms):
    assert HOLD_MS == 15 * 60_000
    assert held_until(row, now_ms) == until_ms


def test_utc_needs_no_database():
    assert str(zone_of("UTC")) == "UTC"
