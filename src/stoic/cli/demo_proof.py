"""Checks from the disk and the log that the demonstration did what it claims; nothing is taken from memory."""

from pathlib import Path

from stoic.cli.demo_play import NOTES, SUMMARY, VOID
from stoic.cli.timeline import CallFacts, call_facts
from stoic.ports import Loaded, Store
from stoic.records import Operation, Record, Row
from stoic.testing import RecordedRequest


class Claim(Record, frozen=True):
    """One thing the demonstration claims, and whether it was found to be so."""

    text: str
    holds: bool


async def prove(store: Store, thread: str, workspace: Path, requests: list[RecordedRequest]) -> list[Claim]:
    """Return every claim with what the disk, the log and the provider's own record say of it.

    Args:
        store: the log, opened anew
        thread: the demonstration's thread
        workspace: its folder
        requests: what the provider received
    """
    loaded, operations = await store.load(thread), await store.operations(thread)
    facts = list(call_facts(loaded.rows, operations).values())
    return [
        *_of_files(workspace),
        *_of_calls(facts, operations),
        *_of_cut(loaded, requests),
        *_of_bad_arguments(loaded.rows, requests),
        Claim(text="the turn's one outcome in the log is: completed", holds=_outcomes(loaded.rows) == ["completed"]),
    ]


def _of_files(workspace: Path) -> list[Claim]:
    written = workspace / "summary.txt"
    kept = all((workspace / path).read_text(encoding="utf-8") == text for path, text in NOTES.items())
    return [
        Claim(
            text="summary.txt is on the disk and holds exactly what the agent wrote",
            holds=written.is_file() and written.read_text(encoding="utf-8") == SUMMARY,
        ),
        Claim(text="the notes are as they were", holds=kept),
    ]


def _of_calls(facts: list[CallFacts], operations: list[Operation]) -> list[Claim]:
    returned = [fact.tool for fact in facts if fact.succeeded == "returned"]
    return [
        Claim(
            text="two reads, one command and one write ran, each once, and returned",
            holds=sorted(returned) == ["read_file", "read_file", "shell", "write_file"]
            and all(operation.runs <= 1 for operation in operations),
        )
    ]


def _of_cut(loaded: Loaded, requests: list[RecordedRequest]) -> list[Claim]:
    attempts = [row for row in loaded.rows if row.kind == "attempt"]
    again = len(requests) > 2 and requests[1].body == requests[2].body  # noqa: PLR2004 - the cut answer and its retry
    return [
        Claim(
            text="one answer was cut off: logged as failed, sent again with the same bytes",
            holds=[row.content["recovers_with"] for row in attempts] == ["time"] and again,
        ),
        Claim(
            text="not a word of the cut answer is in the log or in any later request",
            holds=not any(VOID in str(row.content) for row in loaded.rows)
            and not any(VOID.encode() in request.body for request in requests),
        ),
    ]


def _of_bad_arguments(rows: list[Row], requests: list[RecordedRequest]) -> list[Claim]:
    told = [
        row.content["text"] for row in rows if row.kind == "result" and row.content.get("failure") == "bad_arguments"
    ]
    return [
        Claim(
            text="one call with wrong arguments was not run, and the model was told",
            holds=len(told) == 1 and any(b"The call of write_file was not run" in request.body for request in requests),
        )
    ]


def _outcomes(rows: list[Row]) -> list[str]:
    return [row.content["outcome"] for row in rows if row.kind == "outcome"]
