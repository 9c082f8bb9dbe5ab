"""`stoic up`: runs all of a database's work in the foreground until it is stopped (SPEC §12, §15)."""

import asyncio
import logging
import os
import signal
import sys
from collections.abc import AsyncGenerator, Generator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress

import msgspec

from stoic.cli import exits
from stoic.cli.board import Board
from stoic.cli.cleaning import one_line
from stoic.cli.preparing import WorkOptions
from stoic.cli.unattended import SESSION, Defaults, UnattendedAgents, read_defaults
from stoic.cli.waiting import waits_said
from stoic.cli.wording import Line, cost_said
from stoic.core.commands import Ending
from stoic.errors import ConfigurationError, StoreError
from stoic.ports import Clock, Store
from stoic.records import Notice, Outcome, Parked, ThreadRecord
from stoic.runtime.engine import wait_seconds
from stoic.runtime.worker import AT_ONCE, Worker
from stoic.wiring import Runtime, SystemClock

_ONE_SIGNAL_SECONDS = 0.5
"""Two signals within this time are one."""
_STATUS_SECONDS = 0.25
"""How often the status line changes, and notices are looked for, at the most."""
_NEWEST = 100
"""So many notices at the most are said at one look; `stoic notices` has the others."""


class UpOptions(WorkOptions, frozen=True):
    """What the command line said."""

    at_once: int = AT_ONCE
    """How many threads run at a time."""


def up(options: UpOptions) -> int:
    """Run everything until a signal, and return the exit code: 0 after a drain.

    Raises:
        UsageError: the command line asks for something that cannot be
        StoreError: the log failed while it was in use
    """
    return asyncio.run(_up(options, read_defaults(options)))


async def _up(options: UpOptions, defaults: Defaults) -> int:
    signals = _Signals()
    board = Board(sys.stdout, os.environ, signals.lose_output, SystemClock().now_ms)
    agents = UnattendedAgents(defaults, lambda _thread, why: board.say(Line(text=one_line(why), style="dim")))
    runtime = Runtime(settings=defaults.settings, runs_tasks=False, agents=agents)
    if options.models and defaults.made is not None:
        agent = defaults.made.agent()
        for model in agent.models:  # a wrong one that was named is said at once; any other when it is needed
            agent.parameters_for(runtime.connection(model))
    try:
        async with _opened(runtime):

            def tell(thread: str, ending: Ending) -> None:
                board.say(ended_said(thread, ending))

            worker = runtime.worker(at_once=options.at_once, session=SESSION, on_ending=tell)
            signals.listen(worker, board)
            _begin(board, defaults)
            await _run(worker, runtime, agents, board)
            board.end()
            board.say(Line(text=f"drained: {_turns(worker.turns)} ended here", style="dim"))
    except asyncio.CancelledError:
        if signals.code is None:
            raise
        board.end()
        if signals.code != exits.OUTPUT_LOST:
            board.say(Line(text="left as it stands; `stoic up` goes on with it", style="yellow"))
    return signals.code or exits.COMPLETED


async def _run(worker: Worker, runtime: Runtime, agents: UnattendedAgents, board: Board) -> None:
    with _warnings_on(board):
        teller = _Teller(runtime, board)
        beside = [asyncio.create_task(teller.run())]
        if board.is_live:
            beside.append(asyncio.create_task(_show_status(worker, runtime, agents, board)))
        try:
            await worker.run()
            await teller.tell()
        finally:
            for each in beside:
                each.cancel()
            for each in beside:
                with suppress(asyncio.CancelledError):
                    await each


class _Teller:
    """Says each notice that is raised on the database from now on, once."""

    def __init__(self, runtime: Runtime, board: Board) -> None:
        self._store = runtime.store
        self._board = board
        self._since_ms = runtime.clock.now_ms()
        self._told: set[str] = set()
        self._telling = asyncio.Lock()

    async def run(self) -> None:
        """Say them as they come, until cancelled."""
        listener = self._store.changes()
        while True:
            await anext(listener)
            await self.tell()
            await wait_seconds(_STATUS_SECONDS)

    async def tell(self) -> None:
        """Say those that have come since the last time."""
        async with self._telling:
            for stored in reversed(await self._store.notices(limit=_NEWEST)):
                notice = stored.notice
                if notice.created_at >= self._since_ms and notice.id not in self._told:
                    self._told.add(notice.id)
                    for line in notice_said(notice):
                        self._board.say(line)


class _Signals:
    """Turns the first signal into a drain, the second into leaving at once, the third into an end without cleaning up."""

    def __init__(self) -> None:
        self.code: int | None = None
        """The exit code once the process is to leave at once."""
        self._task = asyncio.current_task()
        self._drains = False
        self._drained_at = 0.0

    def listen(self, worker: Worker, board: Board) -> None:
        """Handle SIGINT, SIGTERM and SIGHUP from now on."""
        self._worker, self._board = worker, board
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, self._stop, exits.INTERRUPTED)
        loop.add_signal_handler(signal.SIGTERM, self._stop, exits.TERMINATED)
        loop.add_signal_handler(signal.SIGHUP, self._leave, exits.HUNG_UP)

    def lose_output(self) -> None:
        """Leave, since nobody can see any more what is done."""
        self._leave(exits.OUTPUT_LOST)

    def _stop(self, code: int) -> None:
        if self.code is not None:
            os._exit(self.code)
        now = asyncio.get_running_loop().time()
        if self._drains:
            # SIGTERM to a whole process group comes twice where a parent such as uv passes it on.
            if code != exits.TERMINATED or now - self._drained_at > _ONE_SIGNAL_SECONDS:
                self._leave(code)
            return
        self._drains, self._drained_at = True, now
        running = len(self._worker.running)
        said = f"draining: {_turns(running)} still run; nothing new begins" if running else "draining: nothing runs"
        self._worker.drain()
        self._board.say(Line(text=f"{said} (again: ends at once, turns stay as they stand)", style="yellow"))

    def _leave(self, code: int) -> None:
        if self.code is None and self._task is not None:
            self.code = code
            self._task.cancel()


