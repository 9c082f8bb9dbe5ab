"""One run from one seed: people, processes, crashes and pauses on a few threads, then a quiet end."""

import asyncio
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
from tests.simulation.agents import HANDS, MAX_ROUNDS, MODES, Hands, make_agent
from tests.simulation.invariants import check_after_step, check_all
from tests.simulation.models import SimulatedModel
from tests.simulation.outside import Followed, Outside, Told, WatchedStore
from tests.simulation.processes import Crash, Fate, Process, ProcessStore

from stoic.core.commands import Ending
from stoic.errors import NoSuchThreadError, StaleWriterError
from stoic.events import Happening, ToolStarted
from stoic.ports import Connection, Renderer, Store
from stoic.records import InboxEntry, Outcome, Owner, Parked, Record
from stoic.runtime.threads import Thread
from stoic.store.memory import MemoryDatabase, MemoryStore
from stoic.testing import CountingIds
from stoic.testing.simulation import Dice, run_in_virtual_time
from stoic.tools.ends import Ends
from stoic.wire import chat

IsAlive = Callable[[Owner], bool | None]
_LIMIT_SECONDS = 20_000
_LIMIT_STEPS = 4_000
_SMALL_WINDOW = 14
"""Tokens; a simulated exchange takes 12, more than its share."""


class Setting(Record, frozen=True):
    """What a run is made of; the faults of the checkers' own tests are put in here."""

    seed: int
    threads: int = 3
    processes: int = 2
    actions: int = 14
    crash_percent: int = 4
    """How often a process dies or stands still for long at an append."""
    crash_at: tuple[int, str] | None = None
    """Number of an append, and `before` or `after` it takes effect: die there and nowhere else."""
    quiet: bool = False
    """Whether people neither kill nor pause processes."""
    boundaries: bool = False
    """Whether people start fresh and compact, and the model's window is small."""
    max_rounds: int | None = MAX_ROUNDS
    make_store: Callable[[IsAlive], Store] | None = None
    wrap_store: Callable[[Store], Store] = lambda store: store
    make_model: Callable[[Process, Outside, Dice], SimulatedModel] = SimulatedModel
    make_ends: Callable[[Path, str], Ends] = Ends
    renderer: Renderer = chat


