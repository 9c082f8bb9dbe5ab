"""Reasoning in the text of a chat reply: told apart from the answer, whatever the pieces it comes in."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.wire.test_chat_decoding import decode, delta

from stoic.records import TextPart, ThinkingPart
from stoic.wire.think_tags import ThinkTags

PIECES = ["<think>", "</think>", "<thi", "</th", "nk>", "<", " ", "\n", "Hm.", "42", "é"]


def split(*pieces: str) -> dict[str, str]:
    """Return all thinking and all text of a reply that came in these pieces."""
    tags, told = ThinkTags(), {"thinking": "", "text": ""}
    said = [each for piece in pieces for each in tags.feed(piece)] + tags.finish()
    for kind, text in said:
        told[kind] += text
    return told


@pytest.mark.parametrize(
    ("reply", "thinking", "text"),
    [
        ("<think>Hm.</think>42", "Hm.", "42"),
        ("\n<think>\nHm.\n</think>\n\n42", "Hm.\n", "42"),
        ("<think>\n\n</think>\n\n42", "", "42"),
        ("<think>Hm.", "Hm.", ""),
        ("<think>Hm.</thi", "Hm.</thi", ""),
        ("<think>Hm.</think>", "Hm.", ""),
        ("<think>a<think>b</think>c</think>", "a<think>b", "c</think>"),
        ("Use <think>Hm.</think>.", "", "Use <think>Hm.</think>."),
        ("  <thin", "", "  <thin"),
        ("<thinking>Hm.", "", "<thinking>Hm."),
        (" " * 65 + "<think>Hm.</think>", "", " " * 65 + "<think>Hm.</think>"),
        ("", "", ""),
    ],
)
def test_text_that_begins_with_thinking_is_told_apart(reply, thinking, text):
    assert split(reply) == {"thinking": thinking, "text": text}


@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join), st.data())
def test_pieces_never_change_what_is_told(reply, drawn):
    cuts = sorted(drawn.draw(st.sets(st.integers(0, len(reply)))))
    pieces = [reply[begin:end] for begin, end in zip([0, *cuts], [*cuts, len(reply)], strict=True)]
    assert split(*pieces) == split(reply)


def test_reply_of_a_server_without_a_reasoning_parser_is_thinking_and_text():
    decoded, heard = decode(
        delta(content="<thi"), delta(content="nk>Hm.</think>\n\n4"), delta(content="2"), delta("stop")
    )
    assert decoded.parts == [ThinkingPart(text="Hm.", provider="p", model="m"), TextPart(text="42")]
    assert heard == [("thinking", "Hm."), ("text", "4"), ("text", "2")]


def test_thinking_that_was_never_closed_is_no_answer():
    decoded, heard = decode(delta(content="<think>Hm. Then"), delta("stop"))
    assert decoded.parts == [ThinkingPart(text="Hm. Then", provider="p", model="m")]
    assert heard == [("thinking", "Hm. Then")]


def test_tag_in_the_answer_of_a_server_that_tells_thinking_apart_itself_is_left_alone():
    decoded, _ = decode(delta(reasoning_content="Hm."), delta(content="<think>is the tag.</think>"), delta("stop"))
    assert decoded.parts[1] == TextPart(text="<think>is the tag.</think>")


def test_what_was_held_back_is_said_when_the_reply_ends():
    decoded, heard = decode(delta(content="<th"), b"[DONE]")
    assert decoded.parts == [TextPart(text="<th")]
    assert heard == [("text", "<th")]
