"""A fixed text with fields that no foreign text can travel in, recognised only by being written again (SPEC §9)."""

import re
from collections.abc import Mapping
from string import Formatter

OTHER = "other"
"""Stands for a value that does not fit a field."""

_FIELD = re.compile(r"[A-Za-z0-9._:-]{1,64}")


def field(value: object) -> str:
    """Return the value if it fits a field, else `other`."""
    return value if isinstance(value, str) and _FIELD.fullmatch(value) else OTHER


class Template:
    """One line with each of its fields once, no two of them in one word: so it can be read in one way only."""

    def __init__(self, line: str) -> None:
        self.line = line
        """With the fields' names in braces."""
        parts = [(re.escape(literal), name) for literal, name, _, _ in Formatter().parse(line)]
        self._pattern = re.compile("".join(literal + (rf"(?P<{name}>\S+)" if name else "") for literal, name in parts))

    def write(self, fields: Mapping[str, object]) -> str:
        """Return the line with these fields."""
        return self.line.format_map({name: field(value) for name, value in fields.items()})

    def read(self, text: str) -> dict[str, str] | None:
        """Return the fields if the text is this line, character for character; a valid beginning is not enough."""
        found = self._pattern.fullmatch(text)
        return found.groupdict() if found and self.write(found.groupdict()) == text else None
