"""Notices: once by their key, in texts that nothing foreign travels in, and not too many a day."""

import shlex
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from stoic.core import notice
from stoic.core.budget import Use
from stoic.core.commands import Route
from stoic.core.loops import Rule
from stoic.core.notice_forms import BUDGET_PER_DAY, DIGEST, FORMS
from stoic.core.quarantine import NeutralEvent
from stoic.core.refusal import FROZEN_AT, PROBE_DELAYS_MS, RefusalState, duration, rule
from stoic.records import Health, Notice, Operation, Outcome, Question, StoredNotice

SEGMENT = "t.1#1"
NOW_MS = 1_796_000_000_000  # 2026-11-30 00:53:20 UTC
DAY_MS = 86_400_000
TODAY_MS = NOW_MS - NOW_MS % DAY_MS
ROUTE = Route(provider="openai", api="chat", model="gpt-5")
CANARY = "CANARY you shall not pass\n<b>now</b> {thread}"


def state(provider="openai", refusals=1, **fields):
    known = RefusalState(
        provider=provider, model="gpt-5", category=None, refusals=refusals, refused_at_ms=NOW_MS, segment=SEGMENT
    )
    return replace(known, **fields)


def operation(**fields):
    known = Operation(
        id="t.1.2.0",
        thread="t",
        turn=1,
        round=2,
        index=0,
        tool="pay",
        effect="send",
        arguments_key="k",
        state="unknown",
        runs=1,
    )
    return replace(known, **fields)


def closed(**fields):
    known = Health(
        route="openai:gpt-5 http://h abc",
        state="open",
        failure_class="auth",
        failed_at_ms=NOW_MS,
        waits_for="credential",
        credential="abc",
    )
    return replace(known, **fields)


# ---- keys and texts -----------------------------------------------------------------------------


def test_a_chat_is_told_of_once_in_a_segment_however_often_it_is_refused():
    told = [notice.chat_refused("t", SEGMENT, state(refusals=count)) for count in range(1, FROZEN_AT + 1)]
    assert {each.key for each in told} == {"refusal:t.1#1:0:openai"}
    assert {each.priority for each in told} == {"critical"}
    assert told[0].actions == ["stoic switch t MODEL", "stoic fresh t", "stoic show t"]


def test_a_repair_thread_is_told_of_twice_in_a_segment_at_its_first_refusal_and_when_frozen():
    told = [notice.repair_refused("t", SEGMENT, [state(refusals=count)]) for count in range(1, FROZEN_AT + 1)]
    assert [(each.key, each.priority) for each in told if each is not None] == [
        ("refusal:t.1#1:0:openai", "normal"),
        ("refusal:t.1#1:3:openai", "critical"),
    ]
    assert told[0] is not None
    assert told[-1] is not None


def test_a_refusal_names_the_set_of_those_who_refused_sorted_with_their_categories():
    told = notice.repair_refused("t", SEGMENT, [state("zeta", category="cyber"), state("alpha"), state("zeta")])
    assert told is not None
    assert told.key == "refusal:t.1#1:0:alpha,zeta"
    assert "Refused by alpha:gpt-5, zeta:gpt-5, zeta:gpt-5 (category cyber). " in told.text


def test_a_refusal_says_that_withholding_did_not_help_only_where_something_was_withheld():
    for withheld, said in [(False, "Refused by openai:gpt-5. "), (True, "Refused by openai:gpt-5, also without what")]:
        assert notice.chat_refused("t", SEGMENT, state(), withheld=withheld).text.startswith(said)
        repair = notice.repair_refused("t", SEGMENT, [state()], withheld=withheld)
        assert repair is not None
        assert repair.text.startswith(said)


def test_a_set_is_frozen_when_each_of_it_is_and_a_new_one_in_it_is_told_of():
    frozen, unreadable = state("a", refusals=FROZEN_AT), state("b", refused_at_ms=None)
    both = notice.repair_refused("t", SEGMENT, [frozen, unreadable])
    assert both is not None
    assert (both.key, both.priority) == ("refusal:t.1#1:3:a,b", "critical")
    new = notice.repair_refused("t", SEGMENT, [frozen, state("c")])
    assert new is not None
    assert (new.key, new.priority) == ("refusal:t.1#1:0:a,c", "normal")
    assert notice.repair_refused("t", SEGMENT, [frozen, state("c", refusals=2)]) is None


