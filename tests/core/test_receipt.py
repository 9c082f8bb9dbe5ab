"""What an owner gets of its task's end, and what a stop tells: facts, names and the task's own words, after a refusal no more (SPEC §12)."""

from typing import Any

import msgspec
import pytest
from tests.core.world import DENY_EFFECTS, Life, World, called, cut, http, plan, report, run, said, scripted, tool

from stoic.core import notes
from stoic.core.commands import CallResult
from stoic.core.plan import TaskFacts
from stoic.core.receipt import Evidence, ToolEvidence, delivery, evidence, told
from stoic.records import CallPart, Delivery, OperationFact, Outcome, Parked, Receipt, Report, Row, ShellFact, TextPart

REFUSAL = report([TextPart(text="partial")], "content_filter")
CANARY = "canary-5d1c"
TOOLS = (tool("write_file"), tool("edit_file"), tool("pay", "send"), tool("save"), tool("look", "read"))


def task(*replies: Report, **fields: Any) -> World:
    fields = {"thread_kind": "task", "task": TaskFacts(owner="o", root="o")} | fields
    world = World(plan(*TOOLS, **fields), scripted(*replies))
    world.message(f"the brief {CANARY}")
    return world


def write(tool_name: str, path: object) -> tuple[str, str]:
    return tool_name, msgspec.json.encode({"path": path, "text": CANARY}).decode()


def delivered(world: World) -> tuple[Delivery, Receipt]:
    assert isinstance(run(world), Outcome)
    (one,) = world.deliveries.values()
    return one, msgspec.convert(one.receipt, Receipt)


def evidence_of(world: World, *, refused: bool = False) -> Evidence:
    newest = max(row.turn for row in world.rows)
    return evidence([row for row in world.rows if row.turn == newest], refused=refused)


# ---- the receipt ------------------------------------------------------------------------------------


def test_a_task_that_is_done_delivers_its_answer_and_what_it_wrote():
    calls = called(
        write("write_file", "a.txt"),
        write("save", "b.txt"),
        write("write_file", "a.txt"),
        write("pay", "p.txt"),
        write("look", "l.txt"),
        ("save", "{}"),
        write("save", 7),
        ("save", "null"),
        ("nothing", '{"path":"n.txt"}'),
        text="I write.",
    )
    world = task(calls, called(write("edit_file", "e.txt")), said("It is done."))
    world.results["t.1.2.0"] = CallResult(operation="t.1.2.0", text="no", state="raised", failure="tool_error")
    one, receipt = delivered(world)
    assert (one.id, one.task, one.turn, one.status, one.owner) == ("t.1", "t", 1, "delivered", "o")
    assert (receipt.outcome, receipt.text, receipt.is_shortened) == ("completed", "It is done.", False)
    assert receipt.changed_paths == ["a.txt", "b.txt"], "what a writing call was given, if it returned, once"
    assert (receipt.rounds, receipt.round, receipt.provider) == (3, None, None)
    assert (receipt.last_tool, receipt.operations, receipt.shells) == ("edit_file", [], [])
    assert receipt.note == notes.TASK_DELIVERED
    assert one.entry == {
        "kind": "task_ended",
        "payload": one.receipt,
        "text": told(receipt),
        "task_thread": "t",
        "owner_thread": "o",
    }


def test_a_refused_task_delivers_names_numbers_and_its_own_words_and_not_a_byte_more():
    first = called(write("write_file", CANARY), write("nothing", CANARY), text="First I look.")
    world = task(first, REFUSAL)
    world.result = lambda operation: CallResult(operation=operation, text=CANARY, state="unknown", failure="unknown")
    world.shells = [ShellFact(id="s1", state="running")]
    one, receipt = delivered(world)
    assert (one.status, receipt.outcome, receipt.reason) == ("cancelled", "stopped", "refused")
    assert (receipt.provider, receipt.category, receipt.round) == ("openai-chat", None, 2)
    assert (receipt.text, receipt.last_tool) == ("First I look.", "write_file")
    assert receipt.operations == [OperationFact(id="t.1.1.0", tool="write_file", state="unknown")]
    assert receipt.shells == [ShellFact(id="s1", state="running")]
    assert receipt.changed_paths == []
    assert receipt.note == notes.TASK_REFUSED
    assert CANARY not in msgspec.json.encode(one).decode()
    assert "partial" not in msgspec.json.encode(one).decode()


