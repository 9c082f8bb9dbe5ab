"""`stoic sim`: worlds from seeds, told as stories, and a failing one as a bug."""

import io
import signal

from tests.cli.processes import Bench
from tests.simulation.test_simulation import flaky

from stoic.cli.exits import BUG
from stoic.cli.sim import tell_failure
from stoic.testing.simulation import Setting, run


def test_worlds_are_counted_and_what_is_simulated_is_said(tmp_path):
    ran = Bench(tmp_path).stoic("sim", "--seeds", "3", "--jobs", "2")
    assert (ran.returncode, ran.stderr) == (0, "")
    first, last = ran.stdout.splitlines()
    assert first.startswith("simulated: time, network, disk, providers and people")
    assert first.endswith("the first seed is 0")
    assert last.startswith("3 worlds, ")
    assert last.endswith("every invariant held")


def test_one_seed_is_told_step_by_step_and_twice_the_same(tmp_path):
    sandbox = Bench(tmp_path)
    first, again = (sandbox.stoic("sim", "--seed", "3").stdout for _ in range(2))
    assert first == again
    assert " commits chat" in first
    assert "seed 3: " in first.splitlines()[-1]


def test_fresh_seeds_run_until_the_time_is_over(tmp_path):
    ran = Bench(tmp_path).stoic("sim", "--minutes", "0.02", "--jobs", "1")
    assert ran.returncode == 0
    assert "every invariant held" in ran.stdout


def test_a_number_and_a_time_together_are_wrong_usage(tmp_path):
    ran = Bench(tmp_path).stoic("sim", "--seeds", "3", "--minutes", "1")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "give --seeds or --minutes, not both" in ran.stderr


def test_a_world_in_which_something_does_not_hold_is_a_bug_told_with_its_seed_and_as_short_as_can_be():
    _, failure = run(Setting(seed=21, make_store=flaky))
    assert failure is not None
    stdout = io.StringIO()
    assert tell_failure(failure, stdout) == BUG
    said = stdout.getvalue()
    assert f"seed 21: invariant {failure.invariant}: " in said
    assert "`stoic sim --seed 21` runs it again" in said
    assert "Setting: seed=21, chats=2" in said


def test_ctrl_c_ends_all_processes_without_a_traceback(tmp_path):
    process = Bench(tmp_path).start("sim", "--minutes", "5", "--jobs", "2")
    assert process.stdout is not None
    assert process.stdout.readline().startswith(b"simulated")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, b"", b"")
