"""Typed functions as tools: schema, what a model is told when its arguments do not fit, and what cannot be declared."""

from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, Field

from stoic.errors import ToolDeclarationError, UsageError
from stoic.runtime.agents import Agent
from stoic.tools import OperationId, Tool, tool
from stoic.tools.declaration import render_result


@tool(effect="read")
async def weather(city: str, unit: Literal["c", "f"] = "c", days: int = 1) -> str:
    """Tell the weather of a city.

    It is asked from the nearest station.

    Args:
        city: name of the city,
            as the people there write it
        unit: degrees
        days (int): how many days ahead

    Returns:
        One line.
    """
    return f"{city} {unit} {days}"


class Address(BaseModel):
    street: str
    number: int = Field(gt=0)


def properties(declared: Tool) -> dict[str, dict[str, object]]:
    return declared.schema.parameters["properties"]


def test_the_description_is_the_docstring_up_to_its_first_section():
    assert weather.schema.description == "Tell the weather of a city.\n\nIt is asked from the nearest station."


def test_parameters_are_described_by_the_args_section_and_typed_by_the_signature():
    assert properties(weather)["city"] == {
        "type": "string",
        "description": "name of the city, as the people there write it",
    }
    assert properties(weather)["unit"]["enum"] == ["c", "f"]
    assert properties(weather)["days"] == {"type": "integer", "default": 1, "description": "how many days ahead"}
    assert weather.schema.parameters["required"] == ["city"]
    assert weather.schema.parameters["additionalProperties"] is False


def test_a_bare_decorator_declares_a_write():
    @tool
    def put(text: str) -> None:
        """Put it."""

    assert (put.effect, put.name, put.schema.description) == ("write", "put", "Put it.")
    assert (put.facts.effect, put.facts.has_status, put.facts.idempotent, put.facts.keyed) == (
        "write",
        False,
        False,
        False,
    )


def test_a_tool_without_docstring_is_described_by_its_name():
    assert Tool(lambda: None, name="ping").schema.description == "ping"


def test_a_tool_without_parameters_has_an_empty_object_schema():
    schema = Tool(lambda: None, name="ping").schema.parameters
    assert (schema["type"], schema["properties"]) == ("object", {})


def test_a_declared_tool_can_still_be_called_as_the_function_it_was():
    @tool(name="double_it", effect="read")
    def double(number: int) -> int:
        """Double."""
        return 2 * number

    assert double(4) == 8
    assert double.name == "double_it"


def test_a_description_in_the_annotation_wins_over_the_docstring():
    def go(to: Annotated[str, Field(description="the place")]) -> None:
        """Go.

        Args:
            to: something else
        """

    assert properties(Tool(go))["to"]["description"] == "the place"


@pytest.mark.parametrize(
    "name", ["self", "model_config", "schema", "json", "copy", "model_fields", "class_", "validate"]
)
def test_a_parameter_may_have_a_name_that_the_schema_library_uses_itself(name: str):
    namespace: dict[str, object] = {}
    exec(f"def act({name}: str, other: int = 2) -> str:\n    return {name} * other", namespace)  # noqa: S102 - the names are the test
    act = Tool(namespace["act"])  # pyright: ignore[reportArgumentType] - a function
    assert list(properties(act)) == [name, "other"]
    bound = act.bind({name: "x"}, "op")
    assert act(**bound) == "xx"


def test_an_underscore_parameter_keeps_its_name():
    def act(_hidden: str) -> str:
        return _hidden

    assert list(properties(Tool(act))) == ["_hidden"]
    assert Tool(act).bind({"_hidden": "x"}, "op") == {"_hidden": "x"}


def test_an_operation_id_parameter_is_filled_by_the_runtime_and_not_shown_to_the_model():
    def pay(amount: int, key: OperationId) -> str:
        return f"{amount} {key}"

    declared = Tool(pay, effect="send")
    assert list(properties(declared)) == ["amount"]
    assert declared.facts.keyed
    assert declared.bind({"amount": 3}, "t.1.1.0") == {"amount": 3, "key": "t.1.1.0"}
    assert declared.facts.check({"amount": 3, "key": "forged"}) is not None


