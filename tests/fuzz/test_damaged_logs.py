"""A log in which a value is damaged: whoever reads it gets the values or one line that says so, and nothing more is lost."""

import asyncio
import contextlib
import io
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import apsw
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fuzz.volume import ending, examples
from tests.runtime.harness import Bench, outcome, play
from tests.simulation.blocking import blocking_sqlite

from stoic.cli.app import run_app
from stoic.cli.exits import BUG
from stoic.core import shapes
from stoic.errors import StoreError
from stoic.ports import DamagedRowsError
from stoic.records import Memory
from stoic.store.sqlite import SqliteStore
from stoic.testing.simulation import Setting, simulate
from stoic.tools.declaration import tool

TEXTS = ["'{'", "'['", "''", "' '", "'nul'", "'{\"a\":1'", "'" + "[" * 3_000 + "'", "'" + '{"a":' * 3_000 + "'", "CAST(x'ff' AS TEXT)", "CAST(x'7b00' AS TEXT)", "CAST(x'eda080' AS TEXT)", "substr({column}, 2)", "substr({column}, 1, length({column}) - 1)", "{column} || {column}", "'1e999'", "'NaN'"]  # fmt: skip
NUMBERS = ["-1", "0", "7", "-9223372036854775808", "9223372036854775807"]
COMMANDS = ["threads", "threads export t", "show t", "show t --json", "operations list", "notices", "tasks list", "memory list", "scan --thread t", "approvals list", "health", "spent"]  # fmt: skip
OTHERS = [[], {}, 7, -1, 0.5, "x", None, True]
"""Valid JSON that stands where something else belongs; without one of them the key itself is gone."""
GONE = object()
JSON_COLUMNS = [("rows", "content"), ("rows", "view"), ("rows", "meta"), ("threads", "meta"), ("threads", "parked"), ("inbox", "content"), ("deliveries", "receipt")]  # fmt: skip
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


