"""A reply is read piece by piece; what a live attempt's wire assembled takes the place of the pieces."""

import pytest

from stoic.core import classify
from stoic.core.classify.reading import fresh, joined_arguments, usage_of
from stoic.core.classify.rules import REFUSED, refused
from stoic.records import CallPart, TextPart, ThinkingPart, Usage


def test_a_call_that_grows_after_it_was_closed_is_open_again_until_the_end():
    reading = fresh(stream=True)
    reading.add_call("a", name="pay", arguments='{"n"')
    reading.close_call("a")
    assert reading.parts == [CallPart(name="pay", arguments='{"n"')]
    reading.add_call("a", arguments=":1}")
    assert reading.parts == [CallPart(name="pay", arguments='{"n":1}', whole=False)]
    reading.close_calls()
    assert reading.parts == [CallPart(name="pay", arguments='{"n":1}')]


def test_a_call_that_grows_after_all_were_closed_is_closed_with_the_next_end():
    reading = fresh(stream=True)
    reading.add_call("a", name="pay", provider_id="c1")
    reading.close_calls()
    reading.add_call("a", arguments="{}")
    reading.close_calls()
    assert reading.parts == [CallPart(name="pay", arguments="{}", provider_id="c1")]


def test_an_empty_reading_holds_nothing():
    reading = fresh(stream=False)
    reading.add_text("")
    assert (reading.parts, reading.visible, reading.ended, reading.known, reading.done) == (
        [],
        False,
        False,
        False,
        False,
    )
    assert (reading.finish, reading.finish_field, reading.hint, reading.category, reading.where) == (
        None,
        "",
        None,
        None,
        None,
    )
    assert (reading.served_model, reading.request_id, reading.usage) == (None, None, Usage())


def test_pieces_of_one_kind_are_one_part():
    reading = fresh(stream=True)
    for piece in ("a", "b"):
        reading.add_thinking(piece)
    for piece in ("c", "", "d"):
        reading.add_text(piece)
    reading.add_call("a")
    reading.add_text("e")
    assert reading.parts == [
        ThinkingPart(text="ab"), TextPart(text="cd"), CallPart(name="", arguments="", whole=False), TextPart(text="e"),
    ]  # fmt: skip


def test_a_call_given_whole_takes_the_place_of_its_pieces():
    reading = fresh(stream=True)
    reading.add_call("a", name="pa", arguments='{"n"')
    reading.replace_call("a", name="pay", arguments="{}", provider_id="c1")
    reading.replace_call("b", name="look", arguments="{}", provider_id="c2")
    assert reading.parts == [
        CallPart(name="pay", arguments="{}", provider_id="c1"), CallPart(name="look", arguments="{}", provider_id="c2"),
    ]  # fmt: skip


def test_first_sign_of_a_refusal_and_last_names_count():
    reading = fresh(stream=True)
    reading.add_hint(REFUSED, "a", "1")
    reading.add_hint(refused("x"), "b", "2")
    reading.add_category("a", "hate")
    reading.add_category("b", "violence")
    for model in ("m-1", "m-2", "", 7):
        reading.note({"model": model, "id": model})
    for finish in ("length", "", "null", None, True):
        reading.set_finish(finish, f"f.{finish}")
    assert reading.hint is not None
    assert (reading.hint.field, reading.category) == ("a", ("a", "hate"))
    assert (reading.served_model, reading.request_id) == ("m-2", "m-2")
    assert (reading.finish, reading.finish_field) == ("length", "f.length")


@pytest.mark.parametrize(("value", "expected"), [("{", "{"), (None, ""), ({"a": 1}, '{"a":1}'), ([], "[]"), (0, "0")])
def test_arguments_are_text_or_become_it(value, expected):
    assert joined_arguments(value) == expected


def test_counts_of_tokens_that_are_none_are_zero():
    keys = ("i", "o", "r", "w")
    assert usage_of({"i": 1, "o": "2", "r": 3.9, "w": 4}, keys) == Usage(
        input_tokens=1, output_tokens=2, cache_read_tokens=3, cache_write_tokens=4
    )
    assert usage_of({"i": -1, "o": "x", "r": None}, keys) == usage_of("odd", keys) == Usage()


def test_pieces_are_not_put_together_beside_what_the_wire_has_assembled():
    reading = fresh(stream=True, assembled=[TextPart(text="whole")])
    reading.add_text("piece")
    reading.add_thinking("piece")
    reading.add_call("a", name="pay")
    reading.replace_call("a", name="pay", arguments="{}", provider_id="")
    reading.close_call("a")
    assert reading.parts == [TextPart(text="whole")]
    assert (reading.read, reading.calls) == ([], {})


def test_the_types_of_verdicts_are_loaded_when_they_are_asked_for():
    assert classify.Verdict.__name__ == "Verdict"
    with pytest.raises(AttributeError, match="no attribute 'Verdicts'"):
        getattr(classify, "Verdicts")  # noqa: B009 - the name is what is tested
