"""The outbox over a real store and real webhooks: at least once, not twice by two, within the budget, retried and given up."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.channels.hooks import Hooks

from stoic.channels.terminal import TerminalChannel
from stoic.core.notice import DAY_MS
from stoic.credentials import Secret
from stoic.notifying import connect_channels
from stoic.ports import Channel, Outside
from stoic.records import Notice, StoredNotice
from stoic.runtime.notices import CLAIM_MS, RETRY_WAITS_MS, Outbox, Pass
from stoic.settings import ChannelSettings, Settings
from stoic.store.sqlite import SqliteStore
from stoic.testing import CountingIds, FakeClock
from stoic.wiring import Runtime

_GUARD_SECONDS = 30


class World:
    """One database file and one clock, and as many outboxes as there are processes."""

    def __init__(self, path: Path) -> None:
        self.clock = FakeClock()
        self.path = path
        self.store = SqliteStore(path)
        self.stores = [self.store]
        self.ids = CountingIds()
        self.shown: list[str] = []

    def outbox(self, *hooks: Hooks, budget: int = 20, more: tuple[Channel, ...] = ()) -> Outbox:
        channels = [ChannelSettings(type="webhook", url=Secret(each.url), secret=Secret("s")) for each in hooks]
        settings = Settings(database=str(self.path), notice_channels=channels)
        outside = Outside(store=self.stores[-1], clock=self.clock, ids=self.ids)
        return Outbox(outside, [*connect_channels(settings, self.clock), *more], budget)

    async def other_process(self) -> None:
        """Have the outboxes made from now on use a store of their own on the same file."""
        self.stores.append(SqliteStore(self.path))
        await self.stores[-1].open()

    def terminal(self, thread: str = "t") -> TerminalChannel:
        return TerminalChannel(thread, lambda notice: self.shown.append(notice.key))

    async def raise_(self, *keys: str, priority: str = "normal", thread: str = "t") -> None:
        for key in keys:
            told = Notice(key=key, thread=thread, kind="stuck_loop", text="stuck", actions=["stoic show t"])
            now = {"id": self.ids.new(), "created_at": self.clock.now_ms()}
            assert await self.store.put_notice(replace(told, priority=priority, **now))

    async def states(self) -> dict[str, str]:
        return {each.notice.key: each.state for each in await self.store.notices()}

    async def stored(self, key: str) -> StoredNotice:
        return next(each for each in await self.store.notices() if each.notice.key == key)


def play(tmp_path, story: Callable[[World], Awaitable[None]]) -> None:
    async def run() -> None:
        world = World(tmp_path / "log.db")
        await world.store.open()
        try:
            async with asyncio.timeout(_GUARD_SECONDS):
                await story(world)
        finally:
            for store in world.stores:
                await store.close()

    asyncio.run(run())


def test_what_is_due_goes_out_once_critical_first_and_is_marked(tmp_path):
    async def story(world):
        with Hooks(204) as hooks:
            outbox = world.outbox(hooks)
            await world.raise_("a", "b")
            await world.raise_("c", priority="critical")
            done = await outbox.deliver_due()
            again = await outbox.deliver_due()
            await outbox.close()
        assert hooks.keys() == ["c", "a", "b"]
        assert [each.key for each in done.sent] == ["c", "a", "b"]
        assert again == Pass()
        stored = await world.stored("a")
        assert (stored.state, stored.attempts, stored.settled_at) == ("sent", 1, world.clock.now_ms())
        assert stored.delivered == [outbox.channels[0].name]

    play(tmp_path, story)


class SlowChannel:
    """A way to a person on which a notice has arrived long before that is known."""

    name = "slow"

    def __init__(self) -> None:
        self.arrived = asyncio.Event()
        self.told = asyncio.Event()

    def takes(self, notice: Notice) -> bool:
        return True

    async def deliver(self, notice: Notice) -> str | None:
        self.arrived.set()
        await self.told.wait()
        return None

    async def close(self) -> None:
        self.told.set()


def test_an_outbox_that_is_ended_while_a_notice_arrives_knows_that_it_has(tmp_path):
    # Found by simulation (seed 6000363): the next process told it again.
    async def story(world):
        slow = SlowChannel()
        outbox = world.outbox(more=(slow,))
        await world.raise_("a")
        running = asyncio.create_task(outbox.run())
        await slow.arrived.wait()
        ending = asyncio.create_task(outbox.end(running))
        slow.told.set()
        await ending
        assert running.cancelled()
        assert await world.states() == {"a": "sent"}

    play(tmp_path, story)


def test_without_a_channel_notices_stay_due(tmp_path):
    async def story(world):
        await world.raise_("a", priority="critical")
        assert await world.outbox().deliver_due() == Pass()
        assert (await world.stored("a")) == replace(await world.stored("a"), state="due", attempts=0)

    play(tmp_path, story)


# ---- what goes wrong ----------------------------------------------------------------------------


def test_what_does_not_arrive_is_tried_again_after_each_wait_and_then_given_up_visibly(tmp_path):
    async def story(world):
        with Hooks(500) as hooks:
            outbox = world.outbox(hooks)
            await world.raise_("a")
            for number, wait_ms in enumerate(RETRY_WAITS_MS, 1):
                done = await outbox.deliver_due()
                assert done.next_at_ms is not None
                stored = await world.stored("a")
                assert (stored.state, stored.attempts) == ("due", number)
                assert stored.retry_at == world.clock.now_ms() + wait_ms
                assert stored.error == f"{outbox.channels[0].name}: HTTP 500"
                world.clock.advance((wait_ms - 1) / 1000)
                assert (await outbox.deliver_due()).failed == []
                world.clock.advance(0.001)
            last = await outbox.deliver_due()
            world.clock.advance(10 * DAY_MS / 1000)
            assert await outbox.deliver_due() == Pass()
            await outbox.close()
        stored = await world.stored("a")
        assert last.failed == [stored]
        assert (stored.state, stored.attempts, stored.retry_at) == ("failed", 4, None)
        assert hooks.keys() == ["a"] * 4

    play(tmp_path, story)


def test_a_person_may_have_what_was_given_up_sent_once_more(tmp_path):
    async def story(world):
        with Hooks(500, 500, 500, 500, 500, 204) as hooks:
            outbox = world.outbox(hooks)
            await world.raise_("a", priority="critical")
            for wait_ms in (*RETRY_WAITS_MS, 0):
                await outbox.deliver_due()
                world.clock.advance(wait_ms / 1000)
            assert (await world.states())["a"] == "failed"
            failed = await outbox.deliver_due(by_hand=True)
            assert [each.state for each in failed.failed] == ["failed"]
            assert [each.key for each in (await outbox.deliver_due(by_hand=True)).sent] == ["a"]
            await outbox.close()
        stored = await world.stored("a")
        assert (stored.state, stored.attempts, stored.error) == ("sent", 6, None)

    play(tmp_path, story)


def test_a_retry_goes_only_to_the_channels_that_do_not_have_it(tmp_path):
    async def story(world):
        with Hooks(204) as sound, Hooks(503, 204) as ailing:
            outbox = world.outbox(sound, ailing)
            await world.raise_("a")
            await outbox.deliver_due()
            stored = await world.stored("a")
            assert (stored.state, stored.delivered) == ("due", [outbox.channels[0].name])
            world.clock.advance(60)
            await outbox.deliver_due()
            await outbox.close()
        assert (sound.keys(), ailing.keys()) == (["a"], ["a", "a"])
        assert (await world.stored("a")).delivered == [each.name for each in outbox.channels]

    play(tmp_path, story)


def test_a_channel_that_failed_is_not_tried_again_in_the_same_pass(tmp_path):
    async def story(world):
        with Hooks(204) as sound, Hooks(503) as ailing:
            both, alone = world.outbox(sound, ailing), world.outbox(ailing)
            await world.raise_("a", "b")
            done = await alone.deliver_due()
            assert ailing.keys() == ["a"]
            assert (done.next_at_ms, (await world.stored("b")).attempts) == (world.clock.now_ms() + 60_000, 0)
            world.clock.advance(60)
            await both.deliver_due()
            for outbox in (both, alone):
                await outbox.close()
        assert (sound.keys(), ailing.keys()) == (["a", "b"], ["a", "a"])
        assert (await world.stored("b")).error == f"{both.channels[1].name}: failed before"

    play(tmp_path, story)


def test_a_notice_is_sent_again_when_the_process_died_between_sending_and_marking(tmp_path):
    async def story(world):
        with Hooks(204) as hooks:
            dying = world.outbox(hooks)
            arrived = asyncio.Event()
            loop = asyncio.get_running_loop()

            def hang(handler):
                loop.call_soon_threadsafe(arrived.set)
                hooks.stopping.wait()

            hooks.answers.appendleft(hang)
            await world.raise_("a")
            task = asyncio.create_task(dying.deliver_due())
            await arrived.wait()
            task.cancel()
            await asyncio.wait([task])
            await dying.close()
            await world.other_process()
            living = world.outbox(hooks)
            assert (await living.deliver_due()).sent == []
            world.clock.advance(CLAIM_MS / 1000)
            assert [each.key for each in (await living.deliver_due()).sent] == ["a"]
            await living.close()
        first, second = hooks.posted
        assert first.value["key"] == second.value["key"] == "a"
        assert first.value["id"] == second.value["id"]
        assert first.value["sent_at"] < second.value["sent_at"]

    play(tmp_path, story)


class Raising:
    """Somebody's own channel that breaks its promise."""

    name = "own"

    def __init__(self, *, takes: bool = True) -> None:
        self._takes = takes

    def takes(self, notice: Notice) -> bool:
        return self._takes

    async def deliver(self, notice: Notice) -> str | None:
        raise KeyError("something private")

    async def close(self) -> None:
        pass


