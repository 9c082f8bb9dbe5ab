"""Runs simulated worlds over whatever `stoic` is imported, until something does not hold; `faulty_copies` starts it as a process."""

import json
import sys
from collections.abc import Iterable
from itertools import count
from typing import Any

from msgspec.structs import replace

import stoic
from stoic.testing.simulation import run, varied


def hunt(seeds: Iterable[int], most_turns: int, changes: dict[str, Any]) -> dict[str, Any]:
    """Run world after world; return what was found, or that nothing was, and how many turns that took."""
    turns, seed, failure = 0, None, None
    for seed in seeds:
        ledger, failure = run(replace(varied(seed), **changes))
        turns += max(1, ledger.turns)
        if failure is not None or turns >= most_turns:
            break
    return {
        "place": stoic.__file__,
        "seed": seed,
        "turns": turns,
        "invariant": None if failure is None else failure.invariant,
        "what": "nothing" if failure is None else failure.what[:600],
    }


if __name__ == "__main__":
    asked = json.loads(sys.argv[1])
    found = hunt(asked["seeds"] or count(asked["first_seed"]), asked["most_turns"], asked["changes"])
    sys.stdout.write(json.dumps(found))