class _BoardHandler(logging.Handler):
    """Says what the runtime warns of on the board, from whichever thread."""

    def __init__(self, board: Board) -> None:
        super().__init__(logging.WARNING)
        self._board = board
        self._loop = asyncio.get_running_loop()

    def emit(self, record: logging.LogRecord) -> None:
        """Say one warning."""
        line = Line(text=f"! {one_line(record.getMessage())}", style="red")
        with suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._board.say, line)


@contextmanager
def _warnings_on(board: Board) -> Generator[None]:
    logger, handler = logging.getLogger("stoic"), _BoardHandler(board)
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)


@asynccontextmanager
async def _opened(runtime: Runtime) -> AsyncGenerator[Runtime]:
    """Open the runtime; one that is left at once delivers nothing more. Raises ConfigurationError."""
    async with AsyncExitStack() as stack:
        try:
            await stack.enter_async_context(runtime)
        except StoreError as error:
            raise ConfigurationError(str(error)) from error
        yield runtime


def ended_said(thread: str, ending: Ending) -> Line:
    """Return how a turn ended, or what it waits for; a refusal or a failure never looks like success."""
    head = f"{one_line(thread)} · turn {ending.turn}"
    if isinstance(ending, Parked):
        return Line(text=f"{head} is parked: it {waits_said(msgspec.to_builtins(ending))}", style="yellow")
    why = ending.failure_class or ending.reason
    said = f": {one_line(ending.message)}" if ending.message else ""
    if ending.outcome == "completed" and why is None:
        return Line(
            text=f"{head} completed{' (the answer is cut)' if ending.cut else ''}{_figures(ending)}", style="green"
        )
    return Line(text=f"{head} {ending.outcome}{f' ({why})' if why else ''}{_figures(ending)}{said}", style="red")


def notice_said(notice: Notice) -> list[Line]:
    """Return the lines of a notice where more than one thread's are said."""
    whose = f" about thread {one_line(notice.thread)}" if notice.thread else ""
    style = "red" if notice.priority == "critical" else "yellow"
    said = Line(text=f"! {notice.priority} notice{whose}: {one_line(notice.text)}", style=style)
    return [said, *(Line(text=f"  {one_line(action)}", style="cyan") for action in notice.actions)]


def _begin(board: Board, defaults: Defaults) -> None:
    database = one_line(defaults.settings.database)
    text = f"stoic up: process {os.getpid()} runs the work of {database}; Ctrl-C or SIGTERM drains; times are UTC"
    board.say(Line(text=text, style="bold"))
    for note in defaults.notes:
        board.say(Line(text=one_line(note), style="dim"))


async def _show_status(worker: Worker, runtime: Runtime, agents: UnattendedAgents, board: Board) -> None:
    """Keep the status line true while anybody writes."""
    listener = runtime.store.changes()
    while True:
        board.show_status(await _status(worker, runtime.store, runtime.clock, agents))
        await wait_seconds(_STATUS_SECONDS)
        await anext(listener)


async def _status(worker: Worker, store: Store, clock: Clock, agents: UnattendedAgents) -> str:
    now_ms = clock.now_ms()
    others = [
        work.thread
        for work in await store.work(now_ms)
        if work.thread.id not in worker.running and work.thread.id not in agents.foreign
    ]
    elsewhere = await _held(store, now_ms, others)
    parked = len(await store.parked())
    counts = {
        "running": len(worker.running),
        "running elsewhere": elsewhere,
        "parked": parked,
        "waiting": len(others) - elsewhere,
    }
    said = [f"{count} {name}" for name, count in counts.items() if count or name != "running elsewhere"]
    troubles = len(worker.troubles)
    trouble = [f"{troubles} cannot run"] if troubles else []
    return " · ".join([*said, f"{_turns(worker.turns)} ended", *trouble])


async def _held(store: Store, now_ms: int, threads: list[ThreadRecord]) -> int:
    """Return how many threads a living process of somebody else has; every owner is looked at once."""
    alive: dict[str, bool] = {}
    for each in threads:
        if each.owner is not None and each.owner not in alive:
            with suppress(StoreError):  # deleted meanwhile
                alive[each.owner] = await store.holder(each.id, now_ms) is not None
    return sum(alive.get(each.owner or "", False) for each in threads)


def _figures(outcome: Outcome) -> str:
    rounds = f" · {outcome.rounds} round{'' if outcome.rounds == 1 else 's'}" if outcome.rounds else ""
    cost = f" · {cost_said(outcome.cost_usd)}" if outcome.cost_usd and outcome.rounds else ""
    return f"{rounds}{cost}"


def _turns(count: int) -> str:
    return f"{count} turn{'' if count == 1 else 's'}"
