"""Structured output: JSON found in whatever a model wraps it in, and a schema as each API takes it."""

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.world import World, plan, run, said

from stoic.core.output import (
    OutputFacts,
    instruction,
    is_strict,
    json_in,
    judge,
    merged,
    native_parameters,
    nudge,
    portable,
    unmet,
    value_of,
)
from stoic.records import Outcome, Report

SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "year": {"type": "integer", "minimum": 1900}},
    "required": ["name", "year"],
}
CLOSED = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "year": {"type": "integer"}},
    "required": ["name", "year"],
    "additionalProperties": False,
}


def check(text: str) -> str | None:
    """Want an object with a name."""
    value = msgspec.json.decode(text)
    return None if isinstance(value, dict) and "name" in value else "name: field required."


FACTS = OutputFacts(name="Book", schema=SCHEMA, check=check)
GOOD = '{"name": "A", "year": 1999}'


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (GOOD, GOOD),
        (f"  \n{GOOD}\n", GOOD),
        (f"```json\n{GOOD}\n```", GOOD),
        (f"Here it is:\n```\n{GOOD}\n```\nAnything else?", GOOD),
        (f"Example:\n```json\n{{}}\n```\nAnswer:\n```json\n{GOOD}\n```", GOOD),
        (f"```python\nprint()\n```\nand {GOOD}", GOOD),
        (f"The answer is {GOOD}.", GOOD),
        ("The list is [1, 2] as asked.", "[1, 2]"),
        ('It is {"a": [1]}, that is all.', '{"a": [1]}'),
        ("[1] and {broken", "[1]"),
        ("42", "42"),
        ('"text"', '"text"'),
        ("no value", None),
        ("", None),
        ("{not json}", None),
        ("} backwards {", None),
        ("```json```", None),
        ("\ud800", None),
    ],
)
def test_json_is_found_in_what_a_model_wraps_it_in(text: str, found: str | None):
    assert json_in(text) == found


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda each: st.lists(each) | st.dictionaries(st.text(), each),
    )
)
def test_any_json_value_is_found_as_it_is(value):
    text = json.dumps(value)
    found = json_in(f" {text}\n")
    assert found is not None
    assert json.loads(found) == value


def test_an_answer_that_fits_has_no_complaint_and_its_plain_value():
    answer = judge(FACTS, f"```json\n{GOOD}\n```")
    assert answer.complaint is None
    assert value_of(answer) == {"name": "A", "year": 1999}


@pytest.mark.parametrize(
    ("text", "complaint"), [("sorry", "the answer holds no JSON value."), ('{"year": 1}', "name: field required.")]
)
def test_an_answer_that_does_not_fit_says_what_is_wrong(text: str, complaint: str):
    answer = judge(FACTS, text)
    assert answer.complaint == complaint
    assert complaint in nudge(complaint)
    assert complaint in unmet(FACTS, complaint)


def test_the_instruction_holds_name_and_schema():
    said = instruction(FACTS)
    assert "of the type Book and nothing else" in said
    assert json.loads(said.rpartition("\n")[2]) == SCHEMA


@pytest.mark.parametrize(
    ("api", "path"),
    [
        ("chat", ["response_format", "json_schema", "schema"]),
        ("responses", ["text", "format", "schema"]),
        ("messages", ["output_config", "format", "schema"]),
        ("generate", ["generationConfig", "responseJsonSchema"]),
    ],
)
def test_each_api_gets_the_portable_schema_where_it_wants_it(api: str, path: list[str]):
    found = native_parameters(api, FACTS, has_tools=False)
    for step in path:
        found = found[step]
    assert found == CLOSED


def test_an_api_without_native_support_gets_nothing():
    assert native_parameters("other", FACTS, has_tools=False) == {}
    assert native_parameters("generate", FACTS, has_tools=True) == {}
    assert native_parameters("chat", FACTS, has_tools=True)["response_format"]["json_schema"]["strict"] is True


