"""What work has taken, by day and by the thread at the top."""

import asyncio
from pathlib import Path

import pytest

from stoic.errors import RejectedStepError
from stoic.records import DAY_MS, Lease, Spending, Spent, Step, ThreadRecord
from stoic.store import opening
from stoic.store.connection import open_connection
from stoic.store.opening import APPLICATION_ID
from stoic.store.sqlite import SqliteStore

DAY = 1_700_000_000_000 - 1_700_000_000_000 % DAY_MS
SPENT = Spent(rounds=1, tokens=12, cost_usd=0.25, duration_ms=300)


async def lease_of(log, thread: str, **meta) -> Lease:
    await log.store.create_thread(ThreadRecord(id=thread, created_at=1, meta=meta))
    return await log.store.acquire(thread, "first", 0)


async def spend(log, lease: Lease, seq: int, at_ms: int) -> None:
    row = log.row(seq, id=f"{lease.thread}-{seq}", thread=lease.thread, created_at=at_ms)
    await log.store.append(lease, Step(rows=[row], spent=SPENT))


def test_what_a_thread_and_its_tasks_take_adds_up_by_day(play):
    async def story(log):
        chat, task = await lease_of(log, "chat"), await lease_of(log, "job", owner="chat", root="chat")
        other = await lease_of(log, "other")
        for seq, lease, at_ms in (
            (1, chat, DAY),
            (1, task, DAY + DAY_MS - 1),
            (2, chat, DAY + DAY_MS),
            (1, other, DAY),
        ):
            await spend(log, lease, seq, at_ms)
        assert await log.other.spent(root="chat") == SPENT + SPENT + SPENT
        assert await log.other.spent(root="job") == Spent()
        assert await log.other.spent(since_ms=DAY + DAY_MS + 5) == SPENT
        assert await log.other.spending() == [
            Spending(day_ms=DAY + DAY_MS, root="chat", spent=SPENT),
            Spending(day_ms=DAY, root="chat", spent=SPENT + SPENT),
            Spending(day_ms=DAY, root="other", spent=SPENT),
        ]

    play(story)


def test_a_step_that_is_rejected_has_taken_nothing(play):
    async def story(log):
        lease = await lease_of(log, "chat")
        await spend(log, lease, 1, DAY)
        for seq in (1, 5):
            with pytest.raises(RejectedStepError):
                await spend(log, lease, seq, DAY)
        assert await log.other.spent() == SPENT

    play(story)


def test_deleting_a_thread_makes_no_day_cheaper(play):
    async def story(log):
        for name in ("one", "two"):
            lease = await lease_of(log, name)
            await spend(log, lease, 1, DAY)
            await log.store.release(lease)
            await log.store.delete_thread(name, 10)
        assert await log.other.spending() == [Spending(day_ms=DAY, root="", spent=SPENT + SPENT)]
        assert await log.other.spent(root="one") == Spent()
        again = await lease_of(log, "one")
        await spend(log, again, 1, DAY)
        assert await log.other.spent(root="one") == SPENT

    play(story)


def test_what_was_sent_before_the_table_was_there_is_counted_from_the_rows(tmp_path):
    path = tmp_path / "log.db"
    path.touch()
    connection = open_connection(path)
    for number, file in enumerate(sorted((Path(opening.__file__).parent / "migrations").glob("*.sql"))[:6], 1):
        connection.execute(file.read_text(encoding="utf-8"))
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {number}")
    connection.execute("""INSERT INTO threads (id, kind, scope, created_at, meta) VALUES
        ('chat', 'chat', 'main', 1, NULL), ('job', 'task', 'worker', 1, '{"root":"chat"}')""")
    usage = '"usage":{"input_tokens":3,"output_tokens":4}'
    rows = [
        ("chat", 1, "reply", "{}", f'{{{usage},"cost_usd":0.5}}'),
        ("chat", 2, "attempt", f"{{{usage}}}", None),
        ("chat", 3, "outcome", f'{{{usage},"cost_usd":0.5}}', None),
        ("chat", 4, "message", '{"text":"words"}', None),
        ("job", 1, "reply", "{}", f"{{{usage}}}"),
    ]
    for thread, seq, kind, content, meta in rows:
        connection.execute(
            "INSERT INTO rows VALUES (?, ?, ?, 1, 's', 1, 1, 'system', ?, 0, NULL, 0, ?, ?, NULL, ?)",
            (thread, seq, f"{thread}-{seq}", kind, DAY + 7, content, meta),
        )
    connection.close()

    async def story() -> list[Spending]:
        store = SqliteStore(path)
        await store.open()
        found = await store.spending()
        await store.close()
        return found

    assert asyncio.run(story()) == [
        Spending(day_ms=DAY, root="chat", spent=Spent(rounds=2, tokens=21, cost_usd=0.5)),
    ]