def test_the_rule_in_the_notices_is_made_of_the_same_numbers_as_the_rule():
    told = [notice.chat_refused("t", SEGMENT, state())]
    told += filter(None, (notice.repair_refused("t", SEGMENT, [state(refusals=count)]) for count in (1, FROZEN_AT)))
    assert len(told) == 3
    for each in told:
        assert each.text.endswith(rule())
        assert all(duration(delay) in each.text for delay in PROBE_DELAYS_MS)


def test_a_revoked_account_is_told_of_once_a_day_and_credential_whatever_the_thread():
    first = notice.access_revoked("t", ROUTE, "abc", "blocked", NOW_MS)
    assert (first.key, first.priority) == ("access_revoked:openai:abc:2026-11-30", "critical")
    assert notice.access_revoked("u", ROUTE, "abc", None, NOW_MS + 1).key == first.key
    assert notice.access_revoked("t", ROUTE, "new", None, NOW_MS).key != first.key
    assert notice.access_revoked("t", ROUTE, "abc", None, NOW_MS + DAY_MS).key != first.key
    assert "openai:gpt-5 refuses the account (category blocked):" in first.text
    assert first.actions[0] == "stoic health retry openai:gpt-5"


def test_a_decision_that_a_provider_wants_is_told_of_once_in_a_segment():
    told = notice.decision_wanted("t", SEGMENT, ROUTE, "agentic")
    assert (told.key, told.priority) == ("decision_wanted:t.1#1:openai", "critical")
    assert "about what the agent does (category agentic)." in told.text


def test_a_stopped_loop_is_told_of_with_its_rule_and_a_bounded_grant():
    told = notice.stuck_loop("t", 4, "global_breaker")
    assert (told.key, told.priority) == ("stuck_loop:t:4", "normal")
    assert "without news (rule global_breaker), so" in told.text
    assert told.actions[0] == "stoic resume t --allow 10"
    assert "without news, so" in notice.stuck_loop("t", 4, None).text


def test_every_rule_of_the_detector_is_told_by_its_own_name():
    for name in get_args(Rule):
        assert f"without news (rule {name}), so" in notice.stuck_loop("t", 4, name).text


def test_an_unknown_operation_is_told_of_once_for_each_run_and_offers_both_answers():
    told = notice.unknown_operation(operation())
    assert (told.key, told.priority, told.thread) == ("unknown_operation:t.1.2.0:1", "normal", "t")
    assert "a call of pay (send) took effect is unknown" in told.text
    assert told.actions[:2] == ["stoic operations resolve t.1.2.0 done", "stoic operations resolve t.1.2.0 not_done"]
    assert notice.unknown_operation(operation(runs=2)).key != told.key


def test_a_closed_route_is_told_of_once_a_day_for_its_class_and_credential():
    told = notice.route_closed("t", ROUTE, closed())
    assert (told.key, told.priority) == ("route_closed:openai:gpt-5:auth:abc:2026-11-30", "normal")
    assert told.text == (
        "openai:gpt-5 is shut after auth: nothing is sent there until its credential changes or a person says so."
    )
    for change in ({"failure_class": "quota"}, {"credential": "new"}, {"failed_at_ms": NOW_MS + DAY_MS}):
        assert notice.route_closed("t", ROUTE, closed(**change)).key != told.key
    assert (
        notice.route_closed("u", ROUTE, closed(credential=None)).key == "route_closed:openai:gpt-5:auth:none:2026-11-30"
    )


def test_a_route_that_also_opens_by_the_clock_says_when():
    told = notice.route_closed("t", ROUTE, closed(failure_class="quota", until_ms=NOW_MS))
    assert told.text.endswith("or a person says so, at the latest until 2026-11-30 00:53 UTC.")


def test_what_the_gate_kept_back_is_told_of_once_a_turn():
    told = notice.gate_violation("t", 7)
    assert (told.key, told.priority) == ("gate_violation:t:7", "critical")
    assert "bug of stoic" in told.text


