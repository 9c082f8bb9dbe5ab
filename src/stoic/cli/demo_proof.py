"""Checks from the disk and the log that the demonstration did what it claims; nothing is taken from memory."""

import signal
from pathlib import Path
from typing import cast

from stoic.cli.demo_crash import Crash
from stoic.cli.demo_place import BOUND, STAND_IN, THREAD
from stoic.cli.demo_play import LEDGER, LOOPS, NOTES, ORDER, OVERLOADS, POISON, READER, SUMMARY, TASK, VOID
from stoic.cli.timeline import call_facts
from stoic.ports import Loaded, Store
from stoic.records import Health, Operation, Record, Row, StoredDelivery, StoredNotice
from stoic.testing import RecordedRequest

_STREAM, _OVERLOAD, _RETURN, _KILL, _REFUSAL, _LOOP, _BACKGROUND = 1, 2, 3, 4, 5, 6, 7
"""The turns of the story."""


class Claim(Record, frozen=True):
    """One thing the demonstration claims, and whether it was found to be so."""

    text: str
    holds: bool


async def prove(store: Store, workspace: Path, requests: list[RecordedRequest], crash: Crash) -> list[Claim]:
    """Return every claim with what the disk, the log and the provider's own record say of it.

    Args:
        store: the log, opened anew
        workspace: the demonstration's folder
        requests: what the provider received
        crash: what became of the killed process
    """
    rows, operations = (await store.load(THREAD)).rows, await store.operations(THREAD)
    numbers = (_STREAM, _OVERLOAD, _RETURN, _KILL, _REFUSAL, _LOOP, _BACKGROUND)
    turns = [_Turn(number, rows, operations) for number in numbers]
    stream, overload, return_, kill, refusal, loop, background = turns
    return [
        *_of_files(workspace, stream),
        *_of_cut(stream, rows, requests),
        _of_bad_arguments(stream, requests),
        _of_fallback(overload, requests),
        _of_return(return_, kill, rows, await store.health()),
        *_of_crash(workspace, kill, requests, crash),
        *_of_refusal(refusal, requests),
        *_of_loop(loop, await store.notices()),
        *_of_task(background, await store.load(TASK), await store.deliveries(task=TASK), requests),
        Claim(
            text="each of the other six turns has one outcome in the log: completed",
            holds=all(turn.outcomes() == ["completed"] for turn in turns if turn is not loop),
        ),
    ]


class _Turn:
    """What the log holds of one turn."""

    def __init__(self, number: int, rows: list[Row], operations: list[Operation]) -> None:
        self.rows = [row for row in rows if row.turn == number]
        ours = [operation for operation in operations if operation.turn == number]
        self.operations = sorted(ours, key=lambda operation: (operation.round, operation.index))

    def of(self, kind: str) -> list[Row]:
        return [row for row in self.rows if row.kind == kind]

    def models(self) -> list[str]:
        """Return who was asked, in order: `PROVIDER:NAME` of each failed attempt and each reply."""
        sends = [row.content if row.kind == "attempt" else row.meta for row in self.rows if row.kind in _SENDS]
        return [f"{each['provider']}:{each['model']}" for each in sends]

    def ends(self) -> list[tuple[str, str]]:
        """Return tool and end of each call, in order of the calls."""
        return [(fact.tool, fact.succeeded) for fact in call_facts(self.rows, self.operations).values()]

    def outcomes(self) -> list[str]:
        return [row.content["outcome"] for row in self.of("outcome")]


_SENDS = frozenset({"attempt", "reply"})


def _of_files(workspace: Path, turn: _Turn) -> list[Claim]:
    kept = all(_text(workspace / path) == text for path, text in NOTES.items())
    ran = ["read_file", "read_file", "shell", "write_file"]
    return [
        Claim(text="summary.txt holds exactly what the agent wrote", holds=_text(workspace / "summary.txt") == SUMMARY),
        Claim(text="the notes are as they were", holds=kept),
        Claim(
            text="two reads, one command and one write ran, each once, and returned",
            holds=sorted(tool for tool, end in turn.ends() if end == "returned") == ran
            and all(operation.runs <= 1 for operation in turn.operations),
        ),
    ]


def _of_cut(turn: _Turn, rows: list[Row], requests: list[RecordedRequest]) -> list[Claim]:
    again = len(requests) > 2 and requests[1].body == requests[2].body  # noqa: PLR2004 - the cut answer and its retry
    return [
        Claim(
            text="one answer was cut off: logged as failed, sent again with the same bytes",
            holds=[row.content["recovers_with"] for row in turn.of("attempt")] == ["time"] and again,
        ),
        Claim(
            text="not a word of the cut answer is in the log or in any later request",
            holds=not any(VOID in str(row.content) for row in rows)
            and not any(request.holds(VOID) for request in requests),
        ),
    ]


