"""What a turn does with each kind of reply, told as command and event, without any I/O."""

import pytest
from msgspec.structs import replace
from tests.core.world import DENY_EFFECTS, Life, World, called, cut, http, plan, report, run, said, scripted, tool

from stoic.core import notes
from stoic.core.budget import Limits
from stoic.core.commands import CallResult, Sleep
from stoic.core.plan import ASK_FOR_EFFECTS
from stoic.core.quarantine import read_placeholder
from stoic.records import AssistantMessage, CallPart, Outcome, Parked, TextPart, ToolMessage, Usage, UserMessage


def outcome_of(world: World) -> Outcome:
    ending = run(world)
    assert isinstance(ending, Outcome)
    assert world.outcomes() == [ending]
    return ending


def test_a_reply_without_calls_completes_the_turn():
    world = World(plan(), scripted(said("hello")))
    world.message()
    outcome = outcome_of(world)
    assert (outcome.outcome, outcome.text, outcome.rounds) == ("completed", "hello", 1)
    assert outcome.usage == Usage(input_tokens=10, output_tokens=2)
    assert [row.kind for row in world.rows] == ["message", "reply", "outcome"]
    assert world.inbox == []


def test_without_a_message_there_is_nothing_to_do():
    world = World(plan(), scripted(said("hello")))
    assert run(world) is None
    assert world.rows == []


def test_calls_run_and_their_results_go_back_in_order():
    world = World(plan(tool("look", "read")), scripted(called(("look", '{"a":1}'), ("look", '{"a":2}')), said("done")))
    world.message()
    assert outcome_of(world).text == "done"
    _, view = world.sends[1]
    assert isinstance(view[1], AssistantMessage)
    results = [message for message in view if isinstance(message, ToolMessage)]
    assert [result.text for result in results] == ["result of t.1.1.0", "result of t.1.1.1"]
    assert [result.call_id for result in results] == [call.id for call in view[1].calls]


def test_a_time_shaped_failure_is_retried_after_1_2_4_seconds_and_then_ends_the_turn():
    world = World(plan(), scripted(http(503, "server_error")))
    world.message()
    outcome = outcome_of(world)
    assert [round(each, -1) for each in world.slept_ms] == [1000, 2000, 4000]
    assert len(world.sends) == 4
    assert (outcome.outcome, outcome.recovers_with) == ("failed", "time")
    assert [send.attempt for send, _ in world.sends] == [1, 2, 3, 4]


def test_after_a_time_shaped_end_the_question_stays_in_the_view():
    world = World(plan(), scripted(http(503, "server_error")))
    world.message("first")
    outcome_of(world)
    world.reply = scripted(said("ok"))
    world.now_ms += 31_000
    world.message("second")
    run(world)
    assert world.sends[-1][1] == [UserMessage(text="first"), UserMessage(text="second")]


@pytest.mark.parametrize(("wait", "slept"), [("30", 30_000), ("0.2", 1_000), ("60", 60_000)])
def test_a_stated_wait_replaces_the_delay_when_it_is_longer(wait: str, slept: int):
    world = World(plan(), scripted(http(429, "rate_limit_exceeded", headers={"retry-after": wait}), said("ok")))
    world.message()
    assert outcome_of(world).outcome == "completed"
    assert [round(each, -1) for each in world.slept_ms] == [slept]


def test_a_stated_wait_beyond_a_minute_is_not_waited_for():
    world = World(plan(), scripted(http(429, "rate_limit_exceeded", headers={"retry-after": "3600"}), said("ok")))
    world.message()
    parked = run(world)
    assert isinstance(parked, Parked)
    assert (parked.waits_for, world.slept_ms, len(world.sends)) == ("time", [], 1)
    assert parked.until_ms is not None
    assert parked.until_ms - world.now_ms > 3_500_000
    rows = len(world.rows)
    assert run(world) == parked, "before its time nothing is sent"
    assert (len(world.rows), len(world.sends)) == (rows, 1)
    world.now_ms = parked.until_ms
    assert (outcome_of(world).text, len(world.sends)) == ("ok", 2)


