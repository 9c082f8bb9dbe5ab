"""Simulated worlds: virtual time, and one seed that drives everything that can go wrong, with every invariant watched.

`simulate(varied(seed))` runs one; what the world is made of is real (engine, worker, tasks, wire, store), but for time, the
network, the disk and the people.
"""

from typing import TYPE_CHECKING, Any

from stoic.testing.simulation.dice import Dice
from stoic.testing.simulation.virtual_time import StalledError, VirtualClock, VirtualTimeLoop, run_in_virtual_time

if TYPE_CHECKING:
    from stoic.testing.simulation.running import Failure, run, shorten, simulate
    from stoic.testing.simulation.setting import Setting, Violation, varied

__all__ = [
    "Dice",
    "Failure",
    "Setting",
    "StalledError",
    "Violation",
    "VirtualClock",
    "VirtualTimeLoop",
    "run",
    "run_in_virtual_time",
    "shorten",
    "simulate",
    "varied",
]
_OF_SETTING = frozenset({"Setting", "Violation", "varied"})


def __getattr__(name: str) -> Any:
    """Load what a world is made of when it is asked for: whoever wants the dice alone does not need it."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from stoic.testing.simulation import running, setting  # noqa: PLC0415 -- the reason is in the docstring

    return getattr(setting if name in _OF_SETTING else running, name)
