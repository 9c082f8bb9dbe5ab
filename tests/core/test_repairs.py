"""The one changed re-send of a turn: a lower max_tokens, images left out, the view in its plainest form (SPEC §6)."""

from typing import Any

import pytest
from msgspec.structs import replace
from tests.core.test_core_edges import row
from tests.core.test_routing import A, B
from tests.core.world import ROUTE, Life, World, called, ended, http, plan, report, run, said, scripted, tool

from stoic.core import notes
from stoic.core.commands import Compare, Locate
from stoic.core.history import History
from stoic.core.images import images_of, without_images
from stoic.core.plan import Candidate
from stoic.records import AssistantMessage, Report, TextPart, ThinkingPart, UserMessage

NO_ROOM = http(
    400,
    "context_length_exceeded",
    "This model's maximum context length is 8000 tokens. However, you requested 9000 tokens (7000 in the messages).",
)
FULL = http(400, "context_length_exceeded", "too long")
TOO_LARGE = http(400, "invalid_image", "Invalid image: the image is too large. The maximum size is 20 MB.")
CORRUPT = http(400, "invalid_request_error", "An assistant message with 'tool_calls' must be followed by tool messages")
UNSIGNED = http(400, "invalid_encrypted_content", "The encrypted content for item rs_1 could not be verified.")
DOWN = http(503, "server_error")
FIRST, SECOND = "QUFB", "QkJC"


def pointing(place: str) -> Report:
    body: Any = TOO_LARGE.body
    return replace(TOO_LARGE, body={"error": {**body["error"], "param": place}})


def thought(text: str) -> Report:
    return report([ThinkingPart(text="hm", signature="sealed"), TextPart(text=text)], "stop")


def world_of(*reports: Report, earlier: Report | None = None, **fields: Any) -> World:
    """Return a world whose first turn, if any, was answered, and that has a message to answer."""
    world = World(plan(tool("look", "read"), **fields), scripted(earlier or said("first answer")))
    if earlier is not None:
        world.message("first question")
        run(world)
        world.sends.clear()
    world.reply = scripted(*reports)
    world.message("question")
    return world


def changes(world: World) -> list[Any]:
    return [row.content.get("change") for row in world.rows if row.kind == "attempt"]


def pictured(world: World, *images: str, text: str = "see") -> None:
    told = [{"media_type": "image/png", "data_base64": image} for image in images]
    world.put("message", {"text": text, "images": told})


def seen_images(world: World) -> list[list[str]]:
    """Return the images that each send showed."""
    return [
        [image.data_base64 for message in view if isinstance(message, UserMessage) for image in message.images]
        for _, view in world.sends
    ]


# ---- max_tokens ---------------------------------------------------------------------------------


def test_a_stated_limit_is_met_by_a_lower_max_tokens_without_compaction():
    world = world_of(NO_ROOM, said("ok"), earlier=said("first answer"))
    segment = world.rows[0].segment
    assert ended(world).outcome == "completed"
    assert [(send.attempt, send.max_tokens) for send, _ in world.sends] == [(1, None), (2, 1000)]
    assert changes(world) == [{"kind": "max_tokens", "max_tokens": 1000}]
    assert world.summarised == []
    assert {row.segment for row in world.rows} == {segment}
    world.reply = scripted(said("again"))
    world.message("next")
    run(world)
    assert world.sends[-1][0].max_tokens is None


def test_the_lower_limit_holds_for_the_rest_of_the_turn_and_a_second_one_asks_for_compaction():
    world = world_of(NO_ROOM, called(("look", "{}")), NO_ROOM, said("ok"), earlier=said("first answer"))
    assert ended(world).outcome == "completed"
    assert [send.max_tokens for send, _ in world.sends] == [None, 1000, 1000, None]
    assert len(world.summarised) == 1
    second = [row.content for row in world.rows if row.kind == "attempt"][1]
    assert second["recovers_with"] == "compaction"
    assert "change" not in second


def test_a_limit_that_cannot_be_met_asks_for_compaction():
    world = world_of(NO_ROOM, said("ok"), earlier=said("first answer"))
    world.takes_max_tokens = False
    assert ended(world).outcome == "completed"
    assert [send.max_tokens for send, _ in world.sends] == [None, None]
    assert len(world.summarised) == 1


def test_a_lower_limit_in_vain_ends_in_an_honest_failure():
    world = world_of(NO_ROOM)
    outcome = ended(world)
    assert (outcome.outcome, outcome.failure_class) == ("failed", "context_length")
    assert len(world.sends) == 2
    assert notes.NOTHING_TO_COMPACT in outcome.message


