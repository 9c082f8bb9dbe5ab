"""The log defends itself against plain SQL, whoever writes it."""

# ruff: noqa: S608 - the names put into statements are this file's own

import asyncio

import apsw
import pytest

from stoic.records import InboxEntry, Operation, Row, Step, ThreadRecord
from stoic.store.connection import open_connection
from stoic.store.owners import this_process
from stoic.store.sqlite import SqliteStore


async def fill(path):
    store = SqliteStore(path)
    await store.open()
    await store.register(this_process("me", 0))
    for thread in ("t", "u"):
        await store.create_thread(ThreadRecord(id=thread))
        lease = await store.acquire(thread, "me", 0)
        rows = [
            Row(
                id=f"{thread}{seq}",
                thread=thread,
                seq=seq,
                generation=1,
                segment="s",
                turn=1,
                round=1,
                role="tool",
                kind="result",
                content={"text": "hello"},
                created_at=1,
                visible=True,
            )
            for seq in (1, 2)
        ]
        operation = Operation(
            id=f"{thread}.1.1.0", thread=thread, turn=1, round=1, index=0, tool="x", effect="read", arguments_key="k",
            state="intended",
        )  # fmt: skip
        await store.put(InboxEntry(id=f"{thread}e", thread=thread, kind="message", content="x", created_at=1))
        await store.append(lease, Step(rows=rows, operations=[operation], accept_upto=1))
    await store.close()


@pytest.fixture
def connection(tmp_path):
    """Open a log whose threads t and u have an accepted row 1 and an unaccepted row 2."""
    asyncio.run(fill(tmp_path / "log.db"))
    connection = open_connection(tmp_path / "log.db")
    yield connection
    connection.close()


def columns_of(connection):
    return [name for _, name, *_ in connection.execute("PRAGMA table_info(rows)")]


def all_rows(connection):
    return connection.execute("SELECT * FROM rows ORDER BY thread, seq").fetchall()


def test_no_column_of_an_accepted_row_changes(connection):
    before = all_rows(connection)
    for column in columns_of(connection):
        with pytest.raises(apsw.ConstraintError, match="an accepted row never changes"):
            connection.execute(f"UPDATE rows SET {column} = NULL WHERE id = 't1'")
    assert all_rows(connection) == before


def test_acceptance_never_goes_back(connection):
    with pytest.raises(apsw.ConstraintError, match="an accepted row never changes"):
        connection.execute("UPDATE rows SET accepted = 0 WHERE id = 't1'")


def test_of_an_unaccepted_row_only_view_quarantine_and_acceptance_change(connection):
    free = {"view": '"v"', "quarantine": "excluded", "accepted": 1}
    for column in columns_of(connection):
        if column not in free:
            with pytest.raises(apsw.ConstraintError, match="only view, quarantine and acceptance may change"):
                connection.execute(f"UPDATE rows SET {column} = {column} WHERE id = 't2'")
    for column, value in free.items():
        connection.execute(f"UPDATE rows SET {column} = ? WHERE id = 't2'", (value,))
    assert connection.execute("SELECT view, quarantine, accepted FROM rows WHERE id = 't2'").fetchone() == (
        '"v"',
        "excluded",
        1,
    )


def test_rows_are_not_deleted(connection):
    before = all_rows(connection)
    for row in ("t1", "t2"):
        with pytest.raises(apsw.ConstraintError, match="deleted only with their whole thread"):
            connection.execute("DELETE FROM rows WHERE id = ?", (row,))
    assert all_rows(connection) == before


@pytest.mark.parametrize(("row_id", "seq"), [("new", 1), ("new", 2), ("t1", 3), ("u2", 3)])
def test_rows_are_not_replaced(connection, row_id, seq):
    before = all_rows(connection)
    with pytest.raises(apsw.ConstraintError, match="a stored row is never written again"):
        connection.execute(
            "INSERT OR REPLACE INTO rows (thread, seq, id, generation, segment, turn, round, role, kind, visible,"
            " accepted, created_at, content) VALUES ('t', ?, ?, 1, 's', 1, 1, 'tool', 'result', 1, 0, 1, '{}')",
            (seq, row_id),
        )
    assert all_rows(connection) == before


def test_a_whole_thread_takes_all_that_is_its_own_along(connection):
    connection.execute("DELETE FROM threads WHERE id = 't'")
    for table in ("rows", "operations", "inbox"):
        assert connection.execute(f"SELECT DISTINCT thread FROM {table}").fetchall() == [("u",)]


def test_the_log_can_be_asked_in_plain_sql(connection):
    found = connection.execute(
        "SELECT seq, content ->> '$.text' FROM rows WHERE thread = 't' AND kind = 'result' AND visible AND NOT accepted"
    )
    assert found.fetchall() == [(2, "hello")]
