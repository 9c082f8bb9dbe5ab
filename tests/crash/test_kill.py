"""Real processes on one database, killed again and again at moments that a seed chooses: nothing is lost, stuck, half or doubled."""

import os
import sys
import time
from collections import Counter

from tests.crash.checks import check
from tests.crash.scene import Scene

from stoic.testing.simulation import Dice

KILLS = int(os.environ.get("STOIC_CRASH_KILLS", "12"))
"""How many processes are killed at the least; `just crash-all 500` kills more."""


def test_nothing_is_lost_stuck_or_done_twice_when_processes_are_killed_again_and_again(tmp_path):
    dice, begun, killed, databases = Dice(20_261_130), time.monotonic(), 0, 0
    aims, met, stood, checked = Counter[str](), Counter[str](), Counter[str](), Counter[str]()
    while killed < KILLS:
        scene = Scene(tmp_path / str(databases), dice)
        scene.play(KILLS - killed)
        checked += check(scene)
        killed += scene.kills
        databases += 1
        aims += scene.aims
        met += scene.met
        stood += scene.stood
        sys.stdout.write(f"{killed} kills, {databases} databases, {time.monotonic() - begun:.0f} s\n")
        sys.stdout.flush()
    assert checked["writes_unknown"], "no kill met a running write: the test tests nothing"
    sys.stdout.write(
        f"{killed} kills on {databases} databases in {time.monotonic() - begun:.0f} s, and all is as it should be\n"
        f"  aimed at: {_said(aims)}\n"
        f"  met a thread there: {_said(met)}\n"
        f"  threads that stood there: {_said(stood)}\n"
        f"  checked: {_said(checked)}\n"
    )


def _said(counts: Counter[str]) -> str:
    return ", ".join(f"{what} {count}" for what, count in counts.most_common())
