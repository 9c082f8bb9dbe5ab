"""What of a result is noise and what is not."""

import json

import pytest
from tests.core.loops.traces import call

from stoic.core.loops.denials import denial
from stoic.core.loops.identity import identify
from stoic.core.loops.noises import noise_names
from stoic.core.loops.outcomes import outcome


def seen(result, tool="job_status", failed=False):
    return outcome(result, identify(call(tool)), failed=failed)


@pytest.mark.parametrize(
    ("one", "other", "tool"),
    [
        ("10", "11", "bash"),
        ("45%", "46%", "bash"),
        ("commit 1a2b3c4d", "commit 1a2b3c4e", "bash"),
        ({"id": 1}, {"id": 2}, "read_file"),
        ({"id": 1}, {"id": 2}, "process_next"),
        ({"date": "2026-05-01"}, {"date": "2026-05-02"}, "get_next_slot"),
        ({"completed_at": None}, {"completed_at": "2026-05-01"}, "job_status"),
        ({"ok": True}, {"ok": 1}, "bash"),
        ({"elapsed": True}, {"elapsed": False}, "bash"),
        ("", "\n x", "bash"),
        ("10:00 line", "11:00 line", "bash"),
        ("deleted 5 rows", "deleted 4 rows", "create_x"),
        ("[1, 2", "[1, 3", "bash"),
        ("retry in 5 s", "retry in 4 s", "bash"),
        ("a" * 150_000 + "1" + "b" * 150_000, "a" * 150_000 + "2" + "b" * 150_000, "bash"),
        ([[[1]]], [[[2]]], "bash"),
        (["a", {"b": "c"}], ["a", {"b": "d"}], "bash"),
        ({"elapsed": None}, {"elapsed": "3 s"}, "bash"),
        ([None, 1], [1], "bash"),
        ({"a": 1.5}, {"a": 1}, "bash"),
        ({"a": 2.0**80}, {"a": 2.0**81}, "bash"),
        ({"a": "\ud800"}, {"a": "\ud801"}, "bash"),
        ("\ud800", "\ud801", "bash"),
        ('{"a": "b"} c', '{"a": "b"} d', "bash"),
        ({"x": '{"a": 1'}, {"x": '{"a": 2'}, "bash"),
        ("null", None, "bash"),
        ({"elapsed": {"steps": 3}}, {"elapsed": {"steps": 4}}, "bash"),
        ({"date": {"steps": 3}}, {"date": {"steps": 4}}, "bash"),
        ({"timings": 3}, {"timings": 4}, "bash"),
        ({"date": "Monday"}, {"date": "Tuesday"}, "get_page"),
    ],
)
def test_what_may_be_progress_is_news(one, other, tool):
    assert seen(one, tool).masked != seen(other, tool).masked


@pytest.mark.parametrize(
    ("one", "other", "tool"),
    [
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, "bash"),
        ("x\r\ny", "x\ny\n", "bash"),
        ({"pid": 1}, '{"pid": 2}', "bash"),
        ([{"type": "text", "text": "took 3 s"}], [{"type": "text", "text": "took 4 s"}], "bash"),
        ("took 3 s " + "a" * 250_000 + " took 3 s", "took 4 s " + "a" * 250_000 + " took 4 s", "bash"),
        ("2026-05-01 10:00:00", "2026-05-01 10:00:09", "get_time"),
        ({"datetime": "2026-05-01"}, {"datetime": "2026-05-02"}, "get_time"),
        ({"nonce": "a", "ppid": 1}, {"nonce": "b", "ppid": 2}, "bash"),
        ([{"pid": 1, "x": 1.0}, {"pid": 2, "x": 2}], [{"pid": 3, "x": 1}, {"pid": 4, "x": 2.0}], "bash"),
        ([{"pid": 1}, {"pid": None}], [{"pid": 2}, {}], "bash"),
        ([{"a": 1, "b": None}], [{"a": 1}], "bash"),
        (["x", "took 3 s"], ["x ", "took 4 s"], "bash"),
        (["x", 1, "took 3 s"], ["x", 1.0, "took 4 s"], "bash"),
        ([{"t": "took 3 s"}, {"t": "b"}], [{"t": "took 4 s"}, {"t": " b"}], "bash"),
        ({"x": '{"pid": 1, "y": "took 3 s"}'}, {"x": {"y": "took 4 s", "pid": 2}}, "bash"),
        (["a", '["took 3 s"]'], ["a", ["took 4 s"]], "bash"),
        ({"html": '<a nonce="ab12">x</a nonce="ab12">'}, {"html": '<a nonce="cd34">x</a nonce="cd34">'}, "bash"),
        (("a", {"took": 3}), ["a", {"took": 4}], "bash"),
        ([True, {"date": "Mon, 04 May 2026 10:00:11 GMT"}], [True, {"date": "Mon, 04 May 2026 10:00:12 GMT"}], "get_x"),
    ],
)
def test_what_is_only_noise_is_no_news(one, other, tool):
    assert seen(one, tool).masked == seen(other, tool).masked


