"""What a person is told of segments: which part of what shapes the requests opened one, and what was switched (SPEC §2)."""

from stoic.cli.cleaning import one_line
from stoic.core.segment import changed_parts
from stoic.records import Json

_NAMED = frozenset({"model", "api", "mode"})
"""What shapes a segment and is stored as it is called; of the rest only a hash is."""


def segment_opened(segment: str, before: dict[str, str] | None, after: dict[str, str]) -> str:
    """Return that a segment was opened, and by what: which parts of what shapes its requests are not as they were before.

    Args:
        segment: its id
        before: the shape of the segment before; None: this is the thread's first
        after: its own
    """
    if before is None:
        return f"segment {one_line(segment)} opened: {one_line(after.get('model', 'the first'))}"
    changes = [
        f"{part} {one_line(before[part] or '-')} → {one_line(after[part] or '-')}"
        if part in _NAMED and part in before and part in after
        else f"{part} changed"
        for part in changed_parts(before, after)
    ]
    return f"segment {one_line(segment)} opened: {', '.join(changes) or 'what shapes its requests changed'}"


def switched(content: Json) -> str:
    """Return what a person switched to."""
    mode = [f"mode {one_line(str(content['mode']))}"] if "mode" in content else []
    return ", ".join([*([one_line(str(content["model"]))] if "model" in content else []), *mode])
