"""What the scripted provider remembers of the requests it got."""

from collections.abc import Mapping
from typing import IO, cast

import msgspec

from stoic.records import Json

_MASKED = {"authorization", "proxy-authorization", "x-api-key", "api-key", "x-goog-api-key", "cookie"}


class RecordedRequest(msgspec.Struct, kw_only=True):
    """One request as it came; the last four fields are filled in while it is answered."""

    number: int
    """Order of arrival, from 1."""
    method: str
    path: str
    route: str | None
    """The path's first part when the script names it as a route, else the model's name."""
    headers: dict[str, str]
    """Names in lower case; credentials masked."""
    body: bytes
    json: Json
    """The body parsed, or None when it is no JSON."""
    connection: int
    """Number of the connection it came on, from 1."""
    answered_by: str = ""
    """Which entry of the script answered: `reply 2`, `rule 1 wire:ID`, `default`, or `check`, `exhausted`, `not found`."""
    status: int | None = None
    """The status answered, when a head was sent."""
    ended: bool = False
    """Whether the answer has ended, whichever way."""
    left_early: bool = False
    """Whether the client closed before the answer was all sent."""

    def holds(self, needle: str) -> bool:
        """Tell whether the body holds a text, raw or inside any of its strings."""
        if needle in self.body.decode("utf-8", "replace"):
            return True
        return any(needle in text for text in _texts(self.json))


def masked(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers without their secrets; an authorisation keeps its scheme."""
    return {name: _mask(name, value) for name, value in headers.items()}


def write_record(record: RecordedRequest, file: IO[str]) -> None:
    """Append one request as a line of JSON."""
    fields = {name: getattr(record, name) for name in record.__struct_fields__ if name != "body"}
    if record.json is None:
        fields["text"] = record.body.decode("utf-8", "replace")
    file.write(msgspec.json.encode(fields).decode() + "\n")
    file.flush()


def _mask(name: str, value: str) -> str:
    if name not in _MASKED:
        return value
    scheme, space, _ = value.partition(" ")
    return f"{scheme} ***" if space else "***"


def _texts(value: Json) -> list[str]:
    if isinstance(value, str):
        return [value]
    inside: list[Json] = []
    if isinstance(value, dict):
        inside = list(cast("dict[str, Json]", value).values())
    elif isinstance(value, list):
        inside = cast("list[Json]", value)
    return [text for item in inside for text in _texts(item)]
