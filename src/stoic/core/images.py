"""Images that a provider finds too large: which ones it means, and the note that stands in their place (SPEC §6)."""

import re
from collections.abc import Iterator
from typing import Any, cast

import msgspec

from stoic.core import notes
from stoic.records import Json, Report, Row, ViewChange

_PLACE = re.compile(r"\b(?:messages|input|contents)(?:\.?\[\d+\]|\.\w+)+")
"""A place in a request as providers write it: `messages[2].content[1]`, `messages.0.content.1.image.source.base64`."""
_STEP = re.compile(r"\w+")
_LIMIT_CHARACTERS = 2_000


def pointer_of(report: Report) -> str | None:
    """Return the place in the request that an error names, as the provider wrote it; None: it names none."""
    for said in _texts([report.body, report.events]):
        found = _PLACE.search(said[:_LIMIT_CHARACTERS])
        if found:
            return found[0]
    return None


def images_at(body: bytes, pointer: str) -> list[str]:
    """Return the base64 data of the images at a place of a request.

    Names on the way that the request does not know (tags of a kind, another spelling) are passed over.
    """
    names = _STEP.findall(pointer)
    node: Json = msgspec.json.decode(body)
    if names[0] not in node:
        return []
    for name in names:
        if isinstance(node, list) and name.isdecimal():
            items = cast("list[Json]", node)
            if int(name) >= len(items):
                return []
            node = items[int(name)]
        elif isinstance(node, dict):
            inner = cast("dict[str, Json]", node).get(name)
            node = cast("Json", inner) if isinstance(inner, dict | list) else cast("Json", node)
    return list(_images(node))


def images_of(row: Row) -> list[dict[str, Any]]:
    """Return the images that a model sees of a row."""
    return (row.view or row.content).get("images", [])


def without_images(rows: list[Row], meant: list[str] | None) -> tuple[list[ViewChange], int]:
    """Return the changes by which images leave the view for a note, and how many leave.

    Args:
        rows: not yet accepted
        meant: the data of the images the provider means; None: all
    """
    changes, count = list[ViewChange](), 0
    for row in rows:
        images = images_of(row)
        kept = [] if meant is None else [image for image in images if image["data_base64"] not in meant]
        left_out = len(images) - len(kept)
        if left_out:
            count += left_out
            changes.append(ViewChange(seq=row.seq, view=_noted(row.view or row.content, kept, left_out)))
    return changes, count


def _noted(shown: Json, kept: list[dict[str, Any]], left_out: int) -> Json:
    note = notes.images_left_out(left_out)
    text = f"{shown['text']}\n\n{note}" if shown["text"].strip() else note
    view = {name: value for name, value in shown.items() if name != "images"} | {"text": text}
    return view | ({"images": kept} if kept else {})


def _texts(value: Json) -> Iterator[str]:
    """Yield the texts inside a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for each in cast("dict[str, Json]", value).values():
            yield from _texts(each)
    elif isinstance(value, list):
        for each in cast("list[Json]", value):
            yield from _texts(each)


def _images(value: Json) -> Iterator[str]:
    """Yield the data of the images inside a part of a request: a `data:` URL, or base64 beside its media type."""
    if isinstance(value, str):
        if value.startswith("data:image/"):
            yield value.partition(";base64,")[2]
    elif isinstance(value, dict):
        fields = cast("dict[str, Json]", value)
        if "data" in fields and fields.keys() & {"media_type", "mimeType"}:
            yield fields["data"]
        else:
            for each in fields.values():
                yield from _images(each)
    elif isinstance(value, list):
        for each in cast("list[Json]", value):
            yield from _images(each)
