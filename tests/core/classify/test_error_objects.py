"""Where errors are found, with which codes and which text, and what is none."""

import ast
import json
from typing import Any

import pytest

from stoic.core.classify.error_objects import _as_json, in_body, in_event, in_message, is_page


def told(found):
    return [(one.path, [field for field, _ in one.codes], one.message_field) for one in found]


def nested(depth, key="error"):
    body: dict[str, Any] = {"code": "c", "message": "m"}
    for _ in range(depth):
        body = {key: body}
    return body


CODE = {"code": "c", "message": "m"}
FOUND = [("body", ["body.code"], "body.message")]
THREE = [CODE, CODE, CODE]

# name: (body, status, [(path, fields of its codes, field of its text)])
BODIES: dict[str, tuple[Any, int | None, list[tuple[str, list[str], str]]]] = {
    "nothing": (None, 500, []),
    "empty": ({}, 500, []),
    "text": ("busy", 500, [("body", [], "body")]),
    "text of an answer": ("busy", 200, []),
    "text without a status": ("busy", None, []),
    "blanks": (" \n", 500, []),
    "a page": ("<html>busy", 500, []),
    "first status of a failure": ({"odd": 1}, 400, [("body", [], "body")]),
    "last status of none": ({"odd": 1}, 399, []),
    "object without a status": (CODE, None, FOUND),
    "code without a text": ({"code": "c"}, 200, []),
    "amazon's type": ({"__type": "a#B", "message": "m"}, 200, [("body", ["body.__type"], "body.message")]),
    "amazon's type with nothing in it": ({"__type": "", "message": "m"}, 200, [("body", [], "body.message")]),
    "baidu's code": ({"error_code": 17, "error_msg": "m"}, 200, [("body", ["body.error_code"], "body.error_msg")]),
    "baidu's code of a success": ({"error_code": 0, "error_msg": "m"}, 200, []),
    "baidu's code of a success, as text": ({"error_code": "0", "message": "m"}, 200, []),
    "baidu's empty code": ({"error_code": "", "message": "m"}, 200, []),
    "baidu's absent code": ({"error_code": None, "message": "m"}, 200, []),
    "text under error": ({"error": "Down"}, 200, [("body", [], "body.error")]),
    "text under error beside a code": ({"error": "Down", "code": "c"}, 200, [("body", ["body.code"], "body.error")]),
    "list under error": ({"error": ["Down"], "choices": []}, 200, []),
    "object under error": ({"error": CODE}, 200, [("body.error", ["body.error.code"], "body.error.message")]),
    "code beside the object under error": (
        {"error": {"message": "m"}, "code": "c"}, 200, [("body.error", ["body.code"], "body.error.message")],
    ),
    "no code beside the object under error": (
        {"error": {"message": "m"}, "code": ["c"]}, 200, [("body.error", [], "body.error.message")],
    ),
    "text under error under error": ({"error": {"error": "Down"}}, 200, [("body.error", [], "body.error.error")]),
    "empty error under error": ({"error": {"error": "", **CODE}}, 200, [("body.error", ["body.error.code"], "body.error.message")]),
    "list under error under error": ({"error": {"error": [1], **CODE}}, 200, [("body.error", ["body.error.code"], "body.error.message")]),
    "error under error without a code": ({"error": {"error": {"odd": 1}}}, 200, [("body.error.error", [], "body.error.error")]),
    "minimax's": ({"base_resp": {"status_code": 7, "status_msg": "m"}}, 200, [("body.base_resp", ["body.base_resp.status_code"], "body.base_resp.status_msg")]),
    "minimax's of a success": ({"base_resp": {"status_code": 0, "status_msg": "m"}}, 200, []),
    "minimax's that is empty": ({"base_resp": {}}, 200, []),
    "tencent's": (
        {"Response": {"Error": {"Code": "c", "Message": "m"}}}, 200,
        [("body.Response.Error", ["body.Response.Error.Code"], "body.Response.Error.Message")],
    ),
    "tencent's answer": ({"Response": {"odd": 1}}, 200, []),
    "tencent's word for something else": ({"Response": "text", "odd": 1}, 200, []),
    "iflytek's": ({"header": {"code": 7, "message": "m"}}, 200, [("body.header", ["body.header.code"], "body.header.message")]),
    "iflytek's of a success": ({"header": {"code": 0, "message": "m"}}, 200, []),
    "cloudflare's": ({"success": False, "errors": [CODE]}, 200, [("body.errors[0]", ["body.errors[0].code"], "body.errors[0].message")]),
    "cloudflare's without a code": ({"success": False, "errors": [{"odd": 1}]}, 200, [("body.errors[0]", [], "body.errors[0]")]),
    "nothing but its failure": ({"success": False, "odd": 1}, 200, []),
    "cloudflare's of a success": ({"success": True, "errors": [CODE]}, 200, []),
    "errors under a failure": ({"errors": [CODE]}, 400, [("body.errors[0]", ["body.errors[0].code"], "body.errors[0].message")]),
    "errors of an answer": ({"errors": [CODE]}, 200, []),
    "error and errors": (
        {"error": "Down", "success": False, "errors": [CODE]}, 200,
        [("body", [], "body.error"), ("body.errors[0]", ["body.errors[0].code"], "body.errors[0].message")],
    ),
    "error and detail": (
        {"error": "Down", "detail": CODE}, 400,
        [("body", [], "body.error"), ("body.detail", ["body.detail.code"], "body.detail.message")],
    ),
    "detail without a code": ({"detail": {"odd": 1}}, 400, [("body.detail", [], "body.detail")]),
    "detail of an answer": ({"detail": CODE}, 200, []),
    "error in a choice": (
        {"choices": [{}, {"error": CODE}]}, 200,
        [("body.choices[1].error", ["body.choices[1].error.code"], "body.choices[1].error.message")],
    ),
    "errors in a choice": ({"choices": [{"code": "c", "message": "m"}, "odd"]}, 200, []),
    "error beside a choice's": (
        {"error": "Down", "choices": [{"error": "Out"}]}, 200,
        [("body", [], "body.error"), ("body.choices[0]", [], "body.choices[0].error")],
    ),
    "list": ([{}, CODE], 200, [("body[1]", ["body[1].code"], "body[1].message")]),
    "texts of a form": ({"detail": [{"msg": "m", "type": "t"}]}, 422, [("body", ["body.detail[0].type"], "body.detail[0].msg")]),
    "azure's inner codes": (
        {"error": {"code": "c", "innererror": {"code": "d", "innererror": {"code": "e"}}}}, 400,
        [("body.error", ["body.error.innererror.innererror.code", "body.error.innererror.code", "body.error.code"], "body.error")],
    ),
    "google's reasons": (
        {"error": {"status": "s", "details": [{}, {"reason": "r"}]}}, 400,
        [("body.error", ["body.error.details[1].reason", "body.error.status"], "body.error")],
    ),
    "openrouter's type": (
        {"error": {"code": "c", "metadata": {"error_type": "t", "provider_code": "p"}}}, 400,
        [("body.error", ["body.error.metadata.error_type", "body.error.code", "body.error.metadata.provider_code"], "body.error")],
    ),
    "a code that is a list": ({"error": {"code": ["c"], "message": "m"}}, 400, [("body.error", [], "body.error.message")]),
    "four deep": (nested(4), 200, [("body.error.error.error.error", ["body.error.error.error.error.code"], "body.error.error.error.error.message")]),
    "five deep": (nested(5), 200, [("body.error.error.error.error.error", ["body.error.error.error.error.error.code"], "body.error.error.error.error.error.message")]),
    "six deep": (nested(6), 200, [("body.error.error.error.error", [], "body.error.error.error.error")]),
    "four details deep": (nested(4, "detail"), 400, [("body.detail.detail.detail.detail", ["body.detail.detail.detail.detail.code"], "body.detail.detail.detail.detail.message")]),
    "lists four deep": ([[[[CODE]]]], 200, [("body[0][0][0][0]", ["body[0][0][0][0].code"], "body[0][0][0][0].message")]),
    "lists five deep": ([[[[[CODE]]]]], 200, []),
}  # fmt: skip


