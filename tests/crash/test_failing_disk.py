"""A disk that is full, does not write or does not sync: one clear error, nobody hangs, nothing is lost, and it goes on after that."""

import asyncio
import itertools
import logging
import re
import shutil
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

import apsw
import pytest
from tests.cli.background import inside
from tests.cli.processes import Bench
from tests.crash.disk import Disk, PowerCut
from tests.crash.lives import DATABASE, Life, Model
from tests.crash.remains import Known, check, check_rest
from tests.crash.test_power import cuts, moments

from stoic.cli.exits import LOG_FAILED
from stoic.errors import StoreError
from stoic.records import InboxEntry, Lease, Outcome, Row, Step, ThreadRecord
from stoic.store.owners import this_process
from stoic.store.sqlite import SqliteStore
from stoic.testing import RecordedRequest, ScriptedProvider
from stoic.testing.simulation import Dice


class Failure(NamedTuple):
    """What does not work, what SQLite calls it, and what is said of it."""

    what: str
    code: int
    said: str
    at_commit: str = "nothing was stored"


_BACK = "it is not stored, but a crash now may bring it back"
FAILURES = {
    "full": Failure("write", apsw.SQLITE_FULL, "the disk is full; free some space and try again"),
    "no write": Failure("write", apsw.SQLITE_IOERR_WRITE, "reading or writing failed; check the disk", _BACK),
    "no sync": Failure("sync", apsw.SQLITE_IOERR_FSYNC, "reading or writing failed; check the disk", _BACK),
}


@pytest.fixture(params=FAILURES)
def failure(request) -> Failure:
    return FAILURES[request.param]


@pytest.fixture
def disk(tmp_path) -> Disk:
    return Disk(tmp_path / "disk")


def break_down(disk: Disk, failure: Failure, *, after: int = 0, times: int = 1 << 30) -> None:
    """Have the disk fail, once it has done so much more, so many times."""
    number = itertools.count(-after)

    def fault(what: str, _: str) -> int | None:
        return failure.code if what == failure.what and 0 <= next(number) < times else None

    disk.fault = fault


def play(disk: Disk, story: Callable[[SqliteStore], Awaitable[Any]]) -> Any:
    """Run a story with an open store on the disk that has a thread `t` and an owner `me`."""

    async def run() -> Any:
        store = SqliteStore(disk.folder / DATABASE)
        await store.open()
        try:
            await store.register(this_process("me", 0))
            await store.create_thread(ThreadRecord(id="t"))
            async with asyncio.timeout(30):
                return await story(store)
        finally:
            disk.fault = None
            await store.close()

    with disk.mounted():
        return asyncio.run(run())


def step(lease: Lease, seq: int, size: int = 10) -> Step:
    row = Row(
        id=f"{lease.thread} {seq}",
        thread=lease.thread,
        seq=seq,
        generation=1,
        segment="s",
        turn=1,
        round=1,
        role="tool",
        kind="result",
        content="x" * size,
        created_at=1,
    )
    return Step(rows=[row])


async def seqs(store: SqliteStore, thread: str) -> list[int]:
    return [row.seq for row in (await store.load(thread)).rows]


@pytest.mark.parametrize("after", [0, 1, 2, 5, 20, 61])
def test_whoever_waits_is_told_at_once_and_goes_on_when_the_disk_works(disk, failure: Failure, after: int):
    """Twenty writers at a time; the disk fails for good after so many writes or syncs."""

    async def story(store: SqliteStore) -> None:
        names = [f"t{number}" for number in range(20)]
        await asyncio.gather(*(store.create_thread(ThreadRecord(id=name)) for name in names))
        leases = await asyncio.gather(*(store.acquire(name, "me", 0) for name in names))
        acknowledged = dict.fromkeys(leases, 0)

        async def write(lease: Lease, upto: int) -> None:
            while acknowledged[lease] < upto:
                await store.append(lease, step(lease, acknowledged[lease] + 1))
                acknowledged[lease] += 1

        break_down(disk, failure, after=after)
        said = await asyncio.gather(*(write(lease, 1_000) for lease in leases), return_exceptions=True)
        assert all(isinstance(each, StoreError) and failure.said in str(each) for each in said), said
        assert all(str(each).endswith((failure.at_commit, "nothing was stored")) for each in said), said
        disk.fault = None
        for lease in leases:
            await write(lease, acknowledged[lease] + 2)
            assert await seqs(store, lease.thread) == list(range(1, acknowledged[lease] + 1))

    play(disk, story)


