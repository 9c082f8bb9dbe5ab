"""Recorded exchanges of the case files as answers."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import cast

import msgspec

from stoic.errors import UsageError
from stoic.foreign_json import read_foreign
from stoic.records import Json
from stoic.testing.replies import EndKind, Exchange, Reply

Case = Mapping[str, Json]
Cases = Mapping[str, Case]
"""Cases by id."""


def load_cases(files: Iterable[Path]) -> dict[str, Case]:
    """Read case files: JSON lists of objects with an `id`, or objects that hold such lists.

    Raises:
        UsageError: A file cannot be read or holds something else.
    """
    found: dict[str, Case] = {}
    for file in files:
        try:
            value = read_foreign(file.read_bytes())
        except OSError as error:
            raise UsageError(f"cannot read the cases {file}: {error.strerror}; name an existing JSON file") from None
        except msgspec.DecodeError as error:
            raise UsageError(f"{file} is not JSON: {error}; correct it there") from None
        found |= {str(case["id"]): case for case in _entries(value)}
    return found


def exchange_of(case: Case, case_id: str, label: str) -> Reply:
    """Turn a recorded exchange into an answer.

    Raises:
        UsageError: It records an exception that no listening server can cause, such as a refused connection.
    """
    label = f"{label} wire:{case_id}"
    if case.get("exception") is not None:
        return _broken(cast("Case", case["exception"]), label)
    body, events = case.get("body"), case.get("sse")
    if case.get("transport") == "sse":
        body, events = None, body
    exchange = Exchange(
        status=cast("int", case.get("status") or 200),
        headers=cast("dict[str, str]", case.get("headers") or {}),
        body=body,
        sse=cast("list[dict[str, Json]] | None", events),
    )
    end: EndKind = "cut" if case.get("end") == "cut" else "clean"
    return Reply(label=label, exchange=exchange, end=end)


def patched(exchange: Exchange, changes: Mapping[str, Json]) -> Exchange:
    """Return the exchange with fields of its body overridden; a field is named by its dotted path."""
    body = msgspec.json.decode(msgspec.json.encode(exchange.body))
    for path, value in changes.items():
        *parents, last = path.split(".")
        place = body
        for name in parents:
            place = place.setdefault(name, {})
        place[last] = value
    return msgspec.structs.replace(exchange, body=body)


def _entries(value: Json) -> list[Case]:
    """Return the objects with an id, of a list or of the lists inside an object."""
    if isinstance(value, dict):
        return [entry for inner in cast("dict[str, Json]", value).values() for entry in _entries(inner)]
    items = cast("list[Json]", value) if isinstance(value, list) else []
    return [cast("Case", item) for item in items if isinstance(item, dict) and "id" in item]


def _broken(exception: Case, label: str) -> Reply:
    """Play what a server can do to a connection."""
    kind = str(exception.get("type", "")).rsplit(".", 1)[-1]
    begun = bool(exception.get("after_first_byte"))
    if kind == "RemoteProtocolError":
        return Reply(label=label, end="cut") if begun else Reply(label=label, cut_at_byte=0)
    if kind == "ReadError":
        return Reply(label=label, end="reset")
    if kind in {"ReadTimeout", "APITimeoutError"}:
        return Reply(label=label, hang=True)
    raise UsageError(f"{label}: {kind} cannot be caused by a server that listens; use another way to cause it")
