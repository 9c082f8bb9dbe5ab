"""The writer thread: group commit, isolation of bad items, and what happens when it dies."""

import asyncio
import functools
import threading

import apsw
import pytest

from stoic.errors import RejectedStepError, StoreError
from stoic.store.connection import open_connection
from stoic.store.sqlite_errors import store_error
from stoic.store.writer import Writer


class Bench:
    """A writer on a real file with a table `t`, and a gate that holds it inside a transaction."""

    def __init__(self, path):
        self.path = path
        path.touch()
        connection = open_connection(path)
        connection.execute("PRAGMA journal_mode = WAL").fetchone()
        connection.execute("CREATE TABLE t (x INTEGER PRIMARY KEY, y BLOB)")
        self.connection = connection
        self.commits = 0
        self.entered = threading.Event()
        self.gate = threading.Event()
        self.writer = Writer(
            connection,
            path=str(path),
            store_error=functools.partial(store_error, str(path)),
            on_commit=self.count,
        )

    def count(self):
        self.commits += 1

    def hold(self, _):
        self.entered.set()
        self.gate.wait()

    async def held(self):
        """Start the writer and keep it busy until the gate opens."""
        self.writer.start()
        holding = asyncio.ensure_future(self.writer.submit(self.hold))
        await asyncio.to_thread(self.entered.wait)
        return holding

    def stored(self):
        connection = open_connection(self.path)
        found = [x for (x,) in connection.execute("SELECT x FROM t ORDER BY x")]
        connection.close()
        return found


@pytest.fixture
def bench(tmp_path):
    bench = Bench(tmp_path / "t.db")
    yield bench
    bench.gate.set()
    bench.writer.close()


def insert(x, size=0):
    return lambda connection: connection.execute("INSERT INTO t VALUES (?, zeroblob(?))", (x, size)).fetchone()


def reject(connection):
    insert(99)(connection)
    raise RejectedStepError("no")


def break_down(connection):
    insert(98)(connection)
    return 1 // 0


async def queued(bench, *works):
    """Submit works so that all wait for one transaction; let them go; return results or errors."""
    holding = await bench.held()
    tasks = [asyncio.ensure_future(bench.writer.submit(work)) for work in works]
    turn = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_soon(turn.set_result, None)
    await turn
    bench.gate.set()
    await holding
    return await asyncio.gather(*tasks, return_exceptions=True)


def test_what_is_queued_becomes_one_transaction(bench):
    results = asyncio.run(queued(bench, *[insert(x) for x in range(50)]))
    bench.writer.close()
    assert results == [None] * 50
    assert bench.stored() == list(range(50))
    assert bench.commits == 2  # the gate's, and one for all


def test_a_bad_item_fails_alone_in_its_group(bench):
    results = asyncio.run(queued(bench, insert(1), reject, insert(2), break_down, insert(2), insert(3)))
    assert [type(result) for result in results] == [
        type(None),
        RejectedStepError,
        type(None),
        ZeroDivisionError,
        StoreError,
        type(None),
    ]
    bench.writer.close()
    assert bench.stored() == [1, 2, 3]
    assert bench.commits == 2


def test_one_call_wakes_all_callers_of_a_loop(bench):
    class CountingLoop(asyncio.SelectorEventLoop):
        calls = 0

        def call_soon_threadsafe(self, callback, *args, **keywords):
            if threading.current_thread().name.startswith("stoic-writer"):
                self.calls += 1
            return super().call_soon_threadsafe(callback, *args, **keywords)

    with asyncio.Runner(loop_factory=CountingLoop) as runner:
        runner.run(queued(bench, *[insert(x) for x in range(50)]))
        loop = runner.get_loop()
        assert isinstance(loop, CountingLoop)
        assert loop.calls == 2


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")  # it dies aloud, as it should
@pytest.mark.parametrize("position", [0, 1, 2])
def test_a_writer_that_dies_fails_everybody_at_once(bench, position):
    def die(connection):
        raise SystemExit(3)

    async def story():
        works = [insert(1), insert(2)]
        results = await queued(bench, *works[:position], die, *works[position:])
        with pytest.raises(StoreError, match="the writer has ended"):
            await bench.writer.submit(insert(3))
        return results

    results = asyncio.run(story())
    assert [type(result) for result in results] == [StoreError] * 3
    assert all("has ended because of SystemExit(3); nothing was stored" in str(result) for result in results)
    assert bench.stored() == []


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")  # it dies aloud, as it should
def test_what_is_queued_behind_a_dying_transaction_fails_too(bench):
    def die_later(connection):
        bench.hold(connection)
        raise SystemExit(3)

    async def story():
        bench.writer.start()
        dying = asyncio.ensure_future(bench.writer.submit(die_later))
        await asyncio.to_thread(bench.entered.wait)
        behind = asyncio.ensure_future(bench.writer.submit(insert(1)))
        await asyncio.wait({behind}, timeout=0)
        bench.gate.set()
        return await asyncio.gather(dying, behind, return_exceptions=True)

    assert ["has ended because of SystemExit" in str(result) for result in asyncio.run(story())] == [True, True]
    assert bench.stored() == []


