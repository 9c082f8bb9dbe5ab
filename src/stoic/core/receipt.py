"""What may travel from a task to its owner: the receipt of its end, and the evidence of a stop (SPEC §12).

After a refusal nothing travels that was read or written on the way to it: no argument, no result, no input and nothing
parsed from them. The assistant's own accepted words may, and names of tools, numbers and ids.
"""

from collections.abc import Iterable, Mapping
from typing import Literal

import msgspec

from stoic.core import notes
from stoic.core.arguments import arguments_of
from stoic.core.commands import ToolFacts
from stoic.core.history import EFFECTS, CallState, RoundState, TurnState, calls_of
from stoic.core.quarantine.template import field
from stoic.records import (
    Delivery,
    Json,
    Operation,
    OperationFact,
    Outcome,
    Receipt,
    Record,
    Row,
    ShellFact,
)

Decisions = Mapping[str, dict[str, Json]]
"""A person's answers, by operation."""
SHOWN_CHARACTERS = 16 * 1024
"""How much of a task's text its owner gets."""
EVENT_KIND = "task_ended"
"""Of the event by which an owner hears of its task's end."""
WITHHELD = "withheld"
_FIRST_LINE_CHARACTERS = 200


class ToolEvidence(Record, frozen=True, omit_defaults=False):
    """The last call of a task that was stopped."""

    tool: str
    args_firstline: str
    outcome: str


class Evidence(Record, frozen=True, omit_defaults=False):
    """What a task was at when it was stopped."""

    last_message: str
    last_tool: ToolEvidence | None
    changed_paths: list[str]


def receipt(
    outcome: Outcome,
    state: TurnState,
    *,
    tools: Mapping[str, ToolFacts],
    operations: Iterable[Operation],
    shells: list[ShellFact],
) -> Receipt:
    """Make the receipt of a task's turn.

    Args:
        outcome: how the turn ends
        state: the turn as it stands before its end
        tools: those that are registered, by name
        operations: as they stand after the end
        shells: the background shells that the task leaves running
    """
    text = outcome.text[:SHOWN_CHARACTERS]
    refusal = outcome.refusal
    return Receipt(
        task=outcome.thread,
        turn=outcome.turn,
        status=_status(outcome),
        outcome=outcome.outcome,
        reason=outcome.reason,
        failure_class=outcome.failure_class,
        text=text,
        is_shortened=len(text) < len(outcome.text),
        rounds=outcome.rounds,
        provider=field(refusal.provider) if refusal else None,
        category=field(refusal.category) if refusal and refusal.category else None,
        round=outcome.rounds if refusal else None,
        last_tool=_last_tool(state, tools),
        operations=[
            OperationFact(id=each.id, tool=field(each.tool), state=each.state)
            for each in operations
            if each.effect in EFFECTS and each.status not in {"done", "not_done"}
        ],
        shells=shells,
        changed_paths=[] if outcome.refused else _changed_paths(state.rounds, tools, state.decisions),
        note=_note(outcome),
    )


def delivery(of: Receipt, owner: str | None) -> Delivery:
    """Return a receipt on its way to the task's owner."""
    payload = msgspec.to_builtins(of)
    entry = {
        "kind": EVENT_KIND,
        "payload": payload,
        "text": told(of),
        "task_thread": of.task,
        "owner_thread": owner,
    }
    return Delivery(
        id=f"{of.task}.{of.turn}",
        task=of.task,
        turn=of.turn,
        status=of.status,
        receipt=payload,
        owner=owner,
        entry=entry if owner is not None else None,
    )


def told(of: Receipt) -> str:
    """Say a receipt as its owner reads it: facts line by line, then the text."""
    facts = {
        "outcome": of.outcome if of.reason is None else f"{of.outcome} ({of.reason})",
        "failure": of.failure_class,
        "delivery": of.status,
        "refused_by": of.provider,
        "category": of.category,
        "round": of.round,
        "last_tool": of.last_tool,
        "unfinished_operations": ", ".join(f"{each.id} {each.tool} {each.state}" for each in of.operations),
        "shells_left_running": ", ".join(f"{each.id} {each.state}" for each in of.shells),
        "changed_paths": ", ".join(of.changed_paths),
        "note": of.note,
    }
    lines = [f"[task {of.task} ended]", *(f"{name}: {value}" for name, value in facts.items() if value)]
    if of.text:
        lines += [_heading(of), of.text]
    return "\n".join(lines)


