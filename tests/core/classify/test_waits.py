"""Stated waits: headers, fields and texts; and numbers that are none."""

from typing import Any

import pytest

from stoic.core.classify import classify, report_from
from stoic.core.classify.waits import date_ms, duration_ms

NOW = "2026-11-30T04:00:00Z"


def wait(headers=None, message="", provider="x", status=429, now: str | None = NOW, **error):
    body = {"error": {"message": message, **error}}
    exchange = {"provider": provider, "status": status, "headers": headers or {}, "body": body, "now": now}
    return classify(report_from(exchange)).retry_after_ms


HEADERS = {
    "seconds": ({"Retry-After": "7"}, 7000),
    "fraction": ({"retry-after": "0.5"}, 500),
    "zero": ({"retry-after": "0"}, 0),
    "http-date": ({"retry-after": "Mon, 30 Nov 2026 04:01:00 GMT"}, 60_000),
    "past-date": ({"retry-after": "Mon, 30 Nov 2026 03:00:00 GMT"}, 0),
    "worded": ({"retry-after": "1m30s"}, 90_000),
    "milliseconds": ({"retry-after-ms": "250", "retry-after": "9"}, 250),
    "azure-milliseconds": ({"x-ms-retry-after-ms": "1250"}, 1250),
    "unreadable-then-readable": ({"retry-after-ms": "soon", "retry-after": "3"}, 3000),
    "negative": ({"retry-after": "-5"}, None),
    "absurd": ({"retry-after": "99999999999"}, None),
    "infinite": ({"retry-after": "inf"}, None),
    "blank-then-readable": ({"retry-after-ms": " ", "retry-after": " 3 "}, 3000),
    "rounded": ({"retry-after": "1.001"}, 1001),
    "longest": ({"retry-after-ms": "34560000000"}, 34_560_000_000),
    "longer": ({"retry-after-ms": "34560000001"}, None),
    "unreadable-reset": ({"x-ratelimit-reset": "soon"}, None),
    "reset-among-blanks": ({"x-ratelimit-reset": " 7S "}, 7000),
    "exhausted-one-of-two": (
        {
            "x-ratelimit-remaining-requests": "10", "x-ratelimit-reset-requests": "1h",
            "x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "6m0s",
        },
        360_000,
    ),
    "both-exhausted": (
        {
            "x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "2s",
            "x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "480ms",
        },
        2000,
    ),
    "iso-reset": (
        {"anthropic-ratelimit-input-tokens-remaining": "0", "anthropic-ratelimit-input-tokens-reset": "2026-11-30T04:00:42Z"},
        42_000,
    ),
    "epoch-seconds": ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1796011260"}, 60_000),
    "epoch-milliseconds": ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1796011230000"}, 30_000),
    "nothing-exhausted": ({"x-ratelimit-remaining-requests": "5", "x-ratelimit-reset-requests": "20s"}, None),
}  # fmt: skip


@pytest.mark.parametrize("name", HEADERS)
def test_header_states_the_wait(name):
    headers, expected = HEADERS[name]
    assert wait(headers) == expected