def test_arguments_are_converted_to_the_annotated_types():
    def send(to: Address, tags: set[str]) -> None: ...

    bound = Tool(send).bind({"to": {"street": "A", "number": 1}, "tags": ["x", "x"]}, "op")
    assert bound == {"to": Address(street="A", number=1), "tags": {"x"}}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "city: field required."),
        ({"city": 1}, "city: input should be a valid string."),
        ({"city": "x", "unit": "k"}, "unit: input should be 'c' or 'f'."),
        ({"city": "x", "place": "y"}, "place: extra inputs are not permitted."),
        ([], "the arguments must be one JSON object, not list."),
        ("x", "the arguments must be one JSON object, not str."),
        (None, "the arguments must be one JSON object, not NoneType."),
    ],
)
def test_arguments_that_do_not_fit_are_answered_with_the_failing_field(arguments, said: str):
    reason = weather.facts.check(arguments)
    assert reason is not None
    assert reason.startswith(said)


def test_a_complaint_names_the_parameters_that_exist_and_no_value_that_was_given():
    reason = weather.facts.check({"place": "a secret place"})
    assert reason is not None
    assert reason.endswith("Parameters of weather: city, unit, days.")
    assert "secret" not in reason


def test_a_failing_field_inside_an_object_is_named_by_its_path():
    def send(to: Address) -> None: ...

    assert (Tool(send).facts.check({"to": {"street": "A", "number": 0}}) or "").startswith("to.number: ")


def test_arguments_that_fit_have_no_complaint():
    assert weather.facts.check({"city": "x", "days": 2}) is None


def untyped(city) -> None: ...
def positional(city: str, /) -> None: ...
def many(*cities: str) -> None: ...
def anything(**fields: str) -> None: ...
def unresolved(city: "NoSuchType") -> None: ...  # noqa: F821 - the point of the test  # pyright: ignore[reportUndefinedVariable]


class Opaque:
    """A type without a JSON schema."""


def opaque(thing: Opaque) -> None: ...


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (untyped, "parameter 'city' has no type; annotate it"),
        (positional, "parameter 'city' cannot be filled by name"),
        (many, "parameter 'cities' cannot be filled by name"),
        (anything, "parameter 'fields' cannot be filled by name"),
        (unresolved, "an annotation cannot be resolved"),
        (opaque, "pydantic cannot build a schema from it"),
        (lambda: None, "use 1 to 64 letters, digits, '_' or '-'"),
    ],
)
def test_a_function_that_cannot_be_a_tool_is_refused_with_the_reason(function, said: str):
    with pytest.raises(ToolDeclarationError, match=said.replace("(", r"\(")):
        Tool(function)


@pytest.mark.parametrize("name", ["", "a b", "a.b", "ä", "x" * 65])
def test_a_name_no_provider_takes_is_refused(name: str):
    with pytest.raises(ToolDeclarationError, match="tool name"):
        Tool(lambda: None, name=name or " ")


def test_an_effect_that_does_not_exist_is_refused():
    with pytest.raises(ToolDeclarationError, match="effect 'delete' is none of read, write, send, exec, poll, wait"):
        Tool(lambda: None, name="act", effect="delete")  # pyright: ignore[reportArgumentType] - the point of the test


def test_two_tools_of_one_name_are_refused():
    with pytest.raises(UsageError, match="two tools are named 'act'"):
        Agent("openai-chat:m", tools=[Tool(lambda: None, name="act"), Tool(lambda: 1, name="act")])


def test_rounds_below_one_are_refused():
    with pytest.raises(UsageError, match="max_rounds is 0"):
        Agent("openai-chat:m", max_rounds=0)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("as it is", "as it is"),
        (None, ""),
        (3, "3"),
        ({"a": [1, "ü"]}, '{"a":[1,"ü"]}'),
        (True, "true"),
        (Address(street="A", number=1), '{"street":"A","number":1}'),
    ],
)
def test_what_a_model_reads_of_a_return_value(value, text: str):
    assert render_result(value) == text
