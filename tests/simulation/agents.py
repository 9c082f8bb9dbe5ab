"""The agent of a simulated thread: tools whose effects are counted outside, and that fail in every way."""

import asyncio
from contextvars import ContextVar

from tests.simulation.outside import Ran
from tests.simulation.processes import Process

from stoic.core.plan import ASK_FOR_EFFECTS
from stoic.runtime.agents import Agent
from stoic.tools import OperationId, Tool, tool

MAX_ROUNDS = 6
REPEATABLE = frozenset({"look", "set", "key"})
"""Tools that may run the same operation again without proof."""
MODES = ("You plan.", "You act.")


class Hands:
    """What the tools of one thread in one process reach."""

    def __init__(self, process: Process, thread: str) -> None:
        self.process = process
        self.thread = thread

    async def do(self, name: str, argument: str, key: str | None = None) -> str:
        """Take effect once, somewhere in the middle of the call, then maybe fail; `key` must be the operation's id."""
        process, dice = self.process, self.process.dice
        process.adopt(asyncio.current_task())
        operation = process.operation_of(self.thread, name, argument)
        assert key in {None, operation}
        await process.touch()
        fate = process.fate.at_effect()
        if fate == "before":
            await process.die_here()
        process.outside.tell(f"{process.name} runs {operation} {name} {argument}")
        process.outside.ran.append(
            Ran(
                thread=self.thread,
                process=process.name,
                operation=operation,
                tool=name,
                argument=argument,
                twin=process.outside.unknown_twin(operation),
                again=operation in process.outside.ended,
            )
        )
        if fate == "after":
            await process.die_here()
        failure = self._failure()
        if failure is None:
            if dice.chance(10):
                await process.clock.sleep_until(process.clock.now_ms() + 9_000)
            await process.touch()
        # From here to the end of the call nobody else can run, so nothing of it can be lost but by the process's death.
        process.outside.note_end(process.name, self.thread, operation)
        if failure is not None:
            raise failure
        return dice.pick(("", "ok", f"{name} of {argument}"))

    def _failure(self) -> Exception | None:
        if self.process.dice.chance(10):
            return ConnectionResetError("the other side closed the connection")
        return ValueError("no such thing") if self.process.dice.chance(10) else None

    async def status(self, operation: str, argument: str) -> str:
        """Tell the truth about an operation, or nothing."""
        await self.process.touch()
        if self.process.dice.chance(20):
            return "unknown"
        done = any(ran.operation == operation and ran.argument == argument for ran in self.process.outside.ran)
        return "done" if done else "not_done"


HANDS: ContextVar[Hands] = ContextVar("HANDS")
"""Whose hands the tools are: set by whoever drives a turn, inherited by the tasks of its calls."""


@tool(effect="read")
async def look(n: str) -> str:
    """Look."""
    return await HANDS.get().do("look", n)


@tool(effect="send")
async def pay(n: str) -> str:
    """Pay; nothing tells afterwards whether it happened."""
    return await HANDS.get().do("pay", n)


@tool
async def put(n: str) -> str:
    """Put; undeclared, so it counts as a write."""
    return await HANDS.get().do("put", n)


async def _shipped(operation_id: str, n: str) -> str:
    return await HANDS.get().status(operation_id, n)


@tool(effect="send", status=_shipped, timeout_seconds=5)
async def ship(n: str) -> str:
    """Ship; its status can be asked."""
    return await HANDS.get().do("ship", n)


@tool(name="set", effect="write", idempotent=True)
async def set_to(n: str) -> str:
    """Set; doing it twice is doing it once."""
    return await HANDS.get().do("set", n)


@tool(effect="send")
async def key(n: str, operation: OperationId) -> str:
    """Send under a key, by which the other side knows a repetition."""
    return await HANDS.get().do("key", n, operation)


@tool(effect="exec", timeout_seconds=5)
async def charge(n: str) -> str:
    """Execute with a deadline."""
    return await HANDS.get().do("charge", n)


@tool(effect="exec")
async def wipe() -> str:
    """Take no argument: a half call of this must not run with nothing."""
    return await HANDS.get().do("wipe", "everything")


TOOLS: tuple[Tool, ...] = (look, pay, put, ship, set_to, key, charge, wipe)


def make_agent(thread: str, mode: int, *, max_rounds: int | None = MAX_ROUNDS) -> Agent:
    """Return the agent; threads with an even number ask before effects."""
    asks = int(thread[1:]) % 2 == 0
    return Agent(
        f"openai-chat:{thread}",
        instructions=MODES[mode],
        tools=TOOLS,
        permissions=ASK_FOR_EFFECTS if asks else {},
        max_rounds=max_rounds,
    )
