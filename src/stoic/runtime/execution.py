"""Runs the calls of a turn: each as a task, its end turned into a value whatever the tool does."""

import asyncio
import functools
import logging
import subprocess
from collections.abc import Iterator, Sequence
from typing import Any, cast

from msgspec.structs import replace

from stoic.core import notes
from stoic.core.arguments import arguments_of
from stoic.core.commands import CallResult, PlannedCall, Wait
from stoic.core.failures import FailureClass
from stoic.core.history import EFFECTS
from stoic.ports import Clock
from stoic.records import ImagePart, Operation, ShellFact
from stoic.tools.asking import Answer
from stoic.tools.callbacks import call_to_end
from stoic.tools.context import ToolContext
from stoic.tools.declaration import Tool, render_result
from stoic.tools.ends import Ends
from stoic.tools.shells import ShellError
from stoic.tools.spilling import Spill

STATUS_SECONDS = 30
"""How long a tool's status function may take; longer means `unknown`."""
BRIEF_STATUS_SECONDS = 5
"""The same, where a cancel does not cut it shorter."""
_CANCEL_SECONDS = 5
_log = logging.getLogger(__name__)

_LONGEST_CHAIN = 50
_NOT_SENT = {
    "ConnectError",
    "ConnectTimeout",
    "ConnectionRefusedError",
    "ConnectTimeoutError",
    "NewConnectionError",
    "NameResolutionError",
    "ClientConnectorError",
    "PoolTimeout",
    "gaierror",
}
"""Exceptions, by name, of the standard library and the usual HTTP clients, after which nothing was sent."""
_LOST = {
    "ReadTimeout",
    "ReadTimeoutError",
    "WriteTimeout",
    "ReadError",
    "WriteError",
    "RemoteProtocolError",
    "ProtocolError",
    "ServerDisconnectedError",
    "ClientOSError",
    "ClientPayloadError",
    "ChunkedEncodingError",
    "IncompleteRead",
    "RemoteDisconnected",
    "EndpointConnectionError",
    "ConnectionClosedError",
}
"""Exceptions, by name, after which the request may have arrived."""


class Execution:
    """The calls of one turn that run at the moment."""

    def __init__(
        self, tools: dict[str, Tool], clock: Clock, context: ToolContext | None = None, ends: Ends | None = None
    ) -> None:
        """Begin with nothing running.

        Args:
            tools: by name
            clock: for the journal's times
            context: for tools that look at the runtime, and where long results go; None: they are cut
            ends: where the ends of calls are written down; None: nowhere
        """
        self._tools = tools
        self._clock = clock
        self._context = context
        self._spill = context.spill if context else Spill()
        self._ends = ends or Ends()
        self._tasks: dict[str, asyncio.Task[CallResult]] = {}
        self._ended: list[CallResult] = []
        self._bug: BaseException | None = None
        self._wake = asyncio.Event()

    def start(self, planned: PlannedCall) -> None:
        """Start a call and return at once."""
        task = asyncio.ensure_future(self._run(planned))
        self._tasks[planned.operation.id] = task
        task.add_done_callback(functools.partial(self._note_end, planned.operation.id))

    async def next(self) -> list[CallResult]:
        """Wait until at least one call has ended; return all that have since the last time."""
        await self._wake.wait()
        if self._bug is not None:
            raise self._bug
        return self.take_ended()

    def take_ended(self) -> list[CallResult]:
        """Return the calls that have ended since the last time, without waiting."""
        ended, self._ended = self._ended, []
        self._wake.clear()
        return ended

    async def cancel(self) -> None:
        """Cancel all running calls and wait a bounded time for them to clean up; process groups are killed."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=_CANCEL_SECONDS)

    async def running_shells(self) -> list[ShellFact]:
        """Return the thread's background shells that run."""
        shells = self._context.shells if self._context else None
        if shells is None or self._context is None:
            return []
        found = await asyncio.to_thread(shells.of, self._context.thread)
        return [ShellFact(id=each.id, state=each.state) for each in found if each.state == "running"]

    async def close_shells(self) -> None:
        """End the thread's background shells; one that cannot be ended has its deadline."""
        if self._context is not None and self._context.shells is not None:
            try:
                await asyncio.to_thread(self._context.shells.close, self._context.thread)
            except ShellError as error:
                _log.warning("background shells of %s: %s", self._context.thread, error)

    async def revoke_shells(self, operations: list[str]) -> None:
        """Delete the output of background shells that these operations have shown."""
        if self._context is not None and self._context.shells is not None:
            await asyncio.to_thread(self._context.shells.revoke, self._context.thread, operations)

    async def recall(self, operations: list[Operation]) -> list[CallResult]:
        """Return how calls ended that the journal still has as running; only those whose end was written down."""
        found = self._ends.find(operations)
        by_id = {operation.id: operation for operation in operations}
        return [await self._shortened(by_id[result.operation], result) for result in found]

    def stored(self, operations: list[Operation]) -> None:
        """Take note of what the log holds now: the end of a call needs to be written down nowhere else any more."""
        self._ends.stored(operation.id for operation in operations if operation.state not in {"intended", "running"})

    async def status(self, operation: Operation, arguments: str, *, seconds: float = STATUS_SECONDS) -> Answer:
        """Ask the tool's `status` function; where it raises, takes too long or says anything else, that is `unknown`.

        So is `not_done` while the call's own function still runs in its thread, which nothing can stop: it may do it yet.
        """
        tool = self._tools.get(operation.tool)
        if tool is None:
            return Answer(answer="unknown")
        try:
            async with asyncio.timeout(seconds):
                said = await tool.ask_status(arguments_of(arguments), operation.id, self._context)
        except Exception as error:  # noqa: BLE001 - a user's function: whatever it raises, it does not know
            _log.warning("status of %s (tool %s) raised %s: %s", operation.id, tool.name, type(error).__name__, error)
            return Answer(answer="unknown", trouble=f"raised {type(error).__name__}")
        if said.trouble is not None:
            _log.warning("status of %s (tool %s) %s", operation.id, tool.name, said.trouble)
        if said.answer == "not_done" and self._ends.is_at_work(operation.id):
            return Answer(answer="unknown", trouble="answered not_done while the call itself still runs")
        return said

    def _note_end(self, operation: str, task: asyncio.Task[CallResult]) -> None:
        self._tasks.pop(operation, None)
        if task.cancelled():
            return
        # Whatever a tool does is a result; an exception here is a bug of this file, and nobody may wait for it for ever.
        self._bug = self._bug or task.exception()
        if self._bug is None:
            self._ended.append(task.result())
        self._wake.set()

    async def _run(self, planned: PlannedCall) -> CallResult:
        operation, tool = planned.operation, self._tools[planned.operation.tool]
        started_at = self._clock.now_ms()

        def end(result: CallResult) -> CallResult:
            result = replace(result, started_at=started_at, ended_at=self._clock.now_ms())
            self._ends.keep(operation, result)
            return result

        def returned(value: Any) -> CallResult:
            if isinstance(value, Wait):
                return CallResult(operation=operation.id, text="", state="returned", wait=value)
            rest, images = _taken_apart(value)
            shown = _shown(tool.name, rest)
            return end(CallResult(operation=operation.id, text=shown, state="returned", images=images))

        try:
            context = self._context and replace(self._context, asked_at_ms=planned.asked_at_ms, now_ms=started_at)
            bound = tool.bind(arguments_of(planned.call.arguments), operation.id, context)
            async with asyncio.timeout(tool.timeout_seconds):
                result = await call_to_end(tool.function, (), bound, returned, during=self._ends.at_work(operation.id))
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            result = end(_raised(operation, error))  # the tool itself ended so; nobody had asked for it
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a user's function: its end is recorded, whatever it is
            result = end(_raised(operation, error))
        return await self._shortened(operation, result)

    async def _shortened(self, operation: Operation, result: CallResult) -> CallResult:
        if not self._spill.is_too_long(result.text):
            return result
        return replace(result, text=await asyncio.to_thread(self._spill.keep, operation, result.text))