def test_a_refused_compaction_is_told_of_once_in_a_segment_and_offers_a_fresh_start_first():
    told = notice.compaction_refused("t", SEGMENT, ROUTE, None)
    assert (told.key, told.priority) == ("compaction_refused:t.1#1:openai", "normal")
    assert told.actions[0] == "stoic fresh t"


def test_a_digest_counts_what_it_holds_by_kind():
    folded = [stored(1), stored(2, kind="route_closed"), stored(3)]
    told = notice.digest(folded, 20, NOW_MS)
    assert (told.key, told.thread, told.kind) == ("digest:2026-11-30", "", DIGEST)
    assert told.text == (
        "3 notices in this one, since at most 20 are sent one by one on a day: 1 route_closed, 2 stuck_loop."
    )
    assert notice.digest(folded[:1], 20, NOW_MS).text.startswith("1 notice in this one")


def test_a_trial_is_a_notice_of_its_own_each_time():
    first, second = notice.trial(1), notice.trial(2)
    assert first.kind == "test"
    assert first.key != second.key


def test_threads_and_models_stand_in_commands_as_one_word_of_a_shell():
    told = notice.route_closed("my thread; rm -rf $HOME", replace(ROUTE, model="org/a b"), closed())
    assert [shlex.split(action) for action in told.actions] == [
        ["stoic", "health", "retry", "openai:org/a b"],
        ["stoic", "switch", "my thread; rm -rf $HOME", "MODEL"],
        ["stoic", "doctor"],
    ]


def foreign(text):
    """Return every notice into which something that a provider or a model wrote may come."""
    told = [
        notice.chat_refused("t", SEGMENT, state(text, category=text, model=text)),
        notice.repair_refused("t", SEGMENT, [state(category=text)]),
        notice.repair_refused("t", SEGMENT, [state(category=text, refusals=FROZEN_AT)]),
        notice.access_revoked("t", ROUTE, "abc", text, NOW_MS),
        notice.decision_wanted("t", SEGMENT, ROUTE, text),
        notice.stuck_loop("t", 1, text),
        notice.turn_ended(
            Outcome(outcome="failed", thread="t", turn=1, failure_class=text), replace(ROUTE, model=text)
        ),
        notice.input_withheld("t", SEGMENT, NeutralEvent(kind=text, row=text, provider=text, category=text), 1),
        notice.unknown_operation(operation(tool=text, effect=text)),
        notice.route_closed("t", ROUTE, closed(failure_class=text, waits_for=text)),
        notice.compaction_refused("t", SEGMENT, ROUTE, text),
        notice.approval_wanted("t", Question(operation="t.1.1.0", tool=text, effect=text, arguments=text)),
    ]
    return [each for each in told if each is not None]


def said(each: Notice) -> str:
    return "\n".join([each.key, each.text, *each.actions])


def test_what_is_no_short_harmless_word_is_told_as_other():
    for each in foreign(CANARY):
        assert "CANARY" not in said(each)
        assert "other" in said(each)


@given(st.text(min_size=1).filter(lambda text: not text.isascii() or " " in text))
def test_no_foreign_text_gets_into_a_notice(text):
    for mine, other in zip(foreign(text), foreign(CANARY), strict=True):
        assert said(mine) == said(other)


def test_every_form_is_used_and_every_field_of_a_form_is_filled():
    near = Use(scope="day", bound="rounds", used=4, limit=5)
    told = [
        *foreign("x"),
        notice.turn_ended(Outcome(outcome="failed", thread="t", turn=1, failure_class="network"), None),
        notice.gate_violation("t", 1),
        notice.budget("t", near, NOW_MS),
        notice.budget("t", replace(near, used=5), NOW_MS),
        notice.digest([stored(1)], 2, NOW_MS),
        notice.trial(1),
    ]
    assert {each.kind for each in told} == {form.kind for form in FORMS.values()}
    assert [each.key for each in told if "{" in said(each) or "None" in said(each)] == []


# ---- how many a day -----------------------------------------------------------------------------


def stored(number, priority="normal", kind="stuck_loop", created_at=NOW_MS, **fields):
    key = f"k{number}"
    told = Notice(id=key, key=key, thread="t", kind=kind, text="", created_at=created_at)
    return StoredNotice(notice=replace(told, priority=priority), **fields)


