"""Edges of the pure parts: what cannot be is a bug that says so, and what an older or odd log holds breaks nothing."""

from typing import Any

import pytest
from msgspec.structs import replace
from tests.core.world import DENY_EFFECTS, Life, World, called, http, plan, report, run, said, scripted, tool

from stoic.core import notes
from stoic.core.classify.verdict import Verdict
from stoic.core.commands import Send, Started, Status, Woke
from stoic.core.details import detail_of
from stoic.core.endings import fail
from stoic.core.failures import Axis, FailureClass
from stoic.core.guard import Guard
from stoic.core.history import History
from stoic.core.replay import gate, messages
from stoic.core.steps import Context, intend
from stoic.core.turn import turn
from stoic.errors import BrokenInvariantError, UnsendableError
from stoic.records import (
    AssistantMessage,
    CallPart,
    CallView,
    ExceptionFact,
    ImagePart,
    Message,
    Outcome,
    Report,
    Row,
    TextPart,
    ToolMessage,
    UserMessage,
)

CALL = AssistantMessage(calls=[CallView(id="c1", name="look", arguments="{}")])
RESULT = ToolMessage(call_id="c1", name="look", text="seen")
ASKED = UserMessage(text="go on")


@pytest.mark.parametrize(
    ("view", "complaint"),
    [
        ([ASKED, RESULT], "does not follow its call"),
        ([CALL, replace(RESULT, call_id="other")], "does not follow its call"),
        ([CALL, ASKED], "1 calls before it have no result"),
        ([ASKED, CALL], "1 calls at the end have no result"),
        ([UserMessage(text="")], "message 0 is empty"),
        ([AssistantMessage(), ASKED], "message 0 is empty"),
        ([], "nothing new to answer"),
        ([ASKED, AssistantMessage(text="said")], "nothing new to answer"),
    ],
)
def test_the_gate_names_what_is_broken(view: list[Message], complaint: str):
    with pytest.raises(UnsendableError, match=complaint):
        gate(view)


def test_the_gate_lets_a_sound_view_pass():
    gate([ASKED, CALL, RESULT])
    gate([UserMessage(text="", images=[ImagePart(media_type="image/png", data_base64="AA==")])])


def row(seq: int, kind: str, content: object, **fields: Any) -> Row:
    known: dict[str, Any] = {"thread": "t", "generation": 1, "segment": "t.1#1", "turn": 1, "round": 1, "role": "user"}
    known |= {"created_at": 0, "visible": True} | fields
    return Row(id=f"r{seq}", seq=seq, kind=kind, content=content, **known)


def test_a_log_that_begins_in_the_middle_is_folded_and_shown():
    result = row(1, "result", {"call": 0, "operation": "t.1.1.0", "tool": "look", "text": "seen"}, role="tool")
    outcome = row(3, "outcome", {"outcome": "completed"}, visible=False)
    history = History("t")
    for each in (result, row(2, "a kind of tomorrow", {"text": "new"}), outcome):
        history.fold(each)
    assert history.open_turn is None
    assert messages([result]) == []


def test_a_visible_row_before_any_turn_is_part_of_the_increment():
    history = History("t")
    history.fold(row(1, "event", {"text": "early"}))
    assert [each.seq for each in history.increment] == [1]


def test_a_second_message_of_one_turn_opens_no_other():
    history = History("t")
    history.fold(row(1, "message", {"text": "go"}, meta={"entry": "e1"}))
    history.fold(row(2, "message", {"text": "and more"}, meta={"entry": "e2"}))
    assert history.turn is not None
    assert (history.turn.number, history.turn.entry) == (1, "e1")


def test_thinking_is_no_text_of_the_turn():
    history = History("t")
    history.fold(row(1, "message", {"text": "go"}))
    parts = [{"type": "thinking", "text": "hm"}, {"type": "text", "text": "said"}]
    history.fold(row(2, "reply", {"parts": parts}, role="assistant", accepted=True))
    assert history.turn is not None
    assert history.turn.texts == ["said"]


def test_a_context_without_an_open_turn_says_so():
    with pytest.raises(BrokenInvariantError, match="has no open turn"):
        _ = Context(History("t"), plan(), 0).state


