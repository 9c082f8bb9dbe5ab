"""What no longer fits is summed up once per turn; without a usable summary nothing is lost (SPEC §6, §14)."""

import msgspec
import pytest
from msgspec.structs import replace
from tests.core.world import ROUTE, Life, World, called, cut, http, plan, report, run, said, scripted, tool

from stoic.core import notes
from stoic.core.budget import Limits
from stoic.core.commands import CallResult, Commit, Route, Send, Summarise, Summarised
from stoic.core.plan import Candidate
from stoic.core.quarantine import RefusedBy, body_hash, check_forms, read_placeholder, withhold_images
from stoic.core.refusal import PROBE_DELAYS_MS, RefusalState, card
from stoic.core.replay import messages
from stoic.core.rows import shown_content
from stoic.records import (
    AssistantMessage,
    Health,
    Json,
    Outcome,
    Report,
    Row,
    TextPart,
    ToolMessage,
    Usage,
    UserMessage,
)

FULL = http(400, "context_length_exceeded", "too long")
REFUSED = report([], "content_filter")
CANARY = "canary-4417"


def world_of(*reports: Report) -> World:
    world = World(plan(tool("look", "read")), scripted(said("first answer")))
    world.message("first question")
    run(world)
    world.reply = scripted(*reports)
    world.message("second question")
    return world


def test_a_full_context_is_summed_up_and_the_round_sent_once_more():
    world = world_of(FULL, said("second answer"))
    outcome = run(world)
    assert isinstance(outcome, Outcome)
    assert (outcome.outcome, outcome.text) == ("completed", "second answer")
    view = world.sends[-1][1]
    assert view == [UserMessage(text=notes.summary("what happened before")), UserMessage(text="second question")]
    assert [row.generation for row in world.rows if row.kind == "reply"] == [1, 2]
    assert world.rows[-1].segment == "t.2#1"


def test_the_next_turn_goes_on_in_the_new_generation():
    world = world_of(FULL, said("second answer"))
    run(world)
    world.reply = scripted(said("third answer"))
    world.message("third question")
    run(world)
    assert [type(message) for message in world.sends[-1][1]] == [
        UserMessage,
        UserMessage,
        AssistantMessage,
        UserMessage,
    ]


def test_the_newest_replies_of_the_turn_are_kept_word_for_word():
    calls = [called(("look", f'{{"n":{n}}}'), text=f"step {n}") for n in range(4)]
    world = world_of(*calls, FULL, said("done"))
    assert run(world) is not None
    view = world.sends[-1][1]
    assert isinstance(view[0], UserMessage)
    assert view[1] == UserMessage(text="second question")
    assert [message.text for message in view if isinstance(message, AssistantMessage)] == ["step 2", "step 3"]
    assert [message.text for message in view if isinstance(message, ToolMessage)] == [
        "result of t.2.3.0",
        "result of t.2.4.0",
    ]
    before = messages([row for row in world.rows if row.generation == 1])
    assert before[-2:] == view[-2:], "a kept row is the same bytes to a model"


def test_it_is_done_once_per_turn():
    world = world_of(FULL)
    outcome = run(world)
    assert isinstance(outcome, Outcome)
    assert outcome.failure_class == "context_length"
    assert (len(world.summarised), len(world.sends)) == (1, 1 + 2)


def test_a_first_message_that_is_too_long_is_not_summed_up():
    world = World(plan(), scripted(FULL))
    world.message("far too long")
    outcome = run(world)
    assert isinstance(outcome, Outcome)
    assert (outcome.failure_class, world.summarised) == ("context_length", [])
    assert notes.NOTHING_TO_COMPACT in outcome.message
    world.reply = scripted(said("ok"))
    world.message("short")
    run(world)
    assert world.sends[-1][1] == [UserMessage(text="short")]


@pytest.mark.parametrize("summary", [None, "", "  \n"])
def test_an_unusable_summary_leaves_the_history_unchanged(summary: str | None):
    world = world_of(FULL, said("never"))
    world.summary = summary
    outcome = run(world)
    assert isinstance(outcome, Outcome)
    assert (outcome.failure_class, outcome.recovers_with) == ("context_length", "compaction")
    assert not any(row.kind == "compaction" for row in world.rows)
    world.reply = scripted(said("ok"))
    world.message("third question")
    run(world)
    assert [message.text for message in world.sends[-1][1]] == ["first question", "first answer", "third question"]


