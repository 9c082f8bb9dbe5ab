"""A reply is read piece by piece; what a live attempt's wire assembled takes the place of the pieces."""

import pytest

from stoic.core import classify
from stoic.core.classify.reading import fresh
from stoic.records import CallPart, TextPart


def test_a_call_that_grows_after_it_was_closed_is_open_again_until_the_end():
    reading = fresh(stream=True)
    reading.add_call("a", name="pay", arguments='{"n"')
    reading.close_call("a")
    reading.add_call("a", arguments=":1}")
    assert reading.parts == [CallPart(name="pay", arguments='{"n":1}', whole=False)]
    reading.close_calls()
    assert reading.parts == [CallPart(name="pay", arguments='{"n":1}')]


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
