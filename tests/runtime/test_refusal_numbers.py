"""The numbers of SPEC §17 that are about refusals (2, 3, 4, 10), over real HTTP; every step is made by a new process's runtime."""

from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager

import pytest
from tests.runtime.harness import Bench, outcome, play

from stoic import renderer
from stoic.core.quarantine import read_neutral, read_placeholder
from stoic.core.refusal import ThreadKind
from stoic.events import FallbackUsed, Quarantined
from stoic.records import Notice
from stoic.runtime.agents import Agent
from stoic.runtime.renderers import EVENT_RENDERERS
from stoic.runtime.threads import Thread
from stoic.settings import Access, Settings
from stoic.tools.declaration import Tool
from stoic.wiring import Runtime

MINUTE_SECONDS = 60
HOUR_SECONDS = 60 * MINUTE_SECONDS
PROBES_AFTER_SECONDS = (15 * MINUTE_SECONDS, HOUR_SECONDS, 6 * HOUR_SECONDS)
CANARY = "canary-17-4"
REFUSED = ["finish:content_filter"]
FIRST, SECOND = "openai-chat:m", "mistral:other"


@pytest.fixture(autouse=True)
def mail_renderer() -> Iterator[None]:
    """Register how mails are told while the whole is withheld."""
    renderer("mail")(lambda payload: f"mail number {payload['n']}")
    yield
    del EVENT_RENDERERS["mail"]


class Work:
    """One thread of a kind, opened anew for each step as after a restart; the second candidate is another provider."""

    def __init__(self, bench: Bench, kind: ThreadKind, *, second: bool = True) -> None:
        self.bench = bench
        self.kind: ThreadKind = kind
        self.fallbacks = [SECOND] if second else []
        self.tools: list[Tool] = []

    @asynccontextmanager
    async def opened(self) -> AsyncGenerator[Thread]:
        """Yield the thread's handle in a runtime of its own."""
        access = Access(base_url=self.bench.provider.base_url)
        settings = Settings(database=str(self.bench.path), access={"openai-chat": access, "mistral": access})
        async with Runtime(settings=settings, clock=self.bench.clock) as runtime:
            agent = Agent(FIRST, fallbacks=self.fallbacks, tools=self.tools, permissions="allow")
            yield runtime.thread("t", agent, kind=self.kind)

    async def deliver_two_events(self) -> None:
        """Bring an increment of two external rows, the newer one of a kind that has a renderer, and run its turn."""
        async with self.opened() as thread:
            await thread.post("build", {"log": "failed"})
            await thread.post("mail", {"n": 7, "body": CANARY}, source_channel="inbox-1")
            assert outcome(await thread.resume(self.bench.emit)).refused

    async def wake(self) -> None:
        """Let the thread run as a timer does."""
        async with self.opened() as thread:
            assert outcome(await thread.wake(self.bench.emit)).refused

    async def notices(self) -> list[Notice]:
        """Return the notices, the oldest first."""
        async with self.bench.runtime() as runtime:
            return [each.notice for each in reversed(await runtime.store.notices())]

    def asked(self) -> list[str]:
        """Return which models were asked."""
        return [request.json["model"] for request in self.bench.provider.requests]


def test_a_repair_thread_sends_four_times_and_three_probes_and_asks_a_person_twice(tmp_path):
    async def story(bench: Bench) -> None:
        work = Work(bench, "repair", second=False)
        await work.deliver_two_events()
        assert len(bench.provider.requests) == 4
        shown = [[each["content"] for each in request.json["messages"]] for request in bench.provider.requests]
        assert [CANARY in "".join(each) for each in shown] == [True, False, False, False]
        assert ["mail number 7" in each for each in shown] == [False, True, True, False]
        assert [sum(read_neutral(text) is not None for text in each) for each in shown] == [0, 0, 1, 2]
        for probes, delay_seconds in enumerate(PROBES_AFTER_SECONDS, 1):
            bench.clock.advance(delay_seconds - 1)
            await work.wake()
            assert len(bench.provider.requests) == 4 + probes - 1, "before its time a probe is a skip"
            bench.clock.advance(1)
            await work.wake()
            assert len(bench.provider.requests) == 4 + probes
        for _ in range(3):
            bench.clock.advance(100 * HOUR_SECONDS)
            await work.wake()
        assert len(bench.provider.requests) == 4 + 3
        keys = {"refusal:t.1#1:0:openai-chat": "normal", "refusal:t.1#1:3:openai-chat": "critical"}
        assert {each.key: each.priority for each in await work.notices()} == keys
        work.tools = [Tool(note)]
        await work.wake()
        assert len(bench.provider.requests) == 4 + 3 + 1
        assert [each.key for each in await work.notices()] == [*keys, "refusal:t.1#2:0:openai-chat"]

    play(tmp_path, {"default": REFUSED}, story)


