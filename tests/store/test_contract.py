"""The contract that every store keeps: the same stories on each of them."""

import asyncio

import pytest
from msgspec import structs

from stoic.errors import NoSuchThreadError, RejectedStepError, StaleWriterError, StoreError
from stoic.ports import HeldLeaseError, Loaded
from stoic.records import Operation, Step, ThreadRecord, ViewChange

THREAD = "thread-1"


def excluded(seq):
    return ViewChange(seq=seq, quarantine="excluded")


def placeholder(seq, view: object = "withheld"):
    return ViewChange(seq=seq, quarantine="placeholder", view=view)


# ---- threads and rows ---------------------------------------------------------------------------


def test_a_new_thread_starts_empty_and_free(play):
    async def story(log):
        made = await log.store.create_thread(
            ThreadRecord(id="t", kind="task", scope="worker", created_at=3, title="T", meta={"a": [1]})
        )
        assert made == ThreadRecord(id="t", kind="task", scope="worker", created_at=3, title="T", meta={"a": [1]})
        assert await log.other.load("t") == Loaded(thread=made, rows=[], operations=[], inbox=[])

    play(story)


def test_creating_a_thread_again_returns_it_as_it_stands(play):
    async def story(log):
        await log.append(log.row(1))
        again = await log.other.create_thread(ThreadRecord(id=THREAD, kind="task", created_at=99))
        assert (again.kind, again.created_at, again.last_seq, again.epoch, again.owner) == ("chat", 1, 1, 1, "first")

    play(story)


def test_a_thread_begins_with_its_first_entry_or_not_at_all(play):
    async def story(log):
        await log.store.create_thread(ThreadRecord(id="task"), enter=log.entry("brief", thread="task"))
        assert [entry.id for entry in (await log.other.load("task")).inbox] == ["brief"]
        await log.store.create_thread(ThreadRecord(id="task"), enter=log.entry("another", thread="task"))
        assert [entry.id for entry in (await log.other.load("task")).inbox] == ["brief"]
        for wrong in (log.entry("elsewhere", thread="task"), log.entry("brief", thread="half")):
            with pytest.raises(StoreError):
                await log.store.create_thread(ThreadRecord(id="half"), enter=wrong)
        with pytest.raises(NoSuchThreadError):
            await log.other.load("half")

    play(story)


def test_a_thread_is_told_as_it_stands_like_the_one_that_is_loaded(play):
    async def story(log):
        await log.append(log.row(1, kind="message", role="user"), log.row(2))
        told = await log.other.thread(THREAD)
        assert told == (await log.store.load(THREAD)).thread
        assert (told.last_seq, told.owner, told.phase) == (2, "first", "open")
        with pytest.raises(NoSuchThreadError, match="nowhere"):
            await log.other.thread("nowhere")

    play(story)


def test_threads_come_newest_first_and_by_prefix(play):
    async def story(log):
        for name, time in (("a%1", 10), ("a%2", 30), ("aX3", 20)):
            await log.store.create_thread(ThreadRecord(id=name, created_at=time))
        assert [found.id for found in await log.other.threads()] == ["a%2", "aX3", "a%1", THREAD]
        assert [found.id for found in await log.other.threads(prefix="a%")] == ["a%2", "a%1"]
        assert [found.id for found in await log.other.threads(limit=1)] == ["a%2"]

    play(story)


def test_a_deleted_thread_takes_its_rows_journal_and_inbox_along_and_nothing_of_others(play):
    async def story(log):
        await log.store.create_thread(ThreadRecord(id="other", created_at=2))
        await log.store.put(log.entry("kept", thread="other"))
        await log.store.put(log.entry("gone"))
        await log.append(log.row(1), log.row(2), accept_upto=1, operations=[log.operation(0)], release=True)
        await log.other.delete_thread(THREAD, 0)
        with pytest.raises(StoreError, match=f"there is no thread {THREAD}"):
            await log.store.load(THREAD)
        assert [found.id for found in await log.store.threads()] == ["other"]
        assert await log.store.operations() == []
        assert [entry.id for entry in await log.store.inbox("other")] == ["kept"]

    play(story)


