"""What people and machines do to a simulated world: each thing they do is one action, decided by dice of its own."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import msgspec
from msgspec.structs import replace

from stoic.core import notes
from stoic.core.commands import Ending
from stoic.core.health import retry_now
from stoic.errors import BrokenInvariantError, NoSuchThreadError, StaleWriterError, StoicError, UsageError
from stoic.ports import HeldLeaseError
from stoic.records import InboxEntry, Json, Outcome, Record
from stoic.runtime.resolutions import resolve
from stoic.testing.simulation.dice import Dice
from stoic.testing.simulation.hands import TRIGGERS
from stoic.testing.simulation.ledger import Told
from stoic.testing.simulation.models import VENDORS
from stoic.testing.simulation.processes import THREAD, Crash, DiskFullError, Process
from stoic.testing.simulation.setting import Violation
from stoic.testing.simulation.world import World

_HOUR_MS = 3_600_000
_SLOW = 1_000
"""Numbers what is heard after hours, beside what is done then."""
_DARK = 2_000
"""Numbers what is heard in an outage."""
_OUTAGES_MS = (60_000, _HOUR_MS, 6 * _HOUR_MS)
_OUTAGE_LAPSES_MS = (31_000, 61_000, 301_000, 901_000, 1_801_000, 3_601_000, 3_601_000, 3_601_000)
"""A little longer than what a turn waits that nobody waits for, each time."""
_LAPSES_MS = (60_000, 15 * 60_000, 15 * 60_000, _HOUR_MS, 6 * _HOUR_MS, 30 * _HOUR_MS)


_SHARES = (
    (35, "say"),
    (12, "answer"),
    (9, "look_after_task"),
    (8, "tell_event"),
    (5, "resume"),
    (5, "cancel"),
    (4, "switch"),
    (3, "begin_generation"),
    (1, "allow"),
    (3, "knock"),
    (3, "wake"),
    (3, "change_weather"),
    (3, "let_time_pass"),
    (2, "resolve_unknown"),
    (2, "kill"),
    (1, "halt"),
    (1, "set_clock"),
)
"""What is done, and how often of a hundred."""


class Deed(Record, frozen=True):
    """One thing that is done: where, and with which dice."""

    number: int
    process: Process
    thread: str
    dice: Dice


class People:
    """Everybody outside."""

    def __init__(self, world: World) -> None:
        """Take the world they act in."""
        self._world = world
        self.waiting: list[asyncio.Task[None]] = []
        """Those who wait for something that they began."""
        trigger = world.bound[world.threads[0]].trigger
        self._item = f"judge the item, canary-brief-item# {trigger}"
        """The brief of tasks that judge one item again and again."""

    # ---- what they do -------------------------------------------------------------------------------

    async def act(self, number: int, dice: Dice) -> None:
        """Do the thing of that number."""
        world = self._world
        deed = Deed(number=number, process=await world.living(dice), thread=dice.pick(world.threads), dice=dice)
        chosen = dice.below(100)
        for share, name in _SHARES:
            if chosen < share:
                world.ledger.tell(f"# {number}: {name} {deed.thread} at {deed.process.name}")
                await getattr(self, name)(deed)
                break
            chosen -= share
        if world.setting.is_slow and dice.chance(50):
            await world.lapse(dice.pick(_LAPSES_MS))
            repairs = [thread for thread in world.threads if thread.startswith("repair")]
            if repairs and deed.process.is_alive:
                await self.tell_event(replace(deed, number=_SLOW + number, thread=dice.pick(repairs)))
        if dice.fork("outage").chance(world.setting.outage_percent):
            await self._go_dark(deed)

    async def _go_dark(self, deed: Deed) -> None:
        """Let all providers go down, something happen that a chat hears of, and time pass."""
        world, dice = self._world, deed.dice.fork("dark")
        until_ms = world.clock.now_ms() + dice.pick(_OUTAGES_MS)
        world.weather.down_until_ms.update((vendor.name, until_ms) for vendor in VENDORS)
        chats = [thread for thread in world.threads if thread.startswith("chat")]
        if chats and deed.process.is_alive:
            await self.tell_event(replace(deed, number=_DARK + deed.number, thread=dice.pick(chats), dice=dice))
        for lapse_ms in _OUTAGE_LAPSES_MS[: dice.below(len(_OUTAGE_LAPSES_MS) + 1)]:
            await world.lapse(lapse_ms)

    async def say(self, deed: Deed) -> None:
        """Send a message and wait for its turn."""
        text = f"message {deed.number}, canary-said-{deed.number}#{_maybe_trigger(deed.dice, 8)}"
        self._begin(deed, self._drive(deed.process, deed.thread, text))

    async def resume(self, deed: Deed) -> None:
        """Take up what was left open."""
        self._begin(deed, self._drive(deed.process, deed.thread, None))

    async def cancel(self, deed: Deed) -> None:
        """Stop what runs."""
        self._begin(deed, self._world.handle(deed.process, deed.thread).cancel())

    async def tell_event(self, deed: Deed) -> None:
        """Let something happen that a thread hears of."""
        text = f"something happened, canary-event-{deed.number}#{_maybe_trigger(deed.dice, 25)}"
        handle = self._world.handle(deed.process, deed.thread)
        self._begin(deed, handle.post("mail", {"text": text}, text=text, from_thread=deed.thread))

    async def wake(self, deed: Deed) -> None:
        """Run a thread again without anything new."""
        self._begin(deed, self._wake(deed.process, deed.thread))

    async def switch(self, deed: Deed) -> None:
        """Bind a thread to another model, or another mode."""
        dice = deed.dice
        model = dice.pick(VENDORS).model if dice.chance(70) else None
        mode = dice.pick(("default", "act")) if model is None or dice.chance(20) else None
        self._begin(deed, self._world.handle(deed.process, deed.thread).switch(model, mode=mode))

    async def begin_generation(self, deed: Deed) -> None:
        """Have a conversation summed up, or begin it afresh."""
        handle = self._world.handle(deed.process, deed.thread)
        self._begin(deed, handle.compact() if deed.dice.chance(60) else handle.fresh())

    async def allow(self, deed: Deed) -> None:
        """Let a thread that was stopped as a loop repeat itself for some calls."""
        self._begin(deed, self._world.handle(deed.process, deed.thread).allow(1 + deed.dice.below(3)))

    async def answer(self, deed: Deed) -> None:
        """Answer one of the open questions."""
        questions = self.questions()
        if questions:
            thread, question = deed.dice.pick(questions)
            await self.decide(deed.process, thread, question, deed.dice.pick(("once", "once", "session", "deny")))

    async def resolve_unknown(self, deed: Deed) -> None:
        """Say what became of an operation whose effect is unknown; people look, and say the truth."""
        ledger, engine = self._world.ledger, deed.process.engine
        unknown = [each for each in ledger.journal.values() if each.state == "unknown"]
        unknown = [each for each in unknown if each.status not in {"done", "not_done"}]
        if unknown:
            operation = deed.dice.pick(unknown)
            is_done = any(ran.operation == operation.id for ran in ledger.ran)
            decision = "done" if is_done else "not_done"
            if not is_done:
                ledger.said_not_done.append(operation.id)
            work = resolve(engine.outside, engine.owner.id, operation.id, decision, engine.ends)
            self._begin(replace(deed, thread=operation.thread), work)

    async def look_after_task(self, deed: Deed) -> None:
        """Start a task, tell one something, stop it, or look at it."""
        desk, dice, number = deed.process.desk, deed.dice, deed.number
        tasks, chosen = list(self._world.ledger.tasks), deed.dice.below(10)
        if not tasks or chosen < 3:  # noqa: PLR2004 -- three of ten
            is_item = dice.chance(40)
            owner = None if is_item or dice.chance(30) else deed.thread
            other = f"do number {number % 3}, canary-brief-{number % 3}#{_maybe_trigger(dice, 25)}"
            brief = self._item if is_item else other
            agent = "agent" if owner is None else None
            self._begin(deed, desk.start(brief, owner=owner, task=f"job{number}", agent=agent))
            return
        task = dice.pick(tasks)
        of_task = replace(deed, thread=task)
        if chosen < 6:  # noqa: PLR2004 -- three of ten
            self._begin(of_task, desk.message(task, f"and now, canary-told-{number}#"))
        elif chosen < 8:  # noqa: PLR2004 -- two of ten
            self._begin(of_task, self._hear_of(task, desk.stop))
        elif chosen == 8:  # noqa: PLR2004 -- one of ten
            self._begin(of_task, self._hear_of(task, desk.status))
        else:
            self._begin(of_task, self._drive(deed.process, task, None))

    async def knock(self, deed: Deed) -> None:
        """Try one of the ways by which a task that ended by refusal might run again."""
        stopped = list(self._world.ledger.tombstoned)
        if stopped:
            task = deed.dice.pick(stopped)
            self._begin(replace(deed, thread=task), self._knock(deed, task))

    async def _knock(self, deed: Deed, task: str) -> None:
        desk, handle, number = deed.process.desk, self._world.handle(deed.process, task), deed.number
        ways: dict[str, Callable[[], Coroutine[Any, Any, object]]] = {
            "message": lambda: desk.message(task, "and yet"),
            "sending": lambda: handle.run("and yet"),
            "switching": lambda: handle.switch(deed.dice.pick(VENDORS).model),
            "starting afresh": handle.fresh,
            "summing up": handle.compact,
            "forking": lambda: handle.fork(f"fork{number}"),
            "a task of its own": lambda: desk.start("do it for me", owner=task, task=f"job{number}"),
            "stopping": lambda: self._hear_of(task, desk.stop),
            "status": lambda: self._hear_of(task, desk.status),
        }
        way = deed.dice.pick(list(ways))
        try:
            said = await ways[way]()
        except (UsageError, BrokenInvariantError) as error:
            said = error
        if notes.START_ANEW not in str(said):
            shut = Violation(6, f"who came to {task}, a tombstone, by {way} was told {said}")
            self._world.ledger.violate(shut)

    async def hear_of_refused(self, process: Process) -> None:
        """Ask after every task that ended by refusal, once all is at rest."""
        for task in self._world.ledger.tombstoned:
            await self._hear_of(task, process.desk.stop)

    async def _hear_of(self, task: str, ask: Callable[[str], Coroutine[Any, Any, Record]]) -> Record:
        """Return what is told of a task; after a refusal it is looked at."""
        said = await ask(task)
        if task in self._world.ledger.tombstoned:
            self._world.ledger.reports.append((task, msgspec.json.encode(said).decode()))
        return said

    async def change_weather(self, deed: Deed) -> None:
        """Let a provider go down, all of them state a date, a key be taken back or replaced, or say `retry now`."""
        world, dice = self._world, deed.dice
        weather, name, chosen = world.weather, dice.pick(VENDORS).name, dice.below(6)
        if chosen == 0:
            weather.down_until_ms[name] = world.clock.now_ms() + dice.pick((5_000, 60_000, _HOUR_MS))
        elif chosen == 1:
            weather.revoked.add((name, weather.keys[name]))
        elif chosen == 2:  # noqa: PLR2004 -- the third of six
            weather.keys[name] += 1
            await self.kill(deed)  # keys are read when a process begins
        elif chosen == 3:  # noqa: PLR2004 -- the fourth of six
            weather.limited_until_ms = world.clock.now_ms() + _HOUR_MS
        else:
            for health in await world.store.health():
                await world.store.put_health(retry_now(health))

    async def let_time_pass(self, deed: Deed) -> None:
        """Let minutes or hours go by."""
        await self._world.lapse(deed.dice.pick(_LAPSES_MS))

    async def kill(self, deed: Deed) -> None:
        """Kill a process."""
        if not self._world.setting.is_calm:
            deed.process.die()

    async def halt(self, deed: Deed) -> None:
        """Let a process stand still, as a suspended machine does."""
        if not self._world.setting.is_calm:
            deed.process.pause(1 + deed.dice.below(40))

    async def set_clock(self, deed: Deed) -> None:
        """Set the machine's clock forward or back."""
        if not self._world.setting.is_calm:
            self._world.set_clock(deed.dice.pick((-_HOUR_MS, -20_000, -1_500, 900, 20_000, _HOUR_MS)))

    # ---- what goes on by itself ---------------------------------------------------------------------

    def _begin(self, deed: Deed, work: Coroutine[Any, Any, Any]) -> None:
        """Let somebody begin something in a process and wait for its end."""
        if deed.process.is_alive:
            waiting = deed.process.spawn(self._guarded(deed.process, deed.thread, work))
            waiting.add_done_callback(lambda _: work.close())  # the process may die before it has begun
            self.waiting.append(waiting)
        else:
            work.close()

    async def _guarded(self, process: Process, thread: str, work: Coroutine[Any, Any, Any]) -> None:
        """Wait for what a person began; only what a person can understand may come of it."""
        THREAD.set(thread)
        ledger = self._world.ledger
        try:
            await work
        except (Crash, asyncio.CancelledError) as error:
            if process.is_alive:
                ledger.surprise(f"{process.name} ended what was begun on {thread} by {error!r}")
        except StaleWriterError:
            if not (process.was_disturbed or ledger.was_clock_set):
                ledger.surprise(f"{process.name} lost the lease of {thread} though it never stood still")
        except (UsageError, NoSuchThreadError, DiskFullError, HeldLeaseError) as error:
            ledger.tell(f"{process.name} says of {thread}: {error}")
        except StoicError as error:
            ledger.surprise(f"{process.name} says of {thread}: {type(error).__name__}: {error}")

    async def _drive(self, process: Process, thread: str, text: str | None) -> Ending | None:
        handle, ledger = self._world.handle(process, thread), self._world.ledger
        emit = process.follow(thread)
        ending = await (handle.resume(emit) if text is None else handle.run(text, emit))
        ledger.told.append(Told(thread=thread, text=text, ending=ending))
        ledger.tell(f"{process.name} tells {thread}: {shown(ending)}")
        return ending

    async def drive(self, process: Process, thread: str) -> None:
        """Take up what a thread has to do, in a process."""
        await self._guarded(process, thread, self._drive(process, thread, None))

    async def _wake(self, process: Process, thread: str) -> None:
        ending = await self._world.handle(process, thread).wake(process.follow(thread))
        self._world.ledger.tell(f"{process.name} woke {thread}: {shown(ending)}")

    # ---- questions ----------------------------------------------------------------------------------

    def questions(self) -> list[tuple[str, dict[str, Json]]]:
        """Return the questions of open turns that nobody has answered."""
        ledger = self._world.ledger
        answered = {entry.content.get("operation") for entry in ledger.put.values() if entry.kind == "answer"}
        found: list[tuple[str, dict[str, Json]]] = []
        for thread, rows in ledger.rows.items():
            if not ledger.has_open_turn(thread):
                continue
            turn = ledger.turn_of(thread)
            asked = [row for row in rows if row.turn == turn and row.kind == "question"]
            found += [
                (thread, each)
                for row in asked
                for each in row.content["questions"]
                if each["operation"] not in answered
            ]
        return found

    async def decide(self, process: Process, thread: str, question: dict[str, Json], answer: str) -> None:
        """Answer a question from outside every process, as `stoic approvals` does."""
        world = self._world
        entry = InboxEntry(
            id=world.ids.new(),
            thread=thread,
            kind="answer",
            content={
                "operation": question["operation"],
                "tool": question["tool"],
                "answer": answer,
                "session": f"session of {process.name}",
            },
            created_at=world.clock.now_ms(),
        )
        await world.store.put(entry)


def shown(ending: Ending | None) -> str:
    """Return an ending in a few words."""
    if isinstance(ending, Outcome):
        return f"{ending.outcome} {ending.failure_class or ending.reason or ''} {ending.text!r}"
    return "nothing to do" if ending is None else f"parked for {ending.waits_for}"


def _maybe_trigger(dice: Dice, percent: int) -> str:
    return f" {dice.pick(TRIGGERS)}" if dice.chance(percent) else ""