TEXTS = {
    "Please try again in 11.054s.": 11_054,
    "Please try again in 480ms.": 480,
    "try again in 1m30s": 90_000,
    "Please try again in 5m45.6s. Visit x": 345_600,
    "Please retry after 37 seconds.": 37_000,
    "Please wait 42 seconds before retrying.": 42_000,
    "please try again after 1 seconds": 1000,
    "Try again in 2 hours and 5 minutes": 7_500_000,
    "Please retry in 14.2s.": 14_200,
    "Your limit resets in 3 days": 259_200_000,
    "retry_after: 12": 12_000,
    "请在 30 秒后重试": 30_000,
    "Resets at 2026-11-30T04:00:10Z": 10_000,
    "Available again on 2026-11-30 at 05:00 UTC": 3_600_000,
    "try again on Nov 30, 2026 4:30 AM": 1_800_000,
    "try again at 30 Nov 2026 16:00": 43_200_000,
    "limit reached, resets 1796011320": 120_000,
    "until 2026-11-30T06:00:00+01:00": 3_600_000,
    "Retrying after 7s": 7000,
    "Wait for 7 seconds": 7000,
    "wait  7 seconds": 7000,
    "Sleep 7 seconds before retrying": 7000,
    "Sleep 7 minutes before trying": 420_000,
    "Limit reset in 7s": 7000,
    "Available in 7 minutes and  5 seconds": 425_000,
    "Refresh in 7 hours": 25_200_000,
    "It refreshes in 7s": 7000,
    "Renew in 7s": 7000,
    "Renewed in 2 days": 172_800_000,
    "Replenish in 7s": 7000,
    "Replenished in 1m30.25s": 90_250,
    "Try again in  7s": 7000,
    "Try again in about 7s": 7000,
    "Try again in approximately 7s": 7000,
    "Try again in around 7s": 7000,
    "Try again in ~7s": 7000,
    "Try again in ~ 7s": 7000,
    "Try again in 7 secs, 500 ms": 7500,
    "Try again in 7 min 500 milliseconds": 420_500,
    f"Try again {'x' * 38} in 7s": 7000,
    "Retry in 00:00:07": 7000,
    "Available  after  00:00:07": 7000,
    "Resets in 12.00:00:07": 1_036_807_000,
    "Reset in 00:00:07": 7000,
    "Retry-After-Seconds: 7": 7000,
    "retry_after_secs = 7": 7000,
    '{"retry_after" : "7.5"}': 7500,
    "until 1796011320": 120_000,
    "again 1796011320": 120_000,
    f"reset {'x' * 18} 1796011320": 120_000,
    "reset 1796011320999": 120_000,
    # numbers that are no waits
    "Try again within 7 seconds": None,
    "Waiters in 7 seconds": None,
    "Await 7 seconds": None,
    "Try again in 7 moments": None,
    f"Try again {'x' * 39} in 7s": None,
    "Try again in 100:00:07": None,
    "Try again in 00:00:077": None,
    "noretry_after: 7": None,
    f"reset {'x' * 19} 1796011320": None,
    "reset a1796011320": None,
    "reset 17960113201": None,
    "reset 179601132012": None,
    "Limit 3, Used 3, Requested 1": None,
    "Rate limit of 15 per 60s exceeded": None,
    "Please try again later": None,
    "The request took 30 seconds": None,
    "model gpt-5-2026-12-01 is busy": None,
    "Connection reset by peer after 30 seconds": None,
    "wait until 2026-13-45": None,
    "retry after 5%": None,
    "Please try again in a few seconds": None,
    "retry with 20 tokens": None,
}


@pytest.mark.parametrize("message", TEXTS)
def test_text_states_the_wait(message):
    assert wait(message=message) == TEXTS[message]