def test_failing_is_part_of_the_outcome():
    assert seen("x", failed=True).masked != seen("x").masked


def test_noise_is_named():
    assert noise_names(seen({"pid": 1, "output": "took 3 s at 0x7f00aa"}).noise) == [
        "durations",
        "process ids",
        "nonces",
    ]
    assert noise_names(seen("nothing").noise) == []


def test_what_is_deep_within_is_masked_and_text_there_stays_text():
    def deep(inner, levels):
        for _ in range(levels):
            inner = {"a": [inner]}
        return inner

    assert seen(deep("took 3 s", 40)).masked == seen(deep("took 4 s", 40)).masked
    assert seen(deep('{"a": 1}', 10)).masked == seen(deep('{"a":1}', 10)).masked
    assert seen(deep('{"a": 1}', 40)).masked != seen(deep('{"a":1}', 40)).masked
    assert seen(deep(['{"a": 1}'], 40)).masked != seen(deep(['{"a":1}'], 40)).masked
    assert seen(deep(['{"a": 1}', 2], 40)).masked != seen(deep(['{"a":1}', 2], 40)).masked


def test_noise_is_named_only_where_it_differs_from_the_last_time():
    assert seen({"pid": 1, "x": "y"}).raw != seen({"pid": 2, "x": "y"}).raw
    assert seen({"pid": 1}).raw == seen({"pid": 1}).raw != ""
    assert seen("took 3 s").raw != seen("took 4 s").raw
    assert seen({"x": "y"}).raw == ""


def test_many_fields_are_read_like_few():
    many = [{f"field_{number}": number, "elapsed": number} for number in range(1200)]
    other = [{f"field_{number}": number, "elapsed": number + 1} for number in range(1200)]
    assert seen(many).masked == seen(other).masked
    long = "elapsed_" + "x" * 70
    assert seen({long: 1}).masked == seen({long: 2}).masked


def test_silence_is_told_from_text_that_names_it():
    assert [seen(one).silent for one in ("", " ", None, [], {}, "[]", "null", "x", 0)] == [
        *(True, True, True, True, True, True),
        *(False, False, False),
    ]


def test_a_denial_may_stand_on_any_of_the_first_lines():
    assert seen("Error:\nForbidden", failed=True).denial == "denied"
    assert seen({"error": "Error:\nForbidden"}, failed=True).denial == "denied"
    assert seen("Error:\nForbidden").denial == ""


def test_deeply_nested_results_are_hashed():
    value, other = "took 3 s", "x"
    for _ in range(200):
        value, other = {"a": [value]}, {"a": [other]}
    assert seen(value).masked != seen(other).masked
    assert seen('{"a":' * 5000 + "1" + "}" * 5000).masked != seen("1").masked


def nested(levels, space=""):
    return "[" * levels + space + "1" + "]" * levels


def test_text_nested_too_deep_for_json_is_text():
    assert seen(nested(100)).masked == seen(nested(100, " ")).masked
    assert seen(nested(101)).masked != seen(nested(101, " ")).masked


def test_json_within_text_within_json_may_be_deeper_than_json_alone():
    one, other = (json.dumps([[[[nested(98, space)]]]]) for space in ("", " "))
    assert seen(one).masked == seen(other).masked
    assert seen(json.dumps([nested(101)])).masked != seen(json.dumps([nested(101, " ")])).masked


def test_many_envelopes_are_looked_at_up_to_a_bound():
    text = "".join(f'<x id="{n:04}">y</x id="{n:04}">' for n in range(100))
    assert seen(text).noise == seen(text[:64]).noise


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Permission denied (publickey).", "denied"),
        ("HTTP 403", "denied"),
        ("path is outside the workspace", "denied"),
        ("401 Unauthorized", "account"),
        ("You exceeded your current quota", "account"),
        ("token has expired", "account"),
        ("404 Not Found", ""),
        ("429 Too Many Requests", ""),
        ("took 403 ms", ""),
        ("x" * 3000 + "denied", ""),
    ],
)
def test_denials_are_told_from_other_errors(text, kind):
    assert denial(text) == kind