def test_a_turn_goes_on_by_itself_once_at_the_most():
    later = http(429, "rate_limit_exceeded", headers={"retry-after": "3600"})
    world = World(plan(), scripted(later, later))
    world.message()
    parked = run(world)
    assert isinstance(parked, Parked)
    world.now_ms = parked.until_ms or 0
    outcome = outcome_of(world)
    assert (outcome.outcome, outcome.failure_class, len(world.sends)) == ("failed", "rate_limit", 2)
    assert "3600 s" in outcome.message


def test_the_retry_budget_belongs_to_the_round():
    bad = http(503, "server_error")
    world = World(plan(tool("look", "read")), scripted(bad, bad, called(("look", "{}")), bad, bad, bad, said("ok")))
    world.message()
    assert outcome_of(world).outcome == "completed"
    assert [send.round for send, _ in world.sends] == [1, 1, 1, 2, 2, 2, 2]


@pytest.mark.parametrize(
    ("status", "code", "failure"), [(401, "invalid_api_key", "auth"), (429, "insufficient_quota", "quota")]
)
def test_what_waits_for_a_person_is_sent_once(status: int, code: str, failure: str):
    world = World(plan(), scripted(http(status, code)))
    world.message()
    outcome = outcome_of(world)
    assert (outcome.failure_class, len(world.sends), world.slept_ms) == (failure, 1, [])


def test_an_invalid_request_fails_at_once_and_does_not_brick_the_thread():
    world = World(plan(), scripted(http(400, "invalid_request_error", "Unsupported value")))
    world.message("bad bytes")
    assert outcome_of(world).failure_class == "invalid_request"
    world.reply = scripted(said("ok"))
    world.message("good")
    run(world)
    assert world.sends[-1][1] == [UserMessage(text="good")]
    assert world.rows[0].content == {"text": "bad bytes"}


def test_an_empty_reply_is_asked_for_once_more_and_then_fails():
    world = World(plan(), scripted(said("")))
    world.message()
    outcome = outcome_of(world)
    assert (len(world.sends), outcome.failure_class) == (2, "empty_response")
    assert world.sends[1][1][-1] == UserMessage(text=notes.EMPTY_REPLY)


def test_empty_replies_are_counted_over_the_turn_and_not_over_the_round():
    world = World(plan(tool("look", "read")), scripted(said(""), called(("look", "{}")), said("")))
    world.message()
    assert outcome_of(world).failure_class == "empty_response"
    assert len(world.sends) == 3


def test_a_half_call_at_the_length_limit_is_continued_once_and_never_run():
    half = report([CallPart(name="wipe", arguments='{"path": "/a', whole=False)], "length")
    world = World(plan(tool("wipe")), scripted(half, said("in parts")))
    world.message()
    assert outcome_of(world).text == "in parts"
    assert world.executed == []
    assert world.sends[1][1][-1] == UserMessage(text=notes.HALF_CALL)


def test_text_at_the_length_limit_is_the_answer_marked_cut():
    world = World(plan(), scripted(said("as far as it", finish="length")))
    world.message()
    outcome = outcome_of(world)
    assert (outcome.outcome, outcome.text, outcome.cut) == ("completed", "as far as it", True)


def test_a_cut_stream_runs_nothing_and_is_sent_again():
    world = World(plan(tool("wipe")), scripted(cut(CallPart(name="wipe", arguments="", whole=False)), said("ok")))
    world.message()
    assert outcome_of(world).text == "ok"
    assert world.executed == []


def test_a_refusal_is_one_send_and_leaves_the_view():
    world = World(plan(), scripted(report([TextPart(text="Sure, first")], "content_filter")))
    world.message("bad words")
    outcome = outcome_of(world)
    assert (outcome.outcome, outcome.reason, outcome.refused) == ("stopped", "refused", True)
    assert (len(world.sends), outcome.text) == (1, "")
    assert outcome.refusal is not None
    world.reply = scripted(said("ok"))
    world.message("good words")
    run(world)
    assert world.sends[-1][1] == [UserMessage(text="good words")]