FIELDS: dict[str, tuple[dict[str, Any], int | None]] = {
    "duration-text": (
        {"details": [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "14.5s"}]},
        14_500,
    ),
    "duration-object": ({"details": [{"retryDelay": {"seconds": "3", "nanos": 500_000_000}}]}, 3500),
    "retry-after": ({"retry_after": 4}, 4000),
    "estimated-time": ({"estimated_time": 20.0}, 20_000),
    "metadata-headers": (
        {"metadata": {"headers": {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1796011230000"}}},
        30_000,
    ),
    "metadata-retry-after": ({"metadata": {"headers": {"Retry-After": "6"}}}, 6000),
    "resets-at-text": ({"resets_at": "2026-11-30T04:00:05Z"}, 5000),
    "resets-at-epoch": ({"resets_at": 1796011205}, 5000),
    "unreadable": ({"retry_after": "soon"}, None),
}


@pytest.mark.parametrize("name", FIELDS)
def test_field_states_the_wait(name):
    fields, expected = FIELDS[name]
    assert wait(**fields) == expected


def test_header_beats_text():
    assert wait({"retry-after": "8"}, "Please try again in 7.05s.") == 8000


def test_wait_is_stated_only_where_time_helps():
    assert wait({"retry-after": "30"}, status=401) is None
    assert wait({"retry-after": "30"}, status=400) is None
    assert wait({"retry-after": "30"}, code="insufficient_quota") is None
    assert wait({"retry-after": "30"}, status=503) == 30_000


def test_reset_of_a_limit_is_no_wait_for_an_overload():
    assert wait({"x-ratelimit-reset-requests": "20s"}, status=503) is None


def test_quota_with_a_stated_date_recovers_with_time():
    error = {"message": "Allowance used up. It resets on 2026-12-01.", "code": "insufficient_quota"}
    verdict = classify(report_from({"provider": "x", "status": 429, "body": {"error": error}, "now": NOW}))
    assert (verdict.name, verdict.recovers_with, verdict.retry_after_ms) == ("quota", "time", 72_000_000)
    assert [one.decided for one in verdict.evidence] == ["class", "wait"]


def test_date_needs_a_time_to_be_relative_to():
    headers = {"retry-after": "Mon, 30 Nov 2026 04:01:00 GMT"}
    assert wait(headers, now=None) is None
    assert wait({**headers, "Date": "Mon, 30 Nov 2026 04:00:30 GMT"}, now=None) == 30_000


def test_zhipu_states_beijing_time():
    error = {"code": "1308", "message": "已达到 5 小时的使用上限。您的限额将在 2026-11-30 13:00:00 重置"}
    verdict = classify(report_from({"provider": "zhipu", "status": 429, "body": {"error": error}, "now": NOW}))
    assert (verdict.name, verdict.recovers_with, verdict.retry_after_ms) == ("quota", "time", 3_600_000)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("6m0s", 360_000),
        ("1h2m3.5s", 3_723_500),
        ("2 days", 172_800_000),
        ("5 mins", 300_000),
        ("5 MS", 5),
        ("5 \u017f", None),  # the long s, which a pattern that ignores case takes for an s
        ("", None),
        ("soon", None),
        (" " * 3998 + "7s", 7000),
        (" " * 3999 + "7s", None),
    ],
)
def test_duration_is_read(text, expected):
    assert duration_ms(text) == expected


@pytest.mark.parametrize(
    ("text", "zone_hours", "expected"),
    [
        ("1970-01-02", 0, 86_400_000),
        ("1970-01-02 08:00", 8, 86_400_000),
        ("2 Jan 1970 08:00", 8, 86_400_000),
        ("Jan 1st, 1970", 0, 0),
        ("Jan 3rd, 1970", 0, 172_800_000),
        ("Jan  4th,  1970", 0, 259_200_000),
        ("2  Jan  1970", 0, 86_400_000),
        ("Fri Jan  2 00:00:07  1970", 0, 86_407_000),
        ("0001-01-01T00:00:00+14:00", 0, -62_135_647_200_000),
        ("Trojan 2, 1970", 0, None),
        ("Trojan 2 00:00:07 1970", 0, None),
        ("102 Jan 1970", 0, None),
        ("102-Jan-26", 0, None),
        (" " * 3990 + "1970-01-02", 0, 86_400_000),
        (" " * 3991 + "1970-01-02", 0, None),
        ("1970-01-01T00:00:01-00:30", 0, 1_801_000),
        ("2 Jan 1970", 0, 86_400_000),
        ("January 2nd, 1970 at 12:00 PM", 0, 129_600_000),
        ("Feb 31, 2026", 0, None),
        ("nothing", 0, None),
    ],
)
def test_date_is_read(text, zone_hours, expected):
    assert date_ms(text, zone_hours) == expected


UNITS = {
    "5 milliseconds": 5, "1 millisecond": 1, "7ms": 7, "2 secs": 2000, "1 sec": 1000, "3秒": 3000, "2 mins": 120_000,
    "3分": 180_000, "3分钟": 180_000, "2 hrs": 7_200_000, "1 hr": 3_600_000, "2小时": 7_200_000, "2天": 172_800_000,
    "1 day": 86_400_000, "2d": 172_800_000, "1h": 3_600_000,
}  # fmt: skip