@pytest.mark.parametrize(
    ("reply", "fields", "status", "failure", "reason"),
    [
        (http(400, "invalid_request_error"), {}, "failed", "invalid_request", None),
        (called(("nothing", "{}")), {}, "failed", None, "stuck_loop"),
    ],
)
def test_every_other_end_says_that_nothing_of_it_is_a_result(
    reply: Report, fields: dict[str, Any], status: str, failure: str | None, reason: str | None
):
    one, receipt = delivered(task(reply, **fields))
    assert (one.status, receipt.failure_class, receipt.reason) == (status, failure, reason)
    assert receipt.note == notes.TASK_UNFINISHED
    assert (receipt.provider, receipt.shells) == (None, [])


def test_a_cancelled_task_names_the_operation_whose_effect_is_unknown():
    world = task(called(write("save", "a.txt"), ("pay", "{}")))
    world.shells = [ShellFact(id="s1", state="running")]
    life = Life(world)
    while not world.effects:
        life.step()
    life.cancelling = ""
    assert isinstance(life.finish(), Outcome)
    (one,) = world.deliveries.values()
    receipt = msgspec.convert(one.receipt, Receipt)
    assert (one.status, receipt.outcome) == ("cancelled", "cancelled")
    assert receipt.operations == [OperationFact(id="t.1.1.0", tool="save", state="unknown")]
    assert receipt.shells == [], "this end closes them"


def test_what_a_person_or_a_status_function_has_settled_is_not_unfinished():
    for status, named in [("done", []), ("not_done", []), ("unknown", ["t.1.1.0"])]:
        world = task(called(("pay", "{}")), said("done"))
        world.result = lambda operation: CallResult(operation=operation, text="", state="unknown", ended_at=3)
        assert isinstance(run(world), Outcome)
        world.operations["t.1.1.0"] = msgspec.structs.replace(world.operations["t.1.1.0"], status=status)
        world.deliveries.clear()
        world.reply = scripted(said("and that"))
        world.message("go on")
        _, receipt = delivered(world)
        assert [each.id for each in receipt.operations] == named


def test_a_long_text_is_shortened_and_says_so_without_pointing_anywhere():
    most = 16_384
    _, whole = delivered(task(said("x" * most)))
    assert (len(whole.text), whole.is_shortened) == (most, False)
    _, receipt = delivered(task(said("x" * (most + 1))))
    assert (len(receipt.text), receipt.is_shortened) == (most, True)
    assert f"answer (shortened):\n{receipt.text}" in told(receipt)
    assert "log" not in told(receipt)


def test_a_thread_that_is_no_task_delivers_nothing_and_a_task_without_owner_no_event():
    chat = task(said("hello"), thread_kind="chat")
    run(chat)
    assert chat.deliveries == {}
    one, _ = delivered(task(said("done"), task=TaskFacts()))
    assert (one.owner, one.entry) == (None, None)


# ---- as its owner reads it --------------------------------------------------------------------------


def test_an_owner_reads_facts_line_by_line_and_then_the_text():
    receipt = Receipt(
        task="t",
        turn=1,
        status="cancelled",
        outcome="stopped",
        reason="refused",
        text="so far",
        provider="openai",
        category="cyber",
        round=2,
        last_tool="pay",
        operations=[OperationFact(id="t.1.1.0", tool="pay", state="unknown")],
        shells=[ShellFact(id="s1", state="running"), ShellFact(id="s2", state="exited")],
        changed_paths=["a", "b"],
        note="N",
    )
    assert told(receipt).splitlines() == [
        "[task t ended]",
        "outcome: stopped (refused)",
        "delivery: cancelled",
        "refused_by: openai",
        "category: cyber",
        "round: 2",
        "last_tool: pay",
        "unfinished_operations: t.1.1.0 pay unknown",
        "shells_left_running: s1 running, s2 exited",
        "changed_paths: a, b",
        "note: N",
        "what the task had said until then:",
        "so far",
    ]
    failed = Receipt(task="t", turn=1, status="failed", outcome="failed", failure_class="auth")
    assert told(failed).splitlines() == ["[task t ended]", "outcome: failed", "failure: auth", "delivery: failed"]
    assert delivery(failed, "o").entry["text"] == told(failed)


