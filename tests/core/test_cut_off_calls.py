"""Calls that a crash cut off: what is stored before they start, and what becomes of them afterwards (SPEC §10)."""

from collections.abc import Callable

import pytest
from msgspec.structs import replace
from tests.core.world import Life, World, called, plan, run, said, scripted, tool

from stoic.core.commands import CallResult, Command, Commit, Next, Recall, Send, Start
from stoic.records import Outcome, Report

READS = called(("look", "{}"), ("look", '{"n":1}'), ("poll", "{}"))


def world_of(*reports: Report, **fields: object) -> World:
    tools = (tool("look", "read"), tool("poll", "poll"), tool("put", "write"), tool("ship", "send", has_status=True))
    world = World(plan(*tools, **fields), scripted(*reports, said("ok")))
    world.message()
    return world


def life_until(world: World, stop: Callable[[Command], bool]) -> Life:
    life = Life(world)
    while life.command is not None and not stop(life.command):
        life.step()
    return life


def crash_in_tools(world: World, *, ended: bool = False) -> None:
    """Die while the calls run, or after they ended and before their results are stored."""
    life = life_until(world, lambda command: isinstance(command, Next))
    if ended:
        life.perform()


def texts(world: World) -> dict[str, str]:
    return {row.content["operation"]: row.content["text"] for row in world.rows if row.kind == "result"}


def commits_in_first_round(world: World) -> int:
    """Count the steps from the first reply to the second request."""
    life = life_until(world, lambda command: isinstance(command, Send))
    count = 0
    life.step()
    while not isinstance(life.command, Send):
        assert not life.finished
        count += isinstance(life.command, Commit)
        life.step()
    return count


@pytest.mark.parametrize(
    ("calls", "commits"),
    [
        ([("look", "{}")], 2),
        ([("put", "{}")], 2),
        ([("look", "{}"), ("look", '{"n":1}')], 2),
        ([("look", "{}"), ("put", "{}")], 3),
        ([("put", "{}"), ("look", "{}"), ("look", '{"n":1}')], 3),
        ([("nothing", "{}"), ("look", "{}")], 2),
        ([("nothing", "{}"), ("put", "{}"), ("look", "{}")], 3),
    ],
)
def test_marking_calls_as_running_costs_no_step_of_its_own(calls, commits: int):
    assert commits_in_first_round(world_of(called(*calls))) == commits


def test_a_call_behind_a_denied_one_is_marked_in_the_same_step():
    world = world_of(called(("ship", "{}"), ("look", "{}"), ("put", "{}")), permissions={"send": "deny"})
    assert commits_in_first_round(world) == 4
    assert "do not allow" in texts(world)["t.1.1.0"]


def test_a_read_that_was_cut_off_runs_again():
    world = world_of(READS)
    crash_in_tools(world)
    assert isinstance(run(world), Outcome)
    assert world.executed == [f"t.1.1.{index}" for index in (0, 1, 2, 0, 1, 2)]
    assert [world.operations[f"t.1.1.{index}"].runs for index in range(3)] == [2, 2, 2]
    assert [world.operations[f"t.1.1.{index}"].state for index in range(3)] == ["returned"] * 3


def test_a_read_whose_end_is_written_down_does_not_run_again():
    world = world_of(READS)
    world.keeps_ends = True
    crash_in_tools(world, ended=True)
    assert isinstance(run(world), Outcome)
    assert world.executed == [f"t.1.1.{index}" for index in range(3)]
    assert texts(world) == {f"t.1.1.{index}": f"result of t.1.1.{index}" for index in range(3)}
    assert [world.operations[f"t.1.1.{index}"].runs for index in range(3)] == [1, 1, 1]


def test_of_parallel_reads_only_those_without_an_end_run_again_and_one_step_stores_it_all():
    world = world_of(READS)
    world.keeps_ends = True
    crash_in_tools(world, ended=True)
    del world.ends["t.1.1.1"]
    life = life_until(world, lambda command: isinstance(command, Recall))
    assert isinstance(life.command, Recall)
    assert [operation.id for operation in life.command.operations] == [f"t.1.1.{index}" for index in range(3)]
    life.step()
    assert isinstance(life.command, Commit)
    assert [row.content["operation"] for row in life.command.rows] == ["t.1.1.0", "t.1.1.2"]
    life.step()
    assert isinstance(life.command, Start)
    assert [planned.operation.id for planned in life.command.calls] == ["t.1.1.1"]
    life.finish()
    assert world.executed == [f"t.1.1.{index}" for index in (0, 1, 2, 1)]


