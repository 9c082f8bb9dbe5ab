"""Canaries: what a provider refused is planted with a mark, and the mark is searched for wherever it could come out again."""

import io
import logging
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import pytest
from tests.runtime.harness import Bench, outcome, play

from stoic.cli.exporting import export
from stoic.cli.notices import notices
from stoic.cli.operations import list_operations
from stoic.cli.scan import scan_thread
from stoic.cli.show import show
from stoic.errors import StoicError
from stoic.events import Happening, RoundRolledBack, TextDelta, ThinkingDelta, ToolEnded
from stoic.records import ImagePart
from stoic.runtime.agents import Agent
from stoic.runtime.renderers import EVENT_RENDERERS
from stoic.runtime.threads import Thread
from stoic.settings import Access, Settings
from stoic.tools.declaration import Tool
from stoic.tools.read_output import read_output_tool
from stoic.wiring import Runtime

CANARY = "canary-8d21"
REFUSED = ["finish:content_filter"]
LOOK = ["tool:look({})"]
IMAGE = "Y2FuYXJ5LThkMjE="
"""An image's data."""

Plant = Callable[["Place"], Awaitable[None]]


class Place:
    """One log with a chat in it, what its tool returns, and everything that its runtimes sent and told."""

    def __init__(self, bench: Bench, result: str = CANARY) -> None:
        self.bench = bench
        self.result = result
        self.wrote: list[str] = []

    def runtime(self) -> Runtime:
        """Return a runtime as a new process would make it; providers of three APIs are the scripted one."""
        access = Access(base_url=self.bench.provider.base_url)
        providers = ("openai-chat", "anthropic", "mistral")
        settings = Settings(database=str(self.bench.path), access=dict.fromkeys(providers, access))
        return Runtime(settings=settings, clock=self.bench.clock)

    def thread(self, runtime: Runtime, name: str = "t", *, model: str = "openai-chat:m", **fields: Any) -> Thread:
        """Return a handle on a thread."""

        def look() -> str:
            return self.result

        def write_file(text: str) -> str:
            self.wrote.append(text)
            return "written"

        tools = [Tool(look, effect="read"), Tool(write_file), read_output_tool()]
        return runtime.thread(name, Agent(model, fallbacks=["mistral:n"], tools=tools, permissions="allow"), **fields)

    async def go_on(self, model: str = "openai-chat:m") -> None:
        """Do everything afterwards that could bring it out: in this thread, a fork, another one, after a compaction."""
        async with self.runtime() as runtime:
            thread = self.thread(runtime, model=model)
            for question in ("and now?", "and then?"):
                assert outcome(await thread.run(question, self.bench.emit)).outcome == "completed"
            fork = await thread.fork("f")
            assert outcome(await fork.run("hello", self.bench.emit)).outcome == "completed"
            assert outcome(await self.thread(runtime, "u", model=model).run("hi")).outcome == "completed"
            assert (await thread.compact(self.bench.emit)).state == "begun"
            assert outcome(await thread.run("go on", self.bench.emit)).outcome == "completed"
        async with self.runtime() as runtime:
            thread = self.thread(runtime, model=model)
            self.bench.clock.advance(7 * 3600)
            await thread.wake(self.bench.emit)
            assert outcome(await thread.run("bye", self.bench.emit)).outcome == "completed"

    async def assert_gone(self, canary: str, requests: int, events: int) -> None:
        """Check that later requests, later events, notices and other threads' rows have nothing of it."""
        sent = self.bench.provider.requests[requests:]
        assert sent
        assert not [request.number for request in sent if request.holds(canary)]
        assert canary not in told(self.bench.events[events:])
        async with self.runtime() as runtime:
            store = runtime.store
            others = [await store.load(each.id) for each in await store.threads() if each.id != "t"]
            assert canary not in said(others)
            assert canary not in said([await store.notices(), await store.refused_since(0)])
            own = await store.load("t")
        assert canary not in said([row.content for row in own.rows if row.kind in OUTCOMES])
        assert canary not in said([own.guard, own.operations])


OUTCOMES = {"attempt", "outcome", "quarantine", "refusal", "fallback", "compaction", "compaction_failed", "kept"}
"""Kinds of rows that the runtime writes about what happened."""


def told(events: list[Happening]) -> str:
    """Return events as `--json` prints them, and the pieces of streamed texts put together."""
    return said(events) + "".join(each.text for each in events if isinstance(each, TextDelta | ThinkingDelta))


def said(value: object) -> str:
    """Return a value as JSON, as a program gets it."""
    return msgspec.json.encode(value).decode()


def looked_at(thread: str) -> str:
    """Return everything that the commands print which look at a thread, without `--reveal`."""
    out = io.StringIO()
    for as_json in (False, True):
        show(thread, as_json=as_json, stdout=out)
        scan_thread(thread, as_json=as_json, stdout=out)
        notices(every=True, as_json=as_json, stdout=out)
        list_operations(thread=thread, unknown=False, as_json=as_json, stdout=out)
    for form in ("json", "jsonl", "md"):
        export(thread, form=form, stdout=out)
    return out.getvalue()