def test_a_channel_that_raises_is_told_by_its_name_and_the_kind_of_error_alone(tmp_path):
    async def story(world):
        await world.raise_("a")
        done = await world.outbox(more=(Raising(),)).deliver_due()
        assert [each.error for each in done.failed] == ["own: the channel raised KeyError"]

    play(tmp_path, story)


class Silent(Raising):
    """Another one: it never comes back."""

    async def deliver(self, notice: Notice) -> str | None:
        await asyncio.Event().wait()
        return None


def test_a_channel_that_never_comes_back_is_left(tmp_path):
    async def story(world):
        await world.raise_("a")
        outside = Outside(store=world.store, clock=world.clock, ids=world.ids)
        done = await Outbox(outside, [Silent()], delivery_seconds=0).deliver_due()
        assert [each.error for each in done.failed] == ["own: no answer within 0 s"]

    play(tmp_path, story)


def test_a_notice_that_no_channel_takes_stays_due(tmp_path):
    async def story(world):
        await world.raise_("a")
        assert await world.outbox(more=(Raising(takes=False),)).deliver_due() == Pass()
        assert (await world.states()) == {"a": "due"}

    play(tmp_path, story)


def test_a_notice_that_every_channel_left_has_already_counts_as_sent(tmp_path):
    async def story(world):
        with Hooks(204) as kept, Hooks(503) as removed:
            before, after = world.outbox(kept, removed), world.outbox(kept)
            await world.raise_("a")
            await before.deliver_due()
            world.clock.advance(60)
            assert [each.key for each in (await after.deliver_due()).sent] == ["a"]
            for outbox in (before, after):
                await outbox.close()
        assert kept.keys() == ["a"]

    play(tmp_path, story)


