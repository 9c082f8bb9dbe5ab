"""The plainest form of a view: roles alternate, nothing of one maker is left, and a longer view begins as a shorter one."""

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from stoic.core.plain import CONTINUE, NO_REPLY, plain
from stoic.core.replay import gate
from stoic.records import (
    AssistantMessage,
    CallView,
    ImagePart,
    Message,
    TextPart,
    ThinkingPart,
    ToolMessage,
    UserMessage,
)

IMAGE = ImagePart(media_type="image/png", data_base64="AA==")
CALL = CallView(id="c1", name="pay", arguments="{}", signature="sealed")
THOUGHT = ThinkingPart(text="hm", signature="sealed", provider="p", model="m", id="rs_1")
REPLY = AssistantMessage(
    text="Paying.",
    calls=[CALL],
    thinking=[THOUGHT],
    pieces=[THOUGHT, TextPart(text="Paying.", signature="sealed", phase="commentary"), CALL],
    provider="p",
    model="m",
)
RESULT = ToolMessage(call_id="c1", name="pay", text="paid")
SAID = AssistantMessage(text="Done.")


def asked(text: str) -> UserMessage:
    return UserMessage(text=text)


def test_what_only_the_maker_reads_is_left_out():
    bare = AssistantMessage(text="Paying.", calls=[CallView(id="c1", name="pay", arguments="{}")])
    assert plain([asked("pay"), REPLY, RESULT]) == [asked("pay"), bare, RESULT]


def test_inputs_in_a_row_become_one():
    pictured = UserMessage(text="", images=[IMAGE])
    assert plain([asked("one"), pictured, asked("two")]) == [UserMessage(text="one\n\ntwo", images=[IMAGE])]


def test_an_input_behind_results_has_a_reply_before_it():
    after = plain([asked("pay"), REPLY, RESULT, asked("and now?")])
    assert after[2:] == [RESULT, AssistantMessage(text=NO_REPLY), asked("and now?")]


def test_replies_are_never_first_alone_or_in_a_row():
    assert plain([]) == [asked(CONTINUE)]
    assert plain([SAID]) == [SAID, asked(CONTINUE)]
    assert plain([SAID, SAID, asked("hi")]) == [SAID, asked(CONTINUE), SAID, asked("hi")]


def group() -> st.SearchStrategy[list[Message]]:
    """Return a reply and what may follow it up to the next one."""
    inputs = st.lists(st.builds(asked, st.sampled_from(["a", "b"])), max_size=2)
    calling: list[Message] = [REPLY, RESULT]
    return st.one_of(inputs.map(lambda those: [SAID, *those]), inputs.map(lambda those: [*calling, *those]))


@settings(deadline=None)
@given(st.lists(st.builds(asked, st.sampled_from(["a", "b"])), max_size=2), st.lists(group(), max_size=4))
def test_a_view_is_what_its_parts_are_and_alternates(first: list[UserMessage], groups: list[list[Message]]):
    parts: list[list[Message]] = [[*first], *groups]
    whole = [message for part in parts for message in plain(part)]
    gate(whole)
    speakers = ["assistant" if isinstance(each, AssistantMessage) else "user" for each in whole]
    assert all(one != other for one, other in pairwise(speakers))
    assert not any("sealed" in repr(each) for each in whole)
    assert plain(whole) == whole
