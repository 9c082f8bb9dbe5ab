"""What a model writes as a call's arguments, or as its answer, is a value of the type or a short complaint, never an exception."""

import dataclasses
import datetime as dt
import decimal
import enum
import json
import uuid
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import AfterValidator, BaseModel, Field
from tests.fuzz.hostile import broken_bytes, broken_values, hostile_texts, words_of, written
from tests.fuzz.volume import ending, examples
from tests.runtime.harness import Bench, outcome, play
from typing_extensions import TypedDict

from stoic.core import notes
from stoic.core.arguments import LONGEST, arguments_key, arguments_of
from stoic.core.loops import Call, LoopDetector
from stoic.core.output import judge, value_of
from stoic.tools.answering import OutputType
from stoic.tools.builtin import journal_tools
from stoic.tools.declaration import Tool, tool


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Person(BaseModel):
    name: Annotated[str, Field(max_length=5, pattern="^[a-z]*$")]
    friends: "list[Person]" = []


@dataclasses.dataclass
class Point:
    x: int
    y: float = 0


class Entry(TypedDict, total=False):
    key: str
    value: int | None


def even(number: int) -> int:
    if number % 2:
        raise KeyError("odd " + "x" * 9_000)
    return number


@tool(effect="read")
def scalars(count: int, share: float = 0.5, sure: bool = False, text: str = "", nothing: None = None) -> str:
    """Take scalars."""
    return f"{count}{share}{sure}{text}{nothing}"


@tool(effect="write")
def moments(day: dt.date, at: dt.datetime, after: dt.timedelta, amount: decimal.Decimal) -> str:
    """Take what has a form of its own."""
    return f"{day}{at}{after}{amount}"


@tool(effect="exec")
def named(colour: Colour, mode: Literal["a", 1, True], path: Path, key: uuid.UUID, raw: bytes = b"") -> str:
    """Take names."""
    return f"{colour}{mode}{path}{key}{raw}"


@tool(effect="send")
def nested(
    person: Person, points: list[Point], table: dict[str, list[int]], entry: Entry, pair: tuple[int, str]
) -> str:
    """Take what holds other things."""
    return f"{person}{points}{table}{entry}{pair}"


@tool(effect="poll")
def anything(value: Any, choice: int | str | list[int] | None = None, tags: frozenset[str] = frozenset()) -> str:
    """Take anything."""
    return f"{value}{choice}{tags}"


@tool
def picky(number: Annotated[int, AfterValidator(even)]) -> str:
    """Take a number, with a validator that raises what it likes."""
    return str(number)


FITTING = [
    (scalars, {"count": 1, "share": 2.5, "sure": True, "text": "a", "nothing": None}),
    (moments, {"day": "2026-01-01", "at": "2026-01-01T00:00:00Z", "after": "P1D", "amount": "1.5"}),
    (named, {"colour": "red", "mode": "a", "path": "/a", "key": "12345678-1234-5678-1234-567812345678", "raw": "x"}),
    (nested, {"person": {"name": "a", "friends": [{"name": "b"}]}, "points": [{"x": 1}], "table": {"a": [1]}, "entry": {"key": "k", "value": 1}, "pair": [1, "a"]}),
    (anything, {"value": {"a": [1, None]}, "choice": [1], "tags": ["a"]}),
    (picky, {"number": 2}),
]  # fmt: skip
TOOLS = [each for each, _ in FITTING]
VALUES = [arguments for _, arguments in FITTING]
WORDS = [*words_of(VALUES), "count", "choice"]
TEXTS = st.one_of(
    broken_values(VALUES, WORDS).map(lambda value: written(value).decode()),
    broken_bytes([written(value) for value in VALUES]).map(lambda data: data.decode("utf-8", "surrogateescape")),
    hostile_texts(['"', "{", "}", "[", "]", ":", ",", "null", "1e999", "\\ud800", "/*", "'", *WORDS]),
)


