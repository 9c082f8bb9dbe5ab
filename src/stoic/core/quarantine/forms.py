"""The forms in which a row is withheld: a result as its placeholder, an event as another row, images as a note (SPEC §9)."""

import hashlib
from collections.abc import Callable, Mapping
from copy import deepcopy

from stoic.core.canonical import canonical
from stoic.core.images import images_of
from stoic.core.quarantine.template import field
from stoic.core.quarantine.texts import (
    NeutralEvent,
    Placeholder,
    failure_of,
    neutral_text,
    origin_of,
    placeholder_text,
    read_placeholder,
    without_images,
)
from stoic.core.rows import kind_of
from stoic.records import Json, Record, Row, ViewChange

Renderers = Mapping[str, Callable[[Json], object]]
"""By kind of event: what makes a text of its payload that may be shown when the event itself may not."""

_COPIED = ("kind", "source_channel", "from_thread", "task_thread", "owner_thread")
"""What a replacement says of its event beside the text: where it came from, never what it said."""


class RefusedBy(Record, frozen=True):
    """Whose verdict withholds a row."""

    provider: str
    category: str | None = None


class Replacement(Record, frozen=True):
    """A visible row of kind `event` to append in place of an event that leaves the view; its content is what is shown."""

    content: dict[str, Json]
    meta: dict[str, Json]
    """`replaces` (seq) and `row` (id) of the original, `form`: `rendered` or `neutral`; `renderer_failed` where the kind's
    renderer brought nothing: the exception's type, or `no_text`."""


class Change(Record, frozen=True):
    """What withholding one row changes."""

    body: int
    """The seq of the row that holds the body: of a replaced event the original's."""
    view: ViewChange
    replacement: Replacement | None = None


def is_external(row: Row) -> bool:
    """Tell whether a row came from outside and may still be withheld: an unaccepted result or event in the view."""
    in_view = row.visible and row.quarantine != "excluded"
    return in_view and not row.accepted and kind_of(row) in {"result", "event"}


def is_withheld(row: Row) -> bool:
    """Tell whether a model no longer reads what an external row brought; a copy that compaction kept is told by its view."""
    if kind_of(row) == "event":
        return "replaces" in row.meta
    return row.quarantine == "placeholder" or (row.view is not None and read_placeholder(row.view["text"]) is not None)


def body_of(row: Row) -> int:
    """Return the seq of the row that holds an external row's body."""
    return row.meta.get("replaces", row.seq)


def body_hash(said: Row | Json) -> str:
    """Return the hash of what an external row, or the content of one, says: a result's text or an event's payload, and images.

    A result's warning and an event's rendering do not count. Of a replacement there is no body to hash.
    """
    content = said.content if isinstance(said, Row) else said
    body = content["payload"] if "payload" in content else content["text"]
    return hashlib.blake2b(canonical([body, content.get("images", [])]).encode(), digest_size=16).hexdigest()


def withhold(row: Row, by: RefusedBy, renderers: Renderers | None = None) -> Change | None:
    """Return the change by which an external row is withheld whole; None: nothing would change.

    Args:
        row: a result, which gets its placeholder, or an event, in whose place another row is appended
        by: whose verdict
        renderers: an event of these kinds is rendered by them, any other neutral; None: every event neutral, also one that
            was rendered before
    """
    if is_withheld(row) and (renderers is not None or row.meta.get("form") != "rendered"):
        return None
    if kind_of(row) == "event":
        return _replace_event(row, by, renderers or {})
    content, shown = row.content, row.view or row.content
    placeholder = Placeholder(
        tool=content["tool"], provider=by.provider, category=by.category, row=row.id, operation=content["operation"]
    )
    view = {"text": placeholder_text(placeholder)} | failure_of(shown)
    return Change(body=row.seq, view=ViewChange(seq=row.seq, quarantine="placeholder", view=view))


def withhold_images(row: Row, by: RefusedBy) -> Change:
    """Return the change by which only the images of a row that shows some are withheld; its text stays readable."""
    view = without_images(row.view or row.content, by.provider, by.category)
    return Change(body=body_of(row), view=ViewChange(seq=row.seq, view=view))


def _replace_event(row: Row, by: RefusedBy, renderers: Renderers) -> Change | None:
    content: dict[str, Json] = row.content
    original_id: str = row.meta.get("row", row.id)
    meta: dict[str, Json] = {"replaces": body_of(row), "row": original_id, "form": "rendered"}
    text, why_not = _rendered(content, renderers)
    if text is None:
        neutral = NeutralEvent(
            kind=content["kind"],
            row=original_id,
            provider=by.provider,
            category=by.category,
            origin=origin_of(content),
        )
        text = neutral_text(neutral)
        meta |= {"form": "neutral"} | why_not
    if text == (row.view or content)["text"] and not images_of(row):
        return None
    said = {name: content[name] for name in _COPIED if isinstance(content.get(name), str)}
    return Change(
        body=body_of(row),
        view=ViewChange(seq=row.seq, quarantine="excluded"),
        replacement=Replacement(content=said | {"text": text}, meta=meta),
    )


def _rendered(event: Mapping[str, Json], renderers: Renderers) -> tuple[str | None, dict[str, Json]]:
    """Return what the renderer of the event's kind makes of it, or None and, if there is one, why it made nothing."""
    renderer = renderers.get(event["kind"])
    if renderer is None:
        return None, {}
    try:
        text = renderer(deepcopy(event["payload"]))
        # Encoding finds what no store or provider takes, and makes a plain text of a marked-up one.
        plain = text.encode().decode() if isinstance(text, str) else ""
    except Exception as error:  # noqa: BLE001 - a renderer is a user's function; what it raises may quote the payload
        return None, {"renderer_failed": field(type(error).__name__)}
    return (plain, {}) if plain.strip() else (None, {"renderer_failed": "no_text"})