def test_a_refused_tool_result_becomes_its_placeholder_and_pairs_stay_pairs():
    world = World(plan(tool("look", "read")), scripted(called(("look", "{}")), report([], "content_filter")))
    world.message("look")
    assert outcome_of(world).refused
    world.reply = scripted(said("ok"))
    world.message("go on")
    run(world)
    view = world.sends[-1][1]
    assert isinstance(view[2], ToolMessage)
    placeholder = read_placeholder(view[2].text)
    assert placeholder is not None
    assert placeholder.operation == "t.1.1.0"
    assert view[0] == UserMessage(text="look")


def test_an_unknown_tool_is_fed_back_with_close_names():
    world = World(plan(tool("read_file", "read")), scripted(called(("read_fil", "{}")), said("ok")))
    world.message()
    assert outcome_of(world).outcome == "completed"
    result = world.sends[1][1][-1]
    assert isinstance(result, ToolMessage)
    assert "read_file" in result.text
    assert result.error


def test_a_tool_that_the_mode_leaves_out_is_said_to_be_left_out_and_another_to_be_unknown():
    reading = replace(plan(tool("look", "read")), mode="plan", left_out=frozenset({"shell"}))
    world = World(reading, scripted(called(("shell", "{}"), ("shall", "{}")), said("ok")))
    world.message()
    assert outcome_of(world).outcome == "completed"
    left_out, unknown = [message.text for message in world.sends[1][1][-2:] if isinstance(message, ToolMessage)]
    assert "mode plan does not have this tool. Tools of this mode: look." in left_out
    assert "There is no tool named 'shall'" in unknown


def test_bad_arguments_are_fed_back_and_not_run():
    facts = tool("look", "read")
    facts = type(facts)(name="look", effect="read", check=lambda _: "path: field required.")
    world = World(plan(facts), scripted(called(("look", "{}")), said("ok")))
    world.message()
    assert outcome_of(world).outcome == "completed"
    assert world.executed == []
    result = world.sends[1][1][-1]
    assert isinstance(result, ToolMessage)
    assert "path: field required." in result.text


def test_denied_effects_are_told_and_reads_still_run():
    the_plan = plan(tool("look", "read"), tool("send", "send"), permissions=DENY_EFFECTS)
    world = World(the_plan, scripted(called(("look", "{}"), ("send", "{}")), said("ok")))
    world.message()
    assert outcome_of(world).outcome == "completed"
    assert world.executed == ["t.1.1.0"]
    assert world.operations["t.1.1.1"].state == "raised"
    assert world.operations["t.1.1.1"].runs == 0


def test_a_question_parks_the_turn_and_its_answer_goes_on():
    the_plan = plan(tool("send", "send"), permissions=ASK_FOR_EFFECTS, session="s1")
    world = World(the_plan, scripted(called(("send", '{"n":1}'), ("send", '{"n":2}')), said("ok")))
    world.message()
    parked = run(world)
    assert isinstance(parked, Parked)
    assert [question.operation for question in parked.questions] == ["t.1.1.0", "t.1.1.1"]
    assert run(world) == parked
    world.put("answer", {"operation": "t.1.1.0", "tool": "send", "answer": "once", "session": "s1"})
    world.put("answer", {"operation": "t.1.1.1", "tool": "send", "answer": "deny", "session": "s1"})
    assert outcome_of(world).outcome == "completed"
    assert world.effects == ["t.1.1.0"]


def test_a_question_stays_a_persons_when_a_run_that_denies_takes_the_turn_up():
    ask = plan(tool("send", "send"), permissions=ASK_FOR_EFFECTS)
    world = World(ask, scripted(called(("send", '{"n":1}')), called(("send", '{"n":2}')), said("ok")))
    world.message()
    parked = run(world)
    world.plan = plan(tool("send", "send"), permissions=DENY_EFFECTS)
    assert isinstance(parked, Parked)
    assert run(world) == parked
    world.put("answer", {"operation": "t.1.1.0", "tool": "send", "answer": "once", "session": "s"})
    assert outcome_of(world).outcome == "completed"
    assert world.effects == ["t.1.1.0"]


