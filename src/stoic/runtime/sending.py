"""One send: the request's bytes out, provisional deltas to subscribers, the report back."""

from stoic.core.commands import Send
from stoic.events import CallAnnounced, RoundStarted, TextDelta, ThinkingDelta
from stoic.ports import Connection, Outside, Request
from stoic.records import Report
from stoic.runtime.agents import Agent
from stoic.runtime.streams import Emit
from stoic.runtime.transcript import Live


class Sender:
    """Sends the rounds of one turn to the routes it may take."""

    def __init__(
        self, live: Live, connections: list[Connection], agent: Agent, outside: Outside, deadline_ms: int, emit: Emit
    ) -> None:
        self._live = live
        self._routes = {(each.provider, each.model): each for each in connections}
        self._agent = agent
        self._outside = outside
        self._deadline_ms = deadline_ms
        self._emit = emit

    async def send(self, command: Send) -> Report:
        """Send once; whatever happens is in the report."""
        connection = self._routes[command.route.provider, command.route.model]
        body = await self._body(connection)
        number, attempt, emit = command.round, command.attempt, self._emit
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
            deadline_ms=self._outside.clock.now_ms() + self._deadline_ms,
        )
        return await connection.send.send(request, on_delta)

    async def _body(self, connection: Connection) -> bytes:
        live, renderer = self._live, connection.renderer
        transcript = live.transcripts.get(renderer)
        if transcript is None:
            # The first request of this thread to this kind of route since it was loaded.
            transcript = live.transcribe((await self._outside.store.load(live.history.thread)).rows, renderer)
        agent = self._agent
        return transcript.body(renderer.head(connection.model, agent.instructions, agent.schemas, agent.parameters))