def test_the_ids_of_a_deleted_thread_are_free_for_a_new_one_that_starts_empty(play):
    async def story(log):
        before = await log.store.put(log.entry("e"))
        await log.append(log.row(1), operations=[log.operation(0)], release=True)
        await log.store.delete_thread(THREAD, 0)
        made = await log.store.create_thread(ThreadRecord(id=THREAD, created_at=9))
        assert await log.other.load(THREAD) == Loaded(thread=made, rows=[], operations=[], inbox=[])
        log.lease = await log.store.acquire(THREAD, "first", 0)
        await log.append(log.row(1), operations=[log.operation(0)])
        assert (await log.store.put(log.entry("e"))).position > before.position

    play(story)


def test_a_thread_that_somebody_living_holds_is_not_deleted(play):
    async def story(log):
        await log.append(log.row(1))
        for store in (log.store, log.other):
            with pytest.raises(HeldLeaseError):
                await store.delete_thread(THREAD, 0)
        assert len(await log.rows()) == 1
        log.lives["first"] = False
        await log.other.delete_thread(THREAD, 0)
        with pytest.raises(StoreError, match="there is no thread"):
            await log.append(log.row(2))

    play(story)


def test_owners_are_listed_by_their_newest_sign_of_life(play):
    async def story(log):
        known = {each.id: each for each in await log.store.owners()}
        await log.store.register(structs.replace(known["first"], heartbeat_at=1 << 50))
        found = await log.other.owners()
        assert (found[0].id, {each.id for each in found}) == ("first", known.keys())

    play(story)


def test_the_holder_of_a_thread_is_told_while_it_lives(play):
    async def story(log):
        for store in (log.store, log.other):
            assert getattr(await store.holder(THREAD, 0), "id", None) == "first"
        log.lives["first"] = False
        assert await log.other.holder(THREAD, 0) is None
        log.lives["first"] = True
        await log.append(log.row(1), release=True)
        assert await log.other.holder(THREAD, 0) is None
        with pytest.raises(StoreError, match="there is no thread nowhere"):
            await log.store.holder("nowhere", 0)

    play(story)


def test_deleting_an_unknown_thread_is_an_error_that_names_it(play):
    async def story(log):
        with pytest.raises(StoreError, match="there is no thread nowhere"):
            await log.store.delete_thread("nowhere", 0)

    play(story)


def test_a_row_comes_back_as_it_was_stored(play):
    async def story(log):
        full = log.row(
            1,
            content={"parts": ["ä\u2028\x00", 1.5, None, True, 2**60]},
            view=["v", {"deep": []}],
            quarantine="placeholder",
            meta={"m": {"n": 1}},
            visible=False,
            accepted=True,
        )
        plain = log.row(2, content="just text", role="assistant", kind="reply")
        await log.append(full, plain)
        assert await log.rows() == [full, plain]

    play(story)


def test_load_begins_behind_the_asked_seq(play):
    async def story(log):
        await log.append(*[log.row(seq) for seq in range(1, 6)])
        loaded = await log.other.load(THREAD, after_seq=3)
        assert [row.seq for row in loaded.rows] == [4, 5]
        assert loaded.thread.last_seq == 5

    play(story)


def test_an_unknown_thread_is_an_error_that_names_it(play):
    async def story(log):
        for call in (
            log.store.load("nowhere"),
            log.store.put(log.entry("e", thread="nowhere")),
            log.store.acquire("nowhere", "first", 0),
        ):
            with pytest.raises(StoreError, match="there is no thread nowhere"):
                await call

    play(story)


def test_what_a_caller_does_to_its_values_later_changes_nothing(play):
    async def story(log):
        content = {"parts": ["mine"]}
        await log.append(log.row(1, content=content))
        content["parts"].append("later")
        (row,) = await log.rows()
        row.content["parts"].append("read and changed")
        assert (await log.rows())[0].content == {"parts": ["mine"]}

    play(story)


@pytest.mark.parametrize("seqs", [(2,), (0,), (1, 3), (1, 1)])
def test_a_seq_that_does_not_follow_is_rejected(play, seqs):
    async def story(log):
        rows = [log.row(seq, id=f"r{index}") for index, seq in enumerate(seqs)]
        with pytest.raises(RejectedStepError, match="the next one is"):
            await log.append(*rows)
        assert await log.rows() == []

    play(story)