def test_a_crash_before_or_after_the_summary_sums_up_and_ends_once():
    for at in range(12):
        world = world_of(FULL, said("second answer"))
        life = Life(world)
        for _ in range(at):
            if not life.finished:
                life.step()
        if not life.finished:
            life.perform()
        if len(world.outcomes()) == 1:
            assert isinstance(run(world), Outcome)
        assert [outcome.outcome for outcome in world.outcomes()] == ["completed", "completed"]
        assert sum(row.kind == "compaction" for row in world.rows) == 1


def test_a_cancel_while_it_is_summed_up_ends_the_turn():
    world = world_of(FULL, said("second answer"))
    life = Life(world)
    while not isinstance(life.command, Summarise):
        life.step()
    life.cancelling = world.put("cancel").id
    outcome = life.finish()
    assert isinstance(outcome, Outcome)
    assert outcome.outcome == "cancelled"


def test_a_second_compaction_keeps_what_the_first_kept():
    world = world_of(FULL, said("second answer"))
    run(world)
    calls = [called(("look", f'{{"n":{n}}}'), text=f"step {n}") for n in range(3)]
    world.reply = scripted(*calls, FULL, said("third answer"))
    world.message("third question")
    run(world)
    world.reply = scripted(FULL, said("fourth answer"))
    world.message("fourth question")
    run(world)
    assert world.rows[-1].generation == 4
    assert world.sends[-1][1][-1] == UserMessage(text="fourth question")


def test_a_refused_reply_after_compaction_is_still_a_refusal():
    world = world_of(FULL, report([], "content_filter"))
    outcome = run(world)
    assert isinstance(outcome, Outcome)
    assert outcome.refused


def test_a_send_after_compaction_counts_its_own_retries():
    down = http(503, "server_error")
    world = world_of(down, FULL, down, down, down, said("ok"))
    world.plan = replace(world.plan, health_policy=replace(world.plan.health_policy, threshold=99))
    outcome = run(world)
    assert isinstance(outcome, Outcome)
    assert outcome.outcome == "completed"
    assert all(isinstance(send, Send) for send, _ in world.sends)


# ---- by share of the window ----------------------------------------------------------------------------

WINDOW = 100
ABOVE = 80
NEARLY_FULL = Usage(input_tokens=70, output_tokens=11)


def full_world(*, limit: int | None = ABOVE, usage: Usage = NEARLY_FULL, **fields: object) -> World:
    """Return a world whose two turns have used so much of the window."""
    candidates = [Candidate(route=ROUTE, key="A", compact_above_tokens=limit)]
    world = World(
        plan(tool("look", "read"), candidates=candidates, **fields), scripted(said("first answer", usage=usage))
    )
    for text in ("first question", "second question"):
        world.message(text)
        run(replaced_limit(world, None))
    return replaced_limit(world, limit)


def replaced_limit(world: World, limit: int | None) -> World:
    candidates = [replace(each, compact_above_tokens=limit) for each in world.plan.candidates]
    world.plan = replace(world.plan, candidates=candidates)
    return world


def go_on(world: World, *reports: Report) -> Outcome:
    world.reply = scripted(*reports)
    world.message("next question")
    outcome = run(world)
    assert isinstance(outcome, Outcome)
    return outcome


def test_a_window_that_is_nearly_full_is_compacted_before_the_round_is_sent():
    world = full_world()
    assert go_on(world, said("ok")).text == "ok"
    assert world.sends[-1][1] == [
        UserMessage(text=notes.summary("what happened before")),
        UserMessage(text="next question"),
    ]
    assert [row.meta["cause"] for row in world.rows if row.kind == "compaction"] == ["share"]


