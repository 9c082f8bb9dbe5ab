"""A text that comes in pieces and may become one JSON object: each piece is looked at once, however often one asks."""

import re

from stoic.wire.text import is_json_object, mend

_MARK = re.compile(r'\\.?|["{}\[\]]', re.DOTALL)
_BLANKS = " \t\r\n"


class GrowingObject:
    """The argument text of a call as far as it came."""

    __slots__ = ("_closed", "_depth", "_escaped", "_in_text", "_is_object", "_seen", "pieces")

    def __init__(self) -> None:
        """Begin without text."""
        self.pieces: list[str] = []
        """What came; to be appended to."""
        self._seen = 0
        self._depth = 0
        self._in_text = False
        self._escaped = False
        self._closed = False
        """Whether the bracket that closes everything has come."""
        self._is_object: bool | None = None

    @property
    def text(self) -> str:
        """The text so far."""
        return mend("".join(self.pieces))

    def is_object(self) -> bool:
        """Tell whether the text is one whole JSON object by now, strictly."""
        for piece in self.pieces[self._seen :]:
            self._look_at(piece)
        self._seen = len(self.pieces)
        if self._closed and self._is_object is None:
            self._is_object = is_json_object(self.text)
        return bool(self._is_object)

    def _look_at(self, piece: str) -> None:
        if self._closed:
            self._end(piece)
            return
        begin = 1 if self._escaped and piece else 0
        self._escaped = self._escaped and not piece
        for mark in _MARK.finditer(piece, begin):
            sign = mark[0]
            if sign[0] == "\\":
                self._escaped = len(sign) == 1
            elif sign == '"':
                self._in_text = not self._in_text
            elif not self._in_text:
                self._depth += 1 if sign in "{[" else -1
                if self._depth <= 0:
                    self._closed = True
                    self._end(piece[mark.end() :])
                    return

    def _end(self, rest: str) -> None:
        """Take what follows the closing bracket: anything but blanks makes that it never is an object."""
        if rest.strip(_BLANKS):
            self._is_object = False
