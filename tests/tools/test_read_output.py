"""`read_output`: the rest of a long result, as long as a model may read that result."""

import asyncio
import json
import re

import pytest
from tests.tools.journal import Journal, journal

from stoic.tools.declaration import Tool
from stoic.tools.read_output import read_output_tool
from stoic.tools.spilling import SHOWN_CHARACTERS

TEXT = "".join(f"line {number}\n" for number in range(1, 5001))


async def talk() -> str:
    """Say much."""
    return TEXT


async def spilled(room: Journal, identity: str = "t.1.1.0") -> str:
    """Run a call with a long result, store that result, and return its text."""
    result = await room.call(Tool(talk, effect="read"), "{}", identity)
    await room.result(identity, result.text)
    return result.text


def test_a_model_finds_the_whole_output_by_what_the_cut_result_says(tmp_path):
    async def story(room: Journal) -> None:
        shown = await spilled(room)
        found = re.search(r"from first_line=(\d+) on; invocation id: (\S+)\]", shown)
        assert found
        line, tool = int(found[1]), read_output_tool()
        text = "".join(TEXT.splitlines(keepends=True)[: line - 1])
        assert shown.startswith(text)
        while True:
            page = await room.call(tool, json.dumps({"operation": found[2], "first_line": line}))
            part, more, hint = page.text.partition("\n[more follows: go on with first_line=")
            text += part
            if not more:
                break
            line = int(hint.rstrip("]"))
        assert text == TEXT

    # A page must itself not be spilled.
    asyncio.run(journal(tmp_path, story, shown_characters=SHOWN_CHARACTERS))


def test_a_quarantined_result_is_not_read_by_this_door(tmp_path):
    async def story(room: Journal) -> None:
        text = (await room.call(Tool(talk, effect="read"), "{}", "t.1.1.0")).text
        seq = await room.result("t.1.1.0", text)
        assert (await room.call(read_output_tool(), '{"operation":"t.1.1.0"}')).state == "returned"
        await room.quarantine(seq)
        told = await room.call(read_output_tool(), '{"operation":"t.1.1.0"}')
        assert told.state == "raised"
        assert "line" not in told.text

    asyncio.run(journal(tmp_path, story))


@pytest.mark.parametrize("name", ["t.9.9.9", "../../log.db", "u.1.1.0", ""])
def test_what_was_never_kept_for_this_thread_is_not_found(tmp_path, name: str):
    async def story(room: Journal) -> None:
        await spilled(room)
        told = await room.call(read_output_tool(), json.dumps({"operation": name}))
        assert told.text == (
            "[runtime] read_output raised LookupError: no output of such an operation can be read here; "
            "use the invocation id of a cut result"
        )

    asyncio.run(journal(tmp_path, story))


def test_output_whose_result_is_not_in_the_log_is_not_read(tmp_path):
    async def story(room: Journal) -> None:
        await room.call(Tool(talk, effect="read"), "{}", "t.1.1.0")
        assert (await room.call(read_output_tool(), '{"operation":"t.1.1.0"}')).state == "raised"

    asyncio.run(journal(tmp_path, story))


def test_whoever_decides_about_readability_is_asked_for_each_reading(tmp_path):
    asked: list[str] = []

    async def never(_, operation: str) -> bool:
        asked.append(operation)
        return False

    async def story(room: Journal) -> None:
        await spilled(room)
        for _ in range(2):
            assert (await room.call(read_output_tool(never), '{"operation":"t.1.1.0"}')).state == "raised"

    asyncio.run(journal(tmp_path, story))
    assert asked == ["t.1.1.0", "t.1.1.0"]


def test_a_short_result_is_not_kept(tmp_path):
    async def brief() -> str:
        return "x" * 1000

    async def story(room: Journal) -> None:
        assert (await room.call(Tool(brief, effect="read"), "{}")).text == "x" * 1000
        assert not (tmp_path / "spill").exists()

    asyncio.run(journal(tmp_path, story))


def test_the_text_of_a_long_exception_is_cut_and_kept_too(tmp_path):
    async def fail() -> str:
        raise ValueError(TEXT)

    async def story(room: Journal) -> None:
        result = await room.call(Tool(fail, effect="read"), "{}", "t.1.1.0")
        assert result.state == "raised"
        assert result.text.startswith("[runtime] fail raised ValueError: line 1\n")
        path = room.spill.path("t", "t.1.1.0")
        assert path is not None
        assert TEXT.strip() in path.read_text()

    asyncio.run(journal(tmp_path, story))


def test_without_a_context_a_long_result_is_cut(tmp_path):
    async def story(room: Journal) -> None:
        room.context = None  # pyright: ignore[reportAttributeAccessIssue] - an execution outside a runtime
        result = await room.call(Tool(talk, effect="read"), "{}")
        assert "They were not kept" in result.text
        assert len(result.text) < SHOWN_CHARACTERS + 200

    asyncio.run(journal(tmp_path, story))
