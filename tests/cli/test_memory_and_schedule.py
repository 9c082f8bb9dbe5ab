"""`stoic memory` and `stoic schedule` as real processes; what they print is also told to programs."""

import asyncio
import io
import json
import os
import time
from pathlib import Path

import pytest
from msgspec.structs import replace

from stoic.cli.app import run_app
from stoic.cli.memory import list_memories, search_memories
from stoic.cli.schedule import add, list_schedules, pause, remove, resume, tell_idle
from stoic.cli.zones import machine_zone
from stoic.errors import UsageError
from stoic.records import Memory, Owner, Row, Step, ThreadRecord
from stoic.runtime.schedules import fire_due
from stoic.store.owners import this_process
from stoic.store.sqlite import SqliteStore
from stoic.wiring import SystemClock


@pytest.fixture
def log(tmp_path, monkeypatch) -> Path:
    """Return where the log will be; what runs in this process finds it there too."""
    path = tmp_path / "log.db"
    monkeypatch.setenv("STOIC_DB", str(path))
    monkeypatch.setenv("TZ", "Europe/Berlin")
    monkeypatch.setenv("NO_COLOR", "1")
    return path


@pytest.fixture
def stoic(bench, monkeypatch, capsys):
    """Return a command that runs a command line in this process and returns its exit code, output and errors."""
    monkeypatch.setenv("STOIC_DB", str(bench.database))

    def run(*arguments: str) -> tuple[int, str, str]:
        code = run_app(list(arguments))
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


def outcome_row(thread: str, kind: str = "outcome", **content) -> Row:
    return Row(
        id=f"row-{thread}", thread=thread, seq=1, generation=1, segment=f"{thread}.1#1", turn=1, round=1, role="system",
        kind=kind, content=content, created_at=time.time_ns() // 1_000_000,
    )  # fmt: skip


def fill(
    path: Path, *, threads: tuple[str, ...] = (), rows: tuple[Row, ...] = (), memories: tuple[Memory, ...] = ()
) -> None:
    async def run() -> None:
        store = SqliteStore(path)
        await store.open()
        await store.register(Owner(id="o", host="h", boot_id="b", pid=1, started_at=1))
        for thread in threads:
            await store.create_thread(ThreadRecord(id=thread, created_at=1))
        for row in rows:
            lease = await store.acquire(row.thread, "o", 1)
            await store.append(lease, Step(rows=[row], release=True))
        for memory in memories:
            assert await store.remember(memory)
        await store.close()

    asyncio.run(run())


def said(command, *arguments, **options) -> str:
    out = io.StringIO()
    assert command(*arguments, **options, stdout=out) == 0
    return out.getvalue()


def lines(command, *arguments, **options) -> list[dict]:
    return [json.loads(line) for line in said(command, *arguments, as_json=True, **options).splitlines()]


MEMORIES = (
    Memory(
        id="call:t.1.1.0", scope="helper", thread="t", text="Ada wants\ntabs \x1b[31m", created_at=0, tags=["style"]
    ),
    Memory(id="kept:1", scope="other", thread="", text="Tabs are wide", created_at=1_000),
)


def test_person_adds_a_memory_that_agents_of_its_scope_recall(bench, stoic):
    added = bench.stoic("memory", "add", " Ada wants tabs. ", "--scope", "helper", "--tag", "style", "--tag", " ")
    assert (added.returncode, added.stderr) == (0, "")
    name = added.stdout.removeprefix("remembered as ").strip()
    assert name.startswith("hand:")
    (found,) = lines(search_memories, "style", scope="helper", limit=9)
    assert (found["id"], found["thread"], found["text"], found["tags"]) == (name, "", "Ada wants tabs.", ["style"])
    code, out, _ = stoic("memory", "add", "Ada wants tabs.", "--scope", "helper")
    assert (code, out) == (0, "this is remembered already; nothing was added\n")
    assert stoic("memory", "add", "Ada wants tabs.", "--scope", "other")[0] == 0
    assert len(lines(list_memories, scope=None, limit=9)) == 2


@pytest.mark.parametrize(
    ("arguments", "wrong"),
    [
        ((" ", "--scope", "a"), "there is nothing to remember: the text is empty"),
        (("x" * 4_001, "--scope", "a"), "the text has 4001 characters, and a memory at most 4000"),
        (("x", "--scope", "a", "--tag", "y" * 51), "at most 10 tags of 50 characters each"),
        (("x", "--scope", " "), "--scope is empty; name whose memory this is"),
        (("x",), "Missing option '--scope'"),
    ],
)
def test_memory_that_no_agent_could_have_made_is_refused_in_one_line(stoic, bench, arguments, wrong):
    code, out, error = stoic("memory", "add", *arguments)
    assert (code, out, error.count("\n")) == (2, "", 1)
    assert wrong in error
    assert not bench.database.exists()


