"""Tells which assistant texts say the same: wording without case, spacing, punctuation at the ends and a leading count."""

from stoic.core.loops.hashes import digest
from stoic.core.loops.words import pattern

_COUNT = (
    r"^(?:(?:attempt|try|retry|round|iteration|take)\s*(?:no\.?\s*)?#?\d+(?:\s*(?:of|/)\s*\d+)?|[(#]?\d+)\s*[.):\-]+\s*"
)


def normalised(text: str) -> str:
    """Hash a text so that repetitions are equal; empty for a text without words.

    A leading count (`Attempt 3:`, `4.`) is dropped when words follow; every other number stays, since it may be progress.
    """
    flat = " ".join(text.casefold().split())
    rest = pattern(_COUNT).sub("", flat, count=1)
    said = (rest or flat).strip(" .!?,;:*_`~\"'")
    return digest(said) if said else ""
