"""What a row is to the view: a copy that compaction made stands for the row it was made of."""

from collections.abc import Iterable

from stoic.records import Json, Row

INPUTS = frozenset({"message", "event", "grant"})
"""Rows from outside that a turn begins with or takes in; the results of its own calls are none."""
_BODY = frozenset({"text", "images", "payload"})
"""What of a content a model could be shown; the rest says what it belongs to."""


def kind_of(row: Row) -> str:
    """Return the row's kind, of a kept copy its original's."""
    return row.meta["kind"] if row.kind == "kept" else row.kind


def turn_of(row: Row) -> int:
    """Return the number of the turn the row was made in, of a kept copy its original's."""
    return row.meta["turn"] if row.kind == "kept" else row.turn


def input_of(shown: Iterable[Row]) -> Row | None:
    """Return the row that opened the turn whose visible rows these are."""
    return next((row for row in shown if kind_of(row) in INPUTS), None)


def shown_content(row: Row) -> Json:
    """Return the content that a copy of the row may have: what a model no longer sees of it stays with the original."""
    content, view = row.content, {"text": ""} if row.quarantine == "excluded" else row.view
    if view is None or _shows_all(view, content):
        return content
    return {name: value for name, value in content.items() if name not in _BODY} | view


def _shows_all(view: Json, content: Json) -> bool:
    """Tell whether a view, with what the runtime may have added, holds the whole body."""
    same_images = view.get("images", []) == content.get("images", [])
    return "payload" not in content and same_images and view["text"].startswith(content.get("text", ""))