def test_memories_are_listed_searched_and_forgotten(bench, stoic):
    fill(bench.database, threads=("t",), memories=MEMORIES)
    listed = bench.stoic("memory", "list")
    assert (listed.returncode, listed.stderr) == (0, "")
    assert listed.stdout == (
        "kept:1  other · 1970-01-01 00:00:01 UTC\n  Tabs are wide\n"
        "call:t.1.1.0  helper · thread t · 1970-01-01 00:00:00 UTC · style\n  Ada wants tabs\n"
    )
    code, out, _ = stoic("memory", "search", '"tabs" OR (style', "--scope", "helper", "--json")
    assert code == 0
    assert [json.loads(line) for line in out.splitlines()] == [
        {
            "id": "call:t.1.1.0", "scope": "helper", "thread": "t", "text": "Ada wants\ntabs \x1b[31m", "tags": ["style"],
            "created_at": 0,
        }
    ]  # fmt: skip
    code, out, error = stoic("memory", "forget", "call:t.1.1.0", "--scope", "other")
    assert (code, out, error.count("\n")) == (2, "", 1)
    assert "there is no memory 'call:t.1.1.0' in scope 'other'; `stoic memory list` shows" in error
    assert stoic("memory", "forget", "call:t.1.1.0") == (0, "forgot call:t.1.1.0\n", "")
    assert stoic("memory", "search", "ada") == (0, "nothing that is remembered fits\n", "")


def test_an_empty_list_of_memories_says_so_and_looking_creates_no_log(log, capsys):
    for command in (lambda **options: search_memories("x", **options), list_memories):
        assert said(command, scope=None, limit=0, as_json=False) == ""
    assert f"there is no log at {log}" in capsys.readouterr().err
    assert not log.exists()
    fill(log)
    assert said(list_memories, scope=None, limit=0, as_json=False) == "nothing is remembered yet\n"
    fill(log, memories=MEMORIES)
    assert [each["id"] for each in lines(list_memories, scope=None, limit=1)] == ["kept:1"]
    assert len(lines(list_memories, scope=None, limit=0)) == 2
    other = sorted({each.scope for each in MEMORIES})
    unknown = f"nothing is remembered in scope nope; there {'is' if len(other) == 1 else 'are'} {', '.join(other)}\n"
    assert said(list_memories, scope="nope", limit=0, as_json=False) == unknown
    assert said(search_memories, "x", scope="nope", limit=0, as_json=False) == unknown


IDLE = "nothing enters prompts now: no `stoic up` is seen to run on this database\n"


def test_a_schedule_is_added_listed_paused_resumed_and_removed(bench, stoic):
    fill(bench.database, threads=("t",), rows=(outcome_row("t", outcome="failed", failure_class="auth"),))
    added = bench.stoic("schedule", "add", "t", "every day 09:00", "Look around.", "--zone", "Europe/Berlin")
    assert (added.returncode, added.stderr) == (0, IDLE)
    name, _, when = added.stdout.strip().partition(": next ")
    assert when.endswith(" 09:00 Europe/Berlin")
    assert stoic("schedule", "list")[1] == (
        f"{name}  thread t · every day 09:00 · next {when} · last never yet\n  last turn failed (auth) · Look around.\n"
    )
    assert stoic("schedule", "pause", name) == (0, f"paused {name}; `stoic schedule resume {name}` goes on\n", "")
    assert " · paused · last never yet\n" in stoic("schedule", "list")[1]
    assert stoic("schedule", "resume", name) == (0, added.stdout, "")
    known = json.loads(stoic("schedule", "list", "--json")[1])
    assert (known["cron"], known["zone"], known["paused"], known["unread"]) == (
        "0 9 * * *",
        "Europe/Berlin",
        False,
        False,
    )
    assert (known["last_turn"], known["detail"], known["last_fired_at"]) == ("failed", "auth", None)
    wrong = f"stoic: there is no schedule '{name}x'; did you mean {name}?\n"
    assert stoic("schedule", "remove", f"{name}x") == (2, "", wrong)
    assert stoic("schedule", "remove", name) == (0, f"removed {name}\n", "")
    assert stoic("schedule", "list") == (0, "no schedules yet; `stoic schedule add` makes one\n", "")


def test_what_cannot_be_scheduled_is_told(log):
    for command in (remove, pause, resume):
        with pytest.raises(UsageError, match="there is no schedule 'x': there is no log at"):
            command("x", stdout=io.StringIO())
    with pytest.raises(UsageError, match="there is no thread 't': there is no log at"):
        add("t", "every hour", "p", zone=None, stdout=io.StringIO())
    assert not log.exists()
    fill(log, threads=("talk", "dead"), rows=(outcome_row("dead", "refusal_stop"),))
    for thread, when, prompt, zone, why in (
        ("talc", "every hour", "p", None, "there is no thread 'talc'; did you mean talk?"),
        ("dead", "every hour", "p", None, "thread 'dead' ended by refusal and never runs again"),
        ("talk", "sometimes", "p", None, "schedule 'sometimes' is not understood"),
        ("talk", "every hour", " ", None, "the prompt is empty"),
        ("talk", "every hour", "p", "Mars", "there is no time zone 'Mars' here"),
    ):
        with pytest.raises(UsageError) as told:
            add(thread, when, prompt, zone=zone, stdout=io.StringIO())
        assert str(told.value).startswith(why)
    with pytest.raises(UsageError, match="there is no schedule 'x'; `stoic schedule list` shows those there are"):
        pause("x", stdout=io.StringIO())
    assert lines(list_schedules) == []


