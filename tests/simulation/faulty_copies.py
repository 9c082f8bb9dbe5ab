"""Copies of the program with a fault in them, and simulated worlds that run over such a copy in a process of its own.

`python -m tests.simulation.faulty_copies [WORDS]` hunts every fault whose name holds the words, the long way from seed 0.
"""

import atexit
import compileall
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tests.simulation.faults import FAULTS, Edit, Fault

import stoic

MOST_TURNS = 20_000
"""Within so many turns, counted from seed 0, every fault of the table is found."""
_HUNTING = Path(__file__).with_name("hunting.py")
_PROGRAM = Path(stoic.__file__).parent


class OutdatedFaultError(Exception):
    """The program has changed where a fault is made: the fault has to be written anew."""


@dataclass(frozen=True)
class Found:
    """What a hunt came upon."""

    invariant: int | None
    """None: nothing; 0: something that nobody had foreseen."""
    seed: int
    turns: int
    what: str


def spoil(folder: Path, edits: Sequence[Edit]) -> None:
    """Make a fault in a copy of the program.

    Raises:
        OutdatedFaultError: a text that is to be replaced does not stand there exactly once
    """
    for edit in edits:
        path = folder / edit.file
        text = path.read_text() if path.exists() else ""
        times = text.count(edit.old)
        if times != 1:
            stands = f"stands {times} times in src/stoic/{edit.file}"
            advice = "rewrite the fault in tests/simulation/faults.py so that it fits the code of today"
            raise OutdatedFaultError(f"this text {stands}, not once; {advice}:\n{edit.old}")
        path.unlink()  # it may be a link to what other copies have as well
        path.write_text(text.replace(edit.old, edit.new))


def hunt(
    edits: Sequence[Edit], changes: dict[str, Any], *, most_turns: int, first_seed: int = 0, seeds: Sequence[int] = ()
) -> Found:
    """Run worlds over a copy of the program with these edits, until something does not hold.

    Args:
        edits: to the copy
        changes: to the settings that the seeds have
        most_turns: after how many the hunt ends
        first_seed: and so on without end
        seeds: these alone, if there are any
    """
    with tempfile.TemporaryDirectory(prefix="stoic-fault-") as name:
        copy = Path(name) / "stoic"
        shutil.copytree(_compiled(), copy, copy_function=os.link)
        spoil(copy, edits)
        asked = {"first_seed": first_seed, "seeds": list(seeds), "most_turns": most_turns, "changes": changes}
        ran = subprocess.run(
            [sys.executable, str(_HUNTING), json.dumps(asked)],
            env={**os.environ, "PYTHONPATH": name, "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
        if ran.returncode:
            raise RuntimeError(f"the worlds did not run:\n{ran.stderr[-2_000:]}")
        found = json.loads(ran.stdout)
        if Path(found.pop("place")).parent != copy:
            raise RuntimeError("another stoic than the copy was imported")
        return Found(**found)


@cache
def _compiled() -> Path:
    """Return a copy of the program with its bytecode: else each process would compile every file, the half of what it costs."""
    folder = Path(tempfile.mkdtemp(prefix="stoic-compiled-"))
    atexit.register(shutil.rmtree, folder)
    shutil.copytree(_PROGRAM, folder / "stoic")
    compileall.compile_dir(folder, quiet=1)
    return folder / "stoic"


def _told(fault: Fault) -> tuple[bool, str]:
    """Hunt one fault the long way; return whether it was found rightly, and a line that says so."""
    found = hunt(fault.edits, fault.setting, most_turns=MOST_TURNS)
    is_right = found.invariant in fault.invariants
    verdict = "found " if is_right else "MISSED"
    return is_right, f"{verdict} {found.turns:6} turns, seed {found.seed:4}, invariant {found.invariant}: {fault.name}"


def _main(words: str) -> int:
    faults = [fault for fault in FAULTS if words in fault.name]
    missed = 0
    _compiled()  # once, before there are threads
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        for is_right, line in threads.map(_told, faults):
            missed += not is_right
            sys.stdout.write(f"{line}\n")
            sys.stdout.flush()
    sys.stdout.write(f"{len(faults) - missed} of {len(faults)} faults found within {MOST_TURNS} turns\n")
    return 1 if missed or not faults else 0


if __name__ == "__main__":
    sys.exit(_main(" ".join(sys.argv[1:])))