@pytest.mark.parametrize("event", [Started(now_ms=1), Status(answer="done", now_ms=1)])
def test_an_answer_of_the_wrong_kind_is_a_bug(event: Started | Status):
    world = World(plan(), scripted(said("ok")))
    world.message()
    first = turn(world.history(), world.plan, list(world.inbox), 0)
    next(first)
    with pytest.raises(BrokenInvariantError, match="Commit was answered by"):
        first.send(event)
    life = Life(world)
    while not isinstance(life.command, Send):
        life.step()
    with pytest.raises(BrokenInvariantError, match="Send was answered by Woke"):
        life.generator.send(Woke(now_ms=1))


def test_a_complete_reply_cannot_fail_a_turn():
    world = World(plan(), scripted(said("ok")))
    world.message()
    life = Life(world)
    life.step()
    ctx = Context(world.history(), world.plan, 0)
    attempt = None
    with pytest.raises(BrokenInvariantError, match="no failure"):
        next(fail(ctx, attempt, Verdict(failure=None), said("ok"), [], []))  # pyright: ignore[reportArgumentType]


def test_a_turn_closed_behind_its_back_is_a_bug():
    world = World(plan(), scripted(said("ok")))
    world.message()
    history = world.history()
    generator = turn(history, world.plan, list(world.inbox), 0)
    commit = next(generator)
    rows = world.commit(commit)  # pyright: ignore[reportArgumentType]
    from stoic.core.commands import Committed

    outcome = row(2, "outcome", {"outcome": "completed"}, visible=False)
    with pytest.raises(BrokenInvariantError, match="ended without saying so"):
        generator.send(Committed(rows=[*rows, outcome], now_ms=1))


def test_a_tool_that_is_gone_after_a_restart_is_told_to_the_model():
    world = World(plan(tool("look", "read"), tool("put")), scripted(called(("look", "{}"), ("put", "{}")), said("ok")))
    world.message()
    life = Life(world)
    while not any(each.kind == "reply" for each in world.rows):
        life.step()
    world.plan = plan(tool("other", "read"))
    outcome = run(world)
    assert isinstance(outcome, Outcome)
    assert outcome.outcome == "completed"
    results = [each for each in world.rows if each.kind == "result"]
    assert [each.content["failure"] for each in results] == ["unknown_tool", "unknown_tool"]
    assert world.executed == []


def test_a_persons_decision_about_a_lost_write_comes_before_its_status_function():
    world = World(plan(tool("ship", has_status=True)), scripted(called(("ship", "{}")), said("ok")))
    world.message()
    life = Life(world)
    while not world.effects:
        life.step()
    world.statuses["t.1.1.0"] = "not_done"
    world.operations["t.1.1.0"] = replace(world.operations["t.1.1.0"], state="unknown", status="done")
    run(world)
    assert world.effects == ["t.1.1.0"]


def test_unreadable_arguments_are_told_and_counted():
    world = World(plan(tool("look", "read")), scripted(said("ok")))
    world.message()
    life = Life(world)
    life.step()
    ctx = Context(world.history(), world.plan, 0)
    rows, operations = intend(ctx, [CallPart(name="look", arguments="{")])
    assert operations == []
    assert "not JSON" in rows[0].content["text"]
    assert rows[0].meta["loop"] == "counted"


def test_a_guard_made_anew_counts_what_the_rows_say():
    denied = World(plan(tool("put"), permissions=DENY_EFFECTS), scripted(called(("put", "{}"))))
    denied.message()
    life = Life(denied)
    while len([each for each in denied.rows if each.kind == "result"]) < 31:
        life.step()
    history = denied.history()
    state = history.open_turn
    assert state is not None
    anew = Guard(denied.plan.tools, None, history.uncounted)
    assert anew.blocks(state.calls[0])
    assert anew.before(state.calls[0]).rule == "global_breaker"


@pytest.mark.parametrize(
    ("waits_for", "until_ms", "words"),
    [
        ("trial", None, "being tried by another"),
        ("time", 61_000, "closed after auth until 1970-01-01 00:01:01 UTC, 60 s from now; nothing was sent."),
        ("time", 1_000 + 3_551_000, "00:59:12 UTC, 59 min from now"),
        ("time", 1_000 + 3_551_000, "Try again then, or say `stoic health retry p:m`."),
        ("time", 1_000 + 9_000_000, "2 h 30 min from now"),
        ("config", None, "Change the config"),
    ],
)
def test_a_closed_route_says_what_opens_it(waits_for: str, until_ms: int | None, words: str):
    assert words in notes.closed_route("p", "m", "auth", waits_for, until_ms, 1_000)