def complaint_about(each: Tool, text: str) -> str | None:
    """Return what a model is told of its arguments, as a turn does it; None: they fit, and the call could run."""
    detector = LoopDetector()
    try:
        arguments = arguments_of(text)
        reason = each.facts.check(arguments)
    except msgspec.DecodeError as error:
        arguments, reason = text, f"the arguments are not JSON ({error})"
    if reason is None:
        assert set(each.bind(arguments, "operation")) >= set(arguments)
        assert arguments_key(each.name, arguments, each.facts.effect) == arguments_key(
            each.name, arguments, each.facts.effect
        )
    call = Call(tool=each.name, arguments=arguments, effect=each.facts.effect)
    assert detector.before(call).action == "ok"
    assert detector.after(call, reason or "done", failed=reason is not None).news
    return reason


@examples(250)
@given(st.sampled_from(TOOLS), TEXTS)
def test_any_arguments_fit_or_are_told_in_a_short_complaint(each, text):
    with ending():
        reason = complaint_about(each, text)
    assert reason is None or 0 < len(reason) < 2_500


@pytest.mark.parametrize(("each", "arguments"), FITTING, ids=[each.name for each in TOOLS])
def test_arguments_that_fit_do_so_in_any_spelling(each, arguments):
    for text in (json.dumps(arguments), json.dumps(arguments, indent=2), " \n" + json.dumps(arguments) + "\t"):
        assert complaint_about(each, text) is None


ANSWERS = [OutputType(each) for each in (Person, list[Point], dict[str, int], int | str, Colour, Entry, Any, Annotated[int, AfterValidator(even)])]  # fmt: skip


@examples(200)
@given(
    st.sampled_from(ANSWERS),
    TEXTS
    | hostile_texts(
        ["```", "```json\n", "\n", "Sure: ", "{", "}", "[", "]", '{"name":"a"}', "1", '"red"', "[1]", "\\"]
    ),
)
def test_any_answer_is_a_value_of_the_type_or_a_short_complaint(output, text):
    with ending():
        answer = judge(output.facts, text.encode("utf-8", "replace").decode())
        if answer.complaint is None:
            assert msgspec.json.encode(value_of(answer))
            output.parse(answer.text)
        else:
            assert 0 < len(answer.complaint) < 2_500


# ---- whole turns --------------------------------------------------------------------------------

BAD = [
    '{"count": ' + "9" * 400 + ', "share": "x"}',
    '{"count": 1, "count": 2, "text": 3}',
    '{"' + "k" * 300_000 + '": 1}',
    '{"count": "' + "x" * (LONGEST + 1) + '"}',
    '{"count": ' + "[" * 90 + "]" * 90 + "}",
    '{"count": 1, "count\\u0000": 2}',
    "{}",
    "",
]
GOOD = [
    '{"count": 1}',
    '{"count": 1, "count": 2}',
    '{"count": 3, "text": "\u2028\\u0000\x7f"}',
    '{"share": 0.1, "count": 4e0}',
]
UNREADABLE = [
    "[" * 100_000,
    '{"count":' * 300 + "1" + "}" * 300,
    '{"count": ' + "9" * 5_000 + "}",
    '{"count": 1e400}',
    '"count"',
    "nul",
    '{"count": NaN}',
    '{"count": 1, "\\ud800": 1}',
    "{'count': 1}",
]