# ---- two processes ------------------------------------------------------------------------------


def test_two_processes_at_once_send_each_notice_once(tmp_path):
    async def story(world):
        with Hooks(204) as hooks:
            await world.raise_(*map(str, range(10)))
            first = world.outbox(hooks)
            await world.other_process()
            second = world.outbox(hooks)
            done = await asyncio.gather(first.deliver_due(), second.deliver_due())
            for outbox in (first, second):
                await outbox.close()
        assert sorted(hooks.keys()) == sorted(map(str, range(10)))
        assert sum(len(each.sent) for each in done) == 10

    play(tmp_path, story)


def test_two_processes_at_once_keep_one_budget_and_make_one_digest(tmp_path):
    async def story(world):
        with Hooks(204) as hooks:
            await world.raise_(*map(str, range(12)))
            first = world.outbox(hooks, budget=3)
            await world.other_process()
            second = world.outbox(hooks, budget=3)
            await asyncio.gather(first.deliver_due(), second.deliver_due())
            assert len(hooks.keys()) == 3
            await asyncio.gather(first.deliver_due(by_hand=True), second.deliver_due(by_hand=True))
            for outbox in (first, second):
                await outbox.close()
        assert hooks.keys()[3:] == ["digest:2026-09-21"]
        assert sorted((await world.states()).values()) == ["folded"] * 9 + ["sent"] * 4

    play(tmp_path, story)


# ---- budget and digest --------------------------------------------------------------------------


