"""The power is cut under a working runtime, again and again: what was acknowledged is there, whole, once, and can be gone on with."""

import asyncio
import contextlib
import os
import sys
from collections import Counter
from collections.abc import Generator
from pathlib import Path

import pytest
from tests.crash.disk import Disk, Files, PowerCut
from tests.crash.lives import Life, Model
from tests.crash.remains import Known, check, check_rest

from stoic.errors import StoreError
from stoic.testing import ScriptedProvider
from stoic.testing.simulation import Dice

CUTS = int(os.environ.get("STOIC_POWER_CUTS", "120"))
"""How many power cuts are looked at, 30 of each seed; `just power 2000` looks at more."""
_LIVES = 2
"""Of each seed; the second begins with what a cut has left of the first."""
_CUTS = 15
"""In each life."""
_LOSSES = 4
"""After so many a disk is found out."""


def live(folder: Path, base_url: str, number: int, disk: Disk) -> Life:
    """Let a runtime do all there is to do on a disk."""
    with disk.mounted():
        life = Life(disk, base_url, number)
        asyncio.run(life.work())
    return life


def moments(disk: Disk, dice: Dice, count: int) -> list[int]:
    """Choose moments: half of them anywhere, which is nearly always in a commit; half in any place alike."""
    places: dict[str, list[int]] = {}
    for moment in range(disk.moment + 1):
        places.setdefault(disk.place(moment), []).append(moment)
    by_place = list(places.values())
    return sorted(
        dice.below(disk.moment + 1) if dice.chance(50) else dice.pick(dice.pick(by_place)) for _ in range(count)
    )


def cuts(folder: Path, power: PowerCut, when: list[int]) -> Generator[tuple[int, Files, Path]]:
    """Yield moments, what cuts then leave, and a folder with that on a disk that works."""
    for number, moment in enumerate(when):
        left = power.at(moment)
        after = Disk(folder / f"cut-{number}", left)
        with after.mounted():
            yield moment, left, after.folder


@pytest.mark.parametrize("seed", range(max(1, CUTS // (_LIVES * _CUTS))))
def test_nothing_that_was_acknowledged_is_lost_or_half_or_doubled_by_a_power_cut(tmp_path, seed: int):
    dice, where, known, files = Dice(seed), Counter[str](), Known(), Files()
    # What the system's own VFS promises, and what the store therefore runs with; and a disk that does not keep that promise.
    powersafe = seed % 3 != 2
    with ScriptedProvider(Model()) as provider:
        for number in range(_LIVES):
            folder = tmp_path / f"life-{number}"
            disk = Disk(folder / "disk", files, powersafe_overwrite=powersafe)
            life = live(folder, provider.base_url, number, disk)
            check(disk.folder, known.grown(life.witness, disk.moment), life.witness.steps)
            check_rest(disk.folder, life.witness.owner)
            goes_on_from = dice.below(_CUTS)
            next_known = known
            for chosen, (moment, left, place) in enumerate(
                cuts(folder, PowerCut(disk, dice), moments(disk, dice, _CUTS))
            ):
                where[disk.place(moment)] += 1
                found = check(place, known.grown(life.witness, moment), life.witness.steps)
                if chosen == goes_on_from:
                    next_known, files = found, left
            known = next_known
    sys.stdout.write(f"seed {seed}: {sum(where.values())} cuts, {dict(where)}, {len(known.rows)} rows at the last\n")


def loses(place: Path, known: Known, life: Life) -> bool:
    """Tell whether a cut has left less than there must be."""
    try:
        check(place, known, life.witness.steps)
    except (AssertionError, StoreError):
        return True
    return False


@pytest.mark.parametrize("lie", ["it ignores syncs", "it spoils what it promised to keep"])
def test_a_disk_that_lies_is_found_out(tmp_path, lie: str):
    """Else the test above would find nothing whatever happened."""
    ignores_syncs = lie == "it ignores syncs"
    disk = Disk(tmp_path / "disk", powersafe_overwrite=ignores_syncs, claims_it=True)
    with ScriptedProvider(Model()) as provider:
        life = live(tmp_path, provider.base_url, 0, disk)
    dice = Dice(7)
    power = PowerCut(disk, dice, ignores_syncs=ignores_syncs, torn_percent=5 if ignores_syncs else 50)
    # Of cuts that fall on the WAL at least a sixth lose something, whatever a life writes and in whatever order. Fewer than four
    # losses in all of these would come once in 10^12 lives.
    in_the_wal = [moment for moment in range(disk.moment) if disk.place(moment).endswith("the WAL")]
    when = sorted(dice.pick(in_the_wal) for _ in range(200))
    losses = 0
    with contextlib.closing(cuts(tmp_path, power, when)) as all_cuts:
        for moment, _, place in all_cuts:
            losses += loses(place, Known().grown(life.witness, moment), life)
            if losses == _LOSSES:
                break
    assert losses == _LOSSES, f"only {losses} of {len(when)} cuts lose something"
