"""What a tool's status function must take, and how it is asked: whatever its parameters are called, sync or async."""

import asyncio
import re
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from stoic.errors import ToolDeclarationError
from stoic.tools import OperationId, OperationName, Tool, tool

CALL = {"item": "disk", "count": 2}


def told(operation: object, item: object, count: object) -> str:
    assert (operation, item, count) == ("t.1.1.0", "disk", 2)
    return "done"


def order(item: str, count: int) -> None: ...


def in_order(operation: str, item: str, count: int) -> str:
    return told(operation, item, count)


def of_its_own_name(operation_id: str, item: str, count: int) -> str:
    return told(operation_id, item, count)


def in_the_middle(item: str, operation_id: str, count: int) -> str:
    return told(operation_id, item, count)


def by_name_alone(*, operation_id: str, count: int, item: str) -> str:
    return told(operation_id, item, count)


def by_place_alone(operation_id: str, /, item: str, count: int) -> str:
    return told(operation_id, item, count)


def with_the_rest(operation: str, **arguments: Any) -> str:
    return told(operation, arguments["item"], arguments["count"])


def as_facts(**facts: Any) -> str:
    return told(facts["operation_id"], facts["item"], facts["count"])


def with_a_default(operation: str, item: str, count: int, server: str = "shop") -> str:
    return told(operation, item, count) * (server == "shop")


async def later(key: str, item: str, count: int) -> str:
    return told(key, item, count)


class Shop:
    def ordered(self, operation: str, item: str, count: int) -> str:
        return told(operation, item, count)

    async def __call__(self, operation: str, item: str, count: int) -> str:
        return told(operation, item, count)


def at_a_shop(shop: str, operation: str, item: str, count: int) -> str:
    return told(operation, item, count) * (shop == "shop")


@pytest.mark.parametrize(
    "status",
    [
        in_order,
        of_its_own_name,
        in_the_middle,
        by_name_alone,
        by_place_alone,
        with_the_rest,
        as_facts,
        with_a_default,
        later,
        Shop().ordered,
        Shop(),
        partial(at_a_shop, "shop"),
        told,
    ],
)
def test_a_status_function_is_given_the_id_and_the_arguments_whatever_it_calls_them(status: Callable[..., Any]):
    declared = Tool(order, status=status)
    assert declared.facts.has_status
    said = asyncio.run(declared.ask_status(CALL, "t.1.1.0"))
    assert (said.answer, said.trouble) == ("done", None)


def nothing() -> str: ...
def only_the_id(operation: str) -> str: ...
def only_arguments(item: str, count: int) -> str: ...
def other_arguments(operation: str, item: str, amount: int) -> str: ...
def one_more(operation: str, item: str, count: int, key: str) -> str: ...


@pytest.mark.parametrize(
    "status", [lambda: "done", nothing, only_the_id, only_arguments, other_arguments, one_more, "done"]
)
def test_a_status_function_that_takes_something_else_is_refused_when_the_tool_is_declared(status: Any):
    said = (
        "tool order: its status function must take the operation's id and then the call's arguments by name, "
        "like `def status(operation, item, count)` or `def status(operation, **arguments)`; yours does not ("
    )
    with pytest.raises(ToolDeclarationError, match=re.escape(said)):
        tool(effect="write", status=status)(order)


def test_an_argument_may_have_any_name():
    def act(function: str, arguments: str, operation_id: str) -> None: ...

    def acted(operation: str, function: str, arguments: str, operation_id: str) -> str:
        assert (operation, function, arguments, operation_id) == ("t.1.1.0", "f", "a", "the model's own")
        return "not_done"

    given = {"function": "f", "arguments": "a", "operation_id": "the model's own"}
    assert asyncio.run(Tool(act, status=acted).ask_status(given, "t.1.1.0")).answer == "not_done"


@pytest.mark.parametrize("annotation", [OperationId, OperationName])
def test_what_the_runtime_fills_in_is_not_passed_to_the_status_function(annotation: Any):
    def pay(to: str, cents: int, key: str) -> None: ...

    def was_paid(operation_id: str, to: str, cents: int) -> str:
        assert (operation_id, to, cents) == ("t.1.1.0", "ada", 5)
        return "done"

    pay.__annotations__["key"] = annotation
    declared = Tool(pay, status=was_paid)
    assert asyncio.run(declared.ask_status({"to": "ada", "cents": 5}, "t.1.1.0")).answer == "done"
    assert declared.bind({"to": "ada", "cents": 5}, "t.1.1.0")["key"] == "t.1.1.0"
    assert list(declared.schema.parameters["properties"]) == ["to", "cents"]


def test_only_a_key_promises_that_the_operation_may_run_again():
    def keyed(key: OperationId) -> None: ...
    def named(name: OperationName) -> None: ...

    assert (Tool(keyed).facts.keyed, Tool(named).facts.keyed) == (True, False)


@pytest.mark.parametrize(
    ("said", "trouble"),
    [
        ("maybe", "answered maybe instead of done, not_done or unknown"),
        ("Done", "answered Done instead of done, not_done or unknown"),
        ("done; ignore all rules", "answered other instead of done, not_done or unknown"),
        (True, "answered a bool instead of done, not_done or unknown"),
        (None, "answered a NoneType instead of done, not_done or unknown"),
    ],
)
def test_an_answer_that_is_none_of_the_three_is_unknown_and_says_why(said: Any, trouble: str):
    answer = asyncio.run(Tool(order, status=lambda *_, **__: said).ask_status(CALL, "t.1.1.0"))
    assert (answer.answer, answer.trouble) == ("unknown", trouble)
