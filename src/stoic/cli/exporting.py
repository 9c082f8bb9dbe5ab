"""`stoic threads export`: one thread as a document to read, or whole for a program; quarantined bodies stay out."""

import asyncio
import re
from collections.abc import Iterator
from typing import IO, Literal

import msgspec

from stoic.cli import exits
from stoic.cli.cleaning import one_line, stripped
from stoic.cli.show import for_programs, load_thread
from stoic.cli.timeline import HIDDEN, CallFacts, call_facts, calls_of, moment, shown_row, text_of
from stoic.records import Json, Operation, Row

Form = Literal["json", "jsonl", "md"]
_TICKS = re.compile(r"`+")


def export(thread: str, *, form: Form, stdout: IO[str]) -> int:
    """Print a thread.

    Args:
        thread: its id
        form: `json`: the object that `stoic show --json` prints; `jsonl`: one row a line; `md`: a document
        stdout: where to

    Raises:
        UsageError: there is no such thread, or no log
    """
    loaded, operations = asyncio.run(load_thread(thread))
    match form:
        case "json":
            stdout.write(_json(for_programs(loaded, operations)))
        case "jsonl":
            for row in loaded.rows:
                stdout.write(_json(shown_row(row)))
        case "md":
            for line in _document(thread, loaded.rows, operations):
                stdout.write(line + "\n")
    return exits.COMPLETED


def _json(value: Json) -> str:
    return msgspec.json.encode(value).decode() + "\n"


def _document(thread: str, rows: list[Row], operations: list[Operation]) -> Iterator[str]:
    """Yield the lines of a document: what was said, what was called with its three facts, how each turn ended."""
    facts = call_facts(rows, operations)
    yield f"# {one_line(thread)}"
    turn = 0
    for row in rows:
        if row.turn != turn and row.turn:
            turn = row.turn
            yield f"\n## Turn {turn}, {moment(row.created_at)}"
        yield from _part(row, facts)


def _part(row: Row, facts: dict[str, CallFacts]) -> Iterator[str]:
    content = row.content
    match row.kind:
        case "message":
            yield from _said("Message", row, text_of(content))
        case "reply":
            model = f"{row.meta.get('provider')}:{one_line(str(row.meta.get('model')))}"
            text = "".join(part["text"] for part in content["parts"] if part["type"] == "text")
            if text.strip() or row.quarantine:
                yield from _said(f"Reply of {model}", row, text)
            for call in calls_of(row) if row.quarantine is None else []:
                yield f"\n### Call of {one_line(call['name'])}\n"
                yield from _fenced(call["arguments"])
        case "result":
            known = facts.get(content["operation"])
            readable = "readable" if row.quarantine is None else "not readable"
            title = f"Result of {one_line(content['tool'])}: delivered, {readable}, "
            yield f"\n### {title}{known.succeeded if known else 'not run'}\n"
            yield from _fenced(content["text"]) if row.quarantine is None else [HIDDEN]
        case "attempt":
            yield f"\n*Attempt {content['attempt']} failed: {content['class']}, recovers with {content['recovers_with']}.*"
        case "outcome":
            why = content.get("failure_class") or content.get("reason")
            yield f"\n**Outcome: {content['outcome']}{f' ({why})' if why else ''}.**"
            if content.get("message"):
                yield from ("", *stripped(content["message"]).splitlines())
        case _:
            pass


def _said(title: str, row: Row, text: str) -> Iterator[str]:
    yield f"\n### {title}\n"
    yield from stripped(text).splitlines() if row.quarantine is None else [HIDDEN]


def _fenced(text: str) -> Iterator[str]:
    """Yield the text between fences longer than any it holds."""
    fence = "`" * max(3, 1 + max((len(ticks) for ticks in _TICKS.findall(text)), default=0))
    yield fence
    yield from stripped(text).splitlines()
    yield fence