def test_a_row_of_another_thread_is_rejected(play):
    async def story(log):
        with pytest.raises(RejectedStepError, match="belongs to thread other"):
            await log.append(log.row(1, thread="other"))

    play(story)


def test_a_row_id_is_used_once(play):
    async def story(log):
        await log.append(log.row(1, id="same"))
        with pytest.raises(RejectedStepError, match="cannot be stored"):
            await log.append(log.row(2, id="same"))
        with pytest.raises(RejectedStepError, match="cannot be stored"):
            await log.append(log.row(2, id="twin"), log.row(3, id="twin"))
        await log.append(log.row(2, id="other"))

    play(story)


def test_a_content_that_json_cannot_hold_is_one_clear_error(play):
    async def story(log):
        with pytest.raises(StoreError, match="JSON cannot hold"):
            await log.append(log.row(1, content={"x": object()}))
        with pytest.raises(StoreError, match="JSON cannot hold"):
            await log.append(log.row(1, content="\ud800"))

    play(story)


def test_a_field_of_the_wrong_type_is_an_error_and_stores_nothing(play):
    async def story(log):
        with pytest.raises(StoreError):
            await log.append(log.row(1, turn="one"))
        assert await log.rows() == []

    play(story)


def test_a_rejected_step_stores_nothing_of_itself(play):
    async def story(log):
        await log.store.put(log.entry("wanted"))
        await log.append(log.row(1))
        before = await log.other.load(THREAD)
        with pytest.raises(RejectedStepError):
            await log.append(
                log.row(2),
                views=[placeholder(1)],
                accept_upto=2,
                operations=[log.operation(0)],
                inbox_taken=["wanted", "unheard of"],
                release=True,
            )
        assert await log.other.load(THREAD) == before

    play(story)


def test_an_empty_step_is_stored_too(play):
    async def story(log):
        await log.append()
        assert (await log.other.load(THREAD)).thread.last_seq == 0

    play(story)


# ---- fencing and the lease ----------------------------------------------------------------------


def test_a_stale_writer_cannot_append(play):
    async def story(log):
        stale = log.lease
        log.lives["first"] = False
        log.lease = await log.other.acquire(THREAD, "second", 0)
        assert (log.lease.epoch, log.lease.owner) == (stale.epoch + 1, "second")
        with pytest.raises(StaleWriterError, match="epoch 1 of owner first is over"):
            await log.store.append(stale, Step(rows=[log.row(1)]))
        await log.append(log.row(1))
        assert len(await log.rows()) == 1

    play(story)


def test_a_lease_with_the_right_epoch_of_another_owner_cannot_append(play):
    async def story(log):
        forged = type(log.lease)(thread=THREAD, owner="second", epoch=log.lease.epoch, last_seq=0)
        with pytest.raises(StaleWriterError):
            await log.store.append(forged, Step(rows=[log.row(1)]))

    play(story)


def test_a_lease_taken_again_ends_the_older_one_of_the_same_owner(play):
    async def story(log):
        old = log.lease
        await log.store.release(old)
        log.lease = await log.store.acquire(THREAD, "first", 0)
        with pytest.raises(StaleWriterError, match="epoch 1 of owner first is over, the lease is at epoch 2"):
            await log.store.append(old, Step(rows=[log.row(1)]))
        await log.append(log.row(1))

    play(story)


def test_a_released_lease_cannot_append_and_is_free(play):
    async def story(log):
        await log.append(log.row(1), release=True)
        with pytest.raises(StaleWriterError, match="with nobody"):
            await log.append(log.row(2))
        taken = await log.other.acquire(THREAD, "second", 0)
        assert (taken.epoch, taken.last_seq) == (2, 1)

    play(story)


def test_release_of_an_old_lease_does_nothing(play):
    async def story(log):
        old = log.lease
        await log.store.release(old)
        await log.other.acquire(THREAD, "second", 0)
        await log.store.release(old)
        assert (await log.store.load(THREAD)).thread.owner == "second"

    play(story)


def test_a_living_owner_keeps_its_lease_until_it_has_shown_no_sign_of_life_for_fifteen_seconds(play):
    async def story(log):
        log.lives["first"] = True
        await log.store.register(log.owner("first", heartbeat_at=1_000))
        with pytest.raises(HeldLeaseError) as held:
            await log.other.acquire(THREAD, "second", 15_999)
        assert held.value.owner.id == "first"
        assert (await log.other.acquire(THREAD, "second", 16_000)).epoch == 2

    play(story)


