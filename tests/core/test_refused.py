"""What a turn does about refusals: the ladder, the end of a chat, the candidates and probes of a repair thread, tasks."""

from collections.abc import Callable

import pytest
from msgspec.structs import replace
from tests.core.world import ROUTE, Life, World, called, plan, report, run, said, tool

from stoic.core.commands import CallResult, Route, Send
from stoic.core.plan import Candidate, TaskFacts
from stoic.core.quarantine import read_neutral, read_placeholder
from stoic.records import AssistantMessage, Message, Outcome, Parked, Report, Row, ToolMessage

MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
OTHER = Route(provider="other", api="chat", model="n")
READ = tool("look", effect="read")
CANARY = "canary-7f3a"


def refusal() -> Report:
    return report([], "content_filter")


def world(reply: Callable[[Send, list[Message]], Report], **fields: object) -> World:
    """Make a world whose provider sees what a send shows."""
    made = World(plan(READ, tool("pay"), **fields), lambda send: reply(send, made.shown(send)))
    return made


def always_refused(**fields: object) -> World:
    return world(lambda _, __: refusal(), **fields)


def trigger(marker: str) -> Callable[[Send, list[Message]], Report]:
    """Refuse every request that shows the marker."""

    def reply(_: Send, view: list[Message]) -> Report:
        if any(marker in text_of(message) for message in view):
            return refusal()
        return said("fine")

    return reply


def text_of(message: Message) -> str:
    return message.text


def shown(of: World) -> str:
    return "\n".join(text_of(message) for _, view in of.sends for message in view)


def event(of: World, kind: str = "mail", **payload: object) -> None:
    of.put(
        "event", {"kind": kind, "payload": payload, "text": f"[event {kind}] {payload}", "source_channel": "inbox-1"}
    )


def rows(of: World, kind: str) -> list[Row]:
    return [row for row in of.rows if row.kind == kind]


def ended(ending: Outcome | Parked | None) -> Outcome:
    assert isinstance(ending, Outcome)
    return ending


def with_result(text: str, reply: Callable[[Send, list[Message]], Report], **fields: object) -> World:
    """Make a world in which the first reply reads something that says the text."""

    def first(send: Send, view: list[Message]) -> Report:
        if not any(isinstance(message, ToolMessage) for message in view):
            return called(("look", "{}"))
        return reply(send, view)

    made = world(first, **fields)
    made.result = lambda operation: replace(made_result(operation), text=text)
    return made


def made_result(operation: str) -> CallResult:
    return CallResult(operation=operation, text="", state="returned")


def test_a_tool_result_that_is_refused_gives_way_to_its_placeholder_and_the_turn_goes_on():
    of = with_result(CANARY, trigger(CANARY))
    of.message()
    assert ended(run(of)).outcome == "completed"
    assert len(of.sends) == 3
    assert shown(of).count(CANARY) == 1
    result = next(message for message in of.sends[-1][1] if isinstance(message, ToolMessage))
    placeholder = read_placeholder(result.text)
    assert placeholder is not None
    stored = rows(of, "result")[0]
    assert (placeholder.tool, placeholder.provider, placeholder.row) == ("look", "openai-chat", stored.id)
    assert stored.content["text"] == CANARY
    assert stored.accepted
    assert not of.notices
    assert [row.content["step"] for row in rows(of, "quarantine")] == [1]


def test_a_body_that_was_withheld_gets_its_placeholder_before_it_is_sent_again():
    def reply(send: Send, view: list[Message]) -> Report:
        if any(CANARY in text_of(message) for message in view):
            return refusal()
        return called(("look", "{}")) if send.round < 4 else said("done")

    of = with_result(CANARY, reply)
    of.message()
    assert ended(run(of)).outcome == "completed"
    assert shown(of).count(CANARY) == 1
    quarantines = rows(of, "quarantine")
    assert [row.content["step"] for row in quarantines] == [1, 0, 0]
    assert {row.content["provider"] for row in quarantines} == {"openai-chat"}, "who refused it once withholds it again"
    placeholders = [read_placeholder(text_of(each)) for each in of.sends[-1][1] if isinstance(each, ToolMessage)]
    assert [each and (each.provider, each.category) for each in placeholders] == [("openai-chat", "unnamed")] * 3


