"""The checkers are checked: each finds the fault that breaks its invariant, within a few seeds."""

import pytest
from msgspec.structs import replace
from tests.simulation import faults
from tests.simulation.scenario import Setting, simulate

SEEDS = 40

FAULTS = {
    "5: two outcomes": Setting(seed=0, wrap_store=faults.SecondOutcome),
    "5: a lost outcome": Setting(seed=0, wrap_store=faults.LostOutcome),
    "7: a forgetful journal": Setting(seed=0, wrap_store=faults.ForgetfulJournal, crash_percent=15),
    "7: forgotten ends": Setting(seed=0, make_ends=faults.ForgetfulEnds, crash_percent=15),
    "8: a lenient wire": Setting(seed=0, make_model=faults.LenientModel),
    "9: a clock in the request": Setting(seed=0, renderer=faults.DriftingRenderer()),
    "12: text shown twice": Setting(seed=0, make_model=faults.StutteringModel),
    "14: results without their calls": Setting(seed=0, renderer=faults.UnpairedRenderer()),
    "15: a client that retries": Setting(seed=0, make_model=faults.RetryingModel),
    "17: a turn without bound": Setting(seed=0, make_model=faults.TirelessModel, max_rounds=12),
    "18: no fence": Setting(seed=0, wrap_store=faults.Unfenced, crash_percent=15),
}
"""By the number of the invariant that must notice."""


@pytest.mark.parametrize("name", FAULTS)
def test_a_deliberate_fault_is_found(name: str):
    number, _, _ = name.partition(" ")
    assert any(_finds(number, replace(FAULTS[name], seed=seed)) for seed in range(SEEDS))


def _finds(number: str, setting: Setting) -> bool:
    try:
        simulate(setting)
    except AssertionError as error:
        return f"AssertionError: {number} " in str(error)
    return False


def test_a_failure_names_its_seed_and_tells_the_story():
    with pytest.raises(AssertionError, match=r"seed 3: (?s:.)* commits t\d"):
        simulate(Setting(seed=3, wrap_store=faults.SecondOutcome))


def test_without_a_fault_many_crashes_find_nothing():
    for seed in range(SEEDS):
        simulate(Setting(seed=seed, crash_percent=15))
