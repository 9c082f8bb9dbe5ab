"""Extraction: memories come of views alone, once, and never of what is withheld, unfinished or dead."""

from typing import Any

import pytest
from msgspec.structs import replace
from tests.runtime.harness import Bench, outcome, play

from stoic.errors import UsageError
from stoic.ports import Outside
from stoic.records import ImagePart, Row
from stoic.runtime.agents import Agent
from stoic.runtime.extraction import MOST_A_TURN, RECALLED, WITHHELD, Extracted, extract, turn_text
from stoic.runtime.threads import Thread
from stoic.tools.declaration import Tool
from stoic.tools.memories import memory_tools
from stoic.wiring import Runtime

CANARY = "canary-3b77"
REFUSED = ["finish:content_filter"]
LOOK = ["tool:look({})"]


class Extractor:
    """Keeps the texts it was given and answers with fixed memories, or with every line of the text."""

    def __init__(self, *memories: str) -> None:
        self.memories = list(memories)
        self.texts: list[str] = []

    async def __call__(self, text: str) -> list[str]:
        self.texts.append(text)
        return self.memories or text.splitlines()


def thread(bench: Bench, runtime: Runtime, *more: Tool, **fields: Any) -> Thread:
    def look() -> str:
        return f"I saw {CANARY}"

    tools = [Tool(look, effect="read"), *more]
    return runtime.thread("t", Agent("openai-chat:m", tools=tools, permissions="allow"), session="s", **fields)


def refusing(*replies: Any) -> dict[str, Any]:
    return {"rules": [{"request_contains": CANARY, "reply": REFUSED}], "replies": list(replies), "default": "ok"}


async def made(outside: Outside, turn: int = 1, extractor: Extractor | None = None) -> tuple[Extracted, str]:
    """Return what became of a turn, and the text it was made of."""
    extractor = extractor or Extractor()
    done = await extract(outside, "t", turn, extractor, scope="helper")
    return done, "\n".join(extractor.texts)


def test_a_turn_becomes_memories_once_however_often_it_is_done(tmp_path):
    async def story(bench: Bench) -> None:
        async with bench.runtime() as runtime:
            await thread(bench, runtime).run("Ada wants tabs")
            facts = Extractor(" Ada wants tabs ", "", "It was done")
            done, text = await made(runtime.outside, extractor=facts)
            assert (done, text) == (Extracted(stored=2), "USER: Ada wants tabs\n\nASSISTANT: done")
            kept = await runtime.store.memories("helper", 9)
            assert [(each.id, each.thread, each.text) for each in kept] == [
                ("turn:t.1.1", "t", "It was done"),
                ("turn:t.1.0", "t", "Ada wants tabs"),
            ]
            assert kept[0].created_at == bench.clock.now_ms()
        async with bench.runtime() as runtime:
            assert (await made(runtime.outside, extractor=Extractor("Ada wants tabs", "It was done")))[0].stored == 0
            assert (await made(runtime.outside, extractor=Extractor("It was done", "New")))[0].stored == 0
            assert await runtime.store.memories("helper", 9) == kept
            await thread(bench, runtime).run("more")
            last = (await runtime.store.load("t")).rows[-1]
            more = await extract(
                runtime.outside, "t", 2, Extractor("Ada wants tabs", "B"), scope="helper", after_seq=last.seq
            )
            assert more.stored == 0
            assert (await made(runtime.outside, 2, Extractor("Ada wants tabs", "B")))[0].stored == 1
            assert (await made(runtime.outside, 3, Extractor("C"))) == (Extracted(), "")

    play(tmp_path, [["text:done"], "ok"], story)


def test_nothing_withheld_gets_into_a_memory(tmp_path):
    async def story(bench: Bench) -> None:
        async with bench.runtime() as runtime:
            talk = thread(bench, runtime)
            assert outcome(await talk.run("look")).text == "I see nothing."
            done, text = await made(runtime.outside)
            assert done.stored == 5
            assert CANARY not in text
            assert text.replace("\n", "|") == (
                f"USER: look||ASSISTANT: |(calls look with {{}})||RESULT OF look: {WITHHELD}||ASSISTANT: I see nothing."
            )
            await talk.post("mail", {"body": CANARY})
            assert outcome(await talk.resume()).outcome == "completed"
            assert (await made(runtime.outside, 2))[1] == f"USER: {WITHHELD}\n\nASSISTANT: ok"
            assert outcome(await talk.run(f"say {CANARY}")).refused
            assert await made(runtime.outside, 3) == (Extracted(), "")
            kept = await runtime.store.memories(None, 99)
            assert kept
            assert not any(CANARY in each.text for each in kept)

    play(tmp_path, refusing(LOOK, ["text:I see nothing."]), story)


def test_a_task_that_ended_by_refusal_becomes_nothing(tmp_path):
    async def story(bench: Bench) -> None:
        async with bench.runtime() as runtime:
            task = thread(bench, runtime, kind="task")
            assert outcome(await task.run("first")).outcome == "completed"
            assert (await made(runtime.outside))[0].stored == 2
            assert outcome(await task.run("look")).refused
            for turn in (1, 2):
                assert await made(runtime.outside, turn) == (Extracted(), "")
            assert await runtime.store.recall("helper", "first", 9) == []

    play(tmp_path, refusing("ok", LOOK), story)