def test_an_owner_out_of_sight_is_dead_after_fifteen_seconds_without_heartbeat(play):
    async def story(log):
        await log.store.register(log.owner("first", heartbeat_at=1_000))
        with pytest.raises(HeldLeaseError):
            await log.other.acquire(THREAD, "second", 15_999)
        assert (await log.other.acquire(THREAD, "second", 16_000)).epoch == 2

    play(story)


def test_a_heartbeat_renews_and_never_goes_back(play):
    async def story(log):
        await log.store.register(log.owner("first", heartbeat_at=20_000))
        await log.store.register(log.owner("first", heartbeat_at=5_000))
        with pytest.raises(HeldLeaseError) as held:
            await log.other.acquire(THREAD, "second", 30_000)
        assert held.value.owner.heartbeat_at == 20_000

    play(story)


def test_a_heartbeat_touches_no_lease(play):
    async def story(log):
        log.lives["first"] = False
        await log.other.acquire(THREAD, "second", 0)
        await log.store.register(log.owner("first", heartbeat_at=50))
        stands = (await log.store.load(THREAD)).thread
        assert (stands.owner, stands.epoch) == ("second", 2)

    play(story)


def test_a_lease_is_not_given_twice_to_its_own_holder(play):
    async def story(log):
        log.lives["first"] = False
        with pytest.raises(HeldLeaseError):
            await log.store.acquire(THREAD, "first", 10**12)

    play(story)


def test_an_owner_id_belongs_to_one_process(play):
    async def story(log):
        stranger = type(log.owner("first"))(id="first", host="here", boot_id="boot", pid=8, started_at=1)
        with pytest.raises(StoreError, match="belongs to another process"):
            await log.other.register(stranger)

    play(story)


def test_only_a_registered_owner_takes_a_lease(play):
    async def story(log):
        with pytest.raises(StoreError, match="owner ghost is not registered"):
            await log.store.acquire(THREAD, "ghost", 0, enter=log.entry("e"))
        assert await log.store.inbox(THREAD) == []

    play(story)


# ---- the inbox ----------------------------------------------------------------------------------


def test_entries_wait_in_order_of_arrival(play):
    async def story(log):
        first = await log.other.put(log.entry("z"))
        second = await log.store.put(log.entry("a", kind="cancel", content=None))
        assert first.position < second.position
        assert await log.store.inbox(THREAD) == [first, second]
        assert (await log.other.load(THREAD)).inbox == [first, second]

    play(story)


def test_an_entry_is_taken_exactly_once(play):
    async def story(log):
        await log.other.put(log.entry("e"))
        await log.append(log.row(1), inbox_taken=["e"])
        assert await log.other.inbox(THREAD) == []
        with pytest.raises(RejectedStepError, match="is not waiting here"):
            await log.append(log.row(2), inbox_taken=["e"])
        assert len(await log.rows()) == 1

    play(story)


def test_one_step_takes_an_entry_once(play):
    async def story(log):
        await log.other.put(log.entry("e"))
        with pytest.raises(RejectedStepError):
            await log.append(inbox_taken=["e", "e"])
        assert len(await log.other.inbox(THREAD)) == 1

    play(story)


def test_an_entry_of_another_thread_cannot_be_taken(play):
    async def story(log):
        await log.store.create_thread(ThreadRecord(id="elsewhere"))
        await log.other.put(log.entry("e", thread="elsewhere"))
        with pytest.raises(RejectedStepError):
            await log.append(inbox_taken=["e"])
        assert len(await log.other.inbox("elsewhere")) == 1

    play(story)


def test_putting_an_entry_again_is_harmless_even_when_it_was_taken(play):
    async def story(log):
        first = await log.other.put(log.entry("e", content=(1, 2)))
        assert await log.other.put(log.entry("e", content=(1, 2))) == first
        await log.append(inbox_taken=["e"])
        assert await log.other.put(log.entry("e", content=(1, 2))) == first
        assert await log.other.inbox(THREAD) == []

    play(story)


def test_an_entry_id_is_used_for_one_content(play):
    async def story(log):
        await log.other.put(log.entry("e"))
        with pytest.raises(StoreError, match="exists with another content"):
            await log.other.put(log.entry("e", content={"text": "different"}))

    play(story)


