"""A process with many threads that is killed again and again: tells on stdout what it did, one line each, at once.

Usage: `driver.py DATABASE BASE_URL SIDE_FILE MODE`; in mode `work` it goes on until it is killed, in mode `finish` it brings
every thread to rest, has each complete one more turn, and ends.
"""

import asyncio
import os
import sys
from pathlib import Path

from stoic.core.health import HealthPolicy
from stoic.core.retry import RetryPolicy
from stoic.records import Lease, Outcome, Step
from stoic.runtime.agents import Agent
from stoic.runtime.threads import Thread
from stoic.settings import Access, Settings
from stoic.store.sqlite import SqliteStore
from stoic.tools.declaration import Tool
from stoic.tools.ends import Ends
from stoic.wiring import Runtime

THREADS = 20


class TellingStore(SqliteStore):
    """Tells which rows were acknowledged as committed."""

    async def append(self, lease: Lease, step: Step) -> None:
        await super().append(lease, step)
        if step.rows:
            tell("commit", *(row.id for row in step.rows))


def tell(*words: str) -> None:
    """Write a line in one piece, so that a kill leaves it whole or absent."""
    os.write(1, (" ".join(words) + "\n").encode())


def make_agent(thread: str, side_file: int) -> Agent:
    """Return an agent whose writes leave a line outside."""

    async def mark(n: int) -> str:
        """Leave a mark; undeclared, so it counts as a write."""
        os.write(side_file, f"{thread} {n}\n".encode())
        tell("effect", thread, str(n))
        return f"marked {n}"

    async def look(n: int) -> str:
        """Look at a mark."""
        os.write(side_file, f"{thread} looked {n}\n".encode())
        return f"seen {n}"

    return Agent("openai-chat:m", tools=[mark, Tool(look, effect="read")], permissions="allow")


async def work(thread: Thread) -> None:
    """Take up what was left, then send one message after the other."""
    while await thread.resume() is not None:
        pass
    number = 0
    while True:
        number += 1
        await thread.run(f"message {os.getpid()} {number}")


async def finish(thread: Thread) -> None:
    """Take up what was left, then complete one more turn."""
    while await thread.resume() is not None:
        pass
    ending = await thread.run("the last message")
    tell("finished", thread.id, ending.outcome if isinstance(ending, Outcome) else "parked")


async def main(database: str, base_url: str, side_path: str, mode: str) -> None:
    side_file = os.open(side_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    access = {"openai-chat": Access(base_url=base_url)}
    # A closed route would end turn after turn without a request, and this is about what happens to those that work.
    health = HealthPolicy(threshold=10_000)
    settings = Settings(database=database, access=access, retry=RetryPolicy(delays_ms=(1, 1, 1)), health=health)
    runtime = Runtime(settings=settings, store=TellingStore(database))
    runtime.ends = Ends(Path(f"{database}-ends"), runtime.owner.id)
    async with runtime, asyncio.TaskGroup() as group:
        for number in range(THREADS):
            name = f"t{number}"
            thread = runtime.thread(name, make_agent(name, side_file))
            group.create_task(work(thread) if mode == "work" else finish(thread))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