@pytest.mark.parametrize("name", BODIES)
def test_errors_of_a_body_are_found_with_their_codes_and_text(name):
    body, status, expected = BODIES[name]
    assert told(in_body(body, status)) == expected


@pytest.mark.parametrize(
    ("body", "code", "text"),
    [
        ("busy", None, "busy"),
        ({"__type": "a#B", "message": "m"}, "B", "m"),
        ({"code": "a#B"}, "a#B", ""),
        ({"detail": [{"msg": "m", "type": "t"}, {"msg": "n", "type": "u"}]}, "t", "m"),
        ({"detail": ["odd"]}, None, ""),
        ({"detail": [{"msg": 7}]}, None, ""),
        ({"message": "", "msg": [], "detail": "m", "details": ["odd", {"reason": "r"}]}, "r", "m"),
    ],
)
def test_error_keeps_its_code_and_text(body, code, text):
    error = in_body(body, 500)[0]
    assert ([value for _, value in error.codes], error.message) == ([] if code is None else [code], text)


@pytest.mark.parametrize("body", [[*THREE, CODE], {"choices": [{"error": CODE}, *[{"error": CODE}] * 3]}])
def test_only_the_first_three_of_a_list_are_read(body):
    assert len(in_body(body, 200)) == 3


@pytest.mark.parametrize("word", ["", "none", "Null", "ok", "SUCCESS", "0", "200"])
def test_word_of_a_success_is_neither_an_error_nor_a_code(word):
    assert in_body({"error": word, "odd": 1}, 200) == []
    assert in_body({"code": word, "message": "m"}, 200) == []
    assert in_body({"error": {"code": word, "message": "m"}}, 400)[0].codes == []