def test_a_context_that_stays_full_after_both_changes_says_what_did_not_help():
    world = world_of(NO_ROOM, FULL, NO_ROOM, earlier=said("first answer"))
    outcome = ended(world)
    assert (outcome.failure_class, outcome.recovers_with) == ("context_length", "compaction")
    assert len(world.sends) == 3
    assert "A smaller max_tokens did not help." in outcome.message


def test_a_stand_in_is_asked_for_a_reply_of_the_usual_length():
    def reply(send: Any) -> Report:
        if send.route.model == "b":
            return said("ok")
        return NO_ROOM if send.max_tokens is None else http(401, "invalid_api_key")

    world = World(plan(candidates=[A, B]), reply)
    world.message()
    assert ended(world).text == "ok"
    assert [(send.route.model, send.max_tokens) for send, _ in world.sends] == [("a", None), ("a", 1000), ("b", None)]


# ---- images -------------------------------------------------------------------------------------


def test_images_that_are_too_large_give_way_to_a_note_and_the_turn_goes_on():
    world = world_of(TOO_LARGE, said("ok"))
    world.inbox.clear()
    pictured(world, FIRST, SECOND)
    assert ended(world).outcome == "completed"
    assert seen_images(world) == [[FIRST, SECOND], []]
    assert changes(world) == [{"kind": "images", "images": 2}]
    message = next(row for row in world.rows if row.kind == "message")
    assert message.quarantine is None
    assert message.accepted
    assert message.content["images"], "the row keeps what a person sent"
    assert message.view["text"].startswith("see\n\n[runtime] 2 images")
    world.reply = scripted(said("again"))
    world.message("next")
    run(world)
    assert seen_images(world)[-1] == []


def test_the_image_that_the_provider_points_at_gives_way_alone():
    world = world_of(pointing("messages[0].content[1]"), said("ok"))
    world.inbox.clear()
    pictured(world, FIRST, SECOND)
    world.located = [SECOND]
    assert ended(world).outcome == "completed"
    assert seen_images(world) == [[FIRST, SECOND], [FIRST]]
    assert changes(world) == [{"kind": "images", "images": 1}]


def test_a_place_without_an_image_points_at_none():
    world = world_of(pointing("messages[7].content"), said("ok"))
    world.inbox.clear()
    pictured(world, FIRST, SECOND)
    assert ended(world).outcome == "completed"
    assert seen_images(world) == [[FIRST, SECOND], []]


def accepted_image() -> World:
    world = world_of(said("a picture"))
    world.inbox.clear()
    pictured(world, FIRST)
    run(world)
    world.sends.clear()
    return world


@pytest.mark.parametrize("place", [None, "messages[0].content[0]"])
def test_an_image_that_was_answered_once_never_changes(place: str | None):
    world = accepted_image()
    world.reply = scripted(TOO_LARGE if place is None else pointing(place), said("never"))
    world.located = [FIRST]
    if place is None:
        world.message("and now?")
    else:
        pictured(world, SECOND)
    outcome = ended(world)
    assert (outcome.outcome, outcome.failure_class) == ("failed", "image_too_large")
    assert "in the answered part of the conversation, which never changes" in outcome.message
    assert len(world.sends) == 1
    assert next(row for row in world.rows if row.kind == "message").view is None


def test_an_image_from_before_any_turn_gives_way_too():
    history = History("t")
    history.fold(
        row(1, "a kind of tomorrow", {"text": "early", "images": [{"media_type": "image/png", "data_base64": FIRST}]})
    )
    history.fold_views(without_images(history.increment, None)[0])
    assert images_of(history.increment[0]) == []


def test_images_are_left_out_once_in_a_turn():
    world = world_of(TOO_LARGE, TOO_LARGE)
    world.inbox.clear()
    pictured(world, FIRST)
    outcome = ended(world)
    assert (outcome.failure_class, len(world.sends)) == ("image_too_large", 2)
    assert "Leaving out images did not help." in outcome.message
    assert "after 2 attempts" in outcome.message
    world.reply = scripted(said("fine"))
    world.message("without")
    assert ended(world).text == "fine"
    assert world.sends[-1][1] == [UserMessage(text="without")]


