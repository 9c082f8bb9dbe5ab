"""What a simulated run is made of: one seed, and numbers that say how much of everything happens."""

from collections.abc import Callable

from stoic.ports import Store
from stoic.records import Owner, Record
from stoic.store.memory import MemoryDatabase, MemoryStore
from stoic.testing.simulation.dice import Dice

IsAlive = Callable[[Owner], bool | None]
MAX_ROUNDS = 6
"""Rounds of one simulated turn."""
DAILY_NOTICES = 3
"""How many normal notices may go out one by one on a simulated day."""


def memory_store(is_alive: IsAlive) -> Store:
    """Return the log in memory."""
    return MemoryStore(MemoryDatabase(), is_alive=is_alive)


class Setting(Record, frozen=True):
    """Equal settings give equal runs, step by step."""

    seed: int
    chats: int = 2
    repairs: int = 1
    """Threads whose job is to try candidates in turn."""
    processes: int = 2
    actions: int = 36
    """What people and machines do."""
    crash_percent: int = 3
    """How often a process dies, stands still, or finds the disk full, at each step and each effect of a tool."""
    failure_percent: int = 25
    """How often a provider answers with a failure."""
    crash_at: tuple[int, str] | None = None
    """The number of a step, and `before` or `after` it takes effect: die there, and nowhere else."""
    is_calm: bool = False
    """Whether no process is killed or stopped and no clock is set by what people and machines do."""
    small_windows: bool = False
    """Whether the models' context windows are so small that conversations have to be summed up."""
    is_slow: bool = False
    """Whether hours pass between the things that people and machines do."""
    outage_percent: int = 0
    """How often all providers go down for a while after what people and machines do, and something happens that a chat hears of."""
    dropped: frozenset[int] = frozenset()
    """Numbers of actions that are left out: how a failing run is shortened."""
    spared: frozenset[int] = frozenset()
    """Numbers of strikes of fate that do not happen, likewise."""
    make_store: Callable[[IsAlive], Store] = memory_store


def varied(seed: int) -> Setting:
    """Return the setting of a seed: how many threads and processes there are, and how rough it is, depend on it too."""
    dice = Dice(seed).fork("setting")
    is_calm = dice.chance(15)
    return Setting(
        seed=seed,
        chats=dice.pick((0, 1, 1, 2, 2, 3)),
        repairs=1 + dice.below(2) if dice.chance(50) else 1,
        processes=1 + dice.below(4),
        actions=20 + dice.below(40),
        crash_percent=0 if is_calm else dice.pick((1, 3, 3, 10)),
        failure_percent=dice.pick((10, 25, 25, 50)),
        is_calm=is_calm,
        small_windows=dice.chance(25),
        is_slow=dice.chance(20),
        outage_percent=10 if dice.chance(15) else 0,
    )


class Violation(Exception):  # noqa: N818 - it is what the simulation looks for, not a mistake of its caller
    """An invariant of SPEC §16 does not hold."""

    def __init__(self, invariant: int, what: str) -> None:
        """Say which, by its number, and what happened; 0: something that nobody had foreseen."""
        super().__init__(f"invariant {invariant}: {what}" if invariant else what)
        self.invariant = invariant


def hold(condition: object, invariant: int, what: Callable[[], str]) -> None:
    """Raise Violation unless the condition is true; the text is made only then."""
    if not condition:
        raise Violation(invariant, what())