def _storable(text: str) -> str:
    """Return text that the log and every request can hold: without single surrogates.

    Those come from file names that are not UTF-8 and from foreign JSON; no JSON in UTF-8 can hold them.
    """
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _taken_apart(value: Any) -> tuple[Any, list[ImagePart]]:
    """Return the images of a tool's return value, which is one or a list with some, and what else it holds."""
    if isinstance(value, ImagePart):
        return None, [value]
    if not isinstance(value, list | tuple):
        return value, []
    parts = cast("Sequence[Any]", value)
    images = [part for part in parts if isinstance(part, ImagePart)]
    if not images:
        return parts, []
    rest = [part for part in parts if not isinstance(part, ImagePart)]
    if all(isinstance(part, str) for part in rest):
        return "\n".join(rest), images
    return rest, images


def _shown(tool: str, value: Any) -> str:
    """Return what a model reads of a value; that it cannot be shown does not undo that the function returned."""
    try:
        return notes.own_words(tool, _storable(render_result(value)))
    except Exception as error:  # noqa: BLE001 - a user's value: its own methods may raise anything
        return f"[runtime] {tool} returned a value that cannot be shown ({type(error).__name__})."


def _raised(operation: Operation, error: BaseException) -> CallResult:
    """A write that timed out or lost its connection after sending is unknown, not failed (SPEC §10)."""
    said = _storable(f"{type(error).__name__}: {error}".rstrip(": "))
    chain = list(_chain(error))
    timed_out = any(isinstance(each, TimeoutError | subprocess.TimeoutExpired) for each in chain)
    failure = FailureClass.TOOL_TIMEOUT if timed_out else FailureClass.TOOL_ERROR
    if operation.effect in EFFECTS and _may_have_happened(chain):
        why = f"{operation.tool} did not return ({said})."
        text = notes.effect_unknown(operation, why)
        return CallResult(operation=operation.id, text=text, state="unknown", failure=failure, why=why)
    text = f"[runtime] {operation.tool} raised {said}"
    return CallResult(operation=operation.id, text=text, state="raised", failure=failure)


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an exception with everything it was raised from, during, or groups."""
    seen = 0
    waiting = [error]
    while waiting and seen < _LONGEST_CHAIN:
        current = waiting.pop(0)
        if current is None:
            continue
        seen += 1
        yield current
        waiting += [current.__cause__, None if current.__suppress_context__ else current.__context__]
        waiting += getattr(current, "exceptions", ())  # of a group


def _may_have_happened(chain: list[BaseException]) -> bool:
    """Tell whether the outside may have acted though the function raised: the end of a connection says nothing of it."""
    names = {cls.__name__ for error in chain for cls in type(error).__mro__}
    if names & _NOT_SENT:
        return False
    lost = (TimeoutError, ConnectionError, subprocess.TimeoutExpired, asyncio.CancelledError)
    return any(isinstance(error, lost) for error in chain) or bool(names & _LOST)
