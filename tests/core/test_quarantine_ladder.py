"""The ladder withholds what came from outside, least first, and never anything else (SPEC §9)."""

from itertools import pairwise
from typing import TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.core.test_core_edges import row

from stoic.core.history import changed_row
from stoic.core.quarantine import (
    STEPS,
    NeutralEvent,
    Placeholder,
    RefusedBy,
    body_hash,
    is_external,
    is_withheld,
    neutral_text,
    next_step,
    placeholder_text,
    read_neutral,
    read_placeholder,
    read_without_images,
    withhold,
)
from stoic.core.replay import gate, messages
from stoic.records import Row, ViewChange

BY = RefusedBy(provider="anthropic", category="cyber")
IMAGE = {"media_type": "image/png", "data_base64": "QUFB"}
BODY = "[[T1]]"
T = TypeVar("T")


def some(value: T | None) -> T:
    assert value is not None
    return value


def reply(seq, calls):
    parts = [{"type": "call", "name": "look", "arguments": "{}"} for _ in range(calls)]
    return row(seq, "reply", {"parts": parts}, role="assistant", accepted=True)


def result(seq, call=0, *, images=0, text=BODY, failure=None, **fields):
    content = {"call": call, "operation": f"t.1.1.{call}", "tool": "look", "text": text}
    content |= ({"images": [IMAGE] * images} if images else {}) | ({"failure": failure} if failure else {})
    return row(seq, "result", content, role="tool", **fields)


def event(seq, kind="mail", *, images=0, **fields):
    content = {"kind": kind, "payload": {"body": BODY}, "text": f"mail says {BODY}", "source_channel": "slack:C1"}
    return row(seq, "event", content | ({"images": [IMAGE] * images} if images else {}), **fields)


def message(seq):
    return row(seq, "message", {"text": "a person's words"})


def placeholder(of):
    fields = Placeholder(
        tool="look", provider="anthropic", category="cyber", row=of.id, operation=of.content["operation"]
    )
    return placeholder_text(fields)


def neutral(of):
    fields = NeutralEvent(kind=of.content["kind"], row=of.id, provider="anthropic", category="cyber", origin="slack:C1")
    return neutral_text(fields)


def polite(payload):
    return "a mail came"


POLITE = {"mail": polite}


def images(seen):
    """Return the images of what a model sees."""
    return getattr(seen, "images", ())


def applied(rows, step):
    """Return the rows as the store has them after a step."""
    changes = {change.seq: change for change in step.views}
    last = max(each.seq for each in rows)
    changed = [changed_row(each, changes[each.seq]) if each.seq in changes else each for each in rows]
    new = [
        row(last + number, "event", made.content, meta=made.meta)
        for number, made in enumerate(step.replacements, start=1)
    ]
    return changed + new


def ladder(rows, renderers=POLITE, pointed=None):
    """Return every step of a ladder, and the rows after each."""
    steps, states, done = [], [rows], 0
    while (step := next_step(states[-1], BY, done=done, pointed=pointed, renderers=renderers)) is not None:
        steps.append(step)
        states.append(applied(states[-1], step))
        done = step.number
    return steps, states


def withheld(rows, **how):
    """Return what each step of a ladder withholds, as `(number, seqs)`."""
    return [(step.number, step.withheld) for step in ladder(rows, **how)[0]]


# ---- which rows ---------------------------------------------------------------------------------


def test_a_lone_result_is_withheld_in_one_step():
    one = result(2)
    (step,), _ = ladder([one])
    assert step.number == 1
    assert step.withheld == [2]
    assert step.replacements == []
    assert step.views == [ViewChange(seq=2, quarantine="placeholder", view={"text": placeholder(one)})]


def test_the_newest_goes_first_then_the_newer_half_then_all():
    rows = [reply(1, 4), *(result(2 + call, call) for call in range(4))]
    assert withheld(rows) == [(1, [5]), (2, [4]), (3, [2, 3])]


@pytest.mark.parametrize(
    ("rows", "half"), [(2, [2]), (3, [3]), (4, [4]), (5, [4, 5]), (6, [5, 6]), (7, [5, 6, 7]), (8, [6, 7, 8])]
)
def test_the_newer_half_is_at_least_two_and_rounded_up(rows, half):
    steps = withheld([result(1 + number, number) for number in range(1, rows + 1)])
    assert steps[0] == (1, [rows + 1])
    assert steps[1] == (2, half)


def test_the_results_of_a_reply_stand_in_the_order_of_its_calls_whatever_order_they_came_in():
    rows = [reply(1, 3), result(2, 2), result(3, 0), result(4, 1)]
    assert withheld(rows) == [(1, [2]), (2, [4]), (3, [3])]