@pytest.mark.parametrize(
    ("limit", "usage"), [(None, NEARLY_FULL), (ABOVE, Usage(input_tokens=70, output_tokens=10)), (ABOVE, Usage())]
)
def test_it_is_not_compacted_up_to_the_share_nor_where_the_window_is_unknown(limit: int | None, usage: Usage):
    world = full_world(limit=limit, usage=usage)
    go_on(world, said("ok"))
    assert world.summarised == []


def test_within_a_turn_it_is_compacted_once_and_again_in_the_next():
    world = full_world()
    calls = [replace(called(("look", f'{{"n":{n}}}')), usage=NEARLY_FULL) for n in range(4)]
    go_on(world, *calls, said("ok", usage=NEARLY_FULL))
    assert len(world.summarised) == 1
    go_on(world, said("ok"))
    assert len(world.summarised) == 2


def test_the_summary_counts_in_the_turns_usage_and_budget():
    world = full_world(limits=Limits(max_tokens=200))
    world.summing = lambda _: said("in short", usage=Usage(input_tokens=190, output_tokens=10))
    outcome = go_on(world, said("never"))
    assert (outcome.reason, outcome.usage) == ("budget", Usage(input_tokens=190, output_tokens=10))
    assert world.history().generation == 2


FAILED: dict[str, tuple[Report, str]] = {
    "refused": (report([], "content_filter"), "refused"),
    "empty": (said(""), "empty"),
    "a call alone": (called(("look", "{}")), "empty"),
    "blank": (said("  \n"), "empty"),
    "length": (said("half of", finish="length"), "cut"),
    "broken off": (report([TextPart(text="half of")], None, ended=False), "cut"),
    "a dead connection": (cut(TextPart(text="half of")), "failed"),
    "overloaded": (http(503, "server_error"), "failed"),
}


@pytest.mark.parametrize("name", FAILED)
def test_a_turn_goes_on_as_it_is_where_summing_up_early_fails(name: str):
    said_instead, why = FAILED[name]
    world = full_world()
    before = len(world.sends[-1][1])
    world.summing = lambda _: said_instead
    assert go_on(world, called(("look", "{}")), said("ok")).outcome == "completed"
    row = next(row for row in world.rows if row.kind == "compaction_failed")
    assert (row.content["why"], row.content["cause"], row.visible) == (why, "share", False)
    assert len(world.sends[-2][1]) == before + 2, "the history is unchanged"
    assert (len(world.summarised), world.history().generation) == (1, 1)
    assert len(world.notices) == (why == "refused")


def test_what_was_refused_early_is_not_tried_again_in_the_segment_unasked():
    world = full_world()
    world.summing = lambda _: REFUSED
    for _ in range(3):
        go_on(world, said("ok", usage=NEARLY_FULL))
    assert len(world.summarised) == 1
    (notice,) = world.notices.values()
    assert (notice.kind, notice.priority) == ("compaction_refused", "normal")
    assert notice.key == "compaction_refused:t.1#1:openai-chat"
    world.plan = replace(world.plan, fingerprint="g")
    go_on(world, said("ok", usage=NEARLY_FULL))
    assert len(world.summarised) == 2, "another segment is another judge"


def test_a_task_tells_its_owner_and_nobody_else_that_a_summary_was_refused():
    world = full_world(thread_kind="task")
    world.summing = lambda _: REFUSED
    go_on(world, said("ok"))
    assert (len(world.summarised), world.notices) == (1, {})


def test_no_summary_is_asked_of_a_provider_that_may_not_be_asked_now():
    world = full_world(thread_kind="repair")
    world.rows.append(refusal_row(world, refused_at_ms=world.now_ms))
    world.put("event", {"kind": "mail", "payload": 1, "text": "news"})
    run(world)
    assert world.summarised == []
    world.now_ms += PROBE_DELAYS_MS[0]
    world.put("event", {"kind": "mail", "payload": 2, "text": "news"})
    run(world)
    assert world.summarised == [], "the one probe is the round's"
    assert go_on(world, said("ok")).outcome == "completed"


def refusal_row(world: World, refused_at_ms: int) -> Row:
    state = RefusalState(provider="openai-chat", model="m", category=None, refusals=1, refused_at_ms=refused_at_ms)
    content = card(state, skipped=True)
    return replace(world.rows[-1], id="refusal", seq=len(world.rows) + 1, kind="refusal", content=content)


