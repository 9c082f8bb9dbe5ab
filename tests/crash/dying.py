"""A process that kills itself at one exact moment of a tool's life; `-m tests.crash.dying DATABASE BASE_URL SIDE_FILE MOMENT`.

The moment is `before_start` (stored as running, not started), `in_call` (started, not ended), `before_result` (ended, its result
not stored) or `never`. Each start and each end of a tool leaves a line in the side file.
"""

import asyncio
import os
import signal
import sys
from pathlib import Path

from tests.crash.moments import Moments, TellingStore

from stoic.events import Happening, ToolStarted
from stoic.records import Outcome
from stoic.runtime.agents import Agent
from stoic.settings import Access, Settings
from stoic.tools.declaration import Tool
from stoic.tools.ends import Ends
from stoic.wiring import Runtime


def make_tools(side_file: int, moments: Moments) -> list[Tool]:
    def leave(line: str) -> None:
        os.write(side_file, f"{line}\n".encode())

    async def look(n: int) -> str:
        """Look."""
        leave(f"started {n}")
        moments.reach("in_call")
        leave(f"ended {n}")
        return f"seen {n}"

    def look_in_thread(n: int) -> str:
        """Look, in a thread of its own."""
        leave(f"started {n}")
        moments.reach("in_call")
        leave(f"ended {n}")
        return f"seen {n}"

    def dump(n: int) -> str:
        """Return more than is shown at once."""
        leave(f"started {n}")
        moments.reach("in_call")
        leave(f"ended {n}")
        return f"seen {n} " * 10_000

    async def fail(n: int) -> str:
        """Raise."""
        leave(f"started {n}")
        moments.reach("in_call")
        leave(f"ended {n}")
        raise ValueError(f"no {n}")

    reads = [Tool(each, effect="read") for each in (look, look_in_thread, dump, fail)]
    return [
        *reads,
        Tool(look, name="mark", effect="write"),
        Tool(look_in_thread, name="mark_in_thread", effect="write"),
    ]


async def main(database: str, base_url: str, side_path: str, moment: str) -> None:
    moments = Moments(moment, 1, signal.SIGKILL)
    side_file = os.open(side_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    settings = Settings(database=database, access={"openai-chat": Access(base_url=base_url)})
    runtime = Runtime(settings=settings, store=TellingStore(database, moments))
    runtime.ends = Ends(Path(f"{database}-ends"), runtime.owner.id)

    def hear(event: Happening) -> None:
        if isinstance(event, ToolStarted):
            os.write(1, b"heard\n")

    async with runtime:
        thread = runtime.thread("t", Agent("openai-chat:m", tools=make_tools(side_file, moments), permissions="allow"))
        ending = await thread.resume(hear) or await thread.run("go", hear)
        assert isinstance(ending, Outcome)
        assert ending.outcome == "completed", ending


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
