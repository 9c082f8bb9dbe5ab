"""Server-sent events out of byte chunks, incrementally.

The format is that of the HTML Living Standard, section 9.2, with two deliberate differences: an event that has a name
but no data is reported (a nameless empty one is not), because a bare `event: error` says something; and comments are
reported, because keep-alives are evidence. `id` and `retry` serve reconnection, which this runtime never does.
"""

from itertools import islice

import msgspec

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_COMMENTS_REPORTED = 1000
"""Of one block; further ones say nothing new, and there may be millions."""


class SseEvent(msgspec.Struct, gc=False):
    """One event or comment, exactly as it came."""

    name: str | None = None
    """The `event` field."""
    data: bytes = b""
    """The `data` lines, joined by line feeds; not decoded."""
    comment: str | None = None
    """The text of a comment line; then there is neither name nor data."""


class SseParser:
    """Collects bytes and gives back the events they complete; how the bytes were split never changes the result."""

    def __init__(self, limit_bytes: int = 8 * 1024 * 1024) -> None:
        """Start a stream.

        Args:
            limit_bytes: The largest event accepted, 8 MiB by default. A larger one sets `overflowed`; the parser then
                ignores whatever follows.
        """
        self.overflowed = False
        self._limit_bytes = limit_bytes
        self._rest = bytearray()
        self._scanned = 0
        self._started = False
        self._held_return = False

    def feed(self, chunk: bytes) -> list[SseEvent]:
        """Take the next bytes and return the events that are complete now, in order."""
        events: list[SseEvent] = []
        if self.overflowed:
            return events
        if not self._started:
            chunk = self._strip_mark(chunk)
        if self._held_return or b"\r" in chunk:
            chunk = self._unify_line_ends(chunk)
        if self._rest:
            self._feed_rest(chunk, events)
        else:
            blocks = chunk.split(b"\n\n")
            tail = blocks.pop()
            for block in blocks:
                self._dispatch(block, events)
            self._rest += tail
        # One more byte may be the first half of the empty line that ends an event of exactly the limit.
        if self.overflowed or len(self._rest) > self._limit_bytes + 1:
            self.overflowed = True
            self._rest.clear()
        return events

    def finish(self) -> list[SseEvent]:
        """Return the comments of an unfinished last block; an event without its empty line is none."""
        if self.overflowed:
            return []
        events: list[SseEvent] = []
        if self._held_return:
            self._rest += b"\n"
        # A last block ended by a lone carriage return is complete; everything else here is not.
        if self._rest.endswith(b"\n\n"):
            self._dispatch(bytes(self._rest[:-2]), events)
        else:
            lines = bytes(self._rest).split(b"\n")[:-1]
            comments = (line for line in lines if line.startswith(b":"))
            events += [_comment(line) for line in islice(comments, _COMMENTS_REPORTED)]
        self._rest.clear()
        return events

    def _feed_rest(self, chunk: bytes, events: list[SseEvent]) -> None:
        """Add to an unfinished block; only bytes not looked at before are searched for its end."""
        rest = self._rest
        rest += chunk
        begin = 0
        end = rest.find(b"\n\n", max(self._scanned - 1, 0))
        while end >= 0:
            self._dispatch(bytes(rest[begin:end]), events)
            begin = end + 2
            end = rest.find(b"\n\n", begin)
        del rest[:begin]
        self._scanned = len(rest)

    def _dispatch(self, block: bytes, events: list[SseEvent]) -> None:
        if self.overflowed:
            return
        if len(block) > self._limit_bytes:
            self.overflowed = True
        elif block.startswith(b"data: ") and b"\n" not in block:
            events.append(SseEvent(None, block[6:]))
        else:
            _parse_block(block, events)

    def _strip_mark(self, chunk: bytes) -> bytes:
        """Drop a byte order mark at the stream's very beginning, also when it is split."""
        chunk = bytes(self._rest) + chunk
        self._rest.clear()
        if len(chunk) < len(BYTE_ORDER_MARK) and BYTE_ORDER_MARK.startswith(chunk):
            self._rest += chunk
            return b""
        self._started = True
        return chunk.removeprefix(BYTE_ORDER_MARK)

    def _unify_line_ends(self, chunk: bytes) -> bytes:
        """Make every line end a line feed; a carriage return at the very end waits for what follows it."""
        if not chunk:
            return chunk
        if self._held_return:
            chunk = b"\r" + chunk
        self._held_return = chunk.endswith(b"\r")
        if self._held_return:
            chunk = chunk[:-1]
        return chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


def _comment(line: bytes) -> SseEvent:
    return SseEvent(comment=line[1:].removeprefix(b" ").decode("utf-8", "replace"))


def _parse_block(block: bytes, events: list[SseEvent]) -> None:
    """Read the lines of one block; comments are reported before the event they stand in."""
    name: str | None = None
    data: list[bytes] = []
    comments = 0
    for line in block.split(b"\n"):
        if line.startswith(b":"):
            comments += 1
            if comments <= _COMMENTS_REPORTED:
                events.append(_comment(line))
            continue
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            data.append(value)
        elif field == b"event":
            name = value.decode("utf-8", "replace")
    if data or name:
        events.append(SseEvent(name or None, b"\n".join(data)))
