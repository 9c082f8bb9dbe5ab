"""Reads recorded agent runs for `stoic scan`: finds out which format a file has, and hands it to that format's reader."""

from pathlib import PurePath
from typing import cast

import msgspec

from stoic.cli.cleaning import shortened
from stoic.cli.traces import Item, Trace, read_case
from stoic.errors import UsageError
from stoic.foreign_json import read_foreign
from stoic.records import Json

_GIVE = "give a file with a recorded trace"
_NAME_CELLS = 80
"""So much of a trace's name stands in an error line."""
_CONTAINERS = ("calls", "messages", "trajectory", "history", "events", "input")


def read_transcripts(data: bytes, name: str) -> list[Trace]:
    """Read every trace of a file.

    Formats: traces of calls (one, a list, or an object with `cases`); OpenAI Chat, OpenAI Responses and Anthropic message
    lists, alone or in a request body; Claude Code and Codex session JSONL; OpenHands event lists; SWE-agent and mini-swe-agent
    trajectories; each also one per line.

    Args:
        data: The file's bytes.
        name: The file's name, for messages and as the trace's id where the file names none.

    Raises:
        UsageError: The file is none of these; the message says where it stops being one.
    """
    documents = _documents(data, name)
    stem = PurePath(name).stem if name != "-" else "stdin"
    if len(documents) == 1 and _is_plain_list(documents[0]):
        documents = cast("list[Json]", documents[0])
    if not documents:
        raise UsageError(f"{name}: there is nothing in it; {_GIVE}")
    if all(_is_container(document) for document in documents):
        several = len(documents) > 1
        return [
            trace
            for number, document in enumerate(documents, 1)
            for trace in _contained(cast("Item", document), name, f"{stem}:{number}" if several else stem)
        ]
    return _elements(documents, name, stem)


def _documents(data: bytes, name: str) -> list[Json]:
    """Parse one JSON value, or one a line."""
    text = data.removeprefix(b"\xef\xbb\xbf")
    if not text.strip():
        raise UsageError(f"{name}: there is nothing in it; {_GIVE}")
    try:
        return [read_foreign(text)]
    except msgspec.DecodeError as error:
        lines = [(number, line) for number, line in enumerate(text.split(b"\n"), 1) if line.strip()]
        if len(lines) < 2 or not _parses(lines[0][1]):  # noqa: PLR2004  # one line is no list of lines
            raise _misread(error, text, name, 1) from None
    documents: list[Json] = []
    for number, line in lines:
        try:
            documents.append(read_foreign(line))
        except msgspec.DecodeError as error:
            raise _misread(error, line, name, number) from None
    return documents


def _parses(line: bytes) -> bool:
    try:
        read_foreign(line)
    except msgspec.DecodeError:
        return False
    return True


def _misread(error: Exception, text: bytes, name: str, first_line: int) -> UsageError:
    """Say where JSON breaks off: msgspec names a byte, a person looks for a line and a column."""
    reason, _, place = str(error).partition(" (byte ")
    if place.rstrip(")").isdigit():
        before = text[: int(place.rstrip(")"))]
    elif "truncated" in reason:
        before = text
    else:
        before = _before_bad_character(text)
    line = first_line + before.count(b"\n")
    column = len(before) - (before.rfind(b"\n") + 1) + 1
    return UsageError(f"{name}:{line}:{column}: not JSON: {reason}; give a JSON file, or one JSON value a line")


def _before_bad_character(text: bytes) -> bytes:
    """Return what stands before the first byte that is no UTF-8; empty when all of it is."""
    try:
        text.decode()
    except UnicodeDecodeError as error:
        return text[: error.start]
    return b""


def _is_plain_list(document: Json) -> bool:
    return isinstance(document, list)


def _is_container(document: Json) -> bool:
    if not isinstance(document, dict):
        return False
    item = cast("Item", document)
    if isinstance(item.get("cases"), list):
        return True
    return "role" not in item and not _is_step(item) and any(isinstance(item.get(key), list) for key in _CONTAINERS)


