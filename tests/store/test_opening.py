"""Opening a database file: whose it is, how it is created, which are refused."""

import asyncio
import os
import stat

import apsw
import pytest

from stoic.errors import SchemaTooNewError, StoreError
from stoic.records import ThreadRecord
from stoic.store.connection import open_connection
from stoic.store.opening import APPLICATION_ID
from stoic.store.sqlite import SqliteStore


def opened(path, story=None):
    async def run():
        store = SqliteStore(path)
        await store.open()
        try:
            return await story(store) if story else None
        finally:
            await store.close()

    return asyncio.run(run())


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("umask", [0o000, 0o277])
def test_all_files_are_the_owners_alone_whatever_the_umask(tmp_path, umask):
    path = tmp_path / "share" / "stoic" / "log.db"

    async def story(store):
        await store.create_thread(ThreadRecord(id="t"))
        return {file.name: mode(file) for file in path.parent.iterdir()}

    before = os.umask(0)
    try:
        path.parent.parent.mkdir()
        if umask == 0o277:  # a folder made under it could not be entered
            path.parent.mkdir()
        os.umask(umask)
        modes = opened(path, story)
    finally:
        os.umask(before)
    assert modes == {"log.db": 0o600, "log.db-wal": 0o600, "log.db-shm": 0o600}


def test_a_missing_folder_is_made_for_the_owner_alone(tmp_path):
    before = os.umask(0)
    try:
        opened(tmp_path / "deep" / "er" / "log.db")
    finally:
        os.umask(before)
    assert mode(tmp_path / "deep" / "er") == 0o700


def test_existing_files_that_others_may_read_become_the_owners_alone(tmp_path):
    path = tmp_path / "log.db"

    async def story(store):
        await store.create_thread(ThreadRecord(id="t"))
        for file in tmp_path.iterdir():
            file.chmod(0o664)
        await asyncio.to_thread(opened, path)  # another process opens it meanwhile
        return {file.name: mode(file) for file in tmp_path.iterdir()}

    assert opened(path, story) == {"log.db": 0o600, "log.db-wal": 0o600, "log.db-shm": 0o600}


def test_a_file_of_the_owner_alone_keeps_its_mode(tmp_path):
    path = tmp_path / "log.db"
    path.touch(mode=0o600)
    path.chmod(0o700)
    opened(path)
    assert mode(path) == 0o700


def test_the_log_is_durable_and_marked_as_ours(tmp_path):
    opened(tmp_path / "log.db")
    connection = open_connection(tmp_path / "log.db")
    assert connection.pragma("journal_mode") == "wal"
    assert connection.pragma("application_id") == APPLICATION_ID
    assert connection.pragma("user_version") == 7
    connection.close()


def test_a_newer_schema_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "log.db"
    opened(path)
    connection = open_connection(path)
    connection.execute("PRAGMA user_version = 42")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(SchemaTooNewError, match=r"newer stoic wrote it \(schema 42, this one knows 7\); upgrade stoic"):
        opened(path)
    assert path.read_bytes() == before


def test_another_programs_database_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "foreign.db"
    connection = apsw.Connection(str(path))
    connection.execute("CREATE TABLE precious (x); INSERT INTO precious VALUES (1)")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(StoreError, match="belongs to another program; nothing was written to it"):
        opened(path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["foreign.db"]


def test_an_empty_database_marked_by_another_program_is_refused(tmp_path):
    path = tmp_path / "foreign.db"
    connection = apsw.Connection(str(path))
    connection.execute("PRAGMA application_id = 77")
    connection.close()
    with pytest.raises(StoreError, match="belongs to another program"):
        opened(path)


def test_a_file_that_is_no_database_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("not a database, but long enough to have a header of its own\n" * 50)
    before = path.read_bytes()
    with pytest.raises(StoreError, match="it is no SQLite database"):
        opened(path)
    assert path.read_bytes() == before


def test_a_folder_in_the_place_of_the_file_is_named(tmp_path):
    with pytest.raises(StoreError, match="it is in the way of the database"):
        opened(tmp_path)


def test_a_file_in_the_place_of_the_folder_is_named(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match=r"file: it is in the way of the database .*log\.db"):
        opened(tmp_path / "file" / "log.db")


def test_a_path_below_a_file_is_one_clear_error(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match=r"it cannot be created \(Not a directory\)"):
        opened(tmp_path / "file" / "folder" / "log.db")


def test_opening_again_keeps_what_is_stored(tmp_path):
    async def fill(store):
        await store.create_thread(ThreadRecord(id="t"))

    async def look(store):
        return [thread.id for thread in await store.threads()]

    opened(tmp_path / "log.db", fill)
    assert opened(tmp_path / "log.db", look) == ["t"]
