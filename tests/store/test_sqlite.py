"""What is true of the SQLite store alone: its threads, its snapshots, its connections."""

import asyncio
import threading

import pytest

from stoic.errors import StoreError
from stoic.ports import Store
from stoic.records import Row, Step, ThreadRecord
from stoic.store.memory import MemoryStore
from stoic.store.owners import this_process
from stoic.store.sqlite import SqliteStore


def row(thread, seq):
    return Row(
        id=f"{thread}{seq}",
        thread=thread,
        seq=seq,
        generation=1,
        segment="s",
        turn=1,
        round=1,
        role="tool",
        kind="result",
        content=seq,
        created_at=1,
        visible=True,
    )


def play(path, story, **settings):
    async def run():
        store = SqliteStore(path, **settings)
        await store.open()
        await store.register(this_process("me", 0))
        await store.create_thread(ThreadRecord(id="t"))
        try:
            return await story(store, await store.acquire("t", "me", 0))
        finally:
            await store.close()

    return asyncio.run(run())


def test_both_stores_are_stores(tmp_path):
    stores: list[Store] = [SqliteStore(tmp_path / "log.db"), MemoryStore()]  # pyright judges the protocol
    for store in stores:
        for name in vars(Store):
            assert name.startswith("_") or callable(getattr(store, name))


def test_reads_do_not_wait_for_the_writer(tmp_path):
    entered, gate = threading.Event(), threading.Event()

    def hold(_):
        entered.set()
        gate.wait()

    async def story(store, lease):
        await store.append(lease, Step(rows=[row("t", 1)]))
        holding = asyncio.ensure_future(store._open.writer.submit(hold))
        await asyncio.to_thread(entered.wait)
        appending = asyncio.ensure_future(store.append(lease, Step(rows=[row("t", 2)])))
        seen = (await store.load("t")).thread.last_seq
        gate.set()
        await asyncio.gather(holding, appending)
        return seen, (await store.load("t")).thread.last_seq

    assert play(tmp_path / "log.db", story) == (1, 2)


def test_a_snapshot_never_shows_half_a_step(tmp_path):
    async def story(store, lease):
        async def write():
            for seq in range(1, 120, 2):
                await store.append(lease, Step(rows=[row("t", seq), row("t", seq + 1)]))

        writing = asyncio.ensure_future(write())
        seen = []
        while not writing.done():
            loaded = await store.load("t")
            seen.append((len(loaded.rows), loaded.thread.last_seq))
        await writing
        return seen

    seen = play(tmp_path / "log.db", story)
    assert all(count == last_seq and count % 2 == 0 for count, last_seq in seen)


def test_every_commit_is_on_the_disk_before_it_is_confirmed(tmp_path):
    def settings(connection):
        names = ("synchronous", "fullfsync", "checkpoint_fullfsync", "temp_store", "journal_mode")
        return [connection.pragma(name) for name in names]

    async def story(store, _):
        return await store._open.writer.submit(settings)

    assert play(tmp_path / "log.db", story) == [2, 1, 1, 2, "wal"]


def test_a_reading_connection_cannot_write(tmp_path):
    async def story(store, _):
        with pytest.raises(StoreError, match="it is read-only"):
            await store._read(lambda connection: connection.execute("DELETE FROM inbox"))

    play(tmp_path / "log.db", story)


def test_steps_of_many_threads_at_once_are_all_stored(tmp_path):
    names = [f"t{number}" for number in range(40)]

    async def story(store, _):
        async def run(name):
            await store.create_thread(ThreadRecord(id=name))
            lease = await store.acquire(name, "me", 0)
            for seq in range(1, 6):
                await store.append(lease, Step(rows=[row(name, seq)], accept_upto=seq))

        await asyncio.gather(*map(run, names))
        return [(await store.load(name)).rows for name in names]

    logs = play(tmp_path / "log.db", story)
    assert all([(row.seq, row.accepted) for row in log] == [(seq, True) for seq in range(1, 6)] for log in logs)


def test_a_store_serves_several_event_loops(tmp_path):
    async def story(store, lease):
        async def elsewhere():
            await store.append(lease, Step(rows=[row("t", 1)]))
            return (await store.load("t")).thread.last_seq

        return await asyncio.to_thread(lambda: asyncio.run(elsewhere()))

    assert play(tmp_path / "log.db", story) == 1


def test_the_changes_of_another_connection_are_noticed_without_its_help(tmp_path):
    async def story(store, _):
        changes = store.changes()
        waiting = asyncio.ensure_future(anext(changes))
        other = SqliteStore(tmp_path / "log.db")
        await other.open()
        await other.create_thread(ThreadRecord(id="new"))
        await asyncio.wait_for(waiting, timeout=30)
        await other.close()
        return [thread.id for thread in await store.threads(prefix="n")]

    assert play(tmp_path / "log.db", story) == ["new"]


@pytest.mark.parametrize("value", ["'{'", "CAST(x'ff' AS TEXT)"])
@pytest.mark.parametrize(("column", "does"), [("guard", "load"), ("parked", "append")])
def test_a_value_that_cannot_be_read_is_one_clear_error(tmp_path, value, column, does):
    async def story(store, lease):
        spoil = f"UPDATE threads SET {column} = {value}"  # noqa: S608 - the words above
        await store._open.writer.submit(lambda connection: connection.execute(spoil))
        with pytest.raises(StoreError, match=r"log\.db: the file is damaged; restore a copy, or save what is left"):
            await (store.load("t") if does == "load" else store.append(lease, Step(rows=[row("t", 1)])))

    play(tmp_path / "log.db", story)
