"""`stoic threads export`: one thread as a document to read, or whole for a program; quarantined bodies stay out."""

import asyncio
import re
from collections.abc import Iterator
from typing import IO, Literal

from stoic.cli import exits
from stoic.cli.cleaning import json_text, one_line, stripped
from stoic.cli.show import ThreadLog, for_programs, read_log
from stoic.cli.timeline import CallFacts, call_facts, calls_of, moment, shown_row, text_of
from stoic.cli.withheld import HIDDEN, WITHDRAWN, event_said, hidden_rows
from stoic.records import Json, Row

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
        DamagedRowsError: all was printed but rows that cannot be read
    """
    log = asyncio.run(read_log(thread))
    match form:
        case "json":
            stdout.write(_json(for_programs(log)))
        case "jsonl":
            for row in log.loaded.rows:
                stdout.write(_json(shown_row(row)))
        case "md":
            for line in _document(log):
                stdout.write(line + "\n")
    log.require_whole()
    return exits.COMPLETED


def _json(value: Json) -> str:
    return json_text(value) + "\n"


def _document(log: ThreadLog) -> Iterator[str]:
    """Yield the lines of a document: what was said, what was called with its three facts, how each turn ended."""
    facts = call_facts(log.loaded.rows, log.operations, held=log.holder is not None)
    hidden = hidden_rows(log.loaded.rows)
    yield f"# {one_line(log.loaded.thread.id)}"
    turn = 0
    for row in log.loaded.rows:
        if row.turn != turn and row.turn:
            turn = row.turn
            yield f"\n## Turn {turn}, {moment(row.created_at)}"
        yield from _part(row, facts, hidden)


def _part(row: Row, facts: dict[str, CallFacts], hidden: frozenset[int]) -> Iterator[str]:
    content = row.content
    match row.kind:
        case "message" | "event":
            said = "Message" if row.kind == "message" else f"An {event_said(row)}"
            title = said if row.quarantine is None else f"{said}, {WITHDRAWN}"
            yield from _said(title, HIDDEN if row.seq in hidden else text_of(content))
        case "reply":
            yield from _reply(row)
        case "result":
            known = facts.get(content["operation"])
            readable = "readable" if row.quarantine is None else "not readable"
            title = f"Result of {one_line(content['tool'])}: delivered, {readable}, "
            yield f"\n### {title}{known.succeeded if known else 'not run'}\n"
            yield from [HIDDEN] if row.seq in hidden else _fenced(content["text"])
        case "compaction":
            yield from _said(f"Summary that begins generation {row.generation}", content["text"])
        case _:
            yield from _happened(row)


def _happened(row: Row) -> Iterator[str]:
    """Yield what happened beside what was said; kinds that are for the runtime only have no lines."""
    content = row.content
    match row.kind:
        case "attempt":
            yield f"\n*Attempt {content['attempt']} failed: {content['class']}, recovers with {content['recovers_with']}.*"
        case "outcome":
            why = content.get("failure_class") or content.get("reason")
            yield f"\n**Outcome: {content['outcome']}{f' ({why})' if why else ''}.**"
            if content.get("message"):
                yield from ("", *stripped(content["message"]).splitlines())
        case "fresh":
            yield f"\n*Generation {row.generation} begins without history.*"
        case "damaged":
            yield f"\n*Damaged: row {row.seq} ({one_line(content['kind'])}) cannot be read, {one_line(content['misfit'])}.*"
        case "compaction_failed":
            yield f"\n*Not summed up: {content['why']}.*"
        case _:
            pass


def _reply(row: Row) -> Iterator[str]:
    text = "".join(part["text"] for part in row.content["parts"] if part["type"] == "text")
    if text.strip():
        yield from _said(f"Reply of {row.meta.get('provider')}:{one_line(str(row.meta.get('model')))}", text)
    for call in calls_of(row):
        yield f"\n### Call of {one_line(call['name'])}\n"
        yield from _fenced(call["arguments"])


def _said(title: str, text: str) -> Iterator[str]:
    yield f"\n### {title}\n"
    yield from stripped(text).splitlines()


def _fenced(text: str) -> Iterator[str]:
    """Yield the text between fences longer than any it holds."""
    fence = "`" * max(3, 1 + max((len(ticks) for ticks in _TICKS.findall(text)), default=0))
    yield fence
    yield from stripped(text).splitlines()
    yield fence