def test_an_event_is_newer_than_the_results_before_it():
    rows = [result(2, turn=9), event(3), event(4)]
    assert withheld(rows, renderers={}) == [(1, [4]), (2, [3]), (3, [2])]


def test_a_replaced_event_counts_where_the_event_stood():
    rows = [event(2), event(3), event(4), event(5)]
    assert withheld(rows, renderers={}, pointed=2) == [(1, [2]), (2, [4, 5]), (3, [3])]


def test_the_row_that_the_provider_points_at_goes_before_the_newest():
    rows = [result(2 + call, call) for call in range(4)]
    assert withheld(rows, pointed=2)[0] == (1, [2])


@pytest.mark.parametrize("pointed", [1, 6, 9, 7])
def test_a_pointer_at_what_cannot_be_withheld_does_not_count(pointed):
    gone = result(7, 1, quarantine="placeholder", view={"text": "(withheld)"})
    rows = [message(1), result(5), message(6), gone]
    assert withheld(rows, pointed=pointed)[0] == (1, [5])


@pytest.mark.parametrize(
    "other",
    [
        message(3),
        row(3, "nudge", {"reason": "empty", "text": "your last reply was empty"}),
        row(3, "compaction", {"text": "summed up"}),
        result(3, accepted=True),
        event(3, accepted=True),
        event(3, visible=False),
        event(3, quarantine="excluded"),
        row(3, "kept", {"text": "a person's words"}, meta={"kind": "message", "turn": 1, "of": 1}),
    ],
)
def test_what_did_not_come_from_outside_or_is_no_longer_open_is_never_withheld(other):
    assert not is_external(other)
    assert withheld([other]) == []
    assert withheld([other, result(4)]) == [(1, [4])]


def test_nothing_is_withheld_twice_and_a_step_that_would_change_nothing_is_skipped():
    known = result(5, 3, quarantine="placeholder", view={"text": "(withheld)"})
    rows = [*(result(2 + call, call) for call in range(3)), known]
    assert is_withheld(known)
    assert withheld(rows) == [(1, [4]), (3, [2, 3])]
    assert withheld([known]) == []


def test_a_ladder_goes_on_behind_its_last_step():
    rows = [result(2), result(3, 1)]
    assert STEPS == 3
    assert some(next_step(rows, BY, renderers={})).number == 1
    assert some(next_step(rows, BY, done=1, renderers={})).number == 2
    assert some(next_step(rows, BY, done=2, renderers={})).number == 3
    assert next_step(rows, BY, done=STEPS, renderers={}) is None
    assert next_step([], BY, renderers={}) is None


# ---- in what form -------------------------------------------------------------------------------


@pytest.mark.parametrize("failure", [None, "tool_error"])
def test_a_withheld_result_failed_as_it_had_before(failure):
    one = result(
        2,
        failure=failure,
        images=1,
        view={"text": f"{BODY}\n\n[runtime] same again", **({"failure": failure} if failure else {})},
    )
    change = some(withhold(one, BY))
    assert change.view.view == {"text": placeholder(one)} | ({"failure": failure} if failure else {})
    (_, before), (_, after) = (messages([reply(1, 1), each]) for each in (one, changed_row(one, change.view)))
    assert after == replace(before, text=placeholder(one))


def test_of_a_row_with_images_only_those_go_first():
    steps, states = ladder([reply(1, 1), result(2, images=2)])
    assert [(step.number, step.views[0].quarantine) for step in steps] == [(1, None), (2, "placeholder")]
    shown = states[1][1]
    assert some(read_without_images(shown.view, shown.content)).count == 2
    assert shown.view["text"].startswith(BODY)
    assert not is_withheld(shown)
    assert [len(images(messages(state)[1])) for state in states] == [2, 0, 0]


def test_of_an_event_with_images_only_those_go_first():
    steps, states = ladder([event(2, images=1)])
    assert [step.number for step in steps] == [1, 2, 3]
    assert [step.withheld for step in steps] == [[2], [2], [2]]
    seen = [messages(state)[0].text for state in states]
    assert seen[1].startswith(f"{seen[0]}\n\n[runtime] images v1: ")
    assert seen[2:] == ["a mail came", neutral(event(2))]


def test_an_image_that_nobody_points_at_goes_with_its_row():
    rows = [result(2, 0, images=1), result(3, 1)]
    assert [step.views[0].quarantine for step in ladder(rows)[0]] == ["placeholder", "placeholder"]


