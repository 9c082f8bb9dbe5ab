"""`stoic up`, two at a time on one database, killed again and again while owners wait for tasks that write to a file."""

import asyncio
import os
import re
import signal
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import apsw
import msgspec

from stoic.cli.agents import Made
from stoic.cli.names import AGENT_NAME
from stoic.records import InboxEntry, ThreadRecord
from stoic.store.sqlite import SqliteStore
from stoic.testing import RecordedRequest, ScriptedProvider
from stoic.testing.simulation import Dice

KILLS = int(os.environ.get("STOIC_UP_KILLS", "12"))
"""How many supervisors are killed; each takes about a second. `just crash-up 300` kills more."""
OWNERS = 5
TASKS = 6
"""Of each owner."""
_LIMIT_SECONDS = 60
_STARTED = re.compile(r'"task":"([^"]+)"')


class Model:
    """Plays owners and tasks by what the conversation holds; kills a process when a chosen request comes."""

    def __init__(self) -> None:
        self.requests = 0
        self.kill_at = 0
        self.victim: int | None = None
        self.has_killed = False
        self.done: set[str] = set()
        """Owners that were given their last reply."""
        self.news = threading.Event()
        """Set when the victim was killed, or when all owners are done."""

    def __call__(self, request: RecordedRequest) -> object:
        self.requests += 1
        if self.victim is not None and self.requests >= self.kill_at:
            os.kill(self.victim, signal.SIGKILL)
            self.victim, self.has_killed = None, True
            self.news.set()
        messages: list[dict[str, Any]] = request.json["messages"]
        opening = next(each["content"] for each in messages if each["role"] == "user")
        replies = sum(each["role"] == "assistant" for each in messages)
        name = opening.split()[-1]
        return self._of_task(name, replies) if opening.startswith("job") else self._of_owner(name, replies, messages)

    def _of_task(self, name: str, replies: int) -> object:
        if replies == 0:
            command = msgspec.json.encode({"command": f"echo {name} >> ledger; echo wrote it"}).decode()
            return [f"tool:shell({command})", "stop"]
        return [f"text:did {name}", "stop"]

    def _of_owner(self, name: str, replies: int, messages: list[dict[str, Any]]) -> object:
        if replies == 0:
            briefs = [msgspec.json.encode({"brief": f"job {name}-{number}"}).decode() for number in range(TASKS)]
            return [*(f"tool:task_start({brief})" for brief in briefs), "stop"]
        if replies == 1:
            said = "".join(str(each["content"]) for each in messages if each["role"] == "tool")
            tasks = msgspec.json.encode({"tasks": list(dict.fromkeys(_STARTED.findall(said)))}).decode()
            return [f"tool:task_wait({tasks})", "stop"]
        self.done.add(name)
        if len(self.done) == OWNERS:
            self.news.set()
        return [f"text:{name} has it all", "stop"]


