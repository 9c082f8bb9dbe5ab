"""A thread's log as a person reads it: its rows as lines, the bodies of quarantined rows left out (SPEC §9)."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Literal, cast

from stoic.cli.cleaning import one_line, stripped
from stoic.cli.segments import segment_opened, switched
from stoic.cli.waiting import moment, waits_said
from stoic.cli.withheld import (
    HIDDEN,
    LINES,
    WITHDRAWN,
    event_said,
    has_hidden_images,
    hidden_rows,
    without_images,
)
from stoic.cli.wording import Line, answered, begins, brief_arguments, changed, cost_said
from stoic.records import Json, Operation, Record, Row

Success = Literal["returned", "raised", "unknown", "not run", "running", "not started"]

_MARKS: dict[str, tuple[str, str]] = {
    "returned": ("✓", "green"),
    "raised": ("✗", "red"),
    "unknown": ("?", "yellow"),
    "not run": ("-", "yellow"),
}


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


class _Known(Record, frozen=True):
    """What the lines of a row depend on beside the row."""

    facts: dict[str, CallFacts]
    took: dict[str, str]
    """How long calls, questions and turns took, by operation or by the id of the row that ended them."""
    lost: set[str]
    """Operations that stand as running although their process ended."""
    hidden: frozenset[int]
    """Rows whose bodies are left out, by seq."""


def call_facts(rows: list[Row], operations: list[Operation], *, held: bool = True) -> dict[str, CallFacts]:
    """Return the facts of every call of the rows, by operation id.

    Args:
        rows: of one thread
        operations: its journal
        held: whether a living process works on the thread; else what stands as running was lost
    """
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
                succeeded=_success(journal.get(name), held=held),
            )
    for name, result in results.items():
        if name in facts:
            continue
        # Its reply is damaged; what the journal knows is known all the same.
        facts[name] = CallFacts(
            operation=name,
            tool=result.content["tool"],
            delivered=True,
            readable=result.quarantine is None,
            succeeded=_success(journal.get(name), held=held),
        )
    return facts


def timeline(
    rows: list[Row], operations: list[Operation], *, held: bool = True, reveal: bool = False
) -> Iterator[Line]:
    """Yield the lines of a thread, turn by turn.

    Args:
        rows: of one thread
        operations: its journal
        held: as for `call_facts`
        reveal: show also the bodies that no model may read
    """
    known = _Known(
        facts=call_facts(rows, operations, held=held),
        took=_durations(rows, operations),
        lost={operation.id for operation in operations if operation.state == "running" and not held},
        hidden=frozenset() if reveal else hidden_rows(rows),
    )
    final = _final_refusals(rows)
    turn = number = 0
    shape: dict[str, str] | None = None
    for row in rows:
        if row.turn != turn:
            turn, number = row.turn, 0
            yield Line(text="")
            yield Line(text=f"turn {turn} · {moment(row.created_at)}", style="bold")
        if "fingerprint" in row.meta:
            shape, before = cast("dict[str, str]", row.meta.get("shape", {})), shape
            yield Line(text=f"  {segment_opened(row.segment, before, shape)}", style="dim")
        if row.round != number and row.kind in {"reply", "attempt"}:
            number = row.round
            yield Line(text=f"  round {number}", style="dim")
        if row.seq not in final:
            yield from _row(row, known)


def shown_row(row: Row, *, reveal: bool = False) -> dict[str, Json]:
    """Return a row for programs; of a quarantined one everything but its body, unless that is to be revealed."""
    content = row.content if row.quarantine is None or reveal else None
    if has_hidden_images(row) and not reveal:
        content = without_images(row.content)
    shown: dict[str, Json] = {
        "seq": row.seq,
        "turn": row.turn,
        "round": row.round,
        "generation": row.generation,
        "segment": row.segment,
        "role": row.role,
        "kind": row.kind,
        "created_at": row.created_at,
        "visible": row.visible,
        "accepted": row.accepted,
        "quarantine": row.quarantine,
        "content": content,
        "meta": row.meta,
    }
    return shown | ({"view": row.view} if row.quarantine == "placeholder" else {})


def _row(row: Row, known: _Known) -> Iterator[Line]:
    content, took = row.content, known.took
    match row.kind:
        case "message" | "event":
            title = "message" if row.kind == "message" else event_said(row)
            yield from _body(f"  {title}", text_of(content), row, known)
        case "attempt":
            yield Line(text=f"    {_attempt(row)}", style="yellow")
            yield from _indented(content.get("detail") or "", 8)
        case "nudge" | "known":
            why = content.get("reason", "what became known")
            yield from _body(f"    note to the model ({why})", content["text"], row, known)
        case "reply":
            yield from _reply(row, known)
        case "result":
            yield from _result(row, known)
        case "question":
            names = ", ".join(f"{one_line(each['tool'])} ({each['operation']})" for each in content["questions"])
            yield Line(text=f"    asked a person about {names}", style="yellow")
        case "answer":
            waited = took.get(row.id, "")
            yield Line(text=f"    {answered(content)}{waited}")
        case "outcome":
            yield from _outcome(content, took.get(row.id, ""))
        case "kept":
            pass  # a copy that compaction made: its original was shown
        case _:
            yield from _event(row, known)


def _final_refusals(rows: list[Row]) -> set[int]:
    """Return the refusals, by seq, that ended their thread: their rule tells when to ask again, which is never done there."""
    return {
        row.seq
        for row, following in pairwise(rows)
        if following.kind == "refusal_stop" and row.kind == "refusal" and not row.content["skipped"]
    }


def _event(row: Row, known: _Known) -> Iterator[Line]:
    """Yield what happened beside replies and calls; of a kind this version does not know, its name and plain facts."""
    content = row.content
    if row.kind in LINES:
        yield LINES[row.kind](content)
        return
    match row.kind:
        case "switch":
            yield Line(text=f"  a person switched to {switched(content)}", style="cyan")
        case "fresh":
            said = "a person started fresh, and no model sees what stands above"
            yield Line(text=f"  ≡ generation {row.generation} begins without history: {said}", style="cyan")
        case "damaged":
            what = f"row {row.seq} ({one_line(content['kind'])}) cannot be read, {one_line(content['misfit'])}"
            yield Line(text=f"    ! damaged: {what}", style="red")
        case "compaction_failed":
            yield Line(text=f"    ≡ not summed up ({content['why']}){_tokens(content)}:", style="yellow")
            yield from _indented(content["message"], 6)
        case "parked":
            yield Line(text=f"    parked: it {waits_said(content)}", style="yellow")
        case "grant":
            yield Line(
                text=f"  a person allowed {content['calls']} of the calls that were blocked as a loop", style="cyan"
            )
        case "let_through":
            names = ", ".join(one_line(each) for each in content["operations"])
            yield Line(text=f"    runs only because a person allowed it: {names}", style="yellow")
        case "compaction":
            title = begins(row.generation, str(row.meta.get("cause")))
            yield from _body(f"    {title}{_tokens(row.meta)}", content["text"], row, known)
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


def _body(title: str, text: str, row: Row, known: _Known) -> Iterator[Line]:
    said = title if row.quarantine is None else f"{title}, {WITHDRAWN}"
    if row.seq in known.hidden:
        yield Line(text=f"{said}: {HIDDEN}", style="yellow")
        return
    yield Line(text=f"{said}:")
    yield from _indented(text, 6)


def _reply(row: Row, known: _Known) -> Iterator[Line]:
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
        if not known.facts[name].delivered:
            said = "it was running when its process ended" if name in known.lost else known.facts[name].succeeded
            yield Line(text=f"        no result yet: {said} · {name}", style="yellow")


def _result(row: Row, known: _Known) -> Iterator[Line]:
    content, facts = row.content, known.facts.get(row.content["operation"])
    success = facts.succeeded if facts else "not run"
    mark, style = _MARKS.get(success, ("…", "plain"))
    failure = f" ({content['failure']})" if content.get("failure") else ""
    readable = "readable" if row.quarantine is None else "NOT readable"
    title = f"{mark} {one_line(content['tool'])}{failure}: delivered, {readable}, {success}"
    yield Line(text=f"      {title} · {content['operation']}{known.took.get(content['operation'], '')}", style=style)
    if row.seq in known.hidden:
        yield Line(text=f"        {HIDDEN}", style="yellow")
    else:
        yield from _indented(content["text"], 8)


def _attempt(row: Row) -> str:
    content = row.content
    status = f", HTTP {content['status']}" if "status" in content else ""
    told = [f"{one_line(str(each['field']))}={one_line(str(each['value']))[:120]}" for each in content["evidence"]]
    again_ms = content.get("retry_at_ms")
    wait_ms = 0 if again_ms is None else content.get("delay_ms", again_ms - row.created_at)
    follows = "" if again_ms is None else f"; sent again after {round(wait_ms / 1000, 1):g} s"
    if "change" in content:
        change = content["change"]
        follows = f"; sent again {changed(change['kind'], change.get('max_tokens'), change.get('images', 0))}"
    evidence = f"; evidence {', '.join(told)}" if told else ""
    return (
        f"✗ attempt {content['attempt']}: {content['class']} (recovers with {content['recovers_with']}){status}"
        f"{evidence}{follows}"
    )


def _outcome(content: Json, took: str) -> Iterator[Line]:
    name = content["outcome"]
    why = content.get("failure_class") or content.get("reason")
    detail = f" ({why})" if why else ""
    style = "green" if name == "completed" and not why else "red"
    yield Line(text=f"  outcome: {name}{detail}{_figures(content)}{took}", style=style)
    if content.get("message"):
        yield from _indented(content["message"], 6)


def _figures(content: Json) -> str:
    rounds = content.get("rounds")
    counted = f" · {rounds} round{'' if rounds == 1 else 's'}" if rounds else ""
    return f"{counted}{_tokens(content)}"


def _tokens(content: Json) -> str:
    cost_usd, usage = content.get("cost_usd"), cast("dict[str, int]", content.get("usage") or {})
    tokens = f" · {usage.get('input_tokens', 0):,} tokens in, {usage.get('output_tokens', 0):,} out" if usage else ""
    return f"{tokens}{f' · {cost_said(cost_usd)}' if cost_usd else ''}"


def _indented(text: str, spaces: int) -> Iterator[Line]:
    for line in stripped(text).rstrip("\n").split("\n") if text.strip() else []:
        yield Line(text=f"{' ' * spaces}{line}")


def calls_of(row: Row) -> list[Json]:
    """Return the calls of a reply, in their order."""
    return [part for part in row.content["parts"] if part["type"] == "call"]


def _success(operation: Operation | None, *, held: bool) -> Success:
    if operation is None or (operation.state == "raised" and not operation.runs):
        return "not run"
    match operation.state:
        case "intended":
            return "not started"
        case "running" if not held:
            return "unknown"
        case state:
            return state
