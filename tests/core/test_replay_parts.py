"""What of a stored part a model sees again: order, images, signatures, and who made them."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stoic.core.notes import NO_OUTPUT, NO_RESULT
from stoic.core.replay import call_id, gate, messages
from stoic.errors import UnsendableError
from stoic.records import CallPart, ImagePart, Row, TextPart, ThinkingPart, ToolMessage, UserMessage

IMAGE = {"media_type": "image/png", "data_base64": "aW1hZ2U="}


def row(kind, content, seq=1, **fields):
    return Row(
        id=str(seq),
        thread="t",
        seq=seq,
        generation=0,
        segment="s",
        turn=1,
        round=1,
        role="user",
        kind=kind,
        content=content,
        created_at=0,
        visible=True,
        **fields,
    )


def test_reply_keeps_the_order_signatures_and_maker_of_its_parts():
    parts = [
        ThinkingPart(text="hm", signature="s1", id="rs_1", provider="as told", model="as told"),
        TextPart(text="a", signature="s2", phase="commentary"),
        CallPart(name="pay", arguments="{}", provider_id="theirs", signature="s3"),
        ThinkingPart(text="", redacted="opaque"),
        TextPart(text="b"),
    ]
    meta = {"provider": "p", "model": "m", "usage": {}}
    message: Any = messages([row("reply", {"parts": msgspec.to_builtins(parts)}, meta=meta)])[0]
    first, text, call, redacted, last = message.pieces
    assert (message.text, message.provider, message.model) == ("ab", "p", "m")
    assert first == ThinkingPart(text="hm", signature="s1", id="rs_1", provider="p", model="m")
    assert text == parts[1]
    assert (call.name, call.arguments, call.signature, len(call.id)) == ("pay", "{}", "s3", 9)
    assert redacted == ThinkingPart(text="", redacted="opaque", provider="p", model="m")
    assert last == parts[4]
    assert (message.thinking, message.calls) == ([first, redacted], [call])


def test_images_of_inputs_and_results_are_shown_and_a_placeholder_has_none():
    reply = row("reply", {"parts": [{"type": "call", "name": "look", "arguments": "{}"}]})
    seen = row("result", {"call": 0, "text": "", "images": [IMAGE]}, 2)
    asked = row("input", {"text": "", "images": [IMAGE]}, 3)
    shown = [ImagePart(**IMAGE)]
    view = messages([reply, seen, asked])
    result, user = view[1:]
    assert isinstance(result, ToolMessage)
    assert (result.text, result.images) == ("", shown)
    assert user == UserMessage(text="", images=shown)
    gate(view)
    placeholder = msgspec.structs.replace(
        seen, view={"text": "withheld", "failure": "unknown"}, quarantine="placeholder"
    )
    hidden = messages([reply, placeholder])[1]
    assert isinstance(hidden, ToolMessage)
    assert (hidden.text, hidden.images, hidden.error) == ("withheld", (), True)


def test_a_call_without_a_result_is_told_as_an_error_and_one_that_brought_nothing_is_none():
    reply = row("reply", {"parts": [{"type": "call", "name": "look", "arguments": "{}"}] * 2})
    view = messages([reply, row("result", {"call": 1, "text": ""}, 2)])
    assert [(each.text, each.error) for each in view if isinstance(each, ToolMessage)] == [
        (NO_RESULT, True),
        (NO_OUTPUT, False),
    ]


def test_input_with_neither_text_nor_images_is_not_sent():
    with pytest.raises(UnsendableError, match="message 0 is empty"):
        gate([UserMessage(text="")])


@given(st.sets(st.tuples(st.integers(1, 10_000_000), st.integers(1, 3_000), st.integers(0, 200_000)), min_size=2))
def test_call_ids_are_nine_letters_and_digits_and_differ_within_a_thread(calls):
    ids = {call_id(*call) for call in calls}
    assert len(ids) == len(calls)
    assert all(len(each) == 9 and each.isascii() and each.isalnum() for each in ids)
