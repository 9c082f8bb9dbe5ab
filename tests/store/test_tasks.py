"""What stores keep of tasks: phases, deliveries, refused briefs, kin; the same stories on every store."""

import asyncio

import apsw
import pytest

from stoic.errors import RejectedStepError
from stoic.records import Delivery, Row, Step, ThreadRecord
from stoic.store import tasks
from stoic.store.sqlite import SqliteStore

THREAD = "thread-1"
PARKED = {"waits_for": "time", "until_ms": 500}


def delivery(**fields) -> Delivery:
    known = {"id": f"{THREAD}.1", "task": THREAD, "turn": 1, "status": "delivered", "receipt": {"text": "7"}}
    return Delivery(**{**known, "owner": "boss", "entry": {"kind": "task_ended", "text": "7"}, **fields})  # pyright: ignore[reportArgumentType] - fields of Delivery


async def phase(log) -> tuple[str, int | None]:
    record = (await log.other.load(THREAD)).thread
    return record.phase, record.wake_at_ms


def row(log, seq: int, kind: str, **fields) -> Row:
    return log.row(seq, kind=kind, role="system", visible=False, **fields)


def test_a_threads_phase_follows_its_rows(play):
    async def story(log):
        assert await phase(log) == ("idle", None)
        await log.append(row(log, 1, "reveal"), row(log, 2, "fresh"))
        assert await phase(log) == ("idle", None)
        await log.append(row(log, 3, "message"))
        assert await phase(log) == ("open", None)
        await log.append(row(log, 4, "parked", content=PARKED))
        assert await phase(log) == ("parked", 500)
        assert [each.parked for each in await log.other.parked()] == [PARKED]
        await log.append(row(log, 5, "switch"))
        assert await phase(log) == ("parked", 500)
        await log.append(row(log, 6, "answer"))
        assert await phase(log) == ("open", None)
        await log.append(row(log, 7, "outcome"))
        assert await phase(log) == ("idle", None)
        assert await log.other.parked() == []

    play(story)


def test_work_is_what_is_open_due_or_unread(play):
    async def story(log):
        assert await log.store.work(1 << 60) == []
        await log.append(row(log, 1, "message"), row(log, 2, "parked", content=PARKED))
        assert await log.store.work(499) == []
        assert await log.other.next_wake_ms(0) == 500
        assert await log.other.next_wake_ms(500) is None
        (due,) = await log.other.work(500)
        assert (due.thread.id, due.newest_entry) == (THREAD, 0)
        entry = await log.store.put(log.entry("a"))
        (unread,) = await log.other.work(0)
        assert unread.newest_entry == entry.position
        await log.append(row(log, 3, "outcome"), inbox_taken=["a"])
        assert await log.store.work(1 << 60) == []
        await log.append(row(log, 4, "event"))
        assert [each.thread.id for each in await log.other.work(0)] == [THREAD]

    play(story)


def test_an_end_is_delivered_once_with_its_outcome_and_reaches_an_owner_that_is_there(play):
    async def story(log):
        await log.store.create_thread(ThreadRecord(id="boss", created_at=1))
        await log.append(row(log, 1, "outcome"), deliveries=[delivery()])
        (entry,) = await log.other.inbox("boss")
        assert (entry.id, entry.kind) == (f"delivery:{THREAD}.1:{THREAD}-1", "event")
        assert entry.content == delivery().entry
        with pytest.raises(RejectedStepError, match="delivered already"):
            await log.append(row(log, 2, "outcome"), deliveries=[delivery()])
        assert len(await log.rows()) == 1, "nothing of the step is stored"
        gone = delivery(id=f"{THREAD}.2", turn=2, owner="nobody", status="failed")
        await log.append(row(log, 2, "outcome"), deliveries=[gone])
        found = await log.other.deliveries(task=THREAD)
        assert [(each.delivery.turn, each.delivery.status, each.reached) for each in found] == [
            (2, "failed", False),
            (1, "delivered", True),
        ]
        assert found[1].delivery.receipt == {"text": "7"}
        assert [each.delivery.turn for each in await log.store.deliveries(owner="boss")] == [1]
        assert len(await log.store.deliveries()) == 2
        await log.store.release(log.lease)
        await log.store.delete_thread(THREAD, 0)
        assert await log.other.deliveries() == []

    play(story)


def test_tasks_are_found_by_owner_and_root_and_so_are_refused_briefs_and_unknown_writes(play):
    async def story(log):
        for name, kind, meta in (
            ("a", "task", {"owner": THREAD, "root": THREAD}),
            ("b", "chat", {"owner": "a", "root": THREAD}),
            ("r", "repair", {"owner": THREAD, "root": THREAD}),
        ):
            record = ThreadRecord(id=name, kind=kind, scope="worker", created_at=ord(name), meta=meta)  # pyright: ignore[reportArgumentType] - one of the three
            await log.store.create_thread(record)
        assert [each.id for each in await log.other.tasks()] == ["b", "a"]
        assert [each.id for each in await log.other.tasks(owner=THREAD)] == ["a"]
        assert [each.id for each in await log.other.tasks(root=THREAD, limit=1)] == ["b"]
        lease = await log.store.acquire("a", "first", 0)
        stop = {"provider": "p", "model": "m", "category": None, "brief": "h", "root": THREAD}
        unknown = log.operation(0, id="a.1.1.0", thread="a", state="unknown")
        ended = log.operation(1, id="a.1.1.1", thread="a", state="raised")
        stopped = row(log, 1, "refusal_stop", thread="a", id="a-1", segment="a.1#1", content=stop)
        await log.store.append(lease, Step(rows=[stopped], operations=[unknown, ended], release=True))
        (refused,) = await log.other.refused_briefs(THREAD, "h")
        assert (refused.provider, refused.model, refused.category) == ("p", "m", None)
        assert await log.other.refused_briefs(THREAD, "other") == await log.other.refused_briefs("a", "h") == []
        assert await log.other.unknown_of_kin(THREAD, None) == [unknown]
        assert await log.other.unknown_of_kin("b", "a") == [unknown]
        assert await log.other.unknown_of_kin("r", THREAD) == []
        assert (await log.other.load("a")).thread.is_stopped

    play(story)


async def _made(folder) -> None:
    store = SqliteStore(folder / "log.db")
    await store.open()
    await store.close()


def test_idle_threads_are_not_looked_at(tmp_path):
    asyncio.run(_made(tmp_path))
    connection = apsw.Connection(str(tmp_path / "log.db"))
    for query, values in (
        (tasks._WORK, (1,)),  # pyright: ignore[reportPrivateUsage] - how it is found is the point
        (tasks._NEXT_WAKE, (1,)),  # pyright: ignore[reportPrivateUsage]
        (tasks._PARKED, ()),  # pyright: ignore[reportPrivateUsage]
        (tasks._UNKNOWN_OF_KIN, ("a", "b")),  # pyright: ignore[reportPrivateUsage]
    ):
        plan = [step[3] for step in connection.execute(f"EXPLAIN QUERY PLAN {query}", values)]
        assert not [step for step in plan if step.startswith(("SCAN threads", "SCAN operations"))], plan
    connection.close()