def test_a_body_that_left_the_view_with_a_refused_turn_gets_its_placeholder_when_it_comes_again():
    # Found by simulation (seed 82000003018): the third ladder of a turn is its end, and only ladders were remembered.
    bodies = iter(["canary-1", "canary-2", "canary-3", "canary-3"])

    def reply(_: Send, view: list[Message]) -> Report:
        if any("canary" in text_of(message) for message in view if isinstance(message, ToolMessage)):
            return refusal()
        return said("done") if len(rows(of, "result")) == 4 else called(("look", "{}"))

    of = world(reply)
    of.result = lambda operation: replace(made_result(operation), text=next(bodies))
    of.message()
    assert ended(run(of)).reason == "refused"
    of.message("look once more")
    assert ended(run(of)).outcome == "completed"
    assert shown(of).count("canary-3") == 1
    assert len(rows(of, "refusal")) == 1
    assert rows(of, "quarantine")[-1].content["step"] == 0


def test_a_persons_own_words_that_are_refused_are_not_said_to_have_been_withheld():
    of = world(lambda *_: refusal())
    of.message()
    outcome = ended(run(of))
    assert (outcome.reason, len(of.sends)) == ("refused", 1)
    (told,) = of.notices.values()
    assert not [text for text in (outcome.message, told.text) if "could be withheld" in text]


def test_a_chat_that_is_always_refused_sends_four_times_and_asks_a_person_once():
    def reply(_: Send, view: list[Message]) -> Report:
        calls = [message for message in view if isinstance(message, AssistantMessage)]
        return refusal() if calls else called(*[("look", f'{{"a":{index}}}') for index in range(3)])

    of = world(reply, candidates=[Candidate(route=ROUTE, key="A"), Candidate(route=OTHER, key="B")])
    of.message()
    outcome = ended(run(of))
    assert (outcome.outcome, outcome.reason, outcome.refused) == ("stopped", "refused", True)
    sends = [send.route.provider for send, _ in of.sends]
    assert sends == ["openai-chat"] * 5
    assert not rows(of, "fallback")
    notices = list(of.notices.values())
    assert [(each.kind, each.priority) for each in notices] == [("refusal", "critical")]
    assert notices[0].key == "refusal:t.1#1:0:openai-chat"
    assert "also without what could be withheld" in notices[0].text
    of.message("and now?")
    assert ended(run(of)).refused
    assert len(of.sends) == 6
    assert list(of.notices.values()) == notices
    card = rows(of, "refusal")[-1].content
    assert (card["refusals"], card["skipped"]) == (1, False)


def test_a_ladder_withholds_one_row_then_the_newer_half_then_everything():
    def reply(_: Send, view: list[Message]) -> Report:
        calls = [message for message in view if isinstance(message, AssistantMessage)]
        return refusal() if calls else called(*[("look", f'{{"a":{index}}}') for index in range(6)])

    of = world(reply)
    of.message()
    assert ended(run(of)).refused
    withheld = [row.content["rows"] for row in rows(of, "quarantine")]
    assert [len(each) for each in withheld] == [1, 2, 3]
    assert len(of.sends) == 5


def test_a_persons_refused_words_leave_the_view_and_the_next_message_goes_through():
    of = world(trigger(CANARY))
    of.message(CANARY)
    assert ended(run(of)).refused
    of.message("1")
    assert ended(run(of)).outcome == "completed"
    assert shown(of).count(CANARY) == 1


def test_an_event_waits_unread_while_a_refusal_forbids_and_opens_a_turn_when_the_probe_is_due():
    of = always_refused()
    of.message()
    assert ended(run(of)).refused
    event(of)
    assert run(of) is None
    assert len(of.inbox) == 1
    of.now_ms += 15 * MINUTE_MS
    assert ended(run(of)).refused
    assert len(of.sends) == 2
    assert rows(of, "refusal")[-1].content["refusals"] == 2
    event(of)
    of.now_ms += HOUR_MS - 1000
    assert run(of) is None


def test_an_event_that_comes_while_a_turn_runs_joins_it_before_the_next_round():
    of = with_result("seen", lambda _, __: said("done"))
    of.message()
    event(of, n=1)
    event(of, n=2)
    assert ended(run(of)).outcome == "completed"
    assert len(of.sends) == 2
    assert [row.content["payload"] for row in rows(of, "event")] == [{"n": 1}, {"n": 2}]
    assert not of.inbox


