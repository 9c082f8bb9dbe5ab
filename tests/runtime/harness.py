"""A runtime over a real file and real HTTP, with time in the test's hands."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from stoic.core.commands import Ending
from stoic.events import Happening
from stoic.ports import Store
from stoic.records import Outcome, Row
from stoic.runtime.agents import Agent
from stoic.runtime.threads import Thread
from stoic.settings import Access, Settings
from stoic.testing import FakeClock, ScriptedProvider, load_cases
from stoic.tools.declaration import Tool
from stoic.wiring import Runtime

CASES = Path(__file__).parent.parent / "cases"
WIRE_CASES = load_cases([CASES / "failures_wire.json", CASES / "refusals_wire.json"])
_GUARD_SECONDS = 30

Tools = Sequence[Tool | Callable[..., Any]]


class SignallingClock(FakeClock):
    """A clock that stands still and says when somebody sleeps."""

    def __init__(self) -> None:
        super().__init__()
        self.asleep = asyncio.Event()

    async def sleep_until(self, until_ms: int) -> None:
        self.asleep.set()
        await super().sleep_until(until_ms)


class Bench:
    """One scripted provider, one database file, and any number of runtimes that use both."""

    def __init__(self, folder: Path, provider: ScriptedProvider) -> None:
        self.path = folder / "log.db"
        self.provider = provider
        self.clock = FakeClock(auto=True)
        self.events: list[Happening] = []
        self.seen: dict[str, asyncio.Event] = {}

    def runtime(self, clock: FakeClock | None = None, store: Store | None = None) -> Runtime:
        """Return a runtime as another process would make it, over the file itself or a store of the test's own."""
        settings = Settings(database=str(self.path), access={"openai-chat": Access(base_url=self.provider.base_url)})
        return Runtime(settings=settings, clock=clock or self.clock, store=store)

    def thread(self, runtime: Runtime, *tools: Tool | Callable[..., Any], ask: bool = False, name: str = "t") -> Thread:
        """Return a handle on the thread `t`, whose agent may do everything unless it is to ask."""
        agent = Agent("openai-chat:m", instructions="Be brief.", tools=tools, permissions="ask" if ask else "allow")
        return runtime.thread(name, agent, session="s")

    def emit(self, event: Happening) -> None:
        """Keep an event, and wake who waits for its kind."""
        self.events.append(event)
        self._seen(type(event).__name__).set()

    async def until(self, kind: type[Happening]) -> None:
        """Return when an event of that kind has come."""
        await self._seen(kind.__name__).wait()

    def _seen(self, kind: str) -> asyncio.Event:
        return self.seen.setdefault(kind, asyncio.Event())

    def kinds(self) -> list[str]:
        """Return the kinds of the events in order, each run of equal ones once."""
        kinds = [msgspec.to_builtins(event)["type"] for event in self.events]
        return [kind for position, kind in enumerate(kinds) if position == 0 or kinds[position - 1] != kind]

    async def rows(self, runtime: Runtime, thread: str = "t") -> list[Row]:
        """Return the thread's log."""
        return (await runtime.store.load(thread)).rows


Story = Callable[[Bench], Awaitable[None]]


def play(folder: Path, script: Any, story: Story) -> None:
    """Run a story against a scripted provider; a story that hangs fails."""

    async def main() -> None:
        async with asyncio.timeout(_GUARD_SECONDS), ScriptedProvider(script, cases=WIRE_CASES) as provider:
            await story(Bench(folder, provider))

    asyncio.run(main())


def outcome(ending: Ending | None) -> Outcome:
    """Return the ending, which must be an outcome."""
    assert isinstance(ending, Outcome), ending
    return ending
