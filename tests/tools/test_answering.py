"""The type of an agent's answers: a schema, a check that never raises, and the value."""

import json
from typing import Literal

import pytest
from pydantic import BaseModel, Field, ValidationError

from stoic.core.output import is_strict, judge, portable, value_of
from stoic.errors import ToolDeclarationError
from stoic.tools.answering import OutputType


class Author(BaseModel):
    name: str
    born: int | None


class Book(BaseModel):
    title: str = Field(min_length=1)
    authors: list[Author]
    kind: Literal["novel", "other"]


GOOD = {"title": "A", "authors": [{"name": "B", "born": None}], "kind": "novel"}


def test_an_answer_becomes_a_value_of_the_type():
    output = OutputType(Book)
    answer = judge(output.facts, f"Sure:\n```json\n{json.dumps(GOOD)}\n```")
    assert answer.complaint is None
    assert output.parse(answer.text) == Book.model_validate(GOOD)
    assert output.revive(value_of(answer)) == Book.model_validate(GOOD)


@pytest.mark.parametrize(
    ("changed", "complaint"),
    [
        ({"title": ""}, "title: string should have at least 1 character."),
        ({"authors": [{"name": "B"}]}, "authors.0.born: field required."),
        ({"kind": "poem"}, "kind: input should be 'novel' or 'other'."),
        ({"title": 1, "kind": 2}, "title: input should be a valid string. kind: input should be 'novel' or 'other'."),
    ],
)
def test_a_complaint_names_the_failing_fields(changed, complaint: str):
    assert OutputType(Book).facts.check(json.dumps(GOOD | changed)) == complaint


def test_what_is_no_json_is_a_complaint_and_no_exception():
    assert "invalid json" in str(OutputType(Book).facts.check("{"))
    with pytest.raises(ValidationError):
        OutputType(Book).parse("{")


def test_its_schema_fits_strict_mode_when_no_field_has_a_default():
    class Optional(BaseModel):
        name: str = "x"

    assert is_strict(portable(OutputType(Book).facts.schema))
    assert not is_strict(portable(OutputType(Optional).facts.schema))


@pytest.mark.parametrize(
    ("answer_type", "name", "text", "value"),
    [
        (list[int], "list", "[1, 2]", [1, 2]),
        (int | None, "int_None", "null", None),
        (dict[str, int], "dict", '{"a": 1}', {"a": 1}),
    ],
)
def test_any_type_pydantic_can_check_is_fine(answer_type, name: str, text: str, value):
    output = OutputType(answer_type)
    assert output.facts.name == name
    assert output.facts.check(text) is None
    assert output.parse(text) == output.revive(value) == value


def test_a_type_without_schema_is_refused_in_one_line_when_it_is_declared():
    class Opaque:
        pass

    with pytest.raises(ToolDeclarationError, match="output Opaque: pydantic cannot build a schema") as raised:
        OutputType(Opaque)
    assert "\n" not in str(raised.value)