def _contained(item: Item, name: str, fallback: str) -> list[Trace]:
    """Read an object that holds traces, messages or events."""
    if isinstance(item.get("cases"), list):
        cases = cast("list[Json]", item["cases"])
        if not cases:
            raise UsageError(f"{name}: there is nothing in it; {_GIVE}")
        return [read_case(case, f"{name}: cases[{place}]", f"{fallback}:{place}") for place, case in enumerate(cases)]
    identity = next((str(item[key]) for key in ("id", "instance_id", "session_id") if item.get(key)), fallback)
    if isinstance(item.get("calls"), list):
        return [read_case(item, f"{name}: {shortened(identity, _NAME_CELLS)}", identity)]
    if str(item.get("trajectory_format", "")).startswith("mini-swe-agent") and isinstance(item.get("messages"), list):
        from stoic.cli.trajectories import read_mini_trajectory

        return [read_mini_trajectory(cast("list[Json]", item["messages"]), identity, name)]
    key = next(key for key in _CONTAINERS if isinstance(item.get(key), list))
    return _elements(cast("list[Json]", item[key]), name, identity)


def _elements(elements: list[Json], name: str, identity: str) -> list[Trace]:
    """Read a list of calls, messages, session records, events or steps, told by what its elements have."""
    if elements and all(isinstance(element, list) for element in elements):
        pairs = cast("list[list[Json]]", elements)
        elements = [element for pair in pairs for element in pair]
    for place, element in enumerate(elements):
        if not isinstance(element, dict):
            raise UsageError(f"{name}: element {place + 1} is no JSON object; give a list of calls, messages or events")
    items = cast("list[Item]", elements)
    if not items:
        return [Trace(id=identity, entries=[])]
    return _trajectory(items, name, identity) or _conversation(items, name, identity) or [_calls(items, name, identity)]


def _trajectory(items: list[Item], name: str, identity: str) -> list[Trace]:
    if any(_is_step(item) for item in items):
        from stoic.cli.trajectories import read_steps

        return [read_steps(items, identity, name)]
    if any(_is_event(item) for item in items):
        from stoic.cli.trajectories import read_events

        return [read_events(items, identity, name)]
    return []


def _conversation(items: list[Item], name: str, identity: str) -> list[Trace]:
    from stoic.cli.messages import read_messages, read_rollout, read_session

    if any(item.get("type") == "response_item" for item in items):
        return [read_rollout(items, identity, name)]
    if any(_is_record(item) for item in items):
        return read_session(items, identity, name)
    if any(_is_message(item) for item in items):
        return [read_messages(items, identity, name)]
    return []


def _calls(items: list[Item], name: str, identity: str) -> Trace:
    """Read calls of our own format, or say why this is nothing that can be read."""
    if any("tool" in item or "event" in item for item in items):
        return read_case({"id": identity, "calls": cast("list[Json]", items)}, name, identity)
    other = next((place for place, item in enumerate(items, 1) if not _is_container(item)), None)
    if other is not None and any(_is_container(item) for item in items):
        raise UsageError(
            f"{name}: element {other} is no trace like the others; give traces only, one a line or in a list"
        )
    raise UsageError(
        f"{name}: this is no trace that stoic knows; give calls as in the case files, an OpenAI or Anthropic message list, "
        "a Claude Code or Codex session, or an OpenHands or SWE-agent trajectory"
    )


def _is_message(item: Item) -> bool:
    kind = item.get("type")
    return isinstance(item.get("role"), str) or (isinstance(kind, str) and kind.endswith(("_call", "_call_output")))


def _is_record(item: Item) -> bool:
    return item.get("type") in ("user", "assistant") and isinstance(item.get("message"), dict)


def _is_event(item: Item) -> bool:
    kind = item.get("kind")
    named = isinstance(kind, str) and kind.endswith(("Event", "Observation", "Condensation"))
    return named or ("source" in item and ("action" in item or "observation" in item))


def _is_step(item: Item) -> bool:
    return isinstance(item.get("action"), str) and isinstance(item.get("observation"), str) and "source" not in item
