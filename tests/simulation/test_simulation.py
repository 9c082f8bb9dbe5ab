"""Many runs from many seeds; a failing seed prints itself and its story, and becomes a test with a name."""

import os

import pytest
from tests.simulation.blocking import BlockingSqliteStore
from tests.simulation.scenario import Setting, simulate

SEEDS = int(os.environ.get("STOIC_SIM_SEEDS", "300"))
"""How many seeds are run; each takes about 0.04 s."""


@pytest.mark.parametrize("seed", range(SEEDS))
def test_the_invariants_hold_in_every_run(seed: int):
    simulate(Setting(seed=seed))


@pytest.mark.parametrize("seed", range(1000, 1006))
def test_the_invariants_hold_over_a_real_file(seed: int, tmp_path):
    simulate(Setting(seed=seed, make_store=lambda is_alive: BlockingSqliteStore(tmp_path / "log.db", is_alive)))


@pytest.mark.parametrize("seed", range(2000, 2008))
def test_many_processes_contend_for_one_thread_and_the_invariants_hold(seed: int):
    simulate(Setting(seed=seed, threads=1, processes=4, actions=20))


@pytest.mark.parametrize("seed", range(4000, 4000 + SEEDS // 5))
def test_people_start_fresh_and_compact_and_the_invariants_hold(seed: int):
    simulate(Setting(seed=seed, boundaries=True))


def test_generations_begin_in_every_way():
    outsides = [simulate(Setting(seed=seed, boundaries=True)) for seed in range(4000, 4020)]
    rows = [row for outside in outsides for thread in outside.rows.values() for row in thread]
    causes = {row.meta["cause"] for row in rows if row.kind == "compaction"}
    assert causes >= {"share", "person"}
    assert {row.kind for row in rows} >= {"fresh", "compaction_failed", "kept"}


@pytest.mark.parametrize("seed", [0, 5, 11])
def test_the_same_seed_gives_the_same_story_twice(seed: int):
    first = simulate(Setting(seed=seed))
    again = simulate(Setting(seed=seed))
    assert first.story == again.story
    assert first.rows == again.rows


def test_the_same_seed_gives_the_same_log_in_memory_and_in_a_file(tmp_path):
    in_memory = simulate(Setting(seed=4))
    path = tmp_path / "log.db"
    in_file = simulate(Setting(seed=4, make_store=lambda is_alive: BlockingSqliteStore(path, is_alive)))
    assert in_file.rows == in_memory.rows
    assert in_file.story == in_memory.story


def test_different_seeds_give_different_stories():
    assert simulate(Setting(seed=1)).story != simulate(Setting(seed=2)).story


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("seed", [3000, 3001])
def test_a_crash_at_every_commit_leaves_nothing_wrong(seed: int, when: str):
    undisturbed = simulate(Setting(seed=seed, threads=2, actions=9, crash_percent=0, quiet=True))
    assert undisturbed.steps > 10
    for number in range(1, undisturbed.steps + 1):
        simulate(Setting(seed=seed, threads=2, actions=9, crash_at=(number, when), quiet=True))


def test_the_runs_contain_what_they_are_meant_to_test():
    outsides = [simulate(Setting(seed=seed, crash_percent=20)) for seed in range(90)]
    lines = [line for outside in outsides for line in outside.story]
    for what in (
        " dies",
        " is paused",
        " is rejected on ",
        "=unknown",
        ":question",
        ":nudge",
        "parked",
        " cancelled ",
        ":compaction",
    ):
        assert any(what in line for line in lines), f"no run has {what!r}"
    rows = [row for outside in outsides for thread in outside.rows.values() for row in thread]
    classes = {row.content["class"] for row in rows if row.kind == "attempt"}
    wanted = (
        "network timeout overloaded server_error rate_limit truncated_stream quota auth context_length invalid_request "
        "signature_invalid malformed_tool_call output_limit empty_response refusal unknown"
    )
    assert set(wanted.split()) <= classes
    changes = [row.content["change"]["kind"] for row in rows if "change" in row.content]
    assert set(changes) == {"max_tokens", "plain"}
    failures = {row.content.get("failure") for row in rows if row.kind == "result"}
    assert failures >= {"unknown_tool", "bad_arguments", "tool_denied", "tool_error", "tool_timeout", "cancelled", None}
    assert any(outside.not_done for outside in outsides)
    assert {ran.tool for outside in outsides for ran in outside.ran} >= {"look", "pay", "put", "ship", "set", "key"}
