"""Notices, refused requests and the loop state: the same stories on every store."""

from msgspec.structs import replace

from stoic.records import Notice, NoticeBudget, RefusedBytes, StoredNotice

THREAD = "thread-1"
NOTICE = Notice(
    id="n1",
    key="refusal:thread-1.1#1:0:a",
    thread=THREAD,
    kind="refusal",
    text="refused",
    priority="critical",
    actions=["stoic fresh thread-1"],
    created_at=5,
)
REFUSED = RefusedBytes(hash="h", provider="p", model="m", refused_at_ms=10, category="cyber")


def test_a_notice_is_stored_with_its_step_and_once_by_its_key(play):
    async def story(log):
        await log.append(log.row(1), notices=[NOTICE])
        await log.append(log.row(2), notices=[replace(NOTICE, id="n2", text="again")])
        await log.other.put_notice(replace(NOTICE, id="n3"))
        assert await log.other.notices() == [StoredNotice(notice=NOTICE)]

    play(story)


def test_notices_come_newest_first_by_state_and_are_settled_by_whoever_is_first(play):
    async def story(log):
        other = replace(NOTICE, id="n2", key="other", priority="normal", actions=[])
        for notice in (NOTICE, other):
            await log.store.put_notice(notice)
        second, first = await log.other.notices(states=("due", "failed"))
        assert (first.notice, second.notice) == (NOTICE, other)
        later = replace(first, attempts=1, retry_at=60, error="no answer")
        assert await log.store.settle_notice(first, later)
        assert not await log.other.settle_notice(first, replace(first, state="sent"))
        assert await log.other.settle_notice(later, replace(later, state="sent", settled_at=9, retry_at=None))
        assert [each.notice.id for each in await log.store.notices(states=("due",))] == ["n2"]
        assert [each.settled_at for each in await log.store.notices(states=("sent",))] == [9]
        assert len(await log.store.notices(limit=1)) == 1
        assert not await log.store.settle_notice(StoredNotice(notice=replace(NOTICE, key="none", id="none")), later)

    play(story)


def test_refused_requests_are_remembered_across_threads_at_their_newest_time(play):
    async def story(log):
        await log.append(log.row(1), refused=[REFUSED])
        await log.append(log.row(2), refused=[replace(REFUSED, refused_at_ms=7), replace(REFUSED, model="n")])
        found = await log.other.refused_since(9)
        assert sorted(found, key=lambda each: each.model) == [REFUSED, replace(REFUSED, model="n")]
        assert await log.other.refused_since(10) == []

    play(story)


def test_the_loop_state_stays_as_it_was_stored_last(play):
    async def story(log):
        assert (await log.other.load(THREAD)).guard is None
        await log.append(log.row(1), guard={"calls": [1, "two"]})
        await log.append(log.row(2))
        assert (await log.other.load(THREAD)).guard == {"calls": [1, "two"]}

    play(story)


def normal(number, **fields):
    return replace(NOTICE, id=f"n{number}", key=f"k{number}", priority="normal", kind="stuck_loop", **fields)


def test_a_notice_keeps_which_channels_have_it(play):
    async def story(log):
        await log.store.put_notice(NOTICE)
        (known,) = await log.other.notices()
        assert await log.store.settle_notice(known, replace(known, attempts=1, delivered=["webhook a", "b"]))
        assert (await log.other.notices())[0].delivered == ["webhook a", "b"]

    play(story)


def test_a_digest_folds_all_of_its_notices_or_nothing_changes(play):
    async def story(log):
        for number in range(3):
            await log.store.put_notice(normal(number))
        known = await log.other.notices()
        digest = replace(NOTICE, id="d", key="digest:1", kind="digest", priority="normal", created_at=70)
        assert await log.store.settle_notice(known[0], replace(known[0], attempts=1))
        assert not await log.other.put_notice(digest, folds=known)
        assert {each.state for each in await log.store.notices()} == {"due"}
        assert await log.other.put_notice(digest, folds=known[1:])
        folded = await log.store.notices(states=("folded",))
        assert [(each.notice.id, each.settled_at) for each in folded] == [("n1", 70), ("n0", 70)]
        assert not await log.other.put_notice(digest, folds=await log.store.notices(states=("due",)))
        assert {each.notice.id for each in await log.store.notices(states=("due",))} == {"d", "n2"}

    play(story)


def test_a_budget_counts_normal_notices_whose_sending_has_begun_and_holds_for_everybody(play):
    async def story(log):
        critical = replace(NOTICE, id="c")
        for notice in (normal(1), normal(2), normal(3), critical, replace(normal(4), kind="digest")):
            await log.store.put_notice(notice)
        by_id = {each.notice.id: each for each in await log.other.notices()}
        budget = NoticeBudget(most=2, since_ms=100)
        assert await log.store.notices_used(100) == 0
        first, second, third = by_id["n1"], by_id["n2"], by_id["n3"]
        assert await log.store.settle_notice(first, replace(first, attempts=1), budget=budget)
        assert await log.store.settle_notice(second, replace(second, state="sent", settled_at=99), budget=budget)
        assert await log.other.notices_used(100) == 1
        assert await log.other.notices_used(99) == 2
        assert not await log.other.settle_notice(third, replace(third, attempts=1), budget=replace(budget, since_ms=99))
        assert await log.other.settle_notice(third, replace(third, attempts=1), budget=budget)
        digest = by_id["n4"]
        assert await log.store.settle_notice(digest, replace(digest, state="sent", settled_at=100))
        assert await log.other.notices_used(100) == 2

    play(story)
