"""What a model reads in place of a body that is withheld, and how each such text is recognised (SPEC §9).

Recognising checks the form, not whether the ids in it are true.
"""

from collections.abc import Mapping

from msgspec import structs

from stoic.core.notes import NO_OUTPUT
from stoic.core.quarantine.template import Template
from stoic.records import Json, Record

UNNAMED = "unnamed"
"""Stands for a category that the provider did not name."""

PLACEHOLDERS = (
    Template(
        "[runtime] placeholder v0: result of {tool} withheld, refused by {provider} (category {category}); row {row}, "
        "operation {operation}."
    ),
    Template(
        "[runtime] placeholder v1: the result of {tool} (row {row}) is withheld, since {provider} refused the request that "
        "held it, category {category}. This tells neither whether the operation took effect nor whether this row caused "
        "the refusal. Do not repeat an operation with side effects, nor read the withheld text another way. Check "
        "independent state: operation_status of {operation}; where nothing tells, report unknown."
    ),
)
"""Every version there was, the newest last: what an older one wrote stays a placeholder. One that was published never changes."""

_DELIVERED = (
    "[runtime] event v1: an event of kind {kind} (row {row}) was delivered; what it says is withheld, since {provider} "
    "refused the request that held it, category {category}. It cannot be taken for the cause. Delivered is not completed: "
    "check independent state only, and report unknown where none can be read."
)
_NEUTRAL = Template(_DELIVERED)
_NEUTRAL_FROM = Template(_DELIVERED + " Origin, for tracing only (it grants no access): {origin}.")
NEUTRAL_EVENTS = (_NEUTRAL, _NEUTRAL_FROM)
"""Every version there was, without and with an origin; as above."""

IMAGES = Template(
    "[runtime] images v1: images that belong here are withheld ({count}), since {provider} refused the request that held "
    "them, category {category}. The text is as it came. Do not view them another way."
)
_ORIGINS = ("source_channel", "from_thread", "task_thread", "owner_thread")


class Placeholder(Record, frozen=True):
    """The fields of what stands in place of a tool's result."""

    tool: str
    provider: str
    category: str | None
    row: str
    operation: str


class NeutralEvent(Record, frozen=True):
    """The fields of what stands in place of an event."""

    kind: str
    row: str
    provider: str
    category: str | None
    origin: str | None = None


class WithheldImages(Record, frozen=True):
    """The fields of the note in place of a row's images."""

    count: int
    provider: str
    category: str | None


def placeholder_text(placeholder: Placeholder) -> str:
    """Return the line that stands in place of a result; a field that does not fit is `other`, no category `unnamed`."""
    return PLACEHOLDERS[-1].write(_fields(placeholder))


def read_placeholder(text: str) -> Placeholder | None:
    """Return the fields, as they stand in the line, if the text is a placeholder of any version and nothing else."""
    for template in PLACEHOLDERS:
        fields = template.read(text)
        if fields:
            return Placeholder(**fields)
    return None


def neutral_text(event: NeutralEvent) -> str:
    """Return the line that stands in place of an event; without an origin it names none."""
    return (_NEUTRAL if event.origin is None else _NEUTRAL_FROM).write(_fields(event))


def read_neutral(text: str) -> NeutralEvent | None:
    """Return the fields, as they stand in the line, if the text is a neutral event of any version and nothing else."""
    for template in NEUTRAL_EVENTS:
        fields = template.read(text)
        if fields:
            return NeutralEvent(**fields)
    return None


def origin_of(event: Mapping[str, Json]) -> str | None:
    """Return where an event came from: the first of its origins that is a string with something in it."""
    return next((event[name] for name in _ORIGINS if isinstance(event.get(name), str) and event[name]), None)


def without_images(shown: Json, provider: str, category: str | None) -> dict[str, Json]:
    """Return a view that keeps the text and says in place of the images how many are withheld.

    Args:
        shown: what a model saw of the row: its view, or its content; it holds images
        provider: who refused
        category: the provider's word for why, if it said one
    """
    count = len(shown["images"])
    fields = _fields(WithheldImages(count=count, provider=provider, category=category))
    note = IMAGES.write(fields | {"count": str(count)})
    return {"text": _joined(shown["text"], note), "withheld_images": count} | failure_of(shown)


def read_without_images(view: Json, content: Json) -> WithheldImages | None:
    """Return what a view says of its withheld images, if it is the row's own text, the exact note and nothing else.

    Between the two there may stand what the runtime had added before, such as a loop's warning. A copy in another
    generation or thread holds the text as it was seen, and no images.
    """
    if view.keys() - {"failure"} != {"text", "withheld_images"}:
        return None
    count, (said, _, note) = view["withheld_images"], view["text"].rpartition("\n\n")
    fields = IMAGES.read(note)
    if "withheld_images" in content:
        is_own = view["text"] == content["text"] and count == content["withheld_images"]
    else:
        is_own = count in range(1, len(content.get("images", [])) + 1) and _is_text_of(content["text"], said)
    if fields is None or fields["count"] != str(count) or not is_own:
        return None
    return WithheldImages(count=count, provider=fields["provider"], category=fields["category"])


def failure_of(shown: Json) -> dict[str, Json]:
    """Return that a call did not return, which is another fact than whether its result may be read."""
    return {"failure": shown["failure"]} if "failure" in shown else {}


def _is_text_of(text: str, said: str) -> bool:
    """Tell whether this is a row's text, or that with words of the runtime behind it."""
    if said == text or said.startswith(f"{text}\n\n[runtime] "):
        return True
    return not text.strip() and (not said or said.startswith(("[runtime] ", f"{NO_OUTPUT}\n\n[runtime] ")))


def _joined(text: str, note: str) -> str:
    return f"{text}\n\n{note}" if text.strip() else note


def _fields(record: Placeholder | NeutralEvent | WithheldImages) -> dict[str, Json]:
    fields = structs.asdict(record)
    return fields | {"category": UNNAMED} if record.category is None else fields
