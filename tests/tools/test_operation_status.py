"""`operation_status`: enumerated facts from the journal, and no byte of what went in or came out."""

import asyncio
import json

import pytest
from tests.tools.journal import Journal, journal, operation

from stoic.errors import BrokenInvariantError
from stoic.tools.operation_status import facts_of, operation_status_tool

CANARY = "canary-5512"


@pytest.mark.parametrize(
    ("known", "facts"),
    [
        (operation("t.1.1.0", "intended", runs=0), (False, False, "none_yet", "not_asked")),
        (operation("t.1.1.0", "running"), (True, False, "none_yet", "not_asked")),
        (operation("t.1.1.0", "returned"), (True, True, "returned", "not_asked")),
        (operation("t.1.1.0", "raised"), (True, True, "raised", "not_asked")),
        (operation("t.1.1.0", "raised", runs=0), (False, True, "not_run", "not_asked")),
        (operation("t.1.1.0", "unknown"), (True, True, "unknown", "not_asked")),
        (operation("t.1.1.0", "unknown", status="unknown"), (True, True, "unknown", "unknown")),
        (operation("t.1.1.0", "unknown", status="not_done"), (True, True, "unknown", "not_done")),
        (operation("t.1.1.0", "unknown", status="done"), (True, True, "unknown", "done")),
        (operation("t.1.1.0", "unknown", status=CANARY), (True, True, "unknown", "not_asked")),
    ],
)
def test_each_state_of_the_journal_has_its_facts(known, facts):
    told = facts_of(known)
    assert (told.started, told.ended, told.end, told.status) == facts
    assert told.found


def test_a_model_gets_the_facts_of_its_own_thread_and_nothing_else(tmp_path):
    async def story(room: Journal) -> None:
        await room.add(operation("t.1.1.0", "unknown", status="not_done"))
        await room.result("t.1.1.0", CANARY)
        told = await room.call(operation_status_tool(), '{"id":"t.1.1.0"}')
        assert told.state == "returned"
        assert json.loads(told.text) == {
            "found": True, "started": True, "ended": True, "end": "unknown", "status": "not_done",
        }  # fmt: skip
        for stranger in (CANARY, "u.1.1.0", "t.1.1.1"):
            told = await room.call(operation_status_tool(), json.dumps({"id": stranger}))
            assert json.loads(told.text)["found"] is False
            assert stranger not in told.text

    asyncio.run(journal(tmp_path, story))


def test_models_see_only_the_id_as_a_parameter():
    tool = operation_status_tool()
    assert tool.effect == "read"
    assert list(tool.schema.parameters["properties"]) == ["id"]
    assert tool.facts.check({"id": "x", "context": {}}) is not None


def test_a_tool_that_looks_at_the_runtime_does_not_run_outside_one():
    with pytest.raises(BrokenInvariantError, match="operation_status looks at the runtime"):
        operation_status_tool().bind({"id": "x"}, "t.1.1.0")