def test_who_has_to_replace_a_credential_is_told_where_it_stands():
    closed = notes.closed_route("p", "m", "auth", "credential", None, 1_000, "$P_API_KEY")
    assert "Replace or refill the credential in $P_API_KEY, then send again. Or say" in closed
    verdict = Verdict(failure=FailureClass.QUOTA, recovers_with=Axis.CREDENTIAL)
    assert notes.failed(verdict, "p", "m", 1, credential_from="$P_API_KEY").endswith("in $P_API_KEY, then send again.")
    assert notes.failed(verdict, "p", "m", 1).endswith("Replace or refill the credential, then send again.")


BARE = Report(provider="p")


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (replace(BARE, body={"error": {"message": "too  big"}}), "too big"),
        (replace(BARE, body={"error": "model 'x' not found"}), "model 'x' not found"),
        (replace(BARE, body={"message": "no"}), "no"),
        (replace(BARE, body={"detail": [1]}), None),
        (
            replace(
                BARE, body={"detail": [{"loc": ["body", "stream_options"], "msg": "Extra inputs", "input": "secret"}]}
            ),
            "body.stream_options: Extra inputs",
        ),
        (
            replace(BARE, body={"detail": [{"loc": ["body", 0, None], "msg": "a"}, {"loc": "b", "msg": "b"}]}),
            "body.0: a; b",
        ),
        (replace(BARE, body={"detail": [{"loc": [], "msg": each} for each in "abcd"]}), "a; b; c"),
        (replace(BARE, body={"detail": {"error": {"message": "deep"}}}), "deep"),
        (replace(BARE, body={"detail": "gone", "title": "Bad Request"}), "gone"),
        (replace(BARE, body={"title": "Bad Request", "message": ""}), "Bad Request"),
        (replace(BARE, body={"errors": [{"message": "one"}, "two"]}), "one; two"),
        (replace(BARE, body=[{"error": {"message": "in a list"}}]), "in a list"),
        (replace(BARE, body={"base_resp": {"status_code": 1004, "status_msg": "login fail"}}), "login fail"),
        (replace(BARE, status=400, body={"error": {"code": 7}}), '{"error":{"code":7}}'),
        (replace(BARE, status=200, body={"id": "a reply"}), None),
        (replace(BARE, status=500, body={}), None),
        (replace(BARE, status=400, body={"x": "y" * 400}), '{"x":"' + "y" * 294 + "…"),
        (replace(BARE, status=400, body={"x": "sk-abcdef123456"}), '{"x":"[key]"}'),
        (replace(BARE, body="<html>bad gateway</html>"), "<html>bad gateway</html>"),
        (replace(BARE, body="   "), None),
        (replace(BARE, body="x" * 500), "x" * 400 + "…"),
        (replace(BARE, body={"error": {"message": "bad key sk-abcdef123456"}}), "bad key [key]"),
        (replace(BARE, events=[{"data": "[DONE]"}, {"data": {"type": "error", "message": "broke"}}]), "broke"),
        (replace(BARE, events=[{"data": {"type": "message_start", "message": "hello"}}]), None),
        (replace(BARE, events=[{"data": {"type": "response.failed", "response": {"error": {"message": "x"}}}}]), "x"),
        (
            replace(BARE, exception=ExceptionFact(type="T", message="refused", cause=["OSError: 111"])),
            "refused ← OSError: 111",
        ),
        (replace(BARE, exception=ExceptionFact(type="httpcore2.ReadError", message="")), "httpcore2.ReadError"),
        (
            replace(
                BARE,
                exception=ExceptionFact(
                    type="T", message="no such name", cause=["gaierror: no such name"], fields={"server": "https://h:1"}
                ),
            ),
            "https://h:1: no such name",
        ),
        (
            replace(
                BARE,
                exception=ExceptionFact(
                    type="T", message="refused", fields={"server": "https://h", "proxy": "http://p:3128"}
                ),
            ),
            "https://h through the proxy http://p:3128: refused",
        ),
        (BARE, None),
    ],
)
def test_a_failure_is_told_in_its_own_words(found: Report, words: str | None):
    assert detail_of(found) == words


def test_words_are_not_told_of_a_reply_that_was_only_cut():
    assert detail_of(report([TextPart(text="secret")], None, ended=False)) is None


def test_a_failure_class_without_a_sentence_is_named():
    verdict = Verdict(failure=FailureClass.TOOL_ERROR, recovers_with=Axis.MODEL)
    assert "tool error (tool_error)" in notes.failed(verdict, "p", "m", 1)
    assert http(500, "x").status == 500
