"""The gate's check of withheld rows before each send: every fixed text is rebuilt exactly, and stands where it may (SPEC §5)."""

from collections.abc import Iterable

from stoic.core.notes import WITHHELD_RESULT
from stoic.core.quarantine.texts import read_neutral, read_placeholder, read_without_images
from stoic.core.rows import kind_of
from stoic.errors import UnsendableError
from stoic.records import Row


def check_forms(rows: Iterable[Row]) -> None:
    """Check the rows of a view that are not yet accepted.

    Raises:
        UnsendableError: a row that left the view is in it, or a text that stands for a withheld body is not exactly such a
            text or stands elsewhere than such texts may. Nothing must be sent then.
    """
    for row in rows:
        why = _fault(row)
        if why is not None:
            raise UnsendableError(f"row {row.seq} {why}; nothing was sent")


def _fault(row: Row) -> str | None:
    if row.quarantine == "excluded":
        return "has left the view and is in it"
    shown = row.content if row.view is None else row.view
    if row.quarantine == "placeholder":
        if kind_of(row) != "result":
            return "is no tool result and holds a placeholder"
        is_form = shown["text"] == WITHHELD_RESULT or read_placeholder(shown["text"]) is not None
        return None if is_form else "holds what is no placeholder"
    if row.meta.get("form") == "neutral" and read_neutral(shown["text"]) is None:
        return "stands for an event and is no neutral text"
    if "withheld_images" in shown and read_without_images(shown, row.content) is None:
        return "says of its images what it may not"
    return None
