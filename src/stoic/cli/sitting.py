"""One sitting of `stoic chat`: reads what a person says and lets the thread answer, one turn at a time."""

import asyncio
import sys
from typing import TYPE_CHECKING, Any

from stoic.cli import exits
from stoic.cli.asking import Asker
from stoic.cli.cleaning import one_line
from stoic.cli.composing import Composer
from stoic.cli.driving import drive
from stoic.cli.emitting import ViewEmit
from stoic.cli.inputs import check_utf8, has_price
from stoic.cli.keyboard import Keyboard
from stoic.cli.live import LiveView
from stoic.cli.opening import require_thread
from stoic.cli.preparing import Prepared
from stoic.cli.screen import Screen
from stoic.cli.slashes import Slash, help_text, parse, unknown
from stoic.cli.states import ThreadState, state_of
from stoic.cli.stopping import Stopper, handle_signals
from stoic.core.commands import Ending
from stoic.errors import NoSuchThreadError, UsageError
from stoic.runtime.threads import Thread
from stoic.wiring import Runtime

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

_LEFT = "left as it stands: /resume goes on, /cancel ends it, a new message has it finished first"
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
        self.code: int | None = None
        """The exit code once the process is to leave."""
        self._commands: dict[str, Callable[[str], Coroutine[Any, Any, None]]] = {
            "help": self._help,
            "switch": self._switch,
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
            self._say(f"`stoic chat --thread {self._thread.id}` goes on here")
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
            self._say("a turn is open here: /resume goes on, /cancel ends it", "yellow")

    async def _answer(self, text: str) -> None:
        """Carry out a slash command, or send a message; what was wrong with either is one line."""
        slash = parse(text)
        try:
            if slash is None:
                await self._turn(check_utf8(text, "the message"))
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

    async def _turn(self, prompt: str | None) -> bool:
        """Run a turn that Ctrl-C can stop; tell whether there was one."""
        stoppers = list[Stopper]()
        with self._keyboard.quiet():
            task = asyncio.create_task(self._drive(prompt, stoppers))
            await asyncio.wait([task])
        handle_signals(_nothing, self._leave)
        self._screen.end_line()
        code = stoppers[0].code if stoppers else None
        if code not in {None, exits.INTERRUPTED}:
            self.code = code
        elif task.cancelled():
            self._say(_LEFT, "yellow")
        if task.cancelled():
            return True
        return task.result() is not None

    async def _drive(self, prompt: str | None, stoppers: list[Stopper]) -> Ending | None:
        thread, runtime = self._thread, self._runtime
        stopper = Stopper(
            lambda: runtime.cancel(thread.id),
            self._view.say,
            again="leaves the turn as it stands",
            last=self._keyboard.restore,
        )
        stoppers.append(stopper)
        stopper.listen()
        asker = Asker(self._screen, self._keyboard, stopper, self._prepared.workspace)
        return await drive(runtime, thread, prompt, ViewEmit(self._view, stopper), asker.ask)

    def _leave(self, code: int) -> None:
        """End the sitting at once: the terminal or the process is to go."""
        if self.code is None and self._task is not None:
            self.code = code
            self._task.cancel()

    # ---- slash commands ---------------------------------------------------------------------

    async def _help(self, _: str) -> None:
        self._screen.block(help_text(), "dim")

    async def _quit(self, _: str) -> None:
        self.code = exits.COMPLETED

    async def _resume(self, _: str) -> None:
        if await self._state() is None or not await self._turn(None):
            self._say("nothing is open here")

    async def _cancel(self, _: str) -> None:
        state = await self._state()
        if state is None or state.state not in _OPEN_STATES:
            self._say("no turn is open; Ctrl-C stops one that runs")
            return
        await self._thread.cancel()
        await self._turn(None)

    async def _status(self, _: str) -> None:
        state, binding = await self._state(), None
        if state is not None:
            binding = state.binding
            self._say(f"thread {self._thread.id} · {state.said()}")
        else:
            self._say(f"thread {self._thread.id} · new")
        self._say(f"model {binding or self._prepared.agent.model}")
        self._say(f"workspace {self._prepared.workspace.root}")
        self._say(f"log {self._prepared.settings.database}")

    async def _switch(self, model: str) -> None:
        if not model:
            raise UsageError("/switch needs a model, such as /switch openai-chat:NAME")
        if self._prepared.agent.limits.max_cost_usd is not None and not has_price(model):
            raise UsageError(f"no price of {model} is known, and --max-cost needs one; nothing was switched")
        await self._thread.switch(model)
        self._say(f"{model} answers from now on, in this thread only")

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
        return self._runtime.thread(thread, self._prepared.agent, session=self._session)

    async def _state(self) -> ThreadState | None:
        """Return where the thread stands; None: nothing was said in it yet."""
        try:
            return state_of(await self._runtime.store.load(self._thread.id))
        except NoSuchThreadError:
            return None

    def _say(self, text: str, style: str = "dim") -> None:
        self._screen.block(one_line(text), style)


def _nothing() -> None:
    """Ctrl-C between two turns stops nothing: at the prompt it is a key, and it clears the line."""