@pytest.mark.parametrize("statement", ["INSERT OR ROLLBACK INTO t VALUES (1, NULL)", "INSERT INTO u VALUES (7)"])
def test_a_transaction_that_sqlite_gives_up_fails_all_its_items_and_no_later_one(bench, statement):
    """A conflict that rolls everything back, and a broken reference that is found by COMMIT alone."""

    def prepare(connection):
        connection.execute("CREATE TABLE u (x REFERENCES t DEFERRABLE INITIALLY DEFERRED)")
        insert(1)(connection)

    async def story():
        bench.connection.execute("PRAGMA foreign_keys = ON")
        holding = await bench.held()
        prepared = asyncio.ensure_future(bench.writer.submit(prepare))
        bench.gate.set()
        await asyncio.gather(holding, prepared)
        bench.entered.clear()
        bench.gate.clear()
        holding = asyncio.ensure_future(bench.writer.submit(bench.hold))
        await asyncio.to_thread(bench.entered.wait)
        works = [insert(2), lambda connection: connection.execute(statement).fetchone(), insert(3)]
        tasks = [asyncio.ensure_future(bench.writer.submit(work)) for work in works]
        await asyncio.wait(tasks, timeout=0)
        bench.gate.set()
        await holding
        results = await asyncio.gather(*tasks, return_exceptions=True)
        await bench.writer.submit(insert(4))
        return results

    assert [type(result) for result in asyncio.run(story())] == [StoreError] * 3
    assert bench.stored() == [1, 4]


def test_closing_finishes_what_was_submitted(bench):
    async def story():
        holding = await bench.held()
        waiting = asyncio.ensure_future(bench.writer.submit(insert(1)))
        closing = asyncio.ensure_future(asyncio.to_thread(bench.writer.close))
        while not bench.writer._closing:
            await asyncio.wait({closing}, timeout=0)
        with bench.writer._lock:  # it holds this until the end is queued behind the insert
            pass
        bench.gate.set()
        await asyncio.gather(holding, waiting, closing)
        with pytest.raises(StoreError, match="the writer has ended; nothing was stored"):
            await bench.writer.submit(insert(2))

    asyncio.run(story())
    assert bench.stored() == [1]


def test_a_cancelled_caller_takes_nothing_back_and_breaks_nothing(bench):
    async def story():
        holding = await bench.held()
        cancelled = asyncio.ensure_future(bench.writer.submit(insert(1)))
        behind = asyncio.ensure_future(bench.writer.submit(insert(2)))
        await asyncio.wait({cancelled, behind}, timeout=0)
        cancelled.cancel()
        await asyncio.wait({cancelled})
        bench.gate.set()
        await asyncio.gather(holding, behind)

    asyncio.run(story())
    assert bench.stored() == [1, 2]


def test_a_caller_whose_loop_has_ended_harms_nobody(bench):
    async def leave():
        task = asyncio.ensure_future(bench.writer.submit(insert(1)))
        await asyncio.wait({task}, timeout=0)
        task.cancel()

    async def story():
        holding = await bench.held()
        await asyncio.to_thread(asyncio.run, leave())
        bench.gate.set()
        await holding
        await bench.writer.submit(insert(2))

    asyncio.run(story())
    assert bench.stored() == [1, 2]


def test_a_lock_held_too_long_is_one_clear_error_and_passes(bench):
    blocker = open_connection(bench.path)
    blocker.execute("BEGIN IMMEDIATE")

    async def story():
        bench.writer.start()
        with pytest.raises(StoreError, match="another process kept it locked for too long"):
            await bench.writer.submit(insert(1))
        blocker.execute("ROLLBACK")
        await bench.writer.submit(insert(2))

    asyncio.run(story())
    blocker.close()
    assert bench.stored() == [2]


def test_a_full_disk_is_one_clear_error_and_passes(bench):
    def limit(pages):
        return lambda connection: connection.execute(f"PRAGMA max_page_count = {pages}").fetchone()

    async def story():
        bench.writer.start()
        await bench.writer.submit(limit(4))
        with pytest.raises(StoreError, match="the disk is full; free some space and try again") as full:
            await bench.writer.submit(insert(1, size=100_000))
        assert isinstance(full.value.__cause__, apsw.FullError)
        await bench.writer.submit(limit(1_000))
        await bench.writer.submit(insert(2, size=100_000))

    asyncio.run(story())
    assert bench.stored() == [2]
