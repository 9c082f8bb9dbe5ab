"""Structured output: what a model is asked for, what it gets natively from each API, and what follows from its answer.

Pure: the type itself, and the validation by it, stay outside and come as `OutputFacts`. Works without any native support:
the instruction alone says what to write; where an API can bind the answer to a schema, that is asked for as well.
"""

from collections.abc import Callable, Mapping
from typing import cast

import msgspec

from stoic.foreign_json import read_foreign
from stoic.records import Json, Record

NUDGE_REASON = "bad_output"
"""The reason of the one nudge row; a second answer that does not fit ends the turn."""

_FENCE = "```"
_STRIPPED_KEYWORDS = frozenset(
    {
        "default",
        "examples",
        "exclusiveMaximum",
        "exclusiveMinimum",
        "format",
        "maxItems",
        "maxLength",
        "maximum",
        "minItems",
        "minLength",
        "minimum",
        "multipleOf",
        "pattern",
        "uniqueItems",
    }
)
"""Constraints that one API or another refuses in a schema it is to enforce; the validation afterwards still has them.
https://platform.openai.com/docs/guides/structured-outputs, https://docs.anthropic.com/en/docs/build-with-claude/structured-outputs"""
_NAMED = ("properties", "$defs", "definitions", "patternProperties")
"""Keywords whose value maps names of the user's own to schemas."""


class OutputFacts(Record, frozen=True):
    """What the core must know of the type an agent answers with; the type itself stays outside."""

    name: str
    schema: Json
    """A JSON schema."""
    check: Callable[[str], str | None]
    """Pure: None when the JSON text is a value of the type, else one sentence that names the failing fields."""


class Answer(Record, frozen=True):
    """What a final text is, seen as an answer of the type."""

    text: str
    """The JSON text in it; empty when there is none."""
    complaint: str | None
    """What is wrong with it; None: it fits."""


def judge(output: OutputFacts, text: str) -> Answer:
    """Tell whether a final answer is a value of the type, as it is or inside one fence or sentence."""
    found = json_in(text)
    if found is None:
        return Answer(text="", complaint="the answer holds no JSON value.")
    return Answer(text=found, complaint=output.check(found))


def value_of(answer: Answer) -> Json:
    """Return the plain JSON value of an answer that fits, for the outcome."""
    return msgspec.json.decode(answer.text)


def json_in(text: str) -> str | None:
    """Return the JSON value that a text is or holds; None: none.

    A model without native support likes to put it into a fence or behind a sentence: the last fence that holds JSON counts,
    else what stands between the first opening and the last closing bracket.
    """
    candidates = [text.strip(), *reversed(_fenced(text)), *_bracketed(text)]
    return next((each for each in candidates if _is_json(each)), None)


def instruction(output: OutputFacts) -> str:
    """Return what the end of the system prompt says."""
    schema = msgspec.json.encode(output.schema).decode()
    return (
        f"When you give your final answer, it must be one JSON value of the type {output.name} and nothing else: no sentence "
        f"before or after it, no code fence. It must fit this JSON schema:\n{schema}"
    )


def nudge(complaint: str) -> str:
    """Return what is said before the one re-send."""
    return (
        f"[runtime] Your answer does not fit the type that was asked for: {complaint} Answer again with one JSON value that "
        "fits the schema, and nothing else."
    )


def unmet(output: OutputFacts, complaint: str) -> str:
    """Say to a person that the answer did not fit twice."""
    return f"The model's answer does not fit the type {output.name}, also when asked again: {complaint}"


def native_parameters(api: str, output: OutputFacts, *, has_tools: bool) -> dict[str, Json]:
    """Return the request parameters by which an API binds its answer to the schema; empty: it has none that can be used.

    Args:
        api: `chat`, `responses`, `messages` or `generate`
        output: the type
        has_tools: whether the request offers tools: with them Gemini refuses a schema for the answer
            (https://ai.google.dev/gemini-api/docs/structured-output)
    """
    schema = portable(output.schema)
    named = {"name": output.name, "schema": schema, "strict": is_strict(schema)}
    match api:
        case "chat":
            return {"response_format": {"type": "json_schema", "json_schema": named}}
        case "responses":
            return {"text": {"format": {"type": "json_schema", **named}}}
        case "messages":
            return {"output_config": {"format": {"type": "json_schema", "schema": schema}}}
        case "generate" if not has_tools:
            return {"generationConfig": {"responseMimeType": "application/json", "responseJsonSchema": schema}}
        case _:
            return {}


def merged(parameters: Mapping[str, Json], native: Mapping[str, Json]) -> dict[str, Json]:
    """Return an agent's parameters with the native ones; objects are merged key by key, and the agent's own word counts."""
    result: dict[str, Json] = dict(native)
    for name, value in parameters.items():
        known = result.get(name)
        if isinstance(known, dict) and isinstance(value, dict):
            result[name] = merged(cast("dict[str, Json]", value), cast("dict[str, Json]", known))
        else:
            result[name] = value
    return result


def portable(schema: Json) -> Json:
    """Return a schema that every API with native support takes: closed objects, and no constraint that one refuses."""
    if isinstance(schema, list):
        return [portable(each) for each in cast("list[Json]", schema)]
    if not isinstance(schema, dict):
        return schema
    members = cast("dict[str, Json]", schema)
    kept: dict[str, Json] = {}
    for keyword, value in members.items():
        if keyword in _NAMED and isinstance(value, dict):
            kept[keyword] = {name: portable(each) for name, each in cast("dict[str, Json]", value).items()}
        elif keyword in {"enum", "const", "required"}:
            kept[keyword] = value
        elif keyword not in _STRIPPED_KEYWORDS:
            kept[keyword] = portable(value)
    if "properties" in kept:
        kept["additionalProperties"] = False
    return kept


def is_strict(schema: Json) -> bool:
    """Tell whether OpenAI's strict mode takes a portable schema: an object of which every field is required, at each level."""
    return isinstance(schema, dict) and "properties" in schema and _all_required(cast("dict[str, Json]", schema))


def _all_required(schema: Json) -> bool:
    if isinstance(schema, list):
        return all(_all_required(each) for each in cast("list[Json]", schema))
    if not isinstance(schema, dict):
        return True
    members = cast("dict[str, Json]", schema)
    properties: dict[str, Json] = members.get("properties", {})
    open_object = members.get("type") == "object" and (
        "properties" not in members or members.get("additionalProperties")
    )
    if open_object or set(properties) != set(members.get("required", [])):
        return False
    return all(_all_required(value) for keyword, value in members.items() if keyword not in _NAMED) and all(
        _all_required(each) for keyword in _NAMED for each in members.get(keyword, {}).values()
    )


def _fenced(text: str) -> list[str]:
    """Return the contents of a text's code fences, without the word behind the opening one."""
    pieces = text.split(_FENCE)[1::2]
    return [piece.partition("\n")[2].strip() for piece in pieces]


def _bracketed(text: str) -> list[str]:
    found: list[str] = []
    for opening, closing in ("{}", "[]"):
        start, end = text.find(opening), text.rfind(closing)
        if 0 <= start < end:
            found.append(text[start : end + 1])
    return sorted(found, key=len, reverse=True)


def _is_json(text: str) -> bool:
    try:
        read_foreign(text)
    except msgspec.DecodeError:
        return False
    return True
