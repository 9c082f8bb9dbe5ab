"""Runtimes that work on a watched disk, one life after the other: what each was told is stored, and what it did outside."""

import asyncio
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
from tests.crash.disk import Disk

from stoic.core.health import HealthPolicy
from stoic.core.retry import RetryPolicy
from stoic.errors import StoreError
from stoic.records import InboxEntry, Lease, Outcome, Record, Step, ThreadRecord
from stoic.runtime.agents import Agent
from stoic.settings import Access, Settings
from stoic.store.sqlite import SqliteStore
from stoic.testing import RecordedRequest
from stoic.tools.declaration import Tool
from stoic.tools.ends import Ends
from stoic.tools.task_tools import task_tools
from stoic.wiring import Runtime

DATABASE = "log.db"
CHATS = 6
OWNERS = 2
TASKS = 3
"""That an owner starts for each message."""
MESSAGES = 3
"""To each chat and owner in each life."""
_LIMIT_SECONDS = 300
"""A life takes about one; on a machine that is starved it has been seen to take more than sixty."""
_AGENT = "hand"
_STARTED = re.compile(r'"task":"([^"]+)"')


class Kept(Record, frozen=True):
    """One step, and the moment at which its writer was told that it is stored; None: it never was."""

    thread: str
    step: Step
    moment: int | None = None


class Witness:
    """What the world outside the database knows of one life: everything with the disk's moment at which it was so."""

    def __init__(self, disk: Disk, owner: str) -> None:
        self.disk = disk
        self.owner = owner
        """The only process that lives."""
        self.steps: list[Kept] = []
        self.entries: list[tuple[int, str]] = []
        """Entries of the inbox that are stored."""
        self.leases: list[tuple[int, Lease]] = []
        self.marks: list[tuple[int, int]] = []
        """Marks that a tool left."""
        self.errors: list[StoreError] = []
        """With which turns ended."""


class WitnessedStore(SqliteStore):
    """The runtime's own store; says what was acknowledged."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, is_alive=lambda owner: owner.id == self.witness.owner)
        self.witness: Witness

    async def append(self, lease: Lease, step: Step) -> None:
        steps, number = self.witness.steps, len(self.witness.steps)
        steps.append(Kept(thread=lease.thread, step=step))
        await super().append(lease, step)
        steps[number] = Kept(thread=lease.thread, step=step, moment=self.witness.disk.moment)

    async def put(self, entry: InboxEntry) -> InboxEntry:
        stored = await super().put(entry)
        self.witness.entries.append((self.witness.disk.moment, entry.id))
        return stored

    async def acquire(self, thread: str, owner: str, now_ms: int, *, enter: InboxEntry | None = None) -> Lease:
        lease = await super().acquire(thread, owner, now_ms, enter=enter)
        self.witness.leases.append((self.witness.disk.moment, lease))
        return lease


class Model:
    """Has chats leave marks and owners wait for tasks; asks for each mark once in its whole life."""

    def __init__(self) -> None:
        self.mark = 0

    def __call__(self, request: RecordedRequest) -> object:
        messages: list[dict[str, Any]] = request.json["messages"]
        began = max(
            number for number, each in enumerate(messages) if each["role"] == "user" and _is_work(each["content"])
        )
        since = messages[began:]
        replies = sum(each["role"] == "assistant" for each in since)
        what = since[0]["content"].split()[0]
        if replies == 0 and what == "begin":
            return [*(f'tool:task_start({{"brief":"job {self._next()}"}})' for _ in range(TASKS)), "stop"]
        if replies == 0:
            marks = [f'tool:mark({{"n":{self._next()}}})' for _ in range(1 if what == "job" else 2)]
            return [*marks, f'tool:look({{"n":{self.mark}}})', "stop"]
        said = "".join(str(each["content"]) for each in since if each["role"] == "tool")
        tasks = list(dict.fromkeys(_STARTED.findall(said)))
        if replies == 1 and tasks:
            return [f"tool:task_wait({msgspec.json.encode({'tasks': tasks}).decode()})", "stop"]
        return ["text:Done.", "stop"]

    def _next(self) -> int:
        self.mark += 1
        return self.mark


def _is_work(text: str) -> bool:
    return text.startswith(("begin", "say", "job"))


class Life:
    """One runtime over one disk, until all is done."""

    def __init__(self, disk: Disk, base_url: str, number: int) -> None:
        self.disk = disk
        self.number = number
        store = WitnessedStore(disk.folder / DATABASE)
        settings = Settings(
            database=str(disk.folder / DATABASE),
            access={"openai-chat": Access(base_url=base_url)},
            retry=RetryPolicy(delays_ms=(1, 1, 1)),
            health=HealthPolicy(threshold=10_000),
        )
        self.agent = self._make_agent()
        self.runtime = Runtime(settings=settings, store=store, agents=[self.agent], runs_tasks=False)
        self.runtime.ends = Ends(disk.folder / f"{DATABASE}-ends", self.runtime.owner.id)
        self.witness = store.witness = Witness(disk, self.runtime.owner.id)

    def _make_agent(self) -> Agent:
        async def mark(n: int) -> str:
            """Leave a mark; undeclared, so it counts as a write."""
            self.witness.marks.append((self.disk.moment, n))
            return f"marked {n}"

        async def look(n: int) -> str:
            """Look at a mark."""
            return f"seen {n}"

        tools = [mark, Tool(look, effect="read"), *task_tools()]
        return Agent("openai-chat:m", name=_AGENT, tools=tools, permissions="allow")

    async def work(self) -> None:
        """Take in new messages and run everything until nothing is left to do."""
        async with asyncio.timeout(_LIMIT_SECONDS), self.runtime:
            await self.enter()
            await self.bring_to_rest()

    async def enter(self) -> None:
        """Put this life's messages into the inboxes."""
        store = self.runtime.store
        names = [f"chat-{number}" for number in range(CHATS)] + [f"owner-{number}" for number in range(OWNERS)]
        for name in names:
            await store.create_thread(ThreadRecord(id=name, created_at=1, meta={"agent": _AGENT}))
        await asyncio.gather(
            *(
                store.put(
                    InboxEntry(
                        id=f"{name} {self.number} {each}",
                        thread=name,
                        kind="message",
                        content={"text": "begin" if name.startswith("owner") else "say something"},
                        created_at=1,
                    )
                )
                for name in names
                for each in range(MESSAGES)
            )
        )

    async def struggle(self, passes: int, weather: Callable[[bool], None]) -> None:
        """Take up everything again and again while the disk fails now and then, so many times at the most; then until all is done."""
        store, done = self.runtime.store, 0
        while found := await store.work(1 << 60):
            weather(done < passes)
            await asyncio.gather(*(self._take_up(work.thread.id) for work in found))
            done += 1
        weather(False)

    async def _take_up(self, thread: str) -> None:
        """Run a thread as far as it goes; whoever runs it is told what went wrong."""
        try:
            while isinstance(await self.runtime.thread(thread, self.agent).resume(), Outcome):
                pass
        except StoreError as error:
            self.witness.errors.append(error)

    async def bring_to_rest(self) -> None:
        """Run a worker until nothing is left to do."""
        store, worker = self.runtime.store, self.runtime.worker()
        changes, running = store.changes(), asyncio.create_task(worker.run())
        while await store.work(1 << 60):
            await anext(changes)
        worker.drain()
        await running
