"""One sitting of `stoic chat`: reads what a person says and lets the thread answer, one turn at a time."""

import asyncio
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from stoic.cli import exits
from stoic.cli.asking import Asker
from stoic.cli.boundaries import compaction_said, fresh_said
from stoic.cli.cleaning import one_line, quoted
from stoic.cli.composing import Composer
from stoic.cli.driving import drive
from stoic.cli.emitting import ViewEmit
from stoic.cli.inputs import check_utf8, has_price
from stoic.cli.keyboard import Keyboard
from stoic.cli.live import LiveView
from stoic.cli.opening import require_thread
from stoic.cli.pictures import read_images, typed_path
from stoic.cli.preparing import Prepared
from stoic.cli.screen import Screen
from stoic.cli.slashes import Slash, help_text, parse, switch_of, unknown
from stoic.cli.states import ThreadState, read_state
from stoic.cli.stopping import Stopper, handle_signals
from stoic.cli.telling import HeldEnding
from stoic.cli.wording import cost_said
from stoic.core.commands import Ending
from stoic.errors import NoSuchThreadError, UsageError
from stoic.records import ImagePart
from stoic.runtime.agents import DEFAULT_MODE
from stoic.runtime.boundaries import Boundary
from stoic.runtime.threads import Thread
from stoic.wiring import Runtime

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

T = TypeVar("T")

_LEFT = "left as it stands: /resume goes on, /cancel ends it, a new message has it finished first"
_OPEN = "a turn is open here: /resume goes on, /cancel ends it"
_RUNNING = "another process runs a turn here: a message waits for it, /cancel ends it"
_OPEN_STATES = {"open", "parked"}