def test_an_event_is_rendered_by_its_renderer_and_neutral_in_the_last_step():
    def tells(payload: dict[str, object]) -> str:
        return f"mail number {payload['n']}"

    of = always_refused(renderers={"mail": tells}, thread_kind="repair")
    event(of, n=7, body=CANARY)
    assert ended(run(of)).refused
    views = [view[-1] for _, view in of.sends]
    assert CANARY in text_of(views[0])
    assert text_of(views[1]) == "mail number 7"
    neutral = read_neutral(text_of(views[2]))
    assert neutral is not None
    assert (neutral.kind, neutral.origin) == ("mail", "inbox-1")
    assert len(of.sends) == 3


def test_a_repair_thread_sends_four_times_and_once_for_each_of_three_probes_and_then_never():
    def tells(payload: dict[str, object]) -> str:
        return f"mail number {payload['n']}"

    of = with_result("log", lambda _, __: refusal(), renderers={"mail": tells}, thread_kind="repair")
    event(of, n=1, body=CANARY)
    first = Life(of)
    while not rows(of, "result"):
        first.step()
    event(of, n=2)
    first.generator.close()
    assert ended(run(of)).refused
    assert len(of.sends) == 1 + 4
    before = len(of.sends)
    for delay_ms in (15 * MINUTE_MS, HOUR_MS, 6 * HOUR_MS):
        of.put("wake")
        of.now_ms += delay_ms - 1000
        assert ended(run(of)).refused
        assert len(of.sends) == before, "a skip is no send"
        of.now_ms += 2000
        of.put("wake")
        assert ended(run(of)).refused
        before += 1
        assert len(of.sends) == before
    for _ in range(3):
        of.now_ms += 100 * HOUR_MS
        of.put("wake")
        assert ended(run(of)).refused
    assert len(of.sends) == before
    assert [(key, each.priority) for key, each in of.notices.items()] == [
        ("refusal:t.1#1:0:openai-chat", "normal"),
        ("refusal:t.1#1:3:openai-chat", "critical"),
    ]
    cards = [(row.content["refusals"], row.content["skipped"]) for row in rows(of, "refusal")]
    assert cards[0] == (1, False)
    assert cards[-1] == (4, True)
    of.plan = replace(of.plan, fingerprint="another")
    of.put("wake")
    assert ended(run(of)).refused
    assert len(of.sends) == before + 1


def test_a_repair_thread_asks_its_next_candidate_once_and_keeps_its_binding():
    def reply(send: Send, _: list[Message]) -> Report:
        return said("mended") if send.route == OTHER else refusal()

    of = world(
        reply, thread_kind="repair", candidates=[Candidate(route=ROUTE, key="A"), Candidate(route=OTHER, key="B")]
    )
    event(of, n=1)
    assert ended(run(of)).text == "mended"
    assert [send.route.provider for send, _ in of.sends] == ["openai-chat"] * 2 + ["other"]
    event(of, n=2)
    assert ended(run(of)).text == "mended"
    assert [send.route.provider for send, _ in of.sends[3:]] == ["other"]
    first, skip = (row.content for row in rows(of, "fallback"))
    assert first["skipped"] is False
    assert (skip["skipped"], skip["refusals"], skip["refused_at"]) == (
        True,
        1,
        rows(of, "refusal")[0].content["refused_at"],
    )


@pytest.mark.parametrize("fields", [{"thread_kind": "task"}, {"thread_scope": "worker"}])
def test_a_task_stops_at_its_first_refusal_and_leaves_a_tombstone(fields: dict[str, str]):
    both = [Candidate(route=ROUTE, key="A"), Candidate(route=OTHER, key="B")]
    of = with_result(CANARY, trigger(CANARY), candidates=both, **fields)
    of.message("brief")
    outcome = ended(run(of))
    assert outcome.refused
    assert "does not run again" in outcome.message
    assert len(of.sends) == 2
    assert not rows(of, "quarantine")
    stone = rows(of, "refusal_stop")[0]
    assert stone.content["brief"]
    assert not any(row.quarantine for row in of.rows)


