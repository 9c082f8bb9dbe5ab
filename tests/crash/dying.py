"""A process that kills itself at one exact moment of a tool's life; `dying.py DATABASE BASE_URL SIDE_FILE MOMENT`.

The moment is `before_start` (stored as running, not started), `in_call` (started, not ended), `before_result` (ended, its result
not stored) or `never`. Each start and each end of a tool leaves a line in the side file.
"""

import asyncio
import os
import signal
import sys
from pathlib import Path

from stoic.events import Happening, ToolStarted
from stoic.records import Lease, Outcome, Step
from stoic.runtime.agents import Agent
from stoic.settings import Access, Settings
from stoic.store.sqlite import SqliteStore
from stoic.tools.declaration import Tool
from stoic.tools.ends import Ends
from stoic.wiring import Runtime

MOMENT = sys.argv[4] if __name__ == "__main__" else "never"


def die_at(moment: str) -> None:
    if moment == MOMENT:
        os.kill(os.getpid(), signal.SIGKILL)


class DyingStore(SqliteStore):
    """Dies before it would store the result of a tool."""

    async def append(self, lease: Lease, step: Step) -> None:
        if any(row.kind == "result" for row in step.rows):
            die_at("before_result")
        await super().append(lease, step)
        if any(operation.state == "running" for operation in step.operations):
            die_at("before_start")


def make_tools(side_file: int) -> list[Tool]:
    def leave(line: str) -> None:
        os.write(side_file, f"{line}\n".encode())

    async def look(n: int) -> str:
        """Look."""
        leave(f"started {n}")
        die_at("in_call")
        leave(f"ended {n}")
        return f"seen {n}"

    def look_in_thread(n: int) -> str:
        """Look, in a thread of its own."""
        leave(f"started {n}")
        die_at("in_call")
        leave(f"ended {n}")
        return f"seen {n}"

    def dump(n: int) -> str:
        """Return more than is shown at once."""
        leave(f"started {n}")
        die_at("in_call")
        leave(f"ended {n}")
        return f"seen {n} " * 10_000

    async def fail(n: int) -> str:
        """Raise."""
        leave(f"started {n}")
        die_at("in_call")
        leave(f"ended {n}")
        raise ValueError(f"no {n}")

    reads = [Tool(each, effect="read") for each in (look, look_in_thread, dump, fail)]
    return [
        *reads,
        Tool(look, name="mark", effect="write"),
        Tool(look_in_thread, name="mark_in_thread", effect="write"),
    ]


async def main(database: str, base_url: str, side_path: str) -> None:
    side_file = os.open(side_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    settings = Settings(database=database, access={"openai-chat": Access(base_url=base_url)})
    runtime = Runtime(settings=settings, store=DyingStore(database))
    runtime.ends = Ends(Path(f"{database}-ends"), runtime.owner.id)

    def hear(event: Happening) -> None:
        if isinstance(event, ToolStarted):
            os.write(1, b"heard\n")

    async with runtime:
        thread = runtime.thread("t", Agent("openai-chat:m", tools=make_tools(side_file), permissions="allow"))
        ending = await thread.resume(hear) or await thread.run("go", hear)
        assert isinstance(ending, Outcome)
        assert ending.outcome == "completed", ending


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:4]))