def test_the_paths_are_those_that_a_person_gave_the_calls_instead():
    world = task(called(write("write_file", "a.txt")), said("Done."), permissions={"write": "ask"})
    assert isinstance(run(world), Parked)
    edited = {"path": "b.txt", "text": ""}
    world.put("answer", {"operation": "t.1.1.0", "tool": "write_file", "answer": "once", "arguments": edited})
    _, receipt = delivered(world)
    assert receipt.changed_paths == ["b.txt"]
    assert evidence_of(world).changed_paths == ["b.txt"]


# ---- the evidence of a stop -------------------------------------------------------------------------


def test_a_stop_tells_the_last_call_its_outcome_and_the_paths_that_were_written():
    world = task(
        called(write("write_file", "a.txt"), text="I write."),
        called(
            write("edit_file", "b.txt"), write("save", "c.txt"), ("pay", '\n{"euro": 1,\n "to": "x"}'), text="I pay."
        ),
        said("Done."),
    )
    run(world)
    assert evidence_of(world) == Evidence(
        last_message="Done.",
        last_tool=ToolEvidence(tool="pay", args_firstline='{"euro": 1,', outcome="returned"),
        changed_paths=["a.txt", "b.txt"],
    )


def test_a_stop_tells_no_more_than_the_beginning_of_a_long_text_and_of_long_arguments():
    long = '{"path": "' + "p" * 300 + '"}'
    world = task(called(("write_file", long)), said("x" * 16_385))
    run(world)
    told_ = evidence_of(world)
    assert told_.last_message == "x" * 16_384
    assert told_.last_tool == ToolEvidence(tool="write_file", args_firstline=long[:200], outcome="returned")


def test_a_stop_that_is_or_may_be_a_refusal_withholds_all_but_names_and_the_tasks_words():
    world = task(called(write("write_file", CANARY), text="I write."), REFUSAL)
    run(world)
    told_ = evidence_of(world, refused=True)
    assert told_ == Evidence(
        last_message="I write.",
        last_tool=ToolEvidence(tool="write_file", args_firstline="withheld", outcome="withheld"),
        changed_paths=[],
    )


def test_a_stop_before_anything_was_said_or_called_tells_that():
    world = task(cut(CallPart(name="pay", arguments="", whole=False)))
    Life(world).step()
    assert evidence_of(world) == Evidence(last_message="", last_tool=None, changed_paths=[])


def test_a_stop_tells_of_a_call_without_end_and_of_one_that_failed_or_was_withheld():
    world = task(called(("pay", "")), permissions=DENY_EFFECTS)
    life = Life(world)
    while not any(row.kind == "reply" for row in world.rows):
        life.step()
    assert last_tool(world.rows) == ToolEvidence(tool="pay", args_firstline="", outcome="none yet")
    while not any(row.kind == "result" for row in world.rows):
        life.step()
    assert last_tool(world.rows).outcome == "tool_denied"
    hidden = [msgspec.structs.replace(row, quarantine="placeholder") for row in world.rows]
    assert last_tool(hidden).outcome == "withheld"
    stray = next(row for row in world.rows if row.kind == "result")
    assert evidence([stray], refused=False).last_tool is None


def test_arguments_that_another_version_stored_and_nobody_can_read_name_no_path():
    world = task(called(write("write_file", "a.txt"), write("write_file", "b.txt")), said("Done."))
    run(world)
    reply = next(row for row in world.rows if row.kind == "reply")
    reply.content["parts"][0]["arguments"] = '{"path": '
    assert evidence_of(world).changed_paths == ["b.txt"]


def last_tool(rows: list[Row]) -> ToolEvidence:
    found = evidence(rows, refused=False).last_tool
    assert found is not None
    return found