def told_world(path: Path) -> bytes:
    """Return the log of a simulated world: rows of most kinds, in threads of every kind."""
    simulate(Setting(seed=1001, make_store=blocking_sqlite(path)))
    connection = apsw.Connection(str(path))
    for (trigger,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
        connection.execute(f"DROP TRIGGER {trigger}")
    connection.execute("UPDATE threads SET owner = NULL")  # a process of that world would be asked after
    connection.execute("PRAGMA journal_mode = DELETE").fetchall()
    connection.close()
    return path.read_bytes()


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


async def read_all(path: Path, thread: str = "t") -> list[str]:
    """Call everything that reads; return what is told where it gives no value."""
    told: list[str] = []
    store = SqliteStore(path, shapes=shapes)
    await store.open()
    reads = [store.threads, store.operations, store.health, store.notices, store.tasks, store.parked, store.deliveries, store.schedules, partial(store.load, thread), partial(store.inbox, thread), partial(store.memories, None, 9), partial(store.recall, None, "alpha", 9), partial(store.work, 1), partial(store.refused_since, 0), partial(store.holder, thread, 1)]  # fmt: skip
    for read in reads:
        try:
            await read()
        except StoreError as error:
            told.append(str(error))
    await store.close()
    return told


def json_cells(path: Path) -> list[tuple[str, str, str, object]]:
    """Return every JSON value of a log that has a shape of its own: its table, its column, the id of its row, and itself."""
    connection = apsw.Connection(str(path))
    found = [(*place, *cell) for place in JSON_COLUMNS for cell in connection.execute(f"SELECT id, {place[1]} FROM {place[0]} WHERE {place[1]} IS NOT NULL ORDER BY id")]  # noqa: S608 - the words above  # fmt: skip
    connection.close()
    return [(table, column, name, msgspec.json.decode(text)) for table, column, name, text in found]


def places_in(value: Any, at: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Yield the way to every value within a value, itself first."""
    yield at
    steps = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, inner in steps:
        yield from places_in(inner, (*at, step))


def changed(value: Any, at: tuple[str | int, ...], other: object) -> Any:
    """Return the value with another one at a place, or with the place itself gone."""
    if not at:
        return other
    copy: dict = dict(value) if isinstance(value, dict) else dict(enumerate(value))
    if len(at) == 1 and other is GONE:
        del copy[at[0]]
    else:
        copy[at[0]] = changed(copy[at[0]], at[1:], other)
    return copy if isinstance(value, dict) else list(copy.values())


def misshape(path: Path, data: bytes, cell: tuple[str, str, str, object], other: object) -> None:
    """Write the log with another JSON value in one place."""
    table, column, name, _ = cell
    assert damage(path, data, (table, column, "TEXT"), column)
    connection = apsw.Connection(str(path))
    connection.execute(f"UPDATE {table} SET {column} = ? WHERE id = ?", (msgspec.json.encode(other).decode(), name))  # noqa: S608 - the words above
    connection.close()


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


def test_valid_json_of_another_shape_is_told_by_name_and_never_a_bug(tmp_path, monkeypatch):
    data = told_world(tmp_path / "world.db")
    path = tmp_path / "damaged.db"
    monkeypatch.setenv("STOIC_DB", str(path))
    monkeypatch.setenv("HOME", str(tmp_path))
    path.write_bytes(data)
    cells = json_cells(path)
    threads = {name for table, _, name, _ in cells if table == "threads"}
    assert len(threads) > 2

    @examples(60)
    @given(st.data())
    def run(drawn):
        cell = drawn.draw(st.sampled_from(cells))
        at = drawn.draw(st.sampled_from(list(places_in(cell[3]))))
        other = drawn.draw(st.sampled_from([*OTHERS, *([GONE] if at else [])]))
        thread = drawn.draw(st.sampled_from(sorted(threads)))
        command = drawn.draw(st.sampled_from(COMMANDS)).replace(" t", f" {thread}")
        misshape(path, data, cell, changed(cell[3], at, other))
        before = rows_in(path)
        with ending():
            told = asyncio.run(read_all(path, thread))
            code, said = command_ends(command)
        assert all(each.isprintable() for each in told)
        assert code != BUG, said
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


DAMAGED_REPLY = "thread t, row 2 (reply), its content: Expected `array`, got `int` - at `$.parts`)"


def damaged_reply(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make the log whose first reply cannot be read the one that commands find."""
    path = folder / "damaged.db"
    assert damage(path, made(folder)[0], ("threads", "title", "TEXT"), "title")
    connection = apsw.Connection(str(path))
    connection.execute('UPDATE rows SET content = \'{"parts": 7, "secret": "canary"}\' WHERE seq = 2')
    connection.close()
    monkeypatch.setenv("STOIC_DB", str(path))
    monkeypatch.setenv("HOME", str(folder))
    return path


@pytest.mark.parametrize("command", ["show t", "threads export t --format md"])
def test_damaged_row_is_named_among_the_others_which_are_shown(tmp_path, monkeypatch, capsys, command):
    path = damaged_reply(tmp_path, monkeypatch)
    assert run_app(command.split()) == 74
    shown = capsys.readouterr()
    assert shown.err.startswith(f"stoic: {path}: the file is damaged; restore a copy")
    assert shown.err.rstrip().endswith(DAMAGED_REPLY)
    assert "row 2 (reply) cannot be read, its content: Expected `array`, got `int` - at `$.parts`" in shown.out
    assert "seen" in shown.out
    assert "Done." in shown.out
    assert "canary" not in shown.out + shown.err


def test_call_of_a_damaged_reply_has_the_end_that_the_journal_knows(tmp_path, monkeypatch, capsys):
    damaged_reply(tmp_path, monkeypatch)
    run_app(["show", "t"])
    assert "✓ look: delivered, readable, returned" in capsys.readouterr().out


def test_thread_with_a_damaged_row_is_listed_as_damaged_and_can_be_deleted(tmp_path, monkeypatch, capsys):
    damaged_reply(tmp_path, monkeypatch)
    assert run_app(["threads"]) == 0
    assert capsys.readouterr().out.startswith("t  2 turns · damaged · ")
    assert run_app(["threads", "delete", "t", "--yes"]) == 0
    capsys.readouterr()
    assert run_app(["threads", "--json"]) == 0
    assert capsys.readouterr().out == ""


def test_nothing_runs_on_a_thread_with_a_damaged_row(tmp_path, monkeypatch):
    path = damaged_reply(tmp_path, monkeypatch)
    path.rename(tmp_path / "log.db")

    async def story(bench: Bench) -> None:
        async with bench.runtime() as runtime:
            with pytest.raises(DamagedRowsError) as caught:
                await bench.thread(runtime, look).run("once more")
            assert str(caught.value).endswith(DAMAGED_REPLY)
            assert [row.kind for row in caught.value.rest.rows][:3] == ["message", "damaged", "result"]
            assert bench.provider.requests == []
            assert [entry.content["text"] for entry in await runtime.store.inbox("t")] == ["once more"]

    play(tmp_path, [["text:Never.", "stop"]], story)


def test_damage_is_told_without_the_damaged_value(tmp_path, monkeypatch, capsys):
    path = damaged_reply(tmp_path, monkeypatch)
    connection = apsw.Connection(str(path))
    connection.execute('UPDATE rows SET content = \'{"parts": [{"type": "canary"}]}\' WHERE seq = 2')
    connection.close()
    assert run_app(["show", "t"]) == 74
    shown = capsys.readouterr()
    assert "its content: Invalid value - at `$.parts[0].type`" in shown.out
    assert "canary" not in shown.out + shown.err


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