def test_twenty_normal_notices_go_out_on_a_day_and_the_rest_as_one_digest_when_it_is_over(tmp_path):
    async def story(world):
        with Hooks(204) as hooks:
            outbox, done = world.outbox(hooks), Pass()
            for number in range(25):
                await world.raise_(str(number))
                done = await outbox.deliver_due()
            assert hooks.keys() == [str(number) for number in range(20)]
            assert done.waiting == 5
            await world.raise_("critical", priority="critical")
            await outbox.deliver_due()
            assert hooks.keys()[20:] == ["critical"]
            assert done.next_at_ms is not None
            midnight_ms = world.clock.now_ms() - world.clock.now_ms() % DAY_MS + DAY_MS
            assert done.next_at_ms == midnight_ms
            world.clock.advance((midnight_ms - world.clock.now_ms()) / 1000)
            await world.raise_("tomorrow")
            await outbox.deliver_due()
            await outbox.close()
        assert hooks.keys()[21:] == ["tomorrow", "digest:2026-09-22"]
        assert hooks.posted[-1].value["text"].startswith("5 notices in this one")
        assert hooks.posted[-1].value["actions"] == ["stoic notices --all"]
        folded = [key for key, state in (await world.states()).items() if state == "folded"]
        assert sorted(folded) == ["20", "21", "22", "23", "24"]

    play(tmp_path, story)


def test_a_person_gets_the_surplus_as_the_days_one_digest_and_what_comes_then_waits(tmp_path):
    async def story(world):
        with Hooks(204) as hooks:
            outbox = world.outbox(hooks, budget=1)
            await world.raise_("a", "b")
            assert [each.key for each in (await outbox.deliver_due(by_hand=True)).sent] == ["a", "digest:2026-09-21"]
            await world.raise_("c")
            done = await outbox.deliver_due(by_hand=True)
            assert (done.sent, done.waiting) == ([], 1)
            await outbox.close()
        assert await world.states() == {"a": "sent", "b": "folded", "c": "due", "digest:2026-09-21": "sent"}

    play(tmp_path, story)


def test_a_digest_that_does_not_arrive_is_retried_like_everything(tmp_path):
    async def story(world):
        with Hooks(503, 204) as hooks:
            outbox = world.outbox(hooks, budget=0)
            await world.raise_("a")
            await outbox.deliver_due(by_hand=True)
            assert (await world.stored("digest:2026-09-21")).state == "due"
            world.clock.advance(60)
            await outbox.deliver_due()
            await outbox.close()
        assert hooks.keys() == ["digest:2026-09-21"] * 2
        assert (await world.stored("digest:2026-09-21")).state == "sent"

    play(tmp_path, story)


# ---- a terminal ---------------------------------------------------------------------------------


def test_a_terminal_shows_its_own_threads_notices_once_and_that_is_delivery_where_there_is_no_other(tmp_path):
    async def story(world):
        await world.raise_("mine")
        await world.raise_("other", thread="u")
        outbox = world.outbox()
        for _ in range(2):
            await outbox.deliver_due(world.terminal())
        assert world.shown == ["mine"]
        assert await world.states() == {"mine": "sent", "other": "due"}
        assert (await world.stored("mine")).delivered == ["terminal"]

    play(tmp_path, story)


def test_a_terminal_alone_keeps_the_budget_and_makes_no_digest(tmp_path):
    async def story(world):
        await world.raise_("old", "older")
        world.clock.advance(DAY_MS / 1000)
        await world.raise_("new", "newest")
        outbox = world.outbox(budget=3)
        done = await outbox.deliver_due(world.terminal())
        assert (world.shown, done.waiting) == (["old", "older", "new"], 1)

    play(tmp_path, story)


def test_a_terminal_and_a_webhook_both_get_it_and_a_failed_webhook_leaves_the_terminal_told_once(tmp_path):
    async def story(world):
        with Hooks(503, 204) as hooks:
            outbox = world.outbox(hooks)
            await world.raise_("a")
            await outbox.deliver_due(world.terminal())
            assert (await world.states(), world.shown) == ({"a": "due"}, ["a"])
            world.clock.advance(60)
            await outbox.deliver_due(world.terminal())
            await outbox.close()
        assert (await world.states(), world.shown) == ({"a": "sent"}, ["a"])

    play(tmp_path, story)


# ---- by itself ----------------------------------------------------------------------------------


