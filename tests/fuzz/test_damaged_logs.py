"""A log in which a value is damaged: whoever reads it gets the values or one line that says so, and nothing more is lost."""

import asyncio
import contextlib
import io
from functools import partial
from pathlib import Path

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fuzz.volume import ending, examples
from tests.runtime.harness import Bench, outcome, play

from stoic.cli.app import run_app
from stoic.cli.exits import BUG
from stoic.errors import StoreError
from stoic.records import Memory
from stoic.store.sqlite import SqliteStore
from stoic.tools.declaration import tool

TEXTS = ["'{'", "'['", "''", "' '", "'nul'", "'{\"a\":1'", "'" + "[" * 3_000 + "'", "'" + '{"a":' * 3_000 + "'", "CAST(x'ff' AS TEXT)", "CAST(x'7b00' AS TEXT)", "CAST(x'eda080' AS TEXT)", "substr({column}, 2)", "substr({column}, 1, length({column}) - 1)", "{column} || {column}", "'1e999'", "'NaN'"]  # fmt: skip
NUMBERS = ["-1", "0", "7", "-9223372036854775808", "9223372036854775807"]
COMMANDS = ["threads", "threads export t", "show t", "show t --json", "operations list", "notices", "tasks list", "memory list", "scan --thread t", "approvals list", "health", "spent"]  # fmt: skip
TABLES = ("threads", "rows", "operations", "inbox", "memories", "notices", "refused_bytes", "spending", "owners")


@tool(effect="write")
def look() -> str:
    """Look."""
    return "seen"


def made(folder: Path) -> tuple[bytes, list[tuple[str, str, str]]]:
    """Return a log in which a turn was completed and another refused, and its columns with their types."""

    async def story(bench: Bench) -> None:
        async with bench.runtime() as runtime:
            thread = bench.thread(runtime, look)
            assert outcome(await thread.run("go")).text == "Done."
            assert outcome(await thread.run("again")).refused
            await runtime.store.remember(Memory(id="m", scope="a", thread="t", text="alpha", created_at=1, tags=["x"]))

    play(folder, [["tool:look({})", "text:Hm.", "stop"], ["text:Done.", "stop"], ["refusal:no"]], story)
    connection = apsw.Connection(str(folder / "log.db"))
    for (trigger,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
        connection.execute(f"DROP TRIGGER {trigger}")
    columns = [(table, name, kind) for table in TABLES for _, name, kind, *_ in connection.execute(f"PRAGMA table_info({table})")]  # fmt: skip
    connection.execute("PRAGMA journal_mode = DELETE").fetchall()
    connection.close()
    return (folder / "log.db").read_bytes(), columns


def rows_in(path: Path) -> list[str]:
    """Return all values but the owners, of whom a command is one while it runs."""
    connection = apsw.Connection(str(path))
    try:
        found = (connection.execute(f"SELECT * FROM {table} ORDER BY 1") for table in TABLES[:-1])  # noqa: S608 - as above
        return [repr(values) for cursor in found for values in cursor]
    except UnicodeDecodeError:
        return []
    finally:
        connection.close()


async def read_all(path: Path) -> list[str]:
    """Call everything that reads; return what is told where it gives no value."""
    told: list[str] = []
    store = SqliteStore(path)
    await store.open()
    reads = [store.threads, store.operations, store.health, store.notices, store.tasks, store.parked, store.deliveries, store.schedules, partial(store.load, "t"), partial(store.inbox, "t"), partial(store.memories, None, 9), partial(store.recall, None, "alpha", 9), partial(store.work, 1), partial(store.refused_since, 0), partial(store.holder, "t", 1)]  # fmt: skip
    for read in reads:
        try:
            await read()
        except StoreError as error:
            told.append(str(error))
    await store.close()
    return told


def damage(path: Path, data: bytes, column: tuple[str, str, str], value: str) -> bool:
    """Write the log with a damaged column; False: the schema takes no such value."""
    for left in path.parent.glob(f"{path.name}-*"):
        left.unlink()
    path.write_bytes(data)
    path.chmod(0o600)
    table, name, _ = column
    connection = apsw.Connection(str(path))
    try:
        connection.execute(f'UPDATE {table} SET "{name}" = {value.replace("{column}", name)}')  # noqa: S608 - the words above
    except apsw.Error:
        return False
    finally:
        connection.close()
    return True


def command_ends(command: str) -> tuple[int, str]:
    """Run a command line as the process does; return its exit code and what it said on stderr."""
    err = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(err):
        code = run_app(command.split())
    return code, err.getvalue()


def test_any_damaged_value_is_one_clear_error_and_loses_nothing_else(tmp_path, monkeypatch):
    data, columns = made(tmp_path)
    path = tmp_path / "damaged.db"
    monkeypatch.setenv("STOIC_DB", str(path))
    monkeypatch.setenv("HOME", str(tmp_path))

    damage(path, data, ("threads", "title", "TEXT"), "title")
    assert [command for command in COMMANDS if command_ends(command) != (0, "")] == []

    @examples(25)
    @given(st.sampled_from(columns), st.sampled_from(TEXTS), st.sampled_from(NUMBERS), st.sampled_from(COMMANDS))
    def run(column, text, number, command):
        value = text if column[2] == "TEXT" else number
        if not damage(path, data, column, value):
            return
        before = rows_in(path)
        with ending():
            told = asyncio.run(read_all(path))
            code, said = command_ends(command)
        assert all(each.isprintable() for each in told)
        assert code != BUG, said
        assert "Traceback" not in said
        assert rows_in(path) == before

    run()


# ---- found by the above -------------------------------------------------------------------------

FOUND = {
    "a value nested without end": (("rows", "content", "TEXT"), TEXTS[6], "show t"),
    "what waits nested without end": (("threads", "parked", "TEXT"), TEXTS[6], "threads"),
    "facts of a thread that are no object": (("threads", "meta", "TEXT"), "'[]'", "show t"),
}


@pytest.mark.parametrize("what", FOUND)
def test_damaged_value_is_told_as_damage(tmp_path, monkeypatch, what):
    column, value, command = FOUND[what]
    path = tmp_path / "damaged.db"
    assert damage(path, made(tmp_path)[0], column, value)
    monkeypatch.setenv("STOIC_DB", str(path))
    monkeypatch.setenv("HOME", str(tmp_path))
    code, said = command_ends(command)
    assert code == 74
    assert said.startswith(f"stoic: {path}: the file is damaged; restore a copy, or save what is left with")


@pytest.mark.parametrize(
    ("table", "column", "command"),
    [
        ("threads", "created_at", "show t"),
        ("rows", "created_at", "show t"),
        ("operations", "started_at", "operations list"),
        ("memories", "created_at", "memory list"),
    ],
)
def test_time_that_no_calendar_has_is_shown_as_the_end_of_ours(tmp_path, monkeypatch, table, column, command):
    path = tmp_path / "damaged.db"
    assert damage(path, made(tmp_path)[0], (table, column, "INTEGER"), NUMBERS[-1])
    monkeypatch.setenv("STOIC_DB", str(path))
    monkeypatch.setenv("HOME", str(tmp_path))
    assert command_ends(command) == (0, "")