def test_a_summary_that_is_due_by_the_stand_ins_window_is_asked_of_the_bound_provider_and_so_waits():
    world = full_world()
    other = Candidate(route=Route(provider="anthropic", api="messages", model="n"), key="B", compact_above_tokens=1)
    world.plan = replace(world.plan, candidates=[world.plan.candidates[0], other])
    world.health["A"] = Health(route="A", state="open", until_ms=world.now_ms + 60_000, failure_class="overloaded")
    assert go_on(world, said("ok")).outcome == "completed"
    assert world.sends[-1][0].route == other.route
    assert world.summarised == []


# ---- by the request that no longer fits ------------------------------------------------------------------


def test_a_refused_summary_of_what_no_longer_fits_ends_the_turn_with_what_helps():
    world = world_of(FULL, said("never"))
    world.summing = lambda _: REFUSED
    outcome = run(world)
    assert isinstance(outcome, Outcome)
    assert (outcome.failure_class, outcome.recovers_with) == ("context_length", "boundary")
    assert "refused to sum up" in outcome.message
    assert "stoic fresh t`" in outcome.message
    assert (len(world.notices), len(world.refused)) == (1, 1)
    assert outcome.usage == Usage(input_tokens=10, output_tokens=2)
    assert [row.kind for row in world.rows[-3:]] == ["attempt", "compaction_failed", "outcome"]
    world.reply = scripted(said("ok"))
    world.message("third question")
    run(world)
    assert [message.text for message in world.sends[-1][1]] == ["first question", "first answer", "third question"]


def test_refused_bytes_are_not_sent_again_for_what_no_person_causes():
    world = world_of(FULL)
    world.summing = lambda _: REFUSED
    run(world)
    world.reply = scripted(FULL)
    world.put("event", {"kind": "mail", "payload": 1, "text": "news"})
    outcome = run(world)
    assert isinstance(outcome, Outcome)
    assert "refused lately or is closed" in outcome.message
    assert len(world.summarised) == 1
    world.plan = replace(world.plan, fingerprint="g")
    world.put("event", {"kind": "mail", "payload": 1, "text": "news"})
    outcome = run(world)
    assert isinstance(outcome, Outcome)
    assert (len(world.summarised), outcome.recovers_with) == (1, "boundary"), "remembered across segments"
    world.message("again")
    run(world)
    assert len(world.summarised) == 2, "a person's message is sent"


def test_an_account_refusal_of_a_summary_is_not_a_matter_of_its_bytes():
    world = world_of(FULL)
    world.summing = lambda _: http(400, "invalid_request_error", "Your account has been deactivated")
    run(world)
    assert world.refused == {}


def test_a_summariser_that_raises_is_a_failure_that_is_told():
    world = world_of(FULL)
    life = Life(world)
    while not isinstance(life.command, Summarise):
        life.step()
    life._resume(Summarised(error="ValueError", now_ms=world.now_ms))
    outcome = life.finish()
    assert isinstance(outcome, Outcome)
    assert "Summing up failed (ValueError)." in outcome.message


def test_a_request_that_fails_after_compaction_withdraws_the_newest_input_and_keeps_the_summary():
    world = world_of(FULL)
    run(world)
    world.reply = scripted(said("ok"))
    world.message("third question")
    run(world)
    assert world.sends[-1][1] == [
        UserMessage(text=notes.summary("what happened before")),
        UserMessage(text="third question"),
    ]


def test_a_refusal_that_the_ladder_does_not_help_keeps_the_summary_and_withholds_kept_results():
    world = world_of(*[called(("look", f'{{"n":{n}}}')) for n in range(3)], FULL, REFUSED)
    outcome = run(world)
    assert isinstance(outcome, Outcome)
    assert outcome.refused
    world.reply = scripted(said("ok"))
    world.message("third question")
    run(world)
    view = world.sends[-1][1]
    assert view[0] == UserMessage(text=notes.summary("what happened before"))
    assert UserMessage(text="third question") == view[-1]
    newest = [message for message in view if isinstance(message, ToolMessage)][-1]
    assert read_placeholder(newest.text) is not None