def test_what_was_recalled_is_not_learnt_again(tmp_path):
    async def story(bench: Bench) -> None:
        async with bench.runtime() as runtime:
            tools = memory_tools("helper")
            await thread(bench, runtime, *tools).run("keep it")
            done, text = await made(runtime.outside, extractor=Extractor(*map(str, range(MOST_A_TURN + 5))))
            assert done.stored == MOST_A_TURN
            assert "Remembered: The moon is far." in text
            assert f"RESULT OF recall: {RECALLED}" in text
            assert [each.text for each in await runtime.store.recall("helper", "moon", 9)] == ["The moon is far."]

    play(tmp_path, [['tool:remember({"text":"The moon is far."})'], ['tool:recall({"query":"moon"})'], "ok"], story)


def test_an_extractor_that_fails_costs_nothing_but_its_memories(tmp_path):
    async def fails(text: str) -> list[str]:
        raise ValueError(text)

    async def wrong(text: str) -> list[str]:
        return [text, 7]  # pyright: ignore[reportReturnType] - what a careless function does

    async def story(bench: Bench) -> None:
        async with bench.runtime() as runtime:
            await thread(bench, runtime).run("hello")
            assert await extract(runtime.outside, "t", 1, fails, scope="a") == Extracted(error="ValueError")
            assert await extract(runtime.outside, "t", 1, wrong, scope="a") == Extracted(error="AttributeError")
            assert await runtime.store.memories(None, 9) == []

    play(tmp_path, ["ok"], story)


@pytest.mark.parametrize("is_async", [True, False])
def test_an_agent_takes_an_extractor_sync_or_async(tmp_path, is_async: bool):
    def keeps(text: str) -> list[str]:
        return [text]

    async def keeps_later(text: str) -> list[str]:
        return [text]

    agent = Agent("openai-chat:m", permissions={}, extractor=keeps_later if is_async else keeps)

    async def story(bench: Bench) -> None:
        async with bench.runtime() as runtime:
            await runtime.thread("t", agent).run("Ada wants tabs")
            assert [each.text for each in await runtime.store.memories(None, 9)] == [
                "USER: Ada wants tabs\n\nASSISTANT: ok"
            ]

    play(tmp_path, ["ok"], story)


def fails(text: str) -> list[str]:
    raise ValueError(CANARY)


def says_one(text: str) -> str:
    return "one text"


@pytest.mark.parametrize(("extractor", "why"), [(fails, "ValueError"), (says_one, "TypeError")])
def test_an_extractor_that_fails_is_told_without_what_it_said(tmp_path, caplog, extractor, why: str):
    agent = Agent("openai-chat:m", permissions={}, extractor=extractor)

    async def story(bench: Bench) -> None:
        async with bench.runtime() as runtime:
            assert outcome(await runtime.thread("t", agent).run("hello")).outcome == "completed"
            assert await runtime.store.memories(None, 9) == []

    play(tmp_path, ["ok"], story)
    assert [each.getMessage() for each in caplog.records] == [
        f"no memories of turn 1 of thread t: the extractor raised {why}"
    ]


def test_an_extractor_or_summariser_that_takes_something_else_is_refused_when_the_agent_is_declared():
    def nothing() -> None: ...

    with pytest.raises(UsageError, match="extractor: it is called with one argument, the turn's text; yours cannot be"):
        Agent("openai-chat:m", extractor=nothing)  # pyright: ignore[reportArgumentType] - the point of the test
    with pytest.raises(UsageError, match="summariser: it is called with one argument, the messages; yours cannot be"):
        Agent("openai-chat:m", summariser=nothing)  # pyright: ignore[reportArgumentType] - the point of the test


def row(seq: int, kind: str, **fields: Any) -> Row:
    known: dict[str, Any] = {
        "generation": 1,
        "segment": "s",
        "turn": 1,
        "round": 1,
        "role": "user",
        "created_at": 1,
        "content": {},
    }
    return Row(id=f"r{seq}", thread="t", seq=seq, kind=kind, **(known | fields))


def test_only_what_was_accepted_and_shown_in_the_turn_is_told():
    shown = {"visible": True, "accepted": True}
    rows = [
        row(1, "message", content={"text": "of another turn"}, **shown | {"turn": 0}),
        row(2, "message", content={"text": "hello"}, **shown),
        row(3, "nudge", content={"text": "a reminder"}, **shown),
        row(4, "event", content={"kind": "mail", "text": "not accepted"}, visible=True),
        row(5, "event", content={"kind": "mail", "text": "left"}, **shown, quarantine="excluded"),
        row(6, "attempt", content={"text": "for people"}),
        row(7, "outcome", content={"outcome": "completed"}, role="system"),
    ]
    assert turn_text(rows, 1) == "USER: hello"
    assert turn_text(rows[:-1], 1) == ""
    seen = row(
        2, "message", content={"text": "hello", "images": [ImagePart(media_type="image/png", data_base64=CANARY)]}
    )
    assert CANARY not in turn_text([replace(seen, visible=True, accepted=True), rows[-1]], 1)