def test_what_could_not_be_synced_may_come_back_and_nobody_says_otherwise(disk, tmp_path):
    """The process is killed right after: the next one finds the whole transaction in the WAL."""

    async def story(store: SqliteStore) -> str:
        lease = await store.acquire("t", "me", 0)
        break_down(disk, FAILURES["no sync"])
        with pytest.raises(StoreError) as failed:
            await store.append(lease, step(lease, 1))
        assert await seqs(store, "t") == []
        (tmp_path / "killed").mkdir()
        for name in (DATABASE, f"{DATABASE}-wal"):
            shutil.copy(disk.folder / name, tmp_path / "killed" / name)
        return str(failed.value)

    said = play(disk, story)
    assert said.endswith(_BACK)

    async def look() -> list[int]:
        store = SqliteStore(tmp_path / "killed" / DATABASE)
        await store.open()
        try:
            return await seqs(store, "t")
        finally:
            await store.close()

    assert asyncio.run(look()) == [1]


def test_a_lease_that_could_not_be_given_back_is_given_back_as_soon_as_the_disk_works(disk, failure):
    async def story(store: SqliteStore) -> Lease:
        lease = await store.acquire("t", "me", 0)
        break_down(disk, failure)
        with pytest.raises(StoreError, match=failure.said):
            await store.release(lease)
        changes = store.changes()
        disk.fault = None
        while await store.holder("t", 0) is not None:
            await anext(changes)
        return await store.acquire("t", "me", 0)

    assert play(disk, story).epoch == 2


def test_a_lease_that_was_taken_for_a_caller_who_left_is_given_back(disk):
    async def story(store: SqliteStore) -> Lease:
        changes = store.changes()
        taking = asyncio.ensure_future(store.acquire("t", "me", 0))
        await asyncio.wait({taking}, timeout=0)
        taking.cancel()
        await asyncio.wait({taking})
        while (await store.load("t")).thread.epoch == 0 or await store.holder("t", 0) is not None:
            await anext(changes)
        return await store.acquire("t", "me", 0)

    assert play(disk, story).epoch == 2


@pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning"
)  # of a second failure while SQLite rolls back
@pytest.mark.parametrize("after", range(0, 60, 6))
def test_a_log_that_could_not_be_made_is_made_by_the_next_who_opens_it(disk, failure, after: int):
    async def make() -> None:
        store = SqliteStore(disk.folder / DATABASE)
        try:
            await store.open()
            await store.create_thread(ThreadRecord(id="t"))
        finally:
            disk.fault = None
            await store.close()

    async def look() -> None:
        store = SqliteStore(disk.folder / DATABASE)
        await store.open()
        await store.create_thread(ThreadRecord(id="t"))
        await store.close()

    break_down(disk, failure, after=after)
    with disk.mounted():
        said = [""]
        try:
            asyncio.run(make())
        except StoreError as error:
            said.append(str(error))
        assert failure.said in said[-1] or len(said) == 1
        asyncio.run(look())
    connection = apsw.Connection(str(disk.folder / DATABASE))
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    connection.close()