def test_an_allowance_for_the_session_ends_with_the_session():
    the_plan = plan(tool("send", "send"), permissions=ASK_FOR_EFFECTS, session="s1")
    world = World(the_plan, scripted(called(("send", '{"n":1}')), called(("send", '{"n":2}')), said("ok")))
    world.message()
    run(world)
    world.put("answer", {"operation": "t.1.1.0", "tool": "send", "answer": "session", "session": "s1"})
    assert outcome_of(world).outcome == "completed"
    assert world.effects == ["t.1.1.0", "t.1.2.0"]
    world.plan = plan(tool("send", "send"), permissions=ASK_FOR_EFFECTS, session="s2")
    world.reply = scripted(called(("send", '{"n":3}')), said("ok"))
    world.message()
    assert isinstance(run(world), Parked)


def test_the_rounds_of_a_turn_are_bounded():
    world = World(plan(tool("look", "read"), limits=Limits(max_rounds=3)), scripted(called(("look", "{}"))))
    world.message()
    outcome = outcome_of(world)
    assert (outcome.outcome, outcome.reason, len(world.sends)) == ("stopped", "budget", 3)


def test_a_cancel_before_the_message_does_not_stop_it_and_one_after_it_does():
    world = World(plan(), scripted(said("ok")))
    world.put("cancel")
    world.message()
    assert outcome_of(world).outcome == "completed"
    assert world.inbox == []
    world.message()
    world.put("cancel")
    ending = run(world)
    assert isinstance(ending, Outcome)
    assert ending.outcome == "cancelled"
    assert world.inbox == []


@pytest.mark.parametrize("kind", ["cancel", "answer", "wake"])
def test_what_comes_when_no_turn_is_open_and_asks_for_none_leaves_nothing_waiting(kind):
    world = World(plan(), scripted(said("ok")))
    world.put(kind)
    assert run(world) is None
    assert (world.inbox, world.rows) == ([], [])


def test_messages_are_answered_one_turn_each_in_order():
    world = World(plan(), scripted(said("ok")))
    world.message("one")
    world.message("two")
    run(world)
    assert [entry.content for entry in world.inbox] == [{"text": "two"}]
    run(world)
    assert [row.content["text"] for row in world.rows if row.kind == "message"] == ["one", "two"]
    assert [row.turn for row in world.rows if row.kind == "outcome"] == [1, 2]


def test_an_unknown_write_is_not_repeated_by_an_equal_call():
    world = World(plan(tool("pay")), scripted(called(("pay", '{"a":1}')), called(("pay", '{"a": 1.0}')), said("ok")))
    world.results["t.1.1.0"] = CallResult(
        operation="t.1.1.0", text="timed out", state="unknown", failure="tool_timeout"
    )
    world.message()
    assert outcome_of(world).outcome == "completed"
    assert world.effects == ["t.1.1.0"]
    refused = world.sends[2][1][-1]
    assert isinstance(refused, ToolMessage)
    assert "t.1.1.0" in refused.text


def test_other_calls_of_the_batch_run_when_one_repeats_an_unknown_write():
    again = called(("pay", '{"a":1}'), ("pay", '{"a":2}'))
    world = World(plan(tool("pay")), scripted(called(("pay", '{"a":1}')), again, said("ok")))
    world.results["t.1.1.0"] = CallResult(
        operation="t.1.1.0", text="timed out", state="unknown", failure="tool_timeout"
    )
    world.message()
    run(world)
    assert world.effects == ["t.1.1.0", "t.1.2.1"]


@pytest.mark.parametrize(("status", "effects"), [("not_done", 2), ("done", 1), ("unknown", 1)])
def test_an_equal_call_runs_only_when_the_first_is_known_not_to_have_happened(status: str, effects: int):
    world = World(
        plan(tool("pay", has_status=True)), scripted(called(("pay", "{}")), called(("pay", "{}")), said("ok"))
    )
    world.results["t.1.1.0"] = CallResult(
        operation="t.1.1.0", text="timed out", state="unknown", failure="tool_timeout"
    )
    world.message()
    life = Life(world)
    while not world.asked:
        life.step()
    world.statuses["t.1.1.0"] = status  # it did not know at once
    life.finish()
    assert len(world.effects) == effects


