"""Processes at work on one database, killed again and again: a program with twenty threads, and `stoic up` beside it, twice.

A process is stopped at a moment that the dice choose, looked at while it stands still, and then killed: for everybody else that is
a `kill -9` at the moment of the stop, since a stopped process does nothing and its locks and connections are held as they were.
"""

import asyncio
import os
import queue
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from msgspec.structs import replace
from tests.channels.hooks import Hooks
from tests.cli.background import reach
from tests.cli.processes import Bench
from tests.crash.model import CASES, Model
from tests.crash.moments import MOMENTS, NOTICE_MOMENTS
from tests.crash.places import Places

from stoic.cli.agents import Made
from stoic.cli.names import AGENT_NAME
from stoic.core.notice import gate_violation
from stoic.records import InboxEntry, Schedule, ThreadRecord
from stoic.settings import read_settings
from stoic.store.sqlite import SqliteStore
from stoic.testing import FakeClock, ScriptedProvider
from stoic.testing.simulation import Dice
from stoic.wiring import Runtime

SUPERVISORS = 2
OWNERS = 5
SCHEDULES = 4
_ROOT = Path(__file__).parents[2]
_MODEL = "openai-chat:n"
"""Another one than the program's, so that each has a breaker of its own."""
_NOTICES = 3
"""That are stored for a program which is to be stopped at one."""
_NOTICES_PER_DAY = 100_000
_LIMIT_SECONDS = 300
"""Whoever waits longer has failed; nothing waits for time to pass."""
_AIMS_AT_PROGRAMS = (
    {"request": 60, "stream": 40, "line": 150} | dict.fromkeys(MOMENTS, 15) | dict.fromkeys(NOTICE_MOMENTS, _NOTICES)
)
"""When a program is stopped: when so many at the most have come of what is named. `stream`: half of a reply was sent; `line`: it
has told something."""
_AIMS_AT_SUPERVISORS = {"request": 7, "stream": 5, "begin": 4, "end": 4, "turn": 5, "started": 1}
"""`begin`, `end`: of a tool; `turn`: the end of one; `started`: it has nothing yet."""
_ENDED = re.compile(r"^\d\d:\d\d:\d\d (\S+) · turn (\d+) (?:completed|failed|stopped|cancelled)")


class Player:
    """A process, and when it is to be stopped."""

    def __init__(self, process: subprocess.Popen[str], aim: str, left: int, *, is_program: bool) -> None:
        self.process = process
        self.aim = aim
        self.left = left
        self.is_program = is_program
        self.is_caught = False