class Weather:
    """Lets the disk fail a few times in a row, now and then, while it may."""

    def __init__(self, disk: Disk, dice: Dice) -> None:
        self.met: Counter[str] = Counter()
        self._dice = dice
        self._bad = "no sync"
        self._left = 0
        self._may_fail = False
        disk.fault = self

    def change(self, may_fail: bool) -> None:
        self._may_fail = may_fail

    def __call__(self, what: str, _: str) -> int | None:
        if not self._may_fail:
            return None
        if self._left == 0:
            if self._dice.chance(2):
                kinds = list(FAILURES)
                self._bad = kinds[(kinds.index(self._bad) + 1) % len(kinds)]
                self._left = 1 + self._dice.below(6)
            return None
        if what != FAILURES[self._bad].what:
            return None
        self._left -= 1
        self.met[self._bad] += 1
        return FAILURES[self._bad].code


@pytest.mark.parametrize("seed", range(3))
def test_a_runtime_lives_through_a_failing_disk_and_loses_nothing_by_a_power_cut_then(tmp_path, disk, seed: int):
    dice = Dice(seed)
    weather = Weather(disk, dice)

    async def struggle(life: Life) -> None:
        async with asyncio.timeout(60), life.runtime:
            await life.enter()
            await life.struggle(25, weather.change)

    with ScriptedProvider(Model()) as provider, disk.mounted():
        life = Life(disk, provider.base_url, 0)
        asyncio.run(struggle(life))
    assert set(weather.met) == set(FAILURES)
    assert life.witness.errors
    for error in life.witness.errors:
        assert re.search(r"log\.db: (the disk is full; free|reading or writing failed; check)", str(error)), error
    known = Known().grown(life.witness, disk.moment)
    check(disk.folder, known, life.witness.steps)
    check_rest(disk.folder, life.witness.owner)
    for moment, _, place in cuts(tmp_path, PowerCut(disk, dice), moments(disk, dice, 15)):
        check(place, Known().grown(life.witness, moment), life.witness.steps)


class Listening(logging.Handler):
    """Says when the worker has warned of so many threads."""

    def __init__(self, count: int) -> None:
        super().__init__(logging.WARNING)
        self.count = count
        self.said: list[str] = []
        self.all = asyncio.Event()

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append(record.getMessage())
        if len(self.said) >= self.count:
            self.all.set()


def test_a_worker_names_every_thread_that_it_cannot_run_and_the_next_one_runs_them(disk, failure):
    async def story(life: Life) -> None:
        async with asyncio.timeout(60), life.runtime:
            await life.enter()
            store = life.runtime.store
            waiting = {work.thread.id for work in await store.work(0)}
            listening = Listening(len(waiting))
            logging.getLogger("stoic").addHandler(listening)
            try:
                break_down(disk, failure)
                worker = life.runtime.worker()
                running = asyncio.create_task(worker.run())
                await listening.all.wait()
                disk.fault = None
                worker.drain()
                await running
            finally:
                logging.getLogger("stoic").removeHandler(listening)
            assert worker.troubles.keys() == waiting
            assert all(failure.said in said for said in listening.said)
            await life.bring_to_rest()

    with ScriptedProvider(Model()) as provider, disk.mounted():
        life = Life(disk, provider.base_url, 0)
        asyncio.run(story(life))
    check(disk.folder, Known().grown(life.witness, disk.moment), life.witness.steps)
    check_rest(disk.folder, life.witness.owner)


def test_the_command_says_it_in_one_line_and_goes_on_when_there_is_room(tmp_path, failure):
    bench = Bench(tmp_path)
    disk = Disk(tmp_path)
    works = [False, True, False, True, True]
    """Whether the disk works when a request comes: the call is not stored first, then its result is not."""

    def script(request: RecordedRequest) -> list[str]:
        if works.pop(0):
            disk.fault = None
        else:
            break_down(disk, failure, times=2)
        is_done = any(each["role"] == "tool" for each in request.json["messages"])
        return ["text:All done.", "stop"] if is_done else ['tool:shell({"command":"echo done >> ledger"})', "stop"]

    with ScriptedProvider(script) as provider, disk.mounted():
        work = bench.working(provider, "--thread", "t", "--yes")
        failed = inside(bench, *work, "Do it.")
        failed_again = inside(bench, *work)
        went_on = inside(bench, *work)
    for each in (failed, failed_again):
        assert each.returncode == LOG_FAILED, each.stderr
        assert each.stderr.splitlines()[-1].startswith(f"stoic: {bench.database}: {failure.said}"), each.stderr
        assert "Traceback" not in each.stderr
    assert went_on.returncode == 0, went_on.stderr
    assert (bench.workspace / "ledger").read_text() == "done\n"