def test_an_event_without_a_renderer_becomes_neutral_and_keeps_where_it_came_from():
    one = replace(event(2), meta={"entry": "e1", "fingerprint": "f"}, view={"text": "frozen"})
    one = replace(one, content=one.content | {"from_thread": "t9", "task_thread": 7, "owner_thread": ""})
    (step,), _ = ladder([one], renderers={"other": polite})
    assert step.views == [ViewChange(seq=2, quarantine="excluded")]
    assert step.withheld == [2]
    (made,) = step.replacements
    assert made.content == {
        "kind": "mail",
        "source_channel": "slack:C1",
        "from_thread": "t9",
        "owner_thread": "",
        "text": neutral(one),
    }
    assert made.meta == {"replaces": 2, "row": "r2", "form": "neutral"}


def test_an_event_with_a_renderer_is_rendered_and_neutral_only_in_the_last_step():
    steps, states = ladder([reply(1, 1), result(2), event(3)])
    assert [step.number for step in steps] == [1, 2, 3]
    assert [messages(state)[2].text for state in states] == [
        f"mail says {BODY}",
        "a mail came",
        "a mail came",
        neutral(event(3)),
    ]
    rendered, last = (step.replacements[0] for step in steps[::2])
    assert rendered.content == {"kind": "mail", "source_channel": "slack:C1", "text": "a mail came"}
    assert rendered.meta == {"replaces": 3, "row": "r3", "form": "rendered"}
    assert last.meta == {"replaces": 3, "row": "r3", "form": "neutral"}
    assert steps[2].views == [ViewChange(seq=4, quarantine="excluded")]
    assert steps[2].withheld == [3]


def test_an_event_rendered_as_it_is_shown_already_changes_only_in_the_last_step():
    same = {"mail": lambda payload: f"mail says {payload['body']}"}
    assert withheld([event(2)], renderers=same) == [(3, [2])]
    assert withheld([event(2, images=1), event(3)], renderers=same) == [(2, [2]), (3, [2, 3])]


class Markup(str):
    """A text that knows it is safe, as template engines make it."""

    __slots__ = ()


def raises(payload):
    raise LookupError(payload["body"])


def runs_for_ever(payload):
    return runs_for_ever(payload)


@pytest.mark.parametrize(
    ("renderer", "why"),
    [
        (lambda _: "", "no_text"),
        (lambda _: " \n", "no_text"),
        (lambda _: None, "no_text"),
        (lambda _: b"a mail", "no_text"),
        (raises, "LookupError"),
        (runs_for_ever, "RecursionError"),
        (lambda _: "\ud800", "UnicodeEncodeError"),
    ],
)
def test_a_renderer_that_brings_no_text_leaves_the_event_neutral_and_says_why(renderer, why):
    (step,), _ = ladder([event(2)], renderers={"mail": renderer})
    assert step.number == 1
    assert step.replacements[0].content["text"] == neutral(event(2))
    assert step.replacements[0].meta == {"replaces": 2, "row": "r2", "form": "neutral", "renderer_failed": why}


def test_a_renderer_cannot_change_the_log_and_its_text_is_plain():
    def spoils(payload):
        payload["body"] = "changed"
        return Markup("a mail came")

    one = event(2)
    made = some(some(withhold(one, BY, {"mail": spoils})).replacement)
    assert one.content["payload"] == {"body": BODY}
    assert type(made.content["text"]) is str


def test_a_copy_that_compaction_kept_is_withheld_by_what_it_is():
    kept = {"turn": 1, "of": 2}
    copied = replace(result(7, images=1), kind="kept", meta=kept | {"kind": "result"})
    also = replace(event(8), kind="kept", meta=kept | {"kind": "event"})
    assert withheld([copied, also]) == [(1, [8]), (2, [7]), (3, [8])]


def test_a_copy_of_what_was_withheld_stays_withheld_though_its_mark_is_gone():
    one = result(2)
    changed = changed_row(one, some(withhold(one, BY)).view)
    copied = replace(changed, seq=7, kind="kept", quarantine=None, meta={"kind": "result", "turn": 1, "of": 2})
    assert is_withheld(copied)
    assert not is_withheld(replace(copied, view={"text": f"{placeholder(one)} {BODY}"}))
    rendered = row(8, "kept", {"kind": "mail", "text": "a mail came"}, meta={"kind": "event", "turn": 1, "of": 4, "replaces": 3, "row": "r3", "form": "rendered"})  # fmt: skip
    assert withheld([copied, rendered]) == [(3, [3])]


# ---- the same body ------------------------------------------------------------------------------