def test_a_list_tells_that_a_prompt_is_unread_and_when_it_came(log):
    fill(log, threads=("t",))
    name = said(add, "t", "every minute", "Look " * 30, zone=None).partition(":")[0]

    async def fire() -> None:
        store, clock = SqliteStore(log), SystemClock()
        await store.open()
        (known,) = await store.schedules()
        await store.put_schedule(replace(known, next_due_at=clock.now_ms() - 60_000))
        assert await fire_due(store, clock) is not None
        await store.close()

    asyncio.run(fire())
    (line,) = lines(list_schedules)
    assert (line["id"], line["zone"], line["unread"], line["last_turn"]) == (name, "Europe/Berlin", True, "new")
    assert line["next_due_at"] > line["last_fired_at"] > 0
    shown = said(list_schedules, as_json=False)
    assert "last turn new · its last prompt is unread · Look Look" in shown
    assert shown.endswith("…\n")
    assert "never yet" not in shown


def test_a_list_tells_that_a_failure_holds_back_what_is_due(log):
    fill(log, threads=("t", "fine"), rows=(outcome_row("t", outcome="failed", failure_class="network"),))
    for thread in ("t", "fine"):
        said(add, thread, "every minute", "Look.", zone="UTC")
    held, free = lines(list_schedules)
    assert (held["thread"], free["held_until"]) == ("t", None)
    assert held["held_until"] - held["next_due_at"] > 10 * 60_000
    shown = said(list_schedules, as_json=False)
    assert shown.count("(held back for 15 min after a turn that did not go well; due ") == 1
    pause(held["id"], stdout=io.StringIO())
    assert "held back" not in said(list_schedules, as_json=False)


def test_the_same_schedule_is_not_added_twice(log):
    fill(log, threads=("t",))
    name = said(add, "t", "every day 09:00", "Look.", zone="UTC").partition(":")[0]
    said(add, "t", "every day 09:00", "Look.", zone="Europe/Berlin")
    said(add, "t", "every day 09:00", "Look again.", zone="UTC")
    why = f"schedule {name} enters the same prompt into thread 't' at the same times"
    with pytest.raises(UsageError) as told:
        add("t", "0 9 * * *", "Look.", zone="UTC", stdout=io.StringIO())
    assert str(told.value) == why
    pause(name, stdout=io.StringIO())
    with pytest.raises(UsageError) as told:
        add("t", "0 9 * * *", "Look.", zone="UTC", stdout=io.StringIO())
    assert str(told.value) == f"{why}; it is paused: `stoic schedule resume {name}`"
    assert len(lines(list_schedules)) == 3


def test_it_is_said_only_where_nothing_enters_prompts(log):
    def idle() -> str:
        stderr = io.StringIO()
        tell_idle(stderr=stderr)
        return stderr.getvalue()

    async def register() -> None:
        store = SqliteStore(log)
        await store.open()
        await store.register(this_process("me", 1))
        await store.close()

    assert idle() == ""
    fill(log, threads=("t",))
    assert idle() == ""
    name = said(add, "t", "every day 09:00", "Look.", zone="UTC").partition(":")[0]
    assert idle() == IDLE
    pause(name, stdout=io.StringIO())
    assert idle() == ""
    resume(name, stdout=io.StringIO())
    asyncio.run(register())
    assert idle() == ""


def test_the_machines_zone_is_of_its_environment_else_of_its_files_else_utc(tmp_path):
    zones, link, named = tmp_path / "zoneinfo" / "Asia", tmp_path / "localtime", tmp_path / "timezone"
    zones.mkdir(parents=True)
    (zones / "Tokyo").touch()
    assert machine_zone({}, link, named) == "UTC"
    named.write_text("America/Lima\n")
    assert machine_zone({}, link, named) == "America/Lima"
    link.symlink_to(zones / "Tokyo")
    assert machine_zone({}, link, named) == "Asia/Tokyo"
    assert machine_zone({"TZ": ":Europe/Berlin"}, link, named) == "Europe/Berlin"
    assert machine_zone({"TZ": "CET-1CEST"}, link, named) == "Asia/Tokyo"
    named.write_bytes(os.fsencode("\udcff"))
    link.unlink()
    assert machine_zone({}, link, named) == "UTC"