class Scene:
    """One database with five owners that have not begun, and the supervisors that work on it."""

    def __init__(self, folder: Path, provider: ScriptedProvider, model: Model, dice: Dice) -> None:
        self.folder = folder
        self.database = folder / "log.db"
        self.workspace = folder / "workspace"
        self.workspace.mkdir(parents=True)
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "STOIC_DB": str(self.database),
            "OPENAI_BASE_URL": provider.base_url,
        }
        self.said: list[str] = []
        self.listeners: list[threading.Thread] = []
        self.to_kill_at_an_end: subprocess.Popen[str] | None = None
        self.model = model
        self.dice = dice
        self.kills = 0

    async def prepare(self) -> None:
        store = SqliteStore(self.database)
        await store.open()
        made = Made(models=["openai-chat:m"], workspace=str(self.workspace), permission="allow")
        for number in range(OWNERS):
            owner = f"owner-{number}"
            await store.create_thread(ThreadRecord(id=owner, meta={"agent": AGENT_NAME} | made.meta()))
            await store.put(
                InboxEntry(
                    id=f"begin-{owner}", thread=owner, kind="message", content={"text": f"begin {owner}"}, created_at=1
                )
            )
        await store.close()

    def start(self) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-m", "stoic", "up"],
            env=self.environment,
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        listener = threading.Thread(target=self.hear, args=[process])
        listener.start()
        self.listeners.append(listener)
        return process

    def play(self, most: int) -> None:
        """Kill one of two supervisors, until all is done or so many were killed.

        The dice choose when: as a request comes, or right after an end was stored, when its deliveries and shells are under way.
        """
        running = [self.start(), self.start()]
        while len(self.model.done) < OWNERS and self.kills < most:
            victim = running.pop(self.dice.below(2))
            self.model.news.clear()
            self.model.has_killed = False
            at_an_end = self.dice.chance(40)
            self.model.kill_at = self.model.requests + 1 + self.dice.below(7)
            self.model.victim = None if at_an_end else victim.pid
            self.to_kill_at_an_end = victim if at_an_end else None
            assert self.model.news.wait(_LIMIT_SECONDS), "nothing goes on"
            if self.model.has_killed:
                assert victim.wait(_LIMIT_SECONDS) == -signal.SIGKILL
                self.kills += 1
            self.model.victim = self.to_kill_at_an_end = None
            running.append(victim if victim.poll() is None else self.start())
        asyncio.run(self.settled())
        for process in running:
            process.terminate()
            # One that had only just been started knows no drain yet.
            assert process.wait(_LIMIT_SECONDS) in {0, -signal.SIGTERM}, self.said
        for listener in self.listeners:
            listener.join()

    def hear(self, process: subprocess.Popen[str]) -> None:
        """Keep what a supervisor says; kill the victim when somebody says that a turn has ended."""
        assert process.stdout is not None
        for line in process.stdout:
            self.said.append(line)
            if " turn " in line and self.to_kill_at_an_end is not None:
                victim, self.to_kill_at_an_end = self.to_kill_at_an_end, None
                victim.kill()
                self.model.has_killed = True
                self.model.news.set()
        process.stdout.close()

    async def settled(self) -> None:
        """Return when nothing is left to do."""
        store = SqliteStore(self.database)
        await store.open()
        changes = store.changes()
        async with asyncio.timeout(_LIMIT_SECONDS):
            while await store.work(1 << 60) or len(self.model.done) < OWNERS:
                await anext(changes)
        await store.close()


def check(scene: Scene) -> Counter[str]:
    """Check the log and the file; return what became of the writes."""
    connection = apsw.Connection(str(scene.database), flags=apsw.SQLITE_OPEN_READONLY)
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    tasks = [each for (each,) in connection.execute("SELECT id FROM threads WHERE kind = 'task'")]
    deliveries = connection.execute("SELECT task, status, reached FROM deliveries").fetchall()
    heard = connection.execute("SELECT content ->> '$.task_thread' FROM rows WHERE kind = 'event'").fetchall()
    outcomes = connection.execute("SELECT thread, content ->> '$.outcome' FROM rows WHERE kind = 'outcome'").fetchall()
    states = Counter(state for (state,) in connection.execute("SELECT state FROM operations WHERE tool = 'shell'"))
    open_threads = connection.execute("SELECT count(*) FROM threads WHERE phase <> 'idle'").fetchall()
    connection.close()
    assert len(tasks) == OWNERS * TASKS
    assert sorted(deliveries) == sorted((task, "delivered", 1) for task in tasks), "each task is delivered exactly once"
    assert Counter(task for (task,) in heard) == Counter(tasks), "and each owner hears of it exactly once"
    by_thread = Counter(thread for thread, _ in outcomes)
    assert {thread: by_thread[thread] for thread in tasks} == dict.fromkeys(tasks, 1)
    assert {outcome for _, outcome in outcomes} == {"completed"}
    assert open_threads == [(0,)], "a thread is stuck"
    ledger = Counter((scene.workspace / "ledger").read_text().splitlines())
    assert [line for line, times in ledger.items() if times > 1] == [], "a write was repeated without proof"
    assert states["returned"] <= len(ledger) <= states["returned"] + states["unknown"]
    return states


def test_every_task_is_delivered_once_and_no_write_repeated_however_often_a_supervisor_is_killed(tmp_path):
    dice, kills, states, databases = Dice(20_261_130), 0, Counter[str](), 0
    while kills < KILLS:
        model = Model()
        with ScriptedProvider(model) as provider:
            scene = Scene(tmp_path / str(databases), provider, model, dice)
            asyncio.run(scene.prepare())
            scene.play(KILLS - kills)
        kills += scene.kills
        databases += 1
        states += check(scene)
    sys.stdout.write(
        f"{kills} kills, {databases} databases of {OWNERS} owners and {OWNERS * TASKS} tasks, {dict(states)}\n"
    )