@pytest.fixture
def plant(tmp_path, caplog, monkeypatch):
    """Return what plays a story and then searches also the records of the log and the commands' output."""
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("STOIC_DB", str(tmp_path / "log.db"))

    def run(script: Any, story: Plant, *canaries: str, result: str = CANARY, forked: bool = True) -> None:
        play(tmp_path, script, lambda bench: story(Place(bench, result)))
        for canary in canaries or (CANARY,):
            assert canary not in caplog.text
            assert not any(canary in str(record.__dict__) for record in caplog.records)
            for thread in ("t", "f") if forked else ("t",):
                assert canary not in looked_at(thread)

    return run


def refusing(*replies: Any, canary: str = CANARY) -> dict[str, Any]:
    """Return the script of a provider that refuses whatever shows the canary."""
    return {"rules": [{"request_contains": canary, "reply": REFUSED}], "replies": list(replies), "default": "ok"}


def test_a_quarantined_tool_result_comes_out_nowhere(plant):
    async def story(place: Place) -> None:
        bench = place.bench
        async with place.runtime() as runtime:
            thread = place.thread(runtime)
            assert outcome(await thread.run("look", bench.emit)).outcome == "completed"
            requests = len(bench.provider.requests)
            events = 1 + next(index for index, each in enumerate(bench.events) if isinstance(each, ToolEnded))
            assert [request.holds(CANARY) for request in bench.provider.requests] == [False, True, False]
            assert outcome(await thread.run("look again", bench.emit)).text == "Withheld."
        await place.go_on()
        await place.assert_gone(CANARY, requests, events)
        assert sum(isinstance(each, ToolEnded) for each in bench.events) == 2

    plant(refusing(LOOK, ["text:I see nothing."], LOOK, ["text:Withheld."]), story)


def test_a_quarantined_event_comes_out_nowhere(plant):
    async def story(place: Place) -> None:
        async with place.runtime() as runtime:
            thread = place.thread(runtime)
            await thread.post("mail", {"body": CANARY}, source_channel="inbox-1")
            assert outcome(await thread.resume(place.bench.emit)).outcome == "completed"
        assert [request.holds(CANARY) for request in place.bench.provider.requests] == [True, False]
        await place.go_on()
        await place.assert_gone(CANARY, 1, 0)

    plant(refusing(), story)


def test_what_a_failing_renderer_quotes_of_an_event_comes_out_nowhere(plant, monkeypatch):
    def quote(payload: Any) -> str:
        raise ValueError(f"cannot tell {payload}")

    monkeypatch.setitem(EVENT_RENDERERS, "mail", quote)

    async def story(place: Place) -> None:
        async with place.runtime() as runtime:
            thread = place.thread(runtime)
            await thread.post("mail", {"body": CANARY})
            assert outcome(await thread.resume(place.bench.emit)).outcome == "completed"
        await place.go_on()
        await place.assert_gone(CANARY, 1, 0)

    plant(refusing(), story)


def test_a_refused_message_comes_out_nowhere(plant):
    async def story(place: Place) -> None:
        async with place.runtime() as runtime:
            assert outcome(await place.thread(runtime).run(f"say {CANARY}", place.bench.emit)).refused
        await place.go_on()
        await place.assert_gone(CANARY, 1, 0)

    plant(refusing(), story)


PARTS = {"text": "canary-text-1", "arguments": "canary-args-2", "thinking": "canary-think-3"}


@pytest.mark.parametrize("call", ["tool", "half_tool"])
def test_a_refused_partial_reply_comes_out_nowhere(plant, call: str):
    async def story(place: Place) -> None:
        bench = place.bench
        async with place.runtime() as runtime:
            assert outcome(await place.thread(runtime, model="anthropic:m").run("go", bench.emit)).refused
        (events,) = (index for index, each in enumerate(bench.events) if isinstance(each, RoundRolledBack))
        assert all(part in told(bench.events[:events]) for part in (PARTS["text"], PARTS["thinking"]))
        await place.go_on("anthropic:m")
        for part in PARTS.values():
            await place.assert_gone(part, 0, events)
        assert not place.wrote

    begun = f'{call}:write_file({{"text":"{PARTS["arguments"]}"' + ("})" if call == "tool" else "")
    partial = [f"thinking:{PARTS['thinking']}", f"text:{PARTS['text']}", begun, "finish:refusal"]
    plant({"replies": [partial], "default": "ok"}, story, *PARTS.values())


EXPLAINED = {
    "anthropic": {"reply": "anthropic.refusal.pre_output.cyber", "patch": {"stop_details.explanation": CANARY}},
    "openai-chat": {"reply": {"status": 400, "body": {"error": {"code": "content_filter", "message": CANARY}}}},
}


