"""The scripted provider: a real HTTP/1.1 server on the loopback interface that plays a script."""

import asyncio
import socket
import struct
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import IO, Any, Self, cast

import h11
import msgspec

from stoic.records import Json
from stoic.testing import chat_style
from stoic.testing.cases import Cases
from stoic.testing.director import Answering, Director
from stoic.testing.player import Action, Close, Send, Wait, play, simple_answer, status_of
from stoic.testing.recording import RecordedRequest, masked, write_record
from stoic.testing.replies import Script
from stoic.testing.styles import KNOWN_PATHS, asked_of, style_of

_READ_BYTES = 256 * 1024
_RESET_ON_CLOSE = struct.pack("ii", 1, 0)


class ScriptedProvider:
    """A provider that answers what a script says, in the style of the API that a request's path names.

    Served are `…/chat/completions`, `…/messages`, `…/responses`, `…/models/NAME:streamGenerateContent` and `:generateContent`.

    `async with` runs it in the running event loop, `with` in a thread of its own. It listens on 127.0.0.1. What a function
    given as the script raises is raised again where the block ends.
    """

    def __init__(
        self,
        script: Script | Answering | Json,
        *,
        cases: Cases | None = None,
        port: int = 0,
        record: IO[str] | None = None,
        checks: bool = True,
    ) -> None:
        """Read the script; nothing is opened yet.

        Args:
            script: A list or object of the script language, a `Script`, or a function from a `RecordedRequest` to one
                element of the language.
            cases: What `wire:ID` refers to, by id.
            port: The port; 0 lets the system choose.
            record: Where each request is written as a line of JSON when its answer has ended.
            checks: Whether malformed conversations are answered with 400.

        Raises:
            UsageError: The script has a word that is not one of the language.
        """
        self.requests: list[RecordedRequest] = []
        """Every request, in order of arrival."""
        self.connections = 0
        """How many connections were accepted."""
        self._director = Director(script, cases, checks=checks)
        self._port = port
        self._record = record
        self._gates: dict[str, asyncio.Event] = {}
        self._news = asyncio.Condition()
        self._failure: BaseException | None = None
        self._serving: dict[asyncio.Task[None], asyncio.StreamWriter] = {}
        self._server: asyncio.Server | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._executor: ThreadPoolExecutor | None = None
        self._running: Future[None] | None = None
        self._stop = asyncio.Event()

    # ---- running

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", self._port)
        self._loop = asyncio.get_running_loop()
        self._port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._server:
            self._server.close()
        for task, writer in self._serving.items():
            task.cancel()
            writer.transport.abort()
        await asyncio.gather(*self._serving, return_exceptions=True)
        if self._failure and kind is None:
            raise self._failure

    def __enter__(self) -> Self:
        started = threading.Event()

        async def run() -> None:
            try:
                async with self:
                    started.set()
                    await self._stop.wait()
            finally:
                started.set()

        self._executor = ThreadPoolExecutor(1, thread_name_prefix="scripted-provider")
        self._running = self._executor.submit(lambda: asyncio.run(run()))
        started.wait()
        if self._loop is None:
            self._running.result()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._loop and self._executor and self._running:
            self._loop.call_soon_threadsafe(self._stop.set)
            self._executor.shutdown()
            if kind is None:
                self._running.result()

    # ---- what a test asks

    @property
    def port(self) -> int:
        """The port it listens on."""
        return self._port

    @property
    def base_url(self) -> str:
        """The base URL for requests of no particular route."""
        return f"http://127.0.0.1:{self._port}/v1"

    def base_url_of(self, route: str) -> str:
        """Return the base URL that makes requests ones of this route; a model of that name does so too."""
        return f"http://127.0.0.1:{self._port}/{route}/v1"

    @property
    def exhausted(self) -> int:
        """How many requests came after the script's end."""
        return self._director.exhausted

    @property
    def unplayed(self) -> list[str]:
        """Labels of the replies nobody has asked for."""
        return self._director.unplayed

    def open_gate(self, name: str) -> None:
        """Let whatever waits, or will wait, at a gate of the script go on; callable from any thread."""
        if self._loop:
            self._loop.call_soon_threadsafe(self._gate(name).set)

    async def arrived(self, count: int) -> None:
        """Return when so many requests have arrived; for tests in the provider's own event loop."""
        async with self._news:
            await self._news.wait_for(lambda: len(self.requests) >= count)

    async def answered(self, count: int) -> None:
        """Return when so many answers have ended, whichever way; for tests in the provider's own event loop."""
        async with self._news:
            await self._news.wait_for(lambda: sum(request.ended for request in self.requests) >= count)

    # ---- serving

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve a connection in a task that is known from its first moment, so that the end of a test finds it."""
        self.connections += 1
        task = asyncio.create_task(self._serve(_Connection(reader, writer, self.connections)))
        self._serving[task] = writer
        task.add_done_callback(self._forget)

    def _forget(self, task: asyncio.Task[None]) -> None:
        self._serving.pop(task, None)
        self._failure = self._failure or (None if task.cancelled() else task.exception())

    async def _serve(self, connection: "_Connection") -> None:
        try:
            while await self._answer_next(connection):
                pass
        except (ConnectionError, h11.RemoteProtocolError):
            # The client is gone or speaks no HTTP: there is nobody to answer.
            connection.left = True
        finally:
            connection.close(reset=False)

    async def _answer_next(self, connection: "_Connection") -> bool:
        """Answer one request; tell whether the connection stays."""
        received = await connection.request()
        if received is None:
            return False
        head, body = received
        request = self._note(head, body, connection.number)
        await self._tell()
        try:
            return await self._act(connection, request)
        finally:
            request.ended = True
            if self._record:
                write_record(request, self._record)
            await self._tell()

    async def _tell(self) -> None:
        """Wake the tests that wait for a request or for the end of its answer."""
        async with self._news:
            self._news.notify_all()

    async def _act(self, connection: "_Connection", request: RecordedRequest) -> bool:
        style = style_of(request.path)
        if style is None:
            request.answered_by, request.status = "not found", 404
            message = f"{request.path} is not served here; the scripted provider knows {KNOWN_PATHS}"
            return await connection.send(simple_answer(404, chat_style.error_body(message)))
        reply = self._director.choose(request)
        request.answered_by = reply.label
        for action in play(reply, request, style):
            if isinstance(action, Send) and request.status is None:
                request.status = status_of(action.data)
            if not await self._perform(action, connection):
                request.left_early = connection.left
                return False
        return not reply.hang

    async def _perform(self, action: Action, connection: "_Connection") -> bool:
        """Carry out one action; tell whether the answer goes on."""
        match action:
            case Send():
                return await connection.send(action.data)
            case Close():
                connection.close(reset=action.reset)
                return False
            case Wait(gate=gate, delay_ms=delay_ms):
                opened = None if gate is None else self._gate(gate)
                return await connection.wait(opened, None if delay_ms is None else delay_ms / 1000)

    def _gate(self, name: str) -> asyncio.Event:
        return self._gates.setdefault(name, asyncio.Event())

    def _note(self, head: h11.Request, body: bytes, connection: int) -> RecordedRequest:
        try:
            value = msgspec.json.decode(body)
        except msgspec.DecodeError:
            value = None
        path = head.target.decode("latin-1").partition("?")[0]
        first = path.strip("/").partition("/")[0]
        asked = asked_of(path, value)
        model = cast("dict[str, Json]", asked).get("model") if isinstance(asked, dict) else None
        request = RecordedRequest(
            number=len(self.requests) + 1,
            method=head.method.decode("latin-1"),
            path=path,
            route=first if first in self._director.routes else (model if isinstance(model, str) else None),
            headers=masked({name.decode("latin-1"): value.decode("latin-1") for name, value in head.headers}),
            body=body,
            json=value,
            connection=connection,
        )
        self.requests.append(request)
        return request


class _Connection:
    """One client connection: requests are parsed by h11, answers written raw so that anything can be cut."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, number: int) -> None:
        self.number = number
        self.left = False
        """Whether the client closed while an answer was under way."""
        self._reader = reader
        self._writer = writer
        self._rest = b""
        self._closed = False

    async def request(self) -> tuple[h11.Request, bytes] | None:
        """Return the next request, or None when the client is done."""
        parser = h11.Connection(h11.SERVER)
        if self._rest:
            parser.receive_data(self._rest)
            self._rest = b""
        head: h11.Request | None = None
        body = bytearray()
        while True:
            event = parser.next_event()
            if event is h11.NEED_DATA:
                if parser.they_are_waiting_for_100_continue:
                    self._writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
                parser.receive_data(await self._reader.read(_READ_BYTES))
            elif isinstance(event, h11.Request):
                head = event
            elif isinstance(event, h11.Data):
                body += event.data
            elif isinstance(event, h11.EndOfMessage) and head:
                self._rest = parser.trailing_data[0]
                return head, bytes(body)
            else:
                return None

    async def send(self, data: bytes) -> bool:
        """Write; tell whether the client still listens."""
        if self._reader.at_eof() or self._writer.is_closing():
            self.left = True
            return False
        self._writer.write(data)
        try:
            await self._writer.drain()
        except ConnectionError:
            self.left = True
            return False
        return True

    async def wait(self, gate: asyncio.Event | None, timeout_seconds: float | None) -> bool:
        """Wait for a gate, for real seconds, or for the client to leave; tell whether it is still there."""
        leaving = asyncio.ensure_future(self._reader.read(_READ_BYTES))
        waiting: set[asyncio.Future[Any]] = {leaving}
        if gate:
            waiting.add(asyncio.ensure_future(gate.wait()))
        try:
            await asyncio.wait(waiting, timeout=timeout_seconds, return_when=asyncio.FIRST_COMPLETED)
            if leaving.done():
                self._rest += leaving.result()
                self.left = not leaving.result()
        finally:
            for task in waiting:
                task.cancel()
            # The reader is free for the next read only when this one has really ended.
            await asyncio.gather(*waiting, return_exceptions=True)
        return not self.left

    def close(self, *, reset: bool) -> None:
        """Close the connection, or break it off so that the client sees a reset."""
        if reset:
            raw = self._writer.get_extra_info("socket")
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
            self._writer.transport.abort()
        else:
            self._writer.close()
