"""A thread's log as a person reads it: its rows as lines, the bodies of quarantined rows left out (SPEC §9)."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Literal, cast

from stoic.cli.cleaning import one_line, stripped
from stoic.cli.wording import Line, brief_arguments, cost_said, fell_back
from stoic.records import Json, Operation, Record, Row

Success = Literal["returned", "raised", "unknown", "not run", "running", "not started"]

_MARKS: dict[str, tuple[str, str]] = {
    "returned": ("✓", "green"),
    "raised": ("✗", "red"),
    "unknown": ("?", "yellow"),
    "not run": ("-", "yellow"),
}
HIDDEN = "[hidden: quarantined]"
"""Stands for the body of a quarantined row."""


class CallFacts(Record, frozen=True, omit_defaults=False):
    """What is known of one call: three facts that are never merged."""

    operation: str
    tool: str
    delivered: bool
    """Whether a result is in the log."""
    readable: bool
    """Whether a model may read it."""
    succeeded: Success
    """What the journal says; `returned` means that the function returned, and no more."""


def moment(epoch_ms: int) -> str:
    """Return a time as people write it, in UTC."""
    return f"{datetime.fromtimestamp(epoch_ms / 1000, UTC):%Y-%m-%d %H:%M:%S} UTC"


def call_facts(rows: list[Row], operations: list[Operation]) -> dict[str, CallFacts]:
    """Return the facts of every call of the rows, by operation id."""
    journal = {operation.id: operation for operation in operations}
    results = {row.content["operation"]: row for row in rows if row.kind == "result"}
    facts: dict[str, CallFacts] = {}
    for row in rows:
        if row.kind != "reply":
            continue
        for index, call in enumerate(calls_of(row)):
            name = f"{row.thread}.{row.turn}.{row.round}.{index}"
            result = results.get(name)
            facts[name] = CallFacts(
                operation=name,
                tool=call["name"],
                delivered=result is not None,
                readable=result is not None and result.quarantine is None,
                succeeded=_success(journal.get(name)),
            )
    return facts


def timeline(rows: list[Row], operations: list[Operation]) -> Iterator[Line]:
    """Yield the lines of a thread, turn by turn."""
    facts, took = call_facts(rows, operations), _durations(rows, operations)
    turn = number = 0
    for row in rows:
        if row.turn != turn:
            turn, number = row.turn, 0
            yield Line(text="")
            yield Line(text=f"turn {turn} · {moment(row.created_at)}", style="bold")
        if row.round != number and row.kind in {"reply", "attempt"}:
            number = row.round
            yield Line(text=f"  round {number}", style="dim")
        yield from _row(row, facts, took)


def shown_row(row: Row) -> dict[str, Json]:
    """Return a row for programs; of a quarantined one everything but its body."""
    shown: dict[str, Json] = {
        "seq": row.seq,
        "turn": row.turn,
        "round": row.round,
        "role": row.role,
        "kind": row.kind,
        "created_at": row.created_at,
        "visible": row.visible,
        "accepted": row.accepted,
        "quarantine": row.quarantine,
        "content": row.content if row.quarantine is None else None,
        "meta": row.meta,
    }
    return shown | ({"view": row.view} if row.quarantine == "placeholder" else {})


def _row(row: Row, facts: dict[str, CallFacts], took: dict[str, str]) -> Iterator[Line]:
    content = row.content
    match row.kind:
        case "message":
            yield from _body("  message", text_of(content), row)
        case "attempt":
            yield Line(text=f"    {_attempt(row)}", style="yellow")
        case "nudge":
            yield from _body(f"    note to the model ({content['reason']})", content["text"], row)
        case "reply":
            yield from _reply(row, facts)
        case "result":
            yield from _result(row, facts.get(content["operation"]), took.get(content["operation"], ""))
        case "question":
            names = ", ".join(f"{one_line(each['tool'])} ({each['operation']})" for each in content["questions"])
            yield Line(text=f"    asked a person about {names}", style="yellow")
        case "answer":
            waited = took.get(row.id, "")
            yield Line(text=f"    a person answered {content['answer']} for {one_line(content['operation'])}{waited}")
        case "outcome":
            yield from _outcome(content, took.get(row.id, ""))
        case "kept":
            pass  # a copy that compaction made: its original was shown
        case _:
            yield from _event(row)


def _event(row: Row) -> Iterator[Line]:
    """Yield what happened beside replies and calls; of a kind this version does not know, its name and plain facts."""
    content = row.content
    match row.kind:
        case "fallback":
            first, second = (f"{content[side]['provider']}:{content[side]['model']}" for side in ("from", "to"))
            text = fell_back(first, second, content["class"], skipped=content["skipped"])
            yield Line(text=f"    {text}", style="yellow")
        case "switch":
            yield Line(text=f"  a person switched to {one_line(str(content['model']))}", style="cyan")
        case "compaction":
            yield from _body(f"    summary that begins generation {row.generation}", content["text"], row)
        case other:
            told = cast("dict[str, Json]", content) if isinstance(content, dict) and row.quarantine is None else {}
            facts = [f"{name}={each}" for name, each in told.items() if isinstance(each, str | int | float)]
            yield Line(text=f"    {one_line(other)} {one_line(' '.join(facts))[:300]}".rstrip(), style="dim")


def text_of(content: Json) -> str:
    """Return what a message says, a line for each of its images below."""
    images = [
        f"[{one_line(image['media_type'])}, {_size_of(image['data_base64']):,} bytes]"
        for image in content.get("images", [])
    ]
    return "\n".join([*([content["text"]] if content["text"].strip() else []), *images])


def _size_of(data_base64: str) -> int:
    """Return how many bytes the padded base64 text stands for."""
    return len(data_base64) * 3 // 4 - data_base64[-2:].count("=")


def _durations(rows: list[Row], operations: list[Operation]) -> dict[str, str]:
    """Return how long calls, questions and turns took, by operation or by the id of the row that ended them."""
    took = {
        operation.id: _took(operation.ended_at - operation.started_at, " · ")
        for operation in operations
        if operation.started_at is not None and operation.ended_at is not None
    }
    began: dict[int, int] = {}
    asked: dict[str, int] = {}
    for row in rows:
        began.setdefault(row.turn, row.created_at)
        if row.kind == "question":
            asked.update((each["operation"], row.created_at) for each in row.content["questions"])
        elif row.kind == "answer" and row.content["operation"] in asked:
            took[row.id] = _took(row.created_at - asked[row.content["operation"]], " · after ")
        elif row.kind == "outcome":
            took[row.id] = _took(row.created_at - began[row.turn], " · ")
    return took


def _took(duration_ms: int, before: str) -> str:
    seconds = duration_ms / 1000
    return f"{before}{round(seconds, 1 if seconds < 10 else None):g} s" if duration_ms >= 50 else ""  # noqa: PLR2004 - shown to a tenth


def _body(title: str, text: str, row: Row) -> Iterator[Line]:
    if row.quarantine is not None:
        yield Line(text=f"{title}: {HIDDEN}", style="yellow")
        return
    yield Line(text=f"{title}:")
    yield from _indented(text, 6)


def _reply(row: Row, facts: dict[str, CallFacts]) -> Iterator[Line]:
    meta = row.meta
    usage = meta.get("usage", {})
    served = f", answered by {one_line(meta['served_model'])}" if "served_model" in meta else ""
    cut = ", cut at its length limit" if meta.get("cut") else ""
    tokens = f"{usage.get('input_tokens', 0):,} tokens in, {usage.get('output_tokens', 0):,} out"
    yield Line(text=f"    reply of {meta.get('provider')}:{one_line(str(meta.get('model')))}{served}{cut} · {tokens}")
    yield from _indented("".join(part["text"] for part in row.content["parts"] if part["type"] == "text"), 6)
    for index, call in enumerate(calls_of(row)):
        name = f"{row.thread}.{row.turn}.{row.round}.{index}"
        yield Line(text=f"      ▶ {one_line(call['name'])} {brief_arguments(call['arguments'])[:300]}", style="cyan")
        if not facts[name].delivered:
            yield Line(text=f"        no result yet: {facts[name].succeeded}", style="yellow")


def _result(row: Row, known: CallFacts | None, took: str) -> Iterator[Line]:
    content = row.content
    success = known.succeeded if known else "not run"
    mark, style = _MARKS.get(success, ("…", "plain"))
    failure = f" ({content['failure']})" if content.get("failure") else ""
    readable = "readable" if row.quarantine is None else "NOT readable"
    title = f"{mark} {one_line(content['tool'])}{failure}: delivered, {readable}, {success}"
    yield Line(text=f"      {title} · {content['operation']}{took}", style=style)
    if row.quarantine is None:
        yield from _indented(content["text"], 8)
    else:
        yield Line(text=f"        {HIDDEN}", style="yellow")


def _attempt(row: Row) -> str:
    content = row.content
    status = f", HTTP {content['status']}" if "status" in content else ""
    told = [f"{one_line(str(each['field']))}={one_line(str(each['value']))[:120]}" for each in content["evidence"]]
    again_ms = content.get("retry_at_ms")
    wait_ms = 0 if again_ms is None else content.get("delay_ms", again_ms - row.created_at)
    follows = "" if again_ms is None else f"; sent again after {round(wait_ms / 1000, 1):g} s"
    evidence = f"; evidence {', '.join(told)}" if told else ""
    return (
        f"✗ attempt {content['attempt']}: {content['class']} (recovers with {content['recovers_with']}){status}"
        f"{evidence}{follows}"
    )


def _outcome(content: Json, took: str) -> Iterator[Line]:
    name = content["outcome"]
    why = content.get("failure_class") or content.get("reason")
    detail = f" ({why})" if why else ""
    style = "green" if name == "completed" else "red"
    yield Line(text=f"  outcome: {name}{detail}{_figures(content)}{took}", style=style)
    if content.get("message"):
        yield from _indented(content["message"], 6)


def _figures(content: Json) -> str:
    rounds, cost_usd = content.get("rounds"), content.get("cost_usd")
    usage: dict[str, int] = content.get("usage") or {}
    counted = f" · {rounds} round{'' if rounds == 1 else 's'}" if rounds else ""
    tokens = f" · {usage.get('input_tokens', 0):,} tokens in, {usage.get('output_tokens', 0):,} out" if usage else ""
    return f"{counted}{tokens}{f' · {cost_said(cost_usd)}' if cost_usd else ''}"


def _indented(text: str, spaces: int) -> Iterator[Line]:
    for line in stripped(text).rstrip("\n").split("\n") if text.strip() else []:
        yield Line(text=f"{' ' * spaces}{line}")


def calls_of(row: Row) -> list[Json]:
    """Return the calls of a reply, in their order."""
    return [part for part in row.content["parts"] if part["type"] == "call"]


def _success(operation: Operation | None) -> Success:
    if operation is None or (operation.state == "raised" and not operation.runs):
        return "not run"
    match operation.state:
        case "intended":
            return "not started"
        case state:
            return state