def test_a_body_is_known_again_by_what_it_says():
    assert body_hash(result(2)) == body_hash(result(9, 3, failure="tool_error", view={"text": "warned"}))
    assert body_hash(result(2)) == body_hash(result(2).content)
    assert body_hash(event(2)) == body_hash(replace(event(3, "other"), view={"text": "frozen"}))
    assert body_hash({"text": BODY}) == body_hash({"text": BODY, "images": []})
    ordered = [{"payload": {"a": 1, "b": 2.0}, "text": ""}, {"payload": {"b": 2, "a": 1.0}, "text": "rendered"}]
    assert len({body_hash(each) for each in ordered}) == 1


def test_another_body_is_another():
    others = [
        {"text": BODY},
        {"text": f"{BODY}\n"},
        {"text": BODY, "images": [IMAGE]},
        {"text": BODY, "images": [IMAGE, IMAGE]},
        {"text": BODY, "images": [IMAGE | {"data_base64": "QkJC"}]},
        {"payload": {"body": BODY}, "text": BODY},
        {"payload": {"body": BODY}, "text": BODY, "images": [IMAGE]},
        {"payload": None, "text": BODY},
        {"payload": [], "text": BODY},
    ]
    assert len({body_hash(each) for each in others}) == len(others)


# ---- whatever the increment ---------------------------------------------------------------------


@st.composite
def increments(draw) -> list[Row]:
    calls = draw(st.integers(0, 6))
    order = draw(st.permutations(range(calls)))
    pictures = st.integers(0, 2)
    kinds = st.sampled_from(["mail", "page", "broken"])
    rows = [message(1), reply(2, calls)] if calls else [message(1)]
    for call in order:
        rows.append(result(len(rows) + 1, call, images=draw(pictures), failure=draw(st.none() | st.just("tool_error"))))
    for what in draw(st.lists(st.sampled_from(["event", "message", "nudge"]), max_size=6)):
        seq = len(rows) + 1
        if what == "event":
            rows.append(event(seq, draw(kinds), images=draw(pictures)))
        else:
            rows.append(message(seq) if what == "message" else row(seq, "nudge", {"reason": "empty", "text": "answer"}))
    return rows


RENDERERS = {"mail": polite, "broken": raises}


def carries(rows):
    """Return how much of what came from outside a model reads: texts with the body in them, and images."""
    seen = messages(rows)
    texts = sum(BODY in each.text for each in seen)
    return texts + sum(len(images(each)) for each in seen)


@settings(deadline=None)
@given(increments(), st.none() | st.integers(1, 14))
def test_a_ladder_is_short_and_each_step_leaves_a_model_less_to_read(rows, pointed):
    steps, states = ladder(rows, RENDERERS, pointed)
    assert [step.number for step in steps] == sorted({step.number for step in steps})
    assert len(steps) <= STEPS
    if steps:
        gate(messages(states[-1]))
    for before, after in pairwise(states):
        assert messages(before) != messages(after)
        assert carries(after) <= carries(before)
    assert carries(states[-1]) == 0


@settings(deadline=None)
@given(increments(), st.none() | st.integers(1, 14))
def test_at_the_end_all_that_came_from_outside_is_in_its_barest_form_and_nothing_else_has_changed(rows, pointed):
    _, states = ladder(rows, RENDERERS, pointed)
    for each in filter(is_external, states[-1]):
        assert is_withheld(each)
        if each.kind == "event":
            assert some(read_neutral(each.content["text"])).row == f"r{each.meta['replaces']}"
            assert BODY not in repr(each)
        else:
            assert some(read_placeholder(each.view["text"])).row == each.id
            assert "images" not in each.view
    own = [[each for each in state if each.kind not in {"result", "event"}] for state in states]
    assert all(each == own[0] for each in own)


@settings(deadline=None)
@given(increments())
def test_what_is_withheld_stays_withheld_and_every_body_is_named(rows):
    steps, states = ladder(rows, RENDERERS)
    for before, after in pairwise(states):
        gone = {each.seq for each in before if each.quarantine is not None}
        assert gone <= {each.seq for each in after if each.quarantine is not None}
    named = {seq for step in steps for seq in step.withheld}
    assert named == {each.seq for each in rows if is_external(each)}
    assert [len(step.withheld) for step in steps if step.number == 1] in ([], [1])
    for step in steps:
        assert len(step.withheld) == len(step.views)
        assert BODY not in repr(step.replacements)


@settings(deadline=None)
@given(increments())
def test_a_step_depends_on_the_rows_alone(rows):
    _, states = ladder(rows, RENDERERS)
    for state in states:
        again = next_step(list(reversed(state)), BY, renderers=RENDERERS)
        assert again == next_step(state, BY, renderers=RENDERERS)