class Scene:
    """One database, a provider, and the processes."""

    def __init__(self, folder: Path, dice: Dice) -> None:
        folder.mkdir(parents=True)
        self.bench = Bench(folder)
        self.model = Model(self.meet)
        self.dice = dice
        self.trace = self.bench.workspace / "trace"
        """What tools have left: lines, with which most effects happen."""
        self.ledger = self.bench.workspace / "ledger"
        """What commands of tasks have written."""
        self.committed: set[str] = set()
        """Rows that were acknowledged to the program."""
        self.ended: set[tuple[str, int]] = set()
        """Turns of which a supervisor said that they have ended: thread and number."""
        self.finished: dict[str, str] = {}
        """How the program's last turns ended."""
        self.entered: list[str] = []
        """Events and messages that were acknowledged."""
        self.noted: list[str] = []
        """Notices, by key, that were acknowledged."""
        self.hooks = Hooks()
        """Where notices go."""
        self.kills = 0
        self.aims: Counter[str] = Counter()
        """Kills by what they were aimed at."""
        self.met: Counter[str] = Counter()
        """Kills that met at least one thread in a place."""
        self.stood: Counter[str] = Counter()
        """Threads that stood in a place when their process was killed."""
        self.said: list[str] = []
        self._places = Places(self.bench.database, self.trace, self.model)
        self._players: list[Player] = []
        self._caught: queue.SimpleQueue[Player | None] = queue.SimpleQueue()
        """Players to be killed; None: the owners are done."""
        self._to_enter: queue.SimpleQueue[str] = queue.SimpleQueue()
        """What is to be stored from outside: an `event`, a `message`, some `notices`; `over`: nothing any more."""
        self._lock = threading.Lock()
        self._listeners: list[threading.Thread] = []
        for name in ("news", "gate"):
            os.mkfifo(self.bench.workspace / name)
        # Opened for both, so that neither side ever waits for the other to open it.
        self._news = os.open(self.bench.workspace / "news", os.O_RDWR)
        self._gate = os.open(self.bench.workspace / "gate", os.O_RDWR)

    # ---- the play

    def play(self, kills: int) -> None:
        """Let it all begin, happen and end."""
        with ScriptedProvider(self.model, cases=CASES) as provider, self.hooks:
            reach(self.bench, provider)
            self._configure()
            asyncio.run(self._prepare())
            self._listen(self._hear_tools)
            self._listen(lambda: asyncio.run(self._enter()))
            try:
                self._act(kills)
            finally:
                self._leave()

    def _act(self, kills: int) -> None:
        """Kill one process after the other until there were so many kills, or all owners are done; then let all end."""
        self._start_program()
        for _ in range(SUPERVISORS):
            self._start_supervisor()
        while self.kills < kills:
            player = self._next_caught()
            if player is None:
                break
            self._kill(player)
            self._to_enter.put(self.dice.pick(("event", "message")))
            if self.kills < kills:
                self._replace(player)
        self._end()

    def _end(self) -> None:
        """Bring everything to rest, and kill a supervisor that has nothing to do."""
        with self._lock:
            for player in self._players:
                player.aim = ""
        for player in [each for each in self._players if each.is_program or each.is_caught]:
            self._kill(player)
        while sum(not each.is_program for each in self._players) < SUPERVISORS:
            self._start_supervisor(aims=False)
        program = self._start_program(mode="finish")
        assert program.process.wait(_LIMIT_SECONDS) == 0, self._last_said()
        self._players.remove(program)
        asyncio.run(self._settled())
        self._kill(self._players[0])
        for player in self._players:
            player.process.terminate()
            # One that had only just been started knows no drain yet.
            assert player.process.wait(_LIMIT_SECONDS) in {0, -signal.SIGTERM}, self._last_said()
        self._players.clear()
        asyncio.run(self._bring_notices())

    def _leave(self) -> None:
        """Leave no process and no thread behind, whatever has happened."""
        for player in self._players:
            player.process.kill()
            player.process.wait(_LIMIT_SECONDS)
        self._to_enter.put("over")
        os.write(self._news, b"over\n")
        for listener in self._listeners:
            listener.join()
        os.close(self._news)
        os.close(self._gate)

    def _next_caught(self) -> Player | None:
        try:
            return self._caught.get(timeout=_LIMIT_SECONDS)
        except queue.Empty:
            raise AssertionError(f"nothing goes on: {self._last_said()}") from None

    def _kill(self, player: Player) -> None:
        """Stop a process, look where its threads stand, and kill it."""
        pid = player.process.pid
        os.kill(pid, signal.SIGSTOP)
        state = os.waitid(os.P_PID, pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        assert state is not None
        assert state.si_code == os.CLD_STOPPED, f"{pid} ended by itself: {self._last_said()}"
        places = self._places.of(pid)
        player.process.kill()
        assert player.process.wait(_LIMIT_SECONDS) == -signal.SIGKILL
        self._players.remove(player)
        self.kills += 1
        self.aims[player.aim or "the end"] += 1
        self.met.update(places.keys())
        self.stood.update(places)
        if not player.is_program:
            os.write(self._gate, b"\n")  # for whoever asked last, if the one that is dead has read another's

    def _last_said(self) -> str:
        return "\n".join(self.said[-40:])

    # ---- processes

    def _start_program(self, mode: str = "work") -> Player:
        aim, left = self._aim(_AIMS_AT_PROGRAMS) if mode == "work" else ("", 0)
        moment = aim if aim in MOMENTS else "never"
        if moment in NOTICE_MOMENTS:
            self._to_enter.put("notices")
        command = [sys.executable, "-m", "tests.crash.driver", str(self.trace), mode, moment, str(left)]
        # A moment is counted by the program itself.
        return self._begin(command, _ROOT, aim, 1 if aim in MOMENTS else left, is_program=True)

    def _start_supervisor(self, *, aims: bool = True) -> None:
        aim, left = self._aim(_AIMS_AT_SUPERVISORS) if aims else ("", 0)
        self._begin(self.bench.command("up"), self.bench.folder, aim, left, is_program=False)

    def _replace(self, player: Player) -> None:
        if player.is_program:
            self._start_program()
        else:
            self._start_supervisor()

    def _aim(self, most: dict[str, int]) -> tuple[str, int]:
        aim = self.dice.pick(list(most))
        return aim, 1 + self.dice.below(most[aim])

    def _begin(self, command: list[str], folder: Path, aim: str, left: int, *, is_program: bool) -> Player:
        process = subprocess.Popen(
            command,
            env=self.bench.environment,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        player = Player(process, aim, left, is_program=is_program)
        with self._lock:
            self._players.append(player)
        self._listen(lambda: self._hear(player))
        return player

    # ---- what happens

    def meet(self, what: str, key: str) -> bool:
        """Hear that something happened to a thread; true: its process is caught by that."""
        if what == "done":
            if len(self.model.done) == OWNERS:
                self._caught.put(None)
            return False
        of_program = key.startswith("t")
        with self._lock:
            waiting = [each for each in self._players if each.aim == what and each.is_program == of_program]
            if not waiting:
                return False
            pid = waiting[0].process.pid if of_program else self._places.holder(key)
            return any(self._count_down(each) for each in waiting if each.process.pid == pid)

    def _count_down(self, player: Player) -> bool:
        """Come one nearer to the moment at which a player is stopped; true: that is now."""
        if player.is_caught:
            return False
        player.left -= 1
        if player.left > 0:
            return False
        player.is_caught = True
        if player.aim != "stream":  # the half of the reply is still to be sent
            os.kill(player.process.pid, signal.SIGSTOP)
        self._caught.put(player)
        return True

    def _listen(self, hear: Callable[[], None]) -> None:
        listener = threading.Thread(target=hear)
        listener.start()
        self._listeners.append(listener)

    def _hear(self, player: Player) -> None:
        """Take in what a process says until it is dead."""
        assert player.process.stdout is not None
        for line in player.process.stdout:
            what = self._take_of_program(line) if player.is_program else self._take_of_supervisor(line)
            with self._lock:
                if player.aim and player.aim in what:
                    self._count_down(player)
        player.process.stdout.close()

    def _take_of_program(self, line: str) -> tuple[str, ...]:
        word, *rest = line.split() or [""]
        if word == "commit":
            self.committed.update(rest)
        elif word == "finished":
            self.finished[rest[0]] = rest[1]
        elif word != "reached":
            self.said.append(line)
        return ("line", rest[0]) if word == "reached" else ("line",)

    def _take_of_supervisor(self, line: str) -> tuple[str, ...]:
        self.said.append(line)
        ended = _ENDED.match(line)
        if ended:
            self.ended.add((ended[1], int(ended[2])))
        return ("turn",) if ended else ("started",) if "stoic up: process" in line else ()

    def _hear_tools(self) -> None:
        """Let the commands of tasks go on that ask for it, unless their process is caught just then."""
        with os.fdopen(os.dup(self._news)) as news:
            for line in iter(news.readline, "over\n"):
                what, name = line.split()
                caught = self.meet(what, name)
                if what == "begin" and not caught:
                    os.write(self._gate, b"\n")

    # ---- the database, as another process sees it

    def _configure(self) -> None:
        """Have every process post its notices, however many there are: how the day's budget is kept is another test's subject."""
        path = self.bench.folder / "config.toml"
        channel = f'[[notices.channels]]\ntype = "webhook"\nurl = "{self.hooks.url}"\nsecret_variable = "HOOK_SECRET"\n'
        path.write_text(f"[notices]\nbudget_per_day = {_NOTICES_PER_DAY}\n{channel}")
        self.bench.environment |= {"STOIC_CONFIG": str(path), "HOOK_SECRET": "s"}

    async def _prepare(self) -> None:
        made = Made(models=[_MODEL], workspace=str(self.bench.workspace), permission="allow")
        owners = [f"owner-{number}" for number in range(OWNERS)]
        async with self._store() as store:
            for name in [*owners, "chat", "ear", "clock"]:
                await store.create_thread(ThreadRecord(id=name, created_at=1, meta={"agent": AGENT_NAME} | made.meta()))
            for name in owners:
                content = {"text": f"begin {name}"}
                await store.put(
                    InboxEntry(id=f"begin-{name}", thread=name, kind="message", content=content, created_at=1)
                )
            for number in range(SCHEDULES):
                await store.put_schedule(_schedule(number))

    async def _enter(self) -> None:
        """Store what comes from outside, in a thread of its own: who was stopped in a transaction makes it wait."""
        async with self._store() as store:
            while (what := self._to_enter.get()) != "over":
                if what == "notices":
                    await self._note(store)
                    continue
                entry = _said(f"said-{len(self.entered)}") if what == "message" else _rung(f"ring-{len(self.entered)}")
                await store.put(entry)
                self.entered.append(entry.id)

    async def _note(self, store: SqliteStore) -> None:
        for _ in range(_NOTICES):
            notice = replace(gate_violation("elsewhere", len(self.noted) + 1), created_at=1)
            await store.put_notice(replace(notice, id=notice.key))
            self.noted.append(notice.key)

    async def _settled(self) -> None:
        """Return when nothing is left to do; no schedule is due any more."""
        async with self._store() as store:
            for schedule in await store.schedules():
                await store.put_schedule(replace(schedule, paused=True))
            changes = store.changes()
            try:
                async with asyncio.timeout(_LIMIT_SECONDS):
                    while await store.work(1 << 60) or len(self.model.done) < OWNERS:
                        await anext(changes)
            except TimeoutError:
                left = [work.thread.id for work in await store.work(1 << 60)]
                raise AssertionError(f"{left} do not come to rest: {self._last_said()}") from None

    async def _bring_notices(self) -> None:
        """Send what killed processes had taken and not sent, or not in time, as the next process does when it is due."""
        clock = FakeClock(time.time_ns() // 1_000_000)
        settings = read_settings(self.bench.environment)
        async with Runtime(settings=settings, clock=clock, delivers_notices=False, runs_tasks=False) as runtime:
            while (next_at_ms := (await runtime.outbox.deliver_due()).next_at_ms) is not None:
                clock.advance((next_at_ms - clock.now_ms()) / 1000)

    @asynccontextmanager
    async def _store(self) -> AsyncGenerator[SqliteStore]:
        store = SqliteStore(self.bench.database)
        await store.open()
        try:
            yield store
        finally:
            await store.close()


def _said(entry_id: str) -> InboxEntry:
    content = {"text": f"say chat {entry_id}"}
    return InboxEntry(id=entry_id, thread="chat", kind="message", content=content, created_at=1)


def _rung(entry_id: str) -> InboxEntry:
    content = {"kind": "ring", "payload": {}, "text": f"[event ring]\n{entry_id}"}
    return InboxEntry(id=entry_id, thread="ear", kind="event", content=content, created_at=1)


def _schedule(number: int) -> Schedule:
    """Return one that is due at once, and then every minute."""
    return Schedule(
        id=f"s{number}",
        thread="clock",
        expression="* * * * *",
        cron="* * * * *",
        zone="UTC",
        prompt=f"Tick {number}",
        created_at=1,
        next_due_at=1,
    )