def test_what_lies_ahead_is_no_noise_and_what_has_passed_is():
    for label in ("remaining time", "estimated duration", "expected duration"):
        assert seen(f"{label}: 40s").masked != seen(f"{label}: 30s").masked
    assert seen("elapsed time: 0:40").masked == seen("elapsed time: 0:41").masked


def test_a_fence_is_masked_only_where_it_stands_at_both_ends():
    def fenced(first, last):
        return seen(f"<<<FOREIGN_{first}>>>\nsame\n<<<END_{last}>>>", "web_open").masked

    assert fenced("ab12cd34", "ab12cd34") == fenced("ef56ab78", "ef56ab78")
    assert fenced("ab12cd34", "ab12cd34") != fenced("ab12cd34", "ef56ab78")
    assert seen("<<<FOREIGN_ab12cd34>>>", "web_open").masked != seen("<<<FOREIGN_ef56ab78>>>", "web_open").masked


@pytest.mark.parametrize(
    "form",
    [
        '<x id="{0}">same</x id="{0}">',
        "<data-{0}>same</data-{0}>",
        "\x1b[32m<data-{0}>\r\nsame</data-{0}>",
        {"page": "<data-{0}>same</data-{0}>", "other": "<b>text</b>"},
    ],
)
def test_the_nonces_of_an_envelope_are_masked(form):
    def outcome_of(nonce):
        filled = {key: one.format(nonce) for key, one in form.items()} if isinstance(form, dict) else form.format(nonce)
        return seen(filled, "web_open")

    assert outcome_of("ab12cd34").masked == outcome_of("ef56ab78").masked
    assert noise_names(outcome_of("ab12cd34").noise) == ["nonces"]


def test_markup_is_no_envelope():
    assert seen("<p>same</p>", "web_open").noise == seen("<!doctype html>", "web_open").noise == 0
    assert seen("<a_b1>x</a_b1>", "web_open").masked != seen("<a_b2>x</a_b2>", "web_open").masked


def test_the_times_of_log_lines_are_noise_in_a_run_and_in_an_error_alone():
    def stamped(command, second, **more):
        line = f"2026-05-01 10:00:0{second} started\n[01/May/2026:10:00:0{second}] done"
        return outcome(line, identify(call("bash", {"command": command})), failed=more.get("failed", False)).masked

    assert stamped("./run", 1) == stamped("./run", 2)
    assert stamped("cat log", 1) != stamped("cat log", 2)
    assert stamped("cat log", 1, failed=True) == stamped("cat log", 2, failed=True)
    one, other = (seen(f"2026-05-01 10:00:0{second} x", "read_file").masked for second in (1, 2))
    assert one != other


def test_the_middle_of_a_very_long_text_is_not_searched_for_noise():
    def around(first, middle, last):
        return seen(
            "x" * 99_980
            + f" took {first} s "
            + "x" * 200_000
            + f" took {middle} s "
            + "x" * 200_000
            + f" took {last} s"
        )

    assert around(1, 5, 1).masked == around(2, 5, 2).masked
    assert around(1, 5, 1).masked != around(1, 6, 1).masked
    assert (
        seen(["x" * 300_000 + " took 1 s", "took 1 s"]).masked == seen(["x" * 300_000 + " took 2 s", "took 2 s"]).masked
    )


def test_timings_are_noise_and_totals_are_not():
    assert seen({"timings": {"a": 1}}).masked == seen({"timings": {"a": 2}}).masked
    assert seen({"counts": {"a": 1}}).masked != seen({"counts": {"a": 2}}).masked
    assert seen({"query_ms": 1}).masked == seen({"query_ms": 2}).masked
    assert seen({"position_ms": 1}).masked != seen({"position_ms": 2}).masked


def test_the_date_of_an_answer_is_noise_and_a_date_read_is_not():
    one, other = "Mon, 04 May 2026 10:00:11 GMT", "Mon, 04 May 2026 10:00:12 GMT"
    assert seen({"date": one}, "get_page").masked == seen({"date": other}, "get_page").masked
    assert seen({"date": "2026-05-04"}, "get_page").masked != seen({"date": "2026-05-05"}, "get_page").masked


def test_ids_of_requests_are_data_to_a_tool_for_them_until_it_fails():
    one, other = "request id: a1", "request id: a2"
    assert seen(one, "get_trace").masked != seen(other, "get_trace").masked
    assert seen(one, "get_trace", failed=True).masked == seen(other, "get_trace", failed=True).masked
