"""One send: the request's bytes out, provisional deltas to subscribers, the report back."""

from stoic.core.commands import Send
from stoic.events import CallAnnounced, RoundStarted, TextDelta, ThinkingDelta
from stoic.ports import Clock, Connection, Request
from stoic.records import Report
from stoic.runtime.streams import Emit


class Sender:
    """Sends rounds of one turn to one connection."""

    def __init__(self, connection: Connection, head: bytes, clock: Clock, deadline_ms: int, emit: Emit) -> None:
        self._connection = connection
        self.head = head
        self._clock = clock
        self._deadline_ms = deadline_ms
        self._emit = emit

    async def send(self, command: Send, body: bytes) -> Report:
        """Send once; whatever happens is in the report."""
        connection, number, attempt, emit = self._connection, command.round, command.attempt, self._emit
        emit(
            RoundStarted(
                round=number,
                attempt=attempt,
                provider=connection.provider,
                model=connection.model,
                simulated=connection.simulated,
            )
        )

        def on_delta(kind: str, text: str) -> None:
            if kind == "text":
                emit(TextDelta(round=number, attempt=attempt, text=text))
            elif kind == "thinking":
                emit(ThinkingDelta(round=number, attempt=attempt, text=text))
            else:
                emit(CallAnnounced(round=number, attempt=attempt, tool=text))

        request = Request(
            url=connection.url,
            headers=connection.headers,
            body=body,
            provider=connection.provider,
            api=connection.api,
            model=connection.model,
            deadline_ms=self._clock.now_ms() + self._deadline_ms,
        )
        return await connection.send.send(request, on_delta)