def note(text: str) -> str:
    """Write a note."""
    return text


def test_a_chat_sends_four_times_then_once_for_a_person_and_never_to_another_provider(tmp_path):
    async def story(bench: Bench) -> None:
        work = Work(bench, "chat")
        await work.deliver_two_events()
        assert work.asked() == ["m"] * 4
        (told,) = await work.notices()
        assert (told.priority, told.key) == ("critical", "refusal:t.1#1:0:openai-chat")
        async with work.opened() as thread:
            assert outcome(await thread.run("and now?", bench.emit)).refused
        assert work.asked() == ["m"] * 5
        assert await work.notices() == [told]
        assert not any(isinstance(event, FallbackUsed) for event in bench.events)
        async with work.opened() as thread:
            await thread.post("mail", {"n": 8})
            assert await thread.resume() is None
        assert work.asked() == ["m"] * 5

    play(tmp_path, {"default": REFUSED}, story)


def test_a_refused_result_gives_way_to_its_placeholder_and_its_trigger_is_never_sent_again(tmp_path):
    async def story(bench: Bench) -> None:
        work = Work(bench, "chat")
        work.tools = [Tool(look, effect="read")]
        async with work.opened() as thread:
            assert outcome(await thread.run("look at it", bench.emit)).text == "I cannot see it."
        requests = bench.provider.requests
        assert [request.holds(CANARY) for request in requests] == [False, True, False]
        assert read_placeholder(requests[2].json["messages"][-1]["content"]) is not None
        assert sum(isinstance(event, Quarantined) for event in bench.events) == 1
        async with work.opened() as thread:
            assert outcome(await thread.run("look again")).text == "Withheld again."
        await go_on_after_a_compaction(work)
        assert sum(request.holds(CANARY) for request in requests) == 1
        assert work.asked() == ["m"] * len(requests)
        async with bench.runtime() as runtime:
            assert not await runtime.store.notices()
            results = [row for row in await bench.rows(runtime) if row.kind == "result"]
        assert [(CANARY in row.content["text"], row.quarantine) for row in results] == [(True, "placeholder")] * 2

    replies = [
        ["tool:look({})"],
        ["text:I cannot see it."],
        ["tool:look({})"],
        ["text:Withheld again."],
        ["text:They looked at something."],
        ["text:Good."],
        ["text:Bye."],
    ]
    rules = [{"request_contains": CANARY, "reply": REFUSED}]
    play(tmp_path, {"rules": rules, "replies": replies}, story)


async def go_on_after_a_compaction(work: Work) -> None:
    """Sum the thread up and say something before and after another restart."""
    async with work.opened() as thread:
        assert (await thread.compact()).state == "begun"
        assert outcome(await thread.run("and now?")).text == "Good."
    async with work.opened() as thread:
        assert outcome(await thread.run("bye")).text == "Bye."


def look() -> str:
    """Look at what a provider refuses."""
    return f"a log line with {CANARY} in it"


# ---- 10: loops ------------------------------------------------------------------------------------


def test_a_poll_whose_results_change_two_hundred_times_is_never_warned_of(tmp_path):
    ran: list[str] = []

    def status() -> str:
        ran.append("status")
        return f"{len(ran)} of 200 done"

    async def story(bench: Bench) -> None:
        async with bench.runtime() as runtime:
            thread = looping(runtime, Tool(status, effect="poll"))
            assert outcome(await thread.run("go")).text == "Done."
            results = [row for row in await bench.rows(runtime) if row.kind == "result"]
        assert len(ran) == 200
        assert [row.content["text"] for row in results] == [f"{number} of 200 done" for number in range(1, 201)]
        assert not any(row.view for row in results), "a warning would stand in the view"

    play(tmp_path, [*[["tool:status({})"]] * 200, ["text:Done."]], story)


def test_two_frozen_calls_in_turn_are_blocked_at_call_33(tmp_path):
    ran: list[str] = []

    def one() -> str:
        ran.append("one")
        return "nothing"

    def two() -> str:
        ran.append("two")
        return "nothing either"

    async def story(bench: Bench) -> None:
        async with bench.runtime() as runtime:
            thread = looping(runtime, Tool(one, effect="read"), Tool(two, effect="read"))
            assert outcome(await thread.run("go")).text == "Enough."
            results = [row for row in await bench.rows(runtime) if row.kind == "result"]
        assert len(ran) == 32
        assert [row.content.get("failure") for row in results] == [None] * 32 + ["stuck_loop"]

    calls = [["tool:one({})"] if number % 2 == 0 else ["tool:two({})"] for number in range(33)]
    play(tmp_path, [*calls, ["text:Enough."]], story)


def looping(runtime: Runtime, *tools: Tool) -> Thread:
    """Return a handle on a thread whose turn may have as many rounds as it likes."""
    return runtime.thread("t", Agent(FIRST, tools=tools, permissions="allow", max_rounds=None))