def _of_bad_arguments(turn: _Turn, requests: list[RecordedRequest]) -> Claim:
    told = [row for row in turn.of("result") if row.content.get("failure") == "bad_arguments"]
    return Claim(
        text="one call with wrong arguments was not run, and the model was told",
        holds=len(told) == 1 and any(request.holds("The call of write_file was not run") for request in requests),
    )


def _of_fallback(turn: _Turn, requests: list[RecordedRequest]) -> Claim:
    """Every overloaded send is one that the provider really answered so, and the reason stands in the log."""
    failed = [row.content["class"] for row in turn.of("attempt")]
    reasons = [row.content["class"] for row in turn.of("fallback")]
    return Claim(
        text=f"{OVERLOADS} sends met an overload, then {STAND_IN} answered; the log says why",
        holds=failed == ["overloaded"] * OVERLOADS
        and sum(request.status == 503 for request in requests) == OVERLOADS  # noqa: PLR2004 - Service Unavailable
        and turn.models() == [*[BOUND] * OVERLOADS, STAND_IN]
        and reasons == ["overloaded"],
    )


def _of_return(turn: _Turn, following: _Turn, rows: list[Row], health: list[Health]) -> Claim:
    return Claim(
        text=f"{BOUND} answered every turn after that; nobody had switched anything",
        holds=turn.models() == [BOUND]
        and set(following.models()) == {BOUND}
        and not any(row.kind == "switch" for row in rows)
        and bool(health)
        and all(each.state == "closed" for each in health),
    )


def _of_crash(workspace: Path, turn: _Turn, requests: list[RecordedRequest], crash: Crash) -> list[Claim]:
    orders = [operation for operation in turn.operations if operation.effect == "exec"]
    told = [row for row in turn.of("result") if "Effect unknown" in cast("str", row.content["text"])]
    return [
        Claim(
            text=f"process {crash.pid} died of SIGKILL while its command ran; that has ended too",
            holds=crash.signal == signal.SIGKILL and crash.in_the_middle and crash.left_nothing,
        ),
        Claim(
            text="the order ran once and is UNKNOWN in the journal; its repeat was not run",
            holds=[operation.runs for operation in orders] == [1, 0]
            and turn.ends() == [("shell", "unknown"), ("shell", "not run"), ("read_file", "returned")],
        ),
        Claim(text=f"{LEDGER} holds the order exactly once", holds=_text(workspace / LEDGER) == ORDER),
        Claim(
            text="the model was told that the effect is unknown",
            holds=len(told) == 1 and any(request.holds("Effect unknown") for request in requests),
        ),
    ]


def _of_refusal(turn: _Turn, requests: list[RecordedRequest]) -> list[Claim]:
    results = turn.of("result")
    return [
        Claim(
            text="the refused result is withheld from the model and whole in the log",
            holds=[row.quarantine for row in results] == ["placeholder"] and POISON in results[0].content["text"],
        ),
        Claim(
            text="its text was in one request, the refused one, and in none after it",
            holds=sum(request.holds(POISON) for request in requests if not _is_of_task(request)) == 1,
        ),
        Claim(
            text=f"only {BOUND} was asked, before and after the refusal",
            holds=set(turn.models()) == {BOUND} and not turn.of("fallback"),
        ),
    ]


def _of_loop(turn: _Turn, notices: list[StoredNotice]) -> list[Claim]:
    outcomes = turn.of("outcome")
    return [
        Claim(
            text=f"the loop was stopped after {LOOPS} calls, with its reason: stuck_loop",
            holds=[row.content.get("reason") for row in outcomes] == ["stuck_loop"] and len(turn.of("reply")) == LOOPS,
        ),
        Claim(
            text="a person is told once, with what can be done",
            holds=[len(each.notice.actions) > 0 for each in notices if each.notice.kind == "stuck_loop"] == [True],
        ),
    ]


def _of_task(
    turn: _Turn, task: Loaded, delivered: list[StoredDelivery], requests: list[RecordedRequest]
) -> list[Claim]:
    sends = [request for request in requests if _is_of_task(request)]
    told = [str(row.content) for row in turn.of("event")]
    statuses = [each.delivery.status for each in delivered]
    return [
        Claim(
            text="the task stopped at its refusal: one outcome, delivered once, as cancelled",
            holds=[row.content["reason"] for row in task.rows if row.kind == "outcome"] == ["refused"]
            and statuses == ["cancelled"],
        ),
        Claim(
            text="its owner was told who refused, in which round, after which tool: no more",
            holds=len(told) == 1
            and all(fact in told[0] for fact in ("refused_by: openai", "round: 2", "last_tool: read_file"))
            and POISON not in told[0],
        ),
        Claim(
            text="told to go on after the restart, it did not: no request, the door is shut",
            holds=len(sends) == 2 and task.thread.is_stopped and not task.inbox,  # noqa: PLR2004 - before the refusal and with it
        ),
    ]


def _is_of_task(request: RecordedRequest) -> bool:
    return request.route == READER


def _text(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.is_file() else None