@pytest.mark.parametrize(("owner", "told"), [("o", []), (None, ["critical"])])
def test_a_refused_task_is_told_to_its_owner_and_to_a_person_when_it_has_none(owner: str | None, told: list[str]):
    of = always_refused(thread_kind="task", task=TaskFacts(owner=owner, root=owner))
    of.message("brief")
    assert ended(run(of)).refused
    assert [each.priority for each in of.notices.values()] == told
    assert [each.owner for each in of.deliveries.values()] == [owner]


def test_a_third_ladder_in_one_turn_ends_it():
    def reply(send: Send, view: list[Message]) -> Report:
        if any("bad" in text_of(message) for message in view):
            return refusal()
        return called(("look", f'{{"a":{send.round}}}'))

    of = world(reply)
    of.result = lambda operation: replace(made_result(operation), text=f"bad {operation}")
    of.message()
    assert ended(run(of)).refused
    assert [row.content["step"] for row in rows(of, "quarantine")] == [1, 1]


ACCOUNT = {"error": {"message": "x", "type": "invalid_request_error", "param": None, "code": "identifier_blocked"}}
ACTION = {"error": {"message": "x", "type": "invalid_request_error", "param": None, "code": "misalignment_policy"}}


@pytest.mark.parametrize(("body", "scope"), [(ACCOUNT, "account"), (ACTION, "agent_action")])
def test_a_verdict_on_the_account_or_the_action_stops_at_once_and_keeps_the_view(body: object, scope: str):
    answer = Report(provider="openai", api="chat", model="m", status=403, headers={}, body=body, parts=None)
    of = with_result("text", lambda _, __: answer)
    of.message()
    outcome = ended(run(of))
    assert outcome.refusal is not None
    assert outcome.refusal.scope == scope
    assert len(of.sends) == 2
    assert not any(row.quarantine for row in of.rows)
    assert [each.priority for each in of.notices.values()] == ["critical"]
    assert not of.refused


def test_bytes_refused_in_one_task_are_not_sent_again_by_another_within_six_hours():
    first = always_refused(thread_kind="task")
    first.message("judge 7")
    assert ended(run(first)).refused
    second = always_refused(thread_kind="task")
    second.refused = first.refused
    second.now_ms = first.now_ms
    second.message("judge 7")
    assert ended(run(second)).refused
    assert not second.sends
    third = always_refused(thread_kind="task")
    third.refused = first.refused
    third.now_ms = first.now_ms + 6 * HOUR_MS
    third.message("judge 7")
    assert ended(run(third)).refused
    assert len(third.sends) == 1
    person = always_refused()
    person.refused = first.refused
    person.now_ms = first.now_ms
    person.message("judge 7")
    assert ended(run(person)).refused
    assert len(person.sends) == 1


def test_a_remembered_refusal_climbs_the_ladder_with_one_send_less():
    first = world(trigger("'n': 1"))
    event(first, n=1)
    assert ended(run(first)).outcome == "completed"
    assert len(first.sends) == 2
    second = world(trigger("'n': 1"))
    second.refused = first.refused
    second.now_ms = first.now_ms
    event(second, n=1)
    assert ended(run(second)).outcome == "completed"
    assert len(second.sends) == 1


def test_a_refusal_names_the_model_that_answered_else_the_one_that_was_asked():
    for served, named in [(None, "m"), ("m-2026", "m-2026")]:
        of = world(lambda _, __, served=served: replace(refusal(), served_model=served))
        of.message()
        verdict = ended(run(of)).refusal
        assert verdict is not None
        assert (verdict.model, verdict.where, verdict.scope) == (named, "mid_stream", "request_bytes")


def test_an_outage_after_a_refusal_is_no_way_round_it():
    state = {"refuse": True}

    def reply(send: Send, _: list[Message]) -> Report:
        if send.route == OTHER:
            return said("other")
        return (
            refusal()
            if state["refuse"]
            else replace(
                said(""), status=401, parts=None, body={"error": {"code": "invalid_api_key"}}, stream=False, ended=False
            )
        )

    of = world(reply, candidates=[Candidate(route=ROUTE, key="A"), Candidate(route=OTHER, key="B")])
    of.message()
    assert ended(run(of)).refused
    state["refuse"] = False
    of.message()
    assert ended(run(of)).outcome == "failed"
    assert all(send.route == ROUTE for send, _ in of.sends)