def test_the_agents_own_parameters_stay_beside_and_above_the_native_ones():
    native = {"generationConfig": {"responseMimeType": "application/json", "x": {"a": 1}}, "other": 1}
    own = {"generationConfig": {"temperature": 0, "x": 2}, "other": {"b": 1}, "top": True}
    assert merged(own, native) == {
        "generationConfig": {"responseMimeType": "application/json", "x": 2, "temperature": 0},
        "other": {"b": 1},
        "top": True,
    }


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        (SCHEMA, CLOSED),
        (
            {"type": "string", "pattern": "a", "maxLength": 3, "description": "d"},
            {"type": "string", "description": "d"},
        ),
        (
            {"type": "object", "properties": {"pattern": {"type": "string", "default": "x"}}},
            {"type": "object", "properties": {"pattern": {"type": "string"}}, "additionalProperties": False},
        ),
        (
            {"enum": ["default", {"minimum": 1}], "const": {"format": 1}},
            {"enum": ["default", {"minimum": 1}], "const": {"format": 1}},
        ),
        (
            {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}]},
            {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        ),
        ({"$defs": {"A": SCHEMA}, "$ref": "#/$defs/A"}, {"$defs": {"A": CLOSED}, "$ref": "#/$defs/A"}),
        (True, True),
    ],
)
def test_a_portable_schema_is_closed_and_has_no_constraint_that_an_api_refuses(schema, expected):
    assert portable(schema) == expected


@pytest.mark.parametrize(
    ("schema", "strict"),
    [
        (CLOSED, True),
        ({**CLOSED, "required": ["name"]}, False),
        ({"type": "array", "items": {"type": "string"}}, False),
        (True, False),
        ({"properties": {"a": {"type": "object"}}, "required": ["a"]}, False),
        ({"properties": {"a": {"anyOf": [CLOSED, {"type": "null"}]}}, "required": ["a"]}, True),
        ({"properties": {"a": {"anyOf": [{**CLOSED, "required": []}]}}, "required": ["a"]}, False),
        (
            {"properties": {"a": {"$ref": "#/$defs/A"}}, "required": ["a"], "$defs": {"A": {**CLOSED, "required": []}}},
            False,
        ),
    ],
)
def test_strict_mode_is_asked_for_only_when_every_field_is_required(schema, strict: bool):
    assert is_strict(schema) is strict


# ---- in a turn --------------------------------------------------------------------------------------

PERSON = OutputFacts(name="Person", schema=SCHEMA, check=check)


def ended(*replies: Report) -> tuple[World, Outcome]:
    rest = list(replies)
    world = World(plan(output=PERSON), lambda _: rest.pop(0))
    world.message()
    outcome = run(world)
    assert isinstance(outcome, Outcome)
    return world, outcome


def test_an_answer_of_the_type_is_the_outcomes_value():
    world, outcome = ended(said('{"name":"Ada"}'))
    assert (outcome.outcome, outcome.value, len(world.sends)) == ("completed", {"name": "Ada"}, 1)


def test_an_answer_that_does_not_fit_is_asked_for_once_more_and_may_fit_then():
    world, outcome = ended(said("Ada"), said('{"name":"Ada"}'))
    assert (outcome.outcome, outcome.value, len(world.sends)) == ("completed", {"name": "Ada"}, 2)
    assert world.sends[1][1][-1].text == nudge("the answer holds no JSON value.")


def test_an_answer_that_does_not_fit_twice_fails_with_its_text():
    world, outcome = ended(said("Ada"), said("Ada Lovelace"))
    assert (outcome.outcome, outcome.failure_class, len(world.sends)) == ("failed", "malformed_tool_call", 2)
    assert (outcome.text, outcome.value) == ("Ada Lovelace", None)
    assert outcome.recovers_with == "request_change"
    assert outcome.message == unmet(PERSON, "the answer holds no JSON value.")
