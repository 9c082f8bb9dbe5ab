"""The gate's check of what stands for withheld bodies: only exact texts, only where they may stand."""

from typing import Any

import pytest

from stoic.core.notes import WITHHELD_RESULT
from stoic.core.quarantine import NeutralEvent, Placeholder, check_forms, neutral_text, placeholder_text, without_images
from stoic.errors import UnsendableError
from stoic.records import Row

PLACEHOLDER = placeholder_text(Placeholder(tool="t", provider="p", category=None, row="r", operation="o"))
NEUTRAL = neutral_text(NeutralEvent(kind="mail", row="r", provider="p", category=None))
IMAGE = {"media_type": "image/png", "data_base64": "aW1h"}
SEEN = {"text": "seen", "images": [IMAGE]}


def row(kind: str = "result", text: str = "body", **fields: Any) -> Row:
    content = {"text": text, "call": 0, "operation": "o", "tool": "t"}
    given: dict[str, Any] = {
        "role": "tool",
        "content": content,
        "visible": True,
        "turn": 1,
        "round": 1,
        "generation": 1,
    } | fields
    return Row(id="r1", thread="t", seq=3, segment="t.1#1", kind=kind, created_at=1, **given)


GOOD = {
    "plain": row(),
    "placeholder": row(quarantine="placeholder", view={"text": PLACEHOLDER}),
    "note": row(quarantine="placeholder", view={"text": WITHHELD_RESULT, "failure": "unknown"}),
    "neutral": row("event", NEUTRAL, meta={"replaces": 2, "form": "neutral"}),
    "rendered": row("event", "less", meta={"replaces": 2, "form": "rendered"}),
    "images": row(content=SEEN, view=without_images(SEEN, "p", None)),
}
BAD = {
    "excluded": (row(quarantine="excluded"), "has left the view"),
    "smuggled": (row(quarantine="placeholder", view={"text": f"{PLACEHOLDER} and more"}), "no placeholder"),
    "elsewhere": (row("message", quarantine="placeholder", view={"text": PLACEHOLDER}), "no tool result"),
    "forged event": (row("event", f"{NEUTRAL} and more", meta={"form": "neutral"}), "no neutral text"),
    "images back": (row(content=SEEN, view={"text": "other", "withheld_images": 1}), "of its images"),
}


@pytest.mark.parametrize("name", GOOD)
def test_exact_texts_in_their_places_pass(name: str):
    check_forms([GOOD[name]])


@pytest.mark.parametrize("name", BAD)
def test_anything_else_is_not_sent(name: str):
    bad, why = BAD[name]
    with pytest.raises(UnsendableError, match=why):
        check_forms([GOOD["plain"], bad])
