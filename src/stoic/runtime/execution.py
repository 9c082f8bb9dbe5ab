"""Runs the calls of a turn: each as a task, its end turned into a value whatever the tool does."""

import asyncio
import functools
import inspect
from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from stoic.core import notes
from stoic.core.arguments import arguments_of
from stoic.core.commands import CallResult, PlannedCall
from stoic.core.failures import FailureClass
from stoic.core.history import EFFECTS
from stoic.ports import Clock
from stoic.records import Operation
from stoic.tools.declaration import Tool, render_result

LIMIT_CHARACTERS = 200_000
"""A longer result is cut for the model and for the log, and says so."""
_CANCEL_SECONDS = 5

_NOT_SENT = ("ConnectError", "ConnectTimeout", "ConnectionRefusedError", "PoolTimeout", "gaierror")
_LOST = ("ReadTimeout", "WriteTimeout", "ReadError", "WriteError", "RemoteProtocolError")


class Execution:
    """The calls of one turn that run at the moment."""

    def __init__(self, tools: dict[str, Tool], clock: Clock) -> None:
        self._tools = tools
        self._clock = clock
        self._tasks: dict[str, asyncio.Task[CallResult]] = {}
        self._ended: list[CallResult] = []
        self._wake = asyncio.Event()

    def start(self, planned: PlannedCall) -> None:
        """Start a call and return at once."""
        task = asyncio.ensure_future(self._run(planned))
        self._tasks[planned.operation.id] = task
        task.add_done_callback(functools.partial(self._note_end, planned.operation.id))

    async def next(self) -> list[CallResult]:
        """Wait until at least one call has ended; return all that have since the last time."""
        await self._wake.wait()
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

    async def status(self, operation: Operation, arguments: str) -> str:
        """Ask the tool's `status` function; anything but `done` or `not_done`, an exception included, is `unknown`."""
        tool = self._tools.get(operation.tool)
        if tool is None or tool.status is None:
            return "unknown"
        try:
            bound = tool.bind(arguments_of(arguments), operation.id)
            answer = await _call(tool.status, {"operation_id": operation.id, **bound})
        except Exception:  # noqa: BLE001 - a user's function: whatever it raises, it does not know
            return "unknown"
        return answer if answer in {"done", "not_done"} else "unknown"

    def _note_end(self, operation: str, task: asyncio.Task[CallResult]) -> None:
        self._tasks.pop(operation, None)
        if not task.cancelled():
            self._ended.append(task.result())
            self._wake.set()

    async def _run(self, planned: PlannedCall) -> CallResult:
        operation, tool = planned.operation, self._tools[planned.operation.tool]
        started_at = self._clock.now_ms()
        try:
            bound = tool.bind(arguments_of(planned.call.arguments), operation.id)
            async with asyncio.timeout(tool.timeout_seconds):
                text = _cap(render_result(await _call(tool.function, bound)))
            result = CallResult(operation=operation.id, text=text, state="returned")
        except Exception as error:  # noqa: BLE001 - a user's function: its end is recorded, whatever it is
            result = _raised(operation, error)
        return replace(result, started_at=started_at, ended_at=self._clock.now_ms())


async def _call(function: Callable[..., Any], arguments: dict[str, Any]) -> Any:
    if inspect.iscoroutinefunction(function):
        return await function(**arguments)
    value = await asyncio.to_thread(function, **arguments)
    return await value if inspect.isawaitable(value) else value


def _cap(text: str) -> str:
    """Return text that the log and every request can hold: not too long, and without single surrogates.

    Those come from file names that are not UTF-8 and from foreign JSON; no JSON in UTF-8 can hold them.
    """
    if not text.isascii():
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if len(text) <= LIMIT_CHARACTERS:
        return text
    return f"{text[:LIMIT_CHARACTERS]}\n[runtime: {len(text) - LIMIT_CHARACTERS} characters left out]"


def _raised(operation: Operation, error: Exception) -> CallResult:
    """A write that timed out or lost its connection after sending is unknown, not failed (SPEC §10)."""
    said = _cap(f"{type(error).__name__}: {error}".rstrip(": "))
    timed_out = isinstance(error, TimeoutError)
    failure = FailureClass.TOOL_TIMEOUT if timed_out else FailureClass.TOOL_ERROR
    if operation.effect in EFFECTS and _may_have_happened(error):
        text = notes.effect_unknown(operation, f"{operation.tool} did not return ({said}).")
        return CallResult(operation=operation.id, text=text, state="unknown", failure=failure)
    return CallResult(
        operation=operation.id, text=f"[runtime] {operation.tool} raised {said}", state="raised", failure=failure
    )


def _may_have_happened(error: Exception) -> bool:
    names = {cls.__name__ for cls in type(error).__mro__}
    if names & set(_NOT_SENT):
        return False
    return isinstance(error, TimeoutError | ConnectionError) or bool(names & set(_LOST))