@pytest.mark.parametrize("key", ["choices", "candidates", "output", "content", "response", "result", "generated_text"])
def test_code_and_message_beside_an_answer_are_no_error(key):
    assert in_body({**CODE, key: ["a"]}, 200) == []
    assert told(in_body({**CODE, key: []}, 200)) == FOUND


@pytest.mark.parametrize(
    "key",
    ["message", "Message", "error_msg", "errorMessage", "msg", "status_msg", "detail", "error_description"],
)
def test_text_of_an_error_has_many_names(key):
    error = in_body({"error": {key: "said"}}, 400)[0]
    assert (error.message, error.message_field) == ("said", f"body.error.{key}")


@pytest.mark.parametrize("key", ["code", "Code", "error_code", "status_code", "error_type", "type", "__type", "status"])
def test_code_of_an_error_has_many_names(key):
    assert in_body({"error": {key: "C"}}, 400)[0].codes == [(f"body.error.{key}", "C")]


@pytest.mark.parametrize(
    "key", ["code", "status", "status_code", "raw_status_code", "http_status", "originalStatusCode"]
)
def test_error_may_name_its_status(key):
    def status(value, outer: int | None = 200):
        return in_body({"error": {"message": "m", key: value}}, outer)[0].status

    assert [status(value) for value in (399, 400, "429", 599, 600)] == [None, 400, 429, 599, None]
    assert status(503, None) == 503
    assert status(503, 429) == 429
    assert status(503, 400) == 400
    assert status(503, 399) == 503


OPENAI = {"type": "response.failed", "response": {"error": CODE}}

# name: (name of the event, data, what is found)
EVENTS: dict[str, tuple[str, Any, list[tuple[str, list[str], str]]]] = {
    "text": ("error", "down", [("e.data", [], "e.data")]),
    "blanks": ("error", " ", []),
    "text of another event": ("note", "down", []),
    "named error": ("error", {"odd": 1}, [("e.data", [], "e.data")]),
    "named otherwise": ("note", {"odd": 1}, []),
    "named by amazon": ("throttlingException", {"message": "m"}, [("e.data", ["e.event"], "e.data.message")]),
    "named by amazon, with a text": ("throttlingException", "slow", [("e.data", ["e.event"], "e.data")]),
    "amazon's key": ("", {"throttlingException": {"message": "m"}}, [("e.data.throttlingException", ["e.data"], "e.data.throttlingException.message")]),
    "amazon's key, with a text": ("", {"throttlingException": "slow"}, [("e.data.throttlingException", ["e.data"], "e.data.throttlingException")]),
    "response that failed": ("", OPENAI, [("e.data.response.error", ["e.data.response.error.code"], "e.data.response.error.message")]),
    "response beside an error": (
        "", {"error": "Down", **OPENAI},
        [("e.data", ["e.data.type"], "e.data.error"), ("e.data.response.error", ["e.data.response.error.code"], "e.data.response.error.message")],
    ),
    "response of another kind": ("", {**OPENAI, "type": "note"}, []),
    "response without a kind": ("", {"response": {"error": CODE}, "type": 7}, []),
    "response without an error": ("", {"type": "response.completed", "response": {**CODE, "error": None}}, []),
    "type": ("", {"type": "error", "odd": 1}, [("e.data", ["e.data.type"], "e.data")]),
    "object": ("", {"object": "error", "odd": 1}, [("e.data", [], "e.data")]),
    "event type": ("", {"event_type": "error", "odd": 1}, [("e.data", [], "e.data")]),
    "six deep": ("", nested(6), [("e.data.error.error.error.error", [], "e.data.error.error.error.error")]),
}  # fmt: skip


