"""Takes out the sequences by which a text would command a terminal (ECMA-48), whole or while the text still comes in."""

import re

_PLAIN = "[^\\x00-\\x1f\\x7f-\\x9f]"
_STRING_OPENING = "(?:\\x1b[]PX^_]|[\\x90\\x98\\x9d\\x9e\\x9f])"
"""OSC, DCS, SOS, PM, APC."""
_STRING = f"{_STRING_OPENING}{_PLAIN}{{0,4096}}"
_CONTROL_OPENING = "(?:\\x1b\\[|\\x9b)[0-?]{0,64}[ -/]{0,8}"
"""CSI with its parameters."""
_OTHER_OPENING = "\\x1b[ -/]{0,8}"
# A string that nothing ends on its line loses its opening only: it must not swallow what follows it.
_SEQUENCE = re.compile(f"{_STRING}(?:\\x07|\\x9c|\\x1b\\\\)|{_CONTROL_OPENING}[@-~]|{_OTHER_OPENING}[0-~]")
_UNFINISHED = re.compile(f"(?:{_STRING}\\x1b?|{_CONTROL_OPENING}|{_OTHER_OPENING})\\Z")
_INTRODUCER = re.compile("[\\x1b\\x90\\x98\\x9b\\x9d-\\x9f]")


def without_sequences(text: str) -> str:
    """Return the text without CSI, OSC, DCS and other escape sequences; single control characters stay."""
    return _SEQUENCE.sub("", text) if _INTRODUCER.search(text) else text


class SequenceFilter:
    """Does for a text that comes in pieces what `without_sequences` does for the whole, wherever the pieces part."""

    def __init__(self) -> None:
        self._rest = ""
        """What may be the beginning of a sequence."""

    def feed(self, piece: str) -> str:
        """Return what can be shown by now."""
        text = self._rest + piece
        unfinished = _UNFINISHED.search(text) if _INTRODUCER.search(text) else None
        end = unfinished.start() if unfinished else len(text)
        self._rest = text[end:]
        return without_sequences(text[:end])

    def finish(self) -> str:
        """Return what was held back, now that nothing more comes; then a new text may begin."""
        rest, self._rest = self._rest, ""
        return without_sequences(rest)
