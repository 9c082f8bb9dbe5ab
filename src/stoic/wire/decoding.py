"""What the transport needs from the file of one API: something that turns an answer's content into a decoded reply."""

from collections.abc import Callable
from typing import Protocol

from stoic.ports import Delta, Request
from stoic.records import Json, Part, Record, Usage
from stoic.wire.sse import SseEvent


class Decoded(Record, frozen=True):
    """What one answer said; the fields are those of `Report`."""

    parts: list[Part] | None
    """None: nothing in the answer was of this API, so nothing was assembled."""
    events: list[dict[str, Json]] = []
    finish: str | None = None
    ended: bool = False
    end_unconfirmed: bool = False
    served_model: str | None = None
    request_id: str | None = None
    usage: Usage = Usage()


class Decoder(Protocol):
    """Reads one answer, event by event or as a whole; never raises for what a provider sends."""

    ended: bool
    """Whether an end has arrived, confirmed or not (`[DONE]` alone): little or nothing may follow."""

    def event(self, event: SseEvent) -> None:
        """Take the next event of a stream."""
        ...

    def body(self, value: Json) -> None:
        """Take a whole successful answer that was not a stream."""
        ...

    def result(self) -> Decoded:
        """Return what has been said so far; the stream may have ended anywhere."""
        ...


DecoderFactory = Callable[[Request, Delta], Decoder]
"""Makes the decoder of one attempt."""