class Sitting:
    """A person, a terminal and one thread at a time; Ctrl-C belongs to the turn, never to the sitting."""

    def __init__(self, runtime: Runtime, prepared: Prepared, thread: str, composer: Composer, screen: Screen) -> None:
        """Take what a sitting needs; nothing is read or shown yet.

        Args:
            runtime: opened by the caller before `talk`
            prepared: agent, workspace and what the person should know of them
            thread: the id of the thread to begin with
            composer: where the person writes
            screen: where everything is shown
        """
        self._runtime = runtime
        self._prepared = prepared
        self._session = runtime.ids.new()
        self._thread = self._handle(thread)
        self._composer = composer
        self._screen = screen
        self._keyboard = Keyboard(sys.stdin.fileno())
        self._view = LiveView(screen, sys.stdout, screen.style, asks=True)
        self._task: asyncio.Task[Any] | None = None
        self._images: list[ImagePart] = []
        """They go with the next message."""
        self.code: int | None = None
        """The exit code once the process is to leave."""
        self._commands: dict[str, Callable[[str], Coroutine[Any, Any, None]]] = {
            "help": self._help,
            "switch": self._switch,
            "compact": self._compact,
            "fresh": self._fresh,
            "image": self._image,
            "status": self._status,
            "resume": self._resume,
            "cancel": self._cancel,
            "thread": self._go_to,
            "quit": self._quit,
        }

    async def talk(self) -> int:
        """Read and answer until the person leaves; return the exit code.

        Raises:
            StoreError: the log failed
            asyncio.CancelledError: a signal ends the process; `code` is its exit code
        """
        self._task = asyncio.current_task()
        handle_signals(_nothing, self._leave)
        await self._greet()
        while self.code is None:
            text = await self._composer.read()
            if text is None:
                break
            if self._composer.trouble is not None:
                self._say(self._composer.trouble, "yellow")
            if text.strip():
                await self._answer(text)
        if self.code is None and await self._state() is not None:
            self._say(f"`stoic chat --thread {quoted(self._thread.id)}` goes on here")
        return exits.COMPLETED if self.code is None else self.code

    async def _greet(self) -> None:
        state = await self._state()
        self._say(f"{'new ' if state is None else ''}thread {self._thread.id} · /help lists the commands")
        for note in self._prepared.notes:
            self._say(note, "yellow")
        await self._tell_what_is_open()

    async def _tell_what_is_open(self) -> None:
        state = await self._state()
        if state is not None and state.state in _OPEN_STATES:
            self._say(_RUNNING if state.detail == "running" else _OPEN, "yellow")

    async def _answer(self, text: str) -> None:
        """Carry out a slash command, or send a message; what was wrong with either is one line."""
        slash = parse(text)
        try:
            if slash is None:
                prompt, images = check_utf8(text, "the message"), self._images
                await self._stoppable(lambda stopper: self._drive(prompt, images, stopper))
                self._images = []
            else:
                await self._carry_out(slash)
        except UsageError as error:
            self._say(f"stoic: {one_line(str(error))}", "red")

    async def _carry_out(self, slash: Slash) -> None:
        command = self._commands.get(slash.name)
        if command is None:
            raise UsageError(unknown(slash.name))
        await command(slash.argument)

    # ---- a turn -----------------------------------------------------------------------------

    async def _turn(self) -> bool:
        """Go on with a turn that Ctrl-C can stop; tell whether there was one."""
        return await self._stoppable(lambda stopper: self._drive(None, (), stopper)) is not None

    async def _stoppable(self, work: "Callable[[Stopper], Coroutine[Any, Any, T]]") -> T | Literal["left"]:
        """Do what runs on the thread and what Ctrl-C can stop; `left`: it was left as it stands."""
        stoppers = list[Stopper]()
        with self._keyboard.quiet():
            task = asyncio.create_task(self._with_stopper(work, stoppers))
            await asyncio.wait([task])
        handle_signals(_nothing, self._leave)
        self._screen.end_line()
        code = stoppers[0].code if stoppers else None
        if code not in {None, exits.INTERRUPTED}:
            self.code = code
        elif task.cancelled():
            self._say(_LEFT, "yellow")
        return "left" if task.cancelled() else task.result()

    async def _with_stopper(self, work: "Callable[[Stopper], Coroutine[Any, Any, T]]", stoppers: list[Stopper]) -> T:
        thread, runtime = self._thread, self._runtime
        stopper = Stopper(
            lambda: runtime.cancel(thread.id),
            self._view.say,
            again="leaves the turn as it stands",
            last=self._keyboard.restore,
        )
        stoppers.append(stopper)
        stopper.listen()
        return await work(stopper)

    async def _drive(self, prompt: str | None, images: Sequence[ImagePart], stopper: Stopper) -> Ending | None:
        asker, emit = (
            Asker(self._screen, self._keyboard, stopper, self._prepared.workspace),
            ViewEmit(self._view, stopper),
        )
        return await drive(self._runtime, self._thread, prompt, emit, asker.ask, images=images)

    async def _sum_up(self, stopper: Stopper) -> Boundary:
        emit = HeldEnding(ViewEmit(self._view, stopper))
        boundary = await self._thread.compact(emit)
        await emit.tell_notices(self._runtime, self._thread.id)
        return boundary

    def _leave(self, code: int) -> None:
        """End the sitting at once: the terminal or the process is to go."""
        if self.code is None and self._task is not None:
            self.code = code
            self._task.cancel()

    # ---- slash commands ---------------------------------------------------------------------

    async def _help(self, _: str) -> None:
        self._screen.paragraph(help_text(), "dim")

    async def _quit(self, _: str) -> None:
        self.code = exits.COMPLETED

    async def _resume(self, _: str) -> None:
        if await self._state() is None or not await self._turn():
            self._say("nothing is open here")

    async def _cancel(self, _: str) -> None:
        state = await self._state()
        if state is None or state.state not in _OPEN_STATES:
            self._say("no turn is open; Ctrl-C stops one that runs")
            return
        await self._thread.cancel()
        await self._turn()

    async def _status(self, _: str) -> None:
        state = await self._state()
        self._say(f"thread {self._thread.id} · {state.said() if state else 'new'}")
        binding, mode = (state.binding, state.mode) if state else (None, None)
        self._say(f"model {binding or self._prepared.agent.model}, mode {mode or DEFAULT_MODE}")
        spent = await self._runtime.spent(thread=self._thread.id)
        self._say(
            f"spent {cost_said(spent.cost_usd)} where the price is known, {spent.tokens:,} tokens, with its tasks"
        )
        self._say(f"workspace {self._prepared.workspace.root}")
        self._say(f"log {self._prepared.settings.database}")

    async def _switch(self, argument: str) -> None:
        model, mode = switch_of(argument)
        if model is not None and self._prepared.agent.limits.max_cost_usd is not None and not has_price(model):
            raise UsageError(f"no price of {model} is known, and --max-cost needs one; nothing was switched")
        await self._thread.switch(model, mode=mode)
        if model is not None:
            self._say(f"{model} answers from now on, in this thread only")
        if mode is not None:
            self._say(f"mode {mode} from now on, in this thread only")

    async def _compact(self, _: str) -> None:
        await self._require_something("sum up")
        boundary = await self._stoppable(self._sum_up)
        if boundary != "left" and boundary.state == "waiting":
            self._say(compaction_said(boundary))

    async def _fresh(self, _: str) -> None:
        await self._require_something("leave behind")
        self._say(fresh_said(await self._thread.fresh()))

    async def _require_something(self, what: str) -> None:
        if await self._state() is None:
            raise UsageError(f"nothing was said in this thread yet, so there is nothing to {what}")

    async def _image(self, file: str) -> None:
        if file:
            self._images += read_images([typed_path(check_utf8(file, "the path"))])
            count = len(self._images)
            waiting = "1 image waits" if count == 1 else f"{count} images wait"
            self._say(f"{waiting} for the next message; /image without a file takes back")
        elif self._images:
            self._images = []
            self._say("no image goes with the next message")
        else:
            raise UsageError("/image needs a file, such as /image picture.png")

    async def _go_to(self, thread: str) -> None:
        if thread:
            await require_thread(self._runtime.store, thread)
            self._thread = self._handle(thread)
        state = await self._state()
        self._say(f"thread {self._thread.id} · {state.said() if state else 'new'}")
        if thread:
            await self._tell_what_is_open()

    # ---- parts ------------------------------------------------------------------------------

    def _handle(self, thread: str) -> Thread:
        prepared = self._prepared
        return self._runtime.thread(thread, prepared.agent, session=self._session, meta=prepared.made.meta())

    async def _state(self) -> ThreadState | None:
        """Return where the thread stands; None: nothing was said in it yet."""
        try:
            return await read_state(self._runtime.store, self._runtime.clock, self._thread.id)
        except NoSuchThreadError:
            return None

    def _say(self, text: str, style: str = "dim") -> None:
        self._screen.paragraph(one_line(text), style)


def _nothing() -> None:
    """Ctrl-C between two turns stops nothing: at the prompt it is a key, and it clears the line."""
