"""`remember` and `recall`: once by the operation, whole or not at all, and nothing that is withheld in this thread."""

import asyncio
import json

import pytest
from tests.tools.journal import Journal, journal

from stoic.core.commands import CallResult
from stoic.errors import BrokenInvariantError, ToolDeclarationError
from stoic.records import Memory, Row, Step
from stoic.tools.memories import LIMIT_CHARACTERS, memory_tools

REMEMBER, RECALL = memory_tools("helper")
NOTHING = "nothing that is remembered fits"


async def remember(room: Journal, text: str, identity: str = "t.1.1.0", **arguments) -> CallResult:
    return await room.call(REMEMBER, json.dumps({"text": text, **arguments}), identity)


async def recall(room: Journal, query: str = "", **arguments) -> str:
    return (await room.call(RECALL, json.dumps({"query": query, **arguments}))).text


def test_what_was_remembered_is_recalled_in_any_thread_of_the_scope(tmp_path):
    async def story(room: Journal) -> None:
        told = await remember(room, "  Ada wants tabs. ", tags=["style", " "])
        assert (told.state, told.text) == ("returned", "Remembered: Ada wants tabs.")
        assert await room.store.memories("helper", 9) == [
            Memory(
                id="call:t.1.1.0", scope="helper", thread="t", text="Ada wants tabs.", tags=["style"],
                created_at=1_790_000_000_000,
            )
        ]  # fmt: skip
        for query in ("tabs", "STYLE", "ada spaces", ""):
            assert await recall(room, query) == "- 2026-09-21: Ada wants tabs. (tags: style)"
        assert await recall(room, "spaces") == NOTHING
        other = await room.call(memory_tools("other")[1], '{"query":"tabs"}')
        assert other.text == NOTHING

    asyncio.run(journal(tmp_path, story))


def test_the_same_operation_and_the_same_text_are_one_memory(tmp_path):
    async def story(room: Journal) -> None:
        await remember(room, "Ada wants tabs.")
        await remember(room, "Ada wants tabs.")
        told = await remember(room, "Ada wants tabs.", "t.1.2.0")
        assert told.text == "Remembered: Ada wants tabs."
        assert len(await room.store.memories("helper", 9)) == 1
        await remember(room, "Ada wants more tabs.", "t.1.3.0")
        assert len(await room.store.memories("helper", 9)) == 2

    asyncio.run(journal(tmp_path, story))


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({"text": " \n"}, "there is nothing to remember: the text is empty"),
        ({"text": "x" * (LIMIT_CHARACTERS + 1)}, "the text has 4001 characters, and a memory at most 4000"),
        ({"text": "x", "tags": ["y"] * 11}, "at most 10 tags of 50 characters each"),
        ({"text": "x", "tags": ["y" * 51]}, "at most 10 tags of 50 characters each"),
    ],
)
def test_what_cannot_be_kept_says_why_and_keeps_nothing(tmp_path, arguments, why: str):
    async def story(room: Journal) -> None:
        told = await remember(room, **arguments)
        assert told.state == "raised"
        assert why in told.text
        assert await room.store.memories(None, 9) == []
        told = await room.call(RECALL, '{"query":"x","limit":21}')
        assert "limit is 21; it must be from 1 to 20" in told.text

    asyncio.run(journal(tmp_path, story))


def test_a_memory_is_shown_whole_or_counted(tmp_path):
    async def story(room: Journal) -> None:
        for number in range(8):
            await remember(room, f"{number} " + "long " * 790, f"t.1.1.{number}")
        shown = await recall(room, "long", limit=20)
        assert shown.count("\n- ") == 5
        assert shown.endswith("\n[2 more were found; look for fewer or other words]")
        assert len(shown) < 24_100
        assert len((await recall(room, "long", limit=2)).splitlines()) == 2
        told = await remember(room, "x" * 300, "t.1.2.0")
        assert told.text == f"Remembered: {'x' * 100}…"

    asyncio.run(journal(tmp_path, story, shown_characters=30_000))


def test_what_stands_in_a_withheld_recall_is_not_recalled_in_that_thread_again(tmp_path):
    async def story(room: Journal) -> None:
        await remember(room, "the canary sings")
        await remember(room, "the dog barks", "t.1.1.1")
        content = {"call": 0, "operation": "t.1.2.0", "tool": "recall", "text": await recall(room, "canary")}
        row = Row(
            id="r", thread="t", seq=1, generation=1, segment="s", turn=1, round=1, role="tool", kind="result",
            created_at=1, visible=True, content=content,
        )  # fmt: skip
        await room.store.append(room._lease, Step(rows=[row]))
        room._rows = 1
        assert "canary" in await recall(room, "the canary")
        await room.quarantine(1)
        assert await recall(room, "the canary") == "- 2026-09-21: the dog barks"
        assert await recall(room, "canary") == NOTHING

    asyncio.run(journal(tmp_path, story))


def test_remembering_asks_nobody_and_both_need_the_runtime():
    assert (REMEMBER.facts.effect, REMEMBER.facts.internal, REMEMBER.facts.idempotent) == ("write", True, True)
    assert REMEMBER.facts.keyed
    assert (RECALL.facts.effect, RECALL.facts.internal) == ("read", False)
    assert list(REMEMBER.schema.parameters["properties"]) == ["text", "tags"]
    with pytest.raises(BrokenInvariantError):
        REMEMBER.bind({"text": "x"}, "t.1.1.0")
    with pytest.raises(ToolDeclarationError, match="the scope is empty; name whose memories these are"):
        memory_tools(" ")