def test_an_outage_while_a_ladder_goes_on_is_no_way_round_it_either_nor_in_the_next_turn():
    broken = replace(
        said(""), status=401, parts=None, body={"error": {"code": "invalid_api_key"}}, stream=False, ended=False
    )

    def reply(send: Send, view: list[Message]) -> Report:
        if send.route == OTHER:
            return said("other")
        return refusal() if any(CANARY in text_of(message) for message in view) else broken

    of = with_result(CANARY, reply, candidates=[Candidate(route=ROUTE, key="A"), Candidate(route=OTHER, key="B")])
    of.message()
    assert ended(run(of)).failure_class == "auth"
    of.message("and now?")
    assert ended(run(of)).failure_class == "auth"
    assert all(send.route == ROUTE for send, _ in of.sends)


def test_a_reply_after_a_ladder_lets_failures_fall_back_again():
    replies = [refusal(), said("fine"), replace(said(""), status=401, parts=None, body={}, stream=False, ended=False)]

    def reply(send: Send, _: list[Message]) -> Report:
        return said("other") if send.route == OTHER else replies.pop(0)

    of = world(reply, candidates=[Candidate(route=ROUTE, key="A"), Candidate(route=OTHER, key="B")])
    event(of, n=1)
    assert ended(run(of)).text == "fine"
    of.message("and now?")
    assert ended(run(of)).text == "other"


def test_an_event_whose_images_are_withheld_keeps_its_text_when_it_is_sent_again():
    def reply(_: Send, view: list[Message]) -> Report:
        return refusal() if any(getattr(message, "images", ()) for message in view) else said("fine")

    of = world(reply)
    image = {"type": "image", "media_type": "image/png", "data_base64": CANARY}
    of.put("event", {"kind": "shot", "payload": {}, "text": "[event shot] taken", "images": [image]})
    assert ended(run(of)).outcome == "completed"
    assert text_of(of.sends[-1][1][-1]).startswith("[event shot] taken\n\n[runtime] images v1: ")
    of.put("event", {"kind": "shot", "payload": {}, "text": "[event shot] taken", "images": [image]})
    assert ended(run(of)).outcome == "completed"
    assert len(of.sends) == 3, "what comes again is withheld before it is sent"


def test_a_generator_made_anew_after_any_commit_of_a_refused_turn_sends_the_same():
    def make() -> World:
        of = with_result("log", lambda _, __: refusal())
        of.message()
        return of

    whole = make()
    run(whole)
    wanted = [view for _, view in whole.sends]
    for crash in range(1, 40):
        of = make()
        life = Life(of)
        for _ in range(crash):
            if life.finished:
                break
            life.step()
        life.generator.close()
        run(of)
        views: list[list[Message]] = []
        for _, view in of.sends:
            if view not in views:
                views.append(view)
        assert views == wanted


def test_of_several_images_the_one_the_provider_points_at_is_withheld():
    def picture(name: str) -> dict[str, object]:
        image = {"type": "image", "media_type": "image/png", "data_base64": name}
        return {"kind": "mail", "payload": name, "text": f"[event mail] {name}", "images": [image]}

    error = {
        "code": "content_policy_violation",
        "type": "invalid_request_error",
        "message": "x",
        "param": "messages[1].content[1]",
    }
    refused_image = Report(
        provider="openai-chat", api="chat", model="m", status=400, headers={}, body={"error": error}, parts=None
    )
    replies = iter([called(("look", "{}")), refused_image, said("fine")])
    of = world(lambda _, __: next(replies))
    of.located = ["b2xk"]
    of.message()
    life = Life(of)
    while not rows(of, "result"):
        life.step()
    life.generator.close()
    of.put("event", picture("b2xk"))
    of.put("event", picture("bmV3"))
    assert ended(run(of)).outcome == "completed"
    older, newer = rows(of, "event")
    assert older.view is not None
    assert older.view["withheld_images"] == 1
    assert newer.view is None


def test_a_result_of_a_call_that_the_reply_does_not_have_settles_nothing():
    of = with_result("x", lambda _, __: said("done"))
    of.message()
    life = Life(of)
    while not rows(of, "result"):
        life.step()
    history = of.history()
    stray = replace(rows(of, "result")[0], seq=len(of.rows) + 1, content=rows(of, "result")[0].content | {"call": 9})
    history.fold(stray)
    assert history.turn is not None
    assert [call.settled for call in history.turn.calls] == [True]
    life.generator.close()
