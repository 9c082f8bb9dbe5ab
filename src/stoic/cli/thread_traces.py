"""A stored thread as `stoic scan` sees it: its calls with what a model may read of their results."""

from typing import cast

from stoic.cli.show import ThreadLog
from stoic.cli.timeline import calls_of
from stoic.cli.traces import Trace, TraceBuilder
from stoic.core.failures import FailureClass
from stoic.core.guard import excuses_rerun, outcome_of
from stoic.core.loops import Effect
from stoic.records import Json, Operation, Row


def trace_of(log: ThreadLog) -> Trace:
    """Return a thread's calls, texts and events.

    A result is the one that the detector counted: without its warning, and of a quarantined row the placeholder. A call that
    the detector did not count, such as one that was blocked, stands without a result.
    """
    builder = TraceBuilder(log.loaded.thread.id)
    journal = {operation.id: operation for operation in log.operations}
    replies = 0
    for row in log.loaded.rows:
        if row.kind == "reply":
            replies += 1
            _reply(builder, row, journal, replies)
        elif row.kind == "result" and row.meta.get("loop") == "counted":
            _result(builder, row)
        elif row.kind == "message":
            builder.event("user")
        elif excuses_rerun(row):
            builder.event("compaction")
    return builder.trace()


def _reply(builder: TraceBuilder, row: Row, journal: dict[str, Operation], number: int) -> None:
    calls = calls_of(row)
    if calls:
        builder.text("".join(part["text"] for part in row.content["parts"] if part["type"] == "text"))
    for index, call in enumerate(calls):
        name = f"{row.thread}.{row.turn}.{row.round}.{index}"
        effect = _declared(journal.get(name))
        builder.call(name, call["name"], call["arguments"], batch=number, effect=effect)


def _declared(operation: Operation | None) -> Effect | None:
    """Return the effect that the tool declared; a tool that declares none is journaled as writing, so that is not known."""
    return None if operation is None or operation.effect == "write" else cast("Effect", operation.effect)


def _result(builder: TraceBuilder, row: Row) -> None:
    shown: dict[str, Json] = row.content if row.quarantine is None else row.view or {"text": ""}
    failure = row.content.get("failure")
    known = failure != FailureClass.UNKNOWN_TOOL
    images = [each["data_base64"] for each in shown.get("images", [])]
    builder.result(row.content["operation"], outcome_of(shown["text"], images), failed=bool(failure), known=known)
