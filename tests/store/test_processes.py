"""Several real processes on one file, and what is left when one of them is killed."""

import asyncio
import os
import signal
import stat
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest

from stoic.ports import HeldLeaseError
from stoic.records import InboxEntry
from stoic.store.connection import open_connection
from stoic.store.owners import this_process
from stoic.store.sqlite import SqliteStore

CHILD = Path(__file__).with_name("child.py")


@contextmanager
def child(*arguments):
    """Run a child with pipes; killed at the end if it still runs."""
    command = [sys.executable, str(CHILD), *map(str, arguments)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    with process:
        try:
            yield process
        finally:
            process.kill()


def kill_now(process):
    process.send_signal(signal.SIGKILL)
    process.wait()


def said(*arguments):
    with child(*arguments) as process:
        assert process.stdout is not None
        return process.stdout.readline().strip()


async def with_store(path, story):
    store = SqliteStore(path)
    await store.open()
    await store.register(this_process("me", 0))
    try:
        return await story(store)
    finally:
        await store.close()


def test_a_killed_holder_is_taken_over_at_once(tmp_path):
    path = tmp_path / "log.db"

    async def story(store):
        lease = await store.acquire("t", "me", 1)
        return lease, (await store.load("t")).rows

    with child("hold", path, "t") as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        kill_now(holder)
        lease, rows = asyncio.run(with_store(path, story))
    assert (lease.epoch, lease.last_seq) == (2, 1)
    assert [row.seq for row in rows] == [1]


def test_a_killed_holder_is_taken_over_while_it_waits_to_be_reaped(tmp_path):
    path = tmp_path / "log.db"
    with child("hold", path, "t") as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        holder.send_signal(signal.SIGKILL)
        os.waitid(os.P_PID, holder.pid, os.WEXITED | os.WNOWAIT)  # dead, and a zombie until it is waited for
        assert said("compete", path, "t") == "epoch 2 after seq 1"


def test_a_living_holder_keeps_its_lease_and_gets_the_message(tmp_path):
    path = tmp_path / "log.db"
    entry = InboxEntry(id="e", thread="t", kind="message", content="hello", created_at=1)

    async def story(store):
        with pytest.raises(HeldLeaseError) as held:
            await store.acquire("t", "me", 0, enter=entry)
        return held.value.owner, await store.inbox("t")

    with child("hold", path, "t") as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        owner, entries = asyncio.run(with_store(path, story))
        assert owner.pid == holder.pid
    assert [entry.content for entry in entries] == ["hello"]


def test_processes_open_and_fill_one_new_file_at_once(tmp_path):
    path, count = tmp_path / "new" / "log.db", 60
    names = ["a", "b", "c", "d"]
    with (
        child("append", path, "a", count) as first,
        child("append", path, "b", count) as second,
        child("append", path, "c", count) as third,
        child("append", path, "d", count) as fourth,
    ):
        processes = [first, second, third, fourth]
        for process in processes:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        for process in processes:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        for process in processes:
            assert process.stdout is not None
            assert process.stdout.readline() == "done\n"

    async def story(store):
        return {name: [(row.seq, row.accepted) for row in (await store.load(name)).rows] for name in names}

    expected = [(seq, True) for seq in range(1, count + 1)]
    assert asyncio.run(with_store(path, story)) == dict.fromkeys(names, expected)


def test_what_was_confirmed_survives_a_kill_in_the_middle_of_writing(tmp_path):
    path = tmp_path / "log.db"
    for number, lines in enumerate((3, 20, 50)):
        thread = f"t{number}"
        with child("storm", path, thread) as process:
            assert process.stdout is not None
            for _ in range(lines):
                process.stdout.readline()
            process.send_signal(signal.SIGKILL)
            rest = process.stdout.read().split("\n")
        confirmed = max([lines, *(int(line) for line in rest[:-1])])

        async def story(store, thread=thread):
            return (await store.load(thread)).rows

        rows = asyncio.run(with_store(path, story))
        assert [row.seq for row in rows] == list(range(1, len(rows) + 1))
        assert confirmed <= len(rows) <= confirmed + 1
    connection = open_connection(path)
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    connection.close()


def test_a_file_that_may_not_be_written_is_one_clear_error():
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.db"

        async def nothing(store):
            pass

        asyncio.run(with_store(path, nothing))
        Path(folder).chmod(0o755)
        path.chmod(0o444)
        message = said("open_without_rights", path)
        assert message.startswith(f"{path}: it is read-only; make the file")
        assert stat.S_IMODE(path.stat().st_mode) == 0o444


def test_a_folder_that_may_not_be_written_is_one_clear_error():
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o555)
        path = Path(folder) / "log.db"
        message = said("open_without_rights", path)
        assert message.startswith(f"{path}: it cannot be created (Permission denied); make its folder writable")
