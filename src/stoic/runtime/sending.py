"""One send: the request's bytes out, provisional deltas to subscribers, the report back."""

import hashlib
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

from stoic.core.commands import Compare, Locate, Remembered, Route, Send, Summarise, Summarised
from stoic.core.images import images_at
from stoic.core.refusal import REMEMBERED_MS
from stoic.core.replay import messages
from stoic.errors import StaleWriterError, UsageError
from stoic.events import CallAnnounced, CompactionStarted, RoundStarted, TextDelta, ThinkingDelta
from stoic.ports import Connection, Outside, Request
from stoic.records import Message, RefusedBytes, Report, Row
from stoic.runtime.agents import Agent, Summariser
from stoic.runtime.collecting import collection_held
from stoic.runtime.plain_rendering import PlainRenderer
from stoic.runtime.streams import Emit
from stoic.runtime.summaries import summary_request
from stoic.runtime.transcript import Live
from stoic.tools.callbacks import call

Room = Callable[[str], AbstractAsyncContextManager[object]]
"""From a route to what lets so many requests through at a time and holds back the others."""


class Sender:
    """Sends the rounds of one turn to the routes it may take."""

    def __init__(
        self,
        live: Live,
        connections: list[Connection],
        agent: Agent,
        outside: Outside,
        deadline_ms: int,
        emit: Emit,
        room: Room,
    ) -> None:
        self._live = live
        self._routes = {(each.provider, each.model): each for each in connections}
        self._agent = agent
        self._outside = outside
        self._deadline_ms = deadline_ms
        self._emit = emit
        self._room = room

    async def send(self, command: Send) -> tuple[Report, str] | RefusedBytes:
        """Send once; whatever happens is in the report, which comes with the request's hash.

        Bytes that were refused lately, and may not be sent again, are not sent: then the refusal comes back.
        """
        connection = self._connection(command.route)
        body = await self._body(command)
        digest = _hash(body)
        if not command.may_repeat:
            known = await self._refused(digest, connection)
            if known is not None:
                return known
        return await self._send(command, connection, body), digest

    async def _refused(self, digest: str, connection: Connection) -> RefusedBytes | None:
        """Return the refusal of these very bytes by this provider and model that is remembered, in whatever thread."""
        since_ms = self._outside.clock.now_ms() - REMEMBERED_MS
        key = (digest, connection.provider, connection.model)
        remembered = await self._outside.store.refused_since(since_ms)
        return next((each for each in remembered if (each.hash, each.provider, each.model) == key), None)

    async def _send(self, command: Send, connection: Connection, body: bytes) -> Report:
        async with self._room(connection.key):
            return await self._send_now(command, connection, body)

    async def _send_now(self, command: Send, connection: Connection, body: bytes) -> Report:
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

        return await connection.send.send(self._request(connection, body), on_delta)

    def _request(self, connection: Connection, body: bytes) -> Request:
        return Request(
            url=connection.url,
            headers=connection.headers,
            body=body,
            provider=connection.provider,
            api=connection.api,
            model=connection.model,
            deadline_ms=self._outside.clock.now_ms() + self._deadline_ms,
            secrets=connection.secrets,
        )

    async def differs(self, command: Compare) -> bool:
        """Tell whether the second send would be another request than the first."""
        try:
            changed = await self._body(command.after)
        except UsageError:
            return False  # the model does not take what it would say
        return changed != await self._body(command.before)

    async def locate(self, command: Locate) -> list[str]:
        """Return the base64 data of the images at a place of a request."""
        return images_at(await self._body(command.send), command.pointer)

    async def summarise(self, command: Summarise) -> Summarised | Remembered:
        """Have the agent's summariser, or the model of the route, sum up what is seen of everything but the kept rows."""
        rows = await self._stored_rows()
        kept = set(command.kept)
        view = messages([row for row in rows if row.seq <= command.upto_seq and row.seq not in kept])
        connection, clock = self._connection(command.route), self._outside.clock
        if self._agent.summariser is not None:
            self._emit(CompactionStarted())
            text, error = await _summed_up_by(self._agent.summariser, view)
            return Summarised(text=text, error=error, now_ms=clock.now_ms())
        body = summary_request(connection, view)
        digest = _hash(body)
        known = None if command.may_repeat else await self._refused(digest, connection)
        if known is not None:
            return Remembered(refused=known, now_ms=clock.now_ms())
        model = f"{connection.provider}:{connection.model}"
        self._emit(CompactionStarted(model=model, simulated=connection.simulated))
        async with self._room(connection.key):
            report = await connection.send.send(self._request(connection, body), _ignore)
        return Summarised(report=report, request_hash=digest, now_ms=clock.now_ms())

    def _connection(self, route: Route) -> Connection:
        return self._routes[route.provider, route.model]

    async def _body(self, command: Send) -> bytes:
        connection, live = self._connection(command.route), self._live
        renderer = PlainRenderer(usual=connection.renderer) if command.plain else connection.renderer
        transcript = live.transcripts.get(renderer)
        if transcript is None:
            # The first request of this thread to this kind of route since it was loaded.
            rows = await self._stored_rows() if live.rows is None else live.rows
            with collection_held():
                transcript = live.transcribe(rows, renderer)
        agent = self._agent
        parameters = agent.parameters_for(connection, max_tokens=command.max_tokens)
        return transcript.body(renderer.head(connection.model, agent.instructions, agent.schemas, parameters))

    async def _stored_rows(self) -> list[Row]:
        """Return the thread's rows; what another holder has made of them is not for this one to send.

        Raises:
            StaleWriterError: another one has, or had, the lease meanwhile
        """
        thread, lease = self._live.history.thread, self._live.lease
        loaded = await self._outside.store.load(thread)
        if lease is None or (loaded.thread.owner, loaded.thread.epoch) != (lease.owner, lease.epoch):
            raise StaleWriterError(
                f"thread {thread}: its lease is at epoch {loaded.thread.epoch} now and no longer this one's;"
                " nothing was sent, stop working on this thread"
            )
        return loaded.rows


def _hash(body: bytes) -> str:
    return hashlib.blake2b(body, digest_size=16).hexdigest()


async def _summed_up_by(summariser: Summariser, view: list[Message]) -> tuple[str | None, str | None]:
    """Return what an agent's own summariser makes of a view, or the type of what it raised."""
    try:
        return _text(await call(summariser, view)), None
    except Exception as error:  # noqa: BLE001 - a user's function, like a tool: what it raised is recorded
        return None, type(error).__qualname__


def _text(said: object) -> str | None:
    if said is None or isinstance(said, str):
        return said
    raise TypeError(f"the summariser returned a {type(said).__name__} instead of text")


def _ignore(kind: str, text: str) -> None:
    """Nobody sees a summary grow."""
