"""One send: the request's bytes out, provisional deltas to subscribers, the report back."""

import sys

from stoic.core.commands import Send, Summarise
from stoic.core.replay import messages
from stoic.events import CallAnnounced, RoundStarted, TextDelta, ThinkingDelta
from stoic.ports import Connection, Outside, Request
from stoic.records import Report
from stoic.runtime.agents import Agent
from stoic.runtime.streams import Emit
from stoic.runtime.summaries import summarise
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
            deadline_ms=min(self._outside.clock.now_ms() + self._deadline_ms, command.deadline_ms or sys.maxsize),
        )
        return await connection.send.send(request, on_delta)

    async def summarise(self, command: Summarise, bound: tuple[str, str]) -> str | None:
        """Have the agent's summariser, or the bound model, sum up everything but the kept rows."""
        rows = (await self._outside.store.load(self._live.history.thread)).rows
        kept = set(command.kept)
        view = messages([row for row in rows if row.seq <= command.upto_seq and row.seq not in kept])
        if self._agent.summariser is not None:
            return await self._agent.summariser(view)
        return await summarise(self._routes[bound], self._outside.clock, self._deadline_ms, view)

    async def _body(self, connection: Connection) -> bytes:
        live, renderer = self._live, connection.renderer
        transcript = live.transcripts.get(renderer)
        if transcript is None:
            # The first request of this thread to this kind of route since it was loaded.
            rows = live.rows
            if rows is None:
                rows = (await self._outside.store.load(live.history.thread)).rows
            transcript = live.transcribe(rows, renderer)
        agent = self._agent
        return transcript.body(
            renderer.head(connection.model, agent.instructions, agent.schemas, agent.parameters_for(connection))
        )
