"""Chat Completions requests of servers that deviate."""

import msgspec
import pytest
from tests.wire.apis import body_of, conversation

from stoic.records import ThinkingPart
from stoic.wire import chat
from stoic.wire.chat_dialects import DialectRenderer

OWN = ThinkingPart(text="let me see", provider="deepseek", model="m")
FOREIGN = ThinkingPart(text="let me see", provider="openai", model="m")


def renderer(**deviations):
    return DialectRenderer(provider="deepseek", model="m", **deviations)


def sent(view, **deviations):
    return msgspec.json.decode(body_of(renderer(**deviations), "m", view, temperature=0))


def test_without_a_deviation_the_bytes_are_those_of_the_plain_wire():
    view = conversation(OWN)
    assert body_of(renderer(), "m", view) == body_of(chat, "m", view)
    assert renderer().fragments([]) == chat.fragments([])


def test_usage_is_not_asked_for_where_that_is_refused():
    plain, dialect = sent([*conversation(OWN)]), sent([*conversation(OWN)], asks_for_usage=False)
    assert plain.pop("stream_options") == {"include_usage": True}
    assert dialect == plain


@pytest.mark.parametrize(("thinking", "replayed"), [(OWN, "let me see"), (FOREIGN, " ")])
def test_reply_with_calls_carries_its_makers_thinking_and_never_another_ones(thinking, replayed):
    messages = sent(conversation(thinking), replays_thinking=True)["messages"]
    replies = [message for message in messages if message["role"] == "assistant"]
    assert [reply.get("reasoning_content") for reply in replies] == [replayed, None]


def test_longer_request_begins_with_the_bytes_of_the_shorter_one():
    view = conversation(OWN)
    whole = renderer(asks_for_usage=False, replays_thinking=True)
    shorter, longer = body_of(whole, "m", view[:4]), body_of(whole, "m", view)
    assert longer.startswith(shorter[: -len(whole.TAIL)])