def evidence(rows: Iterable[Row], *, refused: bool) -> Evidence:
    """Tell what a task's newest turn was at, from views only.

    Args:
        rows: of the newest turn
        refused: whether it was refused, or may be: then what it read and wrote is withheld
    """
    rounds: list[RoundState] = []
    decisions: dict[str, dict[str, Json]] = {}
    for row in rows:
        if row.kind == "answer":
            decisions[row.content["operation"]] = row.content
        elif row.kind == "reply":
            rounds.append(RoundState(row))
        elif row.kind == "result" and rounds:
            rounds[-1].take(row)
    texts = [text for each in rounds for text in each.texts]
    last = next((each for each in reversed(rounds) if calls_of(each.reply)), None)
    return Evidence(
        last_message=(texts[-1] if texts else "")[:SHOWN_CHARACTERS],
        last_tool=None if last is None else _tool_evidence(last, decisions, refused=refused),
        changed_paths=[] if refused else _changed_paths(rounds, None, decisions),
    )


def _status(outcome: Outcome) -> Literal["delivered", "failed", "cancelled"]:
    if outcome.outcome == "completed":
        return "delivered"
    return "cancelled" if outcome.refused or outcome.outcome == "cancelled" else "failed"


def _note(outcome: Outcome) -> str:
    if outcome.refused:
        return notes.TASK_REFUSED
    return notes.TASK_DELIVERED if outcome.outcome == "completed" else notes.TASK_UNFINISHED


def _heading(of: Receipt) -> str:
    said = "answer" if of.outcome == "completed" else "what the task had said until then"
    return f"{said} (shortened):" if of.is_shortened else f"{said}:"


def _last_tool(state: TurnState, tools: Mapping[str, ToolFacts]) -> str | None:
    called = [call.call.name for each in state.rounds for call in each.calls]
    return next((name for name in reversed(called) if name in tools), None)


def _tool_evidence(last: RoundState, decisions: Decisions, *, refused: bool) -> ToolEvidence:
    call = last.calls[-1]
    if refused:
        return ToolEvidence(tool=call.call.name, args_firstline=WITHHELD, outcome=WITHHELD)
    result = next((row for row in last.results if row.content["call"] == call.index), None)
    firstline = _run_with(call, decisions).strip().splitlines()
    return ToolEvidence(
        tool=call.call.name,
        args_firstline=firstline[0][:_FIRST_LINE_CHARACTERS] if firstline else "",
        outcome="none yet" if result is None else _outcome_of(result),
    )


def _outcome_of(result: Row) -> str:
    if result.quarantine is not None:
        return WITHHELD
    return result.content.get("failure") or "returned"


def _run_with(call: CallState, decisions: Decisions) -> str:
    """Return the arguments that a call ran with: a person may have given it others than the model."""
    arguments = decisions.get(call.operation, {}).get("arguments")
    return call.call.arguments if arguments is None else msgspec.json.encode(arguments).decode()


def _changed_paths(
    rounds: Iterable[RoundState], tools: Mapping[str, ToolFacts] | None, decisions: Decisions
) -> list[str]:
    """Return the paths that writing calls were given and that returned; `tools`: None: every call counts."""
    paths: dict[str, None] = {}
    for each in rounds:
        ended = {row.content["call"] for row in each.results if "failure" not in row.content}
        for call in each.calls:
            facts = None if tools is None else tools.get(call.call.name)
            writes = call.call.name in {"write_file", "edit_file"} if facts is None else facts.effect == "write"
            path = _path_of(_run_with(call, decisions)) if writes and call.index in ended else None
            if path is not None:
                paths[path] = None
    return list(paths)


def _path_of(arguments: str) -> str | None:
    try:
        said: Json = arguments_of(arguments)
    except msgspec.DecodeError:
        return None
    path = said.get("path") if isinstance(said, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - any JSON
    return path if isinstance(path, str) else None