def test_acquire_enters_the_message_with_the_lease(play):
    async def story(log):
        await log.store.release(log.lease)
        await log.other.acquire(THREAD, "second", 0, enter=log.entry("hello"))
        assert [entry.id for entry in await log.store.inbox(THREAD)] == ["hello"]

    play(story)


def test_acquire_leaves_the_message_with_the_living_holder(play):
    async def story(log):
        log.lives["first"] = True
        with pytest.raises(HeldLeaseError):
            await log.other.acquire(THREAD, "second", 0, enter=log.entry("hello"))
        assert [entry.id for entry in await log.store.inbox(THREAD)] == ["hello"]

    play(story)


def test_acquire_refuses_an_entry_for_another_thread(play):
    async def story(log):
        await log.store.release(log.lease)
        with pytest.raises(StoreError, match="is for thread elsewhere"):
            await log.other.acquire(THREAD, "second", 0, enter=log.entry("e", thread="elsewhere"))
        assert (await log.store.load(THREAD)).thread.owner is None

    play(story)


def test_cancels_are_found_for_the_holder_of_the_lease_alone(play):
    async def story(log):
        await log.store.create_thread(ThreadRecord(id="t2"))
        await log.store.acquire("t2", "first", 0)
        await log.store.create_thread(ThreadRecord(id="others"))
        await log.store.acquire("others", "second", 0)
        late = await log.other.put(log.entry("c2", thread="t2", kind="cancel"))
        await log.other.put(log.entry("m", thread="t2"))
        await log.other.put(log.entry("c3", thread="others", kind="cancel"))
        own = await log.other.put(log.entry("c1", kind="cancel"))
        assert await log.store.calls("first") == [late, own]
        await log.append(inbox_taken=["c1"])
        assert await log.store.calls("first") == [late]
        assert await log.store.calls("nobody") == []

    play(story)


# ---- operations ---------------------------------------------------------------------------------


def test_an_operation_is_replaced_under_its_id_and_keeps_its_place(play):
    async def story(log):
        await log.append(operations=[log.operation(0), log.operation(1)])
        ended = log.operation(0, state="returned", started_at=1, ended_at=2, status="done", runs=1)
        await log.append(operations=[ended])
        assert await log.other.operations() == [log.operation(1), ended]
        assert (await log.other.load(THREAD)).operations == [log.operation(1)]

    play(story)


def test_operations_are_found_by_thread_and_state(play):
    async def story(log):
        await log.append(operations=[log.operation(0, state="unknown"), log.operation(1, state="raised")])
        await log.store.create_thread(ThreadRecord(id="t2"))
        lease = await log.store.acquire("t2", "first", 0)
        foreign = log.operation(0, id="t2.1.1.0", thread="t2", state="unknown")
        await log.store.append(lease, Step(operations=[foreign]))

        async def ids(*arguments, **keywords):
            return [found.id for found in await log.other.operations(*arguments, **keywords)]

        assert await ids() == ["t2.1.1.0", "thread-1.1.1.1", "thread-1.1.1.0"]
        assert await ids(THREAD) == ["thread-1.1.1.1", "thread-1.1.1.0"]
        assert await ids(states=("unknown",)) == ["t2.1.1.0", "thread-1.1.1.0"]
        assert await ids(THREAD, states=("raised", "unknown")) == ["thread-1.1.1.1", "thread-1.1.1.0"]
        assert await ids("nowhere") == []

    play(story)


def test_an_operation_of_another_thread_is_rejected(play):
    async def story(log):
        await log.store.create_thread(ThreadRecord(id="t2"))
        lease = await log.store.acquire("t2", "first", 0)
        await log.append(operations=[log.operation(0)])
        stolen: Operation = log.operation(0, thread="t2")
        for wrong_lease, operation in ((lease, stolen), (log.lease, stolen)):
            with pytest.raises(RejectedStepError, match="belongs to another thread"):
                await log.store.append(wrong_lease, Step(operations=[operation]))
        assert await log.store.operations() == [log.operation(0)]

    play(story)


# ---- acceptance and quarantine ------------------------------------------------------------------