def test_the_tombstone_of_a_task_names_its_brief_also_after_compaction():
    calls = [called(("look", f'{{"n":{n}}}')) for n in range(3)]
    world = World(plan(tool("look", "read"), thread_kind="task"), scripted(*calls, FULL, REFUSED))
    world.message("the brief")
    run(world)
    tombstone = next(row for row in world.rows if row.kind == "refusal_stop")
    assert tombstone.content["brief"] == body_hash({"text": "the brief"})


def test_a_turn_that_an_event_opened_keeps_it():
    calls = [called(("look", f'{{"n":{n}}}')) for n in range(3)]
    world = World(plan(tool("look", "read")), scripted(*calls, FULL, said("ok")))
    world.put("event", {"kind": "mail", "payload": 1, "text": "news"})
    run(world)
    assert [message.text for message in world.sends[-1][1]][:2] == [notes.summary("what happened before"), "news"]


def test_words_that_were_withdrawn_are_nothing_to_sum_up():
    world = World(plan(), scripted(http(503, "server_error")))
    world.message("unanswered")
    run(world)
    world.health.clear()
    world.reply = scripted(http(400, "invalid_request_error"))
    world.message("withdraws both")
    life = Life(world)
    life.finish()
    assert world.history().past == 0
    world.reply = scripted(FULL)
    world.message("too long")
    outcome = run(world)
    assert isinstance(outcome, Outcome)
    assert notes.NOTHING_TO_COMPACT in outcome.message


# ---- what a kept copy holds --------------------------------------------------------------------------------


def test_a_kept_copy_never_carries_a_quarantined_body():
    world = World(plan(tool("look", "read")), scripted(said("first answer")))
    world.message("first question")
    run(world)
    world.results["t.2.1.0"] = CallResult(operation="t.2.1.0", text=CANARY, state="returned")
    refused_once = [called(("look", "{}")), REFUSED, called(("look", '{"n":1}')), FULL, said("ok")]
    world.reply = scripted(*refused_once)
    world.message("second question")
    outcome = run(world)
    assert isinstance(outcome, Outcome)
    assert outcome.outcome == "completed"
    copies = [row for row in world.rows if row.kind == "kept"]
    assert len(copies) == 5
    assert CANARY not in msgspec.json.encode(copies).decode()
    assert CANARY in msgspec.json.encode(world.rows).decode()
    assert CANARY not in msgspec.json.encode(world.to_sum_up(world.summarised[0])).decode()


def reader(limits: Limits | None = None) -> World:
    """Return a world whose next turn reads what its provider refuses, and reads it again."""
    world = full_world(usage=Usage(), limits=limits or Limits())
    world.result = lambda operation: CallResult(operation=operation, text=CANARY, state="returned")
    again = replace(called(("look", '{"n":1}')), usage=NEARLY_FULL)
    world.reply = scripted(called(("look", "{}")), REFUSED, again, said("ok"))
    world.message("read it twice")
    return world


def asked_of_models(world: World) -> str:
    """Return what was summed up, and what the generation after it shows."""
    summed_up = [world.to_sum_up(command) for command in world.summarised]
    return msgspec.json.encode([summed_up, messages([row for row in world.rows if row.generation == 2])]).decode()


def test_what_was_withheld_and_came_again_is_withheld_before_its_round_is_summed_up():
    world = reader()
    outcome = run(world)
    assert isinstance(outcome, Outcome)
    assert (outcome.text, len(world.summarised), world.history().generation) == ("ok", 1, 2)
    assert CANARY not in asked_of_models(world)


@pytest.mark.parametrize("is_asked", [True, False])
def test_what_was_withheld_and_came_again_in_a_turn_that_then_ended_is_withheld_before_it_is_summed_up(is_asked: bool):
    world = reader(Limits(max_rounds=2))
    outcome = run(world)
    assert isinstance(outcome, Outcome)
    assert outcome.reason == "budget"
    if is_asked:
        world.put("compact")
    assert go_on(world, said("ok")).text == "ok"
    assert (len(world.summarised), world.history().generation) == (1, 2)
    assert CANARY not in asked_of_models(world)
    assert [row.content["step"] for row in world.rows if row.kind == "quarantine"] == [1, 0]