class World:
    """A running simulation."""

    def __init__(self, setting: Setting, folder: Path) -> None:
        self.setting = setting
        self.folder = folder
        self.dice = Dice(setting.seed)
        self.outside = Outside(self._after_step)
        self.fate = Fate(self.dice, crash_percent=setting.crash_percent, crash_at=setting.crash_at)
        self.ids = CountingIds()
        self.processes: list[Process] = []
        self.everybody: dict[str, Process] = {}
        make_store = setting.make_store or _memory()
        self.store: Store = WatchedStore(setting.wrap_store(make_store(self._is_alive)), self.outside)
        self.threads = [f"t{number}" for number in range(1, setting.threads + 1)]
        self.people: list[asyncio.Task[None]] = []
        self.surprises: list[str] = []

    def _is_alive(self, owner: Owner) -> bool | None:
        """A dead process is seen to be gone; of a living one only the heartbeat is known, as from another host."""
        process = self.everybody.get(owner.id)
        return None if process is None or process.alive else False

    def _after_step(self, thread: str) -> None:
        assert self.outside.steps < _LIMIT_STEPS, "the run does not end"
        check_after_step(self.outside, thread, self.setting.renderer)

    def _note_error(self, _: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Note what ended in a task that nobody waits for; that calls of a dead process end is no surprise."""
        error = context.get("exception")
        if not isinstance(error, Crash):
            self.surprises.append(repr(error or context["message"]))

    # ---- processes

    async def start_process(self) -> Process:
        process = Process(f"p{len(self.everybody) + 1}", self.outside, self.dice, self.fate)
        self.everybody[process.name] = process
        model = self.setting.make_model(process, self.outside, self.dice)

        def connect(name: str) -> Connection:
            return Connection(
                provider="openai-chat",
                api="chat",
                model=name.partition(":")[2],
                url="",
                headers={},
                renderer=self.setting.renderer,
                send=model,
                context_window_tokens=_SMALL_WINDOW if self.setting.boundaries else None,
                express=lambda sampling: {} if sampling.max_tokens is None else {"max_tokens": sampling.max_tokens},
            )

        while True:
            try:
                ends = self.setting.make_ends(self.folder, process.name)
                await process.begin(ProcessStore(self.store, process), self.ids, connect, ends)
            except Crash:
                continue
            break
        return process

    async def living(self) -> Process:
        """Return one of the processes; those that died are replaced first."""
        self.processes = [process for process in self.processes if process.alive]
        while len(self.processes) < self.setting.processes:
            self.processes.append(await self.start_process())
        return self.dice.pick(self.processes)

    def handle(self, process: Process, thread: str) -> Thread:
        mode = self.dice.below(len(MODES)) if self.dice.chance(20) else 0
        agent = make_agent(thread, mode, max_rounds=self.setting.max_rounds)
        return Thread(process.engine, thread, agent, session=f"session of {process.name}")

    # ---- people

    def follow(self, process: Process, thread: str) -> tuple[list[Happening], Callable[[Happening], None]]:
        events: list[Happening] = []
        self.outside.followed.append(Followed(thread=thread, process=process.name, events=events))

        def emit(event: Happening) -> None:
            if isinstance(event, ToolStarted):
                process.note_start(thread, event)
            events.append(event)

        return events, emit

    async def drive(self, process: Process, thread: str, text: str | None) -> Ending | None:
        _, emit = self.follow(process, thread)
        handle = self.handle(process, thread)
        HANDS.set(Hands(process, thread))
        ending = await (handle.resume(emit) if text is None else handle.run(text, emit))
        self.outside.told.append(Told(thread=thread, text=text, ending=ending))
        self.outside.tell(f"{process.name} tells {thread} {text}: {_short(ending)}")
        return ending

    async def person(self, process: Process, thread: str, text: str | None) -> None:
        try:
            await self.drive(process, thread, text)
        except (Crash, asyncio.CancelledError) as error:
            if process.alive:
                self.surprises.append(f"{process.name} ended {thread} {text} by {error!r}")
        except StaleWriterError:
            if not process.was_paused:
                self.surprises.append(f"{process.name} lost the lease of {thread} though it was never paused")

    def questions(self) -> list[tuple[str, dict[str, str]]]:
        """Return the open questions of all threads."""
        found: list[tuple[str, dict[str, str]]] = []
        for thread, rows in self.outside.rows.items():
            open_turn = [row for row in rows if rows[-1].turn == row.turn]
            if any(row.kind == "outcome" for row in open_turn):
                continue
            answered = {entry.content.get("operation") for entry in self.outside.put if entry.kind == "answer"}
            for row in open_turn:
                if row.kind == "question":
                    found += [(thread, one) for one in row.content["questions"] if one["operation"] not in answered]
        return found

    async def answer_something(self, process: Process) -> None:
        questions = self.questions()
        if not questions:
            return
        thread, question = self.dice.pick(questions)
        answer = self.dice.pick(("once", "once", "session", "deny"))
        entry = InboxEntry(
            id=self.ids.new(),
            thread=thread,
            kind="answer",
            content={
                "operation": question["operation"],
                "tool": question["tool"],
                "answer": answer,
                "session": f"session of {process.name}",
            },
            created_at=process.clock.now_ms(),
        )
        await self.store.put(entry)
        self.people.append(process.spawn(self.person(process, thread, None)))

    async def cancel(self, process: Process, thread: str) -> None:
        try:
            await self.handle(process, thread).cancel()
        except (Crash, asyncio.CancelledError) as error:
            if process.alive:
                self.surprises.append(f"{process.name} could not cancel {thread}: {error!r}")

    async def begin_generation(self, process: Process, thread: str) -> None:
        handle = self.handle(process, thread)
        try:
            await self.dice.pick((handle.fresh, handle.compact))()
        except NoSuchThreadError:
            pass  # nothing was said in it yet
        except (Crash, asyncio.CancelledError) as error:
            if process.alive:
                self.surprises.append(f"{process.name} began no generation of {thread}: {error!r}")
        except StaleWriterError:
            if not process.was_paused:
                self.surprises.append(f"{process.name} lost the lease of {thread} though it was never paused")

    async def act(self, number: int) -> None:
        """Do one thing that people or machines do."""
        process, thread = await self.living(), self.dice.pick(self.threads)
        if self.setting.boundaries and self.dice.chance(25):
            self.people.append(process.spawn(self.begin_generation(process, thread)))
            return
        chosen = self.dice.below(100)
        if chosen < 55:
            text = f"message {number}"
            self.people.append(process.spawn(self.person(process, thread, text)))
        elif chosen < 68:
            await self.answer_something(process)
        elif chosen < 78:
            self.people.append(process.spawn(self.person(process, thread, None)))
        elif chosen < 88:
            self.people.append(process.spawn(self.cancel(process, thread)))
        elif self.setting.quiet:
            return
        elif chosen < 93:
            process.die()
        else:
            process.pause(self.dice.below(40))

    async def play(self) -> None:
        """Let everything happen, then bring every thread to rest without further crashes."""
        asyncio.get_running_loop().set_exception_handler(self._note_error)
        await self.store.open()
        await self.living()
        clock = self.processes[0].clock
        for number in range(1, self.setting.actions + 1):
            await self.act(number)
            await clock.sleep_until(clock.now_ms() + self.dice.pick((0, 0, 30, 300, 3_000)))
        await self._settle()
        await self.store.close()

    async def _settle(self) -> None:
        self.fate.end()
        async with asyncio.timeout(_LIMIT_SECONDS):
            ends = await asyncio.gather(*self.people, return_exceptions=True)
            # A task that was cancelled before its first step had no chance to see that its process died.
            self.surprises += [repr(end) for end in ends if end and not isinstance(end, asyncio.CancelledError)]
            for process in self.processes:
                if process.alive:
                    await process.end()
            last = await self.start_process()
            for thread in self.threads:
                await self._bring_to_rest(last, thread)
            await last.end()

    async def _bring_to_rest(self, last: Process, thread: str) -> None:
        while (ending := await self.drive(last, thread, None)) is not None:
            if isinstance(ending, Parked):
                if ending.waits_for == "time" and ending.until_ms is not None:
                    await self.processes[0].clock.sleep_until(ending.until_ms)
                for question in ending.questions:
                    answer = self.dice.pick(("once", "deny"))
                    await self.handle(last, thread).answer(question.operation, question.tool, answer)


def simulate(setting: Setting) -> Outside:
    """Run one simulation and check everything.

    Raises:
        AssertionError: an invariant does not hold; the text names it, the seed, and tells the story
    """
    world: list[World] = []

    async def main(folder: Path) -> None:
        world.append(World(setting, folder))
        await world[0].play()
        assert not world[0].surprises, f"unexpected: {world[0].surprises}"
        check_all(world[0].outside, setting.renderer)

    try:
        with tempfile.TemporaryDirectory() as folder:
            run_in_virtual_time(main(Path(folder)))
    except Exception as error:
        story = "\n  ".join(world[0].outside.story[-120:]) if world else ""
        raise AssertionError(f"seed {setting.seed}: {type(error).__name__}: {error}\n  {story}") from error
    return world[0].outside


def _memory() -> Callable[[IsAlive], Store]:
    return lambda is_alive: MemoryStore(MemoryDatabase(), is_alive=is_alive)


def _short(ending: Ending | None) -> str:
    if isinstance(ending, Outcome):
        return f"{ending.outcome} {ending.failure_class or ending.reason or ''} {msgspec.json.encode(ending.text)!r}"
    return "nothing to do" if ending is None else "parked"