def test_a_running_outbox_delivers_what_comes_and_what_becomes_due(tmp_path):
    async def story(world):
        came = [asyncio.Event() for _ in range(3)]
        loop = asyncio.get_running_loop()

        def answering(status, event):
            def answer(handler):
                handler.send_response(status)
                handler.send_header("content-length", "0")
                handler.end_headers()
                loop.call_soon_threadsafe(event.set)

            return answer

        answers = [answering(status, event) for status, event in zip((204, 503, 204), came, strict=True)]
        with Hooks(*answers) as hooks:
            outbox = world.outbox(hooks)
            running = asyncio.create_task(outbox.run())
            await world.raise_("a")
            await came[0].wait()
            await world.raise_("b")
            await came[1].wait()
            changes = world.store.changes()
            while (await world.stored("b")).error is None:
                await anext(changes)
            world.clock.advance(60)
            await came[2].wait()
            while (await world.states())["b"] != "sent":
                await anext(changes)
            running.cancel()
            await asyncio.wait([running])
            await outbox.close()
        assert hooks.keys() == ["a", "b", "b"]

    play(tmp_path, story)


def test_a_running_outbox_ends_with_its_store(tmp_path):
    async def story(world):
        await world.other_process()
        outbox = world.outbox(more=(Raising(),))
        running = asyncio.create_task(outbox.run())
        await outbox.deliver_due()
        await world.stores[-1].close()
        await running

    play(tmp_path, story)


def test_a_log_that_fails_is_told_to_the_programs_log_and_tried_again_later(tmp_path, caplog):
    async def story(world):
        outbox = world.outbox(more=(Raising(),))
        await world.store.close()
        assert await outbox.attend() == world.clock.now_ms() + 60_000
        assert "notices not delivered" in caplog.text

    play(tmp_path, story)


def test_a_trial_goes_to_every_channel_and_is_not_stored(tmp_path):
    async def story(world):
        with Hooks(204) as sound, Hooks(404) as wrong:
            outbox = world.outbox(sound, wrong)
            told = Notice(key="test:1", thread="", kind="test", text="a test")
            assert await outbox.try_channels(told) == [
                (outbox.channels[0].name, None),
                (outbox.channels[1].name, "HTTP 404"),
            ]
            await outbox.close()
        assert await world.states() == {}

    play(tmp_path, story)


# ---- a runtime ----------------------------------------------------------------------------------


class Told:
    """Somebody's own channel: remembers what it was given."""

    name = "told"

    def __init__(self) -> None:
        self.keys: list[str] = []
        self.came = asyncio.Event()
        self.closed = False

    def takes(self, notice: Notice) -> bool:
        return True

    async def deliver(self, notice: Notice) -> str | None:
        self.keys.append(notice.key)
        self.came.set()
        return None

    async def close(self) -> None:
        self.closed = True


def runtime(tmp_path, told: Told, **fields) -> Runtime:
    settings = Settings(database=str(tmp_path / "log.db"))
    return Runtime(settings=settings, clock=FakeClock(), channels=[told], **fields)


async def raise_in(opened: Runtime, key: str) -> None:
    told = Notice(id=key, key=key, thread="t", kind="stuck_loop", text="stuck", priority="critical")
    assert await opened.store.put_notice(told)


def test_an_open_runtime_delivers_by_itself_and_when_it_closes_what_is_left(tmp_path):
    told = Told()

    async def run():
        async with asyncio.timeout(_GUARD_SECONDS), runtime(tmp_path, told) as opened:
            await raise_in(opened, "a")
            await told.came.wait()
            await raise_in(opened, "b")

    asyncio.run(run())
    assert (told.keys, told.closed) == (["a", "b"], True)


def test_a_runtime_that_an_exception_ends_is_closed_with_its_channels(tmp_path):
    told = Told()

    async def run():
        async with runtime(tmp_path, told) as opened:
            await raise_in(opened, "a")
            raise KeyError("the program's own")

    with pytest.raises(KeyError, match="the program's own"):
        asyncio.run(run())
    assert told.closed


def test_a_runtime_may_leave_delivery_to_its_program(tmp_path):
    told = Told()

    async def run():
        async with runtime(tmp_path, told, delivers_notices=False) as opened:
            await raise_in(opened, "a")
        assert told.keys == []
        async with runtime(tmp_path, told, delivers_notices=False) as opened:
            assert [each.key for each in (await opened.outbox.deliver_due()).sent] == ["a"]

    asyncio.run(run())
    assert told.closed