@pytest.mark.parametrize("name", EVENTS)
def test_errors_of_an_event_are_found(name):
    event, data, expected = EVENTS[name]
    assert told(in_event(event, data, "e.data")) == expected


JSON = '{"error": {"code": "c", "message": "m"}}'
PYTHON = "{'error': {'code': 'c', 'message': 'm', 'param': None}}"

WRAPPED = [
    JSON,
    f"  {JSON}  ",
    f"{JSON} (request id r-1)",
    f"[{JSON}] tail",
    f"b'{JSON}'",
    f"Error code: 400 - {PYTHON}",
    f"openai.BadRequestError: Error code: 400 - {PYTHON}",
    f"AnthropicException - {JSON}",
    f"litellm.BadRequestError: AnthropicException - {JSON}",
    f"Status 429. Body: {JSON}",
    f"API error occurred: Status 429. body: {JSON}",
    f"Unexpected response received: Status 429, Content-Type: application/json, Body: {JSON}",
    f"429 RESOURCE_EXHAUSTED. {JSON}",
    f"ClientError: 429 RESOURCE_EXHAUSTED. {PYTHON}",
    f"500 {JSON}",
    f"Error code: 400 - {PYTHON[:-1]}, 'flag': True, 'off': False, 'say': \"it's\"}}",
    "Error code: 400 - {'error': {'code': 'c', 'message': 'a\\'b'}}",
    f'{JSON[:-1]}, "odd": "\ud800"}}',
    f"{'a' * 160}Exception - {JSON}",
]


@pytest.mark.parametrize("text", WRAPPED)
def test_error_written_inside_a_text_is_found(text):
    found = in_message(text, "m", 400)
    assert [value for error in found for _, value in error.codes] == ["c"]


@pytest.mark.parametrize(
    "text",
    [
        "down",
        "{",
        "see {x}",
        f"I said {JSON}",
        f"{'a' * 161}Exception - {JSON}",
        "{'error': f(1)}",
        "{'error': {[]: 1}}",
        "{'error': [" + "-" * 9000 + "1]}",
        "{'error': " + "[" * 9000 + "]" * 9000 + "}",
        "{'error': {'code': 'c', 'message': '" + "\\'" * 10_000 + "'}}",
    ],
)
def test_text_that_holds_no_readable_error_has_none(text):
    assert in_message(text, "m", 400) == []


def test_longest_literal_is_still_read():
    shell = "{'error': {'code': 'c', 'message': '\\'%s'}}"
    assert in_message(shell % ("x" * (20_000 - len(shell) + 2)), "m", 400)
    assert not in_message(shell % ("x" * (20_001 - len(shell) + 2)), "m", 400)


def test_object_inside_a_text_is_an_error_whatever_it_holds():
    assert told(in_message("Error code: 404 - {'detail': 'Not Found'}", "m", 404)) == [("m", [], "m.detail")]
    found = [in_message(json.dumps(nested(depth)), "m", 400)[0] for depth in (4, 5)]
    assert [len(error.codes) for error in found] == [1, 0]


@pytest.mark.parametrize(
    "literal",
    [
        "{'a': None, 'b': True, 'c': [False]}",
        "{'a': 'None of it is True', 'None': 1}",
        "{'a': \"it's\", \"b\": None, 'say \"hi\"': True, 'c': False}",
        "{'a': ''}",
        "[]",
    ],
)
def test_python_literal_without_escapes_becomes_json(literal):
    assert json.loads(_as_json(literal)) == ast.literal_eval(literal)


def test_python_literal_with_escapes_is_left_as_it_is():
    assert _as_json("{'a': '\\n'}") == "{'a': '\\n'}"


@pytest.mark.parametrize(
    "page", ["<!DOCTYPE html>", "<HTML lang=en>", "<head>", "<body>", "\n<html>", " " * 1995 + "<html"]
)
def test_page_for_people_is_told_from_a_text(page):
    assert is_page(page)
    assert not is_page([page])


@pytest.mark.parametrize("text", ["", "{}", "html", " " * 1996 + "<html"])
def test_text_is_no_page(text):
    assert not is_page(text)