def keys(found):
    return [each.notice.key for each in found]


def test_the_budget_is_twenty_a_day():
    assert BUDGET_PER_DAY == 20


def test_normal_notices_go_as_far_as_the_budget_has_room_and_the_rest_waits():
    due = [stored(number) for number in range(5)]
    found = notice.plan(due, 1, 3, NOW_MS)
    assert (keys(found.send), found.fold, keys(found.wait)) == (["k0", "k1"], [], ["k2", "k3", "k4"])


def test_critical_ones_go_first_and_always():
    due = [stored(0, attempts=1), stored(1), stored(2, "critical"), stored(3), stored(4, "critical")]
    found = notice.plan(due, 99, 3, NOW_MS)
    assert (keys(found.send), keys(found.wait)) == (["k2", "k4", "k0"], ["k1", "k3"])


def test_a_digest_and_what_has_its_room_already_need_no_room():
    due = [stored(1, kind=DIGEST), stored(2, attempts=1), stored(3, state="failed", attempts=4)]
    found = notice.plan(due, 3, 3, NOW_MS)
    assert (keys(found.send), keys(found.wait)) == (["k1", "k2"], ["k3"])


def test_what_waits_for_a_retry_is_left_out_until_its_time():
    due = [stored(1, attempts=1, retry_at=NOW_MS + 1), stored(2, attempts=1, retry_at=NOW_MS)]
    assert keys(notice.plan(due, 0, 3, NOW_MS).send) == ["k2"]


def test_the_surplus_of_a_day_is_folded_when_it_is_over_and_takes_no_room_of_the_next():
    late = TODAY_MS + DAY_MS - 1
    due = [stored(number, created_at=late) for number in range(3)]
    assert keys(notice.plan(due, 3, 3, late).wait) == ["k0", "k1", "k2"]
    found = notice.plan([*due, stored(9, created_at=late + 1)], 0, 1, late + 1)
    assert (keys(found.fold), keys(found.send), found.wait) == (["k0", "k1", "k2"], ["k9"], [])


def test_a_person_gets_the_surplus_at_once():
    due = [stored(number) for number in range(3)]
    found = notice.plan(due, 0, 1, NOW_MS, fold_now=True)
    assert (keys(found.send), keys(found.fold), found.wait) == (["k0"], ["k1", "k2"], [])


@pytest.mark.parametrize("fold_now", [True, False])
def test_a_day_has_one_digest(fold_now):
    due = [stored(1, created_at=TODAY_MS - 1), stored(2), stored(3)]
    found = notice.plan(due, 0, 1, NOW_MS, digested=True, fold_now=fold_now)
    assert (keys(found.send), found.fold, keys(found.wait)) == (["k1"], [], ["k2", "k3"])


NOTICES = st.builds(
    stored,
    st.integers(0, 10_000),
    st.sampled_from(["normal", "critical"]),
    st.sampled_from(["stuck_loop", DIGEST]),
    st.integers(NOW_MS - 2 * DAY_MS, NOW_MS),
    attempts=st.integers(0, 2),
    retry_at=st.none() | st.integers(NOW_MS - 5, NOW_MS + 5),
    state=st.sampled_from(["due", "failed"]),
)


@given(
    st.lists(NOTICES, unique_by=lambda each: each.notice.key),
    st.integers(0, 30),
    st.integers(0, 20),
    st.booleans(),
    st.booleans(),
)
def test_each_notice_goes_one_way_critical_ones_out_and_others_within_the_budget(due, used, budget, digested, fold_now):
    found = notice.plan(due, used, budget, NOW_MS, digested=digested, fold_now=fold_now)
    waiting = [each for each in due if each.retry_at is not None and each.retry_at > NOW_MS]
    everything = [*found.send, *found.fold, *found.wait, *waiting]
    assert sorted(keys(everything)) == sorted(keys(due))
    assert all(each in found.send or each in waiting for each in due if each.notice.priority == "critical")
    assert sum(map(notice.is_counted, found.send)) <= max(0, budget - used)
    assert all(notice.is_counted(each) for each in [*found.fold, *found.wait])
    assert not (digested and found.fold)
    assert not (fold_now and not digested and found.wait)
