"""A program with many threads that is killed again and again: tells on stdout what it did, one line each, at once.

Usage: `-m tests.crash.driver TRACE MODE MOMENT COUNT`, where the environment says what database and which provider; in mode `work`
it goes on until it is killed, and stops itself when the moment has come for so many times; in mode `finish` it brings every thread
to rest, has each complete one more turn, and ends.
"""

import asyncio
import os
import signal
import sys
from pathlib import Path

from msgspec.structs import replace
from tests.crash.moments import Moments, TellingStore, tell

from stoic.core.health import HealthPolicy
from stoic.core.retry import RetryPolicy
from stoic.records import Outcome
from stoic.runtime.agents import Agent
from stoic.runtime.threads import Thread
from stoic.settings import read_settings
from stoic.tools.declaration import Tool
from stoic.tools.ends import Ends
from stoic.wiring import Runtime

THREADS = 20
MODEL = "openai-chat:m"


def make_agent(thread: str, trace: int, moments: Moments) -> Agent:
    """Return an agent whose calls leave lines outside: `begin`, and `end` with which a write takes effect."""

    def leave(*words: object) -> None:
        os.write(trace, (" ".join(map(str, [thread, *words])) + "\n").encode())

    async def mark(n: int) -> str:
        """Leave a mark; undeclared, so it counts as a write."""
        leave("mark", n, "begin")
        moments.reach("in_call")
        leave("mark", n, "end")
        moments.reach("after_effect")
        return f"marked {n}"

    async def look(n: int) -> str:
        """Look at a mark."""
        leave("look", n, "begin")
        moments.reach("in_call")
        leave("look", n, "end")
        return f"seen {n}"

    return Agent(MODEL, tools=[mark, Tool(look, effect="read")], permissions="allow")


async def work(thread: Thread) -> None:
    """Take up what was left, then send one message after the other."""
    while await thread.resume() is not None:
        pass
    number = 0
    while True:
        number += 1
        await thread.run(f"message {thread.id} {os.getpid()} {number}")


async def finish(thread: Thread) -> None:
    """Take up what was left, then complete one more turn."""
    while await thread.resume() is not None:
        pass
    ending = await thread.run(f"message {thread.id} the last")
    tell("finished", thread.id, ending.outcome if isinstance(ending, Outcome) else "parked")


async def main(trace_path: str, mode: str, moment: str, count: str) -> None:
    moments = Moments(moment, int(count), signal.SIGSTOP)
    trace = os.open(trace_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    # A closed route would end turn after turn without a request, and this is about what happens to those that work.
    health = HealthPolicy(threshold=10_000)
    settings = replace(read_settings(), retry=RetryPolicy(delays_ms=(1, 1, 1)), health=health)
    runtime = Runtime(settings=settings, store=TellingStore(settings.database, moments))
    runtime.ends = Ends(Path(f"{settings.database}-ends"), runtime.owner.id)
    async with runtime, asyncio.TaskGroup() as group:
        for number in range(THREADS):
            name = f"t{number}"
            thread = runtime.thread(name, make_agent(name, trace, moments))
            group.create_task(work(thread) if mode == "work" else finish(thread))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
