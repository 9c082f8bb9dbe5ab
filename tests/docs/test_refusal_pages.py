"""The pages on refusals say what the code says: the state tables, the rule, the fixed texts; their example works."""

import re
from pathlib import Path

import pytest

from stoic.core import notice
from stoic.core.quarantine.template import Template
from stoic.core.quarantine.texts import IMAGES, NEUTRAL_EVENTS, PLACEHOLDERS
from stoic.core.refusal import (
    FROZEN_AT,
    LADDERS_A_TURN,
    PROBE_DELAYS_MS,
    REMEMBERED_MS,
    RefusalState,
    card,
    counts_as_task,
    disposition,
    duration,
    rule,
)
from stoic.runtime.renderers import EVENT_RENDERERS

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "explanation" / "refusal.md").read_text(encoding="utf-8")
TEXTS = (DOCS / "reference" / "withheld.md").read_text(encoding="utf-8")
HOW_TO = (DOCS / "how-to" / "decide-after-a-refusal.md").read_text(encoding="utf-8")


def between(page: str, name: str, kind: str = "table") -> str:
    (found,) = re.findall(rf"<!-- {kind}: {name} -->\n(.*?)<!-- /{kind} -->", page, re.DOTALL)
    return found


def test_the_table_of_probes_is_drawn_from_the_constants():
    rows = [f"| {count} | {duration(delay)} after the last refusal |" for count, delay in enumerate(PROBE_DELAYS_MS, 1)]
    head = ["| refusals | next send that no person causes |", "|---|---|"]
    assert between(PAGE, "probes").splitlines() == [*head, *rows, f"| {FROZEN_AT} | never: frozen |"]


@pytest.mark.parametrize(
    ("label", "kind", "scope"),
    [
        ("`chat`", "chat", "main"),
        ("`repair`", "repair", "main"),
        ("counts as task", "task", "main"),
        ("counts as task", "chat", "worker"),
    ],
)
def test_the_table_of_dispositions_is_drawn_from_the_matrix(label: str, kind: str, scope: str):
    (row,) = [line for line in between(PAGE, "dispositions").splitlines() if line.startswith(f"| {label} |")]
    ladder, others = [cell.strip() for cell in row.split("|")[2:4]]
    fate = disposition(kind, scope, "request_bytes")
    assert ladder.startswith("yes") is fate.ladder
    assert others.startswith("yes") is fate.others
    assert ("tombstone" in row) is fate.tombstone is counts_as_task(kind, scope)


def test_the_rule_is_the_same_in_code_page_card_and_notice():
    state = RefusalState(provider="p", model="m", category=None, refusals=1, refused_at_ms=0, segment="t.1#1")
    steps = ", ".join(duration(delay) for delay in PROBE_DELAYS_MS)
    assert steps in rule()
    assert rule() in notice.chat_refused("t", "t.1#1", state).text
    assert duration(PROBE_DELAYS_MS[0]) in card(state, skipped=False)["rule"]
    assert f"remembered for {duration(REMEMBERED_MS)} across threads" in PAGE
    assert LADDERS_A_TURN == 2
    assert "a third refused round in one turn ends it" in " ".join(PAGE.split())


@pytest.mark.parametrize(
    ("name", "templates"), [("placeholders", PLACEHOLDERS), ("events", NEUTRAL_EVENTS), ("images", (IMAGES,))]
)
def test_every_fixed_text_stands_on_the_page(name: str, templates: tuple[Template, ...]):
    assert between(TEXTS, name, "texts") == "\n".join(f"> {each.line}\n" for each in templates)


def test_the_example_renderer_works():
    (example,) = re.findall(r"```python\n(.*?)```", HOW_TO, re.DOTALL)
    try:
        exec(compile(example, "decide-after-a-refusal.md", "exec"), {})  # noqa: S102 - our own page
        said = EVENT_RENDERERS["mail"]({"sender": "ada", "text": "hidden"})
    finally:
        EVENT_RENDERERS.pop("mail", None)
    assert said == "A mail arrived from ada; its text is withheld."