@pytest.mark.parametrize("text", UNITS)
def test_every_unit_of_a_duration_is_known(text):
    assert duration_ms(text) == UNITS[text]


MONTHS = (
    ("January", 1), ("Feb.", 2), ("MARCH", 3), ("april", 4), ("May", 5), ("Jun", 6), ("July", 7), ("Aug", 8),
    ("September", 9), ("oct", 10), ("Nov", 11), ("December", 12),
)  # fmt: skip


@pytest.mark.parametrize(("name", "number"), MONTHS)
def test_every_months_name_is_known(name, number):
    assert date_ms(f"{name} 7, 2026", 0) == date_ms(f"2026-{number:02}-07", 0)


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("Nov 30, 2026 3:05 pm", "2026-11-30T15:05:00Z"),
        ("Nov 30, 2026 12:05 am", "2026-11-30T00:05:00Z"),
        ("Nov 30, 2026 12:05 pm", "2026-11-30T12:05:00Z"),
        ("Nov 30, 2026 15:05:07", "2026-11-30T15:05:07Z"),
        ("Nov 30, 2026  at  3:05  pm", "2026-11-30T15:05:00Z"),
        ("Nov 30, 2026 123:45", "2026-11-30T00:00:00Z"),
        ("2026-11-30  at  15:05:07.123Z", "2026-11-30T15:05:07Z"),
        ("2026-11-30T09:30:00+05:30", "2026-11-30T04:00:00Z"),
        ("2026-11-30T04:00:00-0800", "2026-11-30T12:00:00Z"),
        ("2026-11-30T04:00:00+99:00", "2026-11-29T04:01:00Z"),
        ("2026-11-30T04:00:00-99:00", "2026-12-01T03:59:00Z"),
    ],
)
def test_clock_and_zone_of_a_date_are_read(text, same):
    assert date_ms(text, 0) == date_ms(same, 0)


@pytest.mark.parametrize("zone", ["Z", " UTC", " GMT"])
def test_stated_zone_outweighs_the_providers_own(zone):
    assert date_ms(f"2026-11-30 04:00:07{zone}", 8) == date_ms("2026-11-30 04:00:07", 0)
    assert date_ms(f"2026-11-30 04:00:07.123{zone}", 8) == date_ms("2026-11-30 04:00:07", 0)
    assert date_ms("2026-11-30 04:00:07", 8) == date_ms("2026-11-29 20:00:07", 0)


@pytest.mark.parametrize(
    "key", ["resets_at", "reset_at", "resetsAt", "reset_time", "next_reset", "quota_reset_at", "retry_after"]
)
def test_field_with_a_moment_states_the_wait(key):
    told: dict[str, Any] = {key: "2026-11-30T04:00:09Z"}
    assert wait(**told) == 9000
    assert wait(metadata=told) == 9000


@pytest.mark.parametrize(
    "key", ["resets_in_seconds", "retry_after", "retry_after_seconds", "retryAfter", "estimated_time"]
)
def test_field_with_seconds_states_the_wait(key):
    told: dict[str, Any] = {key: 9}
    assert wait(**told) == 9000


@pytest.mark.parametrize(
    "word",
    [
        "reset",
        "regain",
        "again",
        "until",
        "available",
        "retry",
        "resume",
        "refresh",
        "renew",
        "restored",
        "重置",
        "恢复",
        "后",
    ],
)
def test_moment_beside_a_word_of_return_is_the_wait(word):
    assert wait(message=f"{word.title()} 2026-11-30T04:00:09Z") == 9000
    assert wait(message="since 2026-11-30T04:00:09Z") is None


@pytest.mark.parametrize(
    ("amount", "expected"),
    [
        (34_560_000, 34_560_000_000),
        (34_560_001, None),
        (1_796_011_201, 1000),
        (1_796_011_201_000, 1000),
        (999_999_999, None),
        (999_999_999_999, None),
    ],
)
def test_size_of_a_number_tells_seconds_from_moments(amount, expected):
    assert wait(retry_after=amount) == expected


def test_least_moments_are_moments_and_past():
    assert [wait(retry_after=amount) for amount in (1e9, 1e12)] == [0, 0]