@pytest.mark.parametrize("provider", sorted(EXPLAINED))
def test_what_a_provider_explains_of_its_refusal_comes_out_nowhere(plant, provider: str):
    async def story(place: Place) -> None:
        async with place.runtime() as runtime:
            thread = place.thread(runtime, model=f"{provider}:m")
            assert outcome(await thread.run("trigger", place.bench.emit)).refused
        await place.go_on(f"{provider}:m")
        await place.assert_gone(CANARY, 0, 0)

    plant({"rules": [{"request_contains": "trigger", **EXPLAINED[provider]}], "default": "ok"}, story)


def test_withheld_images_come_out_nowhere_and_their_row_still_passes_the_gate(plant):
    async def story(place: Place) -> None:
        bench = place.bench
        async with place.runtime() as runtime:
            thread = place.thread(runtime)
            image = ImagePart(media_type="image/png", data_base64=IMAGE)
            await thread.post("screenshot", {}, text="taken", images=[image])
            assert outcome(await thread.resume(bench.emit)).failure_class == "server_error"
            assert not bench.provider.requests[1].holds(IMAGE)
            assert bench.provider.requests[1].holds("taken")
            bench.clock.advance(3600)
            fork = await thread.fork("g")
            assert outcome(await fork.run("hello")).outcome == "completed"
        await place.go_on()
        await place.assert_gone(IMAGE, 1, 0)
        assert all(request.holds("taken") for request in bench.provider.requests[:7])
        assert all(request.json["model"] == "m" for request in bench.provider.requests)

    broken = {"status": 500, "body": {"error": {"message": "busy"}}}
    plant(refusing(*[broken] * 4, canary=IMAGE), story, IMAGE)


# ---- long results, kept in files ------------------------------------------------------------------

TRIGGER = "trigger-here"
LINES = [f"line {number}" for number in range(1, 10_001)]


def long_result(*, trigger_line: int) -> str:
    """Return a result that is shown in part only: the trigger in one line, the canary in a page further on."""
    lines = list(LINES)
    lines[trigger_line - 1] = TRIGGER
    lines[6_999] = CANARY
    return "\n".join(lines)


def page(first_line: int) -> list[str]:
    """Return a call for a page of the first result."""
    return [f'tool:read_output({{"operation":"t.1.1.0","first_line":{first_line},"limit_lines":10}})']


async def read_in_vain(place: Place) -> None:
    """Ask once more for a page when everything else has happened."""
    async with place.runtime() as runtime:
        assert outcome(await place.thread(runtime).run("read it", place.bench.emit)).outcome == "completed"
        results = [row for row in await place.bench.rows(runtime) if row.kind == "result"]
    assert results[-1].content["failure"] == "tool_error"
    await place.assert_gone(CANARY, 0, 0)
    assert sum(request.holds(TRIGGER) for request in place.bench.provider.requests) == 1
    (kept,) = (place.bench.path.parent / "spill").rglob("*.txt")
    assert CANARY in kept.read_text()


def test_a_withheld_result_cannot_be_read_from_its_file(plant):
    async def story(place: Place) -> None:
        async with place.runtime() as runtime:
            assert outcome(await place.thread(runtime).run("look", place.bench.emit)).text == "No way."
        await place.go_on()
        await read_in_vain(place)

    script = refusing(LOOK, page(6_999), ["text:No way."], *["ok"] * 6, page(6_999), canary=TRIGGER)
    plant(script, story, result=long_result(trigger_line=2))


def test_a_withheld_page_makes_the_other_pages_unreadable_too(plant):
    async def story(place: Place) -> None:
        async with place.runtime() as runtime:
            thread = place.thread(runtime)
            assert outcome(await thread.run("look", place.bench.emit)).text == "No way."
            results = [row for row in await place.bench.rows(runtime) if row.kind == "result"]
        assert [row.quarantine for row in results] == [None, None, "placeholder", None]
        assert "line 4001" in results[1].content["text"]
        await place.go_on()
        await read_in_vain(place)

    script = refusing(
        LOOK, page(4_001), page(5_000), page(6_999), ["text:No way."], *["ok"] * 6, page(1), canary=TRIGGER
    )
    plant(script, story, result=long_result(trigger_line=5_001))


def test_what_ended_a_task_comes_out_nowhere_else(plant):
    async def story(place: Place) -> None:
        bench = place.bench
        async with place.runtime() as runtime:
            task = place.thread(runtime, "task", kind="task")
            ended = outcome(await task.run("look", bench.emit))
            assert ended.refused
            assert CANARY not in said(ended)
            events = 1 + next(index for index, each in enumerate(bench.events) if isinstance(each, ToolEnded))
            assert CANARY not in said([bench.events[events:], await runtime.store.notices()])
            stone = next(row for row in await bench.rows(runtime, "task") if row.kind == "refusal_stop")
            assert CANARY not in said(stone)
            with pytest.raises(StoicError) as stopped:
                await task.run("go on", bench.emit)
            assert CANARY not in str(stopped.value)
            assert outcome(await place.thread(runtime).run("hello")).outcome == "completed"
        assert [request.holds(CANARY) for request in bench.provider.requests] == [False, True, False]

    plant(refusing(LOOK), story, forked=False)