def test_acceptance_takes_the_visible_rows_that_a_model_saw(play):
    async def story(log):
        await log.append(log.row(1), log.row(2, visible=False), log.row(3), log.row(4), views=[excluded(3)])
        await log.append(accept_upto=3)
        assert [row.accepted for row in await log.rows()] == [True, False, False, False]
        await log.append(accept_upto=4)
        assert [row.accepted for row in await log.rows()] == [True, False, False, True]

    play(story)


@pytest.mark.parametrize("upto", [1, 4, -1])
def test_acceptance_neither_goes_back_nor_ahead_of_the_rows(play, upto):
    async def story(log):
        await log.append(log.row(1), log.row(2), accept_upto=2)
        await log.append(log.row(3))
        with pytest.raises(RejectedStepError, match="cannot accept up to"):
            await log.append(accept_upto=upto)

    play(story)


def test_an_accepted_row_keeps_its_view(play):
    async def story(log):
        await log.append(log.row(1), log.row(2, accepted=True), accept_upto=1)
        before = await log.rows()
        for seq in (1, 2):
            with pytest.raises(RejectedStepError, match="the row is accepted"):
                await log.append(views=[placeholder(seq)])
        assert await log.rows() == before

    play(story)


def test_a_view_changes_before_its_row_is_accepted(play):
    async def story(log):
        await log.append(log.row(1))
        await log.append(log.row(2), views=[placeholder(1), placeholder(2, {"note": 2})], accept_upto=2)
        rows = await log.rows()
        assert [(row.view, row.quarantine, row.accepted) for row in rows] == [
            ("withheld", "placeholder", True),
            ({"note": 2}, "placeholder", True),
        ]
        assert rows[0].content == {"text": "text 1"}

    play(story)


def test_a_row_is_shown_in_another_way_without_a_quarantine_even_a_humans_in_its_own_turn(play):
    repaired = ViewChange(seq=1, view={"text": "see (no image)"})

    async def story(log):
        await log.append(log.row(1, role="user", kind="message"))
        await log.append(log.row(2), views=[repaired])
        before = await log.rows()
        assert (before[0].view, before[0].quarantine, before[0].accepted) == (repaired.view, None, False)
        assert before[0].content == {"text": "text 1"}
        with pytest.raises(RejectedStepError, match="says what is shown instead"):
            await log.append(views=[ViewChange(seq=1)])
        assert await log.rows() == before
        await log.append(accept_upto=2)
        with pytest.raises(RejectedStepError, match="the row is accepted"):
            await log.append(views=[repaired])

    play(story)


@pytest.mark.parametrize("quarantine", ["placeholder", "excluded"])
def test_what_is_quarantined_is_not_shown_again_by_a_repair(play, quarantine):
    async def story(log):
        await log.append(log.row(1))
        await log.append(views=[ViewChange(seq=1, quarantine=quarantine, view="withheld")])
        with pytest.raises(RejectedStepError, match="the row is quarantined, and is not shown again"):
            await log.append(views=[ViewChange(seq=1, view="text 1")])

    play(story)


@pytest.mark.parametrize("kind", ["message", "input"])
def test_a_humans_words_leave_the_view_only_with_the_outcome_of_their_turn(play, kind):
    async def story(log):
        await log.append(log.row(1, role="user", kind=kind))
        with pytest.raises(RejectedStepError, match="a human's words"):
            await log.append(views=[excluded(1)])
        with pytest.raises(RejectedStepError, match="a human's words"):
            await log.append(log.row(2, turn=2), views=[excluded(1)])
        await log.append(log.row(2, kind="outcome", visible=False, turn=2), views=[excluded(1)])
        assert (await log.rows())[0].quarantine == "excluded"

    play(story)


@pytest.mark.parametrize("kind", ["message", "input"])
def test_a_humans_words_do_not_leave_the_view_with_the_outcome_of_an_earlier_turn(play, kind):
    async def story(log):
        await log.append(log.row(1, role="user", kind=kind, turn=2))
        with pytest.raises(RejectedStepError, match="a human's words"):
            await log.append(log.row(2, kind="outcome", visible=False, turn=1), views=[excluded(1)])

    play(story)


