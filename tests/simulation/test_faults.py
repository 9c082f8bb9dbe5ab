"""The checker is checked: simulated worlds find each deliberate fault, and the right invariant notices.

Turns are counted from seed 0. How many that takes stands in the table beside the seed at which the fault was found then, and
`just faults` goes that whole way, with 20,000 turns as the limit. Here every hunt begins at that seed, which costs a world or
a few; when the program has changed and this world no longer shows the fault, the next ones have to.
"""

import re
from collections import defaultdict
from pathlib import Path

import pytest
from tests.simulation.faults import FAULTS, Edit, Fault
from tests.simulation.faulty_copies import MOST_TURNS, OutdatedFaultError, hunt, spoil

MOST_TURNS_HERE = 1_500
"""From the stored seed on; together with the way to it that is far below the limit."""


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: re.sub(r"\W+", "-", fault.name))
def test_a_fault_is_found_by_its_invariant(fault: Fault):
    assert fault.turns + MOST_TURNS_HERE <= MOST_TURNS
    found = hunt(fault.edits, fault.setting, first_seed=fault.first_seed, most_turns=MOST_TURNS_HERE)
    assert found.invariant in fault.invariants, found


def test_the_program_without_a_fault_has_nothing_to_find_in_the_same_worlds():
    seeds = defaultdict[tuple[tuple[str, object], ...], set[int]](set)
    for fault in FAULTS:
        seeds[tuple(sorted(fault.setting.items()))].add(fault.first_seed)
    for setting, those in seeds.items():
        found = hunt((), dict(setting), seeds=sorted(those), most_turns=MOST_TURNS)
        assert (found.invariant, found.what) == (None, "nothing")
        assert found.seed == max(those)


def test_every_invariant_of_the_specification_has_a_fault_of_its_own():
    alone = {number for fault in FAULTS for number in fault.invariants if len(fault.invariants) == 1}
    assert alone == set(range(1, 19))


def test_no_two_faults_have_one_name():
    assert len({fault.name for fault in FAULTS}) == len(FAULTS)


@pytest.mark.parametrize(("file", "times"), [("elsewhere.py", 0), ("none.py", 0), ("twice.py", 2)])
def test_a_fault_that_no_longer_fits_the_program_says_that_it_must_be_rewritten(file: str, times: int, tmp_path: Path):
    (tmp_path / "elsewhere.py").write_text("something else")
    (tmp_path / "twice.py").write_text("a text, and again a text")
    said = (
        f"this text stands {times} times in src/stoic/{file}, not once; rewrite the fault in tests/simulation/faults.py"
    )
    with pytest.raises(OutdatedFaultError, match=said):
        spoil(tmp_path, [Edit(file, "a text", "another")])


def test_a_fault_stands_where_its_text_stood(tmp_path: Path):
    (tmp_path / "once.py").write_text("first a text, then more")
    spoil(tmp_path, [Edit("once.py", "a text", "another")])
    assert (tmp_path / "once.py").read_text() == "first another, then more"
