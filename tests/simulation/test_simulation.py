"""Many worlds from many seeds; a failing seed prints itself and its story, and becomes a test with a name."""

from typing import Any

import pytest
from msgspec.structs import replace
from tests.simulation.blocking import blocking_sqlite

from stoic.core.history import is_for_cooldown
from stoic.testing.simulation import Setting, Violation, run, shorten, simulate, varied
from stoic.testing.simulation.invariants import watchers
from stoic.testing.simulation.ledger import Ledger


@pytest.mark.parametrize("seed", range(60))
def test_the_invariants_hold_in_every_world(seed: int):
    simulate(varied(seed))


@pytest.mark.parametrize(
    "seed",
    [
        40000001070,
        40000001572,
        51000000733,
        61000000286,
        81000000094,
        82000002384,
        82000003018,
        82000003774,
        83000000713,
        84000000882,
        302216707946,
        330062963766,
    ],
)
def test_the_invariants_hold_where_they_once_did_not(seed: int):
    simulate(varied(seed))


@pytest.mark.parametrize("seed", range(1000, 1006))
def test_the_invariants_hold_over_a_real_file(seed: int, tmp_path):
    simulate(Setting(seed=seed, make_store=blocking_sqlite(tmp_path / "log.db")))


@pytest.mark.parametrize("seed", range(2000, 2006))
def test_many_processes_contend_for_one_thread_and_the_invariants_hold(seed: int):
    simulate(Setting(seed=seed, chats=1, repairs=0, processes=4, actions=50))


@pytest.mark.parametrize("seed", [0, 5, 11])
def test_the_same_seed_gives_the_same_story_twice(seed: int):
    first, again = simulate(varied(seed)), simulate(varied(seed))
    assert first.story == again.story
    assert first.rows == again.rows


def test_the_same_seed_gives_the_same_log_in_memory_and_in_a_file(tmp_path):
    in_memory = simulate(Setting(seed=4))
    in_file = simulate(Setting(seed=4, make_store=blocking_sqlite(tmp_path / "log.db")))
    assert in_file.story == in_memory.story
    assert in_file.rows == in_memory.rows


def test_different_seeds_give_different_stories():
    assert simulate(Setting(seed=1)).story != simulate(Setting(seed=2)).story


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_crash_at_every_commit_leaves_nothing_wrong(when: str):
    setting = Setting(seed=3000, chats=1, actions=16, crash_percent=0, is_calm=True)
    undisturbed = simulate(setting)
    assert undisturbed.steps > 40
    for number in range(1, undisturbed.steps + 1):
        simulate(replace(setting, crash_at=(number, when)))


def lines_of(ledgers: list[Ledger]) -> list[str]:
    return [line for ledger in ledgers for line in ledger.story]


def test_the_worlds_contain_what_they_are_meant_to_test():
    ledgers = [simulate(varied(seed)) for seed in range(60, 120)]
    lines = lines_of(ledgers)
    for what in (
        " dies",
        " stands still",
        " finds the disk full",
        " is rejected on ",
        "the clock is set by",
        " ms pass",
        "=unknown",
        ":question",
        ":nudge",
        "parked for time",
        "parked for event",
        "parked for task",
        "parked for permission",
        "cancelled ",
        ":compaction",
        ":fresh",
        ":kept",
        ":switch",
        ":quarantine",
        ":refusal_stop",
        ":fallback",
        "tells a person refusal:",
        "tells a person digest:",
        "a summary",
    ):
        assert any(what in line for line in lines), f"no world has {what!r}"
    rows = [row for ledger in ledgers for thread in ledger.rows.values() for row in thread]
    classes = {row.content["class"] for row in rows if row.kind == "attempt"}
    wanted = (
        "network timeout overloaded server_error rate_limit truncated_stream quota auth permission model_not_found "
        "context_length invalid_request malformed_tool_call output_limit empty_response refusal unknown"
    )
    assert set(wanted.split()) <= classes
    failures = {row.content.get("failure") for row in rows if row.kind == "result"}
    assert failures >= {"unknown_tool", "bad_arguments", "tool_denied", "tool_error", "tool_timeout", "cancelled", None}
    assert any(ledger.not_done for ledger in ledgers)
    assert any(row.kind == "parked" and is_for_cooldown(row.content) for row in rows)
    ran = {each.tool for ledger in ledgers for each in ledger.ran}
    assert ran >= {"look", "pay", "put", "ship", "set", "key", "charge", "watch"}
    assert {each.api for ledger in ledgers for each in ledger.sent} == {"chat", "messages", "responses", "gemini"}


def test_each_invariant_of_the_specification_has_one_watcher():
    assert len(watchers(Ledger(lambda: 0))) == 18


class FlakyStore:
    """Stores an outcome twice, as a store without a rule would."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def append(self, lease: Any, step: Any) -> None:
        last = step.rows[-1] if step.rows else None
        if last is not None and last.kind == "outcome":
            step = replace(step, rows=[*step.rows, replace(last, id=f"{last.id}-again", seq=last.seq + 1)])
        await self._inner.append(lease, step)


def flaky(is_alive: Any) -> Any:
    return FlakyStore(Setting(seed=0).make_store(is_alive))


def test_a_failing_world_names_its_seed_tells_its_story_and_can_be_made_shorter():
    setting = Setting(seed=3, make_store=flaky)
    with pytest.raises(Violation, match=r"seed 3: (?s:.)* commits \w+ "):
        simulate(setting)
    _, failure = run(setting)
    assert failure is not None
    assert run(failure.setting)[1] == failure, "it repeats"
    short = shorten(failure)
    assert short.invariant == failure.invariant
    assert len(short.story) <= len(failure.story)
    assert len(short.setting.dropped) > setting.actions // 2
    assert run(short.setting)[1] == short, "what comes out fails by itself"