def copy_of(content: dict[str, Json], view: Json, quarantine: str | None = None) -> Json:
    row = Row(
        id="r", thread="t", seq=1, generation=1, segment="t.1#1", turn=1, round=1, role="tool", kind="result",
        content=content, view=view, created_at=1,
        quarantine=quarantine,
    )  # fmt: skip
    return shown_content(row)


RESULT: dict[str, Json] = {"call": 0, "operation": "t.1.1.0", "tool": "look", "text": CANARY}
IMAGE: dict[str, Json] = {"images": [{"media_type": "image/png", "data_base64": "AA=="}]}


@pytest.mark.parametrize(
    ("content", "view", "kept"),
    [
        (RESULT, None, RESULT),
        (RESULT, {"text": f"{CANARY}\n\n[runtime] a warning"}, RESULT),
        (RESULT, {"text": "withheld"}, RESULT | {"text": "withheld"}),
        (RESULT | IMAGE, {"text": f"{CANARY}\n\nnote", "withheld_images": 1}, RESULT | {"text": f"{CANARY}\n\nnote", "withheld_images": 1}),
        ({"kind": "mail", "payload": 1, "text": "x"}, {"text": "x and a note"}, {"kind": "mail", "text": "x and a note"}),
    ],
)  # fmt: skip
def test_a_copys_content_is_what_a_model_sees_of_it(content: dict[str, Json], view: Json, kept: Json):
    assert copy_of(content, view) == kept


def test_nothing_of_what_left_the_view_is_copied():
    event: dict[str, Json] = {"kind": "mail", "payload": CANARY, "text": CANARY, "from_thread": "u"}
    assert copy_of(event, None, "excluded") == {"kind": "mail", "from_thread": "u", "text": ""}
    assert copy_of({"text": CANARY} | IMAGE, None, "excluded") == {"text": ""}
    assert copy_of({"calls": 3}, {"text": "A person allows 3 more calls"}) == {"calls": 3}


def test_a_copy_whose_images_are_withheld_passes_the_gate_without_them():
    row = Row(
        id="r", thread="t", seq=1, generation=1, segment="t.1#1", turn=1, round=1, role="tool", kind="result",
        content=RESULT | IMAGE, created_at=1, visible=True,
    )  # fmt: skip
    row = replace(row, view=withhold_images(row, RefusedBy(provider="openai-chat")).view.view)
    copy = replace(row, kind="kept", content=shown_content(row), meta={"kind": "result", "turn": 1})
    assert "images" not in copy.content
    check_forms([row, copy])


CRASHES = {
    "full": (world_of, (FULL, said("ok"))),
    "full and refused": (world_of, (FULL,)),
    "share": (full_world, (said("ok"),)),
    "share and refused": (full_world, (said("ok"),)),
}


@pytest.mark.parametrize("name", CRASHES)
def test_a_resumed_turn_goes_on_like_the_living_one_around_a_compaction(name: str):
    make, reports = CRASHES[name]
    calls = [called(("look", f'{{"n":{n}}}')) for n in range(3)]

    def begin() -> World:
        world = make(*calls, *reports) if make is world_of else make()
        world.summing = lambda _: REFUSED if "refused" in name else said("in short")
        if make is full_world:
            world.reply = scripted(*calls, *reports)
            world.message("third question")
        return world

    world = begin()
    life, steps = Life(world), 0
    while not life.finished:
        was_commit = isinstance(life.command, Commit)
        life.step()
        steps += 1
        running = any(operation.state == "running" for operation in world.operations.values())
        if was_commit and not life.finished and not running:
            assert Life(world).command == life.command
    turns = len(world.outcomes())
    for at in range(steps):
        crashed = begin()
        dying = Life(crashed)
        for _ in range(at):
            dying.step()
        dying.perform()
        run(crashed)
        assert len(crashed.outcomes()) == turns
        assert len([row for row in crashed.rows if row.kind in {"compaction", "compaction_failed"}]) == 1
        assert len(crashed.notices) == ("refused" in name)
