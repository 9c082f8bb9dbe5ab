"""A recorded run as `stoic scan` sees it: calls, texts and events in order; and the reader of our own trace format."""

import re
from typing import Any, cast, get_args

import msgspec

from stoic.cli.cleaning import shortened
from stoic.core.loops import Call, Effect, Event
from stoic.errors import UsageError, brief
from stoic.foreign_json import read_foreign
from stoic.records import Json, Record

Item = dict[str, Any]
"""A JSON object."""

_FAILURE = re.compile(
    r"\s*(?:error\s*:|fatal: |\w{0,40}(?:Error|Exception): |traceback \(most recent call last\)|<tool_use_error>|"
    r"(?:permission|access) denied\b[^\n]{0,200}$|exit code:? (?!0\b)\d|<returncode>(?!0\b))",
    re.IGNORECASE,
)
"""How a result begins that tells of a failure, for recordings that keep no flag. No status codes: documents have them."""

_VALUE_CELLS = 60
"""So much of a value of the file stands in an error line."""
_EVENTS: tuple[str, ...] = get_args(Event)
_EFFECTS: tuple[str, ...] = get_args(Effect)


class Entry(Record, frozen=True):
    """One call, text or event of a trace."""

    position: int
    """What a report calls it: its place in a trace of our own, else the number of the call (or of the text)."""
    call: Call | None = None
    result: Json = None
    answered: bool = False
    """Whether the call ran and its result is known."""
    failed: bool = False
    text: str | None = None
    event: Event | None = None


class Trace(Record, frozen=True):
    """One recorded run."""

    id: str
    entries: list[Entry]


class TraceBuilder:
    """Collects the entries of a foreign format; results find their calls by id, wherever they stand."""

    def __init__(self, identity: str) -> None:
        self._identity = identity
        self._entries: list[Entry] = []
        self._open: dict[str, int] = {}
        self._calls = 0
        self._texts = 0

    def call(self, call_id: str, tool: str, arguments: Json, *, batch: int = 0, effect: Effect | None = None) -> None:
        """Note a call; `arguments` may be JSON as text, `effect` None: it is inferred."""
        self._calls += 1
        self._open[call_id] = len(self._entries)
        self._entries.append(
            Entry(position=self._calls, call=Call(tool=tool, arguments=parsed(arguments), batch=batch, effect=effect))
        )

    def result(self, call_id: str, result: Json, *, failed: bool | None = None, known: bool = True) -> None:
        """Note a call's result; `failed` None: told from the result itself. A result without its call is left out."""
        place = self._open.pop(call_id, None)
        if place is None:
            return
        entry = self._entries[place]
        call = cast("Call", entry.call)
        self._entries[place] = msgspec.structs.replace(
            entry,
            call=msgspec.structs.replace(call, known=known),
            result=result,
            answered=True,
            failed=tells_failure(result) if failed is None else failed,
        )

    def text(self, text: str) -> None:
        """Note a text of the assistant; blank ones are none."""
        if text.strip():
            self._texts += 1
            self._entries.append(Entry(position=self._texts, text=text))

    def event(self, event: Event) -> None:
        """Note an event."""
        self._entries.append(Entry(position=self._calls, event=event))

    def trace(self) -> Trace:
        """Return what was collected."""
        return Trace(id=self._identity, entries=self._entries)


def parsed(value: Json) -> Json:
    """Parse JSON that stands as text in a record; anything else, and text that is no JSON, stays as it is."""
    if not isinstance(value, str):
        return value
    try:
        return read_foreign(value)
    except msgspec.DecodeError:
        return value


def tells_failure(result: Json) -> bool:
    """Tell from a result alone whether the call failed: how it begins, an error field, or an exit code other than zero."""
    if isinstance(result, str):
        return begins_as_failure(result) or (isinstance(value := parsed(result), dict) and tells_failure(value))
    if not isinstance(result, dict):
        return False
    item = cast("Item", result)
    beside = item.get("metadata")
    places = [item, cast("Item", beside)] if isinstance(beside, dict) else [item]
    codes = [place.get(key) for place in places for key in ("exit_code", "exitCode", "returncode", "return_code")]
    return bool(item.get("error") or item.get("is_error")) or any(isinstance(code, int) and code > 0 for code in codes)


def begins_as_failure(text: str) -> bool:
    """Tell whether a result begins with what only failures begin with, such as `Error:` or an exit code."""
    return _FAILURE.match(text) is not None


def read_case(case: Json, where: str, fallback: str) -> Trace:
    """Read a trace of our own format: `id`, `calls`, and `tools` with their policies.

    Raises:
        UsageError: Something in it has the wrong shape; the message begins with `where`.
    """
    if not isinstance(case, dict) or not isinstance(case.get("calls"), list):  # pyright: ignore[reportUnknownMemberType]
        raise UsageError(f"{where}: a trace needs a list `calls`")
    item = cast("Item", case)
    tools: Json = item.get("tools") or {}
    if not isinstance(tools, dict):
        raise UsageError(f"{where}: `tools` must be an object of tools by name")
    policies = {
        name: _policy(policy, f"{where}: tools.{shortened(name, _VALUE_CELLS)}")
        for name, policy in cast("Item", tools).items()
    }
    entries = [
        _entry(entry, number, policies, f"{where}: calls[{number - 1}]")
        for number, entry in enumerate(cast("list[Json]", item["calls"]), 1)
    ]
    return Trace(id=str(item.get("id") or fallback), entries=entries)


def _policy(policy: Json, where: str) -> Item:
    """Check a tool's policy and return it as fields of a Call."""
    if not isinstance(policy, dict):
        raise UsageError(f"{where}: a tool's policy must be an object")
    item = cast("Item", policy)
    effect = item.get("effect") or ("poll" if item.get("poll") else None)
    limit, key = item.get("frozen_limit"), item.get("loop_key", [])
    if effect is not None and effect not in _EFFECTS:
        raise UsageError(f"{where}: `effect` must be one of {', '.join(_EFFECTS)}, not {brief(effect)}")
    if limit is not None and (not isinstance(limit, int) or isinstance(limit, bool) or limit < 1):
        raise UsageError(f"{where}: `frozen_limit` must be a whole number from 1 on, not {brief(limit)}")
    if not isinstance(key, list) or not all(isinstance(path, str) for path in cast("list[Json]", key)):
        raise UsageError(f"{where}: `loop_key` must be a list of paths, not {brief(item['loop_key'])}")
    return {"effect": effect, "frozen_limit": limit, "loop_key": key}


def _entry(entry: Json, number: int, policies: dict[str, Item], where: str) -> Entry:
    if not isinstance(entry, dict):
        raise UsageError(f"{where}: must be an object, a call or an event")
    item = cast("Item", entry)
    event = item.get("event")
    if event == "assistant":
        return Entry(position=number, text=str(item.get("text") or ""))
    if event is not None:
        if event not in _EVENTS:
            raise UsageError(f"{where}: `event` must be assistant, {', '.join(_EVENTS)}, not {brief(event)}")
        return Entry(position=number, event=cast("Event", event))
    tool, batch = item.get("tool"), item.get("turn", 0)
    if not isinstance(tool, str):
        raise UsageError(f"{where}: needs a `tool` (text) or an `event`")
    call = Call(
        tool=tool,
        arguments=item.get("args"),
        known=not item.get("unknown_tool"),
        batch=batch if isinstance(batch, int) else 0,
        **policies.get(tool, {}),
    )
    answered = not item.get("vetoed") and "result" in item
    return Entry(
        position=number, call=call, result=item.get("result"), answered=answered, failed=bool(item.get("error"))
    )