def reply_of(texts):
    """Return a reply that calls the tool with each of these texts, as a server sends it."""
    calls = [
        {"index": index, "id": f"c{index}", "function": {"name": "scalars", "arguments": text}}
        for index, text in enumerate(texts)
    ]
    chunks = [{"id": "r1", "model": "m", "choices": [{"index": 0, "delta": {"tool_calls": [call]}}]} for call in calls]
    end = {"id": "r1", "model": "m", "choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}
    return {
        "status": 200,
        "sse": [*({"event": None, "data": chunk} for chunk in [*chunks, end]), {"event": None, "data": "[DONE]"}],
    }


def test_turn_feeds_bad_arguments_back_and_runs_the_good_ones(tmp_path):
    async def story(bench: Bench) -> None:
        async with bench.runtime() as runtime:
            ended = outcome(await bench.thread(runtime, scalars).run("go"))
            rows = [row for row in await bench.rows(runtime) if row.kind == "result"]
        assert ended.text == "Done."
        results = {row.content["call"]: row.content for row in rows}
        assert sorted(results) == list(range(len(BAD) + len(GOOD)))
        failures = [results[index].get("failure") for index in range(len(results))]
        assert failures == ["bad_arguments"] * len(BAD) + [None] * len(GOOD)
        assert all(len(results[index]["text"]) < 2_500 for index in results)

    play(tmp_path, [reply_of([*BAD, *GOOD]), ["text:Done.", "stop"]], story)


@pytest.mark.parametrize("text", UNREADABLE, ids=lambda text: text[:20])
def test_turn_asks_again_for_a_call_that_cannot_be_read(tmp_path, text):
    async def story(bench: Bench) -> None:
        async with bench.runtime() as runtime:
            ended = outcome(await bench.thread(runtime, scalars).run("go"))
            rows = await bench.rows(runtime)
        assert ended.text == "Done."
        assert [row.content["class"] for row in rows if row.kind == "attempt"] == ["malformed_tool_call"]

    play(tmp_path, [reply_of([text]), ["text:Done.", "stop"]], story)


# ---- found by the above -------------------------------------------------------------------------


def test_key_of_any_length_makes_no_long_complaint():
    reason = complaint_about(scalars, '{"' + "k" * 1_000_000 + '": 1}')
    assert (
        reason
        == f"{'k' * 119}…: extra inputs are not permitted. Parameters of scalars: count, share, sure, text, nothing."
    )


def test_hundreds_of_thousands_of_faults_make_no_long_complaint():
    with ending(cpu_seconds=20):
        names = ",".join(f'"k{number}":1' for number in range(50_000))
        assert "k0: extra inputs are not permitted." in str(complaint_about(scalars, "{" + names + "}"))
        table = '{"table": {"' + "a" * 500 + '": ["' + '","'.join(["x"] * 75_000) + '"]}}'
        assert len(str(complaint_about(nested, table))) < 2_500


def test_arguments_longer_than_any_model_writes_are_not_read():
    reason = complaint_about(anything, '{"value": "' + "x" * 10_000_000 + '"}')
    assert reason == f"the arguments are not JSON (at most {LONGEST} characters are read)"


def test_what_a_validator_raises_is_a_short_complaint():
    assert complaint_about(picky, '{"number": 1}') == "their validation raised KeyError: " + f"'odd {'x' * 294}…"
    answer = judge(ANSWERS[-1].facts, "1")
    assert answer.complaint == f"its validation raised KeyError: 'odd {'x' * 294}…."


def test_name_of_a_tool_of_any_length_makes_no_long_answer():
    with ending(cpu_seconds=20):
        text = notes.unknown_tool("scalar" * 1_000_000, ["scalars", "named"])
    assert len(text) < 300


@pytest.mark.parametrize("arguments", ['{"operation": []}', '{"operation": {}}', "{}", '{"operation": 1}'])
def test_call_of_read_output_that_did_not_fit_does_not_close_later_ones(tmp_path, arguments):
    """It was withheld with what a provider refused, and then its arguments were read as those of one that ran."""

    def look() -> str:
        return "xxx\n" * 20_000

    bad = {"index": 0, "id": "c1", "function": {"name": "read_output", "arguments": arguments}}
    calling = {"choices": [{"index": 0, "delta": {"tool_calls": [bad]}}]}
    end = {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}
    script = [
        ["tool:look({})", "stop"],
        ["text:Long.", "stop"],
        {"status": 200, "sse": [{"event": None, "data": chunk} for chunk in (calling, end)]},
        ["refusal:no"],
        ["text:Without it.", "stop"],
        ['tool:read_output({"operation": "t.1.1.0"})', "stop"],
        ["text:Read.", "stop"],
    ]

    async def story(bench: Bench) -> None:
        async with bench.runtime() as runtime:
            thread = bench.thread(runtime, Tool(look, effect="read"), *journal_tools())
            for text in ("look", "read it", "again"):
                ended = outcome(await thread.run(text))
            results = [row for row in await bench.rows(runtime) if row.kind == "result"]
        assert ended.text == "Read."
        assert [row.quarantine for row in results] == [None, "placeholder", None]
        assert results[1].content["failure"] == "bad_arguments"
        assert results[2].content["text"].startswith("xxx\n")

    play(tmp_path, script, story)
