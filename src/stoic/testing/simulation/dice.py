"""Numbers that depend on a seed and on nothing else, the same on every Python."""

from collections.abc import Sequence
from typing import TypeVar
from zlib import crc32

T = TypeVar("T")

_MASK = (1 << 64) - 1


class Dice:
    """A sequence of numbers of one seed (SplitMix64).

    Source of the constants: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014.
    """

    def __init__(self, seed: int) -> None:
        """Begin the sequence of this seed."""
        self._state = seed & _MASK

    def fork(self, name: str) -> "Dice":
        """Return other dice that depend on these dice's present state and the name, without rolling these."""
        return Dice(self._state * 0x2545F4914F6CDD1D + crc32(name.encode()))

    def below(self, bound: int) -> int:
        """Return the next number from 0 to `bound` - 1."""
        self._state = (self._state + 0x9E3779B97F4A7C15) & _MASK
        mixed = self._state
        mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & _MASK
        return (mixed ^ (mixed >> 31)) % bound

    def chance(self, percent: int) -> bool:
        """Return true in so many of a hundred cases."""
        return self.below(100) < percent

    def pick(self, choices: Sequence[T]) -> T:
        """Return one of the choices."""
        return choices[self.below(len(choices))]