def test_reads_run_side_by_side_and_a_write_waits_for_them_and_runs_alone():
    batch = called(("look", '{"n":1}'), ("look", '{"n":2}'), ("put", '{"n":1}'), ("put", '{"n":2}'), ("look", "{}"))
    world = World(plan(tool("look", "read"), tool("put")), scripted(batch, said("ok")))
    world.message()
    life, most = Life(world), list[list[str]]()
    while not life.finished:
        life.step()
        if life.running and (not most or most[-1] != life.running):
            most.append(list(life.running))
    assert most == [["t.1.1.0", "t.1.1.1"], ["t.1.1.2"], ["t.1.1.3"], ["t.1.1.4"]]


def test_a_changed_prefix_opens_a_segment():
    world = World(plan(), scripted(said("ok")))
    world.message()
    run(world)
    world.message()
    run(world)
    world.plan = plan(tool("look", "read"))
    world.plan = replace(world.plan, fingerprint="other")
    world.message()
    run(world)
    assert [row.segment for row in world.rows if row.kind == "reply"] == ["t.1#1", "t.1#1", "t.1#2"]


def test_a_failed_attempt_is_a_row_with_its_evidence_and_the_time_of_the_retry():
    world = World(plan(), scripted(http(503, "server_error"), said("ok")))
    world.message()
    life = Life(world)
    while not isinstance(life.command, Sleep):
        life.step()
    attempt = world.rows[-1]
    assert attempt.kind == "attempt"
    assert not attempt.visible
    assert attempt.content["retry_at_ms"] == life.command.until_ms
    assert attempt.content["evidence"]


def test_an_equal_call_without_news_is_warned_blocked_and_ends_the_turn_when_blocks_are_ignored():
    world = World(plan(tool("look", "read")), scripted(called(("look", "{}"))))
    results = CallResult(operation="", text="the same", state="returned")
    world.result = lambda operation: replace(results, operation=operation)
    world.message()
    outcome = outcome_of(world)
    assert (outcome.outcome, outcome.reason) == ("stopped", "stuck_loop")
    assert len(world.executed) == 30
    rows = [row for row in world.rows if row.kind == "result"]
    assert [row.meta.get("loop") for row in rows] == ["counted"] * 30 + ["blocked"] * 4
    first_warned = next(index for index, row in enumerate(rows) if row.view)
    assert first_warned == 9
    assert rows[9].view["text"].startswith("the same\n\n[runtime] ")
    assert rows[9].content["text"] == "the same"


def test_a_block_does_not_stop_the_other_calls_of_the_reply():
    both = called(("look", "{}"), ("put", '{"n":1}'))
    world = World(plan(tool("look", "read"), tool("put")), scripted(*[called(("look", "{}"))] * 30, both, said("ok")))
    world.result = lambda operation: CallResult(operation=operation, text="the same", state="returned")
    world.message()
    assert outcome_of(world).outcome == "completed"
    assert world.effects == ["t.1.31.1"]


def test_polls_with_changing_results_are_never_warned():
    world = World(
        plan(tool("poll", "poll"), limits=Limits(max_rounds=None)), scripted(*[called(("poll", "{}"))] * 60, said("ok"))
    )
    world.message()
    assert outcome_of(world).outcome == "completed"
    assert not any(row.view for row in world.rows)


def test_calls_to_unknown_tools_are_blocked_after_ten():
    world = World(plan(), scripted(*[called((f"t{n}", "{}")) for n in range(12)], said("ok")))
    world.message()
    assert outcome_of(world).outcome == "completed"
    rows = [row for row in world.rows if row.kind == "result"]
    assert [row.meta["loop"] for row in rows] == ["counted"] * 10 + ["blocked"] * 2


def test_the_same_words_again_and_again_end_the_turn():
    world = World(plan(tool("look", "read")), scripted(called(("look", "{}"), text="Let me try that again.")))
    world.result = lambda operation: CallResult(operation=operation, text="no", state="returned")
    world.message()
    outcome = outcome_of(world)
    assert (outcome.reason, outcome.rounds) == ("stuck_loop", 11)


def test_a_persons_message_lets_the_agent_begin_anew():
    world = World(plan(tool("look", "read")), scripted(called(("look", "{}"))))
    world.result = lambda operation: CallResult(operation=operation, text="the same", state="returned")
    world.message()
    run(world)
    world.message()
    run(world)
    assert [outcome.reason for outcome in world.outcomes()] == ["stuck_loop", "stuck_loop"]
    assert len(world.executed) == 60