def test_a_row_of_an_older_generation_keeps_its_view(play):
    async def story(log):
        await log.append(log.row(1))
        with pytest.raises(RejectedStepError, match="generation 1, the thread is in 2"):
            await log.append(log.row(2, generation=2), views=[excluded(1)])
        await log.append(log.row(2, generation=2))
        with pytest.raises(RejectedStepError, match="generation 1, the thread is in 2"):
            await log.append(views=[excluded(1)])
        await log.append(views=[excluded(2)])

    play(story)


@pytest.mark.parametrize("seq", [0, -1, 2])
def test_a_row_that_is_not_there_has_no_view_to_change(play, seq):
    async def story(log):
        await log.append(log.row(1))
        with pytest.raises(RejectedStepError, match="there is no such row"):
            await log.append(views=[placeholder(seq)])

    play(story)


def test_an_excluded_row_does_not_come_back(play):
    async def story(log):
        await log.append(log.row(1), views=[placeholder(1)])
        await log.append(views=[excluded(1)])
        with pytest.raises(RejectedStepError, match="for good"):
            await log.append(views=[placeholder(1)])

    play(story)


# ---- behind a tombstone -------------------------------------------------------------------------


def test_behind_a_tombstone_nothing_is_shown_and_nothing_runs(play):
    async def story(log):
        await log.append(log.row(1), operations=[log.operation(0, state="running")])
        await log.append(log.row(2, kind="refusal_stop", visible=False), log.row(3, kind="outcome", visible=False))
        before = await log.other.load(THREAD)
        for step in (
            Step(rows=[log.row(4)]),
            Step(views=[placeholder(1)]),
            Step(accept_upto=1),
            Step(operations=[log.operation(1)]),
            Step(operations=[log.operation(0, state="running")]),
        ):
            with pytest.raises(RejectedStepError, match="ended by refusal at seq 2"):
                await log.store.append(log.lease, step)
        assert await log.other.load(THREAD) == before

    play(story)


def test_behind_a_tombstone_what_ran_can_be_settled(play):
    async def story(log):
        await log.append(operations=[log.operation(0, state="running")])
        await log.append(log.row(1, kind="refusal_stop", visible=False))
        await log.append(log.row(2, kind="answer", visible=False), operations=[log.operation(0, state="unknown")])
        assert [row.seq for row in await log.rows()] == [1, 2]
        assert [found.state for found in await log.other.operations()] == ["unknown"]

    play(story)


def test_a_step_shows_nothing_behind_its_own_tombstone(play):
    async def story(log):
        with pytest.raises(RejectedStepError, match="ended by refusal at seq 1"):
            await log.append(log.row(1, kind="refusal_stop", visible=False), log.row(2))
        await log.append(log.row(1), log.row(2, kind="refusal_stop", visible=False))

    play(story)


# ---- changes, opening, closing ------------------------------------------------------------------


def test_writes_of_this_and_of_another_store_wake_a_listener(play):
    async def story(log):
        for writer in (log.store, log.other):
            changes = log.store.changes()
            await writer.put(log.entry(f"from {id(writer)}"))
            await asyncio.wait_for(anext(changes), timeout=30)

    play(story)


def test_a_listener_is_not_woken_when_nobody_wrote(play):
    async def story(log):
        changes = log.store.changes()
        await log.store.put(log.entry("e"))
        await asyncio.wait_for(anext(changes), timeout=30)
        quiet = asyncio.ensure_future(anext(changes))
        await log.store.load(THREAD)
        await log.other.inbox(THREAD)
        assert not quiet.done()
        await log.store.put(log.entry("another"))
        await asyncio.wait_for(quiet, timeout=30)

    play(story)


def test_closing_the_store_ends_its_listeners(play):
    async def story(log):
        changes = log.store.changes()
        waiting = asyncio.ensure_future(anext(changes, "ended"))
        await log.other.inbox(THREAD)
        await log.store.close()
        assert await asyncio.wait_for(waiting, timeout=30) == "ended"

    play(story)


def test_a_closed_store_says_so_and_can_be_opened_again(play):
    async def story(log):
        await log.append(log.row(1))
        await log.store.close()
        await log.store.close()
        for call in (log.store.inbox(THREAD), log.store.put(log.entry("e")), log.store.threads()):
            with pytest.raises(StoreError, match="the store is not open"):
                await call
        await log.store.open()
        await log.store.open()
        assert len((await log.store.load(THREAD)).rows) == 1

    play(story)
