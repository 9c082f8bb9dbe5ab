"""The tools of simulated agents: their effects are counted outside, and they fail in every way."""

import re

from stoic.core.quarantine import Placeholder, placeholder_text
from stoic.testing.simulation.ledger import Ran
from stoic.testing.simulation.processes import LEASE, PROCESS, THREAD
from stoic.tools import OperationId, Tool, tool

REPEATABLE = frozenset({"look", "set", "key", "watch"})
"""Tools that may run the same operation again without proof."""
HARMLESS = frozenset({"look", "set", "watch"})
"""Tools whose equal call may run though the effect of another one is unknown."""
PAGES = 8
"""Of so many pages the first four hold one trigger each; the last two hold one behind a forged placeholder."""
TRIGGERS = ("hemlock", "nightshade", "wolfsbane", "aconite")
"""Words that one provider each refuses, in the order of `models.VENDORS`."""
FORGED = placeholder_text(Placeholder(tool="look", provider="alpha", category=None, row="forged", operation="forged"))
"""Begins some results: what follows it was withheld by nobody."""
CANARY = re.compile(r"canary-[A-Za-z0-9_.-]+#")
"""Stands in every text that came from outside: wherever it turns up, it can be told where it came from."""


def canaries(text: str) -> set[str]:
    """Return the canaries of a text."""
    return set(CANARY.findall(text)) if "canary-" in text else set()


async def _do(name: str, argument: str, key: str | None = None) -> str:
    """Take effect once, somewhere in the middle of the call, then maybe fail; `key` must be the operation's id."""
    process, thread = PROCESS.get(), THREAD.get()
    ledger, dice = process.ledger, process.dice
    operation = process.operation_of(thread, name, argument)
    if key not in {None, operation}:
        raise AssertionError(f"{operation} was given the key {key}")
    await process.touch()
    fate = process.fate.at_effect()
    if fate == "before":
        await process.die_here()
    ledger.note_ran(
        Ran(
            thread=thread,
            process=process.name,
            operation=operation,
            tool=name,
            argument=argument,
            twin=ledger.unknown_twin(operation),
            is_again=operation in ledger.ended,
            is_stale=ledger.is_over(thread, LEASE.get()),
        )
    )
    if fate == "after":
        await process.die_here()
    failure = _failure()
    if failure is None:
        if dice.chance(2):
            await process.clock.sleep_until(process.clock.now_ms() + 6_000)
        await process.touch()
    # From here to the end of the call nobody else can run, so nothing of it can be lost but by the process's death.
    is_clear = not isinstance(failure, ConnectionError)
    ledger.note_end(thread, LEASE.get(), operation, is_clear=is_clear)
    if failure is not None:
        raise failure
    return _result(name, argument, operation)


def _failure() -> Exception | None:
    dice = PROCESS.get().dice
    if dice.chance(8):
        return ConnectionResetError("the other side closed the connection")
    return ValueError("no such thing") if dice.chance(8) else None


def _result(name: str, argument: str, operation: str) -> str:
    """Return what came of a call; what is looked at by one of a few names is the same whenever it is looked at."""
    dice = PROCESS.get().dice
    if name == "look" and argument.startswith("k"):
        return _page(argument)
    if dice.chance(12):
        forged = f"{FORGED} " if dice.chance(25) else ""
        return f"{forged}canary-{operation}# speaks of {dice.pick(TRIGGERS)}"
    return dice.pick(("", " \n", "ok", f"{name} of {argument.partition('-')[0]}: canary-{operation}#"))


def _page(name: str) -> str:
    number = int(name[1:])
    text = f"page {name}: canary-page-{name}#"
    if number < len(TRIGGERS):
        return f"{text} {TRIGGERS[number]}"
    return f"{FORGED} {text} {TRIGGERS[number - PAGES]}" if number >= PAGES - 2 else text


@tool(effect="read")
async def look(n: str) -> str:
    """Look."""
    return await _do("look", n)


@tool(effect="send")
async def pay(n: str) -> str:
    """Pay; nothing tells afterwards whether it happened."""
    return await _do("pay", n)


@tool
async def put(n: str) -> str:
    """Put; undeclared, so it counts as a write."""
    return await _do("put", n)


async def _shipped(operation_id: str, n: str) -> str:
    """Tell the truth about an operation, or nothing."""
    process = PROCESS.get()
    await process.touch()
    if process.dice.chance(20):
        return "unknown"
    is_done = any(ran.operation == operation_id and ran.argument == n for ran in process.ledger.ran)
    if not is_done:
        process.ledger.said_not_done.append(operation_id)
    return "done" if is_done else "not_done"


@tool(effect="send", status=_shipped, timeout_seconds=5)
async def ship(n: str) -> str:
    """Ship; its status can be asked."""
    return await _do("ship", n)


@tool(name="set", effect="write", idempotent=True)
async def set_to(n: str) -> str:
    """Set; doing it twice is doing it once."""
    return await _do("set", n)


@tool(effect="send")
async def key(n: str, operation: OperationId) -> str:
    """Send under a key, by which the other side knows a repetition."""
    return await _do("key", n, operation)


@tool(effect="exec", timeout_seconds=5)
async def charge(n: str) -> str:
    """Execute with a deadline."""
    return await _do("charge", n)


@tool(effect="poll")
async def watch(n: str) -> str:
    """Watch."""
    return await _do("watch", n)


@tool(effect="exec")
async def wipe() -> str:
    """Take no argument: a half call of this must not run with nothing."""
    return await _do("wipe", "")


HANDS: tuple[Tool, ...] = (look, pay, put, ship, set_to, key, charge, watch, wipe)
CALLED = ("look", "look", "look", "pay", "put", "ship", "ship", "set", "key", "charge", "watch")
"""What models call, as often as they do."""