def test_a_log_that_cannot_be_read_for_a_while_is_watched_on(disk):
    async def story(store: SqliteStore) -> None:
        changes = store.changes()
        other = SqliteStore(disk.folder / DATABASE)
        await other.open()
        await other.create_thread(ThreadRecord(id="old"))
        disk.fault = lambda what, _: apsw.SQLITE_IOERR_READ if what == "read" else None
        await anext(changes)
        disk.fault = None
        await other.create_thread(ThreadRecord(id="new"))
        await anext(changes)
        await other.close()

    play(disk, story)


def test_a_cancel_is_heard_though_the_log_could_not_be_read_for_a_while(disk):
    async def story(provider: ScriptedProvider) -> str:
        life, other = Life(disk, provider.base_url, 0), SqliteStore(disk.folder / DATABASE)
        async with asyncio.timeout(60), life.runtime:
            await other.open()
            running = asyncio.create_task(life.runtime.thread("t", life.agent).run("say something"))
            await provider.arrived(1)
            failures, loop, enough = itertools.count(1), asyncio.get_running_loop(), asyncio.Event()

            def fault(what: str, _: str) -> int | None:
                if what == "read" and next(failures) == 4:  # one at least in a question for what has come
                    loop.call_soon_threadsafe(enough.set)
                return apsw.SQLITE_IOERR_READ if what == "read" else None

            await other.create_thread(ThreadRecord(id="other"))
            disk.fault = fault
            await enough.wait()
            disk.fault = None
            await other.put(InboxEntry(id="stop", thread="t", kind="cancel", content={}, created_at=1))
            ending = await running
            await other.close()
            assert isinstance(ending, Outcome)
            return ending.outcome

    async def main() -> str:
        async with ScriptedProvider([["hang"]]) as provider:
            return await story(provider)

    with disk.mounted():
        assert asyncio.run(main()) == "cancelled"


def test_a_fork_that_could_not_be_stored_leaves_its_thread_free(disk, failure: Failure):
    async def story(provider: ScriptedProvider) -> None:
        life = Life(disk, provider.base_url, 0)
        async with asyncio.timeout(60), life.runtime:
            thread, store = life.runtime.thread("t", life.agent), life.runtime.store
            await thread.run("say something")
            steps, known = life.witness.steps, len(life.witness.steps)
            # The new thread and its lease are stored, its rows are not.
            disk.fault = lambda what, _: failure.code if what == failure.what and len(steps) > known else None
            with pytest.raises(StoreError, match=failure.said):
                await thread.fork("forked")
            disk.fault = None
            changes = store.changes()
            while await store.holder("forked", life.runtime.clock.now_ms()) is not None:
                await anext(changes)

    async def main() -> None:
        async with ScriptedProvider(Model()) as provider:
            await story(provider)

    with disk.mounted():
        asyncio.run(main())


@pytest.mark.parametrize("after", [0, 1, 2, 8, 12, 16, 20, 24])
def test_a_task_is_stored_with_its_brief_or_not_at_all(disk, failure: Failure, after: int):
    """One without would wait for ever."""

    async def story() -> None:
        life = Life(disk, "http://127.0.0.1:1", 0)
        async with life.runtime:
            break_down(disk, failure, after=after)
            try:
                await life.runtime.tasks.start("job 1", agent=life.agent.name, task="x")
            except StoreError as error:
                life.witness.errors.append(error)
            disk.fault = None
            tasks = await life.runtime.store.tasks()
            assert [len(await life.runtime.store.inbox(task.id)) for task in tasks] == [1] * len(tasks)
            assert len(tasks) + len(life.witness.errors) == 1

    with disk.mounted():
        asyncio.run(story())