def test_headers_that_are_no_reset_state_no_wait():
    assert wait({"x-ratelimit-limit-requests": "60"}) is None
    assert wait({"x-ratelimit-remaining-tokens": "0"}) is None
    assert wait({"x-cache-reset": "60"}) is None
    assert wait({"x-ratelimit-reset": "60", "x-ratelimit-remaining": "many"}) == 60_000
    assert wait({"x-ratelimit-reset": "60", "x-ratelimit-remaining": "1"}) is None


@pytest.mark.parametrize(
    ("delay", "expected"),
    [
        ({"seconds": 1, "nanos": 500_000_000}, 1500),
        ({"seconds": "2"}, 2000),
        ({"nanos": 5}, None),
        (5, None),
        ("9s", 9000),
        (None, None),
    ],
)
def test_protobuf_duration_is_read_as_text_and_as_an_object(delay, expected):
    assert wait(details=[{"retryDelay": delay}]) == expected


def test_first_readable_wait_of_several_counts():
    assert wait(details=["odd", {"reason": "x"}, {"retryDelay": "soon"}, {"retryDelay": "9s"}]) == 9000
    assert wait(retryAfter="soon", reset_at="2026-11-30T04:00:09Z") == 9000
    body = [
        {"error": {"message": "x", "code": "rate_limit_exceeded"}},
        {"error": {"message": "Please wait 42 seconds"}},
    ]
    assert classify(report_from({"provider": "x", "status": 429, "body": body})).retry_after_ms == 42_000


EVIDENCE = {
    "header": ({"headers": {"Retry-After": "7"}}, "headers.retry-after", "7"),
    "reset header": ({"headers": {"x-ratelimit-reset": "7s"}}, "headers.x-ratelimit-reset", "7s"),
    "delay": ({"details": [{}, {"retryDelay": "7s"}]}, "body.error.details[1].retryDelay", "7s"),
    "delay as it is written": ({"details": [{"retryDelay": "7.0s"}]}, "body.error.details[0].retryDelay", "7.0s"),
    "delay object": ({"details": [{"retryDelay": {"seconds": "7", "x": 1}}]}, "body.error.details[0].retryDelay", "7s"),
    "field": ({"retry_after": 7}, "body.error.retry_after", "7"),
    "metadata": ({"metadata": {"retry_after": 7}}, "body.error.metadata.retry_after", "7"),
    "inner header": ({"metadata": {"headers": {"Retry-After": "7"}}}, "body.error.metadata.headers.retry-after", "7"),
    "text": ({"message": "Rate limited. Try Again In 7s."}, "body.error.message", "Try Again In 7s"),
    "moment": (
        {"headers": {"Date": "Mon, 30 Nov 2026 04:00:00 GMT"}, "message": "It resets on 1796011207."},
        "body.error.message",
        "resets on 1796011207",
    ),
}


@pytest.mark.parametrize("name", EVIDENCE)
def test_wait_names_the_field_that_stated_it(name):
    told, field, value = EVIDENCE[name]
    body = {"error": {"message": "", **{key: one for key, one in told.items() if key != "headers"}}}
    found = classify(report_from({"provider": "x", "status": 429, "headers": told.get("headers"), "body": body}))
    assert [(one.field, one.value, one.decided) for one in found.evidence[1:]] == [(field, value, "wait")]
    assert found.retry_after_ms == 7000


def test_clock_time_without_days_has_none():
    assert wait(message="Try again in 00:00:09.") == 9000
    assert wait(message="Try again in 1.00:00:09.") == 86_409_000
    assert wait(message="Try again in 01:02:03.") == 3_723_000


def test_only_the_first_4000_characters_of_an_error_are_read():
    stated = "try again in 7"
    assert wait(message=" " * (3999 - len(stated)) + stated + "s") == 7000
    assert wait(message=" " * (4000 - len(stated)) + stated + "s") is None


def test_header_with_a_date_without_a_zone_means_universal_time():
    assert wait({"x-ratelimit-reset": "2026-11-30T04:00:09"}) == 9000