def test_a_read_that_was_cut_off_three_times_gets_a_result_that_says_so():
    world = world_of(called(("look", "{}"), ("put", "{}")))
    for _ in range(3):
        crash_in_tools(world)
    assert isinstance(run(world), Outcome)
    assert world.executed == ["t.1.1.0"] * 3 + ["t.1.1.1"]
    assert texts(world)["t.1.1.0"] == (
        "[runtime] The process ended 3 times while this call of look ran, so it has no result and was not started again. "
        "It changes nothing: call it again if you still need it."
    )
    assert (world.operations["t.1.1.0"].state, world.operations["t.1.1.0"].runs) == ("raised", 3)


def test_a_write_whose_end_is_written_down_is_not_unknown_and_nobody_is_asked():
    world = world_of(called(("ship", "{}")))
    world.keeps_ends = True
    world.statuses["t.1.1.0"] = "not_done"
    crash_in_tools(world, ended=True)
    assert isinstance(run(world), Outcome)
    assert world.effects == ["t.1.1.0"]
    assert world.operations["t.1.1.0"].state == "returned"
    assert world.operations["t.1.1.0"].status is None
    assert texts(world) == {"t.1.1.0": "result of t.1.1.0"}


def test_a_write_that_was_cut_off_is_unknown_and_does_not_run_again():
    world = world_of(called(("put", "{}"), ("look", "{}")))
    world.keeps_ends = True
    crash_in_tools(world)
    assert isinstance(run(world), Outcome)
    assert world.executed == ["t.1.1.0", "t.1.1.1"]
    assert world.operations["t.1.1.0"].state == "unknown"
    assert "Effect unknown" in texts(world)["t.1.1.0"]


def test_calls_behind_reads_wait_for_the_last_of_them():
    world = world_of(called(("look", "{}"), ("look", '{"n":1}'), ("put", "{}")))
    world.one_at_a_time = True
    life, states = Life(world), list[str]()
    while not life.finished:
        if isinstance(life.command, Next):
            states.append(world.operations["t.1.1.2"].state)
        life.step()
    assert states == ["intended", "intended", "running"]
    assert world.executed == [f"t.1.1.{index}" for index in range(3)]


def test_a_read_that_an_older_version_stored_as_intended_only_is_marked_and_starts():
    world = world_of(called(("look", "{}"), ("put", "{}")))
    crash_in_tools(world)
    world.operations["t.1.1.0"] = replace(world.operations["t.1.1.0"], state="intended", started_at=None, runs=0)
    assert isinstance(run(world), Outcome)
    assert world.executed == ["t.1.1.0", "t.1.1.0", "t.1.1.1"]
    assert world.operations["t.1.1.0"].runs == 1


def test_nobody_looks_for_ends_where_nothing_was_cut_off():
    world = world_of(called(("look", "{}"), ("put", "{}")))
    life = Life(world)
    while not life.finished:
        assert not isinstance(life.command, Recall)
        life.step()


def test_a_cut_off_read_whose_tool_is_gone_is_told_to_the_model():
    world = world_of(called(("look", "{}")))
    crash_in_tools(world)
    world.plan = plan(tool("put", "write"))
    assert isinstance(run(world), Outcome)
    assert "There is no tool named 'look'" in texts(world)["t.1.1.0"]
    assert (world.operations["t.1.1.0"].state, world.operations["t.1.1.0"].runs) == ("raised", 1)


@pytest.mark.parametrize("name", ["look", "put"])
def test_a_call_that_was_marked_and_never_started_is_told_and_journaled_as_not_run(name: str):
    world = world_of(*[called((name, "{}"), text="I do it again.") for _ in range(12)])
    world.result = lambda operation: CallResult(operation=operation, text="same", state="returned")
    ending = run(world)
    assert isinstance(ending, Outcome)
    assert ending.reason == "stuck_loop"
    last = max(world.operations, key=lambda operation: int(operation.split(".")[2]))
    assert "it was not run" in texts(world)[last]
    operation = world.operations[last]
    assert (operation.state, operation.runs, operation.started_at) == ("raised", 0, None)
    assert last not in world.executed
