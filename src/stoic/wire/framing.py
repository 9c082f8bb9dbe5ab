"""Where the body of an HTTP/1.1 answer begins and ends (RFC 9112, sections 6 and 7).

h11 reads heads; bodies are read here, because h11's cost for each chunk is most of a stream's: 6 of 7 µs a token.
A test holds this reader to h11's verdict on arbitrary bytes, however they are split.
"""

import re

import h11

_SIZE_LINE = re.compile(rb"([0-9a-fA-F]{1,15})[ \t]*(?:;.*)?", re.DOTALL)
_LINE_LIMIT_BYTES = 16 * 1024
_BODILESS = {204, 304}


class Body:
    """The body of one answer; how its bytes were split never changes what comes out."""

    def __init__(self, response: h11.Response) -> None:
        """Choose the framing from the answer's head. Raises h11.RemoteProtocolError if it names one that is none."""
        self.done = False
        """Whether the end has come."""
        self.fault: str | None = None
        """How the peer broke the framing; what came before is valid."""
        self._rest = b""
        self._expected: int | None = None
        self._left = 0
        self._chunked = False
        self._closes_chunk = False
        self._in_trailers = False
        self._trailer_bytes = 0
        self._choose(response)

    @property
    def rest(self) -> bytes:
        """Bytes after the end: nobody asked for them."""
        return self._rest

    @property
    def lasts_until_close(self) -> bool:
        """Whether only the connection's end is the body's."""
        return not self._chunked and self._expected is None

    def feed(self, data: bytes) -> bytes:
        """Take the next bytes of the connection and return what they hold of the body."""
        if self._chunked:
            return self._feed_chunks(data)
        if self._expected is None:
            return data
        content = data[: self._left]
        self._left -= len(content)
        self._rest = data[len(content) :]
        self.done = self._left == 0
        return content

    def close(self) -> None:
        """Note that the connection ended; a body that needed more has a fault then."""
        if self.lasts_until_close:
            self.done = True
        elif not self.done:
            received = "incomplete chunked read"
            if self._expected is not None:
                received = f"received {self._expected - self._left} bytes, expected {self._expected}"
            self.fault = f"peer closed connection without sending complete message body ({received})"

    def _choose(self, response: h11.Response) -> None:
        headers = dict(response.headers)
        coding = headers.get(b"transfer-encoding")
        if response.status_code in _BODILESS:
            self._expected = 0
        elif coding is not None:
            # h11 refuses every coding but `chunked` while it reads the head.
            self._chunked = True
            return
        elif b"content-length" in headers:
            self._expected = int(headers[b"content-length"])
        self._left = self._expected or 0
        self.done = self._expected == 0

    def _feed_chunks(self, data: bytes) -> bytes:
        buffer = self._rest + data if self._rest else data
        position, size = 0, len(buffer)
        found: list[bytes] = []
        while not self.done and not self.fault:
            if self._left:
                piece = buffer[position : position + self._left]
                found.append(piece)
                position += len(piece)
                self._left -= len(piece)
                if self._left:
                    break
                self._closes_chunk = True
            if self._closes_chunk:
                ending = buffer[position : position + 2]
                if not b"\r\n".startswith(ending):
                    self.fault = f"a chunk is followed by {ending!r} instead of its line end"
                if len(ending) < len(b"\r\n"):
                    break
                position += 2
                self._closes_chunk = False
            end = buffer.find(b"\r\n", position)
            if end < 0 or self.fault:
                self._bound_line(size - position)
                break
            self._read_line(buffer[position:end])
            position = end + 2
        self._rest = buffer[position:]
        return b"".join(found)

    def _read_line(self, line: bytes) -> None:
        """Read a line between chunks: a chunk's size, or a trailer, which nobody needs."""
        if self._in_trailers:
            self._trailer_bytes += len(line)
            self._bound_line(self._trailer_bytes)
            self.done = not line
            return
        found = _SIZE_LINE.fullmatch(line)
        if not found:
            self.fault = f"not the size of a chunk: {line[:40]!r}"
            return
        self._left = int(found[1], 16)
        self._in_trailers = self._left == 0

    def _bound_line(self, size_bytes: int) -> None:
        if size_bytes > _LINE_LIMIT_BYTES:
            self.fault = f"a line between chunks is longer than {_LINE_LIMIT_BYTES} bytes"