def test_what_compaction_keeps_of_a_turn_has_the_note():
    world = world_of(TOO_LARGE, FULL, said("ok"), earlier=said("first answer"))
    world.inbox.clear()
    pictured(world, FIRST)
    assert ended(world).outcome == "completed"
    assert seen_images(world) == [[FIRST], [], []]
    assert "not shown" in str(world.sends[-1][1])


# ---- the plainest form --------------------------------------------------------------------------


@pytest.mark.parametrize("failure", [CORRUPT, UNSIGNED])
def test_a_view_that_is_not_taken_is_sent_once_more_in_its_plainest_form(failure: Report):
    world = world_of(failure, said("ok"), earlier=thought("first answer"))
    rows = list(world.rows)
    assert ended(world).outcome == "completed"
    assert [send.plain for send, _ in world.sends] == [False, True]
    assert "sealed" in str(world.sends[0][1])
    assert "sealed" not in str(world.sends[1][1])
    assert changes(world) == [{"kind": "plain"}]
    assert world.rows[: len(rows)] == rows, "a repair changes the rendering, never a row"


def test_once_it_was_taken_the_plainest_form_is_kept_for_the_route_until_the_next_generation():
    world = world_of(UNSIGNED, said("ok"), earlier=thought("first answer"))
    run(world)
    world.reply = scripted(FULL, thought("new generation"))
    world.message("next")
    assert ended(world).outcome == "completed"
    assert [send.plain for send, _ in world.sends] == [False, True, True, False]
    other = Candidate(route=replace(ROUTE, model="other"), key="B")
    world.plan = replace(world.plan, candidates=[other])
    world.reply = scripted(said("another model"))
    world.message("you?")
    run(world)
    assert world.sends[-1][0].plain is False


def test_a_plainest_form_in_vain_ends_in_an_honest_failure_and_is_not_kept():
    world = world_of(UNSIGNED, CORRUPT, earlier=thought("first answer"))
    outcome = ended(world)
    assert (outcome.outcome, outcome.failure_class, len(world.sends)) == ("failed", "history_corrupt", 2)
    assert "Leaving out thinking and signatures did not help." in outcome.message
    world.reply = scripted(said("fine"))
    world.message("again")
    assert ended(world).text == "fine"
    assert world.sends[-1][0].plain is False


def test_a_view_that_is_plain_already_is_not_sent_twice():
    world = world_of(CORRUPT, said("never"))
    outcome = ended(world)
    assert (outcome.failure_class, len(world.sends)) == ("history_corrupt", 1)
    assert "did not help" not in outcome.message


def test_the_change_lasts_through_retries_of_the_round_which_keep_their_own_budget():
    world = world_of(UNSIGNED, NO_ROOM, DOWN, DOWN, DOWN, said("ok"), earlier=thought("first answer"))
    assert ended(world).outcome == "completed"
    made = [(send.plain, send.max_tokens) for send, _ in world.sends]
    assert made == [(False, None), (True, None), *[(True, 1000)] * 4]
    assert len(world.slept_ms) == 3


def test_a_reply_of_another_model_in_between_keeps_no_plain_form_for_it():
    def reply(send: Any) -> Report:
        if send.route.model == "b":
            return said("ok")
        return UNSIGNED if not send.plain else http(401, "invalid_api_key")

    world = World(plan(candidates=[A, B]), lambda _: thought("first answer"))
    world.message("first question")
    run(world)
    world.reply = reply
    world.message("go")
    assert ended(world).text == "ok"
    assert [send.plain for send, _ in world.sends][1:] == [False, True, False]
    assert not world.history().is_plain("openai-chat", "b")


def test_a_crash_between_the_question_and_the_decision_asks_again():
    for kind, failure in ((Compare, UNSIGNED), (Locate, pointing("messages[0].content[0]"))):
        world = world_of(failure, said("ok"), earlier=thought("first answer"))
        world.inbox.clear()
        pictured(world, FIRST)
        life = Life(world)
        while not isinstance(life.command, kind):
            life.step()
        life.perform()
        assert ended(world).outcome == "completed"
        assert len(changes(world)) == 1
        assert [send.attempt for send, _ in world.sends] == [1, 1, 2]


def test_the_reply_to_a_plain_request_is_what_later_views_begin_with():
    world = world_of(UNSIGNED, thought("second answer"), said("third"), earlier=thought("first answer"))
    run(world)
    world.message("next")
    run(world)
    before, after = world.sends[-2][1], world.sends[-1][1]
    assert after[: len(before)] == before
    assert isinstance(after[len(before)], AssistantMessage)
    assert "sealed" not in str(after)
