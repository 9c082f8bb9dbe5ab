"""Plays the demonstration's chapters one after the other, shows them, and has them checked."""

import asyncio
import os
import textwrap
from typing import IO

from stoic.cli.demo_crash import Crash, crash
from stoic.cli.demo_place import BOUND, COOLDOWN_SECONDS, THREAD, Place, agent_at, runtime_at
from stoic.cli.demo_play import BACKGROUND, KILL, LOOP, OVERLOAD, REFUSAL, RETURN, STREAM, TASK, Chapter, script
from stoic.cli.demo_proof import Claim, prove
from stoic.cli.demo_view import NarrowView
from stoic.cli.emitting import ViewEmit
from stoic.cli.live import LiveView
from stoic.cli.opening import opened
from stoic.cli.screen import Screen, Style
from stoic.cli.stopping import Stopper
from stoic.errors import UsageError
from stoic.ports import Clock
from stoic.testing import ScriptedProvider
from stoic.wiring import Runtime

_WIDTH = 78


async def tell(place: Place, clock: Clock, stdout: IO[str], style: Style) -> list[Claim] | int:
    """Play everything, and return the claims with what was found of them.

    Args:
        place: where
        clock: for the waits that the story itself needs
        stdout: for everything that happens
        style: of that stream

    Returns:
        The claims; the exit code instead when a signal or an output that is gone ended the story.
    """
    stopper = Stopper(lambda: False, lambda _: None)
    stopper.listen()
    try:
        return await _Story(place, clock, stdout, style, stopper).play()
    except asyncio.CancelledError:
        if stopper.code is None:
            raise
        return stopper.code


class _Story:
    """One thread against one provider, in as many processes and runtimes as the story needs."""

    def __init__(self, place: Place, clock: Clock, stdout: IO[str], style: Style, stopper: Stopper) -> None:
        self._place = place
        self._clock = clock
        self._stdout = stdout
        self._style = style
        self._stopper = stopper

    async def play(self) -> list[Claim]:
        """Play the chapters, and check them with the log opened anew."""
        place = self._place
        async with ScriptedProvider(script()) as provider:
            base_url = provider.base_url
            async with opened(runtime_at(place, base_url)) as runtime:
                await self._turn(runtime, STREAM)
                await self._turn(runtime, OVERLOAD)
                await self._until_asked_again(runtime)
                await self._turn(runtime, RETURN)
            crashed = await self._kill(base_url)
            async with opened(runtime_at(place, base_url)) as runtime:
                await runtime.thread(THREAD, agent_at(place)).resume(self._emit())
                await self._turn(runtime, REFUSAL)
                await self._turn(runtime, LOOP)
                await self._turn(runtime, BACKGROUND)
            async with opened(runtime_at(place, base_url)) as reopened:
                await self._knock(reopened)
                return await prove(reopened.store, place.workspace, provider.requests, crashed)

    async def _knock(self, runtime: Runtime) -> None:
        """Tell the task to go on, from a runtime that knows nothing but the log."""
        self._say("", self._style("Started anew, stoic tells the task to go on:", "bold"))
        try:
            await runtime.tasks.message(TASK, "Go on.")
        except UsageError as error:
            self._say(*(self._style(line, "red") for line in textwrap.wrap(f"✗ {error}", _WIDTH)))

    async def _turn(self, runtime: Runtime, chapter: Chapter) -> None:
        self._begin(chapter)
        await runtime.thread(THREAD, agent_at(self._place)).run(chapter.task, self._emit())

    async def _until_asked_again(self, runtime: Runtime) -> None:
        """Wait as long as the overloaded route is left alone."""
        self._say("", self._style(f"{BOUND} is left alone for {COOLDOWN_SECONDS:g} s. Waiting.", "dim"))
        ends_ms = [health.until_ms for health in await runtime.store.health() if health.until_ms is not None]
        await self._clock.sleep_until(max(ends_ms, default=self._clock.now_ms()))

    async def _kill(self, base_url: str) -> Crash:
        self._begin(KILL)
        crashed = await crash(self._place, base_url, self._clock, self._emit())
        self._say(
            self._style(f"✗ kill -9 {crashed.pid}: the line is written, the result will never come", "red"),
            "",
            self._style("This process takes the thread up from the log:", "bold"),
        )
        return crashed

    def _begin(self, chapter: Chapter) -> None:
        style = self._style
        self._say("", style(chapter.title, "bold"), style(chapter.why, "dim"), f"> {chapter.task}")

    def _emit(self) -> ViewEmit:
        """Return what shows one turn."""
        stdout, style = self._stdout, self._style
        live = stdout.isatty()
        view = LiveView(Screen(stdout, os.environ), stdout, style) if live else NarrowView(stdout, style)
        return ViewEmit(view, self._stopper)

    def _say(self, *lines: str) -> None:
        self._stdout.write("".join(f"{line}\n" for line in lines))
        self._stdout.flush()
