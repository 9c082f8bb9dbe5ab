"""What a person is told of refusals and of what was withheld from models because of them (SPEC §8, §9)."""

from collections.abc import Callable, Iterable

from stoic.cli.cleaning import one_line
from stoic.cli.refusals import quarantine_said, refusal_said, refuser
from stoic.cli.wording import Line, budget_said, fell_back
from stoic.core.budget import Use
from stoic.records import Json, Row

HIDDEN = "[hidden: quarantined]"
"""Stands for a body that only `--reveal` shows."""
WITHDRAWN = "withdrawn (no model sees it any more)"


def hidden_rows(rows: Iterable[Row]) -> frozenset[int]:
    """Return the seqs of the rows whose bodies a person sees only on demand, since no model may read them.

    A note of the runtime's own is never hidden, and a person's own words only where a provider refused them: not where a
    failure made them leave the view.
    """
    rows = list(rows)
    refused = {row.turn for row in rows if row.kind == "outcome" and row.content.get("refused")}
    return frozenset(
        row.seq
        for row in rows
        if row.quarantine is not None
        and row.kind not in {"nudge", "known"}
        and (row.kind != "message" or (row.turn in refused and row.quarantine == "excluded"))
    )


def has_hidden_images(row: Row) -> bool:
    """Tell whether images of a row are withheld from models, while its text is not."""
    return row.view is not None and "withheld_images" in row.view


def without_images(content: dict[str, Json]) -> dict[str, Json]:
    """Return a content without its images."""
    return {name: value for name, value in content.items() if name != "images"}


def event_said(row: Row) -> str:
    """Return what kind of event a row is, where it came from, and what it stands in for."""
    content = row.content
    origins = (content.get(name) for name in ("source_channel", "from_thread", "task_thread"))
    origin = next((each for each in origins if isinstance(each, str)), None)
    replaced = f", in place of row {row.meta['replaces']}" if "replaces" in row.meta else ""
    return f"event {one_line(content['kind'])}{f' from {one_line(origin)}' if origin else ''}{replaced}"


def _ended(content: Json) -> Line:
    text = f"    ⊘ {refuser(content)} in round {content['round']}: this task does not run again"
    return Line(text=text, style="red")


def _fallback(content: Json) -> Line:
    first, second = (f"{content[side]['provider']}:{content[side]['model']}" for side in ("from", "to"))
    rule = f": {content['rule']}" if "rule" in content else ""
    text = fell_back(first, second, content["class"], skipped=content["skipped"])
    return Line(text=f"    {text}{rule}", style="yellow")


def reveal_said(content: Json) -> str:
    """Return that a person looked at bodies that no model may read."""
    return f"a person looked at what is withheld from models (rows {', '.join(str(seq) for seq in content['rows'])})"


def _status(content: Json) -> Line:
    tool, operation = one_line(content["tool"]), one_line(content["operation"])
    trouble = f" (it {one_line(content['trouble'])})" if "trouble" in content else ""
    known = {"done": f"{operation} is done", "not_done": f"{operation} is not done"}
    said = known.get(content["answer"], f"it is unknown whether {operation} is done")
    style = "cyan" if content["answer"] in known else "yellow"
    return Line(text=f"      the status of {tool} says: {said}{trouble}", style=style)


def _resolution(content: Json) -> Line:
    decided = "is done" if content["decision"] == "done" else "is not done"
    text = f"  a person says: {one_line(content['operation'])} of {one_line(content['tool'])} {decided}"
    return Line(text=text, style="cyan")


def _kin_status(content: Json) -> Line:
    text = f"{one_line(content['for'])} may run: {one_line(content['operation'])}, the same call of a task or its owner, is not done"
    return Line(text=f"      {text}", style="cyan")


LINES: dict[str, Callable[[Json], Line]] = {
    "quarantine": lambda content: Line(text=f"    {quarantine_said(content)}", style="yellow"),
    "refusal": lambda content: Line(text=f"    {refusal_said(content)}", style="yellow"),
    "refusal_stop": _ended,
    "fallback": _fallback,
    "budget": lambda content: Line(text=f"    {budget_said(Use(**content))}", style="yellow"),
    "wake": lambda _: Line(text="  woken without anything new", style="dim"),
    "status": _status,
    "resolution": _resolution,
    "kin_status": _kin_status,
    "reveal": lambda content: Line(text=f"  {reveal_said(content)}", style="cyan"),
}
"""By kind of row: the line of it."""
