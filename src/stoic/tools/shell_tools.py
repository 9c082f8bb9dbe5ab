"""Built-in `shell_start`, `shell_poll` and `shell_stop`: commands in the background, which go on when stoic does not (SPEC §10)."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

from stoic.tools.context import OperationId, ToolContext
from stoic.tools.declaration import Tool
from stoic.tools.shell import environment
from stoic.tools.shell_keeper import SEGMENT_BYTES
from stoic.tools.shell_output import Page
from stoic.tools.shells import ShellFact, Shells
from stoic.tools.workspace import Workspace

T = TypeVar("T")

POLL = "shell_poll"
LONGEST_SECONDS = 86_400
_LONGEST_WAIT_SECONDS = 60
_LOOK_SECONDS = 0.1


def background_shell_tools(workspace: Workspace) -> list[Tool]:
    """Return `shell_start`, `shell_poll` and `shell_stop`; what they start runs in the workspace's root."""
    return [_start_tool(workspace), _poll_tool(), _stop_tool()]


def _start_tool(workspace: Workspace) -> Tool:
    async def shell_start(command: str, shell: OperationId, context: ToolContext, deadline_seconds: int = 3_600) -> str:
        """Start a shell command in the background of the workspace, such as a server or a long build, and return at once.

        It goes on between your answers. Read its output (stdout and stderr together) and its exit code with shell_poll, and
        end it with shell_stop when it is not needed any more. What the command leaves running when it ends is ended too.

        Args:
            command: a command line for sh
            shell: given by the runtime
            context: given by the runtime
            deadline_seconds: after this the command and all it started are ended; at most 86400
        """
        if not 1 <= deadline_seconds <= LONGEST_SECONDS:
            raise ValueError(f"deadline_seconds must be from 1 to {LONGEST_SECONDS}")
        shells = _shells(context)

        def start() -> ShellFact:
            return shells.start(
                context.thread,
                shell,
                command,
                root=workspace.root,
                deadline_seconds=deadline_seconds,
                environment=environment(context.credentials),
            )

        fact = await _to_its_end(start)
        # "invocation id": the loop detector knows that label, so starting the same again is the same to it.
        return f"[{_said(fact)}; shell_poll and shell_stop take its invocation id: {fact.id}]"

    async def was_started(operation_id: str, context: ToolContext, **_: object) -> str:
        started = await asyncio.to_thread(_shells(context).was_started, context.thread, operation_id)
        return "unknown" if started is None else "done" if started else "not_done"

    return Tool(shell_start, effect="exec", status=was_started)


def _poll_tool() -> Tool:
    async def shell_poll(
        shell: str,
        operation: OperationId,
        context: ToolContext,
        offset: int = 0,
        tail_lines: int | None = None,
        wait_seconds: int = 0,
    ) -> str:
        """Tell whether a background shell runs or how it ended, with its output from a byte offset on.

        Args:
            shell: the invocation id that shell_start returned
            operation: given by the runtime
            context: given by the runtime
            offset: where to begin: 0, or the next_offset of the last poll, which brings only what is new
            tail_lines: instead of the output from offset on, so many of its newest lines
            wait_seconds: wait so long, at most 60, for output beyond offset or for the shell's end, whichever comes first
        """
        if not 0 <= wait_seconds <= _LONGEST_WAIT_SECONDS:
            raise ValueError(f"wait_seconds must be from 0 to {_LONGEST_WAIT_SECONDS}")
        shells = _shells(context)
        now = asyncio.get_running_loop().time
        until = now() + wait_seconds
        while True:
            fact, page = await asyncio.to_thread(shells.page, context.thread, shell, offset, tail_lines)
            is_news = page is not None and page.next_offset > offset
            if is_news or fact.state != "running" or now() >= until:
                break
            await _pause(min(_LOOK_SECONDS, until - now()))
        if page is not None and page.text:
            await asyncio.to_thread(shells.note_reader, context.thread, shell, operation)
        return _told(fact, page)

    return Tool(shell_poll, name=POLL, effect="poll")


def _stop_tool() -> Tool:
    async def shell_stop(shell: str, context: ToolContext) -> str:
        """End a background shell with all it started: it is asked to end, and killed after 2 seconds.

        Args:
            shell: the invocation id that shell_start returned
            context: given by the runtime
        """
        shells = _shells(context)
        before = await asyncio.to_thread(shells.fact, context.thread, shell)
        if before.state != "running":
            return f"[it had ended before: {_said(before)}]"
        return f"[{_said(await _to_its_end(lambda: shells.stop(context.thread, shell)))}]"

    return Tool(shell_stop, effect="exec", idempotent=True)


def _shells(context: ToolContext) -> Shells:
    return context.shells or Shells()


def _said(fact: ShellFact) -> str:
    code = "" if fact.exit_code is None else f", exit code {fact.exit_code}"
    match fact.state:
        case "running":
            return "running"
        case "exited":
            return f"exited with code {fact.exit_code}"
        case "deadline":
            return f"ended at its deadline{code}"
        case "stopped":
            return f"stopped{code}"
        case "lost":
            return "lost: neither its process nor a record of its end is there; what it did is unknown"


def _told(fact: ShellFact, page: Page | None) -> str:
    if page is None:
        return f"[{_said(fact)}; its output is withheld and cannot be read]"
    here = f"output bytes {page.first_byte} to {page.next_offset} of {page.total_bytes}"
    lines = [f"[{_said(fact)}; {here}; next_offset: {page.next_offset}]"]
    if page.dropped_bytes:
        lines.append(
            f"[{page.dropped_bytes} bytes before these are not kept: only the first {SEGMENT_BYTES} and the newest ones are]"
        )
    return "\n".join([*lines, page.text]).rstrip("\n")


async def _to_its_end(work: Callable[[], T]) -> T:
    """Run something short in a thread. Cancelled, end only with it: nothing is started or ended behind a turn's back."""
    running = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        await asyncio.wait([running])
        running.exception()  # nobody else will look at it
        raise


async def _pause(seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await asyncio.Event().wait()
    except TimeoutError:
        return
